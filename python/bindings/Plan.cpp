// Plan.cpp - plans and their calls. The GIL is free while kernels run.
#include "python/bindings/Arrays.h"
#include "python/bindings/CallOptions.h"
#include "python/bindings/Gil.h"
#include "python/bindings/Words.h"
#include <pybind11/stl.h>
namespace py = pybind11;
using namespace logitile::python;

namespace {
/// A stream (device, handle, allocate) of Python, where allocate(bytes) gives an address and the
/// object that owns the memory.
class StreamOf {
public:
  void read(py::handle given) {
    py::tuple parts = py::cast<py::tuple>(given);
    if (parts.size() != 3)
      throw py::type_error("a stream is a tuple of device, handle and allocate");
    stream.device = parts[0].cast<int>();
    stream.handle = reinterpret_cast<void *>(parts[1].cast<uintptr_t>());
    allocator = parts[2];
    stream.allocate = &allocate;
    stream.release = &release;
    stream.context = this;
  }
  const lt_stream *get() const { return &stream; }

private:
  /// An exception stays set: it is raised when the call has ended.
  static int allocate(void *context, int64_t bytes, void **data, void **owner) noexcept {
    WithGil gil;
    try {
      py::tuple made = static_cast<StreamOf *>(context)->allocator(bytes);
      *data = reinterpret_cast<void *>(made[0].cast<uintptr_t>());
      *owner = py::object(made[1]).release().ptr();
      return 0;
    } catch (py::error_already_set &error) {
      error.restore();
    } catch (const std::exception &error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    }
    return 1;
  }
  static void release(void *owner) {
    if (interpreterEnds())
      return;
    WithGil gil;
    Py_DECREF(static_cast<PyObject *>(owner));
  }

  lt_stream stream{};
  py::object allocator;
};

/// The arrays of one call.
struct CallArrays {
  ArrayList inputs, outputs, gradients, cotangents, divisor;
  Signals signals;
  StreamOf stream;
  lt_call call{};

  CallArrays(py::handle in, py::handle out, py::handle made, py::handle arriving, py::handle where) {
    inputs.read(in, ArrayList::Access::Read);
    outputs.read(out, ArrayList::Access::Write);
    gradients.read(made, ArrayList::Access::Write);
    cotangents.read(arriving, ArrayList::Access::Read);
    call.inputs = inputs.data();
    call.input_count = inputs.size();
    call.outputs = outputs.data();
    call.output_count = outputs.size();
    call.gradients = gradients.data();
    call.gradient_count = gradients.size();
    call.cotangents = cotangents.data();
    call.cotangent_count = cotangents.size();
    call.threads = 1;
    call.interrupt = &Signals::check;
    call.interrupt_context = &signals;
    if (where.is_none())
      return;
    stream.read(where);
    call.stream = stream.get();
  }
  void setOptions(const CallOptions &options, py::handle given) {
    options.copyTo(call);
    if (given.is_none())
      return;
    divisor.readOne("divisor", given);
    call.divisor = divisor.data();
  }
};

CallOptions makeOptions(const std::string &reduction, const std::optional<std::string> &ignore, std::optional<int64_t> ignoreIndex,
                        bool zeroIfAllIgnored, int threads) {
  return {valueOf("reduction", reduction, lt_reduction_name), ignore, ignoreIndex, zeroIfAllIgnored, threads};
}

std::optional<Saved> forward(const Plan &plan, const CallOptions &options, py::handle inputs, py::handle outputs, py::handle gradients,
                             py::handle cotangents, py::handle divisor, py::handle stream) {
  CallArrays arrays(inputs, outputs, gradients, cotangents, stream);
  arrays.setOptions(options, divisor);
  lt_saved *saved = nullptr;
  lt_code code;
  {
    WithoutGil release;
    code = lt_plan_forward(plan.handle.get(), &arrays.call, &saved);
  }
  check(code);
  return saved ? std::optional<Saved>(Saved{Owner<lt_saved, lt_saved_destroy>(saved)}) : std::nullopt;
}

void backward(const Saved &saved, py::handle inputs, py::handle gradients, py::handle cotangents, py::handle stream) {
  CallArrays arrays(inputs, py::tuple(), gradients, cotangents, stream);
  lt_code code;
  {
    WithoutGil release;
    code = lt_saved_backward(saved.handle.get(), &arrays.call);
  }
  check(code);
}
} // namespace

void logitile::python::bindPlan(py::module_ &module) {
  py::class_<CallOptions>(module, "CallOptions")
      .def(py::init(&makeOptions), py::kw_only(), py::arg("reduction"), py::arg("ignore") = py::none(),
           py::arg("ignore_index") = py::none(), py::arg("zero_if_all_ignored") = false, py::arg("threads"));
  py::class_<Plan>(module, "Plan")
      .def_property_readonly("interval",
                             [](const Plan &plan) {
                               int64_t first = 0, end = 0;
                               lt_plan_interval(plan.handle.get(), &first, &end);
                               return py::make_tuple(first, end);
                             })
      .def(
          "save",
          [](const Plan &plan, const CallOptions &options) {
            lt_call call{};
            options.copyTo(call);
            Text bytes;
            check(lt_plan_save(plan.handle.get(), &call, bytes.out()));
            return bytes.bytes();
          },
          py::arg("options"))
      .def(
          "describe",
          [](const Plan &plan, int64_t tokens, int threads) {
            Text json;
            check(lt_plan_describe(plan.handle.get(), tokens, threads, json.out()));
            return json.parsed();
          },
          py::arg("tokens"), py::arg("threads"))
      .def("forward", &forward, py::arg("options"), py::arg("inputs"), py::arg("outputs"), py::arg("gradients") = py::tuple(),
           py::arg("cotangents") = py::tuple(), py::arg("divisor") = py::none(), py::arg("stream") = py::none());
  py::class_<Saved>(module, "Saved")
      .def_property_readonly("nbytes", [](const Saved &saved) { return lt_saved_bytes(saved.handle.get()); })
      .def("backward", &backward, py::arg("inputs"), py::arg("gradients"), py::arg("cotangents") = py::tuple(),
           py::arg("stream") = py::none());
}
