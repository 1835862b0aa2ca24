// Status.h - the result of a step of the runtime: success, or an error with a code and a text for
// the user. Nothing here throws; CApi.cpp turns a Status into a code for C.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace logitile {
enum class ErrorCode : uint8_t {
  None,
  Type,          // of an argument of the call
  Value,         // a shape, a value or an option of the call
  Index,         // an index outside the vocabulary
  Target,        // the device or its driver cannot do what is asked
  Compile,       // the compiler failed: our bug
  Internal,      // the runtime failed: our bug
  Interrupted,   // the caller asked to stop
  EmulatorFault, // the emulator found faults in a kernel
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string text;
  // Of failed compilations:
  std::string stage;
  std::string reproducer;
  int64_t minimumWorkspace = 0; // positive if the budget is too small
  std::string computedIndex;    // if the loss computes the index: its buffer
  // Of faults in a kernel:
  std::string kernel;
  std::string faults; // JSON, see emulator/core/Report.h
};

/// Success, or an error. Copies share the error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string text) : Status(Error{code, std::move(text), {}, {}, 0, {}, {}, {}}) {}
  explicit Status(Error error) : failure(std::make_shared<const Error>(std::move(error))) {}

  bool isOk() const { return !failure; }
  const Error &error() const { return *failure; }

private:
  std::shared_ptr<const Error> failure;
};

/// The status of a step that the caller has stopped.
inline Status interrupted() { return Status(ErrorCode::Interrupted, "the call was interrupted"); }

/// A value, or the error because of which there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {}

  bool isOk() const { return value.has_value(); }
  const Status &status() const { return failure; }
  T &operator*() & { return *value; }
  T &&operator*() && { return std::move(*value); }
  const T &operator*() const & { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

private:
  std::optional<T> value;
  Status failure;
};
} // namespace logitile
