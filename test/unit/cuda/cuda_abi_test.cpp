// cuda_abi_test.cpp - the runtime's own declarations of the CUDA driver against cuda.h, where that
// is installed.
#include "runtime/cuda/Driver.h"
#include "gtest/gtest.h"
#include <cuda.h>
#include <string_view>
using namespace logitile::cuda;

namespace {
/// Types that are passed alike: enums and integers of one size are.
template <size_t> struct Integer;
template <typename T, typename = void> struct Passed {
  using type = T;
};
template <typename T> struct Passed<T, std::enable_if_t<std::is_enum_v<T> || std::is_integral_v<T>>> {
  using type = Integer<sizeof(T)>;
};
template <typename T> struct Passed<T *> {
  using type = typename Passed<std::remove_const_t<T>>::type *;
};
template <typename T> struct Signature;
template <typename R, typename... P> struct Signature<R(P...)> {
  using type = typename Passed<R>::type(typename Passed<P>::type...);
};
template <typename Ours, typename Theirs>
constexpr bool isSame = std::is_same_v<typename Signature<Ours>::type, typename Signature<Theirs>::type>;

static_assert(isSame<Code(int, char *), CUresult(unsigned, const char *)> && !isSame<int(int), int(long)> &&
              !isSame<int(CUcontext), int(CUmodule)> && !isSame<int(int *), int(int **)>);

#define LOGITILE_SAME_SIGNATURE(name, symbol, ...)                                                                                         \
  static_assert(isSame<Code(__VA_ARGS__), std::remove_pointer_t<decltype(&symbol)>>, #symbol);
LOGITILE_CUDA_FUNCTIONS(LOGITILE_SAME_SIGNATURE)

// Which version of a function programs get that are compiled with the header.
#define LOGITILE_SPELLED(symbol) #symbol
#define LOGITILE_EXPANDED(symbol) LOGITILE_SPELLED(symbol)
static_assert(LOGITILE_EXPANDED(cuDevicePrimaryCtxRelease) == std::string_view("cuDevicePrimaryCtxRelease_v2"));
static_assert(LOGITILE_EXPANDED(cuCtxPushCurrent) == std::string_view("cuCtxPushCurrent_v2"));
static_assert(LOGITILE_EXPANDED(cuCtxPopCurrent) == std::string_view("cuCtxPopCurrent_v2"));
static_assert(LOGITILE_EXPANDED(cuLinkCreate) == std::string_view("cuLinkCreate_v2"));
static_assert(LOGITILE_EXPANDED(cuLinkAddData) == std::string_view("cuLinkAddData_v2"));
static_assert(LOGITILE_EXPANDED(cuEventDestroy) == std::string_view("cuEventDestroy_v2"));

template <typename Ours, typename Theirs> constexpr bool isEqual(Ours ours, Theirs theirs) {
  return sizeof(Ours) == sizeof(Theirs) && static_cast<uint32_t>(ours) == static_cast<uint32_t>(theirs);
}
static_assert(isEqual(Code::Success, CUDA_SUCCESS) && isEqual(Code::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY) &&
              isEqual(Code::NotInitialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(isEqual(DeviceAttribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              isEqual(DeviceAttribute::MaxSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) &&
              isEqual(DeviceAttribute::MaxSharedBytesPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) &&
              isEqual(DeviceAttribute::CapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
              isEqual(DeviceAttribute::CapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(isEqual(FunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
              isEqual(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) &&
              isEqual(FunctionAttribute::MaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(isEqual(JitOption::InfoLog, CU_JIT_INFO_LOG_BUFFER) && isEqual(JitOption::InfoLogBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) &&
              isEqual(JitOption::ErrorLog, CU_JIT_ERROR_LOG_BUFFER) &&
              isEqual(JitOption::ErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(isEqual(JitInput::Ptx, CU_JIT_INPUT_PTX));
static_assert(isEqual(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) && isEqual(MemoryType::Host, CU_MEMORYTYPE_HOST) &&
              isEqual(MemoryType::Device, CU_MEMORYTYPE_DEVICE) && isEqual(MemoryType::Array, CU_MEMORYTYPE_ARRAY) &&
              isEqual(MemoryType::Unified, CU_MEMORYTYPE_UNIFIED) &&
              static_cast<unsigned>(HostMemory::Portable) == CU_MEMHOSTALLOC_PORTABLE &&
              static_cast<unsigned>(HostMemory::Mapped) == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(isEqual(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE) &&
              isEqual(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE) &&
              isEqual(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(isEqual(CaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL) &&
              isEqual(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) &&
              isEqual(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(std::is_same_v<Context, CUcontext> && std::is_same_v<Module, CUmodule> && std::is_same_v<Function, CUfunction> &&
              std::is_same_v<Stream, CUstream> && std::is_same_v<Event, CUevent> && std::is_same_v<LinkState, CUlinkState> &&
              sizeof(DevicePointer) == sizeof(CUdeviceptr));
} // namespace

/// The checks are made when this file is compiled; this says with what.
TEST(CudaAbi, DeclarationsAgreeWithTheHeader) { RecordProperty("CUDA_VERSION", CUDA_VERSION); }
