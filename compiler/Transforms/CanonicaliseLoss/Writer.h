// Writer.h - writes scalar ops of a loss, and reads the ops that it wrote. Exponentials.h and
// Integers.h use it.
#pragma once
#include "dialect/checks/Varying.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace logitile {
/// Every value of a loss is the result of an op with one result.
class Writer {
public:
  explicit Writer(LossOp loss) : b(loss.getLoc(), loss.getContext()), vocab(loss.getVocab()) {}
  /// From now on, ops are written before 'op' and get the location of 'op'. Every operand of 'op'
  /// has been written, or startAt was called for it.
  void startAt(mlir::Operation *op) {
    varying.add(*op);
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
  }

  template <typename Op, typename... Arguments> mlir::Value write(Arguments &&...arguments) {
    mlir::Operation *op = Op::create(b, std::forward<Arguments>(arguments)...);
    varying.add(*op);
    return op->getResult(0);
  }
  mlir::Value number(double value) { return write<mlir::arith::ConstantOp>(b.getF32FloatAttr(static_cast<float>(value))); }
  mlir::Value integer(int64_t value) { return write<mlir::arith::ConstantOp>(b.getI32IntegerAttr(static_cast<int32_t>(value))); }
  mlir::Value reduced(Combiner combiner, mlir::Value x) {
    return write<ReduceOp>(b.getF32Type(), combiner, /*verbatim=*/false, x, mlir::IntegerAttr());
  }
  /// The entry 'index' of x, as a gather: no rule is applied.
  mlir::Value picked(mlir::Value x, mlir::Value index) { return write<GatherOp>(x, index); }
  mlir::Type f32() { return b.getF32Type(); }

  /// Whether a value of the loss differs along the vocabulary.
  bool isVarying(mlir::Value x) const { return varying.isVarying(x); }

  static mlir::Operation *opOf(mlir::Value x) { return x.getDefiningOp(); }
  static mlir::Value operand(mlir::Value x, unsigned i) { return opOf(x)->getOperand(i); }
  template <typename... Ops> static bool is(mlir::Value x) { return llvm::isa<Ops...>(opOf(x)); }
  static bool isConstant(mlir::Value x) { return is<mlir::arith::ConstantOp>(x); }
  static std::optional<double> floatOf(mlir::Value x) {
    auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(opOf(x));
    auto number = constant ? llvm::dyn_cast<mlir::FloatAttr>(constant.getValue()) : mlir::FloatAttr();
    return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
  }
  static std::optional<int64_t> integerOf(mlir::Value x) {
    auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(opOf(x));
    auto number = constant ? llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
    return number ? std::optional(number.getInt()) : std::nullopt;
  }
  static std::optional<Combiner> combinerOf(mlir::Value x) {
    auto reduce = llvm::dyn_cast<ReduceOp>(opOf(x));
    return reduce ? std::optional(reduce.getCombiner()) : std::nullopt;
  }

private:
  mlir::ImplicitLocOpBuilder b;
  Varying varying;

public:
  const int64_t vocab;
};
} // namespace logitile
