"""The vocabulary in slices: each caller has some rows of the weight, and what it knows of a token is merged
with what the others know.

A program runs its sweeps over the vocabulary one at a time: `partial` runs one over a slice, `merge` joins
what it left on several slices. After the last one, `finish` has the outputs and `finish_grad` the gradients.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..arguments.binding import Call, named_arguments, specialised
from ..arguments.gradients import native_name, upstream_gradients, wanted_gradients
from ..arguments.options import Options
from ..calls import execute
from ..calls.program import (
    Wanted,
    call_options,
    described_gradients,
    described_pair,
    gradient_dtype,
    located,
    native_inputs,
    workspace_budget,
)
from ..errors import CallIndexError, CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device, described
from ..frameworks.memory import given_back, result, stream, view
from ..messages.names import listed, shape_text
from ..runtime.engine import engine, place
from .states import SliceState, Source, check_complete, check_pair, joined, told

if TYPE_CHECKING:
    from .. import _native
    from .._native import Array as NativeArray
    from ..head import Head

_RESULTS = {"float32": "float32", "int32": "int64", "bool": "bool"}


# ---- one sweep over a slice --------------------------------------------------------------------------------


def partial(
    head: Head,
    args: Sequence[object],
    inputs: Mapping[str, object],
    where: tuple[int, int],
    state: SliceState | None,
    wrt: Iterable[str] | None,
    grad_output: object,
) -> SliceState:
    """See Head.partial; `where` is column_offset and vocab_size."""
    offset, call = _bound(head, args, inputs, where)
    execute.check_buffers(call, ())
    if state is None:
        source = _begun(head, call, () if wrt is None else wrt, grad_output)
        return _swept(source, call, offset, 0, {}, {})
    _check_state(head, state)
    source = _same_source(head, call, state)
    check_complete(state, "the next sweep")
    if wrt is not None and _names(wrt) != source.wrt:
        raise CallValueError(
            f"wrt names {listed(_names(wrt)) or 'nothing'}, but the state was begun with "
            f"{listed(source.wrt) or 'nothing'}; leave wrt out, or begin anew"
        )
    if state.next is None:
        raise CallValueError(
            f"all {sum(source.sweeps)} sweeps of '{source.name}' have run; call finish or finish_grad"
        )
    adjoint = state.next == "adjoint"
    upstreams = _upstreams(head, call, state, grad_output) if adjoint else {}
    return _swept(source, call, offset, state.sweep + 1, state.complete, upstreams)


def _swept(
    source: Source,
    call: Call,
    offset: int,
    sweep: int,
    earlier: Mapping[str, Any],
    upstreams: Mapping[str, Array],
) -> SliceState:
    """The state after a sweep over the slice of a call."""
    part = _part("sweep", source, call, call.pairs[0].hidden, sweep, "early" if upstreams else "forward")
    source = replace(source, sweeps=part.sweeps(call.tokens))
    outputs = _run(
        part,
        source,
        call,
        call.pairs[0].hidden,
        _slice_inputs(call, source.options, offset, earlier),
        upstreams,
    )
    rows = {name: array for name, array in outputs.items() if "." in name}  # no output of a loss has a dot
    common = {name: call.inputs[name] for name, axis in source.axes if axis in ("token", "scalar")}
    columns = ((offset, offset + call.vocab),)
    form = replace(call.form, vocab=source.vocab, requiring=(), recorded=None, programs={})
    kept = Call((), common, call.divisor, {}, form)
    return SliceState(source, sweep, columns, rows, earlier, kept, upstreams)


def merge(states: Iterable[SliceState]) -> SliceState:
    """Joins the states that one sweep left on slices of the vocabulary, in any order. What was merged merges
    again.

    Args:
        states: of the same head and sweep, for the same tokens; their columns do not overlap.

    Raises:
        CallTypeError: there are no states, or something else is among them.
        CallValueError: they do not belong together.
    """
    states = tuple(states)
    wrong = next((item for item in states if not isinstance(item, SliceState)), None)
    if wrong is not None or not states:
        what = f"{type(wrong).__name__} is among these" if states else "there is none"
        raise CallTypeError(f"lt.merge takes states of head.partial, but {what}")
    return functools.reduce(_merged, states)


def _merged(a: SliceState, b: SliceState) -> SliceState:
    check_pair(a, b)
    part = _part("merge", a.source, a.call, a.like, a.sweep, "early" if a.upstreams else "forward")
    states = {f"first.{name}": array for name, array in a.rows.items()}
    states |= {f"second.{name}": array for name, array in b.rows.items()}
    inputs = _inputs(a.call, {**a.earlier, **states})
    outputs = _run(part, a.source, a.call, a.like, inputs, a.upstreams)
    return replace(a, rows={name: outputs[name] for name in a.rows}, columns=joined(a.columns + b.columns))


# ---- the end -----------------------------------------------------------------------------------------------


def finish(head: Head, state: SliceState) -> Any:
    """See Head.finish."""
    _check_state(head, state)
    source = _same_source(head, state.call, state)
    check_complete(state, "finish")
    if state.next == "forward":
        raise CallValueError(
            f"{state.sweep + 1} of {source.sweeps[0]} forward sweeps have run; run the others with "
            "head.partial(..., state=state) while state.next == 'forward'"
        )
    part = _part("finish", source, state.call, state.like)
    outputs = _run(part, source, state.call, state.like, _inputs(state.call, state.complete), {})
    return head.result(head.spec(state.call), outputs)


def finish_grad(
    head: Head,
    state: SliceState,
    args: Sequence[object],
    inputs: Mapping[str, object],
    where: tuple[int, int],
    grad_output: object,
    grad_dtype: object,
) -> dict[str, Any]:
    """See Head.finish_grad; `where` is column_offset and vocab_size."""
    offset, call = _bound(head, args, inputs, where)
    _check_state(head, state)
    source = _same_source(head, call, state)
    check_complete(state, "finish_grad")
    if not source.wrt:
        raise CallValueError(
            "the state was begun without gradients; name them there: head.partial(..., wrt=('hidden', "
            "'weight'))"
        )
    if state.next:
        raise CallValueError(
            f"{state.sweep + 1} of {sum(source.sweeps)} sweeps have run; run the others with "
            "head.partial(..., state=state) while state.next"
        )
    execute.check_buffers(call, source.wrt)
    dtype = execute.checked_dtype(grad_dtype)
    wanted = Wanted(source.wrt, source.of, "early", dtype, bool(call.weight_grad_out))
    upstreams = _upstreams(head, call, state, grad_output)
    part = _part("gradient", source, call, call.pairs[0].hidden, 0, "early", wanted)
    made_for = described_gradients(call, wanted)
    gradients, made = execute.new_gradients(call, head.options, wanted, made_for)
    states = _slice_inputs(call, source.options, offset, state.complete)
    _run(part, source, call, call.pairs[0].hidden, states, upstreams, made)
    return execute.finished(call, execute.cast_back(call, gradients, dtype))


# ---- arguments ---------------------------------------------------------------------------------------------


def _bound(
    head: Head, args: Sequence[object], inputs: Mapping[str, object], where: tuple[int, int]
) -> tuple[int, Call]:
    """The first column and the call of a slice; its specialisation is that of the whole vocabulary."""
    first, vocab = _integer(where[0], "column_offset"), _integer(where[1], "vocab_size")
    if "torch" in sys.modules:
        from ..frameworks.torch import autograd as torch

        args, inputs = torch.autocast(head.loss.signature, args, inputs)
    given = named_arguments(head.loss.signature, args, inputs)
    part = specialised(head.loss.signature, head.options, given)
    if first < 0 or first + part.vocab > vocab:
        raise CallValueError(
            f"column_offset {first} and the {part.vocab} rows of weight make columns [{first}, "
            f"{first + part.vocab}), which vocab_size {vocab} does not hold; vocab_size counts all slices"
        )
    form = head.form(given, replace(part, vocab=vocab), part.vocab)
    return first, Call(given.pairs, given.inputs, given.divisor, given.weight_grad_out, form)


def _integer(value: object, name: str) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise CallTypeError(f"'{name}' is {value!r}; it must be an integer") from None


def _names(wrt: Iterable[str]) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)


def _begun(head: Head, call: Call, wrt: Iterable[str], grad_output: object) -> Source:
    """The source of a state that begins with a call."""
    spec, names = head.spec(call), _names(wrt)
    if not names:
        return _source(head, call, (), frozenset(), ())
    names = wanted_gradients(spec, head.options, call, names)
    outputs = tuple(upstream_gradients(spec, grad_output))
    of = execute.reaching_outputs(spec, call, names, outputs)
    if not of:
        raise CallValueError(
            f"no gradient flows from {listed(outputs)} to {listed(names)}; name other outputs in "
            f"grad_output, "
            "or leave wrt out"
        )
    return _source(head, call, names, frozenset(call.operands[name][0] for name in names), of)


def _source(
    head: Head, call: Call, names: tuple[str, ...], parameters: frozenset[str], of: tuple[str, ...]
) -> Source:
    spec = head.traced(call.specialisation)  # a state may be of another head
    axes = tuple((given.name, given.axis) for given in spec.inputs)
    text = spec.text(
        [name for name in spec.output_names if name in of] or None,
        [name for name, _ in axes if name in parameters] or None,
        locations=False,
    )
    ignore = call_options(spec, head.options, 1)["ignore"]
    divided = call.divisor is not None
    return Source(spec.name, spec.vocab, text, head.options, ignore, names, parameters, of, axes, divided)


def _same_source(head: Head, call: Call, state: SliceState) -> Source:
    """The source of a state that a call goes on with."""
    source = state.source
    if call.pairs:
        check_same_device([("hidden", call.pairs[0].hidden), ("state", state.like)])
    if call.leading != state.call.leading:
        raise CallValueError(
            f"leading dimensions {shape_text(call.leading)} of hidden must equal "
            f"{shape_text(state.call.leading)} of the state; go on with the tokens that it was begun with"
        )
    mine = _source(head, call, source.wrt, source.parameters, source.of)
    if mine.digest != source.digest:
        raise CallValueError(
            f"the state is of {told(source)}, but this call is of {told(mine)}; a state goes with the head "
            "that made it and with the inputs that it was begun with"
        )
    return source


def _check_state(head: Head, state: object) -> None:
    if not isinstance(state, SliceState):
        raise CallTypeError(f"'state' is {type(state).__name__}; give a state of head.partial or lt.merge")
    known = {parameter.name for parameter in head.loss.signature.inputs}
    if head.loss.name != state.source.name or not known.issuperset(name for name, _ in state.source.axes):
        raise CallValueError(
            f"the state is of '{state.source.name}', but the head is of '{head.loss.name}'; a state goes "
            f"with "
            "the head that made it"
        )


def _upstreams(head: Head, call: Call, state: SliceState, grad_output: object) -> Mapping[str, Array]:
    """What reaches the outputs; the first adjoint sweep settles it."""
    source, settled = state.source, state.upstreams
    if settled and grad_output is None:
        return settled
    spec = head.spec(call)
    given = execute.given_upstreams(spec, call, grad_output)
    of = execute.reaching_outputs(spec, call, source.wrt, given)
    if set(of) != set(source.of):
        raise CallValueError(
            f"grad_output reaches {listed(of)}, but the state was begun for {listed(source.of)}; name the "
            f"same "
            "outputs in the first call of head.partial"
        )
    for name in settled:
        if not _is_same(settled[name], given[name]):
            raise CallValueError(
                f"grad_output of '{name}' is {given[name].source}, but the adjoint sweeps had "
                f"{settled[name].source}; give the same, or leave it out"
            )
    return settled or {name: given[name] for name in of}


def _is_same(a: Array, b: Array) -> bool:
    numbers = a.framework == b.framework == "number"
    return a.source == b.source if numbers else a.source is b.source


# ---- programs ----------------------------------------------------------------------------------------------


class _Part:
    """The program of one part of a slice, with what its plans have in common."""

    def __init__(self, request: dict[str, Any]):
        from .. import _native

        self.threads = request["threads"]
        self._program = _native.Program(engine(), **request)
        self._known: dict[str, Any] | None = None

    def plan(self, tokens: int) -> _native.Plan:
        return self._program.plan(tokens)

    def outputs(self, tokens: int) -> list[tuple[str, str]]:
        """Names and element types."""
        return [(output["name"], output["element"]) for output in self._described(tokens)["outputs"]]

    def sweeps(self, tokens: int) -> tuple[int, int]:
        """Of the whole program: forward and adjoint."""
        forward, adjoint = self._described(tokens)["sweeps"]
        return forward, adjoint

    def _described(self, tokens: int) -> dict[str, Any]:
        if self._known is None:
            self._known = self.plan(tokens).describe(tokens, self.threads)
        return self._known


@functools.lru_cache(maxsize=256)
def _made_part(request: tuple[tuple[str, Any], ...]) -> _Part:
    return _Part(dict(request))


def _part(
    part: str,
    source: Source,
    call: Call,
    like: Array,
    sweep: int = 0,
    mode: str = "forward",
    wanted: Wanted | None = None,
) -> _Part:
    """The program of a part, where `like` is; without pairs it makes no logits."""
    from .. import _native

    types, options = _native.TYPES, source.options
    target, threads = place(options.backend, like.device)
    wanted = wanted or Wanted()
    gradients = [
        (native_name(call, name), types[gradient_dtype(call, wanted, name)]) for name in wanted.names
    ]
    dense = [name for name, axis in source.axes if axis == "dense" and name in call.inputs]
    request = {
        "spec": source.text,
        "pairs": tuple(
            (name, size, *(types[dtype] for dtype in dtypes))
            for name, size, *dtypes in map(described_pair, call.pairs)
        ),
        "dense": tuple((n, types[call.inputs[n].dtype]) for n in dense),
        "gradients": tuple(name for name, _ in gradients),
        "gradient_types": tuple(gradients),
        "mode": mode,
        "accumulate": wanted.accumulate,
        "target": target,
        "threads": threads,
        "slice": (part, call.vocab if call.pairs else 1, sweep),
        "workspace": 0 if options.chunks else workspace_budget(options, call, target, threads),
        "chunks": options.chunks or 0,
    }
    return _made_part(tuple(request.items()))


def _run(
    part: _Part,
    source: Source,
    call: Call,
    like: Array,
    inputs: list[NativeArray],
    upstreams: Mapping[str, Array],
    gradients: Sequence[NativeArray] = (),
) -> dict[str, Any]:
    """The outputs of a part by name, in the framework of hidden; gradients are written in place."""
    from .. import _native

    options, outputs, written = source.options, {}, []
    known = part.outputs(call.tokens)
    reduces = options.reduces if any(name == "loss" for name, _ in known) else "none"
    for name, element in known:
        is_reduced = name == "loss" and reduces != "none"
        shape = () if is_reduced else call.leading
        outputs[name], native = result(like, shape, _RESULTS[element], name)
        written.append(native)
    settings = _native.CallOptions(
        reduction=reduces, ignore=source.ignore, ignore_index=options.ignore_index,
        zero_if_all_ignored=options.all_ignored == "zero", threads=part.threads,
    )  # fmt: skip
    uses_divisor = call.divisor is not None and reduces == "mean"
    divisor = view(call.divisor, "divisor") if uses_divisor else None
    try:
        part.plan(call.tokens).forward(
            settings,
            inputs,
            written,
            gradients,
            [view(array, name) for name, array in upstreams.items()],
            None if divisor is None else divisor[1] if len(divisor) == 2 else divisor[1:],
            stream(like),
        )
    except CallIndexError as error:
        raise located(error, call.form.spec) from None
    return {name: given_back(like, array) for name, array in outputs.items()}


def _inputs(call: Call, states: Mapping[str, Any]) -> list[NativeArray]:
    """Inputs of a call and states, for the native module."""
    return native_inputs(call, Options()) + [
        view(described(array, name), name) for name, array in states.items()
    ]


def _slice_inputs(call: Call, options: Options, offset: int, states: Mapping[str, Any]) -> list[NativeArray]:
    """The same with what a slice has: weights, and where it begins."""
    begin = ("slice.offset", ctypes.c_int64(offset))
    return native_inputs(call, options) + _inputs(replace(call, pairs=(), inputs={}), states) + [begin]
