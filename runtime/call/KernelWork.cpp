// KernelWork.cpp - parameters of the runtime's own kernels.
#include "runtime/call/KernelWork.h"
#include "runtime/arrays/Values.h"
#include "runtime/gpu/IndexReport.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <utility>

namespace logitile::gpu {
namespace {
/// The first 'axes' axes of an array, neighbours merged.
Result<Elements> elementsOf(const Array &array, size_t axes) {
  Elements elements{array.data, array.type, 0, {}, {}, 0, 0};
  if (array.elements() == 0)
    return elements;
  TokenLayout layout(array.extents().first(axes), {array.strides, axes});
  if (layout.dimensionCount() > kMaxAxes)
    return Status(ErrorCode::Value, "'" + std::string(array.name) + "' has " + std::to_string(layout.dimensionCount()) +
                                        " axes that are not evenly spaced; GPUs support at most " + std::to_string(kMaxAxes) +
                                        ": make it contiguous");
  for (const TokenLayout::Dimension &dimension : layout.all()) {
    elements.extents[elements.axes] = dimension.extent;
    elements.strides[elements.axes++] = dimension.stride;
  }
  return elements;
}
Result<Elements> elementsOf(const Array &array) { return elementsOf(array, array.rank); }

/// A number that kernels cannot read goes with the launch.
Elements numberOf(const Array &array) {
  Elements elements{nullptr, array.type, 0, {}, {}, 0, 0};
  withElement(array.type, [&](auto example) {
    auto value = *static_cast<const decltype(example) *>(array.data);
    elements.number = static_cast<double>(value);
    if constexpr (std::is_integral_v<decltype(value)>)
      elements.integer = std::in_range<int64_t>(value) ? static_cast<int64_t>(value) : INT64_MAX;
  });
  return elements;
}

Kind kindOf(ElementType element) {
  return element == ElementType::F32 ? Kind::F32 : element == ElementType::I32 ? Kind::I32 : Kind::Byte;
}
} // namespace

Result<Elements> KernelWork::elementsOfInput(const Array &array, size_t axes) const {
  bool isNumber = array.rank == 0 && loaded.device->isHostOnly(array.data);
  return isNumber ? Result<Elements>(numberOf(array)) : elementsOf(array, axes);
}

template <typename Parameters> Status KernelWork::launch(const char *kernel, const Parameters &parameters, int64_t elements) {
  constexpr int64_t kMostBlocks = 4096; // threads go on with the elements that are left
  if (elements == 0)
    return Status();
  return device.launchOwn(kernel, std::min<int64_t>(llvm::divideCeil(elements, kThreads), kMostBlocks), kThreads, &parameters);
}

// ---- tokens and what goes in --------------------------------------------------------------------

Status KernelWork::findTokens(const IgnoreRule &rule, Tokens &tokens) {
  CompactTokens compact{facts(), map(), slots(), wrong(), tokens.total, {}, -1, 0, rule.value};
  if (rule.array) {
    size_t axes = tokens.leading.size();
    Result<Elements> ignore = elementsOfInput(*rule.array, axes);
    if (!ignore.isOk())
      return ignore.status();
    compact.ignore = *ignore;
    compact.entries = 1;
    if (rule.array->rank > static_cast<int>(axes)) {
      compact.entries = rule.array->extent(-1);
      compact.entryStride = rule.array->stride(-1);
    }
  }
  if (Status status = launchBlock("compact_tokens", compact); !status.isOk())
    return status;
  for (const Binding::RowMap &rows : binding.rowMaps()) {
    if (rows.units.isNatural) {
      binding.useTokenMap(rows.buffer);
      continue;
    }
    if (!binding.memory(rows.buffer))
      continue; // no kernel of this phase reads it
    FillRows fill{facts(), map(), memory<int32_t>(rows.buffer), {}, rows.units.first, rows.units.unit};
    if (rows.layout.dimensionCount() > kMaxAxes)
      return Status(ErrorCode::Value, "the leading dimensions of '" + plan.buffers[rows.buffer].name + "' are not evenly spaced; make it contiguous");
    for (const TokenLayout::Dimension &dimension : rows.layout.all()) {
      fill.tokens.extents[fill.tokens.axes] = dimension.extent;
      fill.tokens.strides[fill.tokens.axes++] = dimension.stride;
    }
    if (Status status = launch("fill_rows", fill, tokens.total); !status.isOk())
      return status;
  }
  return Status();
}

Status KernelWork::loadEntries(size_t index, const Array &array, const Tokens &tokens, size_t entry, Entries to) {
  const InputPlan &input = plan.inputs[index];
  bool isPerToken = input.kind == InputKind::Token, hasEntries = input.entries > 0;
  Result<Elements> source = elementsOfInput(array, isPerToken ? tokens.leading.size() : array.rank - hasEntries);
  if (!source.isOk())
    return source.status();
  if (hasEntries && source->data)
    source->data = array.bytes() + entry * array.stride(-1) * elementBytes(array.type);
  bool mayBeIgnored = hasEntries || input.name == arguments.ignore;
  std::optional<int64_t> exempt = mayBeIgnored ? arguments.ignoreIndex : std::nullopt;
  int32_t mark = loaded.device->indexReport()->numberOf(input.name) + 1;
  LoadInput load{facts(), isPerToken ? map() : nullptr, array.elements(), *source, kindOf(input.element), to.data, wrong(), mark,
                 input.isIndex, exempt.has_value(), plan.vocab, exempt.value_or(0), to.count, hasEntries ? array.stride(-1) : 0, to.stride};
  checksIndices |= input.element == ElementType::I32;
  return isPerToken ? launch("load_input", load, tokens.total) : launchBlock("load_input", load);
}

Status KernelWork::loadInput(size_t index, const Array &array, const Tokens &tokens) {
  std::vector<char *> buffers = binding.entriesOf(index);
  if (loaded.tables.inputs[index].buffers.size() == 1 && buffers.size() > 1) { // a list
    int64_t stride = (buffers[1] - buffers[0]) / elementBytes(plan.inputs[index].element);
    return loadEntries(index, array, tokens, 0, {buffers.front(), static_cast<int64_t>(buffers.size()), stride});
  }
  for (size_t entry = 0; entry < buffers.size(); ++entry) {
    if (!buffers[entry])
      continue;
    if (Status status = loadEntries(index, array, tokens, entry, {buffers[entry], 1, 0}); !status.isOk())
      return status;
  }
  return Status();
}

Status KernelWork::setDivisor(DivisorSource source, TokenValues weights, const Tokens &, bool late) {
  isLate = late;
  constexpr SetDivisor::From kSources[] = {SetDivisor::From::One, SetDivisor::From::Given, SetDivisor::From::Tokens,
                                           SetDivisor::From::Values};
  SetDivisor divide{kSources[static_cast<int>(source)], facts(), {}, kindOf(weights.element), weights.data, late};
  if (source == DivisorSource::Given) {
    Result<Elements> given = elementsOfInput(*arguments.divisor, 0);
    if (!given.isOk())
      return given.status();
    divide.given = *given;
  }
  return launchBlock("set_divisor", divide);
}

Status KernelWork::loadCotangent(size_t output, const Array *array, double constant, bool isDivided, const Tokens &tokens) {
  LoadCotangent load{facts(), map(), {}, isDivided, memory<float>(loaded.tables.cotangents[output])};
  load.source.number = constant;
  if (array) {
    Result<Elements> source = elementsOfInput(*array, array->rank);
    if (!source.isOk())
      return source.status();
    load.source = *source;
  }
  return launch("load_cotangent", load, tokens.total);
}

// ---- what comes out -----------------------------------------------------------------------------

Status KernelWork::checkIndices(int64_t buffer, const Tokens &tokens) {
  checksIndices = true;
  return launch("check_indices", CheckIndices{facts(), memory<int32_t>(buffer), plan.vocab, wrong()}, tokens.total);
}

Status KernelWork::scatter(const Array &array, TokenValues values, const Tokens &tokens, bool isScaled) {
  Result<Elements> out = elementsOf(array);
  if (!out.isOk())
    return out.status();
  int64_t places = std::max<int64_t>(values.places, 1);
  ScatterTokens scatter{facts(),      slots(), isScaled ? nullptr : wrong(), kindOf(values.element), values.data,
                        tokens.total, places,  values.stride,                isScaled,               *out};
  return launch("scatter_tokens", scatter, tokens.total * places);
}

Status KernelWork::storeTokens(const Array &array, TokenValues values, const Tokens &tokens) {
  return scatter(array, values, tokens, /*isScaled=*/false);
}

Status KernelWork::storeReduced(const Array &array, TokenValues values, const Tokens &) {
  Result<Elements> out = elementsOf(array);
  if (!out.isOk())
    return out.status();
  bool isMean = arguments.reduction == Reduction::Mean;
  return launchBlock("reduce_tokens", ReduceTokens{isMean ? ReduceTokens::To::Mean : ReduceTokens::To::Sum, facts(), kindOf(values.element),
                                                   values.data, wrong(), arguments.isZeroWhenAllIgnored, arguments.divisor != nullptr, *out});
}

Status KernelWork::storeTokenGradient(const Array &array, TokenValues values, const Tokens &tokens) {
  return scatter(array, values, tokens, /*isScaled=*/true);
}

Status KernelWork::storeVectorGradient(const Array &array, const char *values) {
  Result<Elements> out = elementsOf(array);
  if (!out.isOk())
    return out.status();
  return launch("store_vector", StoreVector{facts(), reinterpret_cast<const float *>(values), array.elements(), *out}, array.elements());
}

Status KernelWork::storeScalarGradient(const Array &array, const char *values, const Tokens &) {
  Result<Elements> out = elementsOf(array);
  if (!out.isOk())
    return out.status();
  return launchBlock("reduce_tokens", ReduceTokens{ReduceTokens::To::Gradient, facts(), Kind::F32, values, nullptr, false, false, *out});
}

Status KernelWork::scaleAll(const Array &array, const CallFacts *by) {
  Result<Elements> out = elementsOf(array);
  if (!out.isOk())
    return out.status();
  return launch("scale_elements", ScaleElements{by, array.elements(), *out}, array.elements());
}

Status KernelWork::finishGradient(const Array &array, bool hasTokenRows, const Tokens &tokens) {
  if (isLate)
    if (Status status = scaleAll(array, facts()); !status.isOk())
      return status;
  if (!hasTokenRows || arguments.ignore.empty() || !arguments.ignoreIndex)
    return Status();
  Result<Elements> rows = elementsOf(array, tokens.leading.size());
  if (!rows.isOk())
    return rows.status();
  ZeroIgnoredRows zero{slots(), tokens.total, array.extent(-1), array.stride(-1), *rows};
  return launch("zero_ignored_rows", zero, array.elements());
}

Status KernelWork::storeZero(const Array &array) { return scaleAll(array, nullptr); }

Status KernelWork::finish(const Tokens &) {
  if (!checksIndices)
    return Status();
  return launchBlock("report_indices", ReportIndices{facts(), map(), wrong(), loaded.device->indexReport()->memory()});
}
} // namespace logitile::gpu
