// MathFunctions.h - elementary functions of f32, written in arithmetic. ExpandMath.cpp selects the
// function of an op.
#pragma once
#include "compiler/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace logitile {
/// Builds functions on one type: a float, or a vector of floats. Errors are stated in units in the
/// last place (ulp) of the exact result, for subnormal results too. Unit tests measure them. For
/// every function, a NaN gives a NaN, with any payload. Limits are exact, such as exp(-inf) = 0 and
/// log(0) = -inf.
class MathFunctions {
public:
  MathFunctions(mlir::ImplicitLocOpBuilder &b, mlir::Type type, const Target &target)
      : b(b), type(type), target(target), hasFma(target.facts().math.hasFma) {}

  // The elementary functions of the table, each with its error beside its definition.
#define LOGITILE_ELEMENTARY(Node, Op, Code, Facts, Slope) mlir::Value Code(mlir::Value x);
#define LOGITILE_SMOOTH(Node, Op, Facts, Slope)
#define LOGITILE_FLAT(Node, Op, Facts)
#include "compiler/Expression/ScalarOps.def"
  mlir::Value exp2(mlir::Value x);
  /// exp by the instruction for 2^x, which only some targets have. It takes fewer instructions, and
  /// is less exact.
  mlir::Value expByExp2(mlir::Value x);
  mlir::Value log2(mlir::Value x);
  mlir::Value pow(mlir::Value x, mlir::Value y);
  /// Exact roundings, for CPUs without an instruction for them.
  mlir::Value roundEven(mlir::Value x);
  mlir::Value floor(mlir::Value x);
  /// x * y + z. If the target has no such instruction, the sum is rounded to 53 bits before it is
  /// rounded to f32. The rounding error of a product, fma(x, y, -(x * y)), is exact in both cases.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);

private:
  struct Reduced {
    mlir::Value rest, power; // x = rest + power * log(2)
    mlir::Value bits;        // power as an i32
  };
  Reduced reduceByLog2(mlir::Value x);
  mlir::Value smallExpm1(mlir::Value rest); // of the rest that reduceByLog2 returns
  struct Split {
    mlir::Value fraction, exponent; // x = (1 + fraction) * 2^exponent, the fraction in [-1/3, 1/3]
    mlir::Value exponentBits;       // of splitNormal: the exponent as an i32, where f32 has its bits
  };
  Split splitNormal(mlir::Value x);
  Split split(mlir::Value x);
  mlir::Value logOfOnePlus(mlir::Value f);
  mlir::Value logOfSplit(mlir::Value fraction, mlir::Value exponent);
  mlir::Value fixLog(mlir::Value x, mlir::Value result);
  mlir::Value timesPowerOf2(mlir::Value x, mlir::Value power, mlir::Value bits);
  mlir::Value powerOf2(mlir::Value power);
  struct Angle {
    mlir::Value rest, quarter; // |x| = rest + quarter * pi / 2: an f64 and an i64, of which two bits count
  };
  Angle reduceByQuarterTurns(mlir::Value x);
  mlir::Value sineOf(mlir::Value rest, mlir::Value quarter);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  const Target &target;
  bool hasFma;
};
} // namespace logitile
