// Arrays.cpp - reads tuples and buffers.
#include "python/bindings/Arrays.h"
#include "python/bindings/DLPack.h"
#include <cstring>
namespace py = pybind11;
using namespace logitile::python;

namespace {
[[noreturn]] void refuse(PyObject *type, const std::string &text) {
  PyErr_SetString(type, text.c_str());
  throw py::error_already_set();
}

int64_t integer(PyObject *object) {
  int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred())
    throw py::error_already_set();
  return value;
}

/// The element type of a buffer in native byte order.
lt_type typeOf(const Py_buffer &buffer, const char *name) {
  const char *format = buffer.format ? buffer.format : "B";
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  bool isOne = *format && !format[1];
  if (isOne && std::strchr("bhilq", *format))
    return buffer.itemsize == 1 ? LT_INT8 : buffer.itemsize == 2 ? LT_INT16 : buffer.itemsize == 4 ? LT_INT32 : LT_INT64;
  if (isOne && std::strchr("BHILQ", *format))
    return buffer.itemsize == 1 ? LT_UINT8 : buffer.itemsize == 2 ? LT_UINT16 : buffer.itemsize == 4 ? LT_UINT32 : LT_UINT64;
  if (isOne && std::strchr("efd?", *format))
    return *format == 'e' ? LT_FLOAT16 : *format == 'f' ? LT_FLOAT32 : *format == 'd' ? LT_FLOAT64 : LT_BOOL;
  refuse(PyExc_TypeError, "'" + std::string(name) + "' has elements of format '" + format + "', which no array of a call has");
}
} // namespace

ArrayList::~ArrayList() {
  for (Py_buffer &buffer : buffers)
    PyBuffer_Release(&buffer);
}

void ArrayList::read(py::handle sequence, Access access) {
  py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(sequence.ptr(), "arrays of a call are given as a sequence"));
  if (!items)
    throw py::error_already_set();
  Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < count; ++i)
    add(PySequence_Fast_GET_ITEM(items.ptr(), i), access);
  finish();
}

void ArrayList::readOne(const char *name, py::handle value) {
  if (PyTuple_Check(value.ptr())) {
    py::tuple named = py::make_tuple(name) + py::reinterpret_borrow<py::tuple>(value);
    addPointer(named.ptr());
    arrays.back().name = name;
  } else {
    addObject(name, value.ptr(), Access::Read);
  }
  finish();
}

void ArrayList::add(PyObject *item, Access access) {
  Py_ssize_t size = PyTuple_Check(item) ? PyTuple_GET_SIZE(item) : 0;
  if (size == 5)
    return addPointer(item);
  if (size != 2 && size != 3)
    refuse(PyExc_TypeError, "an array of a call is (name, pointer, type, shape, strides), (name, buffer) or (name, buffer, True)");
  const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(item, 0));
  if (!name)
    throw py::error_already_set();
  addObject(name, PyTuple_GET_ITEM(item, 1), access);
  if (size == 3 && PyTuple_GET_ITEM(item, 2) == Py_True)
    exchangeAxes();
}

void ArrayList::exchangeAxes() {
  if (arrays.back().rank != 2)
    refuse(PyExc_TypeError, "only the axes of a matrix can be exchanged");
  int64_t *shape = numbers.data() + numbers.size() - 4;
  std::swap(shape[0], shape[1]);
  std::swap(shape[2], shape[3]);
}

void ArrayList::addObject(const char *name, PyObject *object, Access access) {
  bool isNumber = PyFloat_CheckExact(object) || PyLong_CheckExact(object); // those of NumPy are buffers
  if (access == Access::Read && isNumber)
    return addNumber(name, object);
  if (access == Access::Read && PyCapsule_CheckExact(object))
    return addCapsule(name, object);
  addBuffer(name, object, access);
}

void ArrayList::addNumber(const char *name, PyObject *object) {
  if (PyLong_CheckExact(object)) {
    scalars.emplace_back(integer(object));
    arrays.push_back({name, &std::get<int64_t>(scalars.back()), LT_INT64, 0, nullptr, nullptr});
  } else {
    scalars.emplace_back(PyFloat_AS_DOUBLE(object));
    arrays.push_back({name, &std::get<double>(scalars.back()), LT_FLOAT64, 0, nullptr, nullptr});
  }
}

void ArrayList::addCapsule(const char *name, PyObject *capsule) {
  std::string error;
  std::optional<DLPackArray> array = readCapsule(capsule, error);
  if (!array)
    refuse(PyExc_TypeError, "'" + std::string(name) + "' " + error);
  arrays.push_back({name, array->data, array->type, static_cast<int>(array->shape.size()), nullptr, nullptr});
  numbers.insert(numbers.end(), array->shape.begin(), array->shape.end());
  numbers.insert(numbers.end(), array->strides.begin(), array->strides.end());
}

void ArrayList::addPointer(PyObject *tuple) {
  if (PyTuple_GET_SIZE(tuple) != 5)
    refuse(PyExc_TypeError, "a number of a call is a Python number, (pointer, type, shape, strides) or a buffer");
  const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, 0));
  if (!name)
    throw py::error_already_set();
  PyObject *shape = PyTuple_GET_ITEM(tuple, 3), *strides = PyTuple_GET_ITEM(tuple, 4);
  if (!PyTuple_Check(shape) || !PyTuple_Check(strides) || PyTuple_GET_SIZE(shape) != PyTuple_GET_SIZE(strides))
    refuse(PyExc_TypeError, "'" + std::string(name) + "' needs a tuple of extents and a tuple of as many strides");
  void *data = PyLong_AsVoidPtr(PyTuple_GET_ITEM(tuple, 1));
  if (!data && PyErr_Occurred())
    throw py::error_already_set();
  int rank = static_cast<int>(PyTuple_GET_SIZE(shape));
  arrays.push_back({name, data, static_cast<lt_type>(integer(PyTuple_GET_ITEM(tuple, 2))), rank, nullptr, nullptr});
  for (PyObject *list : {shape, strides})
    for (int axis = 0; axis < rank; ++axis)
      numbers.push_back(integer(PyTuple_GET_ITEM(list, axis)));
}

void ArrayList::addBuffer(const char *name, PyObject *object, Access access) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, access == Access::Write ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0)
    throw py::error_already_set();
  buffers.push_back(buffer);
  arrays.push_back({name, buffer.buf, typeOf(buffer, name), buffer.ndim, nullptr, nullptr});
  numbers.insert(numbers.end(), buffer.shape, buffer.shape + buffer.ndim);
  for (int axis = 0; axis < buffer.ndim; ++axis) {
    if (buffer.strides[axis] % buffer.itemsize != 0)
      refuse(PyExc_ValueError, "'" + std::string(name) + "' has a stride of " + std::to_string(buffer.strides[axis]) +
                                   " bytes, which is no multiple of its elements' " + std::to_string(buffer.itemsize) +
                                   "; make it contiguous");
    numbers.push_back(buffer.strides[axis] / buffer.itemsize);
  }
}

void ArrayList::finish() {
  const int64_t *next = numbers.data();
  for (lt_array &array : arrays) {
    array.shape = next;
    array.strides = next + array.rank;
    next += 2 * array.rank;
  }
}
