"""The float32 buffers to which a call adds weight gradients: checks which arrays may be one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from ..messages.names import did_you_mean, listed, shape_text
from .call import Pair

_MOST_WORK = 10**6  # of the search for an element that two arrays have in common


def checked_buffers(item: object, pairs: tuple[Pair, ...]) -> dict[str, Array]:
    """The weight_grad_out of a call: an array for one pair, or a dictionary by pair.

    Raises:
        CallTypeError: it names no pair, or is no array that can be written.
        CallValueError: a buffer does not fit its weight, or gradients cannot be added into it.
    """
    if item is None:
        return {}
    if not isinstance(item, Mapping):
        if len(pairs) > 1:
            raise CallTypeError(
                "'weight_grad_out' must say whose buffer it is: a dictionary by "
                f"{listed(p.name for p in pairs)}"
            )
        item = {pairs[0].name: item}
    known = {pair.name: pair for pair in pairs}
    buffers = {}
    for name, buffer in item.items():
        if name not in known:
            raise CallTypeError(
                f"'weight_grad_out' names '{name}', which is no pair of this call{did_you_mean(name, known)}"
            )
        buffers[name] = _buffer(buffer, known[name])
    return buffers


def _buffer(item: object, pair: Pair) -> Array:
    buffer = described(item, "weight_grad_out")
    if buffer.dtype != "float32" or buffer.shape != pair.weight.shape:
        raise CallValueError(
            f"'weight_grad_out' is {buffer}; it must be float32{shape_text(pair.weight.shape)}, like the "
            f"weight of '{pair.name}'"
        )
    if buffer.source is not item:
        raise CallValueError("'weight_grad_out' is a view with the other sign; give a separate buffer")
    if not buffer.framework.is_writable:
        raise CallTypeError("'weight_grad_out' must be an array of NumPy or torch: no other can be written")
    if buffer.strides is not None and _overlaps_itself(buffer.shape, buffer.strides):
        raise CallValueError(
            f"'weight_grad_out' has strides {buffer.strides}: entries that share memory cannot be added into"
        )
    if buffer.framework.is_read_only(buffer):
        raise CallValueError("'weight_grad_out' is read-only, but gradients are added into it")
    return buffer


def check_apart(buffers: Mapping[str, Array], arrays: Iterable[tuple[str, Array]]) -> None:
    """A call writes its buffers while it reads its inputs.

    Args:
        arrays: what the call reads, with their names.

    Raises:
        CallValueError: a buffer shares memory with one of them.
    """
    for name, array in arrays:
        if any(share_memory(buffer, array) for buffer in buffers.values()):
            raise CallValueError(
                f"'weight_grad_out' shares memory with '{name}', which the call reads while gradients are "
                "added into the buffer; give separate memory"
            )


def _overlaps_itself(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two entries of a matrix lie at the same place.

    Entries that are i rows and j columns apart do where i * rows = j * columns, and the least such
    i and j are the steps without their common divisor.
    """
    rows, columns = (abs(step) for step in strides)
    common = gcd(rows, columns)
    if common == 0:
        return shape[0] * shape[1] > 1
    return columns // common < shape[0] and rows // common < shape[1]


# ---- memory of two arrays ------------------------------------------------------------------------


def share_memory(a: Array, b: Array) -> bool:
    """Whether two arrays share an element. Views of a matrix may interleave without it."""
    import numpy

    first, second = a.framework.elements(a), b.framework.elements(b)
    if first is None or second is None:
        return False
    try:
        return numpy.shares_memory(first, second, max_work=_MOST_WORK)
    except RuntimeError:  # NumPy has given up
        return True
