"""Slices of the vocabulary: each caller has some rows of the weight, and the states of all callers
are merged.

A program runs its sweeps over the vocabulary one at a time: `partial` runs one over a slice,
`merge` joins what it left on several slices. After the last one, `finish` has the outputs and
`finish_grad` the gradients.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..arguments.binder import Binder
from ..arguments.binding import named_arguments, specialised
from ..arguments.call import Arguments, Call
from ..arguments.gradients import output_cotangents, wanted_gradients
from ..arguments.wanted import Wanted
from ..calls import execute
from ..calls.demands import check_buffers, reaching_outputs
from ..calls.program import described_gradients, ignoring_input
from ..calls.results import cast_back, finished, new_gradients
from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device
from ..frameworks.choice import described
from ..language.entries import MOST_UNROLLED
from ..messages.names import listed, shape_text
from ..spec.loss_spec import LossSpec
from .parts import inputs_of, of_side, part_of, run, slice_inputs
from .states import SliceState, Source, check_complete, check_pair, joined, told

# ---- one sweep over a slice ----------------------------------------------------------------------


def partial(
    binder: Binder,
    args: Sequence[object],
    inputs: Mapping[str, object],
    where: tuple[int, int],
    state: SliceState | None,
    wrt: Iterable[str] | None,
    grad_output: object,
) -> SliceState:
    """See Head.partial; `where` is column_offset and vocab_size."""
    if state is not None:
        _check_state(binder, state)
    offset, call = _bound(binder, args, inputs, where, state)
    check_buffers(call, ())
    if state is None:
        source = begun_source(binder, call, () if wrt is None else wrt, grad_output)
        return swept(source, call, offset, 0, {}, {})
    source = _same_source(binder, call, state)
    check_complete(state, "the next sweep")
    if wrt is not None and _names(wrt) != source.wrt:
        raise CallValueError(
            f"wrt names {listed(_names(wrt)) or 'nothing'}, but the state was begun with "
            f"{listed(source.wrt) or 'nothing'}; leave wrt out, or start again"
        )
    if state.next is None:
        raise CallValueError(
            f"all {sum(source.sweeps)} sweeps of '{source.name}' have run; call finish or finish_grad"
        )
    backward = state.next == "backward"
    cotangents = _cotangents(binder, call, state, grad_output) if backward else {}
    return swept(source, call, offset, state.sweep + 1, state.complete, cotangents)


def swept(
    source: Source,
    call: Call,
    offset: int,
    sweep: int,
    earlier: Mapping[str, Any],
    cotangents: Mapping[str, Array],
) -> SliceState:
    """The state after a sweep over the slice of a call.

    Args:
        earlier: what sweeps before it left on all slices.
        cotangents: for backward sweeps; none for forward ones.
    """
    hidden = call.pairs[0].hidden
    part = part_of("sweep", source, call, hidden, sweep, "early" if cotangents else "forward")
    source = replace(source, sweeps=part.sweeps(call.tokens))
    check_sweeps(source)
    states = slice_inputs(call, source.options, offset, earlier)
    outputs = run(part, source, call, hidden, states, cotangents)
    rows = {name: outputs[name] for name, *_ in part.states(call.tokens)}
    columns = ((offset, offset + call.vocab),)
    framework = hidden.framework
    beside = described(framework.to_framework(hidden, framework.empty(hidden, (0,), "float32")), "state")
    return SliceState(source, sweep, columns, rows, earlier, common_call(source, call), cotangents, beside)


def check_sweeps(source: Source) -> None:
    """A loss without sweeps has to read something per token:
    nothing else tells how many tokens there are.
    """
    if not any(source.sweeps) and not any(axis == "token" for _, axis in source.axes):
        raise CallValueError(
            f"'{source.name}' depends on no logit and on no input per token, so its slices have nothing to "
            "tell each other; call the head itself, with the whole weight"
        )


def merge(states: Iterable[SliceState]) -> SliceState:
    """Joins the states that one sweep left on slices of the vocabulary, in any order.
    What was merged merges again.

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
    columns = joined(a.columns + b.columns)
    if not a.rows:
        return replace(a, columns=columns)
    part = part_of("merge", a.source, a.call, a.like, a.sweep, "early" if a.cotangents else "forward")
    states = {of_side("first", name): array for name, array in a.rows.items()}
    states |= {of_side("second", name): array for name, array in b.rows.items()}
    inputs = inputs_of(a.call, {**a.earlier, **states})
    outputs = run(part, a.source, a.call, a.like, inputs, a.cotangents)
    return replace(a, rows={name: outputs[name] for name in a.rows}, columns=columns)


# ---- the end -------------------------------------------------------------------------------------


def finish(binder: Binder, state: SliceState) -> Any:
    """See Head.finish."""
    _check_state(binder, state)
    source = _same_source(binder, state.call, state)
    check_complete(state, "finish")
    if state.next == "forward":
        raise CallValueError(
            f"{state.sweep + 1} of {source.sweeps[0]} forward sweeps have run; run the others with "
            "head.partial(..., state=state) while state.next == 'forward'"
        )
    return state.call.form.spec.result(finished_outputs(source, state))


def finished_outputs(source: Source, state: SliceState) -> dict[str, Any]:
    """The outputs by name, from the merged state of all forward sweeps."""
    part = part_of("finish", source, state.call, state.like)
    return run(part, source, state.call, state.like, inputs_of(state.call, state.complete), {})


def finish_grad(
    binder: Binder,
    state: SliceState,
    args: Sequence[object],
    inputs: Mapping[str, object],
    where: tuple[int, int],
    grad_output: object,
    grad_dtype: object,
) -> dict[str, Any]:
    """See Head.finish_grad; `where` is column_offset and vocab_size."""
    _check_state(binder, state)
    offset, call = _bound(binder, args, inputs, where, state)
    source = _same_source(binder, call, state)
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
    check_buffers(call, source.wrt)
    dtype = execute.checked_dtype(grad_dtype)
    wanted = Wanted(source.wrt, source.of, "early", dtype, bool(call.weight_grad_out))
    cotangents = _cotangents(binder, call, state, grad_output)
    return slice_gradients(replace(state, cotangents=cotangents), call, offset, wanted)


def slice_gradients(state: SliceState, call: Call, offset: int, wanted: Wanted) -> dict[str, Any]:
    """The gradients of a slice by name, from the merged state, which has the cotangents.

    Those that `wanted` has in float32 stay so.
    """
    source, hidden = state.source, call.pairs[0].hidden
    part = part_of("gradient", source, call, hidden, 0, "early", wanted)
    made_for = described_gradients(call, wanted)
    gradients, made = new_gradients(call, source.options, wanted, made_for)
    states = slice_inputs(call, source.options, offset, state.complete)
    run(part, source, call, hidden, states, state.cotangents, made)
    others = [gradient for gradient in made_for if gradient.name not in wanted.in_float32]
    return finished(call, {**gradients, **cast_back(call, others, gradients, wanted.dtype)})


# ---- arguments -----------------------------------------------------------------------------------


def _bound(
    binder: Binder,
    args: Sequence[object],
    inputs: Mapping[str, object],
    where: tuple[int, int],
    state: SliceState | None,
) -> tuple[int, Call]:
    """The first column and the call of a slice that goes on with a state, if there is one."""
    if state is None:
        return bound_to_slice(binder, args, inputs, where)
    given = named_arguments(binder.loss.signature, args, inputs)
    return bound_slice(binder, state.source.rounded(given), where)


def bound_to_slice(
    binder: Binder, args: Sequence[object], inputs: Mapping[str, object], where: tuple[object, object]
) -> tuple[int, Call]:
    """The first column and the call of a new slice, specialised for the whole vocabulary.

    Args:
        args, inputs: as a user gives them: where torch casts automatically,
            hidden and weights are rounded.
        where: column_offset and vocab_size.

    Raises:
        CallError: the arguments do not fit.
    """
    given = named_arguments(binder.loss.signature, *binder.rounded(args, inputs))
    return bound_slice(binder, given, where)


def bound_slice(binder: Binder, given: Arguments, where: tuple[object, object]) -> tuple[int, Call]:
    """The same from arguments that have their names.

    Raises:
        CallError: they do not fit.
    """
    first, vocab = _integer(where[0], "column_offset"), _integer(where[1], "vocab_size")
    signature = binder.loss.signature
    part = specialised(signature, binder.options, given)
    if first < 0 or first + part.vocab > vocab:
        raise CallValueError(
            f"column_offset {first} and the {part.vocab} rows of weight make columns [{first}, "
            f"{first + part.vocab}), which vocab_size {vocab} does not hold; vocab_size counts all slices"
        )
    form = binder.form(given, replace(part, vocab=vocab), part.vocab)
    return first, Call(given.pairs, given.inputs, given.divisor, given.weight_grad_out, form)


def common_call(source: Source, call: Call) -> Call:
    """What all slices of a call have in common: inputs per token, scalars and the divisor."""
    common = {name: call.inputs[name] for name, axis in source.axes if axis in ("token", "scalar")}
    form = replace(call.form, vocab=source.vocab, requiring=(), recorded=None)
    return Call((), common, call.divisor, {}, form)


def _integer(value: object, name: str) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise CallTypeError(f"'{name}' is {value!r}; it must be an integer") from None


def _names(wrt: Iterable[str]) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)


def begun_source(binder: Binder, call: Call, wrt: Iterable[str], grad_output: object) -> Source:
    """The source of a state that begins with a call."""
    spec, names = call.form.spec, _names(wrt)
    _check_lists(spec)
    if not names:
        return _source(binder, call, (), frozenset(), (), _rounding(call))
    names = wanted_gradients(spec, binder.options, call, names)
    outputs = tuple(output_cotangents(spec, grad_output))
    of = reaching_outputs(call, names, outputs)
    if not of:
        raise CallValueError(
            f"no gradient flows from {listed(outputs)} to {listed(names)}; name other outputs in "
            f"grad_output, "
            "or leave wrt out"
        )
    parameters = frozenset(call.operands[name].parameter for name in names)
    return _source(binder, call, names, parameters, of, _rounding(call))


def _check_lists(spec: LossSpec) -> None:
    """Programs of slices have code for each place of a list that is read.
    They give no other lists.
    """
    for output in spec.outputs:
        op = spec.ops[output.value]
        if op.places is not None and not op.is_ranked:
            raise CallValueError(
                f"{op.location}: the output '{output.name}' of '{spec.name}' is a list that is computed, "
                "which slices of the vocabulary do not give; add it up with lt.sum, or compute it after the "
                "call"
            )
    for op in spec.ops:
        if not op.is_ranked and (op.places or 0) > MOST_UNROLLED:
            raise CallValueError(
                f"{op.location}: '{spec.name}' computes with a list of {op.places} numbers per token; slices "
                f"of the vocabulary take lists of at most {MOST_UNROLLED}: take a shorter list, or the whole "
                "vocabulary in one call"
            )


def _rounding(call: Call) -> tuple[tuple[str, str | None, str | None], ...]:
    return tuple((pair.name, pair.hidden.rounded_to, pair.weight.rounded_to) for pair in call.pairs)


def _source(
    binder: Binder,
    call: Call,
    names: tuple[str, ...],
    parameters: frozenset[str],
    of: tuple[str, ...],
    rounding: tuple[tuple[str, str | None, str | None], ...],
) -> Source:
    spec = binder.traced(call.specialisation)  # a state may be of another head
    axes = tuple((given.name, given.axis) for given in spec.inputs)
    text = spec.text(
        [name for name in spec.output_names if name in of] or None,
        [name for name, _ in axes if name in parameters] or None,
        locations=False,
    )
    ignore = ignoring_input(spec, binder.options)
    divided = call.divisor is not None
    return Source(
        spec.name, spec.vocab, text, binder.options, ignore, names, parameters, of, axes, divided, rounding
    )


def _same_source(binder: Binder, call: Call, state: SliceState) -> Source:
    """The source of a state that a call goes on with."""
    source = state.source
    if call.pairs:
        check_same_device([("hidden", call.pairs[0].hidden), ("state", state.like)])
    if call.leading != state.call.leading:
        raise CallValueError(
            f"leading dimensions {shape_text(call.leading)} of hidden must equal "
            f"{shape_text(state.call.leading)} of the state; go on with the tokens that it was begun with"
        )
    mine = _source(binder, call, source.wrt, source.parameters, source.of, source.rounding)
    if mine.digest != source.digest:
        raise CallValueError(
            f"the state is of {told(source)}, but this call is of {told(mine)}; a state goes with the head "
            "that made it, and with the inputs of its first sweep"
        )
    return source


def _check_state(binder: Binder, state: object) -> None:
    if not isinstance(state, SliceState):
        raise CallTypeError(f"'state' is {type(state).__name__}; give a state of head.partial or lt.merge")
    known = {parameter.name for parameter in binder.loss.signature.inputs}
    if binder.loss.name != state.source.name or not known.issuperset(name for name, _ in state.source.axes):
        raise CallValueError(
            f"the state is of '{state.source.name}', but the head is of '{binder.loss.name}'; a state goes "
            f"with "
            "the head that made it"
        )


def _cotangents(binder: Binder, call: Call, state: SliceState, grad_output: object) -> Mapping[str, Array]:
    """What reaches the outputs; the first backward sweep settles it."""
    source, settled = state.source, state.cotangents
    if settled and grad_output is None:
        return settled
    given = execute.given_cotangents(call, grad_output)
    of = reaching_outputs(call, source.wrt, given)
    if set(of) != set(source.of):
        raise CallValueError(
            f"grad_output reaches {listed(of)}, but the state was begun for {listed(source.of)}; name the "
            f"same "
            "outputs in the first call of head.partial"
        )
    for name in settled:
        if not _is_same(settled[name], given[name]):
            raise CallValueError(
                f"grad_output of '{name}' is {given[name].source}, but the backward sweeps had "
                f"{settled[name].source}; give the same, or leave it out"
            )
    return settled or {name: given[name] for name in of}


def _is_same(a: Array, b: Array) -> bool:
    numbers = a.framework.is_number and b.framework.is_number
    return a.source == b.source if numbers else a.source is b.source
