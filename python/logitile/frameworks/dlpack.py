"""Arrays of any library with DLPack. They are only read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError
from .arrays import Array, Framework
from .dtypes import dtype_name

if TYPE_CHECKING:
    import numpy

# DLDeviceType: kDLCPU, kDLCUDA, ...Host, ...Managed
_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}


class Dlpack(Framework):
    """Any object with `__dlpack__`, `shape` and `dtype`."""

    name = "dlpack"

    def describe(self, item: Any, name: str) -> Array:
        """What a call needs to know of an array.

        Raises:
            CallTypeError: it cannot be read any more.
        """
        kind, index = item.__dlpack_device__()
        device = _DEVICES.get(int(kind), f"DLPack device {int(kind)}")
        place = device if device == "cpu" else f"{device}:{index}"
        return Array(item, self, tuple(item.shape), dtype_name(item.dtype), place)

    def view(self, array: Array, name: str) -> Any:
        return (name, _capsule(array.source, name))

    def numbers(self, array: Array) -> numpy.ndarray:
        import numpy

        return numpy.from_dlpack(array.source)

    def to_framework(self, like: Array, array: Any) -> Any:
        namespace = getattr(like.source, "__array_namespace__", None)
        return namespace().from_dlpack(array) if namespace is not None else array


def _capsule(source: Any, name: str) -> object:
    """Some objects know no versions of DLPack, and JAX may still compute what it hands out."""
    if hasattr(source, "block_until_ready"):
        source.block_until_ready()
    try:
        try:
            return source.__dlpack__(max_version=(1, 1))
        except TypeError:
            return source.__dlpack__()
    except BufferError as error:
        raise CallTypeError(
            f"'{name}' does not give its memory away by DLPack: {error}; pass an array of NumPy or torch"
        ) from error


DLPACK = Dlpack()
