// XlaCall.cpp - buffers of XLA become arrays of a call, and the phases run.
#include "python/bindings/XlaCall.h"
#include <utility>
using namespace logitile::python;
using Role = XlaCall::Role;
using Slot = XlaCall::Slot;

namespace {
std::optional<lt_type> typeOf(int type) {
  constexpr lt_type kSmall[] = {LT_BOOL,   LT_INT8,   LT_INT16,  LT_INT32,   LT_INT64,   LT_UINT8,
                                LT_UINT16, LT_UINT32, LT_UINT64, LT_FLOAT16, LT_FLOAT32, LT_FLOAT64};
  if (type >= xla::kBool && type <= xla::kFloat64)
    return kSmall[type - xla::kBool];
  return type == xla::kBfloat16 ? std::optional(LT_BFLOAT16) : std::nullopt;
}

/// The memory that XLA planned for the workspace of a call on a GPU, given away in pieces.
struct Room {
  char *next = nullptr;
  int64_t left = 0;

  static int allocate(void *context, int64_t bytes, void **data, void **owner) {
    constexpr int64_t kAlignment = 256;
    auto *room = static_cast<Room *>(context);
    int64_t taken = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (taken > room->left)
      return 1;
    *data = room->next;
    *owner = nullptr;
    room->next += taken;
    room->left -= taken;
    return 0;
  }
  static void release(void *) {} // all of it is XLA's
};

/// The arrays of one call, by what they are in it.
class XlaArrays {
public:
  XlaArrays(const xla::Buffers &given, const xla::Buffers &made) {
    size_t most = static_cast<size_t>(given.count + made.count);
    size_t axes = 0;
    for (const xla::Buffers &list : {given, made})
      for (int64_t i = 0; i < list.count; ++i)
        axes += static_cast<const xla::Buffer *>(list.items[i])->rank;
    numbers.reserve(2 * axes); // arrays point into it
    for (std::vector<lt_array> *list : {&inputs, &outputs, &gradients, &cotangents})
      list->reserve(most);
  }

  std::optional<XlaFailure> read(const xla::Buffers &given, const std::vector<Slot> &slots) {
    if (given.count != static_cast<int64_t>(slots.size()))
      return XlaFailure{xla::kInvalidArgument, "the program of XLA passes " + std::to_string(given.count) + " arrays in a list of " +
                                                   std::to_string(slots.size()) + "; trace the call of the head again"};
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto &buffer = *static_cast<const xla::Buffer *>(given.items[i]);
      std::optional<lt_type> type = typeOf(buffer.type);
      if (!type)
        return XlaFailure{xla::kInvalidArgument,
                          "'" + slots[i].name + "' has elements of XLA's type " + std::to_string(buffer.type) + ", which no array of a call has"};
      add(slots[i], buffer, *type);
    }
    return std::nullopt;
  }

  lt_call call() {
    lt_call made{};
    made.inputs = inputs.data();
    made.input_count = inputs.size();
    made.outputs = outputs.data();
    made.output_count = outputs.size();
    made.divisor = divisor ? &*divisor : nullptr;
    return made;
  }
  void addGradients(lt_call &call) const {
    call.gradients = gradients.data();
    call.gradient_count = gradients.size();
    call.cotangents = cotangents.data();
    call.cotangent_count = cotangents.size();
  }

  Room workspace;

private:
  void add(const Slot &slot, const xla::Buffer &buffer, lt_type type) {
    lt_array array{slot.name.c_str(), buffer.data, type, static_cast<int>(buffer.rank), nullptr, nullptr};
    if (slot.role == Role::Output && slot.type != type) { // an int64 that XLA takes for two int32
      array.type = slot.type;
      --array.rank;
    }
    addAxes(array, buffer.shape);
    if (slot.exchangesAxes)
      exchangeAxes(array);
    switch (slot.role) {
    case Role::Input:
      return inputs.push_back(array);
    case Role::Cotangent:
      return cotangents.push_back(array);
    case Role::Divisor:
      divisor = array;
      return;
    case Role::Output:
      return outputs.push_back(array);
    case Role::Gradient:
      return gradients.push_back(array);
    case Role::Workspace:
      workspace = {static_cast<char *>(buffer.data), buffer.shape[0]};
    }
  }
  /// Shape and strides of a contiguous array.
  void addAxes(lt_array &array, const int64_t *shape) {
    size_t first = numbers.size(), rank = array.rank;
    numbers.insert(numbers.end(), shape, shape + rank);
    numbers.resize(first + 2 * rank);
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0; stride *= shape[axis])
      numbers[first + rank + axis] = stride;
    array.shape = numbers.data() + first;
    array.strides = array.shape + rank;
  }
  void exchangeAxes(const lt_array &matrix) {
    int64_t *axes = numbers.data() + (matrix.shape - numbers.data());
    std::swap(axes[0], axes[1]);
    std::swap(axes[2], axes[3]);
  }

  std::vector<lt_array> inputs, outputs, gradients, cotangents;
  std::optional<lt_array> divisor;
  std::vector<int64_t> numbers; // of each array: its shape, then its strides
};
} // namespace

std::optional<XlaFailure> XlaCall::run(const xla::Buffers &given, const xla::Buffers &made, lt_stream *stream) const {
  XlaArrays arrays(given, made);
  if (std::optional<XlaFailure> wrong = arrays.read(given, arguments))
    return wrong;
  if (std::optional<XlaFailure> wrong = arrays.read(made, results))
    return wrong;
  lt_call call = arrays.call();
  options.copyTo(call);
  if (stream) {
    stream->allocate = &Room::allocate;
    stream->release = &Room::release;
    stream->context = &arrays.workspace;
    call.stream = stream;
  }
  if (isEarly)
    arrays.addGradients(call);
  lt_saved *state = nullptr;
  if (lt_code code = lt_plan_forward(plan.handle.get(), &call, &state); code != LT_OK)
    return failure(code);
  if (!state)
    return std::nullopt;
  Owner<lt_saved, lt_saved_destroy> saved(state);
  arrays.addGradients(call);
  lt_code code = lt_saved_backward(saved.get(), &call);
  return code == LT_OK ? std::nullopt : std::optional(failure(code));
}

XlaFailure XlaCall::failure(lt_code code) const {
  const lt_error &error = *lt_last_error();
  std::string text = error.text;
  switch (code) {
  case LT_INDEX_ERROR:
    return {xla::kOutOfRange, *error.computed_index && !picks.empty() ? picks + ": " + text : text};
  case LT_TYPE_ERROR:
  case LT_VALUE_ERROR:
    return {xla::kInvalidArgument, text};
  case LT_TARGET_ERROR:
    return {xla::kFailedPrecondition, text};
  default:
    return {xla::kInternal, text};
  }
}
