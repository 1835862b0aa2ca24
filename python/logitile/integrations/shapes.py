"""Checks of shapes that PyTorch would broadcast to something unintended."""

from __future__ import annotations

from torch import Tensor

from ..errors import CallValueError


def check_shape(name: str, tensor: Tensor | None, *allowed: tuple[int, ...]) -> None:
    """Refuses a tensor with a shape that is not one of `allowed`; None has none.

    Raises:
        CallValueError: it has another.
    """
    if tensor is None or tuple(tensor.shape) in allowed:
        return
    *some, last = map(str, allowed)
    either = f"{', '.join(some)} or {last}" if some else last
    raise CallValueError(f"{name} has shape {tuple(tensor.shape)}; it must be {either}")
