"""Rewrites exponentials: masked entries (-inf logits) must have a weight of exactly 0, and known
exponents must be kept. These rules are part of the meaning of a loss.

A *weight* is an exponential or what products, quotients, powers, roots and negations make of it. A
product with a weight of 0 is 0, even if the other factor is infinite (`logitile.multiply_no_nan`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .rewriting import Written

_ALWAYS = ("math.exp", "math.exp2", "logitile.sigmoid")
_IF_FIRST_OPERAND = (
    "arith.negf",
    "math.sqrt",
    "math.powf",
    "arith.divf",
    "logitile.gather",
    "logitile.stop_gradient",
)


def is_weight(value: Written) -> bool:
    """Whether a value of 0 means "this entry does not count"."""
    trace, known = value.trace, value.trace.weights
    while len(known) <= value.index:  # operands first
        known.append(_is_weight(trace.value(len(known))))
    return known[value.index]


def _is_weight(value: Written) -> bool:
    name = value.op.name
    if name in _ALWAYS:
        return True
    if name in _IF_FIRST_OPERAND or (name == "logitile.reduce" and value.op.attribute in ("max", "min")):
        return is_weight(value.operand(0))
    if name == "logitile.multiply_no_nan":
        return is_weight(value.operand(0)) and is_weight(value.operand(1))
    if name == "arith.mulf":
        scaled = _scaled(value)
        return scaled is not None and is_weight(scaled[1])
    if name == "arith.select":  # an indicator times a weight
        branches = [value.operand(1), value.operand(2)]
        return all(is_weight(b) or is_constant(b) for b in branches) and any(is_weight(b) for b in branches)
    return False


def is_constant(value: Written) -> bool:
    return value.op.name == "arith.constant"


def _scaled(value: Written) -> tuple[Written, Written] | None:
    """(constant, x) of constant * x, the only product that the rules leave of a weight."""
    for first, second in ((0, 1), (1, 0)):
        if is_constant(value.operand(first)):
            return value.operand(first), value.operand(second)
    return None


def _positively_scaled(value: Written) -> tuple[Written, Written] | None:
    """The same where the constant is above 0."""
    scaled = _scaled(value) if value.op.name == "arith.mulf" else None
    return scaled if scaled and scaled[0].op.attribute > 0 else None


@dataclass(frozen=True, eq=False)
class Exponential:
    """A value that is known to be base ** exponent; 'name' is the operation,
    "math.exp" or "math.exp2".
    """

    name: str
    exponent: Written

    def with_exponent(self, exponent: Written) -> Written:
        """The same base with another exponent."""
        return exponent.trace.emit(self.name, (exponent,))

    def logarithm(self, name: str) -> Written:
        """The logarithm of the value to the base of the operation 'name'."""
        if name == self.name:
            return self.exponent
        factor = math.log(2) if name == "math.exp" else 1 / math.log(2)
        return _times(self.exponent, self.exponent.trace.constant(factor, "f32"))


def exponential(value: Written) -> Exponential | None:
    """How a value is an exponential, if it is:
    products and positive multiples of exponentials are, too.
    """
    known = value.trace.exponentials
    if value.index not in known:
        known[value.index] = _exponential(value)
    return known[value.index]


def _exponential(value: Written) -> Exponential | None:
    name = value.op.name
    if name in ("math.exp", "math.exp2"):
        return Exponential(name, value.operand(0))
    if name == "logitile.multiply_no_nan":
        first, second = exponential(value.operand(0)), exponential(value.operand(1))
        if first is None or second is None:
            return None
        base = first.name if first.name == second.name else "math.exp"
        return Exponential(base, _plus(first.logarithm(base), second.logarithm(base)))
    if name == "logitile.reduce" and value.op.attribute in ("max", "min"):
        inside = exponential(value.operand(0))
        return inside and Exponential(inside.name, reduced(value.op.attribute, inside.exponent))
    scaled = _positively_scaled(value)
    inner = exponential(scaled[1]) if scaled else None
    if scaled is None or inner is None:
        return None
    factor = scaled[0].op.attribute
    log = math.log(factor) if inner.name == "math.exp" else math.log2(factor)
    return Exponential(inner.name, _plus(inner.exponent, value.trace.constant(log, "f32")))


def logarithm(base: str, value: Written) -> Written | None:
    """The logarithm to the base of the operation 'base' where none of a rounded
    exponential is needed.

    That is so for exponentials and for sums of them over the vocabulary; None for other values.
    """
    known = exponential(value)
    if known is not None:
        return known.logarithm(base)
    if value.op.name != "logitile.reduce" or value.op.attribute != "sum":
        return None
    inside = exponential(value.operand(0))
    if inside is None:
        return None
    return Exponential("math.exp", reduced("logsumexp", inside.logarithm("math.exp"))).logarithm(base)


def reduced(combiner: str, exponent: Written) -> Written:
    """The reduction of an exponent over the vocabulary."""
    return exponent.trace.emit("logitile.reduce", (exponent,), "f32", combiner, varying=False)


# ---- entries -------------------------------------------------------------------------------------


def entry(value: Written, of: Callable[[Written], Written]) -> Written | None:
    """An entry of an exponential; None for other values.

    It is made by the operations that make the value, so that it has the bits of the value there.

    Args:
        of: the entry of an exponent.
    """
    return _Exponents(of, keeps_uniform=True).applied(value)


def selected(value: Written, of: Callable[[Written], Written]) -> Written | None:
    """An exponential of which a condition makes something else; None for other values.

    Args:
        of: what the condition makes of an exponent.
    """
    return _Exponents(of, keeps_uniform=False).applied(value)


@dataclass(eq=False)
class _Exponents:
    """Does to the exponents of an exponential what is asked for.

    Args:
        of: what to do to one exponent.
        keeps_uniform: whether a value that is one per token stays as it is.
    """

    of: Callable[[Written], Written]
    keeps_uniform: bool
    known: dict[int, Written | None] = field(default_factory=dict)

    def applied(self, value: Written) -> Written | None:
        """Once for each value: after forty squarings a factor is there 2**40 times."""
        if value.index not in self.known:
            self.known[value.index] = self._applied(value)
        return self.known[value.index]

    def _applied(self, value: Written) -> Written | None:
        name = value.op.name
        if self.keeps_uniform and not value.varying:
            return value
        if name in ("math.exp", "math.exp2"):
            return value.trace.emit(name, (self.of(value.operand(0)),))
        if name == "logitile.multiply_no_nan" and exponential(value) is not None:
            first, second = (self.applied(value.operand(i)) for i in range(2))
            return None if first is None or second is None else _weigh(first, second)
        scaled = _positively_scaled(value)
        inner = self.applied(scaled[1]) if scaled else None
        return None if scaled is None or inner is None else _times(scaled[0], inner)


def least_or_largest(value: Written, combiner: str) -> Written | None:
    """The min or max of an exponential: its entry where the exponent has its own.

    None for other values, and for products,
    of which another entry may be the largest once they are rounded.
    """
    if value.op.name in ("math.exp", "math.exp2"):
        return value.trace.emit(value.op.name, (reduced(combiner, value.operand(0)),))
    scaled = _positively_scaled(value)
    inner = least_or_largest(scaled[1], combiner) if scaled else None
    return None if scaled is None or inner is None else _times(scaled[0], inner)


def ordered_like(value: Written) -> Written:
    """Outputs by name. No gradient is made early, and the outputs per token are kept."""
    if value.op.name in ("math.exp", "math.exp2"):
        return value.operand(0)
    scaled = _positively_scaled(value)
    return value if scaled is None else ordered_like(scaled[1])


# ---- products ------------------------------------------------------------------------------------


def product(a: Written, b: Written) -> Written:
    """a * b of floats; weights come first, so that one of 0 wins over every other factor."""
    if is_constant(a) or is_constant(b):
        return _times(a, b)
    (weight_a, rest_a), (weight_b, rest_b) = _split(a), _split(b)
    weight = _joined(weight_a, weight_b, _weigh)
    if weight is None:
        return _times(a, b)
    rest = _joined(rest_a, rest_b, product)
    return weight if rest is None else _weigh(weight, rest)


def quotient(a: Written, b: Written) -> Written:
    """a / b of floats; dividing by an exponential is multiplying by another one."""
    known = exponential(b)
    if known is None:
        return a.trace.emit("arith.divf", (a, b))
    reciprocal = known.with_exponent(_negated(known.exponent))
    # 1 / 0 is no weight that could lose: where both are masked, the numerator decides.
    return _weigh(a, reciprocal) if is_weight(a) else product(reciprocal, a)


def _split(value: Written) -> tuple[Written | None, Written | None]:
    """(weight, rest) with value = weight * rest; None stands for 1."""
    name = value.op.name
    if is_weight(value):
        return value, None
    if name == "logitile.multiply_no_nan":
        return value.operand(0), value.operand(1)
    if name == "arith.negf":
        weight, rest = _split(value.operand(0))
        return (None, value) if weight is None or rest is None else (weight, _negated(rest))
    if name == "arith.divf":
        weight, rest = _split(value.operand(0))
        return (None, value) if weight is None or rest is None else (weight, quotient(rest, value.operand(1)))
    if name == "arith.mulf":
        scaled = _scaled(value)
        weight, rest = (None, None) if scaled is None else _split(scaled[1])
        return (None, value) if weight is None or rest is None else (weight, product(scaled[0], rest))
    return None, value


def _joined(a: Written | None, b: Written | None, join) -> Written | None:
    if a is None or b is None:
        return a if b is None else b
    return join(a, b)


def _weigh(weight: Written, value: Written) -> Written:
    return weight.trace.emit("logitile.multiply_no_nan", (weight, value))


def _times(a: Written, b: Written) -> Written:
    return a.trace.emit("arith.mulf", (a, b))


def _plus(a: Written, b: Written) -> Written:
    return a.trace.emit("arith.addf", (a, b))


def _negated(value: Written) -> Written:
    return value.trace.emit("arith.negf", (value,))
