// Arrays.h - arrays of Python as arrays of the C interface. Every call makes these again, so this
// file uses only the C interface of Python.
#pragma once
#include "python/bindings/Bindings.h"
#include <deque>
#include <variant>
#include <vector>

namespace logitile::python {
/// The arrays of one list, for as long as this lives: buffers stay exported, names and pointers
/// belong to the Python objects.
class ArrayList {
public:
  enum class Access { Read, Write };
  ArrayList() = default;
  ArrayList(const ArrayList &) = delete;
  ~ArrayList();

  /// A sequence of (name, pointer, type, shape, strides) with strides in elements, or (name,
  /// object) with a number, a capsule of DLPack or an object that exports a buffer; (name, object,
  /// True) exchanges the axes of a matrix. Throws Python exceptions.
  void read(pybind11::handle sequence, Access access);
  /// One number, or what stands for an array in 'read' without its name.
  void readOne(const char *name, pybind11::handle value);

  const lt_array *data() const { return arrays.data(); }
  size_t size() const { return arrays.size(); }

private:
  void add(PyObject *item, Access access);
  void addPointer(PyObject *tuple);
  void addObject(const char *name, PyObject *object, Access access);
  void addNumber(const char *name, PyObject *object);
  void addCapsule(const char *name, PyObject *capsule);
  void addBuffer(const char *name, PyObject *object, Access access);
  void exchangeAxes(); // of the last array
  /// Shapes and strides move while they are collected: pointers to them come last.
  void finish();

  std::vector<lt_array> arrays;
  std::vector<int64_t> numbers; // for each array: its shape, then its strides
  std::vector<Py_buffer> buffers;
  std::deque<std::variant<double, int64_t>> scalars; // arrays point to them
};
} // namespace logitile::python
