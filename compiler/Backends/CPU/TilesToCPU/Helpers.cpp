// Helpers.cpp - copies and packing, row by row. Microkernels are Microkernels.cpp.
#include "compiler/Backends/CPU/TilesToCPU/Helpers.h"
#include "llvm/Support/FormatVariadic.h"
using namespace mlir;
using namespace logitile;
using namespace logitile::cpu;

func::FuncOp Helpers::make(const Twine &name, ArrayRef<Type> arguments, function_ref<void(ValueRange)> body) {
  std::string symbol = name.str();
  if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
    return known;
  func::FuncOp function = e.beginFunction(symbol, arguments);
  function.setPrivate();
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
  body(function.getArguments());
  e.endFunction();
  return function;
}

static std::string spell(Type type) {
  if (Type value = Emitter::precisionOf(type); value != type)
    return spell(Emitter::memoryOf(type)) + "_to_" + spell(value);
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string DotShape::name() const {
  std::string whole = llvm::formatv("dots_{0}_{1}_of_{2}_{3}_{4}", rows, tokens, length, spell(weight), spell(hidden));
  return part == Whole ? whole : llvm::formatv("{0}_{1}_{2}", whole, part == Inner ? "inner" : "last", size).str();
}

std::string UpdateShape::name() const {
  return llvm::formatv("update_{0}_{1}_{2}{3}", rows, spell(weight), pairs ? "bf16" : "f32", isWhole ? "" : "_rest");
}

/// What is rounded to 'to' anyway comes straight from memory.
static Type straight(Type from, Type to) { return Emitter::precisionOf(from) == to ? Emitter::memoryOf(from) : from; }

/// The element at 'place' in the bits of type 'to'; the same type keeps its bits.
static Value read(Emitter &e, Place place, Type to, int64_t lanes) {
  Value bits = e.loadBits(place, lanes);
  return place.element == to ? bits : e.toBits(e.toValue(bits, place.element), to);
}

/// Whole groups of lanes by 'vector', what is left by 'scalar'.
static void inGroups(Emitter &e, Int count, function_ref<void(Int)> vector, function_ref<void(Int)> scalar) {
  Int whole = count / e.lanes * e.lanes;
  e.loop(e.integer(0), whole, e.integer(e.lanes), vector);
  e.loop(whole, count, e.integer(1), scalar);
}

func::FuncOp Helpers::copy(Type from, Type to) {
  from = straight(from, to);
  Type p = e.pointerType, i = e.i64;
  return make("copy_" + spell(from) + "_" + spell(to), {p, i, p, i, i}, [&](ValueRange args) {
    Place source{args[0], from}, sink{args[2], to};
    Int step = e.integer(args[1]), sinkStep = e.integer(args[3]), count = e.integer(args[4]);
    auto one = [&](Int i) { e.storeBits(read(e, e.at(source, i * step), to, 0), e.at(sink, i * sinkStep)); };
    auto group = [&](Int i) { e.storeBits(read(e, e.at(source, i), to, e.lanes), e.at(sink, i)); };
    e.when(e.both(isEqual(step, 1), isEqual(sinkStep, 1)), [&] { inGroups(e, count, group, one); }, [&] { e.loop(count, one); });
  });
}

func::FuncOp Helpers::clear(Type to) {
  return make("clear_" + spell(to), {e.pointerType, e.i64, e.i64}, [&](ValueRange args) {
    Place sink{args[0], to};
    Int step = e.integer(args[1]), count = e.integer(args[2]);
    auto clear = [&](Int i, int64_t lanes) { e.store(e.number(Emitter::widen(e.valueType(to), lanes), 0), e.at(sink, i)); };
    auto one = [&](Int i) { clear(i * step, 0); };
    e.when(isEqual(step, 1), [&] { inGroups(e, count, [&](Int i) { clear(i, e.lanes); }, one); }, [&] { e.loop(count, one); });
  });
}

func::FuncOp Helpers::fetch() {
  Type p = e.pointerType, i = e.i64;
  return make("fetch", {p, i, i, i, i}, [&](ValueRange args) {
    Place first{args[0], e.getI8Type()};
    Int stride = e.integer(args[1]), from = e.integer(args[2]), end = e.integer(args[3]), bytes = e.integer(args[4]);
    constexpr int64_t kLine = 64;
    e.loop(from, end, e.integer(1), [&](Int row) {
      Place start = e.at(first, row * stride);
      e.loop(e.integer(0), bytes, e.integer(kLine),
             [&](Int at) { LLVM::Prefetch::create(e, e.at(start, at).pointer, /*rw=*/0, /*hint=*/2, /*cache=*/1); });
    });
  });
}

func::FuncOp Helpers::packRow(Type from, Type to) {
  from = straight(from, to);
  Type p = e.pointerType, i = e.i64;
  return make("pack_" + spell(from) + "_" + spell(to), {p, i, p, i, i}, [&](ValueRange args) {
    Place source{args[0], from}, sink{args[2], to};
    Int step = e.integer(args[1]), panelStride = e.integer(args[3]), count = e.integer(args[4]);
    auto placeOf = [&](Int i) { return e.at(sink, i / e.width * panelStride + i % e.width); };
    auto one = [&](Int i) { e.storeBits(read(e, e.at(source, i * step), to, 0), placeOf(i)); };
    auto group = [&](Int i) { e.storeBits(read(e, e.at(source, i), to, e.lanes), placeOf(i)); };
    e.when(isEqual(step, 1), [&] { inGroups(e, count, group, one); }, [&] { e.loop(count, one); });
    Value zero = e.number(e.valueType(to), 0);
    e.loop(count, divideUp(count, e.width) * e.width, e.integer(1), [&](Int i) { e.store(zero, placeOf(i)); });
  });
}

/// a0 b0 a1 b1 ... of two vectors.
static Value interleave(Emitter &e, Value a, Value b) {
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < e.lanes; ++i)
    lanes.append({i, e.lanes + i});
  return vector::ShuffleOp::create(e, a, b, lanes);
}

func::FuncOp Helpers::packRowPair(Type from, Type to) {
  from = straight(from, to);
  Type p = e.pointerType, i = e.i64;
  return make("pack_pair_" + spell(from) + "_" + spell(to), {p, p, e.i1, i, p, i, i}, [&](ValueRange args) {
    Place first{args[0], from}, second{args[1], from}, sink{args[4], to};
    Value hasSecond = args[2];
    Int step = e.integer(args[3]), panelStride = e.integer(args[5]), count = e.integer(args[6]);
    Type half = e.getIntegerType(16);
    auto readSecond = [&](Int i, int64_t lanes) {
      Value zero = e.number(Emitter::widen(half, lanes), 0);
      Value bits = read(e, e.at(second, i), to, lanes);
      return Value(arith::SelectOp::create(e, hasSecond, bits, zero));
    };
    auto placeOf = [&](Int i) { return e.at(sink, i / e.width * panelStride + i % e.width * 2); };
    auto one = [&](Int i) {
      Place place = placeOf(i);
      e.storeBits(read(e, e.at(first, i * step), to, 0), place);
      e.storeBits(readSecond(i * step, 0), e.at(place, e.integer(1)));
    };
    auto group = [&](Int i) { e.storeBits(interleave(e, read(e, e.at(first, i), to, e.lanes), readSecond(i, e.lanes)), placeOf(i)); };
    e.when(isEqual(step, 1), [&] { inGroups(e, count, group, one); }, [&] { e.loop(count, one); });
    e.loop(count, divideUp(count, e.width) * e.width, e.integer(1), [&](Int i) {
      Place place = placeOf(i);
      Value zero = e.number(half, 0);
      e.storeBits(zero, place);
      e.storeBits(zero, e.at(place, e.integer(1)));
    });
  });
}

func::FuncOp Helpers::packLines(int64_t lines, Type from, Type to, bool pairs) {
  from = straight(from, to);
  Type p = e.pointerType, i = e.i64;
  std::string name = llvm::formatv("pack_{0}{1}_lines_{2}_{3}", lines, pairs ? "_paired" : "", spell(from), spell(to));
  int64_t lanes = lines > 1 ? lines : 0;
  return make(name, {p, i, p, i}, [&](ValueRange args) {
    Place source{args[0], from}, sink{args[2], pairs ? e.i32 : to};
    Int stride = e.integer(args[1]), count = e.integer(args[3]);
    auto row = [&](Int number) { return read(e, e.at(source, number * stride), to, lanes); };
    auto store = [&](Int step, Value bits) { e.storeBits(bits, e.at(sink, step * lines)); };
    if (!pairs) {
      e.loop(count, [&](Int step) { store(step, row(step)); });
      return;
    }
    auto widened = [&](Value half) { return arith::ExtUIOp::create(e, Emitter::widen(e.i32, lanes), half); };
    auto upper = [&](Value half) { return arith::ShLIOp::create(e, widened(half), e.number(Emitter::widen(e.i32, lanes), 16)); };
    e.loop(count / 2, [&](Int step) { store(step, arith::OrIOp::create(e, widened(row(step * 2)), upper(row(step * 2 + 1)))); });
    e.when(isEqual(count % 2, 1), [&] { store(count / 2, widened(row(count - 1))); });
  });
}

/// Rows of a square of 16 numbers become columns: halves of two rows that are 8 apart change
/// places, then quarters, and so on.
static void transpose(Emitter &e, SmallVector<Value> &rows) {
  const int64_t size = static_cast<int64_t>(rows.size());
  for (int64_t distance = size / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> first, second;
    for (int64_t lane = 0; lane < size; ++lane) {
      bool isUpper = lane & distance;
      first.push_back(isUpper ? size + lane - distance : lane);
      second.push_back(isUpper ? size + lane : lane + distance);
    }
    for (int64_t row = 0; row < size; ++row) {
      if (row & distance)
        continue;
      Value &a = rows[row], &b = rows[row + distance];
      Value upper = vector::ShuffleOp::create(e, a, b, first);
      b = vector::ShuffleOp::create(e, a, b, second);
      a = upper;
    }
  }
}

func::FuncOp Helpers::packTransposed(Type from) {
  from = straight(from, e.getBF16Type());
  Type p = e.pointerType, i = e.i64;
  return make("pack_transposed_" + spell(from), {p, i, p, i, i}, [&](ValueRange args) {
    Place source{args[0], from}, sink{args[2], e.i32};
    Int stride = e.integer(args[1]), sinkStride = e.integer(args[3]), count = e.integer(args[4]);
    Type words = Emitter::widen(e.i32, kTileRows);
    auto half = [&](Int row) -> Value {
      return arith::ExtUIOp::create(e, words, read(e, e.at(source, row * stride), e.getBF16Type(), kTileRows));
    };
    auto pair = [&](Int i) -> Value {
      return arith::OrIOp::create(e, half(i * 2), arith::ShLIOp::create(e, half(i * 2 + 1), e.number(words, 16)));
    };
    auto scatter = [&](Int i, Value pairs) {
      for (int64_t lane = 0; lane < kTileRows; ++lane)
        e.storeBits(vector::ExtractOp::create(e, pairs, lane), e.at(sink, sinkStride * lane + i));
    };
    Int pairs = count / 2, whole = pairs / kTilePairs * kTilePairs;
    e.loop(e.integer(0), whole, e.integer(kTilePairs), [&](Int first) {
      SmallVector<Value> square;
      for (int64_t step = 0; step < kTilePairs; ++step)
        square.push_back(pair(first + step));
      transpose(e, square);
      for (auto [lane, row] : llvm::enumerate(square))
        e.storeBits(row, e.at(sink, sinkStride * static_cast<int64_t>(lane) + first));
    });
    e.loop(whole, pairs, e.integer(1), [&](Int i) { scatter(i, pair(i)); });
    e.when(isEqual(count % 2, 1), [&] { scatter(pairs, half(count - 1)); });
  });
}

func::FuncOp Helpers::addScaled(Type from) {
  Type p = e.pointerType, i = e.i64;
  return make("add_scaled_" + spell(from), {p, e.f32, p, i, i}, [&](ValueRange args) {
    Place sum{args[0], e.f32}, source{args[2], from};
    Value factor = args[1];
    Int step = e.integer(args[3]), count = e.integer(args[4]);
    auto add = [&](Int to, Int at, int64_t lanes) {
      Value scaled = arith::MulFOp::create(e, e.spread(factor, lanes), e.load(e.at(source, at), lanes));
      e.store(arith::AddFOp::create(e, e.load(e.at(sum, to), lanes), scaled), e.at(sum, to));
    };
    auto one = [&](Int i) { add(i, i * step, 0); };
    e.when(isEqual(step, 1), [&] { inGroups(e, count, [&](Int i) { add(i, i, e.lanes); }, one); }, [&] { e.loop(count, one); });
  });
}
