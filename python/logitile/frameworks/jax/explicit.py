"""Calls on meshes with explicit axes, whose arrays say in their types where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import PartitionSpec

from ...errors import CallTypeError
from ..traced import KeyedCall
from .primitives import run

# JAX 0.8 lowers what is below to a call that its CPU has no code for.
_can_partition = tuple(int(part) for part in jax.__version__.split(".")[:2]) >= (0, 10)


def run_anywhere(call: KeyedCall, operands: Sequence[Any]) -> list[Any]:
    """The results of a call. On a mesh with explicit axes results are where tokens are, and
    gradients where their operands are.

    Raises:
        CallTypeError: this JAX cannot run such programs.
    """
    axes = jax.sharding.get_abstract_mesh().explicit_axes
    if not axes:
        return run(call, operands)
    if not _can_partition:
        raise CallTypeError(
            f"this mesh has explicit axes ({', '.join(axes)}), which JAX {jax.__version__} cannot partition "
            "a head over; use JAX 0.10 or later, or make the mesh with axis_types=jax.sharding.AxisType.Auto"
        )
    specs = [_spec(operand) for operand in operands]
    leading = operands[0].ndim - call.rest
    places = tuple(
        PartitionSpec(*specs[result.like])
        if result.like is not None
        else PartitionSpec(*(specs[0][:leading] if result.is_per_token else ()))
        for result in call.results
    )
    placed = jax.sharding.auto_axes(lambda *items: tuple(run(call, items)), axes=axes, out_sharding=places)
    return list(placed(*operands))


def _spec(operand: Any) -> list[Any]:
    spec = jax.typeof(operand).sharding.spec
    return [*spec, *(None for _ in range(operand.ndim - len(spec)))]
