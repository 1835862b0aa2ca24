"""Coefficients of losses: numbers, or tensors without axes, for instance those of a schedule.

Heads read a tensor at each call, as they read a number: no value compiles anything, and a tensor
that requires a gradient gets one. Its number is looked at only where this costs nothing: on the
CPU, outside of graphs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import HOST
from ..losses import ranges

Coefficient = float | Tensor

_PLAIN = (Tensor, torch.nn.Parameter)
_FLOAT32 = torch.finfo(torch.float32)


def is_number(value: object, number: float) -> bool:
    """Whether a coefficient is known to be `number`. A tensor never is: its value may change."""
    return not isinstance(value, Tensor) and value == number


def given(**values: Coefficient) -> dict[str, Any]:
    """The coefficients of a call that are not 0.
    A term without a coefficient costs nothing. Tensors stay, with any value.
    """
    return {name: value for name, value in values.items() if not is_number(value, 0)}


def of_temperature(temperature: Coefficient) -> dict[str, Any]:
    """The input of a head for a temperature; none where it is 1."""
    return {} if is_number(temperature, 1) else {"temperature": temperature}


def value_of(name: str, value: Any) -> Any:
    """The number of a coefficient; None if its value cannot be read without a wait.
    That is the case on a device, in a graph, and under a transformation of torch.func.

    Raises:
        CallTypeError: it is a tensor of bools or complex numbers.
        CallValueError: it is a tensor with axes.
    """
    if not isinstance(value, Tensor):
        return value
    if value.dim():
        raise CallValueError(
            f"{name} has shape {tuple(value.shape)}; it must be a number, or a tensor without axes"
        )
    if value.dtype == torch.bool or value.is_complex():
        kind = str(value.dtype).removeprefix("torch.")
        raise CallTypeError(f"{name} is a tensor of {kind}; it must be a number, or a tensor of numbers")
    if torch.compiler.is_compiling() or value.device.type != HOST or type(value) not in _PLAIN:
        return None
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack():
        return None
    return value.item()


def check(name: str, value: Any, least: float = _FLOAT32.min, most: float = _FLOAT32.max) -> None:
    """As losses.ranges.check, of a number or a tensor; a tensor that cannot be looked at passes.

    Raises:
        CallTypeError: it is no number.
        CallValueError: it lies outside, or is a tensor with axes.
    """
    if (number := value_of(name, value)) is not None or value is None:
        ranges.check(name, number, least, most)


def check_positive(name: str, value: Any) -> None:
    """As `check`, for numbers above 0."""
    if (number := value_of(name, value)) is not None or value is None:
        ranges.check_positive(name, number)


def constant(name: str, value: Any) -> Any:
    """A coefficient that is compiled into the kernels, as a number; None stays.

    Raises:
        CallTypeError, CallValueError: it is a tensor that requires a gradient, has axes,
            or is of no numbers.
    """
    if not isinstance(value, Tensor):
        return value
    value_of(name, value)
    check_constants("it is a constant of the kernels", **{name: value})
    return float(value)


def check_constants(why: str, **values: Any) -> None:
    """Refuses coefficients that require a gradient, which would be lost.

    Args:
        why: the gradient cannot be made; the rest of a sentence after "but".

    Raises:
        CallValueError: one of them requires a gradient.
    """
    for name, value in values.items():
        if isinstance(value, Tensor) and value.requires_grad and torch.is_grad_enabled():
            raise CallValueError(f"{name} requires a gradient, but {why}; give {name}.detach()")
