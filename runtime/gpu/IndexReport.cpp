// IndexReport.cpp - names and the text of the error.
#include "runtime/gpu/IndexReport.h"
#include <algorithm>
#include <atomic>
using namespace logitile;
using namespace logitile::gpu;

int32_t IndexReport::numberOf(const std::string &input) {
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(inputs, input);
  if (found == inputs.end())
    found = inputs.insert(found, input);
  return static_cast<int32_t>(found - inputs.begin());
}

Status IndexReport::take(bool isOfThisCall) {
  std::lock_guard lock(mutex);
  if (!flag || !std::atomic_ref(flag->isSet).exchange(0))
    return Status();
  bool isComputed = flag->input < 0 || flag->input >= static_cast<int32_t>(inputs.size());
  std::string what = isComputed ? "an index that the loss computes" : "'" + inputs[flag->input] + "'";
  std::string call = isOfThisCall ? "" : " of an earlier call", advice = isOfThisCall ? "" : "; set LOGITILE_CHECK=1 to stop in the call itself";
  return Status(ErrorCode::Index, what + " was outside the vocabulary for token " + std::to_string(flag->token) + call +
                                      " (counted through the leading dimensions): its results are NaN, -1 or False" + advice);
}
