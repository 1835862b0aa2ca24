"""Calls that are differentiated later: the data that their forward pass keeps, and their backward
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..arguments.call import Call
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from ..frameworks.stand_ins import Rounded
from .native_call import backward, native_inputs
from .program import Program
from .results import cast_back, has_buffer, new_gradients, new_outputs


class RecordedCall:
    """A call whose framework differentiates its results; see frameworks.arrays.Recorded.

    Args:
        call: with its arrays, or emptied.
        program: which makes gradients in its forward phase, or in one of their own.
    """

    def __init__(self, call: Call, program: Program):
        self.call, self.program = call, program
        self.name = program.spec.name
        self.is_early = program.wanted.mode == "early"
        self.outputs = program.spec.output_names
        self.carrying = program.wanted.of

    @property
    def sources(self) -> list[Any]:
        """The arrays that get a gradient, in the order of the gradients."""
        known = self.call.operands
        return [known[name].array.source for name in self.program.wanted.names]

    def forward(self) -> tuple[dict[str, Any], list[Any], object]:
        """Runs the forward phase.

        Returns: outputs by name, gradients that were made early, and what `backward` goes on with.
        """
        results, written = new_outputs(self.call)
        gradients, made = self._new_gradients(self.call) if self.is_early else ({}, ())
        state = self.program.native_call(self.call).forward(written, made)
        return results, list(gradients.values()), state

    def emptied(self) -> tuple[RecordedCall, list[Any]]:
        """The call without its arrays, and those of its framework in one order, for `backward`."""
        call, arrays = _emptied(self.call)
        return RecordedCall(call, self.program), arrays

    def backward(
        self, state: Any, arrays: Sequence[Any], cotangents: Sequence[Any | None]
    ) -> list[Any | None]:
        """Runs the backward phase of an emptied call.

        Args:
            state: of `forward`.
            arrays: of `emptied`.
            cotangents: what reaches each output.

        Returns: the gradients in the order of `sources`.
            A gradient that goes into a buffer is None for the framework.
        """
        call = _filled(self.call, arrays)
        reaching = [
            _viewed(cotangent, name)
            for name, cotangent in zip(self.outputs, cotangents, strict=True)
            if cotangent is not None and name in self.carrying
        ]
        gradients, made = self._new_gradients(call)
        backward(state, native_inputs(call, self.program.options), call.pairs[0].hidden, made, reaching)
        gradients = cast_back(call, self.program.gradients, gradients, None)
        return [None if has_buffer(call, name) else gradient for name, gradient in gradients.items()]

    def _new_gradients(self, call: Call) -> tuple[dict[str, Any], list[Any]]:
        program = self.program
        return new_gradients(call, program.options, program.wanted, program.gradients)


def _viewed(cotangent: Any, name: str) -> Any:
    array = described(cotangent, name)
    return array.framework.view(array, name)


def _emptied(call: Call) -> tuple[Call, list[Any]]:
    """A call without the arrays of its framework, which autograd saves instead;
    `_filled` puts them back.
    """
    arrays: list[Any] = []

    def emptied(array: Array) -> Array:
        if array.framework is call.framework:
            arrays.append(array.source)
            return replace(array, source=None)
        return array.framework.kept(array)

    return _mapped(call, emptied), arrays


def _filled(call: Call, arrays: Sequence[Any]) -> Call:
    rest = iter(arrays)

    def filled(array: Array) -> Array:
        if array.source is not None:
            return array
        source = next(rest)
        return described(source if array.rounded_to is None else Rounded(source, array.rounded_to), "input")

    return _mapped(call, filled)


def _mapped(call: Call, change: Callable[[Array], Array]) -> Call:
    """A call with every input array changed, in one order;
    its divisor was used up in the forward pass.
    """
    pairs = tuple(replace(p, hidden=change(p.hidden), weight=change(p.weight)) for p in call.pairs)
    inputs = {name: change(array) for name, array in call.inputs.items()}
    return replace(call, pairs=pairs, inputs=inputs, divisor=None)
