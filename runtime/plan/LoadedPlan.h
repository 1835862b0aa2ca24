// LoadedPlan.h - a launch plan with its code in memory, checked, and with the buffers of calls
// looked up once.
#pragma once
#include "runtime/device/Device.h"
#include "runtime/plan/KernelKey.h"
#include "runtime/plan/PlanOrigin.h"
#include <atomic>

namespace logitile {
/// The indices of the buffers that calls look up; -1 if the plan does not have the buffer.
struct PlanTables {
  struct Projection {
    int64_t hidden = -1, weight = -1, map = -1;
  };
  struct Input {
    std::vector<int64_t> buffers; // one for each entry of a token input, else one: the entries of a list are its columns
    int64_t map = -1;             // Dense: rows of the caller's array
  };
  std::vector<Projection> projections;
  std::vector<Input> inputs;
  std::vector<int64_t> cotangents; // by output
  std::vector<int64_t> roots;     // by buffer: the buffer whose memory it uses
  int64_t map = -1;
  int64_t facts = -1, slots = -1, wrong = -1; // of GPUs, see gpu/CallKernels.h
  int64_t loss = -1, weight = -1;             // outputs of these roles
  bool isWeightInPrologue = false;            // known before anything reads logits
  int64_t scratchStride = 0;                  // bytes for each thread
  int64_t mostWords = 0;                      // arguments of a kernel
};

struct LoadedPlan {
  std::shared_ptr<Device> device; // outlives code
  KernelKey key;
  LaunchPlan plan;
  PlanTables tables;
  std::unique_ptr<DeviceCode> code; // of 'plan'
  PlanOrigin origin;
  mutable std::atomic<bool> isOriginTold{false}; // by the record of a call
};

/// An error if calls of the plan would access memory that does not exist.
Status checkPlan(const LaunchPlan &plan);
/// Checks a plan and loads its code on the device. History shows 'key'.
Result<std::shared_ptr<LoadedPlan>> loadPlan(LaunchPlan plan, const KernelKey &key, std::shared_ptr<Device> device,
                                             NativeStore store = {});
} // namespace logitile
