// PlanMaker.h - how an engine makes plans. Engine.cpp loads them; Requests.cpp compiles them.
#pragma once
#include "runtime/device/Platform.h"
#include "runtime/engine/Engine.h"
#include <chrono>

namespace logitile {
class Stopwatch {
public:
  double milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(); }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Makes plans: the devices, the compiler and the disk cache of an engine. Background jobs use it
/// too, and may outlive the engine.
class Engine::PlanMaker {
public:
  PlanMaker(CompileFunction compile, const Options &options);

  Result<std::shared_ptr<Device>> deviceOf(const std::string &target) const;
  /// A plan from disk, or a compiled one.
  Result<KernelCache::Plan> make(const Program &program, int64_t tokens, Cancellation &cancellation) const;
  Result<PlanUse> load(std::string_view bytes) const;

  const std::shared_ptr<Workspace> hostMemory;
  std::vector<std::pair<const Platform *, std::shared_ptr<Device>>> devices; // never changed
  const std::shared_ptr<DiskCache> disk; // null: there is none

private:
  KernelCache::Plan findOnDisk(const DiskKey &key, const Program &program, int64_t tokens) const;
  Result<KernelCache::Plan> compilePlan(const Program &program, int64_t tokens, NativeStore store, Cancellation &cancellation) const;
  NativeStore storeOf(const DiskKey &key, NativeCode known) const;

  const CompileFunction compile;
};
} // namespace logitile
