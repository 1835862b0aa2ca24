// call_kernels.cpp - the runtime's own GPU kernels, compiled for GPUs when logitile is built. What
// each does is said in CallKernels.h. Blocks have kThreads threads; where a comment there says one
// block, the grid has one.
#include "runtime/gpu/CallKernels.h"

#define KERNEL extern "C" [[clang::nvptx_kernel]] [[gnu::flatten]]
#define SHARED [[clang::loader_uninitialized]] __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))

namespace logitile::gpu {
constexpr int kWarps = kThreads / 32;
// Not static: LLVM takes a barrier to leave variables alone that no other code can know of.
SHARED double sums[kThreads];
SHARED int64_t values[kThreads];
SHARED int32_t counts[kWarps];

namespace {

int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
int lane() { return thread() % 32; }
int warp() { return thread() / 32; }
int64_t firstElement() { return int64_t(__nvvm_read_ptx_sreg_ctaid_x()) * kThreads + thread(); }
int64_t step() { return int64_t(__nvvm_read_ptx_sreg_nctaid_x()) * kThreads; }
void sync() { __syncthreads(); }

/// Everything that kernels take is in global memory.
template <typename T> GLOBAL T *global(T *pointer) { return (GLOBAL T *)(uintptr_t)pointer; }
template <typename T> T load(const Elements &array, int64_t offset) { return ((GLOBAL const T *)(uintptr_t)array.data)[offset]; }
template <typename T> void store(const Elements &array, int64_t offset, T value) { ((GLOBAL T *)(uintptr_t)array.data)[offset] = value; }
template <typename T> T bitsAs(uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

int64_t offsetOf(const Elements &array, int64_t element) {
  int64_t offset = 0;
#pragma unroll
  for (int axis = kMaxAxes - 1; axis >= 0; --axis)
    if (axis < array.axes) {
      offset += element % array.extents[axis] * array.strides[axis];
      element /= array.extents[axis];
    }
  return offset;
}

double numberAt(const Elements &array, int64_t offset) {
  if (!array.data)
    return array.number;
  switch (array.type) {
  case ElementType::F16:
    return bitsAs<Half>(load<uint16_t>(array, offset));
  case ElementType::BF16:
    return bitsAs<BFloat>(load<uint16_t>(array, offset));
  case ElementType::F32:
    return load<float>(array, offset);
  case ElementType::F64:
    return load<double>(array, offset);
  case ElementType::I8:
    return load<int8_t>(array, offset);
  case ElementType::I16:
    return load<int16_t>(array, offset);
  case ElementType::I32:
    return load<int32_t>(array, offset);
  case ElementType::I64:
    return double(load<int64_t>(array, offset));
  case ElementType::U8:
  case ElementType::Bool:
    return load<uint8_t>(array, offset);
  case ElementType::U16:
    return load<uint16_t>(array, offset);
  case ElementType::U32:
    return load<uint32_t>(array, offset);
  case ElementType::U64:
    return double(load<uint64_t>(array, offset));
  }
  return 0;
}

/// An element of integers. What does not fit in 64 bits becomes the largest number, which no index
/// is.
int64_t integerAt(const Elements &array, int64_t offset) {
  if (!array.data)
    return array.integer;
  switch (array.type) {
  case ElementType::I8:
    return load<int8_t>(array, offset);
  case ElementType::I16:
    return load<int16_t>(array, offset);
  case ElementType::I32:
    return load<int32_t>(array, offset);
  case ElementType::U8:
    return load<uint8_t>(array, offset);
  case ElementType::U16:
    return load<uint16_t>(array, offset);
  case ElementType::U32:
    return load<uint32_t>(array, offset);
  case ElementType::U64: {
    uint64_t value = load<uint64_t>(array, offset);
    return value > uint64_t(INT64_MAX) ? INT64_MAX : int64_t(value);
  }
  default:
    return load<int64_t>(array, offset);
  }
}

void storeFloat(const Elements &array, int64_t offset, double value) {
  switch (array.type) {
  case ElementType::F16:
    return store<uint16_t>(array, offset, Half(float(value)).bits);
  case ElementType::BF16:
    return store<uint16_t>(array, offset, BFloat(float(value)).bits);
  case ElementType::F64:
    return store<double>(array, offset, value);
  default:
    return store<float>(array, offset, float(value));
  }
}

/// A value that kernels of the plan have made.
double valueOf(Kind kind, const void *values, int64_t i) {
  switch (kind) {
  case Kind::F32:
    return global((const float *)values)[i];
  case Kind::I32:
    return global((const int32_t *)values)[i];
  case Kind::Byte:
    break;
  }
  return global((const uint8_t *)values)[i];
}

/// The sum over the threads of a block, in an order that is always the same; thread 0 has it.
double sumOfBlock(double value) {
  sums[thread()] = value;
  sync();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread() < half)
      sums[thread()] += sums[thread() + half];
    sync();
  }
  return sums[0];
}

/// The smallest over the threads of a block.
int64_t smallestOfBlock(int64_t value) {
  values[thread()] = value;
  sync();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread() < half && values[thread() + half] < values[thread()])
      values[thread()] = values[thread() + half];
    sync();
  }
  return values[0];
}

double sumOfTokens(Kind kind, const void *values, const int32_t *wrong, int64_t count) {
  double sum = 0;
  for (int64_t i = thread(); i < count; i += kThreads)
    sum += wrong && global(wrong)[i] ? __builtin_nan("") : valueOf(kind, values, i);
  return sumOfBlock(sum);
}

bool isIgnored(const CompactTokens &to, int64_t token) {
  if (to.entries < 0)
    return false;
  int64_t offset = offsetOf(to.ignore, token);
  for (int64_t entry = 0; entry < to.entries; ++entry)
    if (integerAt(to.ignore, offset + entry * to.entryStride) != to.value)
      return false;
  return true;
}

bool isAllowed(const LoadInput &to, int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX)
    return false;
  return !to.isIndex || (value >= 0 && value < to.vocab) || (to.hasExempt && value == to.exempt);
}

/// Copies one element to place 'i'; false where it is not allowed.
bool loadOne(const LoadInput &to, int64_t i, int64_t offset) {
  if (to.kind != Kind::I32) {
    double value = numberAt(to.source, offset);
    if (to.kind == Kind::F32)
      global((float *)to.out)[i] = float(value);
    else
      global((uint8_t *)to.out)[i] = value != 0;
    return true;
  }
  int64_t value = integerAt(to.source, offset);
  bool isFine = isAllowed(to, value);
  global((int32_t *)to.out)[i] = isFine ? int32_t(value) : -1;
  return isFine;
}
} // namespace

KERNEL void compact_tokens(CompactTokens to) {
  int64_t counted = 0;
  for (int64_t first = 0; first < to.total; first += kThreads) {
    int64_t token = first + thread();
    bool isCounted = token < to.total && !isIgnored(to, token);
    uint32_t ballot = __nvvm_vote_ballot_sync(0xffffffff, isCounted);
    if (lane() == 0)
      counts[warp()] = __builtin_popcount(ballot);
    sync();
    int64_t slot = counted + __builtin_popcount(ballot & ((1u << lane()) - 1));
    for (int other = 0; other < kWarps; ++other) {
      slot += other < warp() ? counts[other] : 0;
      counted += counts[other];
    }
    sync();
    if (token >= to.total)
      continue;
    global(to.slots)[token] = isCounted ? int32_t(slot) : -1;
    global(to.wrong)[token] = 0;
    if (isCounted)
      global(to.map)[slot] = int32_t(token);
  }
  if (thread() == 0) {
    global(to.facts)->counted = counted;
    global(to.facts)->factor = 1;
  }
}

KERNEL void fill_rows(FillRows to) {
  for (int64_t i = firstElement(); i < global(to.facts)->counted; i += step())
    global(to.rows)[i] = int32_t((offsetOf(to.tokens, global(to.map)[i]) - to.first) / to.unit);
}

KERNEL void load_input(LoadInput to) {
  int64_t count = to.map ? global(to.facts)->counted : to.count;
  bool isFine = true;
  for (int64_t i = firstElement(); i < count; i += step()) {
    int64_t offset = offsetOf(to.source, to.map ? global(to.map)[i] : i);
    bool isOne = true;
    for (int64_t entry = 0; entry < to.entries; ++entry)
      isOne &= loadOne(to, i + entry * to.outStride, offset + entry * to.entryStride);
    if (to.map && !isOne)
      global(to.wrong)[i] = to.mark;
    isFine &= isOne;
  }
  if (to.map || to.kind != Kind::I32)
    return;
  bool isBlockFine = smallestOfBlock(isFine) != 0;
  if (!isBlockFine && thread() == 0 && global(to.facts)->counted > 0)
    global(to.wrong)[0] = to.mark;
}

KERNEL void set_divisor(SetDivisor to) {
  int64_t counted = global(to.facts)->counted;
  double sum = to.from == SetDivisor::From::Values ? sumOfTokens(to.kind, to.values, nullptr, counted) : 1;
  if (thread() != 0)
    return;
  if (to.from == SetDivisor::From::Given)
    sum = numberAt(to.given, 0);
  if (to.from == SetDivisor::From::Tokens)
    sum = double(counted);
  global(to.facts)->divisor = sum;
  if (to.isLate && counted > 0)
    global(to.facts)->factor = 1 / sum;
}

KERNEL void load_cotangent(LoadCotangent to) {
  double scale = to.isDivided ? 1 / global(to.facts)->divisor : 1;
  for (int64_t i = firstElement(); i < global(to.facts)->counted; i += step()) {
    global(to.out)[i] = float(numberAt(to.source, offsetOf(to.source, global(to.map)[i])) * scale);
  }
}

KERNEL void check_indices(CheckIndices to) {
  for (int64_t i = firstElement(); i < global(to.facts)->counted; i += step()) {
    int32_t index = global(to.indices)[i];
    if (index < 0 || index >= to.vocab)
      global(to.wrong)[i] = -1;
  }
}

KERNEL void report_indices(ReportIndices to) {
  int64_t counted = global(to.facts)->counted, first = counted;
  for (int64_t i = thread(); i < counted && first == counted; i += kThreads)
    if (global(to.wrong)[i])
      first = i;
  first = smallestOfBlock(first);
  if (thread() != 0 || first == counted)
    return;
  int32_t mark = global(to.wrong)[first];
  global(to.flag)->input = mark < 0 ? -1 : mark - 1;
  global(to.flag)->token = global(to.map)[first];
  __atomic_store_n(&global(to.flag)->isSet, 1, __ATOMIC_RELEASE); // the host may look at any time: the others first
}

KERNEL void scatter_tokens(ScatterTokens to) {
  double factor = to.isScaled ? global(to.facts)->factor : 1;
  for (int64_t i = firstElement(); i < to.total * to.places; i += step()) {
    int64_t token = i / to.places;
    int32_t slot = to.values ? global(to.slots)[token] : -1;
    bool isWrong = slot >= 0 && to.wrong && global(to.wrong)[slot];
    int64_t offset = offsetOf(to.out, i);
    double value = slot < 0 ? 0 : valueOf(to.kind, to.values, slot * to.stride + i % to.places);
    if (to.out.type == ElementType::I64)
      store<int64_t>(to.out, offset, slot < 0 || isWrong ? -1 : int64_t(value));
    else if (to.out.type == ElementType::Bool)
      store<uint8_t>(to.out, offset, !isWrong && value != 0);
    else
      storeFloat(to.out, offset, isWrong ? __builtin_nan("") : to.isScaled ? float(value) * float(factor) : value);
  }
}

KERNEL void reduce_tokens(ReduceTokens to) {
  int64_t counted = global(to.facts)->counted;
  double sum = sumOfTokens(to.kind, to.values, to.wrong, counted);
  if (thread() != 0)
    return;
  if (to.to == ReduceTokens::To::Gradient)
    sum *= global(to.facts)->factor;
  if (to.to == ReduceTokens::To::Mean && (counted > 0 || to.hasDivisor))
    sum /= global(to.facts)->divisor;
  else if (to.to == ReduceTokens::To::Mean)
    sum = to.isZeroWhenAllIgnored ? 0 : __builtin_nan("");
  storeFloat(to.out, 0, sum);
}

KERNEL void store_vector(StoreVector to) {
  float factor = float(global(to.facts)->factor);
  for (int64_t i = firstElement(); i < to.count; i += step())
    storeFloat(to.out, offsetOf(to.out, i), global(to.values)[i] * factor);
}

KERNEL void zero_ignored_rows(ZeroIgnoredRows to) {
  for (int64_t i = firstElement(); i < to.total * to.columns; i += step())
    if (int64_t token = i / to.columns; global(to.slots)[token] < 0)
      storeFloat(to.out, offsetOf(to.out, token) + i % to.columns * to.columnStride, 0);
}

KERNEL void scale_elements(ScaleElements to) {
  float factor = to.facts ? float(global(to.facts)->factor) : 0;
  if (factor == 1)
    return;
  for (int64_t i = firstElement(); i < to.count; i += step()) {
    int64_t offset = offsetOf(to.out, i);
    storeFloat(to.out, offset, to.facts ? float(numberAt(to.out, offset)) * factor : 0);
  }
}
} // namespace logitile::gpu
