// Driver.h - the functions of NVIDIA's driver that the runtime calls, in its own declarations, so
// that the build needs no part of CUDA. The library is opened when a call needs it; other files of
// this folder use it.
#pragma once
#include "runtime/support/Status.h"
#include <cstddef>
#include <type_traits>

// What the driver's handles point to.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUlinkState_st;

namespace logitile::cuda {
/// The values of CUresult that the runtime distinguishes.
enum class Code : uint32_t {
  Success = 0,
  OutOfMemory = 2,
  NotInitialized = 3,
};
enum class DeviceAttribute : uint32_t {
  MaxThreadsPerBlock = 1,
  MaxSharedBytesPerBlock = 8,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  MaxSharedBytesPerBlockOptin = 97,
};
enum class FunctionAttribute : uint32_t {
  MaxThreadsPerBlock = 0,
  SharedBytes = 1, // static ones
  MaxDynamicSharedBytes = 8,
};
enum class JitOption : uint32_t {
  InfoLog = 3,
  InfoLogBytes = 4,
  ErrorLog = 5,
  ErrorLogBytes = 6,
};
enum class JitInput : uint32_t { Ptx = 1 };
enum class PointerAttribute : uint32_t { MemoryType = 2 };
enum class MemoryType : uint32_t { Host = 1, Device = 2, Array = 3, Unified = 4 };
/// Flags for host memory that has the same address in every context.
enum class HostMemory : uint32_t { Portable = 1, Mapped = 2 };
/// Parameters of cuTensorMapEncodeTiled, which drivers for CUDA 12 have.
enum class TensorType : uint32_t { F16 = 6, BF16 = 9 };
enum class TensorInterleave : uint32_t { None = 0 };
enum class TensorSwizzle : uint32_t { None = 0, Bytes32 = 1, Bytes64 = 2, Bytes128 = 3 };
enum class TensorPromotion : uint32_t { None = 0, Bytes128 = 2 };
enum class TensorFill : uint32_t { Zeros = 0 };
enum class CaptureStatus : uint32_t { None = 0, Active = 1, Invalidated = 2 };
enum class CaptureMode : uint32_t { Global = 0, ThreadLocal = 1, Relaxed = 2 };

using DeviceHandle = int;
using Context = CUctx_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Stream = CUstream_st *; // null: the default stream of the current context
using Event = CUevent_st *;
using LinkState = CUlinkState_st *;
using DevicePointer = unsigned long long;

// clang-format off
/// X(name here, symbol of the library, types of its parameters). Symbols have the number of the
/// version that is declared.
#define LOGITILE_CUDA_FUNCTIONS(X)                                                                                                 \
  X(init,                     cuInit,                        unsigned)                                                             \
  X(driverGetVersion,         cuDriverGetVersion,            int *)                                                                \
  X(getErrorName,             cuGetErrorName,                Code, const char **)                                                  \
  X(getErrorString,           cuGetErrorString,              Code, const char **)                                                  \
  X(deviceGetCount,           cuDeviceGetCount,              int *)                                                                \
  X(deviceGet,                cuDeviceGet,                   DeviceHandle *, int)                                                  \
  X(deviceGetName,            cuDeviceGetName,               char *, int, DeviceHandle)                                            \
  X(deviceGetAttribute,       cuDeviceGetAttribute,          int *, DeviceAttribute, DeviceHandle)                                 \
  X(devicePrimaryCtxRetain,   cuDevicePrimaryCtxRetain,      Context *, DeviceHandle)                                              \
  X(devicePrimaryCtxRelease,  cuDevicePrimaryCtxRelease_v2,  DeviceHandle)                                                         \
  X(ctxGetCurrent,            cuCtxGetCurrent,               Context *)                                                            \
  X(ctxGetDevice,             cuCtxGetDevice,                DeviceHandle *)                                                       \
  X(ctxPushCurrent,           cuCtxPushCurrent_v2,           Context)                                                              \
  X(ctxPopCurrent,            cuCtxPopCurrent_v2,            Context *)                                                            \
  X(linkCreate,               cuLinkCreate_v2,               unsigned, JitOption *, void **, LinkState *)                          \
  X(linkAddData,              cuLinkAddData_v2,              LinkState, JitInput, void *, size_t, const char *, unsigned,          \
                                                             JitOption *, void **)                                                 \
  X(linkComplete,             cuLinkComplete,                LinkState, void **, size_t *)                                         \
  X(linkDestroy,              cuLinkDestroy,                 LinkState)                                                            \
  X(moduleLoadDataEx,         cuModuleLoadDataEx,            Module *, const void *, unsigned, JitOption *, void **)               \
  X(moduleUnload,             cuModuleUnload,                Module)                                                               \
  X(moduleGetFunction,        cuModuleGetFunction,           Function *, Module, const char *)                                     \
  X(funcGetAttribute,         cuFuncGetAttribute,            int *, FunctionAttribute, Function)                                   \
  X(funcSetAttribute,         cuFuncSetAttribute,            Function, FunctionAttribute, int)                                     \
  X(launchKernel,             cuLaunchKernel,                Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                                             unsigned, Stream, void **, void **)                                   \
  X(streamIsCapturing,        cuStreamIsCapturing,           Stream, CaptureStatus *)                                              \
  X(threadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, CaptureMode *)                                             \
  X(memAllocAsync,            cuMemAllocAsync,               DevicePointer *, size_t, Stream)                                      \
  X(memFreeAsync,             cuMemFreeAsync,                DevicePointer, Stream)                                                \
  X(memHostAlloc,             cuMemHostAlloc,                void **, size_t, unsigned)                                            \
  X(memFreeHost,              cuMemFreeHost,                 void *)                                                               \
  X(pointerGetAttribute,      cuPointerGetAttribute,         void *, PointerAttribute, DevicePointer)                              \
  X(ctxSynchronize,           cuCtxSynchronize)                                                                                    \
  X(eventCreate,              cuEventCreate,                 Event *, unsigned)                                                    \
  X(eventRecord,              cuEventRecord,                 Event, Stream)                                                        \
  X(eventSynchronize,         cuEventSynchronize,            Event)                                                                \
  X(eventElapsedTime,         cuEventElapsedTime,            float *, Event, Event)                                                \
  X(eventDestroy,             cuEventDestroy_v2,             Event)
// clang-format on

/// The opened library. It stays open until the process ends, because other code may use it too.
class Driver {
public:
  /// One function of the library.
  template <typename... Parameters> struct Imported {
    const char *symbol;
    Code (*address)(Parameters...) = nullptr;
  };
#define LOGITILE_CUDA_MEMBER(name, symbol, ...) Imported<__VA_ARGS__> name{#symbol};
  LOGITILE_CUDA_FUNCTIONS(LOGITILE_CUDA_MEMBER)
#undef LOGITILE_CUDA_MEMBER
  /// Null in drivers that are too old for tensor maps.
  Imported<void *, TensorType, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, TensorInterleave,
           TensorSwizzle, TensorPromotion, TensorFill>
      tensorMapEncodeTiled{"cuTensorMapEncodeTiled"};

  /// Opens and initialises the library: libcuda.so.1, or the file that LOGITILE_CUDA_DRIVER names.
  /// An error if there is no such library, if it lacks a function, or if it finds no device.
  static Result<std::shared_ptr<const Driver>> open();

  /// Calls a function. An error names the function and has the driver's text.
  template <typename... Parameters>
  Status call(const Imported<Parameters...> &function, std::type_identity_t<Parameters>... arguments) const {
    Code code = function.address(arguments...);
    return code == Code::Success ? Status() : failure(function.symbol, code);
  }
  /// The error of a function that ended in 'code'; 'remark' comes after the driver's text.
  Status failure(const std::string &function, Code code, const std::string &remark = {}) const;

  /// The device with number 'ordinal'. An error if there is none, or in a forked process.
  Result<DeviceHandle> device(int ordinal) const;
  Result<int> attribute(DeviceAttribute attribute, DeviceHandle device) const;
  /// "device 1 (NVIDIA H200)"
  std::string nameOf(DeviceHandle device) const;
  /// Whether this process is a fork of the process that opened the library. Then the library must
  /// not be used.
  bool isForked() const;

private:
  Driver() = default;
  Status resolve(void *library, const std::string &file);
  uint64_t generation = 0;
};
} // namespace logitile::cuda
