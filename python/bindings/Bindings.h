// Bindings.h - shared by the files of the Python module: owners of C objects, and C errors as
// Python exceptions. No file of the module uses the C++ side of the runtime: they use
// runtime/logitile.h, and the list of a request's members.
#pragma once
#include "runtime/logitile.h"
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>

namespace logitile::python {
/// Throws the Python exception of the last error unless 'code' is LT_OK. The GIL must be held.
void check(lt_code code);

/// Shows the user a CacheWarning. The GIL must be held; throws where he wants warnings to be
/// errors.
void warn(const char *text);

/// Text for people. It may quote names of files and damaged data, so bytes that are no UTF-8 are
/// shown as "\\xff".
pybind11::str decoded(std::string_view text);

/// Text of the C interface, freed at the end of the scope.
class Text {
public:
  Text() = default;
  Text(const Text &) = delete;
  ~Text() { lt_text_destroy(&text); }
  lt_text *out() { return &text; }
  pybind11::str str() const { return decoded({text.data, text.size}); }
  /// The name of a file as Python has it, whatever its bytes are; os.fsencode gives them back.
  pybind11::str path() const;
  /// What a stage holds: text, or the bytes of an object.
  pybind11::object stage(const std::string &name) const { return name == "obj" ? pybind11::object(bytes()) : pybind11::object(str()); }
  pybind11::bytes bytes() const { return pybind11::bytes(text.data, text.size); }
  /// What the JSON text stands for.
  pybind11::object parsed() const { return pybind11::module_::import("json").attr("loads")(str()); }

private:
  lt_text text{nullptr, 0};
};

template <typename Handle, void (*destroy)(Handle *)>
struct Destroy {
  void operator()(Handle *handle) const { destroy(handle); }
};
template <typename Handle, void (*destroy)(Handle *)>
using Owner = std::unique_ptr<Handle, Destroy<Handle, destroy>>;

struct Engine {
  Owner<lt_engine, lt_engine_destroy> handle;
};
struct Program {
  Owner<lt_program, lt_program_destroy> handle;
};
struct Plan {
  std::shared_ptr<lt_plan> handle; // calls that XLA makes later share it
};
struct Saved {
  Owner<lt_saved, lt_saved_destroy> handle;
};

void bindEngine(pybind11::module_ &module);
void bindProgram(pybind11::module_ &module);
void bindPlan(pybind11::module_ &module);
void bindXla(pybind11::module_ &module);
} // namespace logitile::python
