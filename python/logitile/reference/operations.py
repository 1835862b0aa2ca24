"""The scalar operations in float64: the value of each, and its derivative.

The formulas are the reference's own. The compiler is compared with them, so they are not made from
its table; a test checks that every operation of the table has its rules here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from . import philox
from .adjoint import Adjoint

Rule = Callable[..., Adjoint]


@dataclass(frozen=True, eq=False)
class Operation:
    """The meaning of one operation.

    Args:
        value: from the operands, NumPy arrays, to the result.
        flows: (adjoint, result, *operands) -> adjoint of the operand, a rule for each operand; none
            where no gradient flows through the operation.
    """

    value: Callable[..., np.ndarray]
    flows: tuple[Rule, ...] = ()


# ---- values --------------------------------------------------------------------------------------


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), accurate on both sides."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def multiply_no_nan(weight: np.ndarray, value: np.ndarray) -> np.ndarray:
    """weight * value, and 0 where the weight is 0."""
    return np.where(weight == 0, 0.0, weight * value)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, which NumPy does not have."""
    return np.vectorize(math.erf, otypes=[np.float64])(x)


# ---- what flows back -----------------------------------------------------------------------------


def _power_of_base(a: Adjoint, y: np.ndarray, x: np.ndarray, p: np.ndarray) -> Adjoint:
    return a.times(p * np.power(x, p - 1)).where(p != 0)


def _power_of_exponent(a: Adjoint, y: np.ndarray, x: np.ndarray, p: np.ndarray) -> Adjoint:
    return a.times(y * np.log(x)).where(~((x == 0) & (p >= 0)))


def _weight(a: Adjoint, y: np.ndarray, w: np.ndarray, x: np.ndarray) -> Adjoint:
    """A weight of 0 hides an infinite value from the weight itself as well."""
    return a.times(x).where(~((w == 0) & ~np.isfinite(x)))


def _larger(a: Adjoint, y: np.ndarray, x: np.ndarray, other: np.ndarray) -> Adjoint:
    return a.times(np.where(x == other, 0.5, 1.0)).where(~(x < other))


def _smaller(a: Adjoint, y: np.ndarray, x: np.ndarray, other: np.ndarray) -> Adjoint:
    return a.times(np.where(x == other, 0.5, 1.0)).where(~(x > other))


def _no_flow(*_: object) -> Adjoint:
    raise AssertionError("conditions are bools, which have no adjoint")


def _derivative_of_tanh(x: np.ndarray) -> np.ndarray:
    """4 exp(-2|x|) / (1 + exp(-2|x|))**2: 1 - tanh(x)**2 would cancel."""
    small = np.exp(-2 * np.abs(x))
    return 4 * small / np.square(1 + small)

OPERATIONS: Mapping[str, Operation] = {
    "arith.addf": Operation(np.add, (lambda a, y, *_: a, lambda a, y, *_: a)),
    "arith.subf": Operation(np.subtract, (lambda a, y, *_: a, lambda a, y, *_: a.times(-1.0))),
    "arith.negf": Operation(np.negative, (lambda a, y, x: a.times(-1.0),)),
    "arith.mulf": Operation(
        np.multiply, (lambda a, y, left, right: a.times(right), lambda a, y, left, right: a.times(left))
    ),
    "arith.divf": Operation(
        np.divide, (lambda a, y, x, d: a.times(1 / d), lambda a, y, x, d: a.times(-y / d))
    ),
    "arith.maximumf": Operation(np.maximum, (_larger, lambda a, y, x, other: _larger(a, y, other, x))),
    "arith.minimumf": Operation(np.minimum, (_smaller, lambda a, y, x, other: _smaller(a, y, other, x))),
    "arith.select": Operation(
        np.where, (_no_flow, lambda a, y, c, *_: a.where(c), lambda a, y, c, *_: a.where(~c))
    ),
    "logitile.multiply_no_nan": Operation(multiply_no_nan, (_weight, lambda a, y, w, x: a.weighed(w))),
    "logitile.sigmoid": Operation(  # y * (1 - y) would cancel
        sigmoid, (lambda a, y, x: a.weighed(sigmoid(x) * sigmoid(-x)),)
    ),
    "logitile.softplus": Operation(
        lambda x: np.logaddexp(0, x), (lambda a, y, x: a.weighed(sigmoid(x)),)
    ),
    "logitile.stop_gradient": Operation(lambda x: x),
    "logitile.uniform": Operation(philox.uniform),
    "math.absf": Operation(np.abs, (lambda a, y, x: a.times(np.sign(x)).where(abs(x) > 0),)),
    "math.floor": Operation(np.floor),
    "math.exp": Operation(np.exp, (lambda a, y, x: a.weighed(y),)),
    "math.exp2": Operation(np.exp2, (lambda a, y, x: a.weighed(y * math.log(2)),)),
    "math.log": Operation(np.log, (lambda a, y, x: a.times(1 / x),)),
    "math.log2": Operation(np.log2, (lambda a, y, x: a.times(1 / (x * math.log(2))),)),
    "math.log1p": Operation(np.log1p, (lambda a, y, x: a.times(1 / (1 + x)),)),
    "math.expm1": Operation(np.expm1, (lambda a, y, x: a.weighed(np.exp(x)),)),
    "math.tanh": Operation(np.tanh, (lambda a, y, x: a.times(_derivative_of_tanh(x)),)),
    "math.erf": Operation(erf, (lambda a, y, x: a.weighed(2 / math.sqrt(math.pi) * np.exp(-np.square(x))),)),
    "math.sin": Operation(np.sin, (lambda a, y, x: a.times(np.cos(x)),)),
    "math.cos": Operation(np.cos, (lambda a, y, x: a.times(-np.sin(x)),)),
    "math.sqrt": Operation(np.sqrt, (lambda a, y, x: a.times(0.5 / y),)),
    "math.rsqrt": Operation(lambda x: 1 / np.sqrt(x), (lambda a, y, x: a.times(-0.5 * y**3),)),
    "math.powf": Operation(np.power, (_power_of_base, _power_of_exponent)),
    "math.clampf": Operation(
        lambda x, low, high: np.minimum(np.maximum(x, low), high),
        (
            lambda a, y, x, low, high: a.where((x >= low) & (x <= high)),
            lambda a, y, x, low, high: a.where((x < low) & (low < high)),
            lambda a, y, x, low, high: a.where((x > high) | (high < low)),
        ),
    ),
    "math.isfinite": Operation(np.isfinite),
    "math.isnan": Operation(np.isnan),
    "math.absi": Operation(np.abs),
    "arith.addi": Operation(np.add),
    "arith.subi": Operation(np.subtract),
    "arith.muli": Operation(np.multiply),
    "arith.maxsi": Operation(np.maximum),
    "arith.minsi": Operation(np.minimum),
    "arith.andi": Operation(np.logical_and),
    "arith.ori": Operation(np.logical_or),
    "arith.xori": Operation(np.logical_xor),
    "arith.sitofp": Operation(lambda x: x.astype(np.float64)),
    "arith.uitofp": Operation(lambda x: x.astype(np.float64)),
}
