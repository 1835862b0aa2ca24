// Xla.cpp - handlers of XLA's foreign function calls: they find the call that a program names by
// its key, and run it.
#include "python/bindings/Gil.h"
#include "python/bindings/XlaCall.h"
#include <map>
#include <mutex>
#include <functional>
#include <pybind11/stl.h>
#include <shared_mutex>
#include <tuple>
namespace py = pybind11;
using namespace logitile::python;

namespace {
/// What calls of one plan have in common: the head's key, the number of the GPU (-1: the CPU) and
/// the number of tokens.
using Place = std::tuple<std::string, int, int64_t>;
using PlaceView = std::tuple<std::string_view, int, int64_t>;

/// The calls that handlers have met. What is not here is asked of Python, which compiles it.
class KnownCalls {
public:
  std::shared_ptr<const XlaCall> find(const PlaceView &place) {
    std::shared_lock lock(mutex);
    auto found = calls.find(place);
    return found == calls.end() ? nullptr : found->second;
  }
  void keep(const PlaceView &place, std::shared_ptr<const XlaCall> call) {
    std::unique_lock lock(mutex);
    calls[Place(place)] = std::move(call);
  }
  void clear() {
    Calls old; // freed without the lock
    std::unique_lock lock(mutex);
    old.swap(calls);
  }
  PyObject *resolver = nullptr; // of Python; lives as long as the process

private:
  using Calls = std::map<Place, std::shared_ptr<const XlaCall>, std::less<>>; // calls are found without a string of their own
  std::shared_mutex mutex;
  Calls calls;
};

/// XLA may call handlers until the process ends.
KnownCalls &known() {
  static auto *calls = new KnownCalls;
  return *calls;
}

void *errorOf(const xla::Frame &frame, const XlaFailure &failure) {
  xla::ErrorArguments arguments{sizeof(arguments), nullptr, failure.text.c_str(), failure.code};
  return frame.api->createError(&arguments);
}

/// The value of a constant of the call, or null.
const void *attribute(const xla::Frame &frame, std::string_view name, int kind) {
  for (int64_t i = 0; i < frame.attributes.count; ++i) {
    const xla::Text &text = *frame.attributes.names[i];
    if (std::string_view(text.data, text.size) == name && frame.attributes.kinds[i] == kind)
      return frame.attributes.values[i];
  }
  return nullptr;
}

/// Which call the frame is. The first argument has the tokens, and after them as many axes as the
/// constant "rest" says.
std::optional<PlaceView> placeOf(const xla::Frame &frame, int device) {
  const auto *key = static_cast<const xla::Text *>(attribute(frame, "head", xla::kText));
  const auto *rest = static_cast<const xla::Scalar *>(attribute(frame, "rest", xla::kScalar));
  if (!key || !rest || frame.arguments.count == 0)
    return std::nullopt;
  const auto &first = *static_cast<const xla::Buffer *>(frame.arguments.items[0]);
  int64_t tokens = 1;
  for (int64_t axis = 0; axis < first.rank - *static_cast<const int64_t *>(rest->value); ++axis)
    tokens *= first.shape[axis];
  return PlaceView(std::string_view(key->data, key->size), device, tokens);
}

/// Asks Python for a call that no handler has met. 'text' says what went wrong.
std::shared_ptr<const XlaCall> resolved(const PlaceView &place, std::string &text) {
  WithGil gil;
  try {
    const auto &[key, device, tokens] = place;
    std::string where = device < 0 ? "cpu" : "cuda:" + std::to_string(device);
    py::object call = py::reinterpret_borrow<py::object>(known().resolver)(std::string(key), where, tokens);
    auto found = call.cast<std::shared_ptr<XlaCall>>();
    known().keep(place, found);
    return found;
  } catch (py::error_already_set &error) {
    text = py::str(error.value());
  } catch (const std::exception &error) {
    text = error.what();
  }
  return nullptr;
}

void *run(const xla::Frame &frame, int device, lt_stream *stream) {
  std::optional<PlaceView> place = placeOf(frame, device);
  if (!place)
    return errorOf(frame, {xla::kInvalidArgument, "the call names no head of logitile"});
  std::shared_ptr<const XlaCall> call = known().find(*place);
  if (!call) {
    std::string text;
    call = resolved(*place, text);
    if (!call)
      return errorOf(frame, {xla::kFailedPrecondition, text});
  }
  std::optional<XlaFailure> failure = call->run(frame.arguments, frame.results, stream);
  return failure ? errorOf(frame, *failure) : nullptr;
}

/// Whether XLA only asks what the handler is like, which is answered.
bool isMetadataQuery(const xla::Frame &frame, uint32_t traits) {
  if (!frame.extensions || frame.extensions->type != xla::kMetadataQuery)
    return false;
  xla::Metadata &metadata = *reinterpret_cast<xla::MetadataQuery *>(frame.extensions)->metadata;
  metadata.version.major = xla::kMajor;
  metadata.version.minor = xla::kMinor;
  metadata.traits = traits;
  return true;
}

// Nothing may be thrown into XLA.
void *runOnCpu(xla::Frame *frame) noexcept {
  if (isMetadataQuery(*frame, 0))
    return nullptr;
  try {
    return run(*frame, -1, nullptr);
  } catch (const std::exception &error) {
    return errorOf(*frame, {xla::kInternal, error.what()});
  }
}

void *runOnCuda(xla::Frame *frame) noexcept {
  if (isMetadataQuery(*frame, xla::kMayBeCaptured))
    return nullptr;
  xla::StreamArguments where{sizeof(where), nullptr, frame->context, nullptr};
  if (void *error = frame->api->getStream(&where))
    return error;
  xla::OrdinalArguments which{sizeof(which), nullptr, frame->context, 0};
  if (void *error = frame->api->getOrdinal(&which))
    return error;
  try {
    lt_stream stream{};
    stream.device = which.ordinal;
    stream.handle = where.stream;
    return run(*frame, which.ordinal, &stream);
  } catch (const std::exception &error) {
    return errorOf(*frame, {xla::kInternal, error.what()});
  }
}

// ---- what Python sees ---------------------------------------------------------------------------

XlaCall::Role roleOf(const std::string &role) {
  constexpr std::pair<const char *, XlaCall::Role> kRoles[] = {
      {"input", XlaCall::Role::Input},   {"cotangent", XlaCall::Role::Cotangent}, {"divisor", XlaCall::Role::Divisor},
      {"output", XlaCall::Role::Output}, {"gradient", XlaCall::Role::Gradient},   {"workspace", XlaCall::Role::Workspace}};
  for (const auto &[name, value] : kRoles)
    if (role == name)
      return value;
  throw py::value_error("there is no role '" + role + "'");
}

using Slots = std::vector<std::tuple<std::string, std::string, int, bool>>;
std::vector<XlaCall::Slot> slotsOf(const Slots &given) {
  std::vector<XlaCall::Slot> slots;
  for (const auto &[role, name, type, exchanges] : given)
    slots.push_back({roleOf(role), name, static_cast<lt_type>(type), exchanges});
  return slots;
}

void setResolver(const py::object &resolver) { known().resolver = py::object(resolver).release().ptr(); }

py::capsule handler(const std::string &platform) {
  xla::Handler found = platform == "CUDA" ? &runOnCuda : &runOnCpu;
  return py::capsule(reinterpret_cast<void *>(found), "xla._CUSTOM_CALL_TARGET");
}
} // namespace

void logitile::python::bindXla(py::module_ &module) {
  py::class_<XlaCall, std::shared_ptr<XlaCall>>(module, "XlaCall")
      .def(py::init([](const Plan &plan, const CallOptions &options, bool isEarly, const Slots &arguments, const Slots &results,
                       const std::string &picks) {
             return std::make_shared<XlaCall>(plan, options, isEarly, slotsOf(arguments), slotsOf(results), picks);
           }),
           py::kw_only(), py::arg("plan"), py::arg("options"), py::arg("is_early"), py::arg("arguments"), py::arg("results"), py::arg("picks"));
  module.def("xla_handler", &handler, py::arg("platform"));
  module.def("xla_resolver", &setResolver, py::arg("resolver"));
  module.def("xla_forget", [] { known().clear(); });
}
