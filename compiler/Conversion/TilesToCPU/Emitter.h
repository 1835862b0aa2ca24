// Emitter.h - short spellings for device code: integers that fold, elements in memory, loops.
// What is computed is the business of the op families.
#pragma once
#include "compiler/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile::cpu {
class Emitter;

/// An i64 that is known while compiling, or computed by the code. Arithmetic folds what is known.
class Int {
public:
  Int(Emitter &emitter, int64_t known) : emitter(&emitter), constant(known) {}
  Int(Emitter &emitter, mlir::Value value);

  bool isKnown() const { return !dynamic; }
  bool is(int64_t value) const { return isKnown() && constant == value; }
  int64_t known() const { return constant; }
  operator mlir::Value() const;

  friend Int operator+(Int a, Int b);
  friend Int operator-(Int a, Int b);
  friend Int operator*(Int a, Int b);
  friend Int operator/(Int a, Int b); // unsigned, as everything here
  friend Int operator%(Int a, Int b);
  friend Int operator+(Int a, int64_t b) { return a + Int(*a.emitter, b); }
  friend Int operator-(Int a, int64_t b) { return a - Int(*a.emitter, b); }
  friend Int operator*(Int a, int64_t b) { return a * Int(*a.emitter, b); }
  friend Int operator/(Int a, int64_t b) { return a / Int(*a.emitter, b); }
  friend Int operator%(Int a, int64_t b) { return a % Int(*a.emitter, b); }
  friend Int divideUp(Int a, Int b) { return (a + (b - 1)) / b; }
  friend Int divideUp(Int a, int64_t b) { return (a + (b - 1)) / b; }
  friend Int smaller(Int a, Int b);
  friend Int smaller(Int a, int64_t b) { return smaller(a, Int(*a.emitter, b)); }
  /// i1 values.
  friend mlir::Value isLess(Int a, Int b);
  friend mlir::Value isLess(Int a, int64_t b) { return isLess(a, Int(*a.emitter, b)); }
  friend mlir::Value isEqual(Int a, int64_t b);

private:
  Emitter *emitter;
  mlir::Value dynamic; // null where the value is known
  int64_t constant = 0;
};

/// Elements of one type in memory, from one place on.
struct Place {
  mlir::Value pointer;
  mlir::Type element; // f32, bf16, f16, i32, i1 in a byte of its own, or a float that is rounded when it is read
};

/// Builds the body of one function after the other.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  Emitter(mlir::ModuleOp module, CpuTier tier);

  const CpuTierInfo &tier;
  const mlir::Type f32, i1, i32, i64;
  const mlir::Type pointerType;
  /// Lanes of a vector register, and elements of one packed panel: a few vectors.
  const int64_t lanes, width;

  /// An empty function at the end of the module; code goes into it from here on.
  mlir::func::FuncOp beginFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  void endFunction();

  // ---- values -----------------------------------------------------------------------------------------------------
  Int integer(int64_t value) { return Int(*this, value); }
  Int integer(mlir::Value value) { return Int(*this, value); }
  /// A constant at the start of the function, one for each value.
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value truth(bool value) { return constant(getBoolAttr(value)); }
  /// 'type' with 'lanes' lanes; 0 lanes: the scalar.
  static mlir::Type widen(mlir::Type type, int64_t lanes);
  /// A number in every lane of a scalar or vector type.
  mlir::Value number(mlir::Type type, double value);
  /// A scalar in every lane.
  mlir::Value spread(mlir::Value scalar, int64_t lanes);
  /// i64 of an i32, keeping its sign.
  Int extend(mlir::Value value) { return Int(*this, mlir::arith::ExtSIOp::create(*this, i64, value)); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(*this, a, b); }
  /// Lane l holds whether first + l < count.
  mlir::Value lanesBelow(Int first, Int count, int64_t lanes);
  mlir::Value isAnyLane(mlir::Value lanes);

  // ---- memory -----------------------------------------------------------------------------------------------------
  /// Whether elements of this type can be computed with.
  static bool isSupported(mlir::Type element);
  /// The type in which elements are computed: f32 for all floating-point types.
  mlir::Type valueType(mlir::Type element) { return llvm::isa<mlir::FloatType>(precisionOf(element)) ? f32 : element; }
  /// The type whose numbers an element has when it is read, and the one that it has in memory.
  static mlir::Type precisionOf(mlir::Type element);
  static mlir::Type memoryOf(mlir::Type element);
  static int64_t bytesOf(mlir::Type element) { return llvm::divideCeil(memoryOf(element).getIntOrFloatBitWidth(), 8); }
  Place at(Place place, Int index);
  /// One element or 'lanes' neighbours, in their value type.
  mlir::Value load(Place place, int64_t lanes = 0);
  void store(mlir::Value value, Place place);
  /// Bits as they are in memory, and between bits and values: Convert.cpp.
  mlir::Value loadBits(Place place, int64_t lanes);
  void storeBits(mlir::Value bits, Place place);
  mlir::Value toValue(mlir::Value bits, mlir::Type element);
  mlir::Value toBits(mlir::Value value, mlir::Type element);

  // ---- control ----------------------------------------------------------------------------------------------------
  void loop(Int lower, Int upper, Int step, llvm::function_ref<void(Int)> body);
  void loop(Int upper, llvm::function_ref<void(Int)> body) { loop(integer(0), upper, integer(1), body); }
  using Values = llvm::SmallVector<mlir::Value>;
  Values loop(Int upper, mlir::ValueRange start, llvm::function_ref<Values(Int, mlir::ValueRange)> body);
  void when(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = {});
  Values choose(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

private:
  mlir::Value bf16ToValue(mlir::Value bits);
  mlir::Value valueToBf16(mlir::Value value);
  mlir::Value f16ToValue(mlir::Value bits);
  mlir::Value valueToF16(mlir::Value value);

  mlir::ModuleOp module;
  mlir::Block *entry = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants; // of the current function
};
} // namespace logitile::cpu
