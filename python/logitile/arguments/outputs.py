"""The outputs of a call: their shapes and types."""

from __future__ import annotations

from .options import Options

# Results by the type of a value in a loss, and by that of an output in a plan.
_DTYPES = {
    "f32": "float32", "i32": "int64", "i1": "bool",
    "float32": "float32", "int32": "int64", "bool": "bool",
}  # fmt: skip


def output_shape(options: Options, leading: tuple[int, ...], name: str) -> tuple[int, ...]:
    """A reduced loss has no axis; everything else is per token."""
    return () if name == "loss" and options.reduces != "none" else leading


def output_dtype(type: str) -> str:
    """Floats are float32, integers int64.

    Args:
        type: of the value in a loss ("i32"), or of the output in a plan ("int32").
    """
    return _DTYPES[type]
