"""Indices that a loss computes in 32 bits: a sum or product that is too large for them must not come round to
an entry of the vocabulary.

Sums, differences and products of 32-bit numbers are right up to multiples of 2**32. Where such a multiple may
lie between the index and an entry, the same expression in floats tells them apart.
"""

from __future__ import annotations

from . import trace as tracing

_FLOATS = {"arith.addi": "arith.addf", "arith.subi": "arith.subf", "arith.muli": "arith.mulf"}
_LEAST, _MOST = -(2**31), 2**31 - 1


def unwrapped(index: tracing.Value) -> tracing.Value:
    """The index, limited to what 32 bits hold where its exact value might be more."""
    least, most = _bounds(index, {})
    if least + 2**32 >= index.trace.vocab and most < 2**32:
        return index
    emit, exact = index.trace.emit, _in_floats(index, {})
    for predicate, limit in (("oge", _MOST), ("ole", _LEAST)):
        beyond = emit("arith.cmpf", (exact, index.trace.constant(float(limit), "f32")), "i1", predicate)
        index = emit("arith.select", (beyond, index.trace.constant(limit, "i32"), index), "i32")
    return index


def _bounds(value: tracing.Value, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The least and the largest number that the expression has where nothing wraps."""
    if value.index not in known:
        known[value.index] = _new_bounds(value, known)
    return known[value.index]


def _new_bounds(value: tracing.Value, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    name = value.op.name
    if name == "arith.constant":
        return value.op.attribute, value.op.attribute
    if name not in _FLOATS:
        return _LEAST, _MOST
    (a, b), (c, d) = (_bounds(value.operand(i), known) for i in range(2))
    if name == "arith.addi":
        return a + c, b + d
    if name == "arith.subi":
        return a - d, b - c
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _in_floats(value: tracing.Value, known: dict[int, tracing.Value]) -> tracing.Value:
    """The same expression in floats."""
    if value.index not in known:
        name = _FLOATS.get(value.op.name)
        if name is None:
            known[value.index] = value.trace.emit("arith.sitofp", (value,))
        else:
            operands = tuple(_in_floats(value.operand(i), known) for i in range(2))
            known[value.index] = value.trace.emit(name, operands)
    return known[value.index]
