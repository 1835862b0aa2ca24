"""The route of calls that the reference computes, in float64: those of heads with
backend="reference", and Head.reference and Head.reference_grad of any head, whose results are
arrays of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..arguments.binder import Binder
from ..arguments.given_gradients import refuse_given
from ..arguments.gradients import GradientOptions
from ..calls.segmented import without_divisor
from .code import CodeRoute

if TYPE_CHECKING:
    from ..reference.sequences import Sequences


class ReferenceRoute:
    """See Route.

    Args:
        code: the route of the same head by compiled code, which says what a call with given logits
            or with segments computes. No code is compiled for the reference.
    """

    def __init__(self, code: CodeRoute):
        self._code = code

    def outputs(self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object = None) -> Any:
        """See Route."""
        from ..reference.calls import outputs

        binder, inputs, _, sequences = self._of(args, inputs, None, segments)
        return outputs(binder, args, inputs, sequences)

    def value_and_grad(
        self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object, asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """See Route."""
        refuse_given(asked.grad_out, "backend='reference'")
        from ..reference.calls import values_and_gradients

        binder, inputs, wrt, sequences = self._of(args, inputs, asked.wrt, segments)
        return values_and_gradients(binder, args, inputs, sequences, wrt, asked.grad_output, asked.grad_dtype)

    def numbers(self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object) -> Any:
        """The outputs in NumPy; see Head.reference."""
        from ..reference.forward import evaluate

        binder, inputs, _, sequences = self._of(args, inputs, None, segments)
        call = binder.bind_rounded(args, inputs)
        outputs = evaluate(call.form.spec, call.form.options, call)
        if sequences is not None:
            outputs = sequences.summed(call, outputs)
        return call.form.spec.result(outputs)

    def numbers_and_gradients(
        self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object, asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs and gradients in NumPy; see Head.reference_grad."""
        from ..reference.forward import evaluate
        from ..reference.gradient import evaluate_gradients

        binder, inputs, wrt, sequences = self._of(args, inputs, asked.wrt, segments)
        call, grad_output = binder.bind_rounded(args, inputs), asked.grad_output
        spec, options = call.form.spec, call.form.options
        outputs = evaluate(spec, options, call)
        if sequences is not None:
            grad_output = sequences.reaching(call, outputs, grad_output)
            outputs = sequences.summed(call, outputs)
        gradients = evaluate_gradients(spec, options, call, wrt, grad_output)
        return spec.result(outputs), gradients

    def _of(
        self, args: tuple[Any, ...], inputs: dict[str, Any], wrt: Iterable[str] | None, segments: object
    ) -> tuple[Binder, dict[str, Any], Iterable[str] | None, Sequences | None]:
        """The binder of what is computed, its inputs and gradients, and how tokens are joined."""
        code, sequences = self._code, None
        if segments is not None:
            from ..reference.sequences import Sequences

            options = code.written.binder.options
            code = code.in_segments.per_token(inputs)
            inputs, divisor = without_divisor(options, inputs)
            sequences = Sequences(options, segments, divisor)
        calls, inputs, wrt = code.of_given(args, inputs, wrt)
        return calls.binder, inputs, wrt, sequences
