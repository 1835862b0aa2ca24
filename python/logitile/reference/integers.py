"""Integers that a loss computes. They have 32 bits. A result that does not fit saturates: it
becomes the nearest number that fits. So no result wraps around to a small number, which might be an
entry of the vocabulary.

Machines compute modulo 2**32. Where the operands may be large enough for that to matter,
comparisons find out and choose; elsewhere nothing is added.
"""

from __future__ import annotations

from .rewriting import Written

_FLOATS = {"arith.addi": "arith.addf", "arith.subi": "arith.subf", "arith.muli": "arith.mulf"}
_LEAST, _MOST = -(2**31), 2**31 - 1
_ALL = (_LEAST, _MOST)
_SLACK = 512.0  # a product of float32 near 2**31 errs by less
_REACH = 8  # operations that are examined for the bounds of a value

Bounds = tuple[int, int]


def arithmetic(name: str, a: Written, b: Written) -> Written:
    """A sum, difference or product of integers, which saturates.

    Args:
        name: "arith.addi", "arith.subi" or "arith.muli".
    """
    trace = a.trace
    wrapped = trace.emit(name, (a, b))
    least, most = _result(name, _limits(a), _limits(b))
    value = wrapped
    for limit, is_needed, sign in ((_MOST, most > _MOST, 1), (_LEAST, least < _LEAST, -1)):
        if is_needed:
            beyond = _BEYOND[name](wrapped, a, b, sign)
            value = trace.emit("arith.select", (beyond, trace.constant(limit, "i32"), value))
    trace.limits[value.index] = (max(least, _LEAST), min(most, _MOST))
    trace.wrapped[value.index] = wrapped.index
    return value


def unwrapped(index: Written) -> Written:
    """The index of a pick, limited to what 32 bits hold where its exact value might be more.

    A step that saturates does not help: a difference may bring it back among the entries. So the
    whole expression is computed modulo 2**32, where no step loses anything. That is right unless a
    multiple of 2**32 may lie between the exact index and an entry, which the same expression in
    floats tells.
    """
    index = _modular(index, {})
    least, most = _bounds(index, {})
    if least + 2**32 >= index.trace.vocab and most < 2**32:
        return index
    emit, exact = index.trace.emit, _in_floats(index, {})
    for predicate, limit in (("oge", _MOST), ("ole", _LEAST)):
        beyond = emit("arith.cmpf", (exact, index.trace.constant(float(limit), "f32")), attribute=predicate)
        index = emit("arith.select", (beyond, index.trace.constant(limit, "i32"), index))
    return index


# ---- bounds --------------------------------------------------------------------------------------


def _limits(value: Written, reach: int = _REACH) -> Bounds:
    """The least and the largest number that a value may be."""
    op, trace = value.op, value.trace
    if value.index in trace.limits:
        return trace.limits[value.index]
    if op.name == "arith.constant":
        return op.attribute, op.attribute
    if op.name == "logitile.column" or (
        op.name == "logitile.reduce" and op.attribute in ("argmax", "argmin")
    ):
        return 0, trace.vocab - 1
    if op.name == "logitile.reduce" and op.attribute == "count":
        return 0, trace.vocab
    if op.name not in ("arith.select", "arith.minsi", "arith.maxsi") or reach == 0:
        return _ALL
    (a, b), (c, d) = (_limits(value.operand(len(op.operands) - i), reach - 1) for i in (2, 1))
    join = {"arith.select": (min, max), "arith.minsi": (min, min), "arith.maxsi": (max, max)}[op.name]
    return join[0](a, c), join[1](b, d)


def _result(name: str, first: Bounds, second: Bounds) -> Bounds:
    """The bounds of an exact result."""
    (a, b), (c, d) = first, second
    if name == "arith.addi":
        return a + c, b + d
    if name == "arith.subi":
        return a - d, b - c
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _bounds(value: Written, known: dict[int, Bounds]) -> Bounds:
    """The least and the largest number that an expression of `_modular` has."""
    if value.index not in known:
        name = value.op.name
        if name in _FLOATS:
            known[value.index] = _result(name, *(_bounds(value.operand(i), known) for i in range(2)))
        else:
            known[value.index] = _limits(value)
    return known[value.index]


def _modular(value: Written, known: dict[int, Written]) -> Written:
    """The sums, differences and products of which a value consists; none of them saturates."""
    trace = value.trace
    if value.index not in trace.wrapped:
        return value
    if value.index not in known:
        written = trace.value(trace.wrapped[value.index])
        operands = tuple(_modular(written.operand(i), known) for i in range(2))
        known[value.index] = trace.emit(written.op.name, operands)
    return known[value.index]


def _in_floats(value: Written, known: dict[int, Written]) -> Written:
    """An expression of `_modular` in floats."""
    if value.index not in known:
        name = _FLOATS.get(value.op.name)
        if name is None:
            known[value.index] = value.trace.emit("arith.sitofp", (value,))
        else:
            operands = tuple(_in_floats(value.operand(i), known) for i in range(2))
            known[value.index] = value.trace.emit(name, operands)
    return known[value.index]


# ---- whether the exact result lies beyond what 32 bits hold --------------------------------------
# 'sign' is 1 for results that are too large and -1 for those that are too small.


def _sum_beyond(wrapped: Written, a: Written, b: Written, sign: int) -> Written:
    """A number was added that should move the sum that way, and it moved the other way."""
    return _moved_back(wrapped, *((b, a) if _has_sign(a, sign) else (a, b)), sign, sign)


def _difference_beyond(
    wrapped: Written, a: Written, b: Written, sign: int
) -> Written:
    return _moved_back(wrapped, a, b, sign, -sign)


def _moved_back(
    wrapped: Written, start: Written, by: Written, sign: int, sign_of_by: int
) -> Written:
    back = _compare(wrapped, start, "slt" if sign > 0 else "sgt")
    if _has_sign(by, sign_of_by):
        return back
    zero = wrapped.trace.constant(0, "i32")
    return _both(back, _compare(by, zero, "sgt" if sign_of_by > 0 else "slt"))


def _has_sign(value: Written, sign: int) -> bool:
    """Whether it is never of the other sign."""
    least, most = _limits(value)
    return least >= 0 if sign > 0 else most <= 0


def _product_beyond(wrapped: Written, a: Written, b: Written, sign: int) -> Written:
    if a.op.name == "arith.constant":
        a, b = b, a
    if b.op.name != "arith.constant":
        return _estimate_beyond(wrapped, a, b, sign)
    factor = b.op.attribute  # never 0 here
    quotient = (_MOST if sign > 0 else -_LEAST) // abs(factor)
    side = sign if factor > 0 else -sign
    limit = a.trace.constant(side * quotient, "i32")
    return _compare(a, limit, "sgt" if side > 0 else "slt")


def _estimate_beyond(wrapped: Written, a: Written, b: Written, sign: int) -> Written:
    """By the product in float32. Where that is too near to the limit,
    a product that came round has the other sign.
    """
    emit, constant = wrapped.trace.emit, wrapped.trace.constant
    estimate = emit("arith.mulf", (emit("arith.sitofp", (a,)), emit("arith.sitofp", (b,))))

    def reaches(limit: float) -> Written:
        return emit(
            "arith.cmpf", (estimate, constant(sign * limit, "f32")), attribute="oge" if sign > 0 else "ole"
        )

    came_round = _compare(wrapped, constant(0, "i32"), "slt" if sign > 0 else "sge")
    near = _both(reaches(2.0**31 - _SLACK), came_round)
    return emit("arith.ori", (reaches(2.0**31 + _SLACK), near))


def _compare(a: Written, b: Written, predicate: str) -> Written:
    return a.trace.emit("arith.cmpi", (a, b), attribute=predicate)


def _both(a: Written, b: Written) -> Written:
    return a.trace.emit("arith.andi", (a, b))


_BEYOND = {"arith.addi": _sum_beyond, "arith.subi": _difference_beyond, "arith.muli": _product_beyond}
