// CodeBuilder.h - short spellings for device code of every target: integers that fold, addresses,
// loops. Each target decides how elements are read and written.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile {
class CodeBuilder;

/// An i64 that is known while compiling, or computed by the code. Arithmetic folds what is known.
class Int {
public:
  Int(CodeBuilder &builder, int64_t known) : builder(&builder), constant(known) {}
  Int(CodeBuilder &builder, mlir::Value value);

  bool isKnown() const { return !dynamic; }
  bool is(int64_t value) const { return isKnown() && constant == value; }
  int64_t known() const { return constant; }
  operator mlir::Value() const;

  friend Int operator+(Int a, Int b);
  friend Int operator-(Int a, Int b);
  friend Int operator*(Int a, Int b);
  friend Int operator/(Int a, Int b); // unsigned division, as all arithmetic here
  friend Int operator%(Int a, Int b);
  friend Int operator^(Int a, Int b);
  friend Int operator+(Int a, int64_t b) { return a + Int(*a.builder, b); }
  friend Int operator-(Int a, int64_t b) { return a - Int(*a.builder, b); }
  friend Int operator*(Int a, int64_t b) { return a * Int(*a.builder, b); }
  friend Int operator/(Int a, int64_t b) { return a / Int(*a.builder, b); }
  friend Int operator%(Int a, int64_t b) { return a % Int(*a.builder, b); }
  friend Int divideUp(Int a, Int b) { return (a + (b - 1)) / b; }
  friend Int divideUp(Int a, int64_t b) { return (a + (b - 1)) / b; }
  friend Int smaller(Int a, Int b);
  friend Int smaller(Int a, int64_t b) { return smaller(a, Int(*a.builder, b)); }
  friend Int choose(mlir::Value condition, Int a, Int b);
  /// i1 values.
  friend mlir::Value isLess(Int a, Int b);
  friend mlir::Value isLess(Int a, int64_t b) { return isLess(a, Int(*a.builder, b)); }
  friend mlir::Value isEqual(Int a, int64_t b);

private:
  CodeBuilder *builder;
  mlir::Value dynamic; // null where the value is known
  int64_t constant = 0;
};

/// Elements of one type in memory, from one place on.
struct Place {
  mlir::Value pointer;
  mlir::Type element; // f32, bf16, f16, i64, i32, i1 (one byte each), or a float that is rounded when it is read
};

/// Builds the body of one function after the other.
class CodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  explicit CodeBuilder(mlir::ModuleOp module);

  const mlir::Type f32, i1, i32, i64;

  // ---- values -----------------------------------------------------------------------------------
  Int integer(int64_t value) { return Int(*this, value); }
  Int integer(mlir::Value value) { return Int(*this, value); }
  /// A constant at the start of the function. Equal constants are created only once.
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
  mlir::Value narrow(Int value) { return mlir::arith::TruncIOp::create(*this, i32, value); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(*this, a, b); }

  // ---- memory -----------------------------------------------------------------------------------
  /// Whether elements of this type can be computed with.
  static bool isSupported(mlir::Type element);
  /// The type in which elements are computed: f32 for all floating-point types.
  mlir::Type valueType(mlir::Type element) { return llvm::isa<mlir::FloatType>(precisionOf(element)) ? f32 : element; }
  /// precisionOf is the type to which an element is rounded when it is read; memoryOf is its type
  /// in memory.
  static mlir::Type precisionOf(mlir::Type element);
  static mlir::Type memoryOf(mlir::Type element);
  static int64_t bytesOf(mlir::Type element) { return llvm::divideCeil(memoryOf(element).getIntOrFloatBitWidth(), 8); }
  Place at(Place place, Int index);

  // ---- control ----------------------------------------------------------------------------------
  void loop(Int lower, Int upper, Int step, llvm::function_ref<void(Int)> body);
  void loop(Int upper, llvm::function_ref<void(Int)> body) { loop(integer(0), upper, integer(1), body); }
  using Values = llvm::SmallVector<mlir::Value>;
  Values loop(Int lower, Int upper, Int step, mlir::ValueRange start, llvm::function_ref<Values(Int, mlir::ValueRange)> body);
  Values loop(Int upper, mlir::ValueRange start, llvm::function_ref<Values(Int, mlir::ValueRange)> body) {
    return loop(integer(0), upper, integer(1), start, body);
  }
  void when(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = {});
  Values choose(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

protected:
  /// From here on, code is inserted into 'block', and constants at its start.
  void enter(mlir::Block *block);

  mlir::ModuleOp module;

private:
  mlir::Block *first = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants; // of the current function
};
} // namespace logitile
