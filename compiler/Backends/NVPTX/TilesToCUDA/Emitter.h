// Emitter.h - short spellings for the code of one GPU thread: its number, shared memory, elements
// in memory, and the instructions of a warp. Instructions.cpp creates all ops of the nvvm dialect.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Conversion/CodeBuilder.h"

namespace logitile::cuda {
/// The symbol of a block's shared memory. No function of a user can have this name.
inline constexpr llvm::StringLiteral kSharedName = "shared$memory";

/// Element types that tensor cores multiply.
enum class MmaType { BF16, F16 };

/// Instructions that the nvvm dialect does not have.
enum class InlinePtx {
#define INLINE_PTX(name, text, constraints) name,
#include "compiler/Backends/NVPTX/TilesToCUDA/InlinePtx.def"
};

/// An operand of a product of warpgroups, in shared memory.
struct SharedOperand {
  Int descriptor;
  bool isInnerShared; // whether neighbours in memory are steps of the shared axis
};

class Emitter : public CodeBuilder {
public:
  /// Shared memory starts at a multiple of 'sharedAlignment' bytes.
  Emitter(mlir::ModuleOp module, int64_t sharedAlignment);

  const mlir::Type globalPointer, sharedPointer;

  /// Begins an empty kernel at the end of the module, for blocks of 'threads' threads and clusters
  /// of 'cluster' blocks. Code is inserted into it from here on.
  mlir::LLVM::LLVMFuncOp beginKernel(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, int64_t threads, int64_t cluster);
  void endKernel();
  /// Declares that parameter 'number' of 'kernel', a pointer, is passed by value: 'bytes' bytes
  /// that are aligned to 'bytes'.
  void passByValue(mlir::LLVM::LLVMFuncOp kernel, unsigned number, int64_t bytes);

  // ---- where this thread is ---------------------------------------------------------------------
  Int thread() const { return *threadNumber; }
  Int lane() const { return *laneNumber; }
  Int warp() const { return *warpNumber; }
  /// The number of the block in the grid.
  Int block();
  /// The barrier of all threads of the block.
  void barrier();
  /// The barrier of all threads of a warp.
  void syncWarp();

  // ---- memory -----------------------------------------------------------------------------------
  /// The place 'offset' bytes from the start of the block's shared memory.
  Place shared(Int offset, mlir::Type element);
  /// The address of that place, as a number of the shared address space.
  Int sharedAddress(Int offset);
  /// Loads one element and converts it to its value type.
  mlir::Value load(Place place);
  void store(mlir::Value value, Place place);
  /// An i32 constant.
  mlir::Value word(int64_t value) { return constant(getI32IntegerAttr(value)); }
  /// Loads 'count' neighbours at once and converts them to their value type. Their address must be
  /// a multiple of the bytes of all of them together.
  Values loadRun(Place place, int64_t count);
  void storeRun(mlir::ValueRange values, Place place);
  /// Loads a value of 'type' as it is in memory, without a conversion.
  mlir::Value loadAs(mlir::Type type, Place place, int64_t alignment);

  /// Loops whose counter has 32 bits: one of 64 would take two registers. All numbers are i32, also
  /// the sum of end and step: extents of the program are that much smaller.
  Values loopOverWords(mlir::Value end, mlir::ValueRange start, llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  Values loopOverWords(mlir::Value first, mlir::Value end, mlir::Value step, mlir::ValueRange start,
                       llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  // ---- instructions of a warp: Instructions.cpp -------------------------------------------------
  /// The value of the lane whose number is this lane's number xor 'mask'; f32 or i32.
  mlir::Value exchange(mlir::Value value, int64_t mask);
  /// The value that lane number 'lane' has; f32 or i32.
  mlir::Value valueOf(Int lane, mlir::Value value);
  /// An i32 with a bit for each lane, which is set if the lane's 'condition' holds.
  mlir::Value vote(mlir::Value condition);
  /// Starts an asynchronous copy of 16 bytes from global to shared memory. With 'bytes' (i32), only
  /// the first 'bytes' bytes are read, and the others become zeros.
  void copyAsync(Place to, Place from, mlir::Value bytes);
  /// Makes this thread's copies since the last call a group.
  void commitCopies();
  /// Waits until at most 'pending' groups of this thread's copies are unfinished.
  void waitForCopies(int64_t pending);
  /// Loads four 8 x 8 matrices of 16-bit elements. Of each matrix, this thread gets a pair of
  /// neighbours in one i32.
  Values loadMatrices(Place row, bool transposed);
  /// Stores four such matrices with one instruction, on GPUs from sm_90 on. Of each matrix, this
  /// thread has a pair of 'values', which are converted to the element type of 'row'. The 'row' of
  /// thread 8 i + r is where row r of matrix i is stored.
  void storeMatrices(mlir::ValueRange values, Place row);
  /// sum + left * right for 16 x 8 x 16 elements. 'left' has 4 registers with pairs of elements,
  /// 'right' has 2, and 'sum' has 4 registers of f32.
  Values multiply(MmaType type, mlir::ValueRange left, mlir::ValueRange right, mlir::ValueRange sum);
  /// The value of the warp's first lane, which must be below 2^31. The assembler then knows that
  /// all lanes have the same value.
  Int uniform(Int value);

  // ---- instructions of a warpgroup: Instructions.cpp --------------------------------------------
  /// Starts the asynchronous product sums + left * right of 64 x 'columns' x 16 elements. 'sums'
  /// and the result are structures of f32. Null 'sums' are zeros, which no register has to hold.
  mlir::Value startProduct(MmaType type, SharedOperand left, SharedOperand right, int64_t columns, mlir::Value sums);
  /// Needed before a product if registers of its sums have been written.
  void fenceProducts();
  /// Makes the products since the last call a group.
  void commitProducts();
  /// Waits until at most 'pending' groups of this warp's products are unfinished.
  void waitForProducts(int64_t pending);
  /// Waits for all products and returns their sums. The sums must not be used before.
  mlir::Value waitForSums(mlir::Value sums);
  /// Makes this thread's writes to shared memory visible to tensor cores and tensor copies.
  void fenceProxy();

  // ---- copies of boxes: Instructions.cpp --------------------------------------------------------
  /// Initialises an mbarrier. A phase of it ends when 'arrivals' threads have arrived and all
  /// announced bytes have been copied.
  void startMbarrier(Place mbarrier, int64_t arrivals);
  /// After the last startMbarrier: tensor copies see the mbarriers from here on.
  void fenceMbarriers();
  void arrive(Place mbarrier);
  /// Arrives, and announces that 'bytes' bytes will be copied.
  void arriveExpecting(Place mbarrier, int64_t bytes);
  /// Waits until the phase with this 'parity' (i32) has ended. The first phase has parity 0, so a
  /// wait for parity 1 returns at once until the first phase ends.
  void waitForPhase(Place mbarrier, mlir::Value parity);
  /// Starts to copy the box of 'map' whose corner is at 'row' and 'column'. Its bytes count for
  /// 'mbarrier'. 'blocks' (i16) has a bit for each block of the cluster that gets the box, at the
  /// same offset of its shared memory. If it is null, only this block gets the box.
  void copyBox(Place to, mlir::Value map, Int row, Int column, Place mbarrier, mlir::Value blocks);
  /// Starts to copy a box from shared memory to that corner. Columns and rows beyond the ends of
  /// the map are not written.
  void storeBox(Place from, mlir::Value map, Int row, Int column);
  /// Makes this thread's stores of boxes since the last call a group.
  void commitStores();
  /// Waits until all boxes of this thread's stores have been read from shared memory.
  void waitForStores();
  /// An i1 that is true for one thread of the warp. All threads of the warp must call it.
  mlir::Value elect();

  // ---- clusters of blocks: Instructions.cpp -----------------------------------------------------
  /// The barrier of all threads of the cluster.
  void clusterBarrier();
  /// The address (i32) of the same offset in the shared memory of block 'rank' (i32) of the
  /// cluster.
  mlir::Value mapShared(Place place, mlir::Value rank);
  /// Arrives at an mbarrier whose address 'mapShared' returned.
  void arriveAt(mlir::Value mbarrier);

  /// A variable that the code may overwrite. It is kept in a register.
  Place variable();
  /// Makes a structure of values; 'unpack' returns its fields.
  mlir::Value pack(mlir::ValueRange fields);
  Values unpack(mlir::Value structure);

private:
  mlir::Value valueOf(mlir::Value bits, mlir::Type element);
  void emitPtx(InlinePtx ptx, mlir::ValueRange operands);
  mlir::Operation *emitPtx(mlir::TypeRange results, llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands);
  mlir::Value readThread();
  mlir::Value readBlock();

  std::optional<Int> threadNumber, laneNumber, warpNumber;
  mlir::Value sharedBase;
};
} // namespace logitile::cuda
