"""Calls of heads on arrays of JAX: one compiled function for each head."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy

from ...errors import CallTypeError, CallValueError, LogitileError
from ..traced import Traceable
from .explicit import run_anywhere


def traced_call(head: Traceable, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call that XLA makes. Inside of a transformation it becomes a part of what is traced.

    Raises:
        CallError: as for a call.
    """
    compiled = head.compiled or _compiled(head)
    _check_wide_integers(inputs)
    try:
        return compiled(*args, **inputs)
    except LogitileError:
        raise
    except (TypeError, ValueError, RuntimeError):
        with contextlib.suppress(BufferError):  # arrays on several devices cannot be read here
            head.check(args, inputs)  # what JAX does not take has an error of its own
        raise


def _compiled(head: Traceable) -> Any:
    """The head as a compiled function of JAX,
    which keeps a program for each choice of shapes and types.
    """

    def function(*args: Any, **inputs: Any) -> Any:
        _check_no_buffer(inputs)
        traced, operands = head.traced(args, inputs)
        return traced.result(run_anywhere(traced.forward, operands))

    function.__name__ = function.__qualname__ = head.name
    head.compiled = jax.jit(function)
    return head.compiled


def traced_gradients(
    head: Traceable,
    args: tuple[Any, ...],
    inputs: dict[str, Any],
    wrt: Iterable[str] | None,
    grad_output: object,
    grad_dtype: str | None,
) -> tuple[Any, dict[str, Any]]:
    """`Head.value_and_grad` inside of a transformation; see there."""
    _check_no_buffer(inputs)
    traced, operands = head.traced(args, inputs)
    call, names, cotangents = traced.value_and_gradients(wrt, grad_output, grad_dtype)
    made = run_anywhere(call, [*operands, *map(_cotangent, cotangents)])
    first = len(made) - len(names)
    return traced.result(made[:first]), dict(zip(names, made[first:], strict=True))


def _cotangent(item: Any) -> Any:
    return jax.numpy.float32(item) if isinstance(item, (int, float)) else item


def _check_no_buffer(inputs: Mapping[str, Any]) -> None:
    if inputs.get("weight_grad_out") is not None:
        raise CallTypeError(
            "'weight_grad_out' is added into, but arrays of JAX never change; leave it out, and ask "
            "head.value_and_grad for grad_dtype='float32'"
        )


def _check_wide_integers(inputs: Mapping[str, Any]) -> None:
    """JAX cuts integers of NumPy to 32 bits, and another number would come out.

    Raises:
        CallValueError: one does not fit.
    """
    if jax.config.jax_enable_x64:
        return
    for name, item in inputs.items():
        if type(item) is not numpy.ndarray or item.dtype.kind not in "iu" or not item.size:
            continue
        for value in (item.min(), item.max()):
            if not -(2**31) <= value < 2**31:
                raise CallValueError(f"'{name}' has the entry {value}, which does not fit in 32 bits")
