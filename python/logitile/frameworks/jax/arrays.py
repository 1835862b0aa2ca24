"""Arrays of JAX: those with numbers are read by DLPack, tracers have a shape and a type alone."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import CallTypeError
from ..arrays import Array
from ..dlpack import Dlpack
from ..dtypes import dtype_name
from ..stand_ins import OpenExtent

if TYPE_CHECKING:
    import numpy


class Jax(Dlpack):
    """Arrays and tracers of JAX."""

    name = "jax"

    def describe(self, item: Any, name: str) -> Array:
        if getattr(item, "is_deleted", bool)():
            raise CallTypeError(f"'{name}' is a JAX array that was deleted or donated; pass one that lives")
        return super().describe(item, name)

    def described_tracer(self, tracer: Any) -> Array:
        """What a call needs to know of an array that has no numbers yet."""
        shape = tuple(extent if isinstance(extent, int) else _open(str(extent)) for extent in tracer.shape)
        return Array(tracer, self, shape, dtype_name(tracer.dtype), None)

    def view(self, array: Array, name: str) -> Any:
        if array.device is None:
            raise CallTypeError(
                f"'{name}' is a JAX tracer ({array}), but numbers are read here; call the head itself, which "
                "JAX can trace, or make this call outside of the transformation"
            )
        return super().view(array, name)

    def numbers(self, array: Array) -> numpy.ndarray:
        import numpy

        numbers = numpy.asarray(array.source)
        return numbers.astype(numpy.float32) if array.dtype == "bfloat16" else numbers

    def given_back(self, like: Array, array: Any) -> Any:
        import jax

        return jax.numpy.asarray(array)


_open_extents: dict[str, OpenExtent] = {}


def _open(text: str) -> OpenExtent:
    """An extent of jax.export that is a symbol: the same for the same text, and no usual number."""
    return _open_extents.setdefault(text, OpenExtent(1_000_003 + len(_open_extents), text))


@functools.lru_cache(maxsize=256)  # every call asks
def is_tracer(kind: type) -> bool:
    """Whether objects of a type are tracers of JAX."""
    return any(base.__name__ == "Tracer" and base.__module__.startswith("jax") for base in kind.__mro__)


@functools.lru_cache(maxsize=256)
def _is_array(kind: type) -> bool:
    return kind.__module__.startswith("jax") and hasattr(kind, "__dlpack__")


def is_of_jax(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether JAX makes a call: the first hidden array is its own, or any array is a tracer."""
    if args and _is_array(type(args[0])):
        return True
    first = next(iter(inputs.values()), None)
    if not args and isinstance(first, (tuple, list)) and first and _is_array(type(first[0])):
        return True
    return has_tracers(args, inputs)


def has_tracers(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether an array of a call has no numbers yet."""
    for item in (*args, *inputs.values()):
        for part in item if isinstance(item, (tuple, list)) else (item,):
            if is_tracer(type(part)):
                return True
    return False


JAX = Jax()
