// Microkernels.cpp - the inner loop of every contraction: a block of C in registers, one step of K
// at a time. Which blocks a tile is cut into is Contraction.cpp.
#include "compiler/Backends/CPU/TilesToCPU/Helpers.h"
#include "llvm/Support/FormatVariadic.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// One microkernel while it is built. Sums stand row by row, `vectors` to a row.
class Microkernel {
public:
  Microkernel(Emitter &e, ValueRange args, int64_t rows, bool kMajor, bool pairs)
      : e(e), rows(rows), vectors(e.tier.panelVectors), lanes(e.tier.lanes), kMajor(kMajor), pairs(pairs), unit(pairs ? e.i32 : e.f32),
        a{args[0], unit}, b{args[2], unit}, c{args[3], e.f32}, aStride(e, args[1]), cStride(e, args[4]), depth(e, args[5]),
        accumulate(args[6]), sumType(Emitter::widen(e.f32, lanes)) {}

  void build() {
    // Whatever does not change from step to step is computed here: LLVM's passes that would move it
    // do not run.
    for (int64_t row = 0; row < rows; ++row) {
      if (!kMajor)
        rowOfA.push_back(aStride * row);
      Place line = e.at(c, cStride * row);
      for (int64_t v = 0; v < vectors; ++v)
        places.push_back(e.at(line, e.integer(v * lanes)));
    }
    fetchSums();
    SmallVector<Value> start(rows * vectors, e.number(sumType, 0));
    SmallVector<Value> sums = e.loop(depth, start, [&](Int k, ValueRange sums) { return step(k, sums); });
    auto store = [&](bool adds) {
      for (auto [place, sum] : llvm::zip_equal(places, sums))
        e.storeBits(adds ? Value(arith::AddFOp::create(e, e.loadBits(place, lanes), sum)) : sum, place);
    };
    e.when(accumulate, [&] { store(/*adds=*/true); }, [&] { store(/*adds=*/false); });
  }

private:
  /// C is wanted after the last step, and often far away: on its way while the steps run, it costs
  /// nothing.
  void fetchSums() {
    constexpr int64_t kLine = 64;
    int64_t perLine = std::max<int64_t>(1, kLine / (4 * lanes));
    for (int64_t i = 0; i < rows * vectors; i += perLine)
      LLVM::Prefetch::create(e, places[i].pointer, /*rw=*/1, /*hint=*/3, /*cache=*/1);
  }

  Emitter::Values step(Int k, ValueRange sums) {
    SmallVector<Value> right;
    Place line = e.at(b, k * e.width);
    for (int64_t v = 0; v < vectors; ++v)
      right.push_back(e.loadBits(e.at(line, e.integer(v * lanes)), lanes));
    Place step = e.at(a, kMajor ? k * rows : k);
    Emitter::Values next;
    for (int64_t row = 0; row < rows; ++row) {
      Place element = e.at(step, kMajor ? e.integer(row) : rowOfA[row]);
      Value left = e.spread(e.loadBits(element, 0), lanes);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(fused(left, right[v], sums[row * vectors + v]));
    }
    return next;
  }

  Value fused(Value left, Value right, Value sum) {
    auto operand = [&](Value bits) -> Value {
      return pairs ? LLVM::BitcastOp::create(e, Emitter::widen(e.getBF16Type(), 2 * lanes), bits) : bits;
    };
    return e.multiplyAdd(operand(left), operand(right), sum);
  }

  Emitter &e;
  int64_t rows, vectors, lanes;
  bool kMajor, pairs;
  Type unit;
  Place a, b, c;
  Int aStride, cStride, depth;
  Value accumulate;
  Type sumType;
  SmallVector<Int> rowOfA;
  SmallVector<Place> places; // of C
};
} // namespace

func::FuncOp Helpers::multiply(int64_t rows, bool kMajor, bool pairs) {
  Type p = e.pointerType, i = e.i64;
  std::string name = llvm::formatv("multiply_{0}_{1}_{2}", kMajor ? "columns" : "rows", rows, pairs ? "bf16" : "f32");
  return make(name, {p, i, p, p, i, i, e.i1}, [&](ValueRange args) { Microkernel(e, args, rows, kMajor, pairs).build(); });
}
