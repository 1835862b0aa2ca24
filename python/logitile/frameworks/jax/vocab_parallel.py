"""Heads inside of jax.shard_map, where each device has a slice of the vocabulary.

The caller says over which axis. Derivatives are written by hand here: who sums what depends on
whether shard_map keeps track of the axes that arrays vary over.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero

from ...errors import CallTypeError
from ..slots import Place, by_name, by_position, part_of
from ..stand_ins import ShapeDtype
from ..traced import KeyedCall, Mask, Traceable
from .primitives import run
from .shards import Axes, run_on_shard
from .varying import is_checked, varying_axes


def vocab_parallel(head: Traceable, axis: str, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call inside of jax.shard_map. Weights, Vocab and Dense inputs are this device's slice.

    Raises:
        CallError: as for a call; there is no such axis here.
    """
    try:
        size = jax.lax.axis_size(axis)
    except NameError:
        raise CallTypeError(
            f"there is no axis '{axis}' here; call the head inside of jax.shard_map over a mesh that has it"
        ) from None
    whole, arrays = _of_all_slices(head, args, inputs, size)
    traced, stand_ins = head.traced(*whole)
    operands = [arrays[id(stand_in)] for stand_in in stand_ins]
    place = _Place(traced.forward, Axes((), (axis,), {axis: size}))
    return traced.result(_call(place, *operands))


def _of_all_slices(
    head: Traceable, args: tuple[Any, ...], inputs: dict[str, Any], size: int
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], dict[int, Any]]:
    """The arguments as shapes, as if the vocabulary were whole, and the array of each."""
    arrays: dict[int, Any] = {}

    def shape_of(place: Place, item: Any) -> Any:
        if isinstance(item, (tuple, list)):
            return tuple(shape_of(part_of(place, i), part) for i, part in enumerate(item))
        if item is None:
            return None
        array = jax.numpy.asarray(item)
        shape = list(array.shape)
        (kind,) = head.slot_axes((place,))
        position = {"weight": 1 if head.is_transposed else 0, "vocab": 0, "dense": -1}.get(kind)
        if position is not None and shape:
            shape[position] *= size
        stand_in = ShapeDtype(tuple(shape), array.dtype)
        arrays[id(stand_in)] = array
        return stand_in

    whole = tuple(shape_of(by_position(i), item) for i, item in enumerate(args))
    return (whole, {name: shape_of(by_name(name), item) for name, item in inputs.items()}), arrays


class _Place:
    """A call and where it runs: what does not change from one trace to the next."""

    def __init__(self, call: KeyedCall, axes: Axes):
        self.call, self.axes = call, axes
        self.axis = axes.vocabulary[0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _call(place: _Place, *operands: Any) -> tuple[Any, ...]:
    return tuple(run_on_shard(run, place.call, operands, place.axes))


def _forward(place: _Place, *primals: Any) -> tuple[tuple[Any, ...], Any]:
    head, operands = place.call.head, tuple(primal.value for primal in primals)
    asked = tuple(bool(primal.perturbed) for primal in primals)
    if any(asked):
        head.is_early(asked)  # refuses what has no gradient
    need = tuple(a and can for a, can in zip(asked, head.differentiable, strict=True))
    return _call(place, *operands), (operands, _Static(need))


def _backward(place: _Place, residuals: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
    operands, static = residuals
    call, need = place.call, static.need
    given = tuple(
        not isinstance(cotangent, SymbolicZero) and position in call.head.carrying
        for position, cotangent in enumerate(cotangents)
    )
    made = call.head.gradients(need, given) if any(need) and any(given) else None
    if made is None:
        return tuple(None for _ in operands)
    checked = is_checked(place.axis)
    reaching = [cotangent for cotangent, present in zip(cotangents, given, strict=True) if present]
    # shard_map gave each device its share of what reaches a result that all of them have
    if not checked:
        reaching = [jax.lax.psum(cotangent, place.axis) for cotangent in reaching]
    results = iter(run_on_shard(run, made, [*operands, *reaching], place.axes)[len(call.results) :])
    gradients = [next(results) if needed else None for needed in need]
    finish = _invariant if checked else _share
    return tuple(
        None if gradient is None else finish(gradient, operand, kind, place)
        for gradient, operand, kind in zip(gradients, operands, call.kinds, strict=True)
    )


def _invariant(gradient: Any, operand: Any, kind: str, place: _Place) -> Any:
    """A gradient that varies over the axes of its operand alone.
    Those of Token and Scalar inputs are the same on every slice.
    """
    extra = varying_axes(gradient) - varying_axes(operand)
    if place.axis in extra and kind in ("token", "scalar"):
        gradient = jax.lax.pmax(gradient, place.axis)
        extra -= {place.axis}
    return jax.lax.psum(gradient, tuple(extra)) if extra else gradient


def _share(gradient: Any, operand: Any, kind: str, place: _Place) -> Any:
    """This device's share: shard_map sums the gradients of operands that all devices have."""
    if kind in ("hidden", "token", "scalar"):
        return (gradient / place.axes.slices).astype(gradient.dtype)
    return gradient


class _Static:
    """A residual without arrays."""

    def __init__(self, need: Mask):
        self.need = need


jax.tree_util.register_pytree_node(_Static, lambda s: ((), s.need), lambda need, _: _Static(need))
_call.defvjp(_forward, _backward, symbolic_zeros=True)
