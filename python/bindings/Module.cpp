// Module.cpp - the Python module over the C interface. What its classes do is documented in logitile/_native.pyi.
#include "python/bindings/Bindings.h"
namespace py = pybind11;

// Python asks for PyInit__native, which is below.
PYBIND11_MODULE(native_of_main, module) {
  if (lt_abi_version() != LT_ABI_VERSION)
    throw py::import_error("the core library has interface " + std::to_string(lt_abi_version()) + ", this module was built for " +
                           std::to_string(LT_ABI_VERSION) + "; build both again");
  constexpr const char *kTypes[] = {"float16", "bfloat16", "float32", "float64", "int8",   "int16", "int32",
                                    "int64",   "uint8",    "uint16",  "uint32",  "uint64", "bool"};
  static_assert(std::size(kTypes) == LT_BOOL + 1);
  py::dict types;
  for (size_t i = 0; i < std::size(kTypes); ++i)
    types[kTypes[i]] = i;
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
