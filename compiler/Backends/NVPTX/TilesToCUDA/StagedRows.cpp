// StagedRows.cpp - addresses of 16-byte chunks in shared memory. Neither a chunk of eight rows nor
// four chunks of two rows share a bank: the chunks of a line of 128 bytes are permuted by the
// number of their row, whose last bit is the first bit of the permutation.
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

StagedRows::StagedRows(KernelContext &k, Type element)
    : k(k), e(k.e), element(element), ofWarp(e.integer(0)), chunks(e.integer(0)), runs(e.integer(0)) {
  const Sharing &sharing = k.threads.sharing;
  const int64_t pitch = pitchOf(sharing), rowsOfWarp = sharing.rowSlots() * kRows;
  ofWarp = k.scratch(sharing.threads / kWarp * rowsOfWarp * pitch) + e.warp() * rowsOfWarp * pitch;
  auto placeOf = [&](Int row, Int chunk) {
    Int turned = row % 2 * 4 + row / 2;
    return ofWarp + row * pitch + (turned ^ chunk) * kChunk;
  };
  chunks = placeOf(e.lane() % kRows, e.lane() / kRows);
  runs = placeOf(k.threads.group, k.threads.quad);
}

void StagedRows::store(ArrayRef<Row> rows) {
  const int64_t count = k.threads.sharing.blockColumns() / kRun, pitch = pitchOf(k.threads.sharing);
  // Rows begin at multiples of a line, so chunks trade places in the last bits alone: what comes
  // after these bits is a constant.
  auto placesFrom = [&](Int start) {
    SmallVector<Place> places;
    for (int64_t chunk = 0; chunk < std::min(count, kChunksOfLine); chunk += kQuad)
      places.push_back(e.shared(start ^ e.integer(chunk * kChunk), element));
    return [this, places, pitch](size_t slot, int64_t chunk) {
      int64_t bytes = static_cast<int64_t>(slot) * kRows * pitch + chunk / kChunksOfLine * kLine;
      return e.at(places[chunk % kChunksOfLine / kQuad], e.integer(bytes / 2));
    };
  };
  auto placeOfChunk = placesFrom(chunks), placeOfRun = placesFrom(runs);
  for (auto [slot, row] : llvm::enumerate(rows))
    for (int64_t chunk = 0; chunk < count; chunk += kQuad)
      e.storeMatrices(ArrayRef(row.elements).slice(chunk * kPair, kQuad * kPair), placeOfChunk(slot, chunk));
  e.syncWarp();
  for (auto [slot, row] : llvm::enumerate(rows)) {
    CodeBuilder::Values values;
    for (int64_t chunk = 0; chunk < count; chunk += kQuad)
      values.push_back(e.loadAs(VectorType::get({kRun}, element), placeOfRun(slot, chunk), kChunk));
    e.when(row.isThere, [&] {
      Place start = e.at(row.to(), k.threads.warpColumn * k.threads.sharing.blockColumns() + k.threads.quad * kRun);
      for (auto [quad, value] : llvm::enumerate(values))
        LLVM::StoreOp::create(e, value, e.at(start, e.integer(static_cast<int64_t>(quad) * kQuad * kRun)).pointer, kChunk);
    });
  }
}

/// A box has the columns of a line, and the rows of the warp. Chunks trade places as the map says:
/// by the last bits of the row.
void StagedRows::storeBoxes(ArrayRef<Row> rows, const KernelContext::BoundMap &map, Int row, Int column) {
  const Sharing &sharing = k.threads.sharing;
  const int64_t lines = sharing.columns * 2 / kLine, boxBytes = sharing.blockRows() * kLine;
  Int line = e.lane() % kRows, matrix = e.lane() / kRows;
  for (auto [slot, part] : llvm::enumerate(rows))
    for (int64_t chunk = 0; chunk < lines * kChunksOfLine; chunk += kQuad) {
      int64_t bytes = chunk / kChunksOfLine * boxBytes + static_cast<int64_t>(slot) * kRows * kLine;
      Int turned = (matrix + chunk % kChunksOfLine) ^ line;
      e.storeMatrices(ArrayRef(part.elements).slice(chunk * kPair, kQuad * kPair),
                      e.shared(ofWarp + line * kLine + turned * kChunk + bytes, element));
    }
  e.fenceProxy();
  e.syncWarp();
  e.when(e.elect(), [&] {
    for (int64_t box = 0; box < lines; ++box)
      e.storeBox(e.shared(ofWarp + box * boxBytes, element), map.map, row + *k.warp * sharing.blockRows(),
                 column + box * (kLine / 2) - map.firstColumn);
    e.commitStores();
  });
}
} // namespace logitile::cuda
