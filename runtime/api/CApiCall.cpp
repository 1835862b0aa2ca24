// CApiCall.cpp - the C interface of calls: arrays in, phases run.
#include "runtime/api/CApi.h"
#include "runtime/api/Enums.h"
#include "runtime/arrays/Outputs.h"
#include "runtime/cpu/ThreadCount.h"
#include <algorithm>
using namespace logitile;

namespace {
/// The arguments of one call, and strides that the caller left out.
class CallOf {
public:
  Status copy(const lt_call &call) {
    size_t count = call.input_count + call.output_count + call.gradient_count + call.cotangent_count + 1;
    arrays.reserve(count); // spans point into it
    const std::pair<std::span<const lt_array>, std::span<const Array> *> lists[] = {{{call.inputs, call.input_count}, &arguments.inputs},
                                                                                    {{call.outputs, call.output_count}, &arguments.outputs},
                                                                                    {{call.gradients, call.gradient_count},
                                                                                     &arguments.gradients},
                                                                                    {{call.cotangents, call.cotangent_count},
                                                                                     &arguments.cotangents}};
    for (const auto &[given, list] : lists)
      if (Status status = copyList(given, *list); !status.isOk())
        return status;
    std::span<const Array> divisor;
    if (Status status = copyList({call.divisor, call.divisor ? size_t(1) : 0}, divisor); !status.isOk())
      return status;
    arguments.divisor = divisor.empty() ? nullptr : divisor.data();
    std::optional<Reduction> reduction = valueOf<Reduction>(call.reduction);
    if (!reduction)
      return Status(ErrorCode::Value, "there is no reduction " + std::to_string(call.reduction));
    if (call.threads < 1)
      return Status(ErrorCode::Value, "a call needs at least 1 thread, not " + std::to_string(call.threads));
    arguments.reduction = *reduction;
    if (call.ignore)
      arguments.ignore = call.ignore;
    if (call.ignore_index)
      arguments.ignoreIndex = *call.ignore_index;
    arguments.isZeroWhenAllIgnored = call.zero_if_all_ignored;
    arguments.threads = call.threads;
    if (const lt_stream *stream = call.stream)
      arguments.stream = {stream->device, stream->handle, {stream->allocate, stream->release, stream->context}};
    if (arguments.stream.memory.allocate && !arguments.stream.memory.release)
      return Status(ErrorCode::Value, "a stream with 'allocate' needs 'release'");
    arguments.interrupt = {call.interrupt ? &isInterrupted : nullptr, const_cast<lt_call *>(&call)};
    return Status();
  }
  CallArguments arguments;

private:
  static bool isInterrupted(void *context) {
    auto *call = static_cast<const lt_call *>(context);
    return call->interrupt(call->interrupt_context) != 0;
  }

  Status copyList(std::span<const lt_array> given, std::span<const Array> &list) {
    size_t first = arrays.size();
    for (const lt_array &array : given) {
      std::optional<ElementType> type = valueOf<ElementType>(array.type);
      if (!type)
        return Status(ErrorCode::Type, "'" + std::string(array.name) + "' is of no known type: " + std::to_string(array.type));
      if (array.rank < 0 || array.rank > kMaxRank)
        return Status(ErrorCode::Value, "'" + std::string(array.name) + "' has " + std::to_string(array.rank) + " axes; 0 to " +
                                            std::to_string(kMaxRank) + " are possible");
      if (!isAddressable(array, *type))
        return Status(ErrorCode::Value, "'" + std::string(array.name) + "' has shape " + shapeText({array.shape, size_t(array.rank)}) +
                                            ", which no array in memory can have");
      const int64_t *strides = array.strides ? array.strides : contiguous(array);
      arrays.push_back({array.name, array.data, *type, array.rank, array.shape, strides});
      if (!array.data && arrays.back().elements() > 0)
        return Status(ErrorCode::Value, "'" + std::string(array.name) + "' has elements but no data");
    }
    list = {arrays.data() + first, arrays.size() - first};
    return Status();
  }
  /// Whether its bytes, and those of every part of its shape, can be counted.
  static bool isAddressable(const lt_array &array, ElementType type) {
    int64_t bytes = elementBytes(type);
    return std::ranges::all_of(std::span(array.shape, array.rank), [&](int64_t extent) {
      return extent >= 0 && !__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes);
    });
  }
  const int64_t *contiguous(const lt_array &array) {
    std::vector<int64_t> &strides = made.emplace_back(array.rank);
    int64_t stride = 1;
    for (int axis = array.rank - 1; axis >= 0; --axis) {
      strides[axis] = stride;
      stride *= array.shape[axis];
    }
    return strides.data();
  }

  std::vector<Array> arrays;
  std::vector<std::vector<int64_t>> made; // the inner vectors keep their memory when this one grows
};
} // namespace

/// The loss may be compiled for one number that marks ignored entries: with another one it would
/// have two meanings.
static Status checkRules(const std::optional<CallRules> &rules, const lt_call &call) {
  if (!rules || !call.ignore_index || rules->ignoreIndex == *call.ignore_index)
    return Status();
  return Status(ErrorCode::Value, "ignore_index is " + std::to_string(*call.ignore_index) + ", but the plan was saved for " +
                                      (rules->ignoreIndex ? std::to_string(*rules->ignoreIndex) : "none") +
                                      "; give that one, or compile another plan");
}

lt_code lt_call_init(const lt_plan *plan, lt_call *call) {
  return guarded([&]() -> Status {
    Result<int> threads = chooseThreads(0);
    if (!threads.isOk())
      return threads.status();
    *call = {};
    call->threads = *threads;
    if (!plan->use.rules)
      return Status();
    const CallRules &rules = *plan->use.rules;
    call->reduction = static_cast<lt_reduction>(rules.reduction);
    call->ignore = rules.ignore.empty() ? nullptr : rules.ignore.c_str();
    call->ignore_index = rules.ignoreIndex ? &*rules.ignoreIndex : nullptr;
    call->zero_if_all_ignored = rules.isZeroWhenAllIgnored;
    return Status();
  });
}

lt_code lt_plan_forward(const lt_plan *plan, const lt_call *call, lt_saved **saved) {
  return guarded([&]() -> Status {
    CallOf copied;
    if (Status status = checkRules(plan->use.rules, *call); !status.isOk())
      return status;
    if (Status status = copied.copy(*call); !status.isOk())
      return status;
    Result<std::unique_ptr<Saved>> result = plan->engine->forward(plan->use.loaded, copied.arguments);
    if (!result.isOk())
      return result.status();
    *saved = *result ? new lt_saved{plan->engine, std::move(*result)} : nullptr;
    return Status();
  });
}

lt_code lt_saved_backward(const lt_saved *saved, const lt_call *call) {
  return guarded([&]() -> Status {
    CallOf copied;
    if (Status status = copied.copy(*call); !status.isOk())
      return status;
    return saved->engine->backward(*saved->saved, copied.arguments);
  });
}
int64_t lt_saved_bytes(const lt_saved *saved) { return saved->saved->memory.size(); }
void lt_saved_destroy(lt_saved *saved) { delete saved; }
