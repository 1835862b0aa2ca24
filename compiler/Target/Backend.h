// Backend.h - a kind of target, and the registry that finds it by the prefix of a target's name.
#pragma once
#include "compiler/Target/Target.h"
#include <vector>

namespace llvm {
struct LogicalResult;
}
namespace mlir {
class DialectRegistry;
class Operation;
} // namespace mlir

namespace logitile {
/// A kind of target: reads and lists the names of its targets. Target has everything else.
class Backend {
public:
  virtual ~Backend() = default;
  /// What comes before the colon in the names of its targets: "cpu".
  virtual std::string_view prefix() const = 0;
  /// The same for backends that make the same of a spec, up to the stage `device`: then a target of
  /// one can go on with a text that was made for the other.
  virtual std::string_view kind() const { return prefix(); }
  /// The target "PREFIX:features"; null where there is none of this name.
  virtual std::shared_ptr<const Target> parse(std::string_view features) const = 0;
  /// The features that it knows, for errors: "portable, avx2, avx512".
  virtual std::string listFeatures() const = 0;
  /// Dialects of its device stage that other backends do not have, with their translations to LLVM
  /// IR.
  virtual void registerDialects(mlir::DialectRegistry &) const {}
  /// Fails with an error where verifiers and LLVM would not survive an op of those dialects.
  virtual llvm::LogicalResult checkParsed(mlir::Operation *op) const;
  /// Its own passes, by their flags, for logitile-opt.
  virtual void registerPasses() const {}
};

// The registry is the one mutable state of the compiler that outlives a compilation. Backends are
// only ever added to it: the built-in ones (compiler/Backends/BuiltIn.cpp) before the first
// look-up, others by registerBackend, at any time and from any thread. A backend is never removed
// or replaced, so references to it stay valid until the process ends.

/// Adds a backend. False, and nothing is changed, where its prefix is taken.
[[nodiscard]] bool registerBackend(std::unique_ptr<Backend> backend);
/// All of them, in the order of their registration.
std::vector<const Backend *> listBackends();
/// The target called 'name'. Null if there is none; then 'error' has the reason and the existing
/// names.
std::shared_ptr<const Target> findTarget(std::string_view name, std::string &error);

/// The backends of this library, for the registry.
std::vector<std::unique_ptr<Backend>> makeBuiltInBackends();
} // namespace logitile
