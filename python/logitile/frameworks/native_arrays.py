"""Arrays in the form of the native module: a name with an object that it reads itself, or with a
pointer, a type, a shape and strides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runtime.engine import native

if TYPE_CHECKING:
    from .._native import Array as NativeArray


def transposed(native: NativeArray) -> NativeArray:
    """The same memory with the two axes of a matrix exchanged."""
    if len(native) == 2:
        return (*native, True)
    name, pointer, dtype, shape, strides = native
    return (name, pointer, dtype, shape[::-1], strides[::-1])


def bfloat16_view(source: Any, name: str) -> NativeArray:
    """An array of ml_dtypes.bfloat16 as the native module takes it:
    its type is not one of NumPy's own.
    """
    pointer = source.__array_interface__["data"][0]
    strides = tuple(step // source.itemsize for step in source.strides)
    return (name, pointer, native().TYPES["bfloat16"], source.shape, strides)
