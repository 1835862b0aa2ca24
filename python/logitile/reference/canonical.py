"""A loss rewritten by the rules that are part of its meaning (docs/design/spec.md).

The compiler has the same rules in its pass `logitile-canonicalise-loss`. The reference holds them a
second time, so that it is independent of the compiler and can tell whether the compiler follows
them; a test compares what both make of the same losses.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..messages.locations import spec_error
from ..spec.loss_spec import LossSpec
from ..spec.operations import Op, reachable
from . import exponentials, integers
from .rewriting import Rewriting, Written


@functools.lru_cache(maxsize=64)
def canonical(spec: LossSpec) -> LossSpec:
    """The loss by the rules, without operations that no output needs.

    Raises:
        SpecError: products of exponentials are nested too deeply for Python.
    """
    rewriting = Rewriting(spec.vocab)
    values: list[Written] = []
    for op in spec.ops:
        rewriting.location = op.location
        try:
            values.append(_meaning(rewriting, op, [values[i] for i in op.operands]))
        except RecursionError:
            raise spec_error(
                f"the reference of '{spec.name}' nests more deeply than Python's recursion limit of "
                f"{sys.getrecursionlimit()}; write a product of hundreds of exponentials as one of their sum",
                op.location,
            ) from None
    outputs = [replace(output, value=values[output.value].index) for output in spec.outputs]
    ops, outputs = reachable(rewriting.ops, outputs)
    return replace(spec, ops=ops, outputs=outputs)


def _meaning(rewriting: Rewriting, op: Op, operands: Sequence[Written]) -> Written:
    """What an operation on operands that follow the rules already stands for."""
    if op.name == "logitile.reduce" and op.attribute in _EXTREMES:
        known = _EXTREMES[op.attribute](operands[0], op.attribute)
    else:
        known = _RULES[op.name](*operands) if op.name in _RULES else None
    return rewriting.copy(op, operands) if known is None else known


# ---- the operations that have rules --------------------------------------------------------------


def _power(a: Written, b: Written) -> Written | None:
    known = exponentials.exponential(a)
    # p ** 0 is 1, also for p = 0
    if known is None or (exponentials.is_constant(b) and b.op.attribute == 0):
        return None
    if exponentials.is_constant(b):
        return known.with_exponent(exponentials.product(b, known.exponent))
    # A run-time power of 0 must give 1 for p = 0, that is 0 * -inf = 0 in the exponent:
    # the power weighs.
    return known.with_exponent(a.trace.emit("logitile.multiply_no_nan", (b, known.exponent)))


def _root(power: float, x: Written) -> Written | None:
    known = exponentials.exponential(x)
    if known is None:
        return None
    return known.with_exponent(exponentials.product(x.trace.constant(power, "f32"), known.exponent))


def _select(condition: Written, a: Written, b: Written) -> Written | None:
    """An exponential that is NaN where a condition does not hold: so is its exponent."""
    for taken, other in ((a, b), (b, a)):
        if exponentials.is_constant(other) and other.op.attribute != other.op.attribute:
            return exponentials.selected(taken, functools.partial(_with_nan, condition, taken is a, other))
    return None


def _with_nan(condition: Written, is_first: bool, nan: Written, exponent: Written) -> Written:
    branches = (exponent, nan) if is_first else (nan, exponent)
    return exponent.trace.emit("arith.select", (condition, *branches))


def _pick(value: Written, index: Written) -> Written | None:
    if value.op.is_ranked:
        return None
    return _entry(value, integers.unwrapped(index))


def _entry(value: Written, index: Written) -> Written:
    known = exponentials.entry(value, lambda exponent: _entry(exponent, index))
    if known is not None:  # the exponent of the entry stays known
        return known
    return value.trace.emit("logitile.gather", (value, index), value.type, varying=False)


def _position(value: Written, combiner: str) -> Written:
    ordered = exponentials.ordered_like(value)
    return value.trace.emit("logitile.reduce", (ordered,), "i32", combiner, varying=False)


_EXTREMES: dict[object, Callable[[Written, str], Written | None]] = {
    "max": exponentials.least_or_largest,
    "min": exponentials.least_or_largest,
    "argmax": _position,
    "argmin": _position,
}
_RULES: dict[str, Callable[..., Written | None]] = {
    "arith.mulf": exponentials.product,
    "arith.divf": exponentials.quotient,
    "math.powf": _power,
    "math.log": functools.partial(exponentials.logarithm, "math.exp"),
    "math.log2": functools.partial(exponentials.logarithm, "math.exp2"),
    "math.sqrt": functools.partial(_root, 0.5),
    "math.rsqrt": functools.partial(_root, -0.5),
    "arith.select": _select,
    "logitile.gather": _pick,
    "arith.addi": functools.partial(integers.arithmetic, "arith.addi"),
    "arith.subi": functools.partial(integers.arithmetic, "arith.subi"),
    "arith.muli": functools.partial(integers.arithmetic, "arith.muli"),
}
