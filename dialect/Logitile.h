// Logitile.h - the dialect's classes: types, attributes, ops of all levels.
#pragma once
#include "dialect/types/Types.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/LogitileOps.h.inc"

namespace logitile {
/// The finish that 'result' is of, where it is one of 'program' and has such a result; else null.
FinishOp findFinish(ProgramOp program, ResultAttr result);
/// The sweep of the first columns that a gradient is relative to, or null.
SweepOp findReferenceSweep(ProgramOp program);
/// What a sweep picks; null where there is no such sweep or pick.
PickAttr findPick(ProgramOp program, ResultAttr source);
/// How many places a list in memory has that 'op' reads; 0 where it reads none.
int64_t placesRead(mlir::Operation *op);
/// The type of that result.
mlir::Type typeOf(FinishOp finish, ResultAttr result);
/// A buffer as the schedule spells it: `stored of "z"`.
std::string describeBuffer(BufferRole role, llvm::StringRef owner, std::optional<int64_t> number);
std::string describeBuffer(BufferOp buffer);
} // namespace logitile
