// StagedRows.cpp - where pairs lie in between. Neither the words of eight rows nor the chunks of two share a bank: chunks of a line
// of 128 bytes trade places by the number of their row, whose last bit is the first of the number that they are turned by.
#include "compiler/Backends/NVPTX/TilesToCUDA/StagedRows.h"
#include "compiler/Conversion/IndexFacts.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kRows = 8, kQuad = 4, kPair = 2; // of a warp at a time; threads of a row; columns that a thread has beside each other
constexpr int64_t kChunk = 16, kLine = 128, kChunksOfLine = kLine / kChunk;

static int64_t pitchOf(const Sharing &sharing) { return llvm::alignTo(sharing.blockColumns() * 2, kLine); }

bool StagedRows::suit(const KernelContext &k, const Tile &tile, const View &view, Value first) {
  const Sharing &sharing = k.threads.sharing;
  return !tile.values.empty() && CodeBuilder::bytesOf(view.type.getElement()) == 2 && sharing.neighbours == kPair &&
         sharing.blockColumns() % (kQuad * kRun) == 0 && knownDivisor(first) % kRun == 0 && view.layout() == Layout::Strided &&
         !view.isVector() && !view.isRowState();
}

StagedRows::StagedRows(KernelContext &k, Type element) : k(k), e(k.e), element(element), row(e.integer(0)), turned(e.integer(0)) {
  const Sharing &sharing = k.threads.sharing;
  int64_t pitch = pitchOf(sharing);
  Int start = k.scratch(sharing.threads / kWarp * kRows * pitch);
  row = start + (e.warp() * kRows + k.threads.group) * pitch;
  turned = k.threads.group % 2 * 4 + k.threads.group / 2;
}

Int StagedRows::placeOf(int64_t line, Int chunk) {
  return row + ((chunk ^ turned) * kChunk + line * kLine);
}

void StagedRows::store(ValueRange elements, Value isThere, function_ref<Place()> to) {
  const int64_t chunks = k.threads.sharing.blockColumns() / kRun, quads = chunks / kQuad;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Int place = placeOf(chunk / kChunksOfLine, e.integer(chunk % kChunksOfLine)) + k.threads.quad * (kPair * 2);
    e.storeRun(elements.slice(chunk * kPair, kPair), e.shared(place, element));
  }
  e.syncWarp();
  Type run = VectorType::get({kRun}, element);
  CodeBuilder::Values runs;
  for (int64_t quad = 0; quad < quads; ++quad) {
    int64_t first = quad * kQuad;
    Int place = placeOf(first / kChunksOfLine, k.threads.quad + first % kChunksOfLine);
    runs.push_back(e.loadAs(run, e.shared(place, element), kChunk));
  }
  e.when(isThere, [&] {
    Place start = e.at(to(), k.threads.warpColumn * k.threads.sharing.blockColumns() + k.threads.quad * kRun);
    for (auto [quad, value] : llvm::enumerate(runs))
      LLVM::StoreOp::create(e, value, e.at(start, e.integer(static_cast<int64_t>(quad) * kQuad * kRun)).pointer, kChunk);
  });
  e.syncWarp(); // before the next row slot
}
} // namespace logitile::cuda
