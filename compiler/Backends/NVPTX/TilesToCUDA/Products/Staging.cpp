// Staging.cpp - copies and loads of 16 bytes where an operand allows them, else element by element;
// fragments and planes for the tensor cores.
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/Staging.h"
using namespace mlir;

namespace logitile::cuda {
/// Lines that are read at once and whose chunks would lie in the same banks trade them.
Int StageShape::swapped(Int line, Int chunk) const { return chunk ^ (line / linesInBanks() % places()); }

Int StageShape::placeOf(Int line, Int chunk) const {
  Int inPanel = line * lineBytes() + swapped(line, panels == 1 ? chunk : chunk % chunks) * 16;
  return panels == 1 ? inPanel : chunk / chunks * panelBytes() + inPanel;
}

StageShape Operand::shape(int64_t depth) const {
  if (isOfWarpgroups) {
    Boxes boxes = Boxes::of(outer, depth, isInnerShared);
    return {boxes.lines, boxes.chunks, boxes.count};
  }
  constexpr int64_t kPerChunk = Boxes::kPerChunk;
  return isInnerShared ? StageShape{outer, depth / kPerChunk} : StageShape{depth, outer / kPerChunk};
}

/// Two chunks of four numbers become one of each plane.
StageShape Operand::chunkShape(int64_t depth) const {
  StageShape chunks = shape(depth);
  if (isFloat())
    chunks.chunks *= 2;
  return chunks;
}

// ---- to shared memory ---------------------------------------------------------------------------

Stager::Stager(KernelContext &k, const Operand &operand, int64_t depth, Int sharedEnd, bool mayClipShared)
    : isAligned(k.isAligned(*operand.view, kVectorBytes)), k(k), e(k.e), operand(operand), depth(depth), chunkShape(operand.chunkShape(depth)),
      shape(operand.shape(depth)), perChunk(16 / CodeBuilder::bytesOf(operand.element())), sharedEnd(sharedEnd), mayClipShared(mayClipShared),
      stride(operand.view->stride0) {
  // Rounds of the block's threads; both are powers of two, or the last round is not full.
  for (int64_t round = 0; round * k.threads.sharing.threads < chunkShape.count(); ++round)
    sources.push_back(sourceOf(round));
}

void Stager::copy(Int shared, Int offset) {
  auto copyElements = [&] {
    e.loop(e.thread(), e.integer(chunkShape.count()), e.integer(k.threads.sharing.threads), [&](Int number) {
      Chunk chunk = chunkOf(number);
      Place target = e.shared(offset + chunk.target, operand.element());
      e.loop(e.integer(perChunk), [&](Int i) { e.store(loadElement(chunk, shared, i), e.at(target, i)); });
    });
  };
  e.when(isAligned, [&] { copyChunks(shared, offset); }, copyElements);
}

Value Stager::hasChunk(int64_t round) const {
  int64_t threads = k.threads.sharing.threads, count = chunkShape.count();
  return (round + 1) * threads <= count ? e.truth(true) : isLess(e.thread() + round * threads, count);
}

void Stager::copyChunks(Value from, Int shared, Int offset, Value isThere) {
  for (auto [round, source] : llvm::enumerate(sources))
    e.when(hasChunk(round), [&] { copySource(source, from, shared, offset, isThere); });
}

Place Stager::move(Value from, Int elements) const { return e.at({from, operand.element()}, elements); }

Value Stager::firstChunk(Int shared) const {
  Chunk chunk = chunkOf(e.thread());
  bool inner = operand.isInnerShared;
  Int line = inner ? operand.first + chunk.line : chunk.line, column = (inner ? e.integer(0) : operand.first) + chunk.chunk * perChunk;
  return move(k.windowOf(*operand.view, line, column).pointer, inner ? shared : shared * stride).pointer;
}

Value Stager::aBlockLater(Value from) const { return move(from, operand.isInnerShared ? e.integer(depth) : stride * depth).pointer; }

Stager::Chunk Stager::chunkOf(Int number) const {
  int64_t ofPanel = chunkShape.lines * chunkShape.chunks;
  Int panel = chunkShape.panels == 1 ? e.integer(0) : number / ofPanel, inPanel = chunkShape.panels == 1 ? number : number % ofPanel;
  Int line = inPanel / chunkShape.chunks, chunk = panel * chunkShape.chunks + inPanel % chunkShape.chunks;
  constexpr int64_t kPlaneBytes = 8; // of four numbers
  return {line, chunk, operand.isFloat() ? shape.placeOf(line, chunk / 2) + chunk % 2 * kPlaneBytes : shape.placeOf(line, chunk)};
}

/// Bytes of a chunk from entry 'first' on of an axis that ends 'left' entries later; both i32.
static Value bytesInside(Emitter &e, Value left, Value first, int64_t elementBytes) {
  Value entries = arith::MaxSIOp::create(e, arith::SubIOp::create(e, left, first), e.word(0));
  return arith::MinSIOp::create(e, arith::MulIOp::create(e, entries, e.word(elementBytes)), e.word(16));
}

/// Entries between 'first' and 'end', as i32; 'most' where there are more.
static Value entriesLeft(Emitter &e, Int first, Int end, int64_t most) {
  return e.narrow(choose(isLess(first, end), smaller(end - first, most), e.integer(0)));
}

static Value isBelow(Emitter &e, Int line, Value left) {
  return arith::CmpIOp::create(e, arith::CmpIPredicate::ult, e.narrow(line), left);
}

/// Where whole lines of a panel make a round, its chunks lie the same number of bytes after those
/// of the first round for all threads: one register has the places of all rounds.
Stager::Source Stager::sourceOf(int64_t round) const {
  int64_t threads = k.threads.sharing.threads, ofPanel = chunkShape.lines * chunkShape.chunks;
  int64_t panel = chunkShape.panels == 1 ? 0 : round * threads / ofPanel, lines = (round * threads - panel * ofPanel) / chunkShape.chunks;
  bool isOfPanel = threads % chunkShape.chunks == 0 && (chunkShape.panels == 1 || ofPanel % threads == 0);
  Chunk first = chunkOf(e.thread()), chunk = first;
  Int further = e.integer(0);
  if (isOfPanel && lines % shape.period() == 0) {
    Int target = first.target + panel * shape.panelBytes() + lines * shape.lineBytes();
    chunk = {first.line + lines, first.chunk + panel * chunkShape.chunks, target};
    further = stride * lines + panel * chunkShape.chunks * perChunk;
  } else {
    chunk = chunkOf(e.thread() + round * threads);
    further = (chunk.line - first.line) * stride + (chunk.chunk - first.chunk) * perChunk;
  }
  if (!operand.mayClip)
    return {chunk, further, {}, {}};
  Value left = entriesLeft(e, operand.first, operand.end, operand.outer);
  if (operand.isInnerShared) // a line for each entry of the outer axis
    return {chunk, further, isBelow(e, chunk.line, left), {}};
  return {chunk, further, {}, bytesInside(e, left, e.narrow(chunk.chunk * perChunk), CodeBuilder::bytesOf(operand.element()))};
}

/// Chunks without bytes are zeros in shared memory; their places in memory may be past the end, for
/// nothing is read there.
void Stager::copySource(const Source &source, Value from, Int shared, Int offset, Value isThere) {
  bool inner = operand.isInnerShared;
  Value isInside = source.isInside, bytes = source.bytes;
  auto require = [&](Value condition) { isInside = isInside ? e.both(isInside, condition) : condition; };
  if (mayClipShared) { // of a block that is not there, nothing is left
    Value left = entriesLeft(e, shared, sharedEnd, inner ? chunkShape.chunks * chunkShape.panels * perChunk : chunkShape.lines);
    if (inner) {
      Value some = bytesInside(e, left, e.narrow(source.chunk.chunk * perChunk), CodeBuilder::bytesOf(operand.element()));
      bytes = bytes ? Value(arith::MinSIOp::create(e, bytes, some)) : some;
    } else {
      require(isBelow(e, source.chunk.line, left));
    }
  } else if (isThere) {
    require(isThere);
  }
  if (isInside)
    bytes = arith::SelectOp::create(e, isInside, bytes ? bytes : e.word(16), e.word(0));
  e.copyAsync(e.shared(offset + source.chunk.target, operand.element()), move(from, source.further), bytes);
}

Value Stager::loadElement(const Chunk &chunk, Int shared, Int number) const {
  bool inner = operand.isInnerShared;
  Int row = (inner ? operand.first : shared) + chunk.line, column = (inner ? shared : operand.first) + chunk.chunk * perChunk + number;
  Int rowEnd = inner ? operand.end : sharedEnd, columnEnd = inner ? sharedEnd : operand.end;
  bool clipsRows = inner ? operand.mayClip : mayClipShared, clipsColumns = inner ? mayClipShared : operand.mayClip;
  Value isInside = clipsRows ? isLess(row, rowEnd) : Value();
  if (clipsColumns)
    isInside = isInside ? e.both(isInside, isLess(column, columnEnd)) : isLess(column, columnEnd);
  auto read = [&]() -> CodeBuilder::Values { return {e.load(k.windowOf(*operand.view, row, column))}; };
  auto zero = [&]() -> CodeBuilder::Values { return {e.number(e.f32, 0)}; };
  return isInside ? e.choose(isInside, e.f32, read, zero)[0] : read()[0];
}

// ---- to be split --------------------------------------------------------------------------------

static Type chunkType(Emitter &e, int64_t elements) { return VectorType::get(elements, e.f32); }

/// The assembler makes the branches predicates of the loads.
CodeBuilder::Values Stager::loadChunks(Value from, Int shared, Value isThere) const {
  CodeBuilder::Values chunks;
  Type type = chunkType(e, perChunk);
  for (auto [round, source] : llvm::enumerate(sources)) {
    auto load = [&, &source = source]() -> CodeBuilder::Values { return {e.loadAs(type, move(from, source.further), kVectorBytes)}; };
    auto zeros = [&]() -> CodeBuilder::Values { return {e.number(type, 0)}; };
    Value loaded = e.choose(e.both(isThere, hasEntries(round, shared)), type, load, zeros)[0];
    chunks.push_back(operand.isInnerShared && mayClipShared ? clip(loaded, shared + source.chunk.chunk * perChunk) : loaded);
  }
  return chunks;
}

Value Stager::hasEntries(int64_t round, Int shared) const {
  const Source &source = sources[round];
  Value isInside = source.isInside ? e.both(hasChunk(round), source.isInside) : hasChunk(round);
  if (source.bytes)
    isInside = e.both(isInside, isLess(e.integer(0), e.extend(source.bytes)));
  if (!mayClipShared)
    return isInside;
  return e.both(isInside, isLess(operand.isInnerShared ? shared + source.chunk.chunk * perChunk : shared + source.chunk.line, sharedEnd));
}

/// The numbers of a chunk that begins at entry 'first' of the shared axis, with zeros past its end.
Value Stager::clip(Value loaded, Int first) const {
  CodeBuilder::Values numbers;
  for (int64_t i = 0; i < perChunk; ++i)
    numbers.push_back(arith::SelectOp::create(e, isLess(first + i, sharedEnd), vector::ExtractOp::create(e, loaded, i), e.number(e.f32, 0)));
  return vector::FromElementsOp::create(e, loaded.getType(), numbers);
}

void Stager::visitChunks(ArrayRef<Value> loaded, function_ref<void(const Chunk &, Value)> visit) const {
  for (auto [round, source] : llvm::enumerate(sources))
    e.when(hasChunk(round), [&] { visit(source.chunk, loaded[round]); });
}

void Stager::visitElements(Int shared, function_ref<void(const Chunk &, Value)> visit) const {
  e.loop(e.thread(), e.integer(chunkShape.count()), e.integer(k.threads.sharing.threads), [&](Int number) {
    Chunk chunk = chunkOf(number);
    CodeBuilder::Values numbers;
    for (int64_t i = 0; i < perChunk; ++i)
      numbers.push_back(loadElement(chunk, shared, e.integer(i)));
    visit(chunk, vector::FromElementsOp::create(e, chunkType(e, perChunk), numbers));
  });
}

// ---- to registers -------------------------------------------------------------------------------

/// Lane 8 i + r gives the place of row r of matrix i. The matrices of a left operand are its upper
/// and lower half, then the same 8 steps later; those of a right operand 8 entries, the same 8
/// steps later, then the next 8 entries.
CodeBuilder::Values FragmentReader::read(int64_t step, Int offset, int64_t fragment, bool isRight) {
  Int inMatrix = e.lane() % 8, odd = e.lane() / 8 % 2, high = e.lane() / 16;
  Int entryHalf = isRight ? high : odd, stepHalf = isRight ? odd : high;
  if (operand.isInnerShared) { // a line for each entry
    Int line = operand.warpFirst + inMatrix + entryHalf * 8;
    Int chunk = shape.swapped(line, stepHalf + step * 2); // 16 entries further the chunks trade the same places
    Int place = line * shape.lineBytes() + chunk * 16 + offset;
    return e.loadMatrices(e.at(e.shared(place, e.getI8Type()), e.integer(fragment * 16 * shape.lineBytes())), /*transposed=*/false);
  }
  Int line = inMatrix + stepHalf * 8; // a line for each step; 16 further the chunks trade the same places
  auto placeOf = [&](Int chunk) { return line * shape.lineBytes() + shape.swapped(line, chunk) * 16; };
  // Places of a power of two of chunks differ from the first one's in bits that it does not have:
  // one operation makes each of them.
  Int first = operand.warpFirst / 8 + entryHalf;
  int64_t chunks = (isRight ? k.threads.sharing.blockColumns() : k.threads.sharing.blockRows()) / 8;
  Int place = llvm::isPowerOf2_64(chunks) ? placeOf(first) ^ e.integer(fragment * 2 * 16) : placeOf(first + fragment * 2);
  return e.loadMatrices(e.at(e.shared(place + offset, e.getI8Type()), e.integer(step * 16 * shape.lineBytes())), /*transposed=*/true);
}

/// Two f32 that are bf16, from their bits: extending each would make the code round each of them
/// alone, which is slow.
static Value widened(Emitter &e, Value bits) {
  Value sixteen = e.word(16), upper = e.word(-65536);
  Value both[] = {arith::ShLIOp::create(e, bits, sixteen), arith::AndIOp::create(e, bits, upper)};
  for (Value &value : both)
    value = arith::BitcastOp::create(e, e.f32, value);
  return vector::FromElementsOp::create(e, VectorType::get(2, e.f32), both);
}

SmallVector<Value, kPlanes> splitIntoPlanes(Emitter &e, Value pair) {
  Type narrow = VectorType::get(2, e.getBF16Type());
  SmallVector<Value, kPlanes> planes;
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    Value rounded = arith::TruncFOp::create(e, narrow, pair);
    Value bits = LLVM::BitcastOp::create(e, e.i32, rounded);
    planes.push_back(bits);
    if (plane + 1 < kPlanes)
      pair = arith::SubFOp::create(e, pair, widened(e, bits));
  }
  return planes;
}
} // namespace logitile::cuda
