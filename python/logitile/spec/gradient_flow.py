"""Where gradients flow in a loss: from which outputs, through which operations, to which inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from ..messages.locations import Location
from .loss_spec import LossSpec
from .operations import Op, flows

_LEAVES = ("logitile.input", "arith.constant", "logitile.column")
_OF_FIRST = ("logitile.reduce", "logitile.gather", "logitile.sum_list")


def differentiated(op: Op) -> tuple[int, ...]:
    """Which operands of an operation a gradient flows to, by position."""
    if op.type != "f32" or op.name in _LEAVES or op.is_topk:
        return ()
    return (0,) if op.name in _OF_FIRST else flows(op.name, op.type)


def active_ops(spec: LossSpec, outputs: Iterable[str], inputs: Iterable[str]) -> set[int]:
    """The operations on a differentiable path from one of the inputs to one of the outputs."""
    wanted = set(inputs)
    below: set[int] = set()  # depends on a wanted input
    for index, op in enumerate(spec.ops):
        is_leaf = op.name == "logitile.input" and op.type == "f32" and op.attribute.name in wanted
        if is_leaf or any(op.operands[i] in below for i in differentiated(op)):
            below.add(index)
    above = {spec.output(name).value for name in outputs}
    for index in range(len(spec.ops) - 1, -1, -1):
        if index in above:
            above.update(spec.ops[index].operands[i] for i in differentiated(spec.ops[index]))
    return below & above


@functools.lru_cache(maxsize=1024)  # every call asks
def reached_inputs(spec: LossSpec, outputs: tuple[str, ...]) -> frozenset[str]:
    """The inputs to which a gradient of the outputs flows."""
    floats = [given.name for given in spec.inputs if given.type == "f32"]
    active = active_ops(spec, outputs, floats)
    return frozenset(spec.ops[i].attribute.name for i in active if spec.ops[i].name == "logitile.input")


@functools.lru_cache(maxsize=1024)
def differentiable_outputs(spec: LossSpec) -> tuple[str, ...]:
    """The names of float outputs but the weight and lists, as far as a gradient flows to some input at all.
    """
    return tuple(
        o.name
        for o in spec.outputs
        if o.type == "f32" and o.places is None and o.name != "weight" and reached_inputs(spec, (o.name,))
    )


@functools.lru_cache(maxsize=1024)
def withheld_gradients(spec: LossSpec) -> Mapping[str, Location | None]:
    """The inputs whose gradients flow but are not made, each with the line that is why: lt.Token[float, K]
    inputs of which a gradient reaches the list as a whole, and Vocab inputs that are picked from with a list.
    """
    outputs = differentiable_outputs(spec)
    found: dict[str, Location | None] = {}
    for given in spec.inputs:
        if given.type != "f32" or not spec.entry_lists or given.axis not in ("token", "vocab"):
            continue
        active = [spec.ops[i] for i in sorted(active_ops(spec, outputs, (given.name,)))]
        if given.axis == "vocab":
            why = [op for op in active if op.name == "logitile.gather" and op.places is not None]
        else:
            why = [op for op in active if any(_is_entry_list(of, given.name) for of in _flowing(spec, op))]
        if why:
            found[given.name] = why[0].location
    return found


def _flowing(spec: LossSpec, op: Op) -> list[Op]:
    """The operands of an operation that a gradient flows to."""
    return [spec.ops[op.operands[position]] for position in differentiated(op)]


def _is_entry_list(op: Op, name: str) -> bool:
    """Whether it is that input as a whole list."""
    return op.name == "logitile.input" and op.places is not None and op.attribute.name == name


def has_gradients(spec: LossSpec) -> bool:
    """Losses without a gradient are refused; metrics, whose outputs carry none, are values only."""
    return bool(differentiable_outputs(spec)) or any(
        o.name == "loss" and o.type == "f32" for o in spec.outputs
    )
