"""Programs of the parts of a slice, and calls of them: one sweep, one merge, the finish."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arguments.call import Call
from ..arguments.options import Options
from ..arguments.outputs import output_dtype, output_shape
from ..arguments.wanted import Wanted
from ..calls.native_call import NativeCall, call_options, native_inputs
from ..calls.place import place
from ..calls.program import gradient_dtype, place_of_call, types_of_arrays
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from ..runtime.engine import engine, native
from .states import Source

if TYPE_CHECKING:
    from .. import _native
    from .._native import Array as NativeArray


SLICE_OFFSET = "slice.offset"  # the array with the first column of a slice


class Made(NamedTuple):
    """An output of a part, or a slot or list of a state.

    Args:
        name: "loss", "forward0.max0".
        dtype: of its array.
        places: of a list, how many numbers each token has; else None.
    """

    name: str
    dtype: str
    places: int | None

    @property
    def trailing(self) -> tuple[int, ...]:
        """The axes after those of the tokens."""
        return () if self.places is None else (self.places,)

    @classmethod
    def of(cls, output: Mapping[str, Any]) -> Made:
        """From what a plan says of it."""
        return cls(output["name"], output_dtype(output["element"]), output["places"] or None)


class Part:
    """The program of one part of a slice, with what its plans have in common.

    Args:
        request: see part_request.
        own_engine: another one than that of the process.
    """

    def __init__(self, request: dict[str, Any], own_engine: _native.Engine | None = None):
        self.target, self.threads = request["target"], request["threads"]
        self._program = native().Program(own_engine or engine(), **request)
        self._known: dict[str, Any] | None = None

    def plan(self, tokens: int) -> _native.Plan:
        return self._program.plan(tokens)

    def outputs(self, tokens: int) -> list[Made]:
        """What a call of it makes."""
        return [Made.of(output) for output in self.described(tokens)["outputs"]]

    def states(self, tokens: int) -> list[Made]:
        """Those of the outputs that are the state of a sweep, not outputs of the loss."""
        found = self.described(tokens)["outputs"]
        return [Made.of(output) for output in found if output["role"] == "state"]

    def sweeps(self, tokens: int) -> tuple[int, int]:
        """Of the whole program: forward and backward."""
        forward, backward = self.described(tokens)["sweeps"]
        return forward, backward

    def stage(self, tokens: int, stage: str, kernel: str) -> str | bytes:
        """The text of a stage."""
        return self._program.stage(tokens, stage, kernel)

    def predict(self, tokens: int) -> float:
        """Seconds of a call by the cost model."""
        return self._program.predict(tokens)

    def described(self, tokens: int) -> dict[str, Any]:
        """What the plan says of itself; the same for all numbers of tokens but
        for numbers of bytes.
        """
        if self._known is None:
            self._known = self.plan(tokens).describe(tokens, self.threads)
        return self._known


@functools.lru_cache(maxsize=256)
def _made_part(request: tuple[tuple[str, Any], ...]) -> Part:
    return Part(dict(request))


def part_of(
    part: str,
    source: Source,
    call: Call,
    like: Array,
    sweep: int = 0,
    mode: str = "forward",
    wanted: Wanted | None = None,
) -> Part:
    """The program of a part; see part_request."""
    return _made_part(tuple(part_request(part, source, call, like, sweep, mode, wanted).items()))


def part_request(
    part: str,
    source: Source,
    call: Call,
    like: Array,
    sweep: int,
    mode: str,
    wanted: Wanted | None,
) -> dict[str, Any]:
    """The request for a part on arrays like `like`. Without pairs the part makes no logits."""
    target, threads = place(source.options.backend, like.device)
    return {
        **unplaced_part(part, source, call, sweep, mode, wanted or Wanted()),
        **place_of_call(source.options, call, target, threads),
    }


def unplaced_part(
    part: str, source: Source, call: Call, sweep: int, mode: str, wanted: Wanted
) -> dict[str, Any]:
    """What is asked of the compiler for a part, the same on every machine."""
    dense = [name for name, axis in source.axes if axis == "dense" and name in call.inputs]
    gradients = [(name, gradient_dtype(call, wanted, name)) for name in wanted.names]
    return {
        "spec": source.text,
        "slice": (part, call.vocab if call.pairs else 1, sweep),
        "mode": mode,
        "accumulate": wanted.accumulate,
        "tiles": source.options.tiles,
        **types_of_arrays(call, [(name, call.inputs[name].dtype) for name in dense], gradients),
    }


def run(
    part: Part,
    source: Source,
    call: Call,
    like: Array,
    inputs: list[NativeArray],
    cotangents: Mapping[str, Array],
    gradients: Sequence[NativeArray] = (),
) -> dict[str, Any]:
    """The outputs of a part by name, in the framework of hidden; gradients are written in place."""
    options, outputs, written = source.options, {}, []
    known = part.outputs(call.tokens)
    for name, dtype, places in known:
        shape = output_shape(options, call.leading, name, places)
        outputs[name], native_output = like.framework.result(like, shape, dtype, name)
        written.append(native_output)
    settings = call_options(options, [made.name for made in known], source.ignore, part.threads)
    divisor = call.divisor if "loss" in outputs and options.reduces == "mean" else None
    picks = call.form.spec.computed_picks
    reaching = [array.framework.view(array, name) for name, array in cotangents.items()]
    job = NativeCall(part.plan(call.tokens), settings, inputs, like, divisor, picks)
    job.forward(written, gradients, reaching)
    return {name: like.framework.to_framework(like, array) for name, array in outputs.items()}


def of_side(side: str, name: str) -> str:
    """What a merge calls a slot or list of the state of its "first" or its "second" slice."""
    return f"{side}.{name}"


def inputs_of(call: Call, states: Mapping[str, Any]) -> list[NativeArray]:
    """Inputs of a call and states, for the native module."""
    known = {name: described(array, name) for name, array in states.items()}
    return native_inputs(call, Options()) + [a.framework.view(a, name) for name, a in known.items()]


def slice_inputs(call: Call, options: Options, offset: int, states: Mapping[str, Any]) -> list[NativeArray]:
    """The same with what a slice has: weights, and where it begins."""
    begin = (SLICE_OFFSET, ctypes.c_int64(offset))
    return native_inputs(call, options) + inputs_of(replace(call, pairs=(), inputs={}), states) + [begin]
