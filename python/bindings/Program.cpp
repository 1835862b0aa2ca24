// Program.cpp - requests and the programs that they name.
#include "python/bindings/Gil.h"
#include "python/bindings/Words.h"
#include <memory>
#include <pybind11/stl.h>
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
    read(value, request.name);
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
  static void read(py::handle value, const char *&to) {
    to = value.is_none() ? nullptr : PyUnicode_AsUTF8(value.ptr());
    if (!to && !value.is_none())
      throw py::error_already_set();
  }
  static void read(py::handle value, int64_t &to) { to = value.cast<int64_t>(); }
  static void read(py::handle value, int &to) { to = value.cast<int>(); }
  static void read(py::handle value, lt_type &to) { to = static_cast<lt_type>(value.cast<int>()); }
  static void read(py::handle value, lt_mode &to) { to = valueOf("mode", value.cast<std::string>(), lt_mode_name); }
  static void read(py::handle value, lt_operand_part &to) { to = valueOf("part", value.cast<std::string>(), lt_operand_part_name); }
  static void read(py::handle value, lt_slice_part &to) { to = valueOf("part", value.cast<std::string>(), lt_slice_part_name); }
  void read(py::handle value, const lt_slice *&to) {
    size_t count = 0;
    if (!value.is_none())
      readList(py::make_tuple(value), to, count);
  }

  // ---- structs and lists of them
#define LOGITILE_REQUEST_STRUCT(Type, name, ...) \
  void read(py::handle value, Type &name) { readTuple(value, "a " #name " is a tuple of " #__VA_ARGS__, __VA_ARGS__); }
#include "compiler/Request.def"
  template <typename... Member>
  void readTuple(py::handle value, const char *wanted, Member &...member) {
    auto given = py::isinstance<py::str>(value) ? py::tuple() : py::tuple(py::reinterpret_borrow<py::object>(value));
    if (given.size() != sizeof...(member))
      throw py::type_error(wanted);
    size_t next = 0;
    (read(given[next++], member), ...);
    tuples.push_back(given);
  }
  template <typename Struct>
  void readList(py::handle list, const Struct *&to, size_t &count) {
    auto made = std::make_shared<std::vector<Struct>>();
    for (py::handle item : list)
      read(item, made->emplace_back());
    to = made->data();
    count = made->size();
    lists.push_back(made);
  }

  const py::kwargs &arguments;
  lt_request request{};
  size_t taken = 0;
  std::string known;
  std::vector<py::tuple> tuples; // own the texts of structs
  std::vector<std::shared_ptr<void>> lists;
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
