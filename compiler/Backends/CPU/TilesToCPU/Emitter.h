// Emitter.h - short spellings for CPU code: vectors of neighbouring elements, and functions. The op
// families decide what is computed.
#pragma once
#include "compiler/Conversion/CodeBuilder.h"
#include "compiler/Backends/CPU/Tier.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace logitile::cpu {
class Emitter : public CodeBuilder {
public:
  Emitter(mlir::ModuleOp module, CpuTier tier);

  const CpuTierInfo &tier;
  const mlir::Type pointerType;
  /// Lanes of a vector register, and elements of one packed panel: a few vectors.
  const int64_t lanes, width;

  /// Begins an empty function at the end of the module. Code is inserted into it from here on.
  mlir::func::FuncOp beginFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  void endFunction();

  /// A vector of i1: lane l is true if first + l < count.
  mlir::Value lanesBelow(Int first, Int count, int64_t lanes);
  mlir::Value isAnyLane(mlir::Value lanes);
  /// left * right + sum, with a single rounding if the CPU has such an instruction. Operands are
  /// f32, or pairs of bf16 side by side.
  mlir::Value multiplyAdd(mlir::Value left, mlir::Value right, mlir::Value sum);

  /// An instruction on the tile registers of AMX, "tdpbf16ps". 'tiles' are numbers of registers and
  /// come first.
  void onTiles(llvm::StringRef instruction, llvm::ArrayRef<int64_t> tiles, mlir::ValueRange arguments = {});

  /// One element or 'lanes' neighbours, in their value type.
  mlir::Value load(Place place, int64_t lanes = 0);
  void store(mlir::Value value, Place place);
  /// Prefetches 'bytes' bytes, starting at 'place', into the L2 cache.
  void fetch(Place place, int64_t bytes);
  /// Elements as bits in memory, and conversions between bits and values: Convert.cpp.
  mlir::Value loadBits(Place place, int64_t lanes);
  void storeBits(mlir::Value bits, Place place);
  /// The same as loadBits in the lanes where 'inside' holds. The other lanes are zero, and their
  /// memory is not read.
  mlir::Value loadBitsWhere(mlir::Value inside, Place place, int64_t lanes);
  mlir::Value toValue(mlir::Value bits, mlir::Type element);
  mlir::Value toBits(mlir::Value value, mlir::Type element);

private:
  mlir::Value bf16ToValue(mlir::Value bits);
  mlir::Value valueToBf16(mlir::Value value);
  mlir::Value f16ToValue(mlir::Value bits);
  mlir::Value valueToF16(mlir::Value value);
};
} // namespace logitile::cpu
