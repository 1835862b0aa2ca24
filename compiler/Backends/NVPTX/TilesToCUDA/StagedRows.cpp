// StagedRows.cpp - where pairs lie in between. Neither the words of eight rows nor the chunks of
// two share a bank: chunks of a line of 128 bytes trade places by the number of their row, whose
// last bit is the first of the number that they are turned by.
#include "compiler/Backends/NVPTX/TilesToCUDA/StagedRows.h"
#include "compiler/Conversion/IndexFacts.h"
using namespace mlir;

namespace logitile::cuda {
constexpr int64_t kRows = 8, kQuad = 4, kPair = 2; // of a row slot; threads of a row; columns that a thread has beside each other
constexpr int64_t kChunk = 16, kLine = 128, kChunksOfLine = kLine / kChunk;

static int64_t pitchOf(const Sharing &sharing) { return llvm::alignTo(sharing.blockColumns() * 2, kLine); }

bool StagedRows::suit(const KernelContext &k, const Tile &tile, const View &view, Value first) {
  const Sharing &sharing = k.threads.sharing;
  bool isOfRows = view.layout() == Layout::Strided && !view.isVector() && !view.isRowState();
  return k.isOfWarpgroups() && isOfRows && !tile.values.empty() && CodeBuilder::bytesOf(view.type.getElement()) == 2 &&
         sharing.neighbours == kPair && sharing.blockColumns() % (kQuad * kRun) == 0 && knownDivisor(first) % kRun == 0;
}

StagedRows::StagedRows(KernelContext &k, Type element) : k(k), e(k.e), element(element), pairs(e.integer(0)), runs(e.integer(0)) {
  const Sharing &sharing = k.threads.sharing;
  const int64_t pitch = pitchOf(sharing), rowsOfWarp = sharing.rowSlots() * kRows;
  Int row = k.scratch(sharing.threads / kWarp * rowsOfWarp * pitch) + (e.warp() * rowsOfWarp + k.threads.group) * pitch;
  Int turned = k.threads.group % 2 * 4 + k.threads.group / 2;
  pairs = row + (turned * kChunk + k.threads.quad * (kPair * 2));
  runs = row + (turned ^ k.threads.quad) * kChunk;
}

void StagedRows::store(ArrayRef<Row> rows) {
  const int64_t chunks = k.threads.sharing.blockColumns() / kRun, pitch = pitchOf(k.threads.sharing);
  // Rows begin at multiples of a line, so chunks trade places in the last bits alone: what is
  // further behind is a constant.
  auto placesFrom = [&](Int start, int64_t step) {
    SmallVector<Place> places;
    for (int64_t chunk = 0; chunk < std::min(chunks, kChunksOfLine); chunk += step)
      places.push_back(e.shared(start ^ e.integer(chunk * kChunk), element));
    return [this, places, step, pitch](size_t slot, int64_t chunk) {
      int64_t bytes = static_cast<int64_t>(slot) * kRows * pitch + chunk / kChunksOfLine * kLine;
      return e.at(places[chunk % kChunksOfLine / step], e.integer(bytes / 2));
    };
  };
  auto placeOfPair = placesFrom(pairs, 1), placeOfRun = placesFrom(runs, kQuad);
  for (auto [slot, row] : llvm::enumerate(rows))
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      e.storeRun(ArrayRef(row.elements).slice(chunk * kPair, kPair), placeOfPair(slot, chunk));
  e.syncWarp();
  for (auto [slot, row] : llvm::enumerate(rows)) {
    CodeBuilder::Values values;
    for (int64_t chunk = 0; chunk < chunks; chunk += kQuad)
      values.push_back(e.loadAs(VectorType::get({kRun}, element), placeOfRun(slot, chunk), kChunk));
    e.when(row.isThere, [&] {
      Place start = e.at(row.to(), k.threads.warpColumn * k.threads.sharing.blockColumns() + k.threads.quad * kRun);
      for (auto [quad, value] : llvm::enumerate(values))
        LLVM::StoreOp::create(e, value, e.at(start, e.integer(static_cast<int64_t>(quad) * kQuad * kRun)).pointer, kChunk);
    });
  }
}
} // namespace logitile::cuda
