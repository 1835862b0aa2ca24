// MemoryModel.h - the layout of buffers in the memory of a target. No MLIR or LLVM here, because
// the runtime includes this file.
#pragma once
#include <cstdint>

namespace logitile {
struct MemoryModel {
  int64_t panelWidth = 1;   // f32 values of a panel; memory per token is padded to a multiple
  int64_t rowAlignment = 1; // bytes: rows of strided matrices begin at multiples of it
};
} // namespace logitile
