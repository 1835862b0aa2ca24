// MemoryList.h - the memory that the kernels of one phase may access, for devices that check every
// access.
#pragma once
#include "runtime/call/Binding.h"

namespace logitile {
/// From the first to the last element, whatever lies in between.
MemoryRange rangeOf(const Array &array, bool isDefined);
/// The arrays of the caller that kernels may use, and every buffer in workspace. What the runtime
/// fills itself before the first launch is defined, and what an earlier phase has saved.
std::vector<MemoryRange> listMemory(const LoadedPlan &loaded, const Binding &binding, const WorkspaceLayout &layout,
                                    const CallArguments &arguments, bool isBackward);
} // namespace logitile
