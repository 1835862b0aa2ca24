"""The parts of a sliced call as a framework traces them: keyed calls, and the role of each array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..arguments.binder import Binder
from ..arguments.call import Call
from ..arguments.outputs import output_shape
from ..arguments.wanted import Wanted
from ..calls import keyed
from ..calls.program import gradient_dtype, weight_bytes
from ..frameworks.traced import KeyedCall, SliceArray, SlicedPart, TracedResult
from ..runtime.engine import native
from .parts import SLICE_OFFSET, Made, of_side, part_of, unplaced_part
from .sweeps import begun_source, check_sweeps, common_call


def sliced_call(
    binder: Binder, call: Call, names: tuple[str, ...], reaching: tuple[str, ...]
) -> TracedSlices:
    """The parts of a call; see TracedSlices."""
    return TracedSlices(binder, call, names, reaching)


class TracedSlices:
    """The parts of a call whose vocabulary is in slices; see frameworks.traced.SlicedCall.

    Args:
        binder: of the head.
        call: with the arrays of one slice, and a form that knows the whole vocabulary.
        names: of the gradients.
        reaching: the outputs that they are gradients of.
    """

    def __init__(self, binder: Binder, call: Call, names: tuple[str, ...], reaching: tuple[str, ...]):
        cotangents = reaching[0] if call.form.spec.bare and reaching else dict.fromkeys(reaching, 1.0)
        self._source = begun_source(binder, call, names, 1.0 if isinstance(cotangents, str) else cotangents)
        self._call, self._names, self._reaching = call, names, reaching
        self.numbers_tokens = call.form.spec.numbers_tokens
        self._operands = list(call.operands)
        self._common = common_call(self._source, call)
        self._made: dict[str, Made] = {}  # states and outputs
        self._records: dict[str, dict[str, Any]] = {}  # by key
        first = part_of("sweep", self._source, call, call.pairs[0].hidden)
        self.forward, self.backward = first.sweeps(call.tokens)
        check_sweeps(replace(self._source, sweeps=(self.forward, self.backward)))

    def sweep(self, number: int) -> SlicedPart:
        """See SlicedCall."""
        mode = "forward" if number < self.forward else "early"
        cotangents = self._reaching if mode == "early" else ()
        states = self._before(number)
        operands = [*self._all_operands(), *self._cotangents(cotangents), *states, SliceArray("offset")]
        return self._part("sweep", number, mode, self._call, operands)

    def merge(self, number: int) -> SlicedPart:
        """See SlicedCall."""
        mode = "forward" if number < self.forward else "early"
        cotangents = self._reaching if mode == "early" else ()
        rows = self._rows(number)
        sides = [SliceArray(side, state=row) for side in ("first", "second") for row in rows]
        operands = [*sides, *self._common_operands(), *self._cotangents(cotangents), *self._before(number)]
        return self._part("merge", number, mode, self._common, operands)

    def finish(self) -> SlicedPart:
        """See SlicedCall."""
        states = self._before(self.forward)
        # without sweeps hidden states alone tell the tokens
        counted = states or [SliceArray("input", 0)]
        operands = [*counted, *self._common_operands()]
        return self._part("finish", 0, "forward", self._common, operands)

    def gradient(self) -> SlicedPart:
        """See SlicedCall."""
        states = self._before(self.forward + self.backward)
        operands = [*self._all_operands(), *self._cotangents(self._reaching), *states, SliceArray("offset")]
        return self._part("gradient", 0, "early", self._call, operands)

    def workspace(self, call: KeyedCall, device: str, tokens: int) -> int:
        """See TracedHead."""
        plan, threads = keyed.planned(self._records[call.key], device, tokens)
        return plan.describe(tokens, threads)["workspace_bytes"]

    # ---- arrays ----------------------------------------------------------------------------------

    def _all_operands(self) -> list[SliceArray]:
        return [SliceArray("input", position) for position in range(len(self._operands))]

    def _common_operands(self) -> list[SliceArray]:
        return [SliceArray("input", self._operands.index(name)) for name in self._common.inputs]

    def _cotangents(self, names: Sequence[str]) -> list[SliceArray]:
        outputs = self._call.form.spec.output_names
        return [SliceArray("cotangent", outputs.index(name)) for name in names]

    def _before(self, number: int) -> list[SliceArray]:
        """What sweeps before a number left."""
        return [SliceArray("state", state=row) for sweep in range(number) for row in self._rows(sweep)]

    def _rows(self, number: int) -> list[str]:
        """The names of what a sweep leaves."""
        mode = "forward" if number < self.forward else "early"
        part = part_of("sweep", self._source, self._call, self._call.pairs[0].hidden, number, mode)
        found = part.states(self._call.tokens)
        self._made.update((row.name, row) for row in found)
        return [row.name for row in found]

    def _results(self, part: str, number: int, mode: str, call: Call, wanted: Wanted) -> list[SliceArray]:
        """What a part writes: states, outputs, though they may mean nothing yet, and gradients."""
        program = part_of(part, self._source, call, self._call.pairs[0].hidden, number, mode, wanted)
        outputs, results = self._call.form.spec.output_names, []
        for made in program.outputs(self._call.tokens):
            self._made[made.name] = made
            if made.name in outputs:
                results.append(SliceArray("output", outputs.index(made.name)))
            else:
                results.append(SliceArray("state", state=made.name))
        return results + [SliceArray("gradient", self._operands.index(name)) for name in wanted.names]

    # ---- keyed calls -----------------------------------------------------------------------------

    def _part(
        self, part: str, number: int, mode: str, call: Call, operands: Sequence[SliceArray]
    ) -> SlicedPart:
        source, options = self._source, self._source.options
        dtype = "float32"  # of gradients: sums over devices round but once
        wanted = Wanted(source.wrt, source.of, "early", dtype) if part == "gradient" else Wanted()
        request = unplaced_part(part, source, call, number, mode, wanted)
        budget = {
            "backend": options.backend,
            "workspace": options.workspace,
            "chunks": options.chunks,
            "weight_bytes": weight_bytes(call),
        }
        results = self._results(part, number, mode, call, wanted)
        rules = {
            "reduction": options.reduces if self._has_loss(results) else "none",
            "ignore": source.ignore,
            "ignore_index": options.ignore_index,
            "zero_if_all_ignored": options.all_ignored == "zero",
        }
        read, written = map(self._argument, operands), (self._result(made, wanted) for made in results)
        record = keyed.recorded(request, budget, rules, list(read), list(written))
        key = keyed.remember(record, keyed.finder_of(record))
        self._records[key] = record
        rest = 1 if operands[0].kind == "input" else len(self._made[operands[0].state].trailing)
        kinds = tuple(self._kind(array) for array in operands)
        traced = tuple(self._traced(made, wanted, list(operands)) for made in results)
        none = (False,) * len(operands)
        return SlicedPart(
            KeyedCall(key, rest, kinds, traced, none, (), self, True), tuple(operands), tuple(results)
        )

    def _has_loss(self, results: Sequence[SliceArray]) -> bool:
        outputs = self._call.form.spec.output_names
        return "loss" in outputs and SliceArray("output", outputs.index("loss")) in results

    def _argument(self, array: SliceArray) -> keyed.Slot:
        if array.kind == "input":
            operand = self._operands[array.position]
            return "input", self._call.operands[operand].native, 0, self._exchanges(operand)
        if array.kind == "cotangent":
            return "cotangent", self._call.form.spec.output_names[array.position], 0, False
        if array.kind == "offset":
            return "input", SLICE_OFFSET, 0, False
        name = array.state if array.kind == "state" else of_side(array.kind, array.state)
        return "input", name, 0, False

    def _result(self, made: SliceArray, wanted: Wanted) -> keyed.Slot:
        types = native().TYPES
        if made.kind == "gradient":
            operand = self._operands[made.position]
            dtype = gradient_dtype(self._call, wanted, operand)
            return "gradient", self._call.operands[operand].native, types[dtype], self._exchanges(operand)
        if made.kind == "output":
            output, _, dtype = self._call.form.outputs[made.position]
            return "output", output, types[dtype], False
        return "output", made.state, types[self._made[made.state].dtype], False

    def _exchanges(self, operand: str) -> bool:
        """Whether the axes of an array are exchanged for the compiler."""
        return self._call.operands[operand].is_weight and self._source.options.weight_layout == "dv"

    def _kind(self, array: SliceArray) -> str:
        """See KeyedCall."""
        if array.kind == "input":
            operand = self._operands[array.position]
            if operand in self._call.inputs:
                return self._call.form.spec.input(operand).axis
            return "weight" if self._call.operands[operand].is_weight else "hidden"
        if array.kind == "cotangent":
            return self._kind_of_output(array.position)
        return "scalar" if array.kind == "offset" else "token"

    def _kind_of_output(self, position: int) -> str:
        name = self._call.form.spec.output_names[position]
        return "token" if output_shape(self._source.options, (1,), name) else "scalar"

    def _traced(self, made: SliceArray, wanted: Wanted, operands: list[SliceArray]) -> TracedResult:
        if made.kind == "gradient":
            dtype = gradient_dtype(self._call, wanted, self._operands[made.position])
            return TracedResult(dtype, like=operands.index(SliceArray("input", made.position)))
        if made.kind == "output":
            name, _, dtype = self._call.form.outputs[made.position]
            is_per_token = self._kind_of_output(made.position) == "token"
            return TracedResult(dtype, is_per_token=is_per_token, trailing=self._made[name].trailing)
        return TracedResult(self._made[made.state].dtype, trailing=self._made[made.state].trailing)
