"""The only way of Python into the native module: every call of a plan goes through this module.
Calls that JAX has compiled enter the library from XLA, without Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arguments.call import Call, native_name
from ..arguments.options import Options
from ..errors import CallIndexError
from ..frameworks.arrays import Array
from ..frameworks.native_arrays import transposed
from ..messages.locations import Location
from ..runtime.engine import native

if TYPE_CHECKING:
    from .. import _native
    from .._native import Array as NativeArray


@dataclass(eq=False, slots=True)
class NativeCall:
    """A call of a plan, as the native module takes it.

    Args:
        plan: compiled for the number of tokens.
        options: how it reduces the loss and tells ignored tokens.
        inputs: every input, by name.
        like: the array that results lie beside.
        divisor: what replaces the denominator of a mean.
        picks: lines of the loss that pick an entry by an index which it computes,
            as far as they are known.
    """

    plan: _native.Plan
    options: _native.CallOptions
    inputs: list[NativeArray]
    like: Array
    divisor: Array | None = None
    picks: Sequence[Location] = ()

    def run(
        self,
        outputs: Sequence[NativeArray],
        gradients: Sequence[NativeArray],
        cotangents: Sequence[NativeArray],
        is_early: bool,
    ) -> None:
        """Runs all phases: gradients are made along with the outputs, or in a phase of their own.

        Raises:
            CallIndexError: see `forward`.
        """
        saved = self.forward(outputs, gradients if is_early else (), cotangents if is_early else ())
        if saved is not None:
            backward(saved, self.inputs, self.like, gradients, cotangents)

    def forward(
        self,
        outputs: Sequence[NativeArray],
        gradients: Sequence[NativeArray] = (),
        cotangents: Sequence[NativeArray] = (),
    ) -> _native.Saved | None:
        """Runs the forward phase, which writes outputs and early gradients in place.

        Returns: what the backward phase goes on with, if there is one.

        Raises:
            CallIndexError: an index lies outside the vocabulary.
        """
        framework = self.like.framework
        divisor = None
        if self.divisor is not None:
            _, *rest = self.divisor.framework.view(self.divisor, "divisor")
            divisor = rest[0] if len(rest) == 1 else tuple(rest)
        try:
            stream = framework.stream(self.like)
            return self.plan.forward(
                self.options, self.inputs, outputs, gradients, cotangents, divisor, stream
            )
        except CallIndexError as error:
            raise _located(error, self.picks) from None


def backward(
    saved: _native.Saved,
    inputs: list[NativeArray],
    like: Array,
    gradients: Sequence[NativeArray],
    cotangents: Sequence[NativeArray],
) -> None:
    """Runs the backward phase, which writes gradients in place.

    Args:
        saved: what the forward phase returned.
        inputs: those of the forward phase.
        like: the array that results lie beside.
    """
    saved.backward(inputs, gradients, cotangents, like.framework.stream(like))


def native_inputs(call: Call, options: Options) -> list[NativeArray]:
    """Every input of a call; weights as [V, D] for both layouts."""
    inputs = []
    for pair in call.pairs:
        inputs.append(pair.hidden.framework.view(pair.hidden, native_name(pair.name, "hidden")))
        inputs.append(weight_view(pair.weight, native_name(pair.name, "weight"), options))
    return inputs + [array.framework.view(array, name) for name, array in call.inputs.items()]


def weight_view(array: Array, name: str, options: Options) -> NativeArray:
    """A weight or its gradient as [V, D]."""
    view = array.framework.view(array, name)
    return view if options.weight_layout == "vd" else transposed(view)


def call_options(
    options: Options, outputs: Iterable[str], ignore: str | None, threads: int
) -> _native.CallOptions:
    """How calls of a plan reduce its loss and tell ignored tokens.

    Args:
        outputs: names of the plan's outputs.
        ignore: the input that tells ignored tokens, if there is one.
        threads: of the host.
    """
    return native().CallOptions(
        reduction=options.reduces if "loss" in outputs else "none",
        ignore=ignore,
        ignore_index=options.ignore_index,
        zero_if_all_ignored=options.all_ignored == "zero",
        threads=threads,
    )


def _located(error: CallIndexError, picks: Sequence[Location]) -> CallIndexError:
    """A plan may serve equal losses of other lines, so the line of a computed index is not in it;
    a plan that was loaded has none.
    """
    if not error.is_computed or not picks:
        return error
    return CallIndexError(f"{' or '.join(str(place) for place in picks)}: {error}")
