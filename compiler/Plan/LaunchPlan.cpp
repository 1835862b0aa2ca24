// LaunchPlan.cpp - sizes and strides: the arithmetic that the compiler predicts with and the
// runtime allocates by.
#include "compiler/Plan/LaunchPlan.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
using namespace logitile;

/// More than any machine has, and so little that hundreds of such sizes can be added. Larger sizes
/// become this.
constexpr int64_t kHugeBytes = int64_t(1) << 52;

static int64_t bytesOf(int64_t rows, int64_t columns, int64_t elementBytes) {
  int64_t elements = 0, bytes = 0;
  bool overflows = __builtin_mul_overflow(rows, columns, &elements) || __builtin_mul_overflow(elements, elementBytes, &bytes);
  return overflows ? kHugeBytes : std::min(bytes, kHugeBytes);
}

int64_t LaunchPlan::findBuffer(BufferRole role, int64_t owner, int64_t entry) const {
  auto isIt = [&](const BufferPlan &buffer) { return buffer.role == role && buffer.owner == owner && buffer.entry == entry; };
  auto it = std::find_if(buffers.begin(), buffers.end(), isIt);
  return it == buffers.end() ? -1 : it - buffers.begin();
}

int64_t logitile::chunkTokens(int64_t tokens, int64_t step, int64_t tokenTile) {
  if (step > 0)
    return std::min<int64_t>(step, llvm::alignTo(tokens, tokenTile));
  return llvm::alignTo((tokens - step - 1) / -step, tokenTile);
}

/// Strides and bytes. Extents in tokens are rounded up to whole panels, so that vector code may
/// touch every lane.
static BufferGeometry geometryOf(const BufferPlan &buffer, int64_t tokens, const MemoryModel &memory) {
  // Columns are a cache line further apart than they need be: else they would fall on few cache
  // sets. Tile registers read lines of a column at a third of their speed if they are cut in two.
  constexpr int64_t kColumnPaddingBytes = 64;
  const int64_t panelWidth = memory.panelWidth;
  int64_t lanes = llvm::alignTo(std::max<int64_t>(tokens, 1), panelWidth);
  int64_t rows = buffer.rows >= 0          ? buffer.rows
                 : buffer.tokensPerRow > 1 ? llvm::divideCeil(tokens, buffer.tokensPerRow)
                                           : lanes;
  int64_t columns = buffer.window > 0 ? buffer.window : buffer.columns >= 0 ? buffer.columns : lanes;
  int64_t size = elementBytes(buffer.element);
  int64_t pair = size == 2 ? 2 : 1; // packed 16-bit values come in pairs
  BufferGeometry geometry;
  switch (buffer.layout) {
  case Layout::Strided:
    if (columns > 1)
      columns = llvm::alignTo(columns, std::max<int64_t>(memory.rowAlignment / size, 1));
    geometry = {columns, 1, bytesOf(std::max<int64_t>(rows, 1), columns, size)};
    break;
  case Layout::ColumnMajor:
    rows += kColumnPaddingBytes / size;
    geometry = {1, rows, bytesOf(columns, rows, size)};
    break;
  case Layout::RowPanels:
    geometry.stride0 = llvm::alignTo(columns, pair) * panelWidth;
    geometry.bytes = bytesOf(llvm::alignTo(rows, panelWidth) / panelWidth, geometry.stride0, size);
    break;
  case Layout::ColumnPanels:
    geometry.stride1 = llvm::alignTo(rows, pair) * panelWidth;
    geometry.bytes = bytesOf(llvm::alignTo(columns, panelWidth) / panelWidth, geometry.stride1, size);
    break;
  }
  return geometry;
}

WorkspaceLayout logitile::layoutWorkspace(const std::vector<BufferPlan> &buffers, int64_t tokens, int64_t chunk, const MemoryModel &memory,
                                          bool backward, int64_t guard) {
  constexpr int64_t kAlignment = 64; // a cache line, and the widest vector
  WorkspaceLayout layout;
  auto place = [&](int64_t &end, int64_t bytes) {
    int64_t offset = end;
    end += llvm::alignTo(bytes, kAlignment) + guard;
    layout.guardBytes += guard;
    return offset;
  };
  for (const BufferPlan &buffer : buffers) {
    BufferGeometry geometry = geometryOf(buffer, buffer.scope == Scope::Chunk ? chunk : tokens, memory);
    int64_t offset = -1;
    if (buffer.alias >= 0) { // row over row of another buffer: its strides in bytes, its memory
      const BufferPlan &base = buffers[buffer.alias];
      int64_t ratio = elementBytes(base.element) / elementBytes(buffer.element);
      geometry = layout.geometry[buffer.alias];
      geometry.stride0 *= buffer.layout == Layout::ColumnMajor ? 1 : ratio;
      geometry.stride1 *= buffer.layout == Layout::ColumnMajor ? ratio : 1;
      offset = layout.offsets[buffer.alias];
    } else if (buffer.scope == Scope::Saved) {
      offset = place(layout.savedBytes, geometry.bytes);
    } else if (buffer.scope != Scope::Input && buffer.scope != Scope::Output &&
               (backward ? buffer.inBackward : buffer.inForward)) {
      offset = place(layout.phaseBytes, geometry.bytes);
    }
    layout.geometry.push_back(geometry);
    layout.offsets.push_back(offset);
  }
  return layout;
}

int64_t logitile::chunkOf(const std::vector<StepPlan> &steps, int64_t tokens, int64_t tokenTile) {
  for (const StepPlan &step : steps)
    if (step.kind == StepKind::TokenLoop)
      return chunkTokens(tokens, step.step, tokenTile);
  return tokens;
}

int64_t logitile::workspaceBytes(const LaunchPlan &plan, int64_t tokens, int64_t threads) {
  int64_t scratch = 0;
  for (const KernelPlan &kernel : plan.kernels)
    scratch = std::max<int64_t>(scratch, llvm::alignTo(kernel.scratchBytes, 64));
  WorkspaceLayout forward = layoutWorkspace(plan.buffers, tokens, chunkOf(plan.forward, tokens, plan.tokenTile), plan.memory, false);
  int64_t phase = forward.phaseBytes;
  if (plan.isSplit) {
    int64_t chunk = chunkOf(plan.backward, tokens, plan.tokenTile);
    phase = std::max(phase, layoutWorkspace(plan.buffers, tokens, chunk, plan.memory, true).phaseBytes);
  }
  return forward.savedBytes + phase + scratch * threads;
}
