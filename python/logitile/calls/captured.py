"""Heads in captured graphs: the facts about a head that a graph holds, and the calls that it makes
later.

Only shapes, types and names are looked at while a graph is captured:
its arrays may have no numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments.binder import Binder
from ..arguments.call import Call, operand_name
from ..arguments.gradients import wanted_gradients
from ..arguments.outputs import axes_after_tokens, output_dtype
from ..errors import CallValueError
from ..frameworks import capture
from ..frameworks.arrays import HOST
from ..frameworks.capture import Mask, Slot
from ..frameworks.slots import Place, operand_of, slot_arguments, spelled, told
from ..frameworks.stand_ins import OpenExtent, Rounded, ShapeDtype
from ..spec.gradient_flow import differentiable_outputs, has_gradients, reached_inputs
from . import execute
from .demands import is_early
from .programs import Programs
from .traced import Slicer, TracedCall, operands


class CapturedHead:
    """A head for calls whose slots are as in one graph; see frameworks.capture.Captured.

    Args:
        binder, programs: of the head, which lives as long as graphs may call it.
        call: one with such slots, which need not have data.
        slots: their places.
        rounding: for each of them the type that it is rounded to, or None.
    """

    def __init__(
        self,
        binder: Binder,
        programs: Programs,
        call: Call,
        slots: Sequence[Place],
        rounding: Sequence[str | None],
    ):
        spec = call.form.spec
        self._binder, self._programs, self._slots, self._rounding = binder, programs, slots, rounding
        carrying = differentiable_outputs(spec)
        reached = reached_inputs(spec, carrying)
        known = {name: name if of.parameter in reached else "" for name, of in call.operands.items()}
        self.gradient_names = tuple(known.get(name, "") for name in operand_names(call, slots))
        options = call.form.options
        self.outputs = tuple(
            (output.name, output_dtype(output.type), axes_after_tokens(options, output.name, output.places))
            for output in spec.outputs
        )
        self.carries = tuple(name in carrying for name in spec.output_names)

    def forward(self, inputs: Sequence[Any], early: Sequence[bool]) -> list[Any]:
        """Outputs, then the gradients of a loss for those inputs that `early` marks."""
        call = self._call(inputs)
        names = self._marked(early)
        if not names:
            return list(execute.values(self._programs, call).values())
        outputs, gradients = execute.values_and_gradients(self._programs, call, names, None, None)
        return [*outputs.values(), *(gradients[name] for name in names)]

    def backward(
        self, inputs: Sequence[Any], cotangents: Sequence[Any], given: Sequence[bool], need: Sequence[bool]
    ) -> list[Any]:
        """Gradients of the inputs that `need` marks;
        `cotangents` are those that `given` marks, by output.
        """
        call = self._call(inputs)
        names = self._marked(need)
        outputs = [name for (name, _, _), present in zip(self.outputs, given, strict=True) if present]
        reaching: Any = dict(zip(outputs, cotangents, strict=True))
        if call.form.spec.bare:
            reaching = reaching["loss"]
        _, gradients = execute.values_and_gradients(self._programs, call, names, reaching, None)
        return [gradients[name] for name in names]

    def _call(self, inputs: Sequence[Any]) -> Call:
        return _bound(self._binder, self._slots, self._rounding, inputs)

    def _marked(self, mask: Sequence[bool]) -> list[str]:
        return [name for name, wanted in zip(self.gradient_names, mask, strict=True) if wanted]


class HeadCapture:
    """A head, as the capture of a graph asks it;
    see frameworks.capture.Capturable and frameworks.traced.

    Args:
        binder, programs: of the head.
        slicer: makes the parts of its calls on several devices.

    Attributes:
        distributed: the same for calls on several processes, by what these have in common.
    """

    def __init__(self, binder: Binder, programs: Programs, slicer: Slicer):
        self.binder, self._programs, self._slicer = binder, programs, slicer
        self.token = capture.new_token(self)
        self.name = binder.loss.name
        self.is_transposed = binder.options.weight_layout == "dv"
        self.compiled = None
        self.distributed: dict[object, Any] = {}

    def traced(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> tuple[TracedCall, list[Any]]:
        """A call of which only shapes and types are known; see frameworks.traced.Traceable.

        Raises:
            CallError: as for a call.
        """
        call = self.binder.bind(args, inputs)
        return TracedCall(self.binder, self._programs, self._slicer, call), operands(call)

    def check(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> None:
        """Checks arguments that a framework did not take; see frameworks.traced.Traceable.

        Raises:
            CallError: they do not fit, or have no numbers.
        """
        self.binder.bind(args, inputs)

    def slot_axes(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """What each slot has an axis for: "hidden", "weight", "token", "vocab",
        "dense" or "scalar".
        """
        signature = self.binder.loss.signature
        axes = []
        for place in places:
            _, name, part = operand_of(place)
            parameter = signature.input(name)
            axis = "scalar" if parameter is None else parameter.kinds[-1].axis
            axes.append(axis if part == "input" else part)
        return tuple(axes)

    def captured(self, slots: tuple[Slot, ...]) -> tuple[str, Mask, Mask, Mask, str]:
        """Makes the head known for such calls; see Capturable.captured.

        Raises:
            CallError: as for a call.
        """
        places, rounding = tuple(slot.place for slot in slots), tuple(slot.rounded_to for slot in slots)
        check_devices(slots, self.slot_axes(places))
        call = _bound(self.binder, places, rounding, [stand_in(slot) for slot in slots])
        key, head = self._known(call, places, rounding)
        result_type = self._result_type(call, key)
        none = (False,) * len(slots)
        named = list(zip(head.gradient_names, slots, strict=True))
        wanted = [name for name, slot in named if name and slot.requires_grad]
        spec, options = call.form.spec, call.form.options
        if not wanted or not has_gradients(spec):
            return key, none, none, head.carries, result_type
        wanted_gradients(spec, options, call, wanted)
        dtypes = {name: operand.array.dtype for name, operand in call.operands.items()}
        differentiable = tuple(bool(name and slot.requires_grad) for name, slot in named)
        early = differentiable if is_early(spec, options, wanted, dtypes) else none
        return key, differentiable, early, head.carries, result_type

    def _known(
        self, call: Call, slots: tuple[Place, ...], rounding: tuple[str | None, ...]
    ) -> tuple[str, capture.Captured]:
        """The head under the key of its content."""
        text = call.form.spec.text(locations=False)
        content = "\n".join([text, repr(call.form.options), repr(rounding), *map(told, slots)])
        key = "lt1:" + hashlib.sha256(content.encode()).hexdigest()
        if not capture.is_known(key):
            capture.remember(key, CapturedHead(self.binder, self._programs, call, slots, rounding))
        return key, capture.of_key(key)

    def _result_type(self, call: Call, key: str) -> str:
        """The attribute with the named tuple of the results."""
        if call.form.spec.bare:
            return ""
        name = f"results_{key.rpartition(':')[2]}"
        setattr(self, name, call.form.spec.result_type)
        return name


def stand_in(slot: Slot) -> ShapeDtype:
    """What a slot holds, without numbers."""
    leading = (OpenExtent(3 + axis, f"hidden.shape[{axis}]") for axis in range(slot.rank))
    return ShapeDtype((*leading, *slot.extents), slot.dtype)


def check_devices(slots: Sequence[Slot], axes: Sequence[str]) -> None:
    """That the arrays of all slots are on one device.

    Raises:
        CallValueError: two are not.
    """
    devices: dict[str, str] = {}
    for slot, axis in zip(slots, axes, strict=True):
        if slot.device != HOST or slot.rank or slot.extents:
            devices.setdefault(slot.device, spelled(slot.place, axis))
    if len(devices) > 1:
        (first, name), (second, other) = list(devices.items())[:2]
        raise CallValueError(f"'{name}' is on {first} but '{other}' is on {second}; move one of them")


def _bound(
    binder: Binder, slots: Sequence[Place], rounding: Sequence[str | None], items: Sequence[Any]
) -> Call:
    """A call from the items of its slots."""
    return binder.bind(*slot_arguments(slots, rounded_items(rounding, items)))


def rounded_items(rounding: Sequence[str | None], items: Sequence[Any]) -> list[Any]:
    """The items of slots, marked where they are rounded."""
    given = zip(rounding, items, strict=True)
    return [item if dtype is None else Rounded(item, dtype) for dtype, item in given]


def operand_names(call: Call, slots: Sequence[Place]) -> list[str]:
    """The name that the gradient of each slot has."""
    several = len(call.pairs) > 1
    names = []
    for place in slots:
        pair, name, part = operand_of(place)
        owner = name if pair is None else call.pairs[pair].name
        names.append(owner if part == "input" else operand_name(owner, part, several))
    return names
