"""Heads on several processes: the facts about calls before they run, under a key that a graph can
hold.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..arguments.binder import Binder
from ..arguments.call import Call
from ..arguments.gradients import wanted_gradients
from ..arguments.options import Options
from ..arguments.outputs import axes_after_tokens, output_dtype
from ..calls.captured import HeadCapture, check_devices, operand_names, stand_in
from ..calls.demands import check_buffers, reaching_outputs
from ..calls.program import ignoring_input
from ..errors import CallTypeError, CallValueError
from ..frameworks import capture
from ..frameworks.capture import Mask, Slot
from ..frameworks.slots import Place, told
from ..frameworks.torch.watching import rounds_to
from ..messages.names import listed
from ..spec.gradient_flow import differentiable_outputs, has_gradients, reached_inputs
from ..spec.loss_spec import LossSpec
from .call import SlicedCall
from .processes import Processes
from .slots import Layout, Slots

Facts = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Known:
    """What graph capture has to know of a call.

    Args:
        key: of the head.
        carries: which of its outputs carry a gradient.
        returned: which inputs get one in the backward pass.
        outputs: names of the outputs.
        result_type: the attribute of the head's HeadCapture with the named tuple of the results; ""
            for a bare one. Graph capture follows attributes of objects, but no class that a
            function returns.
        ignoring: the input that marks ignored tokens; "" if there is none.
    """

    key: str
    carries: Mask
    returned: Mask
    outputs: tuple[str, ...]
    result_type: str
    ignoring: str


@dataclass(frozen=True)
class KnownHead:
    """A head under its key.

    Args:
        call: what its calls do.
        outputs: their names.
        returned: for which inputs the backward pass returns a gradient.
        results: type of every output, and its axes after those of tokens; None for a reduced loss.
        rows: the same of what forward sweeps leave.
        layout: where tokens are.
    """

    call: SlicedCall
    outputs: tuple[str, ...]
    returned: Mask
    results: tuple[tuple[str, tuple[int, ...] | None], ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    layout: Layout

    def shapes(self, inputs: Sequence[Tensor], processes: int) -> list[Tensor]:
        """Results of a forward pass without numbers, from inputs that may have none.

        Args:
            processes: how many there are; each has as many tokens, where tokens are split.
        """
        hidden = inputs[0]
        part = hidden.shape[:-1]
        whole = (part[0] * processes, *part[1:]) if self.layout.is_split else part
        given = part if self.layout.gives_part else whole
        outputs = [
            hidden.new_empty(() if axes is None else (*given, *axes), dtype=getattr(torch, dtype))
            for dtype, axes in self.results
        ]
        rows = [hidden.new_empty((*whole, *axes), dtype=getattr(torch, dtype)) for dtype, axes in self.rows]
        return outputs + rows


class HeadProcesses:
    """A head and the processes that call it together; see `captured`.

    Args:
        whole: the head as the capture of graphs asks it.
        group: the name of the processes' group.
        layout: where tokens are.
    """

    def __init__(self, whole: HeadCapture, group: str, layout: Layout):
        self._whole, self._binder, self._group, self._layout = whole, whole.binder, group, layout
        per_token = replace(self._binder.options, reduction="none")
        self._per_token = Binder(self._binder.loss, per_token, self._binder.constants)
        self._known: dict[tuple[Facts, Facts], Known] = {}
        self.token = capture.new_token(self)

    def slot_axes(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """What each slot has an axis for; see frameworks.capture."""
        return self._whole.slot_axes(places)

    def only_pair(self) -> str:
        """The name of the loss's projection.

        Raises:
            CallTypeError: it has several.
        """
        pairs = self._binder.loss.signature.pairs
        if len(pairs) > 1:
            raise CallTypeError(
                "'weight_grad_out' must say whose buffer it is: a dictionary by "
                f"{listed(pair.name for pair in pairs)}"
            )
        return pairs[0].name

    def captured(self, facts: Facts, buffers: Facts) -> Known:
        """Makes the head known for calls with such inputs.

        Args:
            facts: the fields of a Slot for each input.
            buffers: the same for buffers of weight gradients, at the places of their pairs.

        Raises:
            Exception: the arguments do not fit, or another process has failed; the others are told.
        """
        if (facts, buffers) not in self._known:
            given, added = [Slot(*fact) for fact in facts], [Slot(*fact) for fact in buffers]
            self._known[facts, buffers] = Processes(self._group).told(lambda: self._captured(given, added))
        return self._known[facts, buffers]

    def _captured(self, given: Sequence[Slot], buffers: Sequence[Slot]) -> Known:
        places = tuple(slot.place for slot in given)
        axes = self.slot_axes(places)
        check_devices(given, axes)
        plain = Slots(places, axes, ("",) * len(places), tuple(slot.rounded_to for slot in given))
        pairs = tuple(told(slot.place) for slot in buffers)
        arrays, added = [stand_in(slot) for slot in given], [stand_in(slot) for slot in buffers]
        count = Processes(self._group).count
        width = _width(given, axes, self._binder.options)
        call = SlicedCall(self._binder, plain, self._layout, (), (), pairs).bound(
            arrays, added, 0, width * count
        )
        spec = call.form.spec
        differentiable = differentiable_outputs(spec) if has_gradients(spec) else ()
        reached = reached_inputs(spec, differentiable)
        known = {name: name if of.parameter in reached else "" for name, of in call.operands.items()}
        operands = tuple(known.get(name, "") for name in operand_names(call, places))
        binder = self._binder
        if self._layout.is_reduced_outside and "loss" in spec.output_names:
            binder = self._per_token
        self._check_divisor(call)
        self._check_tokens(spec)
        wrt = self._wrt(
            call, [o for o, slot in zip(operands, given, strict=True) if o and slot.requires_grad]
        )
        of = reaching_outputs(call, wrt, differentiable) if wrt else ()
        slots = Slots(places, axes, operands, plain.rounding)
        made = SlicedCall(binder, slots, self._layout, wrt, of, pairs)
        returned = tuple(name in made.returned for name in operands)
        options = binder.options
        head = KnownHead(
            made,
            spec.output_names,
            returned,
            tuple(
                (output_dtype(o.type), axes_after_tokens(options, o.name, o.places)) for o in spec.outputs
            ),
            tuple((row.dtype, row.trailing) for sweep in made.rows(call) for row in sweep),
            self._layout,
        )
        key = self._remembered(call, slots, wrt, pairs, head)
        carries = tuple(name in of for name in spec.output_names)
        ignoring = ignoring_input(spec, options) or ""
        return Known(key, carries, returned, spec.output_names, self._result_type(call, key), ignoring)

    def _wrt(self, call: Call, wanted: Sequence[str]) -> tuple[str, ...]:
        """The gradients that are made, checked as those of a call on one process."""
        names, options = tuple(wanted), self._binder.options
        if self._layout.has_divisor:  # the output `weight` divides nothing then
            options = self._per_token.options
        if names:
            names = wanted_gradients(call.form.spec, options, call, names)
        check_buffers(call, names)
        return names

    def _check_divisor(self, call: Call) -> None:
        if not self._layout.has_divisor:
            return
        spec, options = call.form.spec, self._binder.options
        if "loss" not in spec.output_names or options.reduces != "mean":
            raise CallValueError(
                f"'divisor' replaces the denominator of a mean, but '{spec.name}' has none: its reduction is "
                f"'{options.reduces}' and its outputs are {listed(spec.output_names)}"
            )

    def _check_tokens(self, spec: LossSpec) -> None:
        if self._layout.has_all_tokens or not spec.numbers_tokens:
            return
        raise CallValueError(
            f"'{spec.name}' draws random numbers by the index of each token in the call, but hidden is a "
            "DTensor whose tokens are on several processes; redistribute it to Replicate, or call the head "
            "on local tensors with another seed on each process"
        )

    def _remembered(
        self, call: Call, slots: Slots, wrt: tuple[str, ...], buffers: tuple[str, ...], head: KnownHead
    ) -> str:
        text = call.form.spec.text(locations=False)
        content = "\n".join(map(repr, (text, call.form.options, slots, self._layout, wrt, buffers)))
        key = "lt1:" + hashlib.sha256(content.encode()).hexdigest()
        if not capture.is_known(key):
            capture.remember(key, head)
        return key

    def _result_type(self, call: Call, key: str) -> str:
        if call.form.spec.bare:
            return ""
        name = f"results_{key.rpartition(':')[2]}"
        setattr(self._whole, name, call.form.spec.result_type)
        return name


def _width(given: Sequence[Slot], axes: Sequence[str], options: Options) -> int:
    """The vocabulary entries of the first weight; 1 where it has another number of axes."""
    extents = next((slot.extents for slot, axis in zip(given, axes, strict=True) if axis == "weight"), ())
    return extents[0 if options.weight_layout == "vd" else -1] if len(extents) == 2 else 1


# ---- for graph capture ---------------------------------------------------------------------------


def slot_facts(place: Place, axis: str, tensor: Tensor, rank: int) -> tuple[Any, ...]:
    """The fields of a Slot; graph capture takes plain values alone for constants."""
    leading = min(rank, tensor.ndim) if axis in ("hidden", "token", "dense") else 0
    # symbols become numbers
    extents = tuple(operator.index(extent) for extent in tensor.shape[leading:])
    return (
        place,
        leading,
        extents,
        str(tensor.dtype),
        tensor.requires_grad and torch.is_grad_enabled(),
        str(tensor.device),
        rounds_to(tensor) if axis in ("hidden", "weight") else None,
    )


@torch.compiler.assume_constant_result
def captured(token: str, facts: Facts, buffers: Facts) -> tuple[Any, ...]:
    """The fields of a Known; see HeadProcesses.captured."""
    return astuple(capture.head_of_token(token).captured(facts, buffers))
