// Errors.cpp - which exception of logitile.errors an error of the C interface becomes, and how warnings are shown.
#include "python/bindings/Bindings.h"
namespace py = pybind11;

static py::object exceptionOf(const lt_error &error) {
  py::module_ errors = py::module_::import("logitile.errors");
  switch (error.code) {
  case LT_TYPE_ERROR:
    return errors.attr("CallTypeError")(error.text);
  case LT_VALUE_ERROR:
    return errors.attr("CallValueError")(error.text);
  case LT_INDEX_ERROR:
    return errors.attr("CallIndexError")(error.text);
  case LT_TARGET_ERROR:
    return errors.attr("TargetError")(error.text);
  case LT_COMPILE_ERROR:
    return errors.attr("CompileError")(error.text, error.stage, *error.reproducer ? py::object(py::str(error.reproducer)) : py::none());
  default:
    return errors.attr("LogitileError")(std::string("internal error: ") + error.text);
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
  py::object category = py::module_::import("logitile.errors").attr("CacheWarning");
  if (PyErr_WarnEx(category.ptr(), text, 1) != 0)
    throw py::error_already_set();
}
