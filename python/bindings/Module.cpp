// Module.cpp - the Python module over the C interface. What its classes do is documented in
// logitile/_native.pyi.
#include "python/bindings/Words.h"
namespace py = pybind11;

// Python asks for PyInit__native, which is below.
PYBIND11_MODULE(native_of_main, module) {
  if (lt_abi_version() != LT_ABI_VERSION)
    throw py::import_error("the core library has interface " + std::to_string(lt_abi_version()) + ", this module was built for " +
                           std::to_string(LT_ABI_VERSION) + "; build both again");
  py::dict types;
  for (const std::string &name : logitile::python::wordsOf(lt_type_name))
    types[name.c_str()] = types.size();
  module.attr("TYPES") = types;
  logitile::python::bindEngine(module);
  logitile::python::bindPlan(module);
  logitile::python::bindProgram(module);
  logitile::python::bindXla(module);
}

/// pybind11 would wait for ever for the lock of the main interpreter.
extern "C" PYBIND11_EXPORT PyObject *PyInit__native() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    return PyInit_native_of_main();
  PyErr_SetString(PyExc_ImportError, "logitile works in the main interpreter of a process only; import it there");
  return nullptr;
}
