"""Arrays of NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError, CallValueError
from .arrays import Array, Framework
from .dtypes import name_of
from .native_arrays import bfloat16_view

if TYPE_CHECKING:
    import numpy


class Numpy(Framework):
    """Arrays and scalars of NumPy, in host memory."""

    name = "numpy"
    is_writable = True

    def describe(self, item: Any, name: str) -> Array:
        """What a call needs to know of an array.

        Raises:
            CallTypeError, CallValueError: its memory is not laid out as the native module reads it.
        """
        import numpy

        item = numpy.asanyarray(item)  # scalars have no memory that lasts
        if _is_masked(item):
            raise CallTypeError(
                f"'{name}' is a masked array, whose mask would be lost; fill it first (filled())"
            )
        if not item.dtype.isnative:
            raise CallTypeError(
                f"'{name}' has the byte order of another machine ({item.dtype.str}); convert it with astype"
            )
        if not item.flags.aligned:  # such as a field of packed records
            raise CallValueError(
                f"'{name}' has elements of {item.itemsize} bytes that are not at multiples of their size "
                f"(strides {item.strides} in bytes); copy it with numpy.ascontiguousarray"
            )
        strides = tuple(step // item.itemsize for step in item.strides) if item.itemsize else None
        return Array(item, self, tuple(item.shape), name_of(item.dtype), "cpu", strides)

    def view(self, array: Array, name: str) -> Any:
        return (name, array.source) if array.dtype != "bfloat16" else bfloat16_view(array.source, name)

    def numbers(self, array: Array) -> numpy.ndarray:
        return array.source.astype("float32") if array.dtype == "bfloat16" else array.source

    def elements(self, array: Array) -> numpy.ndarray:
        return array.source

    def is_read_only(self, array: Array) -> bool:
        return not array.source.flags.writeable

    def kept(self, array: Array) -> Array:
        return self.describe(array.source.copy(), "input")

    def to_framework(self, like: Array, array: Any) -> Any:
        return array[()] if array.ndim == 0 else array


def _is_masked(item: Any) -> bool:
    """Whether it is a masked array, which only exists where numpy.ma was imported."""
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(item, getattr(module, "MaskedArray", ()))


NUMPY = Numpy()
