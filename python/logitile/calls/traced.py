"""Calls that a framework traces for its own program: the keyed calls that compute outputs and
gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..arguments.binder import Binder
from ..arguments.call import Arguments, Call, Operand
from ..arguments.gradients import output_cotangents, wanted_gradients
from ..arguments.outputs import axes_after_tokens, output_shape
from ..arguments.wanted import Wanted
from ..errors import CallValueError
from ..frameworks.arrays import Array
from ..frameworks.dtypes import FLOATS
from ..frameworks.stand_ins import OpenExtent
from ..frameworks.traced import KeyedCall, Mask, Mean, SlicedCall, TracedResult
from ..messages.names import listed
from ..runtime.engine import native
from ..spec.gradient_flow import differentiable_outputs, has_gradients, reached_inputs
from . import keyed
from .demands import in_one_call, is_early
from .program import Program, gradient_dtype, ignoring_input, program_key, unplaced_request, weight_bytes
from .programs import Programs


def operands(call: Call) -> list[Any]:
    """The arrays that a traced call takes, in order: hidden and weight of each pair, other inputs,
    and the divisor if there is one.
    """
    arrays = [operand.array for operand in call.operands.values()]
    return [array.source for array in (*arrays, *([] if call.divisor is None else [call.divisor]))]


Slicer = Callable[[Binder, Call, tuple[str, ...], tuple[str, ...]], SlicedCall]
"""Makes the parts of a call whose vocabulary is in slices,
from the names of its gradients and of the outputs that they are of."""


class TracedCall:
    """A call with arrays of some shapes and types; see frameworks.traced.TracedHead.

    Args:
        binder, programs: of the head.
        slicer: for calls on several devices.
        call: whose arrays need no numbers. It is kept as long as programs may call its keys,
            without its arrays.
    """

    def __init__(self, binder: Binder, programs: Programs, slicer: Slicer, call: Call):
        _check_extents(call)
        self._binder, self._programs, self._slicer = binder, programs, slicer
        self._call = _without_arrays(call)
        self._wanted: dict[str, Wanted] = {}
        spec = call.form.spec
        names = differentiable_outputs(spec) if has_gradients(spec) else ()
        reached = reached_inputs(spec, names) if names else frozenset()
        self._names = list(call.operands)
        differentiable = [
            operand.parameter in reached and operand.array.dtype in FLOATS
            for operand in call.operands.values()
        ]
        self.differentiable: Mask = (*differentiable, *([] if call.divisor is None else [False]))
        self.carrying = tuple(spec.output_names.index(name) for name in names)
        self.is_transposed = call.form.options.weight_layout == "dv"
        self.numbers_tokens = spec.numbers_tokens
        self.forward = self._keyed(Wanted(), ())

    def is_early(self, asked: Mask) -> bool:
        """See TracedHead."""
        call, names = self._call, self._marked(asked)
        spec, options = call.form.spec, call.form.options
        if names and has_gradients(spec):  # a divisor takes none, and metrics give none
            wanted_gradients(spec, options, call, names)
        made = self._marked(tuple(a and can for a, can in zip(asked, self.differentiable, strict=True)))
        dtypes = {name: operand.array.dtype for name, operand in call.operands.items()}
        return is_early(spec, options, made, dtypes)

    def gradients(self, need: Mask, given: Mask, dtype: str | None = None) -> KeyedCall | None:
        """See TracedHead."""
        outputs = self._call.form.spec.output_names
        reaching = [name for name, present in zip(outputs, given, strict=True) if present]
        wanted = in_one_call(self._call, self._marked(need), reaching or ["loss"], dtype)
        if not wanted.of:
            return None
        return self._keyed(wanted, tuple(reaching))

    def value_and_gradients(
        self, wrt: Iterable[str] | None, grad_output: object, dtype: str | None
    ) -> tuple[KeyedCall, tuple[str, ...], list[Any]]:
        """What `Head.value_and_grad` computes; see there.

        Returns: the call, the names of its gradients, and what reaches its outputs,
            after the operands.

        Raises:
            CallError: a gradient does not exist, or nothing reaches it.
        """
        call, spec = self._call, self._call.form.spec
        names = wanted_gradients(spec, call.form.options, call, wrt)
        cotangents = output_cotangents(spec, grad_output)
        wanted = in_one_call(call, names, cotangents, dtype)
        if not wanted.of:
            raise CallValueError(f"no gradient flows from {listed(cotangents)} to {listed(names)}")
        reaching = {name: item for name, item in cotangents.items() if name in wanted.of}
        made = self._keyed(wanted, tuple(name for name in spec.output_names if name in reaching))
        return made, names, [reaching[name] for name in spec.output_names if name in reaching]

    def result(self, outputs: Sequence[Any]) -> Any:
        """See TracedHead."""
        spec = self._call.form.spec
        return spec.result(dict(zip(spec.output_names, outputs, strict=False)))

    # ---- several devices -------------------------------------------------------------------------

    @property
    def mean(self) -> Mean:
        """See TracedHead."""
        call, spec, options = self._call, self._call.form.spec, self._call.form.options
        names, ignoring = spec.output_names, ignoring_input(spec, options)
        return Mean(
            reduction=options.reduces if "loss" in names else "",
            loss=names.index("loss") if "loss" in names else None,
            weight=names.index("weight") if "weight" in names else None,
            divisor=None if call.divisor is None else len(self._names),
            ignoring=self._names.index(ignoring) if ignoring else None,
            ignore_index=options.ignore_index,
            is_zero_if_all_ignored=options.all_ignored == "zero",
        )

    def on_shard(self, shapes: Sequence[tuple[int, ...]]) -> TracedCall:
        """See TracedHead."""
        binder = self._summing()
        call = _on_shard(binder, self._call, shapes)
        return TracedCall(binder, Programs(self._programs.choices), self._slicer, call)

    def sliced(self, shapes: Sequence[tuple[int, ...]], need: Mask, given: Mask) -> SlicedCall:
        """See TracedHead."""
        binder, outputs = self._summing(), self._call.form.spec.output_names
        reaching = tuple(name for name, present in zip(outputs, given, strict=True) if present)
        return self._slicer(binder, _on_shard(binder, self._call, shapes), self._marked(need), reaching)

    def _summing(self) -> Binder:
        """The head with a sum in the place of a mean."""
        binder = self._binder
        if self.mean.reduction != "mean":
            return binder
        return Binder(binder.loss, replace(binder.options, reduction="sum"), binder.constants)

    def workspace(self, call: KeyedCall, device: str, tokens: int) -> int:
        """See TracedHead."""
        program, plan = self._placed(self._wanted[call.key], device, tokens)
        return plan.describe(tokens, program.threads)["workspace_bytes"]

    def _marked(self, mask: Mask) -> tuple[str, ...]:
        return tuple(name for name, wanted in zip(self._names, mask, strict=False) if wanted)

    # ---- keyed calls -----------------------------------------------------------------------------

    def _keyed(self, wanted: Wanted, cotangents: tuple[str, ...]) -> KeyedCall:
        """The call that makes some gradients. `cotangents` are outputs that a gradient reaches."""
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
        slots = self._arguments(cotangents), self._results(wanted)
        record = keyed.recorded(request, budget, rules, *slots)
        name = keyed.remember(record, self._finder(wanted, slots))
        self._wanted[name] = wanted
        kinds = self.kinds + tuple("token" if self._is_per_token(name) else "scalar" for name in cotangents)
        need = tuple(name in wanted.names for name in self._names) + (False,) * (call.divisor is not None)
        given = tuple(name in cotangents for name in spec.output_names)
        return KeyedCall(name, 1, kinds, self._traced_results(wanted), need, given, self)

    def _arguments(self, cotangents: tuple[str, ...]) -> list[keyed.Slot]:
        call, slots = self._call, []
        for operand in call.operands.values():
            slots.append(("input", operand.native, 0, self._exchanges(operand)))
        if call.divisor is not None:
            slots.append(("divisor", "divisor", 0, False))
        return slots + [("cotangent", name, 0, False) for name in cotangents]

    def _results(self, wanted: Wanted) -> list[keyed.Slot]:
        call, types = self._call, native().TYPES
        slots = [("output", name, types[dtype], False) for name, _, dtype in call.form.outputs]
        for name in wanted.names:
            operand, dtype = call.operands[name], gradient_dtype(call, wanted, name)
            slots.append(("gradient", operand.native, types[dtype], self._exchanges(operand)))
        return slots

    def _exchanges(self, operand: Operand) -> bool:
        """Whether the axes of an array are exchanged for the compiler."""
        return operand.is_weight and self._call.form.options.weight_layout == "dv"

    def _traced_results(self, wanted: Wanted) -> tuple[TracedResult, ...]:
        form, outputs = self._call.form, []
        for output, (name, _, dtype) in zip(form.spec.outputs, form.outputs, strict=True):
            axes = axes_after_tokens(form.options, name, output.places)
            outputs.append(TracedResult(dtype, is_per_token=axes is not None, trailing=axes or ()))
        gradients = [
            TracedResult(gradient_dtype(self._call, wanted, name), like=self._names.index(name))
            for name in wanted.names
        ]
        return (*outputs, *gradients)

    def _is_per_token(self, output: str) -> bool:
        return bool(output_shape(self._call.form.options, (1,), output))

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each operand has an axis for; see KeyedCall."""
        call, kinds = self._call, []
        for name in self._names:
            if name in call.inputs:
                kinds.append(call.form.spec.input(name).axis)
            else:
                kinds.append("weight" if call.operands[name].is_weight else "hidden")
        return (*kinds, *(["scalar"] if call.divisor is not None else []))

    # ---- native calls ----------------------------------------------------------------------------

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
                f"the {what} is the symbol {extent}, but code is compiled for a number; give a number"
            )


def _on_shard(binder: Binder, call: Call, shapes: Sequence[tuple[int, ...]]) -> Call:
    """The call with a device's part of its arrays, in their order.
    It knows the whole vocabulary.
    """
    rest = iter(shapes)

    def shard(array: Array) -> Array:
        return replace(array, shape=next(rest))

    pairs = tuple(replace(p, hidden=shard(p.hidden), weight=shard(p.weight)) for p in call.pairs)
    inputs = {name: shard(array) for name, array in call.inputs.items()}
    axis = 0 if binder.options.weight_layout == "vd" else 1
    given = Arguments(pairs, inputs, None, {})
    form = binder.form(given, call.specialisation, pairs[0].weight.shape[axis])
    return Call(pairs, inputs, None, {}, form)


def _without_arrays(call: Call) -> Call:
    def emptied(array: Array) -> Array:
        return replace(array, source=None)

    pairs = tuple(replace(p, hidden=emptied(p.hidden), weight=emptied(p.weight)) for p in call.pairs)
    inputs = {name: emptied(array) for name, array in call.inputs.items()}
    divisor = None if call.divisor is None else emptied(call.divisor)
    return replace(call, pairs=pairs, inputs=inputs, divisor=divisor)
