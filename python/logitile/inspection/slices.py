"""`head.ir` and `head.explain` for slices of the vocabulary: the program of each part.

Parts are named after the sweeps of the plan stage: "forward0", "merge forward0", ..., "backward0",
..., then "finish", and "gradient" where gradients are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..arguments.binder import Binder
from ..arguments.call import Call
from ..arguments.gradients import named_gradients, wanted_gradients
from ..arguments.wanted import Wanted
from ..calls.program import workspace_budget
from ..errors import CallTypeError, CallValueError
from ..messages.names import did_you_mean, listed
from ..runtime.engine import native
from ..slices.parts import Part, part_of, part_request
from ..slices.states import Source
from ..slices.sweeps import begun_source, bound_to_slice, common_call
from ..spec.gradient_flow import differentiable_outputs
from .explanation import Explanation, explanation
from .stages import check_kernel, check_stage


@dataclass(frozen=True)
class _Place:
    """Where a part is in the route of a slice: what is asked of the compiler for it."""

    part: str
    call: Call
    sweep: int = 0
    mode: str = "forward"
    wanted: Wanted | None = None


class SliceParts:
    """The parts of a slice by name.

    Args:
        binder: of the head.
        args, inputs: of the slice, as for Head.partial.
        vocab_size: of all slices together.
        grad: names of gradients; empty for none; None for the arrays that require one,
            else hidden and weight.

    Raises:
        CallError: the arguments do not fit, or a gradient does not exist.
    """

    def __init__(
        self,
        binder: Binder,
        args: Sequence[object],
        inputs: Mapping[str, object],
        vocab_size: object,
        grad: Iterable[str] | None,
    ):
        if vocab_size is None:
            raise CallTypeError("'part' is of a slice, so give the vocab_size of all slices")
        _, self._call = bound_to_slice(binder, args, inputs, (0, vocab_size))
        self._source = _source(binder, self._call, grad)
        self._hidden = self._call.pairs[0].hidden
        first = part_of("sweep", self._source, self._call, self._hidden)
        self._places = dict(self._route(*first.sweeps(self._call.tokens)))

    def _route(self, forward: int, backward: int) -> list[tuple[str, _Place]]:
        source, call = self._source, self._call
        common = common_call(source, call)
        route = []
        for number in range(forward + (backward if source.wrt else 0)):
            phase = f"forward{number}" if number < forward else f"backward{number - forward}"
            mode = "forward" if number < forward else "early"
            route.append((phase, _Place("sweep", call, number, mode)))
            route.append((f"merge {phase}", _Place("merge", common, number, mode)))
        route.append(("finish", _Place("finish", common)))
        if source.wrt:
            wanted = Wanted(source.wrt, source.of, "early")
            route.append(("gradient", _Place("gradient", call, 0, "early", wanted)))
        return route

    def _place(self, part: object) -> _Place:
        if part not in self._places:
            hint = did_you_mean(part, self._places) if isinstance(part, str) else ""
            raise CallValueError(f"there is no part {part!r}{hint}; this slice has {listed(self._places)}")
        return self._places[part]

    def text(self, part: str, stage: str, kernel: str | None) -> str | bytes:
        """The text of a stage of a part; see Head.ir.

        Raises:
            CallValueError: there is no such part, stage or kernel.
        """
        program, tokens = Part(self._request(self._place(part))), self._call.tokens
        check_stage(stage, program.target)
        if kernel is not None:
            check_kernel(kernel, stage, lambda: program.described(tokens))
        return program.stage(tokens, stage, kernel or "")

    def explained(self, part: str) -> Explanation:
        """How a part runs; see Head.explain. Its program is one of its own,
        so that compiling is always measured.

        Raises:
            CallValueError: there is no such part.
        """
        place, options = self._place(part), self._source.options
        program = Part(self._request(place), native().Engine(times_kernels=False, disk_cache=""))
        target, threads = program.target, program.threads
        budget = None if options.chunks else workspace_budget(options, place.call, target, threads)
        mode = place.mode if part == "gradient" else "forward"
        described = program.described(self._call.tokens)
        seconds = program.predict(self._call.tokens)
        return explanation(described, mode, budget, {}, (options.tiles, False), seconds)

    def _request(self, place: _Place) -> dict[str, object]:
        return part_request(
            place.part, self._source, place.call, self._hidden, place.sweep, place.mode, place.wanted
        )


def _source(binder: Binder, call: Call, grad: Iterable[str] | None) -> Source:
    """The source with the gradients that are asked for, of every output that leads to them."""
    spec = call.form.spec
    outputs = differentiable_outputs(spec)
    if not outputs or (grad is not None and not named_gradients("grad", grad)):
        return begun_source(binder, call, (), None)
    names = wanted_gradients(spec, binder.options, call, grad, option="grad")
    return begun_source(binder, call, names, 1.0 if spec.bare else dict.fromkeys(outputs, 1.0))


def check_untimed(timing: object) -> None:
    """Parts go on with states, so there is no call of one part alone that could be measured.

    Raises:
        CallValueError: timing is asked for.
    """
    if timing is not False:
        raise CallValueError(
            f"timing={timing!r}, but a part of a slice reads states of other parts; leave timing out"
        )
