// Binding.cpp - checks the arrays of a call against the plan and finds strides.
#include "runtime/call/Binding.h"
#include "runtime/arrays/Outputs.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
using namespace logitile;

static Status missing(const std::string &what, const std::string &name) {
  return Status(ErrorCode::Value, what + " '" + name + "' is missing");
}

/// What makes no logits reads states of slices: values and lists of each token.
Binding::TokenInput Binding::tokenInput() const {
  if (!plan.projections.empty())
    return {OperandPart::Hidden, plan.projections.front().name, true};
  const InputPlan &input = *std::ranges::find_if(plan.inputs, isOfTokens);
  return {OperandPart::Input, input.name, input.entries > 0};
}

std::vector<char *> Binding::entriesOf(size_t input) const {
  const std::vector<int64_t> &buffers = tables.inputs[input].buffers;
  std::vector<char *> found;
  for (int64_t buffer : buffers)
    found.push_back(memory(buffer));
  if (buffers.size() > 1 || !found.front())
    return found;
  int64_t column = states[buffers.front()].stride1 * elementBytes(plan.buffers[buffers.front()].element);
  for (int64_t entry = 1; entry < plan.inputs[input].entries; ++entry)
    found.push_back(found.front() + entry * column);
  return found;
}

Result<Tokens> Binding::findTokens(const CallArguments &arguments) const {
  TokenInput input = tokenInput();
  const Array *array = findOperand(arguments.inputs, plan, input.part, input.owner);
  if (!array)
    return missing("input", operandName(plan, input.part, input.owner));
  const std::string name(array->name);
  if (input.hasAxis && array->rank == 0)
    return Status(ErrorCode::Value, "input '" + name + "' has no axis; its shape is leading dimensions and " +
                                        (plan.projections.empty() ? "its entries" : "the hidden size"));
  Tokens tokens;
  tokens.leading = array->extents().first(array->rank - input.hasAxis);
  tokens.total = 1;
  for (int64_t extent : tokens.leading)
    tokens.total *= extent;
  if (tokens.total > INT32_MAX)
    return Status(ErrorCode::Value, "a call has at most 2147483647 tokens; '" + name + "' has " + std::to_string(tokens.total));
  return tokens;
}

// ---- inputs -------------------------------------------------------------------------------------

Status Binding::bindRows(const Array &array, const Tokens &tokens, int64_t buffer, int64_t map) {
  if (buffer < 0 || tokens.total == 0)
    return Status();
  size_t axes = tokens.leading.size();
  TokenLayout layout(tokens.leading, {array.strides, axes});
  RowUnits units = rowUnitsOf(layout, tokens.total);
  if (units.most > INT32_MAX)
    return Status(ErrorCode::Value, "the tokens of '" + std::string(array.name) + "' lie too far apart; make it contiguous");
  states[buffer] = {array.bytes() + units.first * elementBytes(array.type), units.unit, array.stride(-1)};
  if (map >= 0)
    maps.push_back({map, layout, units});
  return Status();
}

Status Binding::bindProjection(size_t index, const CallArguments &arguments, const Tokens &tokens) {
  const ProjectionPlan &projection = plan.projections[index];
  const PlanTables::Projection &table = tables.projections[index];
  const Array *hidden = findOperand(arguments.inputs, plan, OperandPart::Hidden, projection.name);
  const Array *weight = findOperand(arguments.inputs, plan, OperandPart::Weight, projection.name);
  if (!hidden || !weight)
    return missing("input", operandName(plan, hidden ? OperandPart::Weight : OperandPart::Hidden, projection.name));
  std::vector<int64_t> rows(tokens.leading.begin(), tokens.leading.end());
  rows.push_back(projection.hidden);
  if (Status status = checkArray(*hidden, "input", rows, {&projection.hiddenMemory, 1}); !status.isOk())
    return status;
  int64_t matrix[] = {plan.columns, projection.hidden};
  if (Status status = checkArray(*weight, "input", matrix, {&projection.weightMemory, 1}); !status.isOk())
    return status;
  if (table.weight >= 0)
    states[table.weight] = {weight->bytes(), weight->stride(0), weight->stride(1)};
  return bindRows(*hidden, tokens, table.hidden, table.map);
}

Status Binding::bindInputs(const CallArguments &arguments, const Tokens &tokens) {
  for (size_t i = 0; i < plan.projections.size(); ++i)
    if (Status status = bindProjection(i, arguments, tokens); !status.isOk())
      return status;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const InputPlan &input = plan.inputs[i];
    const Array *array = findArray(arguments.inputs, input.name);
    if (!array)
      return missing("input", input.name);
    if (input.kind != InputKind::Dense)
      continue;
    std::vector<int64_t> shape(tokens.leading.begin(), tokens.leading.end());
    shape.push_back(plan.columns);
    if (Status status = checkArray(*array, "input", shape, {&input.element, 1}); !status.isOk())
      return status;
    if (Status status = bindRows(*array, tokens, tables.inputs[i].buffers.front(), tables.inputs[i].map); !status.isOk())
      return status;
  }
  return Status();
}

// ---- gradients ----------------------------------------------------------------------------------

/// What the array of a gradient must look like. Entries of token inputs are as many as the input
/// has.
std::vector<int64_t> Binding::shapeOf(const GradientPlan &gradient, const Array &array, const Tokens &tokens) const {
  std::vector<int64_t> rows(tokens.leading.begin(), tokens.leading.end());
  if (gradient.part == OperandPart::Weight)
    return {plan.columns, plan.projections[gradient.number].hidden};
  if (gradient.part == OperandPart::Hidden)
    return rows.push_back(plan.projections[gradient.number].hidden), rows;
  switch (gradient.kind) {
  case GradientPlan::Kind::Direct:
    return rows.push_back(plan.columns), rows;
  case GradientPlan::Kind::Vocab:
    return {plan.columns};
  case GradientPlan::Kind::Scalar:
    return {};
  case GradientPlan::Kind::Zero:
    return {array.extents().begin(), array.extents().end()};
  case GradientPlan::Kind::Token:
    break;
  }
  bool isUnread = gradient.number < 0, isOfEntries = gradient.buffers.size() > 1 || array.rank > static_cast<int>(rows.size());
  bool hasEntries = isUnread ? isOfEntries : plan.inputs[gradient.number].entries > 0;
  if (hasEntries)
    rows.push_back(std::max<int64_t>(array.rank > 0 ? array.extent(-1) : 0, gradient.buffers.size()));
  return rows;
}

Status Binding::bindGradient(const GradientPlan &gradient, const Array &array, const Tokens &tokens) {
  constexpr ElementType kFloats[] = {ElementType::F32, ElementType::BF16, ElementType::F16, ElementType::F64};
  bool isDirect = gradient.kind == GradientPlan::Kind::Direct;
  std::span<const ElementType> types = isDirect ? std::span<const ElementType>(&gradient.element, 1) : std::span<const ElementType>(kFloats);
  if (Status status = checkArray(array, "gradient", shapeOf(gradient, array, tokens), types); !status.isOk())
    return status;
  if (!isDirect || tokens.total == 0)
    return Status();
  BufferState &state = states[gradient.buffers.front()];
  if (plan.buffers[gradient.buffers.front()].rows >= 0) { // one row for each vocabulary entry
    state = {array.bytes(), array.stride(0), array.stride(1)};
    return Status();
  }
  TokenLayout layout(tokens.leading, {array.strides, tokens.leading.size()});
  if (!layout.isEven())
    return Status(ErrorCode::Value, "gradient '" + std::string(array.name) + "' must have evenly spaced tokens; make it contiguous");
  state = {array.bytes(), layout.stride(), array.stride(-1)};
  return Status();
}

Status Binding::bindGradients(const CallArguments &arguments, const Tokens &tokens) {
  if (plan.isSplit && !isBackward)
    return Status();
  for (const GradientPlan &gradient : plan.gradients) {
    const Array *array = findOperand(arguments.gradients, plan, gradient.part, gradient.owner);
    if (!array)
      return missing("gradient", operandName(plan, gradient.part, gradient.owner));
    if (Status status = bindGradient(gradient, *array, tokens); !status.isOk())
      return status;
  }
  return Status();
}

// ---- workspace ----------------------------------------------------------------------------------

void Binding::bindWorkspace(const WorkspaceLayout &layout, char *saved, char *phase) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (layout.offsets[i] < 0)
      continue;
    bool isSaved = plan.buffers[tables.roots[i]].scope == Scope::Saved;
    states[i] = {(isSaved ? saved : phase) + layout.offsets[i], layout.geometry[i].stride0, layout.geometry[i].stride1};
  }
}

void Binding::fillMaps(const IgnoreRule &rule, Tokens &tokens) {
  auto *map = reinterpret_cast<int32_t *>(states[tables.map].base);
  const int64_t width = plan.memory.panelWidth;
  auto lanes = [&](int64_t count) { return llvm::alignTo(std::max<int64_t>(count, 1), width); };
  auto fill = [&](int32_t *out) { std::fill(out + tokens.counted, out + lanes(tokens.counted), 0); }; // vector code reads them
  fillMap(rule, tokens, map);
  fill(map);
  tokens.map = map;
  for (const RowMap &rows : maps) {
    if (rows.units.isNatural) {
      useTokenMap(rows.buffer);
      continue;
    }
    auto *out = reinterpret_cast<int32_t *>(states[rows.buffer].base);
    if (!out)
      continue; // no kernel of this phase reads it
    fillRows(rows.layout, rows.units, tokens, out);
    fill(out);
  }
}
