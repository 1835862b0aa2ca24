// Target.h - the interface of one target for which code is compiled. The folders of
// compiler/Backends implement it. No MLIR here, because the runtime includes this file.
#pragma once
#include "compiler/Stages.h"
#include "compiler/Support/Cancellation.h"
#include "compiler/Target/Machine.h"
#include "compiler/Target/MemoryModel.h"
#include "dialect/types/Enums.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llvm {
template <typename T>
class FailureOr;
}
namespace mlir {
class ImplicitLocOpBuilder;
class ModuleOp;
class OpPassManager;
class Type;
class Value;
} // namespace mlir

namespace logitile {
class Backend;
class KernelOp;
class LLVMTarget;
struct ColumnLimit;
struct KernelWork;
struct LogitTiles;
struct Product;
struct TileSizes;

/// The mathematical instructions that a target has.
struct MathInstructions {
  bool hasFma = true, hasRounding = true;
  bool hasApproximateExp2 = false; // Target::approximateExp2
};

/// Facts that schedules, plans and conversions depend on. They are not decisions: those are made in
/// compiler/Transforms/ChooseSchedule.
struct TargetFacts {
  // ---- memory
  MemoryModel memory;
  bool sharesHostMemory = true;      // kernels read the memory of the host; else the device counts tokens itself, in memory of its own

  // ---- operands of contractions
  bool packsOperands = false;        // kernels read operands from panels, and round them on the way there
  bool multipliesBF16 = false;       // contractions take operands of 16 bits as they are, and sum them in f32
  bool multipliesF16 = false;

  // ---- tiles
  bool tokensAreLanes = false;       // logits of neighbouring tokens are neighbours in memory, else those of neighbouring vocabulary entries
  bool hasFixedTiles = false;        // tiles have the sizes of the table, and one that is not full costs as much as a full one
  int64_t registerRows = 1;          // rows of a register tile: a tile of fewer leaves registers idle
  int64_t mostWeightRows = INT64_MAX; // vocabulary entries of a tile of the gradient of a weight
  int64_t largestCluster = 1;         // blocks of threads that may share an operand of a product
  bool makesLists = false;           // kernels keep the largest entries of each token, and put them in order
  int64_t mostFewTokens = -1;        // up to so many tokens, logits are dot products along the hidden axis; -1: there are no such kernels
  int64_t mostFewTokensOfBF16 = -1;  // the same, if all operands are bf16

  // ---- schedules
  bool storesFactoredGradients = false; // sweeps may store gradients of logits but for a factor of each token
  bool isFilledByOneVocabSplit = false; // one vocabulary split is work for all units, and what it makes stays in their caches

  // ---- arithmetic
  bool isSlowWithSubnormals = false; // on some machines of this target an instruction takes many times as long with them
  MathInstructions math;
  bool hasCheapCalls = true;         // else a call passes values through memory: code is not cut into functions
};

/// The rows of tile sizes of one target: the list of this name in a table in JSON.
struct TileList {
  std::string_view file; // its name in errors
  std::string_view text;
  std::string list;
};

/// One target, such as "cpu:avx2". Immutable, and shared by threads.
class Target {
public:
  explicit Target(const Backend &backend) : backend(backend) {}
  virtual ~Target() = default;
  Target(const Target &) = delete;
  Target &operator=(const Target &) = delete;

  /// The part of the target's name after the backend's prefix: "avx2". Targets with the same code
  /// have the same text.
  virtual std::string features() const = 0;
  virtual TargetFacts facts() const = 0;
  virtual TileList tileTable() const = 0;
  /// The reason why kernels cannot have such tiles; "" if they can.
  virtual std::string refuseTiles(const TileSizes &sizes) const = 0;
  /// The rates for the cost model. 'threads': the threads of the host that a call may use.
  virtual Machine machine(int64_t threads) const = 0;
  /// Figures of the chip, by name: numbers of units, hertz, bytes, operations a second. Empty if
  /// the target's name does not determine a chip.
  virtual std::vector<std::pair<std::string_view, double>> chipFigures() const { return {}; }

  // ---- products of matrices (compiler/Target/Products.h)
  // A target that overrides none of these computes products with loops.
  /// The algorithm of a product. The target's conversion must have it for such tiles.
  virtual Algorithm productAlgorithm(const Product &product) const;
  /// The most columns that tiles of logits may have.
  virtual ColumnLimit limitLogitColumns(const LogitTiles &tiles) const;
  /// The share of the rate of products that those of logits reach in such tiles.
  virtual double rateShareOfLogits(const LogitTiles &tiles) const;
  /// The number of columns of tiles of a gradient with 'hidden' hidden entries; at most 'most'.
  virtual int64_t gradientColumns(mlir::Type operand, int64_t hidden, int64_t most) const;
  /// Steps of a block of the shared axis, where the tiles of a schedule have 'steps'.
  virtual int64_t productDepth(Algorithm algorithm, int64_t steps) const;
  /// Blocks of threads that make tiles of neighbouring rows together, and share the right operand.
  virtual int64_t blocksTogether(Algorithm algorithm) const;

  // ---- instructions of the stage `device` that only some targets have
  /// x * 2^power, rounded once. Null if the target has no such instruction for the type of 'x'.
  virtual mlir::Value scaleByPowerOf2(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value power) const;
  /// 2^x with a relative error of 2^-22; 0 if the result is below the normal range. Null if
  /// facts().math.hasApproximateExp2 is false.
  virtual mlir::Value approximateExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x) const;

  /// The passes from the stage `tiles` to the stage `device`.
  virtual void addDevicePasses(mlir::OpPassManager &passes) const = 0;
  /// The stage that the runtime loads.
  virtual Stage codeStage() const = 0;
  /// Code of a module of the device stage, which is changed in place. Fails with a diagnostic;
  /// throws Cancelled.
  virtual llvm::FailureOr<std::string> emitCode(mlir::ModuleOp device, Cancellation *cancellation) const = 0;
  /// This target, if LLVM generates its code: then there is a stage `llvm`. Otherwise null.
  virtual const LLVMTarget *asLLVM() const { return nullptr; }
  /// The predicted work of the threads of a kernel in stage `tiles`. Empty for devices that do not
  /// count work.
  virtual KernelWork predictWork(KernelOp kernel) const;

  /// "cpu:avx2".
  std::string name() const;

  const Backend &backend;
};
} // namespace logitile
