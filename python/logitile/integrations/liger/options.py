"""Options that several of Liger's functions have."""

from __future__ import annotations

from typing import Any

import torch

from ...errors import CallValueError
from ..coefficients import Coefficient, value_of


def check_accum_dtype(dtype: torch.dtype | None) -> None:
    """Refuses sums in a type that has more precision than float32, in which they are."""
    if dtype not in (None, torch.float32, torch.bfloat16, torch.float16):
        raise CallValueError(f"accum_dtype={dtype}: sums are float32; give None or a type of at most 32 bits")


def check_temperature(temperature: Coefficient) -> None:
    """Refuses a temperature of 0."""
    if value_of("temperature", temperature) == 0:
        raise CallValueError("temperature=0 is no temperature; give a number other than 0")


def check_kernels(**names: str | None) -> None:
    """Refuses names of Liger's kernels."""
    for name, value in names.items():
        if value is not None:
            raise CallValueError(f"{name}={value!r} names a kernel of Liger; leave it out")


def check_reduction(reduction: Any, *known: str) -> None:
    """Refuses a reduction that there is not."""
    if reduction not in known:
        *some, last = map(repr, known)
        raise CallValueError(f"reduction={reduction!r} is none of {', '.join(some)} and {last}")


def chunks(count: int, size: int) -> dict[str, int]:
    """The option of lt.jit for as many chunks as Liger makes of `count` tokens or sequences.

    Raises:
        CallValueError: the size is no positive int.
    """
    if type(size) is not int or size < 1:
        raise CallValueError(f"chunk_size={size!r} must be a positive int")
    return {"chunks": max(1, count // size)}
