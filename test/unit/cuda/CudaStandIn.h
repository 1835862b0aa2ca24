// CudaStandIn.h - what tests see of the library that stands in for the CUDA driver: they set it up,
// and ask what it saw. It is the library that LOGITILE_CUDA_DRIVER has to name.
#pragma once
#include "runtime/cuda/Driver.h"
#include <string>
#include <vector>

#define LOGITILE_STAND_IN __attribute__((visibility("default")))

namespace logitile::test::stand_in {
/// Everything as in a new process: two devices, none of them used. Devices have the compute
/// capability that CUDA_STAND_IN_CAPABILITY says ("8.0" without it), and there are as many as
/// CUDA_STAND_IN_DEVICES says. The driver's version is CUDA_STAND_IN_DRIVER ("12040" without it).
LOGITILE_STAND_IN void reset();

/// One launch that was accepted.
struct Launch {
  std::string kernel;
  cuda::Context context;
  cuda::Stream stream;
  unsigned grid, block, sharedBytes;
  std::vector<int64_t> words;
};
LOGITILE_STAND_IN const std::vector<Launch> &launches();
/// One tensor map that was encoded. Its first word is its number from 1 on, which launches have
/// among their words.
struct TensorMap {
  cuda::TensorType type;
  void *address;
  std::vector<uint64_t> sizes, strides; // strides in bytes, of all dimensions but the first
  std::vector<uint32_t> box;
  cuda::TensorSwizzle swizzle;
  cuda::TensorPromotion promotion;
};
LOGITILE_STAND_IN const std::vector<TensorMap> &tensorMaps();
/// Names of the functions that were called, in order; those that tell of errors are left out.
LOGITILE_STAND_IN const std::vector<std::string> &calls();
/// Calls that a driver would punish: handles that are gone, sizes that are wrong, work that no
/// capture allows.
LOGITILE_STAND_IN const std::vector<std::string> &problems();
/// What is still there that has to be given back: modules, memory, events, contexts that are
/// retained or current.
LOGITILE_STAND_IN std::vector<std::string> leaks();

/// The next call of a function ends in 'code', without doing anything.
LOGITILE_STAND_IN void failNext(const std::string &symbol, uint32_t code);
/// From now on every call ends as after the end of the driver.
LOGITILE_STAND_IN void shutDown();

/// A context that is not the primary one; it becomes current on this thread.
LOGITILE_STAND_IN cuda::Context createContext(int device);
/// With all that is in it. It must be the current one and ceases to be.
LOGITILE_STAND_IN void destroyContext(cuda::Context context);
/// The primary context of a device, as a framework uses it: made current where 'isCurrent', else
/// not.
LOGITILE_STAND_IN void makePrimaryCurrent(int device, bool isCurrent);
LOGITILE_STAND_IN cuda::Context primary(int device);
/// A stream of the current context.
LOGITILE_STAND_IN cuda::Stream createStream();
LOGITILE_STAND_IN void setCapturing(cuda::Stream stream, bool isCapturing);
/// How many contexts are on the stack of this thread.
LOGITILE_STAND_IN size_t contextDepth();
} // namespace logitile::test::stand_in
