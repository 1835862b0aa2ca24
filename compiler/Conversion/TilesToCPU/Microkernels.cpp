// Microkernels.cpp - the inner loop of every contraction: a block of C in registers, one step of K at a time.
// Which blocks a tile is cut into is Contractions.cpp.
#include "compiler/Conversion/TilesToCPU/Helpers.h"
#include "llvm/Support/FormatVariadic.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

namespace {
/// One microkernel while it is built. Sums stand row by row, `vectors` to a row.
class Microkernel {
public:
  Microkernel(Emitter &e, ValueRange args, int64_t rows, bool kMajor, bool pairs)
      : e(e), rows(rows), vectors(e.tier.panelVectors), lanes(e.tier.lanes), kMajor(kMajor), pairs(pairs),
        unit(pairs ? e.i32 : e.f32), a{args[0], unit}, b{args[2], unit}, c{args[3], e.f32}, aStride(e, args[1]), cStride(e, args[4]),
        depth(e, args[5]), again(args[6]), sumType(Emitter::widen(e.f32, lanes)) {}

  void build() {
    SmallVector<Value> sums = e.loop(depth, start(), [&](Int k, ValueRange sums) { return step(k, sums); });
    for (auto [i, sum] : llvm::enumerate(sums))
      e.storeBits(sum, placeOf(i));
  }

private:
  Place placeOf(int64_t i) { return e.at(c, cStride * (i / vectors) + i % vectors * lanes); }

  Emitter::Values start() {
    SmallVector<Type> types(rows * vectors, sumType);
    auto loaded = [&] {
      Emitter::Values sums;
      for (int64_t i = 0; i < rows * vectors; ++i)
        sums.push_back(e.loadBits(placeOf(i), lanes));
      return sums;
    };
    return e.choose(again, types, loaded, [&] { return Emitter::Values(rows * vectors, e.number(sumType, 0)); });
  }

  Emitter::Values step(Int k, ValueRange sums) {
    SmallVector<Value> right;
    for (int64_t v = 0; v < vectors; ++v)
      right.push_back(e.loadBits(e.at(b, k * e.width + v * lanes), lanes));
    Emitter::Values next;
    for (int64_t row = 0; row < rows; ++row) {
      Int index = kMajor ? k * aStride + row : aStride * row + k;
      Value left = e.spread(e.loadBits(e.at(a, index), 0), lanes);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(fused(left, right[v], sums[row * vectors + v]));
    }
    return next;
  }

  Value fused(Value left, Value right, Value sum) {
    if (!pairs)
      return vector::FMAOp::create(e, left, right, sum);
    Type halves = Emitter::widen(e.getBF16Type(), 2 * lanes);
    SmallVector<Value> operands{sum, LLVM::BitcastOp::create(e, halves, left), LLVM::BitcastOp::create(e, halves, right)};
    return LLVM::CallIntrinsicOp::create(e, sumType, e.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"), operands).getResult(0);
  }

  Emitter &e;
  int64_t rows, vectors, lanes;
  bool kMajor, pairs;
  Type unit;
  Place a, b, c;
  Int aStride, cStride, depth;
  Value again;
  Type sumType;
};
} // namespace

func::FuncOp Helpers::multiply(int64_t rows, bool kMajor, bool pairs) {
  Type p = e.pointerType, i = e.i64;
  std::string name = llvm::formatv("multiply_{0}_{1}_{2}", kMajor ? "columns" : "rows", rows, pairs ? "bf16" : "f32");
  return make(name, {p, i, p, p, i, i, e.i1}, [&](ValueRange args) { Microkernel(e, args, rows, kMajor, pairs).build(); });
}
