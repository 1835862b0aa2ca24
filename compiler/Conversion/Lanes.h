// Lanes.h - operators on scalars or vectors that are being built, so that a formula reads like one.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <concepts>

namespace logitile {
/// A value in every lane: floats, integers or truths.
class Lanes {
public:
  Lanes(mlir::ImplicitLocOpBuilder &b, mlir::Value value) : b(&b), value(value) {}
  operator mlir::Value() const { return value; }
  mlir::ImplicitLocOpBuilder &builder() const { return *b; }

  /// The same number in every lane.
  Lanes like(double number) const { return spread(b->getFloatAttr(element(), number)); }
  Lanes like(std::integral auto number) const { return spread(b->getIntegerAttr(element(), number)); }
  /// The type 'element', with as many lanes as 'type' has.
  static mlir::Type retype(mlir::Type type, mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  mlir::Type with(mlir::Type element) const { return retype(value.getType(), element); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }

  Lanes bits() const { return {*b, mlir::arith::BitcastOp::create(*b, with(b->getIntegerType(width())), value)}; }
  Lanes asFloat() const {
    return {*b, mlir::arith::BitcastOp::create(*b, with(width() == 32 ? b->getF32Type() : mlir::Type(b->getF64Type())), value)};
  }
  Lanes magnitude() const { return {*b, mlir::math::AbsFOp::create(*b, value)}; }
  Lanes withSignOf(Lanes other) const { return {*b, mlir::math::CopySignOp::create(*b, value, other)}; }
  /// This value in lanes where 'condition' holds, 'other' in the others.
  Lanes where(Lanes condition, Lanes other) const { return {*b, mlir::arith::SelectOp::create(*b, condition, value, other)}; }

  friend Lanes operator+(Lanes x, Lanes y) { return x.two<mlir::arith::AddFOp, mlir::arith::AddIOp>(y); }
  friend Lanes operator-(Lanes x, Lanes y) { return x.two<mlir::arith::SubFOp, mlir::arith::SubIOp>(y); }
  friend Lanes operator*(Lanes x, Lanes y) { return x.two<mlir::arith::MulFOp, mlir::arith::MulIOp>(y); }
  friend Lanes operator/(Lanes x, Lanes y) { return {*x.b, mlir::arith::DivFOp::create(*x.b, x, y)}; }
  friend Lanes operator&(Lanes x, Lanes y) { return {*x.b, mlir::arith::AndIOp::create(*x.b, x, y)}; }
  friend Lanes operator|(Lanes x, Lanes y) { return {*x.b, mlir::arith::OrIOp::create(*x.b, x, y)}; }
  friend Lanes operator^(Lanes x, Lanes y) { return {*x.b, mlir::arith::XOrIOp::create(*x.b, x, y)}; }
  friend Lanes operator-(Lanes x) { return {*x.b, mlir::arith::NegFOp::create(*x.b, x)}; }
  friend Lanes operator+(Lanes x, auto y) { return x + x.like(y); }
  friend Lanes operator-(Lanes x, auto y) { return x - x.like(y); }
  friend Lanes operator*(Lanes x, auto y) { return x * x.like(y); }
  Lanes left(int64_t by) const { return {*b, mlir::arith::ShLIOp::create(*b, value, like(by))}; }
  Lanes right(int64_t by) const { return {*b, mlir::arith::ShRUIOp::create(*b, value, like(by))}; }
  Lanes rightSigned(int64_t by) const { return {*b, mlir::arith::ShRSIOp::create(*b, value, like(by))}; }
  /// Comparisons: false where one is NaN.
  friend Lanes operator<(Lanes x, Lanes y) { return x.compare(mlir::arith::CmpFPredicate::OLT, y); }
  friend Lanes operator==(Lanes x, Lanes y) { return x.compare(mlir::arith::CmpFPredicate::OEQ, y); }
  friend Lanes operator!=(Lanes x, Lanes y) { return x.compare(mlir::arith::CmpFPredicate::ONE, y); }
  friend Lanes operator<(Lanes x, double y) { return x < x.like(y); }
  friend Lanes operator>(Lanes x, double y) { return x.like(y) < x; }
  friend Lanes operator==(Lanes x, double y) { return x == x.like(y); }
  Lanes isNan() const { return compare(mlir::arith::CmpFPredicate::UNO, *this); }

private:
  mlir::Type element() const { return mlir::getElementTypeOrSelf(value.getType()); }
  unsigned width() const { return element().getIntOrFloatBitWidth(); }
  Lanes spread(mlir::TypedAttr number) const {
    auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType());
    mlir::TypedAttr all = vector ? mlir::TypedAttr(mlir::DenseElementsAttr::get(vector, mlir::Attribute(number))) : number;
    return {*b, mlir::arith::ConstantOp::create(*b, all)};
  }
  template <typename FloatOp, typename IntOp> Lanes two(Lanes other) const {
    return isFloat() ? Lanes(*b, FloatOp::create(*b, value, other)) : Lanes(*b, IntOp::create(*b, value, other));
  }
  Lanes compare(mlir::arith::CmpFPredicate predicate, Lanes other) const {
    return {*b, mlir::arith::CmpFOp::create(*b, predicate, value, other)};
  }

  mlir::ImplicitLocOpBuilder *b;
  mlir::Value value;
};
} // namespace logitile
