// Driver.cpp - finds the library and its functions, and spells its errors.
#include "runtime/cuda/Driver.h"
#include "runtime/support/ForkGuard.h"
#include <cstdlib>
#include <dlfcn.h>
using namespace logitile;
using namespace logitile::cuda;

namespace {
constexpr const char *kLibrary = "libcuda.so.1";

template <typename... Parameters> bool find(Driver::Imported<Parameters...> &function, void *library) {
  function.address = reinterpret_cast<Code (*)(Parameters...)>(dlsym(library, function.symbol));
  return function.address;
}
} // namespace

Status Driver::resolve(void *library, const std::string &file) {
#define LOGITILE_CUDA_FIND(name, symbol, ...)                                                                                              \
  if (!find(name, library))                                                                                                                \
    return Status(ErrorCode::Target, "the CUDA driver '" + file +                                                                          \
                                         "' has no function " #symbol "; install a driver for CUDA 11.4 or later, or use backend='cpu'");
  LOGITILE_CUDA_FUNCTIONS(LOGITILE_CUDA_FIND)
#undef LOGITILE_CUDA_FIND
  find(tensorMapEncodeTiled, library);
  return Status();
}

Result<std::shared_ptr<const Driver>> Driver::open() {
  const char *given = std::getenv("LOGITILE_CUDA_DRIVER");
  std::string file = given && *given ? given : kLibrary;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return Status(ErrorCode::Target, "there is no CUDA driver (" + std::string(reason ? reason : file) +
                                         "); install the driver of an NVIDIA GPU, or use backend='cpu'");
  }
  std::shared_ptr<Driver> driver(new Driver);
  driver->generation = forkGeneration();
  if (Status status = driver->resolve(library, file); !status.isOk())
    return status;
  if (Code code = driver->init.address(0); code != Code::Success)
    return driver->failure(driver->init.symbol, code,
                           code == Code::NotInitialized ? "in a process that was forked after CUDA was used, start workers with 'spawn'"
                                                        : "nvidia-smi shows whether driver and GPU work");
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::failure(const std::string &function, Code code, const std::string &remark) const {
  const char *name = nullptr, *text = nullptr;
  std::string number = "CUDA error " + std::to_string(static_cast<uint32_t>(code));
  if (getErrorName.address(code, &name) != Code::Success || !name)
    name = number.c_str();
  if (getErrorString.address(code, &text) != Code::Success || !text)
    text = "the driver has no text for it";
  return Status(ErrorCode::Target, function + " fails with " + name + " (" + text + ")" + (remark.empty() ? "" : "; " + remark));
}

bool Driver::isForked() const { return generation != forkGeneration(); }

Result<DeviceHandle> Driver::device(int ordinal) const {
  if (isForked())
    return Status(ErrorCode::Target, "this process was forked after CUDA was used, which no driver survives; start it with 'spawn', as by "
                                     "torch.multiprocessing.set_start_method('spawn')");
  DeviceHandle device = 0;
  Code code = deviceGet.address(&device, ordinal);
  if (code == Code::Success)
    return device;
  int count = 0;
  if (Status status = call(deviceGetCount, &count); !status.isOk())
    return status;
  return failure(deviceGet.symbol, code,
                 "device " + std::to_string(ordinal) + " is asked for, but the driver shows " + std::to_string(count) +
                     " (CUDA_VISIBLE_DEVICES may hide some)");
}

Result<int> Driver::attribute(DeviceAttribute attribute, DeviceHandle device) const {
  int value = 0;
  if (Status status = call(deviceGetAttribute, &value, attribute, device); !status.isOk())
    return status;
  return value;
}

std::string Driver::nameOf(DeviceHandle device) const {
  char name[128] = {};
  bool isKnown = deviceGetName.address(name, sizeof(name), device) == Code::Success;
  return "device " + std::to_string(device) + (isKnown ? " (" + std::string(name) + ")" : "");
}
