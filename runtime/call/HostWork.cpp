// HostWork.cpp - which loop does what. The loops are in Inputs.cpp, Outputs.cpp and Tokens.cpp.
#include "runtime/call/HostWork.h"
#include "runtime/arrays/Inputs.h"
#include "runtime/arrays/Outputs.h"
#include "runtime/arrays/Values.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
using namespace logitile;

Status HostWork::findTokens(const IgnoreRule &rule, Tokens &tokens) {
  binding.fillMaps(rule, tokens);
  return Status();
}

// ---- what goes in -------------------------------------------------------------------------------

static int64_t lanesOf(int64_t count, int64_t panelWidth) {
  return llvm::alignTo(std::max<int64_t>(count, 1), panelWidth);
}

Status HostWork::loadInput(size_t index, const Array &array, const Tokens &tokens) {
  const InputPlan &input = plan.inputs[index];
  std::vector<char *> buffers = binding.entriesOf(index);
  int64_t lanes = input.kind == InputKind::Token   ? lanesOf(tokens.counted, plan.memory.panelWidth)
                  : input.kind == InputKind::Vocab ? plan.columns
                                                         : 1;
  return logitile::loadInput(input, array, tokens, {plan.vocab, arguments.ignore, arguments.ignoreIndex}, buffers, lanes);
}

static double numberOf(const Array &array) {
  return withElement(array.type, [&](auto example) { return static_cast<double>(*static_cast<const decltype(example) *>(array.data)); });
}

Status HostWork::setDivisor(DivisorSource source, TokenValues weights, const Tokens &tokens, bool isLate) {
  switch (source) {
  case DivisorSource::One:
    lossDivisor = 1;
    break;
  case DivisorSource::Given:
    lossDivisor = numberOf(*arguments.divisor);
    break;
  case DivisorSource::Tokens:
    lossDivisor = static_cast<double>(tokens.counted);
    break;
  case DivisorSource::Weights:
    lossDivisor = sumOf(weights.data, weights.element, tokens.counted);
    break;
  }
  factor = isLate ? 1 / lossDivisor : 1;
  return Status();
}

Status HostWork::loadCotangent(size_t output, const Array *array, double constant, bool isDivided, const Tokens &tokens) {
  char *buffer = binding.memory(loaded.tables.cotangents[output]);
  auto *out = reinterpret_cast<float *>(buffer);
  int64_t lanes = lanesOf(tokens.counted, plan.memory.panelWidth);
  if (!array || array->rank == 0) {
    double value = array ? numberOf(*array) : constant;
    std::fill(out, out + lanes, static_cast<float>(value * (isDivided ? 1 / lossDivisor : 1)));
    return Status();
  }
  InputPlan input{InputKind::Token, plan.outputs[output].name, 0, ElementType::F32, false};
  return logitile::loadInput(input, *array, tokens, {plan.vocab, {}, std::nullopt}, {&buffer, 1}, lanes);
}

// ---- what comes out -----------------------------------------------------------------------------

Status HostWork::checkIndices(int64_t buffer, const Tokens &tokens) {
  auto *indices = reinterpret_cast<const int32_t *>(binding.memory(buffer));
  auto *wrong = std::find_if(indices, indices + tokens.counted, [&](int32_t index) { return index < 0 || index >= plan.vocab; });
  if (wrong == indices + tokens.counted)
    return Status();
  std::string position = positionText(tokens.map[wrong - indices], tokens.leading), vocab = std::to_string(plan.vocab);
  Error error;
  error.code = ErrorCode::Index;
  error.text = "the index that is computed for token " + (position.empty() ? "[]" : position) + " is " + std::to_string(*wrong) +
               ", outside the vocabulary of " + vocab + " entries: it must be 0 to " + std::to_string(plan.vocab - 1);
  error.computedIndex = plan.buffers[buffer].name;
  return Status(std::move(error));
}

Status HostWork::storeTokens(const Array &array, TokenValues values, const Tokens &tokens) {
  scatterOutput(array, tokens, values.element, values.data, values.places, values.stride);
  return Status();
}

Status HostWork::storeReduced(const Array &array, TokenValues values, const Tokens &tokens) {
  double sum = sumOf(values.data, values.element, tokens.counted);
  if (arguments.reduction == Reduction::Mean) {
    bool isNothing = tokens.counted == 0 && !arguments.divisor;
    double nothing = arguments.isZeroWhenAllIgnored ? 0 : std::numeric_limits<double>::quiet_NaN();
    sum = isNothing ? nothing : sum / lossDivisor;
  }
  storeScalar(array, sum);
  return Status();
}

Status HostWork::storeTokenGradient(const Array &array, TokenValues values, const Tokens &tokens) {
  scatterGradient(array, tokens, reinterpret_cast<const float *>(values.data), static_cast<float>(factor), values.places, values.stride);
  return Status();
}

Status HostWork::storeVectorGradient(const Array &array, const char *values) {
  storeVector(array, reinterpret_cast<const float *>(values), static_cast<float>(factor));
  return Status();
}

Status HostWork::storeScalarGradient(const Array &array, const char *values, const Tokens &tokens) {
  storeScalar(array, sumOf(values, ElementType::F32, tokens.counted) * factor);
  return Status();
}

Status HostWork::finishGradient(const Array &array, bool hasTokenRows, const Tokens &tokens) {
  if (factor != 1)
    scale(array, static_cast<float>(factor));
  if (hasTokenRows)
    zeroIgnoredRows(array, tokens);
  return Status();
}

Status HostWork::storeZero(const Array &array) {
  fillZero(array);
  return Status();
}
