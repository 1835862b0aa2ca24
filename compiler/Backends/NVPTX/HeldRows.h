// HeldRows.h - what threads read of rows before a loop over tiles, instead of in each tile.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"

namespace logitile::cuda {
/// The loads and gathers in 'loop' that give one value for each row, the same in all turns: they
/// read at places that the loop does not change, from memory that the kernel does not write. Only
/// loops over tiles that warpgroups multiply have them: there a thread has few rows, and products
/// leave registers. In the loop, each tile would wait for memory once more, since the assembler
/// moves loads to where they are used.
llvm::SmallVector<mlir::Operation *> findHeldRows(mlir::scf::ForOp loop, const Sharing &sharing);
/// The load among 'held' of the rows of vector 'view' from 'row' on, or null.
LoadOp findHeld(llvm::ArrayRef<mlir::Operation *> held, mlir::Value view, mlir::Value row);
} // namespace logitile::cuda
