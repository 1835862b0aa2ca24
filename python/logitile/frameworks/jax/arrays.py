"""Arrays of JAX: concrete ones are read by DLPack; tracers have only a shape and a type."""

from __future__ import annotations

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

    def to_framework(self, like: Array, array: Any) -> Any:
        import jax

        return jax.numpy.asarray(array)


_open_extents: dict[str, OpenExtent] = {}


def _open(text: str) -> OpenExtent:
    """An extent of jax.export that is a symbol: the same for the same text, and no usual number."""
    return _open_extents.setdefault(text, OpenExtent(1_000_003 + len(_open_extents), text))


class _Kinds(dict[type, str]):
    """What objects of a type are: "array" or "tracer" of JAX, "group" of arrays, or "other". A look
    into a dictionary is what every call can afford.
    """

    def __missing__(self, kind: type) -> str:
        of_jax = [base for base in kind.__mro__ if base.__module__.startswith("jax")]
        if any(base.__name__ == "Tracer" for base in of_jax):
            found = "tracer"
        elif of_jax and hasattr(kind, "__dlpack__"):
            found = "array"
        else:
            found = "group" if issubclass(kind, (tuple, list)) else "other"
        self[kind] = found
        return found


_kinds = _Kinds()


def is_tracer(item: Any) -> bool:
    """Whether an object is a tracer of JAX."""
    return _kinds[item.__class__] == "tracer"


def is_of_jax(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether JAX makes a call: a hidden array is its own (by position, the first),
    or any array is a tracer.
    """
    if args and _kinds[args[0].__class__] == "array":
        return True
    for item in (*args, *inputs.values()):
        kind = _kinds[item.__class__]
        if kind == "tracer" or (kind == "group" and _is_group_of_jax(item, counts=not args)):
            return True
    return False


def _is_group_of_jax(group: Sequence[Any], counts: bool) -> bool:
    """Whether a pair makes a call one of JAX; `counts` says whether its hidden array has a say."""
    kinds = [_kinds[part.__class__] for part in group]
    return "tracer" in kinds or (counts and kinds[:1] == ["array"])


def has_tracers(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether an array of a call has no numbers yet."""
    for item in (*args, *inputs.values()):
        kind = _kinds[item.__class__]
        if kind == "tracer" or (kind == "group" and has_tracers(item, {})):
            return True
    return False


JAX = Jax()
