// MemoryList.cpp - extents of arrays and of buffers in workspace.
#include "runtime/call/MemoryList.h"
#include <algorithm>
using namespace logitile;

MemoryRange logitile::rangeOf(const Array &array, bool isDefined) {
  TokenLayout layout(array.extents(), {array.strides, static_cast<size_t>(array.rank)});
  int64_t size = elementBytes(array.type), first = layout.smallestOffset();
  return {array.name, array.bytes() + first * size, (layout.largestOffset() - first + 1) * size, isDefined};
}

/// Buffers that the host fills, by index.
static std::vector<bool> filledByHost(const LoadedPlan &loaded) {
  std::vector<bool> filled(loaded.plan.buffers.size());
  auto fill = [&](int64_t buffer) {
    if (buffer >= 0)
      filled[buffer] = true;
  };
  const PlanTables &tables = loaded.tables;
  fill(tables.map);
  for (const PlanTables::Projection &projection : tables.projections)
    fill(projection.map);
  for (const PlanTables::Input &input : tables.inputs) {
    fill(input.map);
    std::ranges::for_each(input.buffers, fill);
  }
  std::ranges::for_each(tables.cotangents, fill);
  return filled;
}

std::vector<MemoryRange> logitile::listMemory(const LoadedPlan &loaded, const Binding &binding, const WorkspaceLayout &layout,
                                              const CallArguments &arguments, bool isBackward) {
  const LaunchPlan &plan = loaded.plan;
  std::vector<MemoryRange> list;
  auto add = [&](const Array *array, bool isDefined) {
    if (array && array->elements() > 0)
      list.push_back(rangeOf(*array, isDefined));
  };
  for (const Array &array : arguments.inputs)
    add(&array, /*isDefined=*/true);
  for (const Array &array : arguments.cotangents)
    add(&array, /*isDefined=*/true);
  add(arguments.divisor, /*isDefined=*/true);
  for (const Array &array : arguments.outputs)
    add(&array, /*isDefined=*/false);
  for (const GradientPlan &gradient : plan.gradients)
    add(findOperand(arguments.gradients, plan, gradient.part, gradient.owner), gradient.accumulates);
  std::vector<bool> filled = loaded.device->isHost() ? filledByHost(loaded) : std::vector<bool>(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferPlan &buffer = plan.buffers[i];
    if (buffer.alias >= 0 || layout.offsets[i] < 0)
      continue;
    bool isDefined = filled[i] || (isBackward && buffer.scope == Scope::Saved);
    list.push_back({buffer.name, binding[i].base, layout.geometry[i].bytes, isDefined});
  }
  return list;
}
