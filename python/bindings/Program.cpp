// Program.cpp - requests and the programs that they name.
#include "python/bindings/Gil.h"
#include <pybind11/stl.h>
#include <tuple>
#include <vector>
namespace py = pybind11;
using namespace logitile::python;

using Pairs = std::vector<std::tuple<std::string, int64_t, int, int, int>>;
using NamedTypes = std::vector<std::pair<std::string, int>>;

static lt_mode modeOf(const std::string &mode) {
  if (mode == "forward")
    return LT_FORWARD;
  if (mode == "early")
    return LT_EARLY;
  if (mode == "split")
    return LT_SPLIT;
  throw py::value_error("mode is '" + mode + "'; it must be 'forward', 'early' or 'split'");
}

static lt_slice_part partOf(const std::string &part) {
  if (part == "sweep")
    return LT_SLICE_SWEEP;
  if (part == "merge")
    return LT_SLICE_MERGE;
  if (part == "finish")
    return LT_SLICE_FINISH;
  if (part == "gradient")
    return LT_SLICE_GRADIENT;
  throw py::value_error("part is '" + part + "'; it must be 'sweep', 'merge', 'finish' or 'gradient'");
}

static std::vector<lt_named_type> listOf(const NamedTypes &types) {
  std::vector<lt_named_type> list;
  for (const auto &[name, type] : types)
    list.push_back({name.c_str(), static_cast<lt_type>(type)});
  return list;
}

static Program makeProgram(const Engine &engine, const std::string &spec, const std::optional<std::string> &locatedSpec, const Pairs &pairs,
                           const NamedTypes &dense, const std::vector<std::string> &gradients, const NamedTypes &gradientTypes,
                           const std::string &mode, int64_t workspace, int64_t chunks, bool accumulate, const std::string &target,
                           int threads, const std::optional<std::tuple<std::string, int64_t, int64_t>> &slice,
                           const std::string &tiles) {
  std::vector<lt_pair> pairList;
  for (const auto &[name, hidden, type, hiddenMemory, weightMemory] : pairs)
    pairList.push_back({name.c_str(), hidden, static_cast<lt_type>(type), static_cast<lt_type>(hiddenMemory), static_cast<lt_type>(weightMemory)});
  std::vector<lt_named_type> denseList = listOf(dense), typeList = listOf(gradientTypes);
  std::vector<const char *> gradientList;
  for (const std::string &name : gradients)
    gradientList.push_back(name.c_str());
  lt_request request{};
  request.spec = spec.c_str();
  request.located_spec = locatedSpec ? locatedSpec->c_str() : nullptr;
  request.pairs = pairList.data();
  request.pair_count = pairList.size();
  request.dense = denseList.data();
  request.dense_count = denseList.size();
  request.gradients = gradientList.data();
  request.gradient_count = gradientList.size();
  request.gradient_types = typeList.data();
  request.gradient_type_count = typeList.size();
  request.mode = modeOf(mode);
  request.workspace = workspace;
  request.chunks = chunks;
  request.accumulate = accumulate;
  request.target = target.c_str();
  request.threads = threads;
  lt_slice part{};
  if (slice) {
    part = {partOf(std::get<0>(*slice)), std::get<1>(*slice), std::get<2>(*slice)};
    request.slice = &part;
  }
  request.tiles = tiles.c_str();
  lt_program *program = nullptr;
  check(lt_program_create(engine.handle.get(), &request, &program));
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

void logitile::python::bindProgram(py::module_ &module) {
  py::class_<Program>(module, "Program")
      .def(py::init(&makeProgram), py::arg("engine"), py::kw_only(), py::arg("spec"), py::arg("located_spec") = py::none(),
           py::arg("pairs"), py::arg("dense") = NamedTypes(), py::arg("gradients") = std::vector<std::string>(),
           py::arg("gradient_types") = NamedTypes(), py::arg("mode") = "forward", py::arg("workspace") = 0, py::arg("chunks") = 0,
           py::arg("accumulate") = false, py::arg("target"), py::arg("threads"), py::arg("slice") = py::none(), py::arg("tiles") = "")
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
      .def("stage", &stageOf, py::arg("tokens"), py::arg("stage"), py::arg("kernel") = "");
}
