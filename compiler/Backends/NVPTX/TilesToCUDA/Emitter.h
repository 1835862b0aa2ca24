// Emitter.h - short spellings for the code of one GPU thread: its number, shared memory, elements
// in memory, and the instructions of a warp. Instructions.cpp creates all ops of the nvvm dialect.
#pragma once
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Conversion/CodeBuilder.h"

namespace logitile::cuda {
/// Shared memory of a block; no function of a user can have this name.
inline constexpr llvm::StringLiteral kSharedName = "shared$memory";

/// Element types whose products the tensor cores take.
enum class MmaType { BF16, F16 };

/// Instructions that the nvvm dialect does not have.
enum class InlinePtx {
#define INLINE_PTX(name, text, constraints) name,
#include "compiler/Backends/NVPTX/TilesToCUDA/InlinePtx.def"
};

/// An operand in shared memory, of products of warpgroups.
struct SharedOperand {
  Int descriptor;
  bool isInnerShared; // whether neighbours in memory are steps of the shared axis
};

class Emitter : public CodeBuilder {
public:
  /// Shared memory starts at a multiple of 'sharedAlignment' bytes.
  Emitter(mlir::ModuleOp module, int64_t sharedAlignment);

  const mlir::Type globalPointer, sharedPointer;

  /// An empty kernel of 'threads' threads, in clusters of so many blocks, at the end of the module;
  /// code goes into it from here on.
  mlir::LLVM::LLVMFuncOp beginKernel(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, int64_t threads, int64_t cluster);
  void endKernel();
  /// Parameter 'number' of a kernel is a pointer to so many bytes of its own, at a multiple of
  /// their number.
  void passByValue(mlir::LLVM::LLVMFuncOp kernel, unsigned number, int64_t bytes);

  // ---- where this thread is ---------------------------------------------------------------------
  Int thread() const { return *threadNumber; }
  Int lane() const { return *laneNumber; }
  Int warp() const { return *warpNumber; }
  /// The number of the block in the grid.
  Int block();
  void barrier();
  /// The same for the threads of a warp.
  void syncWarp();

  // ---- memory -----------------------------------------------------------------------------------
  /// Shared memory of the block from 'offset' bytes on.
  Place shared(Int offset, mlir::Type element);
  /// The number of its byte `offset`.
  Int sharedAddress(Int offset);
  /// One element in its value type.
  mlir::Value load(Place place);
  void store(mlir::Value value, Place place);
  /// 'count' neighbours at once, in their value type. The first lies at a multiple of the bytes of
  /// all.
  Values loadRun(Place place, int64_t count);
  void storeRun(mlir::ValueRange values, Place place);
  /// Bits without conversion: 'type' as it lies in memory.
  mlir::Value loadAs(mlir::Type type, Place place, int64_t alignment);

  // ---- instructions of a warp: Instructions.cpp -------------------------------------------------
  /// The value of the lane whose number differs by 'mask' in its bits; f32 or i32.
  mlir::Value exchange(mlir::Value value, int64_t mask);
  /// A bit for each lane, set where its 'condition' holds; i32.
  mlir::Value vote(mlir::Value condition);
  /// 16 bytes from global to shared memory on their way; with 'bytes' (i32) the others are zeros.
  void copyAsync(Place to, Place from, mlir::Value bytes);
  void commitCopies();
  /// Waits until at most 'pending' groups of this thread's copies are on their way.
  void waitForCopies(int64_t pending);
  /// Four 8 x 8 matrices of 16-bit elements, each a pair of neighbours in one i32.
  Values loadMatrices(Place row, bool transposed);
  /// Stores four such matrices as one instruction, on GPUs from sm_90 on: of each, this thread's
  /// pair of 'values', which get the type of the place. Thread 8 i + r says where row r of matrix i
  /// goes.
  void storeMatrices(mlir::ValueRange values, Place row);
  /// sum + left * right of 16 x 8 x 16 elements: 4 and 2 registers of pairs, 4 of f32.
  Values multiply(MmaType type, mlir::ValueRange left, mlir::ValueRange right, mlir::ValueRange sum);
  /// That of the warp's first lane, below 2^31; the assembler then knows that all lanes have the
  /// same.
  Int uniform(Int value);

  // ---- instructions of a warpgroup: Instructions.cpp --------------------------------------------
  /// sums + left * right of 64 x 'columns' x 16 elements, under way; sums are a structure of f32.
  mlir::Value startProduct(MmaType type, SharedOperand left, SharedOperand right, int64_t columns, mlir::Value sums);
  /// Before products, after registers of their sums were set.
  void fenceProducts();
  void commitProducts();
  /// Waits until at most 'pending' groups of this warp's products are under way.
  void waitForProducts(int64_t pending);
  /// Waits for all of them, and gives the sums, which nobody may use before.
  mlir::Value waitForSums(mlir::Value sums);
  /// What this thread has written to shared memory is there for tensor cores that read it.
  void fenceProxy();

  // ---- copies of boxes: Instructions.cpp --------------------------------------------------------
  /// An mbarrier, whose phases end with so many arrivals and all bytes that were announced.
  void startMbarrier(Place mbarrier, int64_t arrivals);
  /// Behind all of them, for tensor copies to see them.
  void fenceMbarriers();
  void arrive(Place mbarrier);
  /// The same, and 'bytes' will come.
  void arriveExpecting(Place mbarrier, int64_t bytes);
  /// Waits until the phase with this 'parity' (i32) has ended; the one before the first has parity
  /// 1.
  void waitForPhase(Place mbarrier, mlir::Value parity);
  /// The box of 'map' with this corner is on its way; its bytes arrive at 'mbarrier'. It goes to
  /// the same place of each of the 'blocks' of the cluster (i16), or of this one where they are
  /// null.
  void copyBox(Place to, mlir::Value map, Int row, Int column, Place mbarrier, mlir::Value blocks);
  /// The same from shared memory; a thread's boxes are a group. Columns and rows behind the ends of
  /// the map are left out.
  void storeBox(Place from, mlir::Value map, Int row, Int column);
  void commitStores();
  /// Waits until none of this thread's boxes has to be read from shared memory.
  void waitForStores();
  /// True for one thread of the warp, all of whose threads have to be here; i1.
  mlir::Value elect();

  // ---- clusters of blocks: Instructions.cpp -----------------------------------------------------
  /// For all threads of the cluster.
  void clusterBarrier();
  /// The number (i32) of the same place in the shared memory of block 'rank' (i32) of the cluster.
  mlir::Value mapShared(Place place, mlir::Value rank);
  /// At an mbarrier that such a number says.
  void arriveAt(mlir::Value mbarrier);

  /// A number that code changes as it goes; it lies in a register.
  Place variable();
  /// A structure of values, and its fields.
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
