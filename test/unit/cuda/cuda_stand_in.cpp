// cuda_stand_in.cpp - a library with the functions of the CUDA driver that the runtime calls. It
// runs nothing: it checks every call as strictly as a driver might, and remembers launches.
#include "test/unit/cuda/CudaStandIn.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>
using namespace logitile::cuda;
using namespace logitile::test;
using stand_in::Launch;

// ---- what there is ------------------------------------------------------------------------------

namespace {
enum : uint32_t {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kContextIsDestroyed = 709,
  kCaptureUnsupported = 900,
};
constexpr struct {
  uint32_t code;
  const char *name, *text;
} kErrors[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

const std::string kNativeHead = "native code for sm_";
constexpr int kThreadsPerBlock = 1024, kSharedBytes = 48 * 1024, kSharedBytesOptin = 163 * 1024;
} // namespace

// Handles are pointers to these; they are never freed, so that use after the end is seen.
struct CUctx_st {
  int device = 0;
  bool isAlive = true, isPrimary = false;
  int retained = 0;
};
struct CUmod_st {
  Context context = nullptr;
  bool isAlive = true;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  Module module = nullptr;
  std::string name;
  size_t parameters = 0;
  int fixedSharedBytes = 0, threads = kThreadsPerBlock, dynamicSharedBytes = kSharedBytes, cluster = 1;
};
struct CUlinkState_st {
  bool isAlive = true;
  std::vector<JitOption> options;
  std::vector<void *> values;
  std::string ptx, native;
};
struct CUstream_st {
  Context context = nullptr;
  bool isCapturing = false;
};
struct CUevent_st {
  Context context = nullptr;
  bool isAlive = true, isRecorded = false, isCaptured = false;
};

namespace {
struct Allocation {
  Context context;
  Stream stream;
  std::unique_ptr<char[]> memory;
};

struct State {
  pid_t process = getpid();
  bool isInitialised = false, isShutDown = false;
  int devices = 2, major = 8, minor = 0, driverVersion = 12040;
  std::map<int, Context> primaries;
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::vector<std::unique_ptr<CUmod_st>> modules;
  std::vector<std::unique_ptr<CUlinkState_st>> links;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::map<DevicePointer, Allocation> memory;
  std::vector<std::unique_ptr<char[]>> hostMemory;
  std::map<std::string, uint32_t> failures;
  std::vector<Launch> launches;
  std::vector<stand_in::TensorMap> tensorMaps;
  std::vector<std::string> calls, problems;

  State() {
    if (const char *count = std::getenv("CUDA_STAND_IN_DEVICES"))
      devices = std::atoi(count);
    if (const char *capability = std::getenv("CUDA_STAND_IN_CAPABILITY"))
      std::sscanf(capability, "%d.%d", &major, &minor);
    if (const char *version = std::getenv("CUDA_STAND_IN_DRIVER"))
      driverVersion = std::atoi(version);
  }
};
std::mutex mutex;
std::unique_ptr<State> state = std::make_unique<State>();
thread_local std::vector<Context> stack;
thread_local CaptureMode captureMode = CaptureMode::Global;

template <typename T> bool has(const std::vector<std::unique_ptr<T>> &all, const T *one) {
  return std::ranges::any_of(all, [&](const auto &each) { return each.get() == one; });
}
Code error(uint32_t code) { return static_cast<Code>(code); }

/// One call of a function, made under the lock.
class Entered {
public:
  explicit Entered(const char *symbol) : lock(mutex), symbol(symbol) {
    state->calls.push_back(symbol);
    bool isInit = std::string(symbol) == "cuInit";
    if (state->isShutDown)
      failed = kDeinitialized;
    else if (getpid() != state->process || (!state->isInitialised && !isInit))
      failed = kNotInitialized;
    else if (auto planned = state->failures.extract(symbol))
      failed = planned.mapped();
  }
  explicit operator bool() const { return failed == 0; }
  Code code() const { return error(failed); }

  /// A call that the runtime must not make.
  Code wrong(const std::string &what, uint32_t code) {
    state->problems.push_back(std::string(symbol) + ": " + what);
    return error(code);
  }
  /// The current context; null, with the problem noted, where there is none that lives.
  Context current() {
    if (!stack.empty() && stack.back()->isAlive)
      return stack.back();
    wrong("no context is current", kInvalidContext);
    return nullptr;
  }
  bool ownsStream(Stream stream) {
    if (!stream)
      return true;
    if (has(state->streams, stream) && stream->context == current())
      return true;
    wrong("the stream is none of the current context", kInvalidHandle);
    return false;
  }

private:
  std::lock_guard<std::mutex> lock;
  const char *symbol;
  uint32_t failed = 0;
};
#define ENTER(symbol)                                                                                                                      \
  Entered call(#symbol);                                                                                                                   \
  if (!call)                                                                                                                               \
  return call.code()

Context newContext(int device, bool isPrimary) {
  state->contexts.push_back(std::make_unique<CUctx_st>());
  state->contexts.back()->device = device;
  state->contexts.back()->isPrimary = isPrimary;
  return state->contexts.back().get();
}
Context primaryOf(int device) {
  Context &context = state->primaries[device];
  if (!context)
    context = newContext(device, true);
  return context;
}
} // namespace

// ---- for tests ----------------------------------------------------------------------------------

void stand_in::reset() {
  std::lock_guard lock(mutex);
  state = std::make_unique<State>();
  stack.clear();
}
const std::vector<Launch> &stand_in::launches() { return state->launches; }
const std::vector<stand_in::TensorMap> &stand_in::tensorMaps() { return state->tensorMaps; }
const std::vector<std::string> &stand_in::calls() { return state->calls; }
const std::vector<std::string> &stand_in::problems() { return state->problems; }
void stand_in::failNext(const std::string &symbol, uint32_t code) { state->failures[symbol] = code; }
void stand_in::shutDown() { state->isShutDown = true; }
size_t stand_in::contextDepth() { return stack.size(); }
Context stand_in::primary(int device) { return primaryOf(device); }
void stand_in::setCapturing(Stream stream, bool isCapturing) { stream->isCapturing = isCapturing; }

std::vector<std::string> stand_in::leaks() {
  std::vector<std::string> found(state->memory.size() + state->hostMemory.size(), "memory");
  for (const auto &module : state->modules)
    if (module->isAlive)
      found.push_back("a module");
  for (const auto &link : state->links)
    if (link->isAlive)
      found.push_back("a link");
  for (const auto &event : state->events)
    if (event->isAlive)
      found.push_back("an event");
  for (const auto &context : state->contexts)
    if (context->retained > 0)
      found.push_back("a retained context");
  if (!stack.empty())
    found.push_back("a current context");
  if (captureMode != CaptureMode::Global)
    found.push_back("a relaxed thread");
  return found;
}

Context stand_in::createContext(int device) {
  stack.push_back(newContext(device, false));
  return stack.back();
}
void stand_in::destroyContext(Context context) {
  context->isAlive = false;
  stack.pop_back();
  for (const auto &module : state->modules)
    module->isAlive &= module->context != context;
  std::erase_if(state->memory, [&](const auto &known) { return known.second.context == context; });
}
void stand_in::makePrimaryCurrent(int device, bool isCurrent) {
  if (isCurrent)
    stack.push_back(primaryOf(device));
  else
    stack.pop_back();
}
Stream stand_in::createStream() {
  state->streams.push_back(std::make_unique<CUstream_st>());
  state->streams.back()->context = stack.back();
  return state->streams.back().get();
}

// ---- errors and devices -------------------------------------------------------------------------

#define DRIVER extern "C" LOGITILE_STAND_IN Code

static Code describe(Code code, const char **text, bool isName) {
  for (const auto &known : kErrors)
    if (known.code == static_cast<uint32_t>(code)) {
      *text = isName ? known.name : known.text;
      return Code::Success;
    }
  return error(kInvalidValue);
}
DRIVER cuGetErrorName(Code code, const char **name) { return describe(code, name, true); }
DRIVER cuGetErrorString(Code code, const char **text) { return describe(code, text, false); }

DRIVER cuInit(unsigned flags) {
  ENTER(cuInit);
  if (flags != 0)
    return call.wrong("flags must be 0", kInvalidValue);
  if (state->devices == 0)
    return error(kNoDevice);
  state->isInitialised = true;
  return Code::Success;
}
DRIVER cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = state->devices;
  return Code::Success;
}
DRIVER cuDeviceGet(DeviceHandle *device, int ordinal) {
  ENTER(cuDeviceGet);
  if (ordinal < 0 || ordinal >= state->devices)
    return error(kInvalidDevice);
  *device = ordinal;
  return Code::Success;
}
DRIVER cuDeviceGetName(char *name, int size, DeviceHandle) {
  ENTER(cuDeviceGetName);
  std::snprintf(name, size, "Stand-in");
  return Code::Success;
}
DRIVER cuDriverGetVersion(int *version) {
  ENTER(cuDriverGetVersion);
  *version = state->driverVersion;
  return Code::Success;
}
DRIVER cuDeviceGetAttribute(int *value, DeviceAttribute attribute, DeviceHandle device) {
  ENTER(cuDeviceGetAttribute);
  if (device < 0 || device >= state->devices)
    return call.wrong("there is no such device", kInvalidDevice);
  const std::map<DeviceAttribute, int> values = {{DeviceAttribute::MaxThreadsPerBlock, kThreadsPerBlock},
                                                 {DeviceAttribute::MaxSharedBytesPerBlock, kSharedBytes},
                                                 {DeviceAttribute::CapabilityMajor, state->major},
                                                 {DeviceAttribute::CapabilityMinor, state->minor},
                                                 {DeviceAttribute::MaxSharedBytesPerBlockOptin, kSharedBytesOptin}};
  auto known = values.find(attribute);
  if (known == values.end())
    return call.wrong("there is no such attribute", kInvalidValue);
  *value = known->second;
  return Code::Success;
}

// ---- contexts -----------------------------------------------------------------------------------

DRIVER cuDevicePrimaryCtxRetain(Context *context, DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = primaryOf(device);
  ++(*context)->retained;
  return Code::Success;
}
DRIVER cuDevicePrimaryCtxRelease_v2(DeviceHandle device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  if (--primaryOf(device)->retained < 0)
    return call.wrong("the context is not retained", kInvalidContext);
  for (const auto &module : state->modules)
    if (module->isAlive && module->context == primaryOf(device) && primaryOf(device)->retained == 0)
      return call.wrong("a module is still in the context", kInvalidContext);
  return Code::Success;
}
DRIVER cuCtxGetCurrent(Context *context) {
  ENTER(cuCtxGetCurrent);
  *context = stack.empty() ? nullptr : stack.back();
  return Code::Success;
}
DRIVER cuCtxGetDevice(DeviceHandle *device) {
  ENTER(cuCtxGetDevice);
  Context context = call.current();
  if (!context)
    return error(kInvalidContext);
  *device = context->device;
  return Code::Success;
}
DRIVER cuCtxPushCurrent_v2(Context context) {
  ENTER(cuCtxPushCurrent_v2);
  if (!has(state->contexts, context))
    return call.wrong("there is no such context", kInvalidContext);
  if (!context->isAlive)
    return error(kContextIsDestroyed);
  stack.push_back(context);
  return Code::Success;
}
DRIVER cuCtxPopCurrent_v2(Context *context) {
  ENTER(cuCtxPopCurrent_v2);
  if (!call.current())
    return error(kInvalidContext);
  *context = stack.back();
  stack.pop_back();
  return Code::Success;
}

// ---- modules ------------------------------------------------------------------------------------

namespace {
/// The options that say where to write, with room for a text.
bool writeLogs(const CUlinkState_st &link, const std::string &errors, const std::string &remarks) {
  std::map<JitOption, void *> given;
  for (size_t i = 0; i < link.options.size(); ++i)
    given[link.options[i]] = link.values[i];
  for (auto [log, bytes, text] : {std::tuple(JitOption::ErrorLog, JitOption::ErrorLogBytes, errors),
                                  std::tuple(JitOption::InfoLog, JitOption::InfoLogBytes, remarks)}) {
    if (!given.contains(log) || !given.contains(bytes) || reinterpret_cast<size_t>(given[bytes]) <= text.size())
      return false;
    std::strcpy(static_cast<char *>(given[log]), text.c_str());
  }
  return true;
}

/// The number after 'what' in a text, 0 where it is not there.
int numberAfter(const std::string &text, const std::string &what) {
  size_t at = text.find(what);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + what.size());
}

/// What the runtime asks of kernels of PTX text: parameters, shared memory, threads, clusters.
void readKernels(Module module, const std::string &ptx) {
  const std::string entry = ".visible .entry ";
  for (size_t at = ptx.find(entry); at != std::string::npos;) {
    size_t open = ptx.find('(', at), close = ptx.find(')', open), body = ptx.find('{', close), next = ptx.find(entry, body);
    auto function = std::make_unique<CUfunc_st>();
    function->module = module;
    function->name = ptx.substr(at + entry.size(), open - at - entry.size());
    std::string parameters = ptx.substr(open, close - open), directives = ptx.substr(close, body - close),
                code = ptx.substr(body, next - body);
    for (size_t one = parameters.find(".param"); one != std::string::npos; one = parameters.find(".param", one + 1))
      ++function->parameters;
    int most = std::max(numberAfter(directives, ".maxntid "), numberAfter(directives, ".reqntid "));
    function->threads = most > 0 ? most : kThreadsPerBlock;
    function->cluster = std::max(numberAfter(directives, ".reqnctapercluster "), 1);
    if (size_t shared = code.find(".shared .align"); shared != std::string::npos)
      function->fixedSharedBytes = numberAfter(code.substr(shared, code.find(';', shared) - shared), "[");
    function->dynamicSharedBytes = kSharedBytes - function->fixedSharedBytes;
    module->functions.push_back(std::move(function));
    at = next;
  }
}

bool isAnyCapturing() {
  return std::ranges::any_of(state->streams, [](const auto &stream) { return stream->isCapturing; });
}
/// Whether what changes the device's memory would end a capture.
bool endsCapture() { return isAnyCapturing() && captureMode != CaptureMode::Relaxed; }

Function findFunction(Function function) {
  for (const auto &module : state->modules)
    if (module->isAlive && has(module->functions, function))
      return function;
  return nullptr;
}
} // namespace

DRIVER cuLinkCreate_v2(unsigned count, JitOption *options, void **values, LinkState *link) {
  ENTER(cuLinkCreate_v2);
  if (!call.current())
    return error(kInvalidContext);
  state->links.push_back(std::make_unique<CUlinkState_st>());
  *link = state->links.back().get();
  (*link)->options.assign(options, options + count);
  (*link)->values.assign(values, values + count);
  return Code::Success;
}
DRIVER cuLinkAddData_v2(LinkState link, JitInput input, void *data, size_t size, const char *name, unsigned, JitOption *, void **) {
  ENTER(cuLinkAddData_v2);
  if (!has(state->links, link) || !link->isAlive)
    return call.wrong("the link is not there", kInvalidHandle);
  std::string ptx = static_cast<const char *>(data);
  if (input != JitInput::Ptx || size != ptx.size() + 1 || !name)
    return call.wrong("the data is no text with its end", kInvalidValue);
  size_t version = ptx.find(".version "), target = ptx.find(".target sm_", version);
  bool isPtx = version != std::string::npos && target != std::string::npos;
  std::string problem = isPtx ? "" : "ptxas fatal   : line 1; Missing .version directive";
  if (!writeLogs(*link, problem, isPtx ? "ptxas info    : 0 bytes spilled" : "ptxas info    : nothing was assembled"))
    return call.wrong("the options have no logs with room", kInvalidValue);
  if (!isPtx)
    return error(kInvalidPtx);
  int device = 10 * state->major + state->minor, code = numberAfter(ptx, ".target sm_");
  bool isExact = ptx.find(".target sm_" + std::to_string(code) + "a") == target;
  if (isExact ? device != code : device < code)
    return call.wrong("the code is for another device", kNoBinary);
  link->ptx = ptx;
  return Code::Success;
}
/// Native code is the text with a line that says which devices run it.
DRIVER cuLinkComplete(LinkState link, void **native, size_t *size) {
  ENTER(cuLinkComplete);
  if (!has(state->links, link) || !link->isAlive || link->ptx.empty())
    return call.wrong("the link has nothing to link", kInvalidHandle);
  link->native = kNativeHead + std::to_string(10 * state->major + state->minor) + "\n" + link->ptx;
  *native = link->native.data();
  *size = link->native.size() + 1;
  return Code::Success;
}
DRIVER cuLinkDestroy(LinkState link) {
  ENTER(cuLinkDestroy);
  if (!has(state->links, link) || !link->isAlive)
    return call.wrong("the link is not there", kInvalidHandle);
  link->isAlive = false;
  std::ranges::fill(link->native, '?'); // it was the link's own
  return Code::Success;
}
DRIVER cuModuleLoadDataEx(Module *module, const void *image, unsigned, JitOption *, void **) {
  ENTER(cuModuleLoadDataEx);
  Context context = call.current();
  if (!context)
    return error(kInvalidContext);
  if (endsCapture())
    return call.wrong("a stream is capturing", kCaptureUnsupported);
  std::string native = static_cast<const char *>(image);
  if (!native.starts_with(kNativeHead) || numberAfter(native, kNativeHead) != 10 * state->major + state->minor)
    return call.wrong("the code is for another device", kNoBinary);
  state->modules.push_back(std::make_unique<CUmod_st>());
  *module = state->modules.back().get();
  (*module)->context = context;
  readKernels(*module, native);
  return Code::Success;
}
DRIVER cuModuleUnload(Module module) {
  ENTER(cuModuleUnload);
  if (!has(state->modules, module) || !module->isAlive)
    return call.wrong("the module is not loaded", kInvalidHandle);
  if (module->context != call.current())
    return call.wrong("the module is in another context", kInvalidContext);
  if (endsCapture())
    return call.wrong("a stream is capturing", kCaptureUnsupported);
  module->isAlive = false;
  return Code::Success;
}
DRIVER cuModuleGetFunction(Function *function, Module module, const char *name) {
  ENTER(cuModuleGetFunction);
  if (!has(state->modules, module) || !module->isAlive || module->context != call.current())
    return call.wrong("the module is none of the current context", kInvalidHandle);
  for (const auto &each : module->functions)
    if (each->name == name) {
      *function = each.get();
      return Code::Success;
    }
  return error(kNotFound);
}
DRIVER cuFuncGetAttribute(int *value, FunctionAttribute attribute, Function function) {
  ENTER(cuFuncGetAttribute);
  if (!findFunction(function))
    return call.wrong("the function is not loaded", kInvalidHandle);
  switch (attribute) {
  case FunctionAttribute::MaxThreadsPerBlock:
    *value = function->threads;
    return Code::Success;
  case FunctionAttribute::SharedBytes:
    *value = function->fixedSharedBytes;
    return Code::Success;
  case FunctionAttribute::MaxDynamicSharedBytes:
    break;
  }
  return call.wrong("there is no such attribute to read", kInvalidValue);
}
DRIVER cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  ENTER(cuFuncSetAttribute);
  if (!findFunction(function))
    return call.wrong("the function is not loaded", kInvalidHandle);
  if (attribute != FunctionAttribute::MaxDynamicSharedBytes || value < 0 || value + function->fixedSharedBytes > kSharedBytesOptin)
    return call.wrong("the attribute cannot be " + std::to_string(value), kInvalidValue);
  function->dynamicSharedBytes = value;
  return Code::Success;
}

// ---- streams ------------------------------------------------------------------------------------

static Code launch(Entered &call, Function function, Launch made, void **parameters) {
  if (!findFunction(function))
    return call.wrong("the function is not loaded", kInvalidHandle);
  if (function->module->context != call.current() || !call.ownsStream(made.stream))
    return call.wrong("function, stream and current context are not of one context", kInvalidHandle);
  if (made.grid < 1 || made.grid > INT32_MAX || made.block < 1 || made.block > static_cast<unsigned>(function->threads))
    return call.wrong("a grid of " + std::to_string(made.grid) + " blocks of " + std::to_string(made.block), kInvalidValue);
  if (made.grid % static_cast<unsigned>(function->cluster) != 0)
    return error(kInvalidValue);
  if (made.sharedBytes > static_cast<unsigned>(function->dynamicSharedBytes))
    return call.wrong(std::to_string(made.sharedBytes) + " bytes of dynamic shared memory are not allowed", kInvalidValue);
  for (size_t i = 0; i < function->parameters; ++i)
    made.words.push_back(*static_cast<const int64_t *>(parameters[i]));
  made.kernel = function->name;
  made.context = function->module->context;
  state->launches.push_back(std::move(made));
  return Code::Success;
}
DRIVER cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                      unsigned sharedBytes, Stream stream, void **parameters, void **extra) {
  ENTER(cuLaunchKernel);
  if (gridY * gridZ * blockY * blockZ != 1 || extra)
    return call.wrong("grids and blocks have one axis, and parameters are given one by one", kInvalidValue);
  return launch(call, function, {"", nullptr, stream, gridX, blockX, sharedBytes, {}}, parameters);
}
/// As cuda.h has its rules.
DRIVER cuTensorMapEncodeTiled(void *map, TensorType type, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                              const uint32_t *box, const uint32_t *steps, TensorInterleave interleave, TensorSwizzle swizzle,
                              TensorPromotion promotion, TensorFill fill) {
  ENTER(cuTensorMapEncodeTiled);
  constexpr uint64_t kMostSize = uint64_t(1) << 32, kStrideEnd = uint64_t(1) << 40, kAlignment = 16, kMapAlignment = 64;
  constexpr uint32_t kMostBox = 256, kSpans[] = {256, 32, 64, 128};
  auto refuse = [&](const std::string &what) { return call.wrong(what, kInvalidValue); };
  if (reinterpret_cast<uintptr_t>(map) % kMapAlignment || reinterpret_cast<uintptr_t>(address) % kAlignment)
    return refuse("the place of the map is no multiple of 64, or that of the tensor none of 16");
  if (rank != 2 || (type != TensorType::F16 && type != TensorType::BF16))
    return refuse("maps have two dimensions of 16-bit numbers");
  uint64_t line = sizes[0] * 2;
  if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > kMostSize || sizes[1] > kMostSize || box[0] < 1 || box[1] < 1 || box[1] > kMostBox)
    return refuse("a size is not one of 1 to 2^32, or that of a box not one of 1 to 256");
  if (strides[0] % kAlignment || strides[0] >= kStrideEnd || strides[0] < line)
    return refuse("a stride of " + std::to_string(strides[0]) + " bytes");
  if (box[0] * 2 > kSpans[static_cast<int>(swizzle)] || box[0] * 2 % kAlignment)
    return refuse("rows of a box have " + std::to_string(box[0] * 2) + " bytes, which the swizzle does not take");
  if (steps[0] != 1 || steps[1] != 1 || interleave != TensorInterleave::None || fill != TensorFill::Zeros)
    return refuse("steps, interleaving or filling of a kind that no kernel asks for");
  state->tensorMaps.push_back({type, address, {sizes[0], sizes[1]}, {strides[0]}, {box[0], box[1]}, swizzle, promotion});
  std::memset(map, 0, sizeof(int64_t));
  *static_cast<int64_t *>(map) = static_cast<int64_t>(state->tensorMaps.size());
  return Code::Success;
}
DRIVER cuStreamIsCapturing(Stream stream, CaptureStatus *status) {
  ENTER(cuStreamIsCapturing);
  if (!call.ownsStream(stream))
    return error(kInvalidHandle);
  *status = stream && stream->isCapturing ? CaptureStatus::Active : CaptureStatus::None;
  return Code::Success;
}
DRIVER cuThreadExchangeStreamCaptureMode(CaptureMode *mode) {
  ENTER(cuThreadExchangeStreamCaptureMode);
  std::swap(captureMode, *mode);
  return Code::Success;
}
DRIVER cuMemAllocAsync(DevicePointer *pointer, size_t bytes, Stream stream) {
  ENTER(cuMemAllocAsync);
  if (!call.current() || !call.ownsStream(stream))
    return error(kInvalidHandle);
  if (bytes == 0 || (stream && stream->isCapturing))
    return call.wrong("0 bytes, or a stream that is capturing", kInvalidValue);
  constexpr size_t kMost = size_t(1) << 30, kAlignment = 256;
  if (bytes > kMost)
    return error(kOutOfMemory);
  auto memory = std::make_unique<char[]>(bytes + kAlignment);
  *pointer = (reinterpret_cast<uintptr_t>(memory.get()) + kAlignment - 1) / kAlignment * kAlignment;
  state->memory[*pointer] = {call.current(), stream, std::move(memory)};
  return Code::Success;
}
DRIVER cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  ENTER(cuMemHostAlloc);
  if (!call.current() || flags != 3 || endsCapture())
    return call.wrong("no context, memory that not every context has, or a stream that is capturing", kInvalidValue);
  state->hostMemory.push_back(std::make_unique<char[]>(bytes));
  *memory = state->hostMemory.back().get();
  return Code::Success;
}
DRIVER cuMemFreeHost(void *memory) {
  ENTER(cuMemFreeHost);
  if (!call.current() || std::erase_if(state->hostMemory, [&](const auto &each) { return each.get() == memory; }) == 0)
    return call.wrong("there is no such memory of the host", kInvalidValue);
  if (endsCapture())
    return call.wrong("a stream is capturing", kCaptureUnsupported);
  return Code::Success;
}
DRIVER cuPointerGetAttribute(void *type, PointerAttribute attribute, DevicePointer pointer) {
  ENTER(cuPointerGetAttribute);
  if (attribute != PointerAttribute::MemoryType)
    return call.wrong("there is no such attribute", kInvalidValue);
  auto next = state->memory.upper_bound(pointer);
  if (next == state->memory.begin())
    return error(kInvalidValue); // as for memory of the host that was never registered
  *static_cast<MemoryType *>(type) = MemoryType::Device;
  return Code::Success;
}
DRIVER cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  if (!call.current())
    return error(kInvalidContext);
  return isAnyCapturing() ? call.wrong("a stream is capturing", kCaptureUnsupported) : Code::Success;
}
DRIVER cuMemFreeAsync(DevicePointer pointer, Stream stream) {
  ENTER(cuMemFreeAsync);
  auto known = state->memory.find(pointer);
  if (known == state->memory.end() || known->second.stream != stream || known->second.context != call.current())
    return call.wrong("the memory is none of this stream and context", kInvalidValue);
  state->memory.erase(known);
  return Code::Success;
}

// ---- events -------------------------------------------------------------------------------------

static bool isAlive(Entered &call, Event event) {
  if (has(state->events, event) && event->isAlive)
    return true;
  call.wrong("there is no such event", kInvalidHandle);
  return false;
}
DRIVER cuEventCreate(Event *event, unsigned flags) {
  ENTER(cuEventCreate);
  if (!call.current() || flags != 0)
    return call.wrong("an event that cannot tell the time", kInvalidValue);
  state->events.push_back(std::make_unique<CUevent_st>());
  *event = state->events.back().get();
  (*event)->context = call.current();
  return Code::Success;
}
DRIVER cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  if (!isAlive(call, event) || event->context != call.current() || !call.ownsStream(stream))
    return call.wrong("event, stream and current context are not of one context", kInvalidHandle);
  event->isRecorded = true;
  event->isCaptured = stream && stream->isCapturing;
  return Code::Success;
}
DRIVER cuEventSynchronize(Event event) {
  ENTER(cuEventSynchronize);
  if (!isAlive(call, event) || !event->isRecorded || event->isCaptured)
    return call.wrong("the event was not recorded, or in a capture", kCaptureUnsupported);
  return Code::Success;
}
DRIVER cuEventElapsedTime(float *milliseconds, Event first, Event last) {
  ENTER(cuEventElapsedTime);
  if (!isAlive(call, first) || !isAlive(call, last) || !first->isRecorded || !last->isRecorded)
    return call.wrong("an event was not recorded", kInvalidHandle);
  *milliseconds = 1.5f;
  return Code::Success;
}
DRIVER cuEventDestroy_v2(Event event) {
  ENTER(cuEventDestroy_v2);
  if (!isAlive(call, event))
    return error(kInvalidHandle);
  event->isAlive = false;
  return Code::Success;
}
