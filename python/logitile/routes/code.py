"""The route of calls that compiled code computes. It passes a call to sums over sequences, to the
code for given logits, or to the code of the loss as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..arguments.given_gradients import refuse_given
from ..arguments.gradients import GradientOptions
from ..arguments.options import Options
from ..calls.segmented import NOT_JOINED, SegmentedCalls, ignoring_name
from ..errors import CallValueError
from ..language.definition import Loss
from .compiled import CompiledCalls
from .given import GivenCode


class CodeRoute:
    """See Route.

    Args:
        loss, options, constants: of the head.

    Attributes:
        written: calls to which no logits are given.
        segmented: calls with `segments`; None where the reduction joins no tokens.
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self._given = GivenCode(loss, options, constants)
        self.written = self._given.written
        self._pair_names = loss.signature.pair_names
        self.segmented = None if options.reduces == "none" else _segmented(loss, options, constants)

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """The outputs, as a call of a head gives them."""
        return self.outputs(args, inputs)

    def outputs(self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object = None) -> Any:
        """See Route."""
        if segments is not None:
            return self.in_segments.outputs(segments, args, inputs)
        for name in inputs:  # warm calls count their functions
            if name in self._pair_names:
                calls, inputs, _ = self.of_given(args, inputs)
                return calls.outputs(args, inputs)
        return self.written.outputs(args, inputs)

    def value_and_grad(
        self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object, asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """See Route."""
        if segments is not None:
            refuse_given(asked.grad_out, "calls with segments")
            return self.in_segments.value_and_grad(segments, args, inputs, asked)
        for name in inputs:
            if name in self._pair_names:
                calls, inputs, wrt = self.of_given(args, inputs, asked.wrt)
                if calls is not self.written:
                    refuse_given(asked.grad_out, "calls with given logits")
                return calls.value_and_grad(args, inputs, asked._replace(wrt=wrt))
        return self.written.value_and_grad(args, inputs, asked)

    def of_given(
        self, args: tuple[Any, ...], inputs: dict[str, Any], wrt: Iterable[str] | None = None
    ) -> tuple[CompiledCalls, dict[str, Any], Iterable[str] | None]:
        """The code that computes a call, its inputs there, and the names of its gradients there.

        Raises:
            CallError: logits are given that do not fit.
        """
        return self._given.of(args, inputs, wrt)

    @property
    def in_segments(self) -> SegmentedCalls:
        """How calls with `segments` are made.

        Raises:
            CallValueError: this head joins no tokens.
        """
        if self.segmented is None:
            raise CallValueError(NOT_JOINED)
        return self.segmented


def _segmented(loss: Loss, options: Options, constants: dict[str, object]) -> SegmentedCalls:
    """How a head calls with `segments`: through code whose outputs are all per token."""
    weighted = replace(options, by_token=True)
    per_token = (CodeRoute(loss, how, constants) for how in (weighted, replace(weighted, reduction="sum")))
    return SegmentedCalls(options, ignoring_name(loss.signature, options), *per_token)
