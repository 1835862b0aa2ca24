// Engine.cpp - engines, and functions that need no engine: this machine, threads, stages of text.
#include "python/bindings/Gil.h"
#include <optional>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
namespace py = pybind11;
using namespace logitile::python;

static Engine makeEngine(int64_t cachePlans, int64_t cacheCodeBytes, int64_t workspaceKeepBytes, int64_t historyRecords, bool timesKernels,
                         const std::optional<std::filesystem::path> &diskCache, int64_t diskCacheBytes) {
  lt_engine_options options;
  lt_engine_options_init(&options);
  auto set = [](int64_t &option, int64_t value) { option = value >= 0 ? value : option; };
  set(options.cache_plans, cachePlans);
  set(options.cache_code_bytes, cacheCodeBytes);
  set(options.workspace_keep_bytes, workspaceKeepBytes);
  set(options.history_records, historyRecords);
  options.times_kernels = timesKernels;
  options.disk_cache = diskCache ? diskCache->c_str() : nullptr;
  set(options.disk_cache_bytes, diskCacheBytes);
  lt_engine *engine = nullptr;
  check(lt_engine_create(&options, &engine));
  return {Owner<lt_engine, lt_engine_destroy>(engine)};
}

static py::dict usageOf(const Engine &engine) {
  lt_engine_usage usage;
  lt_engine_get_usage(engine.handle.get(), &usage);
  py::dict result;
  result["plans"] = usage.plans;
  result["code_bytes"] = usage.code_bytes;
  result["workspace_taken"] = usage.workspace_taken;
  result["workspace_free"] = usage.workspace_free;
  result["workspace_peak"] = usage.workspace_peak;
  return result;
}

static Plan loadPlan(const Engine &engine, const py::bytes &bytes) {
  char *data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0)
    throw py::error_already_set();
  lt_plan *plan = nullptr;
  lt_code code;
  {
    WithoutGil release;
    code = lt_plan_load(engine.handle.get(), data, size, &plan);
  }
  check(code);
  return {Owner<lt_plan, lt_plan_destroy>(plan)};
}

static Plan planFromText(const Engine &engine, const std::string &text, const std::string &from, const std::string &target) {
  lt_plan *plan = nullptr;
  lt_code code;
  {
    WithoutGil release;
    code = lt_plan_from_text(engine.handle.get(), text.c_str(), from.c_str(), target.c_str(), &plan);
  }
  check(code);
  return {Owner<lt_plan, lt_plan_destroy>(plan)};
}

static py::object stageFromText(const std::string &text, const std::string &from, const std::string &to, const std::string &kernel) {
  Text result;
  lt_code code;
  {
    WithoutGil release;
    code = lt_stage_from_text(text.c_str(), from.c_str(), to.c_str(), kernel.c_str(), result.out());
  }
  check(code);
  return result.stage(to);
}

static void bindDiskCache(py::module_ &module) {
  module.def("disk_cache_settings", [] {
    Text folder;
    int64_t bytes = 0;
    check(lt_disk_cache_settings(folder.out(), &bytes));
    return py::make_tuple(folder.path(), bytes);
  });
  module.def(
      "disk_cache_list",
      [](const std::filesystem::path &folder, const std::string &prefix, bool details) {
        Text json;
        check(lt_disk_cache_list(folder.c_str(), prefix.c_str(), details, json.out()));
        return json.parsed();
      },
      py::arg("folder"), py::arg("key_prefix") = "", py::arg("details") = false);
  module.def(
      "disk_cache_clear",
      [](const std::filesystem::path &folder) {
        int64_t entries = 0, bytes = 0;
        check(lt_disk_cache_clear(folder.c_str(), &entries, &bytes));
        return py::make_tuple(entries, bytes);
      },
      py::arg("folder"));
}

/// What is known of the devices of this machine.
static void bindDevices(py::module_ &module) {
  module.def("host_target", [] {
    Text name;
    check(lt_host_target(name.out()));
    return name.str();
  });
  module.def(
      "device_target",
      [](const std::string &platform, int device) {
        Text name;
        check(lt_device_target(platform.c_str(), device, name.out()));
        return name.str();
      },
      py::arg("platform"), py::arg("device") = 0);
  module.def(
      "device_model",
      [](const std::string &target, int device) {
        Text name, driver;
        check(lt_device_model(target.c_str(), device, name.out(), driver.out()));
        return py::make_tuple(name.str(), driver.str());
      },
      py::arg("target"), py::arg("device") = 0);
  module.def(
      "describe_target",
      [](const std::string &target) {
        Text json;
        check(lt_target_describe(target.c_str(), json.out()));
        return json.parsed();
      },
      py::arg("target"));
}

void logitile::python::bindEngine(py::module_ &module) {
  py::class_<Engine>(module, "Engine")
      .def(py::init(&makeEngine), py::kw_only(), py::arg("cache_plans") = -1, py::arg("cache_code_bytes") = -1,
           py::arg("workspace_keep_bytes") = -1, py::arg("history_records") = -1, py::arg("times_kernels") = false,
           py::arg("disk_cache") = py::none(), py::arg("disk_cache_bytes") = -1)
      .def("load", &loadPlan, py::arg("data"))
      .def("compile_text", &planFromText, py::arg("text"), py::arg("stage"), py::arg("target") = "")
      .def("history",
           [](const Engine &engine) {
             Text json;
             check(lt_history(engine.handle.get(), json.out()));
             return json.parsed();
           })
      .def("clear_history", [](const Engine &engine) { lt_history_clear(engine.handle.get()); })
      .def("check",
           [](const Engine &engine) {
             lt_code code;
             {
               WithoutGil release;
               code = lt_engine_check(engine.handle.get());
             }
             check(code);
           })
      .def("trim", [](const Engine &engine) { lt_engine_trim(engine.handle.get()); })
      .def("usage", &usageOf);
  module.def("build_id", &lt_build_id);
  module.def("operations", [] {
    Text json;
    check(lt_operations(json.out()));
    return json.parsed();
  });
  bindDiskCache(module);
  bindDevices(module);
  module.def(
      "thread_count",
      [](int wanted) {
        int threads = 0;
        check(lt_thread_count(wanted, &threads));
        return threads;
      },
      py::arg("wanted") = 0);
  module.def("stage_from_text", &stageFromText, py::arg("text"), py::arg("source"), py::arg("to"), py::arg("kernel") = "");
}
