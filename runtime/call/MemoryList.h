// MemoryList.h - the memory that the kernels of one phase may access, for devices that check every
// access.
#pragma once
#include "runtime/call/Binding.h"

namespace logitile {
/// The memory from the first to the last element of an array, including gaps.
MemoryRange rangeOf(const Array &array, bool isDefined);
/// The caller's arrays that kernels may use, and every buffer in workspace. Buffers that the
/// runtime fills before the first launch, or that an earlier phase has saved, are defined.
std::vector<MemoryRange> listMemory(const LoadedPlan &loaded, const Binding &binding, const WorkspaceLayout &layout,
                                    const CallArguments &arguments, bool isBackward);
} // namespace logitile
