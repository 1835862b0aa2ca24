// XlaCall.h - one call of a plan on buffers of XLA. How XLA finds it is in Xla.cpp.
#pragma once
#include "python/bindings/CallOptions.h"
#include "python/bindings/XlaFfi.h"
#include <vector>

namespace logitile::python {
/// What an error of a handler says. XLA makes an exception of it.
struct XlaFailure {
  xla::ErrorCode code;
  std::string text;
};

/// A plan, its rules, and what each buffer of XLA's call is for it. Handlers on several threads may
/// run it at once.
class XlaCall {
public:
  enum class Role { Input, Cotangent, Divisor, Output, Gradient, Workspace };
  struct Slot {
    Role role;
    std::string name;      // for the plan
    lt_type type;          // of results; arguments tell their own
    bool exchangesAxes;    // a weight [D, V]
  };

  /// 'isEarly': gradients are made along with the outputs, else in a phase of their own. 'picks':
  /// lines of the loss that pick by a computed index, for errors.
  XlaCall(Plan plan, CallOptions options, bool isEarly, std::vector<Slot> arguments, std::vector<Slot> results, std::string picks)
      : plan(std::move(plan)), options(std::move(options)), isEarly(isEarly), arguments(std::move(arguments)), results(std::move(results)),
        picks(std::move(picks)) {}

  /// 'stream': of a GPU, whose workspace is a result of the call; null on the CPU.
  std::optional<XlaFailure> run(const xla::Buffers &given, const xla::Buffers &made, lt_stream *stream) const;

private:
  XlaFailure failure(lt_code code) const;

  const Plan plan;
  const CallOptions options;
  const bool isEarly;
  const std::vector<Slot> arguments, results;
  const std::string picks;
};
} // namespace logitile::python
