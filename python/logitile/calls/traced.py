"""Calls that a framework traces for a program of its own: which keyed calls compute it and its gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..arguments.call import Call
from ..arguments.gradients import is_weight, native_name, upstream_gradients, wanted_gradients
from ..arguments.outputs import output_shape
from ..arguments.wanted import Wanted
from ..errors import CallValueError
from ..frameworks.arrays import Array
from ..frameworks.dtypes import FLOATS
from ..frameworks.stand_ins import OpenExtent
from ..frameworks.traced import KeyedCall, Mask, TracedResult
from ..messages.names import listed
from ..runtime.engine import native
from ..spec.gradient_flow import differentiable_outputs, has_gradients, reached_inputs
from . import keyed
from .demands import in_one_call, is_early
from .program import Program, gradient_dtype, ignoring_input, program_key, unplaced_request, weight_bytes
from .programs import Programs


def operands(call: Call) -> list[Any]:
    """The arrays that a traced call takes, in order: hidden and weight of each pair, other inputs, and the
    divisor if there is one.
    """
    arrays = [array for _, array in call.operands.values()]
    return [array.source for array in (*arrays, *([] if call.divisor is None else [call.divisor]))]


class TracedCall:
    """A call with arrays of some shapes and types; see frameworks.traced.TracedHead.

    Args:
        programs: of the head.
        call: whose arrays need no numbers. It is kept as long as programs may call its keys, without its
            arrays.
    """

    def __init__(self, programs: Programs, call: Call):
        _check_extents(call)
        self._programs, self._call = programs, _without_arrays(call)
        self._wanted: dict[str, Wanted] = {}
        spec = call.form.spec
        names = differentiable_outputs(spec) if has_gradients(spec) else ()
        reached = reached_inputs(spec, names) if names else frozenset()
        self._names = list(call.operands)
        differentiable = [
            parameter in reached and array.dtype in FLOATS for parameter, array in call.operands.values()
        ]
        self.differentiable: Mask = (*differentiable, *([] if call.divisor is None else [False]))
        self.carrying = tuple(spec.output_names.index(name) for name in names)
        self.forward = self._keyed(Wanted(), ())

    def is_early(self, asked: Mask) -> bool:
        """See TracedHead."""
        call, names = self._call, self._marked(asked)
        spec, options = call.form.spec, call.form.options
        if names and has_gradients(spec):  # a divisor takes none, and metrics give none
            wanted_gradients(spec, options, call, names)
        made = self._marked(tuple(a and can for a, can in zip(asked, self.differentiable, strict=True)))
        dtypes = {name: array.dtype for name, (_, array) in call.operands.items()}
        return is_early(spec, options, made, dtypes)

    def gradients(self, need: Mask, given: Mask) -> KeyedCall | None:
        """See TracedHead."""
        outputs = self._call.form.spec.output_names
        reaching = [outputs[i] for i, present in zip(self.carrying, given, strict=True) if present]
        wanted = in_one_call(self._call, self._marked(need), reaching or ["loss"])
        if not wanted.of:
            return None
        return self._keyed(wanted, tuple(reaching))

    def value_and_gradients(
        self, wrt: Iterable[str] | None, grad_output: object, dtype: str | None
    ) -> tuple[KeyedCall, tuple[str, ...], list[Any]]:
        """What `Head.value_and_grad` computes; see there.

        Returns: the call, the names of its gradients, and what reaches its outputs, behind the operands.

        Raises:
            CallError: a gradient does not exist, or nothing reaches it.
        """
        call, spec = self._call, self._call.form.spec
        names = wanted_gradients(spec, call.form.options, call, wrt)
        upstreams = upstream_gradients(spec, grad_output)
        wanted = in_one_call(call, names, upstreams, dtype)
        if not wanted.of:
            raise CallValueError(f"no gradient flows from {listed(upstreams)} to {listed(names)}")
        reaching = {name: item for name, item in upstreams.items() if name in wanted.of}
        return self._keyed(wanted, tuple(reaching)), names, list(reaching.values())

    def result(self, outputs: Sequence[Any]) -> Any:
        """See TracedHead."""
        spec = self._call.form.spec
        return spec.result(dict(zip(spec.output_names, outputs, strict=False)))

    def workspace(self, call: KeyedCall, tokens: int) -> int:
        """See TracedHead."""
        program, plan = self._placed(self._wanted[call.key], "cuda:0", tokens)
        return plan.describe(tokens, program.threads)["workspace_bytes"]

    def _marked(self, mask: Mask) -> tuple[str, ...]:
        return tuple(name for name, wanted in zip(self._names, mask, strict=False) if wanted)

    # ---- keyed calls -------------------------------------------------------------------------------------

    def _keyed(self, wanted: Wanted, upstreams: tuple[str, ...]) -> KeyedCall:
        """The call that makes some gradients; `upstreams` are the outputs that a gradient reaches."""
        call, spec, options = self._call, self._call.form.spec, self._call.form.options
        key = program_key(call, wanted, "", 0)
        request = unplaced_request(spec, options, call, key)
        del request["located_spec"]
        budget = {
            "backend": options.backend,
            "workspace": options.workspace,
            "chunks": options.chunks,
            "weight_bytes": weight_bytes(call),
        }
        rules = {
            "reduction": options.reduces if "loss" in spec.output_names else "none",
            "ignore": ignoring_input(spec, options),
            "ignore_index": options.ignore_index,
            "zero_if_all_ignored": options.all_ignored == "zero",
        }
        slots = self._arguments(upstreams), self._results(wanted)
        record = keyed.recorded(request, budget, rules, *slots)
        name = keyed.remember(record, self._finder(wanted, slots))
        self._wanted[name] = wanted
        has_tokens = self._has_tokens() + tuple(self._is_per_token(name) for name in upstreams)
        return KeyedCall(name, 1, has_tokens, self._traced_results(wanted), bool(wanted.names), self)

    def _arguments(self, upstreams: tuple[str, ...]) -> list[keyed.Slot]:
        call, slots = self._call, []
        for name in self._names:
            exchanges = is_weight(call, name) and call.form.options.weight_layout == "dv"
            slots.append(("input", native_name(call, name), 0, exchanges))
        if call.divisor is not None:
            slots.append(("divisor", "divisor", 0, False))
        return slots + [("upstream", name, 0, False) for name in upstreams]

    def _results(self, wanted: Wanted) -> list[keyed.Slot]:
        call, types = self._call, native().TYPES
        slots = [("output", name, types[dtype], False) for name, _, dtype in call.form.outputs]
        for name in wanted.names:
            exchanges = is_weight(call, name) and call.form.options.weight_layout == "dv"
            dtype = gradient_dtype(call, wanted, name)
            slots.append(("gradient", native_name(call, name), types[dtype], exchanges))
        return slots

    def _traced_results(self, wanted: Wanted) -> tuple[TracedResult, ...]:
        outputs = [TracedResult(d, is_per_token=self._is_per_token(n)) for n, _, d in self._call.form.outputs]
        gradients = [
            TracedResult(gradient_dtype(self._call, wanted, name), like=self._names.index(name))
            for name in wanted.names
        ]
        return (*outputs, *gradients)

    def _is_per_token(self, output: str) -> bool:
        return bool(output_shape(self._call.form.options, (1,), output))

    def _has_tokens(self) -> Mask:
        call = self._call
        given = {name: call.form.spec.input(name).axis in ("token", "dense") for name in call.inputs}
        mask = tuple(given.get(name, not is_weight(call, name)) for name in self._names)
        return mask if call.divisor is None else (*mask, False)

    # ---- native calls ------------------------------------------------------------------------------------

    def _finder(self, wanted: Wanted, slots: tuple[list[keyed.Slot], list[keyed.Slot]]) -> keyed.Finder:
        def finder(device: str, tokens: int) -> Any:
            program, plan = self._placed(wanted, device, tokens)
            picks = " or ".join(str(place) for place in program.picks)
            return keyed.native_call(plan, program.call_options, wanted.mode == "early", slots, device, picks)

        return finder

    def _placed(self, wanted: Wanted, device: str, tokens: int) -> tuple[Program, Any]:
        """The program and its plan for a device, with what tuning found there."""
        call = self._call
        pairs = tuple(replace(pair, hidden=replace(pair.hidden, device=device)) for pair in call.pairs)
        placed = replace(call, pairs=pairs, form=replace(call.form, leading=(tokens,)))
        program = Program(placed, self._programs.key(placed, wanted))
        return program, program.plan(tokens)


def _check_extents(call: Call) -> None:
    """Code is made for one vocabulary, hidden size and number of entries.

    Raises:
        CallValueError: a program leaves one of them open.
    """
    extents = [("vocabulary size", call.vocab)]
    extents += [(f"hidden size of '{pair.name}'", pair.hidden_size) for pair in call.pairs]
    extents += [(f"number of entries of '{name}'", count) for name, count in call.specialisation.entries]
    for what, extent in extents:
        if isinstance(extent, OpenExtent):
            raise CallValueError(
                f"the {what} is the symbol {extent}, but code is made for a number; give one"
            )


def _without_arrays(call: Call) -> Call:
    def emptied(array: Array) -> Array:
        return replace(array, source=None)

    pairs = tuple(replace(p, hidden=emptied(p.hidden), weight=emptied(p.weight)) for p in call.pairs)
    inputs = {name: emptied(array) for name, array in call.inputs.items()}
    divisor = None if call.divisor is None else emptied(call.divisor)
    return replace(call, pairs=pairs, inputs=inputs, divisor=divisor)
