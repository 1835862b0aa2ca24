"""Stand-ins that a caller gives instead of an array: a shape without data, or an operand to be
rounded.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from ..errors import CallTypeError, CallValueError
from ..messages.names import shape_text
from .dtypes import DTYPES, dtype_name


@dataclass(frozen=True)
class ShapeDtype:
    """Stands for an array in calls that need shapes only.

    Args:
        shape: extents of the array.
        dtype: a name such as "bfloat16", or a dtype of NumPy, torch or JAX.

    Raises:
        CallTypeError, CallValueError: that is no shape or no dtype of arrays.
    """

    shape: tuple[int, ...]
    dtype: object

    def __post_init__(self) -> None:
        try:
            shape = tuple(e if isinstance(e, int) else operator.index(e) for e in self.shape)
        except TypeError:
            raise CallTypeError(f"lt.ShapeDtype has shape {self.shape!r}, not a tuple of ints") from None
        if any(extent < 0 for extent in shape):
            raise CallValueError(f"lt.ShapeDtype has shape {shape_text(shape)}; no extent can be negative")
        object.__setattr__(self, "shape", shape)
        if dtype_name(self.dtype) not in DTYPES:
            raise CallTypeError(f"lt.ShapeDtype has dtype {self.dtype!r}; known are {', '.join(DTYPES)}")


class OpenExtent(int):
    """Stands for an extent that a traced program leaves open; errors write what it stands for."""

    def __new__(cls, number: int, text: str) -> OpenExtent:
        """Makes one that equals `number`, by which extents are told apart."""
        made = super().__new__(cls, number)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Rounded:
    """Stands for an operand that is rounded to another type while it is packed;
    it is never copied.

    Args:
        source: an array.
        dtype: the name of that type.
    """

    source: object
    dtype: str
