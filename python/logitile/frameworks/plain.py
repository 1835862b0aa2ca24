"""Stand-ins for arrays: Python numbers, and shapes without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError
from .arrays import Array, Framework
from .dtypes import dtype_name
from .stand_ins import ShapeDtype

if TYPE_CHECKING:
    import numpy


class Number(Framework):
    """Python numbers: arrays without axes."""

    name = "number"
    is_number = True

    def describe(self, item: float, name: str) -> Array:
        """What a call needs to know of a number.

        Raises:
            CallTypeError: it is too large for a float64.
        """
        if isinstance(item, int) and -(2**63) <= item < 2**63:
            return Array(int(item), self, (), "int64", None)
        try:
            return Array(float(item), self, (), "float64", None)
        except OverflowError:
            raise CallTypeError(
                f"'{name}' is an int of {item.bit_length()} bits, which no float64 holds"
            ) from None

    def view(self, array: Array, name: str) -> Any:
        return (name, array.source)

    def numbers(self, array: Array) -> numpy.ndarray:
        import numpy

        return numpy.asarray(array.source)


class Shape(Framework):
    """lt.ShapeDtype: calls that need no numbers take it."""

    name = "shape"
    is_writable = True

    def describe(self, item: ShapeDtype) -> Array:
        """What a call needs to know of a shape."""
        return Array(item, self, item.shape, dtype_name(item.dtype), None)


NUMBER = Number()
SHAPE = Shape()
