// Program.cpp - requests and the programs that they name.
#include "python/bindings/Gil.h"
#include "python/bindings/Words.h"
#include <deque>
#include <pybind11/stl.h>
#include <tuple>
#include <vector>
namespace py = pybind11;
using namespace logitile::python;

namespace {
/// A request of keyword arguments, as long as these live.
class RequestOf {
public:
  explicit RequestOf(const py::kwargs &arguments) : arguments(arguments) {
#define LOGITILE_REQUEST(Type, member, name) \
  if (py::handle value = take(#name)) \
    read(value, #name, request.name);
#define LOGITILE_REQUEST_LIST(Type, member, name, count) \
  if (py::handle value = take(#name)) \
    readList(value, request.name, request.count);
#include "compiler/Request.def"
    if (taken < arguments.size())
      refuseOthers();
  }
  const lt_request *get() const { return &request; }

private:
  py::handle take(const char *name) {
    PyObject *value = PyDict_GetItemString(arguments.ptr(), name);
    taken += value != nullptr;
    known += known.empty() ? name : std::string(", ") + name;
    return value;
  }
  [[noreturn]] void refuseOthers() const {
    for (auto [name, value] : arguments)
      if ((", " + known + ",").find(", " + py::cast<std::string>(name) + ",") == std::string::npos)
        throw py::type_error("a program has no '" + py::cast<std::string>(name) + "'; it has " + known);
    throw py::type_error("a program has " + known);
  }

  // ---- single values
  void read(py::handle value, const char *name, const char *&to) {
    to = value.is_none() ? nullptr : PyUnicode_AsUTF8(value.ptr());
    if (!to && !value.is_none())
      throw py::error_already_set();
  }
  void read(py::handle value, const char *, int64_t &to) { to = value.cast<int64_t>(); }
  void read(py::handle value, const char *, int &to) { to = value.cast<int>(); }
  void read(py::handle value, const char *name, lt_mode &to) { to = valueOf(name, value.cast<std::string>(), lt_mode_name); }
  void read(py::handle value, const char *, const lt_slice *&to) {
    if (value.is_none())
      return;
    auto [part, columns, sweep] = value.cast<std::tuple<std::string, int64_t, int64_t>>();
    slice = {valueOf("part", part, lt_slice_part_name), columns, sweep};
    to = &slice;
  }

  // ---- lists
  static lt_type typeOf(py::handle code) { return static_cast<lt_type>(code.cast<int>()); }
  const char *nameOf(py::handle text) { return names.emplace_back(text.cast<std::string>()).c_str(); }
  void readList(py::handle list, const lt_projection *&to, size_t &count) {
    for (py::handle item : list) {
      auto projection = item.cast<py::tuple>();
      if (projection.size() != 5)
        throw py::type_error("a projection is a tuple of name, hidden size and three codes of types");
      projections.push_back(
          {nameOf(projection[0]), projection[1].cast<int64_t>(), typeOf(projection[2]), typeOf(projection[3]), typeOf(projection[4])});
    }
    to = projections.data();
    count = projections.size();
  }
  void readList(py::handle list, const lt_named_type *&to, size_t &count) {
    std::vector<lt_named_type> &named = types.emplace_back();
    for (py::handle item : list) {
      auto [name, type] = item.cast<std::pair<std::string, int>>();
      named.push_back({names.emplace_back(name).c_str(), static_cast<lt_type>(type)});
    }
    to = named.data();
    count = named.size();
  }
  void readList(py::handle list, const lt_gradient *&to, size_t &count) {
    for (py::handle item : list) {
      auto gradient = py::isinstance<py::str>(item) ? py::tuple() : item.cast<py::tuple>();
      if (gradient.size() != 3)
        throw py::type_error("a gradient is a tuple of the name of its input, the part of it, and the code of a type");
      gradients.push_back(
          {nameOf(gradient[0]), valueOf("part", gradient[1].cast<std::string>(), lt_operand_part_name), typeOf(gradient[2])});
    }
    to = gradients.data();
    count = gradients.size();
  }

  const py::kwargs &arguments;
  lt_request request{};
  size_t taken = 0;
  std::string known;
  lt_slice slice{};
  std::vector<lt_projection> projections;
  std::deque<std::vector<lt_named_type>> types;
  std::vector<lt_gradient> gradients;
  std::deque<std::string> names;
};
} // namespace

static Program makeProgram(const Engine &engine, const py::kwargs &arguments) {
  RequestOf request(arguments);
  lt_program *program = nullptr;
  check(lt_program_create(engine.handle.get(), request.get(), &program));
  return {Owner<lt_program, lt_program_destroy>(program)};
}

/// Compiling takes long, so other Python threads run meanwhile.
static Plan planOf(const Program &program, int64_t tokens) {
  lt_plan *plan = nullptr;
  lt_code code;
  {
    WithoutGil release;
    code = lt_program_plan(program.handle.get(), tokens, &plan);
  }
  check(code);
  Plan found{Owner<lt_plan, lt_plan_destroy>(plan)};
  if (const char *notice = lt_plan_notice(plan); *notice)
    warn(notice);
  return found;
}

/// Takes milliseconds of the compiler.
static double predictionOf(const Program &program, int64_t tokens) {
  double seconds = 0;
  lt_code code;
  {
    WithoutGil release;
    code = lt_program_predict(program.handle.get(), tokens, &seconds);
  }
  check(code);
  return seconds;
}

static py::object stageOf(const Program &program, int64_t tokens, const std::string &stage, const std::string &kernel) {
  Text text;
  lt_code code;
  {
    WithoutGil release;
    code = lt_program_stage(program.handle.get(), tokens, stage.c_str(), kernel.c_str(), text.out());
  }
  check(code);
  return text.stage(stage);
}

static py::object traceOf(const Program &program, int64_t tokens) {
  Text json;
  lt_code code;
  {
    WithoutGil release;
    code = lt_program_trace(program.handle.get(), tokens, json.out());
  }
  check(code);
  return json.parsed();
}

void logitile::python::bindProgram(py::module_ &module) {
  py::class_<Program>(module, "Program")
      .def(py::init(&makeProgram), py::arg("engine"))
      .def_property_readonly("key", [](const Program &program) { return lt_program_key(program.handle.get()); })
      .def_property_readonly("task",
                             [](const Program &program) {
                               Text key;
                               check(lt_program_task(program.handle.get(), key.out()));
                               return key.str();
                             })
      .def("tiles",
           [](const Program &program) {
             Text json;
             check(lt_program_tiles(program.handle.get(), json.out()));
             return json.parsed();
           })
      .def("predict", &predictionOf, py::arg("tokens"))
      .def("plan", &planOf, py::arg("tokens"))
      .def("stage", &stageOf, py::arg("tokens"), py::arg("stage"), py::arg("kernel") = "")
      .def("trace", &traceOf, py::arg("tokens"));
}
