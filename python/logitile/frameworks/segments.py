"""Sums over sequences.
This module has NumPy's, also for arrays that are only read; torch and JAX have their own.

The sequence of each token is an array of ids in the shape of the tokens. A negative id is that of
no sequence. An id that is too large is an error; where numbers cannot be looked at, on a GPU or in
a program of JAX, it makes all sums NaN (-1 if they are integers).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .arrays import to_numpy
from .choice import described
from .jax.arrays import is_tracer
from .segment_checks import check_integers, check_lengths, check_range, check_shape

if TYPE_CHECKING:
    import numpy


class SegmentSums(Protocol):
    """What sums over sequences ask of a framework.
    `like` is one of its arrays, on the device of the call.
    """

    def ids(self, given: Any, are_lengths: bool, count: int, leading: Sequence[int], like: Any) -> Any:
        """The sequence of each token.

        Args:
            given: ids, or the lengths of consecutive sequences.
            count: the number of sequences.
            leading: the shape of the result.

        Raises:
            CallError: type, shape or numbers are not possible.
        """

    def without(self, ids: Any, target: Any, ignore_index: int) -> Any:
        """The ids, where tokens whose target is `ignore_index` are in no sequence."""

    def sums(self, values: Any, ids: Any, count: int) -> Any:
        """The sum of each sequence's values, [count]: of floats in float32, of all others in
        integers. It has the same bits from run to run. Its gradient is `spread`.
        """

    def spread(self, sums: Any, ids: Any) -> Any:
        """For each token the number of its sequence, 0 for a token of none."""

    def quotients(self, sums: Any, over: Any) -> Any:
        """sums / over in float32; 0 / 0 is NaN."""

    def where(self, condition: Any, sums: Any, other: float) -> Any:
        """Numbers of sequences where a condition holds, else the other one."""

    def numbers(self, item: Any, like: Any) -> Any:
        """A number or an array that a caller gave, in float32."""

    def repeated(self, number: Any, count: int) -> Any:
        """A number without an axis, [count] times."""

    def result(self, made: Any, like: Any) -> Any:
        """What came of sums, as an array of the framework of `like`."""


def segment_sums(like: Any) -> SegmentSums:
    """Those of the framework of an array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        from .torch.segments import TORCH_SUMS

        return TORCH_SUMS
    if is_tracer(like) or type(like).__module__.startswith("jax"):
        from .jax.segments import JAX_SUMS

        return JAX_SUMS
    return HOST_SUMS


class HostSums:
    """Of NumPy's arrays, and of arrays whose numbers are copied into such."""

    def ids(self, given: Any, are_lengths: bool, count: int, leading: Sequence[int], like: Any) -> Any:
        import numpy

        given = numpy.asarray(given) if isinstance(given, (list, tuple)) else _on_host(given)
        check_integers(given.dtype.kind in "iu" or not given.size, given.dtype, are_lengths)
        if not are_lengths:
            check_shape(given.shape, leading)
            check_range(given, count)
            return given.astype(numpy.int64)
        check_lengths(given, leading)
        return numpy.repeat(numpy.arange(count), given.astype(numpy.int64)).reshape(leading)

    def without(self, ids: Any, target: Any, ignore_index: int) -> Any:
        import numpy

        ignored = _on_host(target) == ignore_index
        return numpy.where(ignored.all(-1) if ignored.ndim > ids.ndim else ignored, -1, ids)

    def sums(self, values: Any, ids: Any, count: int) -> Any:
        import numpy

        inside = ids >= 0
        kept, values = ids[inside], _on_host(values)[inside]
        if values.dtype.kind == "f":
            return numpy.bincount(kept, values, count).astype(numpy.float32)  # it adds in float64
        total = numpy.zeros(count, numpy.int64)
        numpy.add.at(total, kept, values.astype(numpy.int64))
        return total

    def spread(self, sums: Any, ids: Any) -> Any:
        import numpy

        return numpy.append(sums, numpy.zeros(1, sums.dtype))[ids.clip(-1)]  # -1 is the last one

    def quotients(self, sums: Any, over: Any) -> Any:
        import numpy

        with numpy.errstate(all="ignore"):
            return numpy.asarray(sums, numpy.float32) / numpy.asarray(over, numpy.float32)

    def where(self, condition: Any, sums: Any, other: float) -> Any:
        import numpy

        return numpy.where(condition, sums, other)

    def numbers(self, item: Any, like: Any) -> Any:
        return _on_host(item).astype("float32")

    def repeated(self, number: Any, count: int) -> Any:
        import numpy

        return numpy.broadcast_to(number, (count,))

    def result(self, made: Any, like: Any) -> Any:
        array = described(like, "result")
        return array.framework.to_framework(array, made)


HOST_SUMS = HostSums()


def _on_host(item: Any) -> numpy.ndarray:
    return to_numpy(described(item, "segments"), "segments")
