"""Where gradients flow in a loss: from which outputs, through which operations, to which inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from .loss_spec import LossSpec
from .operations import Op, flows

_OF_THE_FIRST = ("logitile.reduce", "logitile.gather", "logitile.sum_list")
_LEAVES = ("logitile.input", "arith.constant", "logitile.column")


def differentiated(op: Op) -> tuple[int, ...]:
    """Which operands of an operation a gradient flows to, by position."""
    if op.type != "f32" or op.name in _LEAVES or op.is_ranked:
        return ()
    return (0,) if op.name in _OF_THE_FIRST else flows(op.name, op.type)


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
    """Names of float outputs, except the weight, from which a gradient flows to some input."""
    return tuple(
        o.name
        for o in spec.outputs
        if o.type == "f32" and o.places is None and o.name != "weight" and reached_inputs(spec, (o.name,))
    )


def has_gradients(spec: LossSpec) -> bool:
    """Losses without a gradient are refused; metrics, whose outputs carry none, are values only."""
    return bool(differentiable_outputs(spec)) or any(
        o.name == "loss" and o.type == "f32" for o in spec.outputs
    )
