// Errors.cpp - turns errors of the C interface into exceptions of logitile.errors, and shows
// warnings.
#include "python/bindings/Bindings.h"
namespace py = pybind11;
using logitile::python::decoded;

py::str logitile::python::decoded(std::string_view text) {
  PyObject *made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!made)
    throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}
py::str logitile::python::Text::path() const {
  PyObject *made = PyUnicode_DecodeFSDefaultAndSize(text.data, static_cast<Py_ssize_t>(text.size));
  if (!made)
    throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

static py::object exceptionOf(const lt_error &error) {
  py::str text = decoded(error.text);
  py::module_ errors = py::module_::import("logitile.errors");
  switch (error.code) {
  case LT_TYPE_ERROR:
    return errors.attr("CallTypeError")(text);
  case LT_VALUE_ERROR:
    return errors.attr("CallValueError")(text);
  case LT_INDEX_ERROR:
    return errors.attr("CallIndexError")(text);
  case LT_TARGET_ERROR:
    return errors.attr("TargetError")(text);
  case LT_COMPILE_ERROR:
    return errors.attr("CompileError")(text, error.stage, *error.reproducer ? py::object(decoded(error.reproducer)) : py::none());
  case LT_EMULATOR_FAULT:
    return errors.attr("EmulatorFault")(text, decoded(error.kernel), py::module_::import("json").attr("loads")(decoded(error.faults)));
  default:
    return errors.attr("LogitileError")("internal error: " + std::string(text));
  }
}

void logitile::python::check(lt_code code) {
  if (code == LT_OK)
    return;
  if (PyErr_Occurred()) // a signal handler raised while the call ran
    throw py::error_already_set();
  const lt_error &error = *lt_last_error();
  py::object exception = exceptionOf(error);
  if (error.minimum_workspace > 0)
    exception.attr("minimum_workspace") = error.minimum_workspace;
  if (*error.computed_index)
    exception.attr("is_computed") = true;
  PyErr_SetObject(py::type::of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

void logitile::python::warn(const char *text) {
  py::module_::import("logitile.messages.warned").attr("cache_warning")(decoded(text));
}
