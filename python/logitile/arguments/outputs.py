"""The outputs of a call: their shapes and types."""

from __future__ import annotations

from typing import Any

from ..errors import CallValueError
from ..frameworks.choice import cast
from ..frameworks.dtypes import FLOATS, dtype_name
from .options import Options

# Results by the type of a value in a loss, and by that of an output in a plan.
_DTYPES = {
    "f32": "float32", "i32": "int64", "i1": "bool",
    "float32": "float32", "int32": "int64", "bool": "bool",
}  # fmt: skip


def output_shape(
    options: Options, leading: tuple[int, ...], name: str, places: int | None = None
) -> tuple[int, ...]:
    """A reduced loss has no axis; everything else is per token.
    A list has a last axis for its places.
    """
    if places is not None:
        return (*leading, places)
    return () if name == "loss" and options.reduces != "none" else leading


def axes_after_tokens(options: Options, name: str, places: int | None) -> tuple[int, ...] | None:
    """The axes of an output after those of the tokens; None for a reduced loss,
    which has none at all.
    """
    shape = output_shape(options, (1,), name, places)
    return shape[1:] if shape else None


def output_dtype(type: str) -> str:
    """Floats are float32, integers int64.

    Args:
        type: of the value in a loss ("i32"), or of the output in a plan ("int32").
    """
    return _DTYPES[type]


def with_dtype(result: Any, dtype: str) -> Any:
    """The result of a call with its floats in another type."""
    if not isinstance(result, tuple):
        return _cast(result, dtype)
    return type(result)(*(_cast(array, dtype) for array in result))


def _cast(array: Any, dtype: str) -> Any:
    return cast(array, dtype) if dtype_name(array.dtype) in FLOATS else array


def check_default_dtype(options: Options, what: str) -> None:
    """Refuses an output type where nothing applies it.

    Raises:
        CallValueError: one is asked for.
    """
    if options.output_dtype is not None:
        raise CallValueError(
            f"output_dtype='{options.output_dtype}' is not applied to {what}, whose floats are float32; "
            "leave it out, and convert the results"
        )
