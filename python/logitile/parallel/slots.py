"""The arrays of a call on several processes: the role of each, where its tokens are, and what must
agree on all processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ..arguments.binder import Binder
from ..errors import CallValueError
from ..frameworks.slots import Place, spelled
from ..messages.names import listed, shape_text
from .processes import Processes


@dataclass(frozen=True)
class Layout:
    """Where the tokens of a call are.

    Args:
        is_split: whether each process has a part of the first axis of hidden
            states and Token inputs.
        gives_part: whether outputs per token are those of this process's part,
            instead of all tokens.
        is_reduced_outside: whether the loss is one per token here,
            because more processes have tokens.
        has_divisor: whether a mean that is made outside has a divisor.
        has_all_tokens: whether these processes have all tokens of the call together, in its order.
    """

    is_split: bool = False
    gives_part: bool = False
    is_reduced_outside: bool = False
    has_divisor: bool = False
    has_all_tokens: bool = True


@dataclass(frozen=True)
class Slots:
    """The arrays of a call, in order.

    Args:
        places: as frameworks.capture.Slot has them.
        axes: what each has an axis for.
        operands: the name of each one's gradient; "" if there is none.
        rounding: the type that each is rounded to, or None.
    """

    places: tuple[Place, ...]
    axes: tuple[str, ...]
    operands: tuple[str, ...]
    rounding: tuple[str | None, ...]


def told(binder: Binder, slots: Slots, layout: Layout, wrt: Sequence[str], arrays: Sequence[Tensor]) -> str:
    """What all processes must have in common, as errors write it."""
    options, axis = binder.options, 0 if binder.options.weight_layout == "vd" else 1
    parts = [
        f"{spelled(place, kind)} {_common(array, kind, axis, layout.is_split)}"
        for place, kind, array in zip(slots.places, slots.axes, arrays, strict=True)
    ]
    bound = {
        **binder.constants,
        "reduction": options.reduces,
        "ignore_index": options.ignore_index,
        "ignore": options.ignoring_input,
        "all_ignored": options.all_ignored,
        "weight_layout": options.weight_layout,
    }
    gradients = f", gradients of {listed(wrt)}" if wrt else ""
    rules = "".join(f", {name}={value!r}" for name, value in bound.items())
    return f"'{binder.loss.name}' of {', '.join(parts)}{gradients}{rules}"


def check_alike(processes: Processes, text: str, digests: Sequence[int]) -> None:
    """That all processes make the same call.

    Raises:
        CallValueError: two differ.
    """
    other = next((rank for rank, digest in enumerate(digests) if digest != digests[0]), None)
    if other is None:
        return
    texts = processes.texts(text)
    raise CallValueError(
        f"process 0 calls {texts[0]}, but process {other} calls {texts[other]}; all processes of the group "
        "make the same call, with slices of one vocabulary"
    )


def _common(array: Tensor, kind: str, weight_axis: int, is_split: bool) -> str:
    """The type and shape of an array as far as all processes agree in them."""
    shape = [str(extent) for extent in array.shape]
    own = {"weight": weight_axis, "vocab": 0, "dense": -1}.get(kind, 0 if is_split else None)
    if own is not None and shape and kind != "scalar" and -len(shape) <= own < len(shape):
        shape[own] = "*"
    return f"{str(array.dtype).removeprefix('torch.')}[{', '.join(shape)}]"


def split_length(slots: Slots, arrays: Sequence[Tensor]) -> int:
    """How many tokens of the first axis this process has.

    Raises:
        CallValueError: hidden states have no such axis, or other inputs another number.
    """
    hidden = arrays[slots.axes.index("hidden")]
    if hidden.ndim < 2:
        raise CallValueError(
            f"hidden has shape {shape_text(tuple(hidden.shape))}, but its first axis is split over the "
            "processes; give it an axis of tokens before the hidden size"
        )
    for place, axis, array in zip(slots.places, slots.axes, arrays, strict=True):
        if axis in ("hidden", "token") and array.ndim and len(array) != len(hidden):
            raise CallValueError(
                f"'{spelled(place, axis)}' has {len(array)} tokens of the first axis, but hidden has "
                f"{len(hidden)}; both are this process's part"
            )
    return len(hidden)
