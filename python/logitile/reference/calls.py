"""Calls of heads with backend="reference": the interpreter of the spec, in float64, runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arguments.binder import Binder
from ..arguments.call import Call
from ..arguments.gradients import check_no_gradient_is_lost, wanted_gradients
from ..calls.demands import by_autograd
from ..errors import CallTypeError
from ..frameworks.arrays import Array
from ..frameworks.choice import has_shards, tracer
from .forward import evaluate
from .gradient import evaluate_gradients
from .sequences import Sequences


def outputs(binder: Binder, args: Sequence[Any], inputs: dict[str, Any], sequences: Sequences | None) -> Any:
    """The outputs of a call in the framework of hidden: floats are float64,
    and torch can differentiate them.

    Args:
        sequences: what to join tokens to; None leaves that to the options.

    Raises:
        CallError: the arguments do not fit, an index lies outside the vocabulary,
            or JAX or torch only traces the call.
    """
    call = _bound(binder, args, inputs)
    framework = call.framework
    if not framework.records_gradients:
        check_no_gradient_is_lost(call)
    names = by_autograd(call).names if framework.is_recording() and call.form.requiring else ()
    job = ReferenceCall(call, names, sequences)
    found = framework.differentiable(job) if names else job.forward()[0]
    return call.form.spec.result(found)


def values_and_gradients(
    binder: Binder,
    args: Sequence[Any],
    inputs: dict[str, Any],
    sequences: Sequences | None,
    wrt: Any,
    grad_output: object,
    grad_dtype: object,
) -> tuple[Any, dict[str, Any]]:
    """The outputs as from `outputs`, and gradients by name in float64.

    Raises:
        CallError: see `outputs`; or a gradient does not exist, or another type is asked for.
    """
    if grad_dtype is not None:
        raise CallTypeError(
            f"grad_dtype={grad_dtype!r}: gradients of backend='reference' are float64; leave it out"
        )
    call = _bound(binder, args, inputs)
    spec, options = call.form.spec, call.form.options
    names = wanted_gradients(spec, options, call, wrt)
    results, _, tokens = ReferenceCall(call, (), sequences).forward()
    if sequences is not None:
        grad_output = sequences.reaching(call, tokens, grad_output)
    found = evaluate_gradients(spec, options, call, names, grad_output)
    gradients = {name: _to_framework(call.operands[name].array, array) for name, array in found.items()}
    return spec.result(results), gradients


class ReferenceCall:
    """A call that a framework differentiates; see frameworks.arrays.Recorded.

    Args:
        call: whose arrays stay with it.
        names: the gradients that are wanted.
        sequences: see `outputs`.
    """

    is_early = False

    def __init__(self, call: Call, names: tuple[str, ...], sequences: Sequences | None):
        self.call, self.names, self._sequences = call, names, sequences
        self.name, self.outputs = call.form.spec.name, call.form.spec.output_names
        self.carrying = by_autograd(call).of if names else ()

    @property
    def sources(self) -> list[Any]:
        """The arrays that get a gradient."""
        return [self.call.operands[name].array.source for name in self.names]

    def forward(self) -> tuple[dict[str, Any], list[Any], Any]:
        """What has its extremes where an exponential has them: the exponent, or else the value."""
        form = self.call.form
        tokens = evaluate(form.spec, form.options, self.call)
        found = tokens if self._sequences is None else self._sequences.summed(self.call, tokens)
        hidden = self.call.pairs[0].hidden
        return {name: _to_framework(hidden, array) for name, array in found.items()}, [], tokens

    def emptied(self) -> tuple[ReferenceCall, list[Any]]:
        """The call, and the arrays that torch watches for changes until the backward pass."""
        return self, self.sources

    def backward(
        self, state: Any, arrays: Sequence[Any], cotangents: Sequence[Any | None]
    ) -> list[Any | None]:
        """The gradients of `sources`, in the types of these."""
        form, known = self.call.form, self.call.operands
        reaching = {n: c for n, c in zip(self.outputs, cotangents, strict=True) if c is not None}
        grad_output: Any = reaching["loss"] if form.spec.bare else reaching
        if self._sequences is not None:
            grad_output = self._sequences.reaching(self.call, state, grad_output)
        found = evaluate_gradients(form.spec, form.options, self.call, self.names, grad_output)
        return [_to_framework(known[name].array, found[name], known[name].array.dtype) for name in self.names]


def _bound(binder: Binder, args: Sequence[Any], inputs: dict[str, Any]) -> Call:
    if tracer(args, inputs) is not None:
        if has_shards(args, inputs):
            raise CallTypeError(
                "backend='reference' computes on one process, but a DTensor is among the arguments; gather "
                "it first (full_tensor()), or use backend='auto'"
            )
        raise CallTypeError(
            "backend='reference' reads numbers of NumPy and torch; its heads cannot be called on arrays of "
            "JAX, nor under torch.compile or torch.func"
        )
    if inputs.get("weight_grad_out") is not None:
        raise CallTypeError("backend='reference' adds to no buffers; leave 'weight_grad_out' out")
    return binder.bind_rounded(args, inputs)


def _to_framework(like: Array, values: Any, dtype: str | None = None) -> Any:
    """An array of NumPy in the framework of another."""
    return like.framework.from_numbers(like, values, dtype or str(values.dtype))
