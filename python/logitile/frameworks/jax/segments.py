"""Sums over sequences of JAX's arrays and tracers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from ..segment_checks import check_integers, check_lengths, check_range, check_shape


class JaxSums:
    """See frameworks.segments.SegmentSums."""

    def ids(self, given: Any, are_lengths: bool, count: int, leading: Sequence[int], like: Any) -> Any:
        if isinstance(given, (list, tuple)):
            given = numpy.asarray(given, None if given else numpy.int64)
        check_integers(jnp.issubdtype(given.dtype, jnp.integer), given.dtype, are_lengths)
        if not are_lengths:
            check_shape(given.shape, leading)
        if _can_be_read(given):
            if are_lengths:
                check_lengths(numpy.asarray(given), leading)
            else:
                check_range(numpy.asarray(given), count)
        return _ids_of_lengths(given, leading) if are_lengths else jnp.asarray(given)

    def without(self, ids: Any, target: Any, ignore_index: int) -> Any:
        ignored = jnp.asarray(target) == ignore_index
        return jnp.where(ignored.all(-1) if ignored.ndim > ids.ndim else ignored, -1, ids)

    def sums(self, values: Any, ids: Any, count: int) -> Any:
        return _sums(_gathered(values), _gathered(ids), count)

    def spread(self, sums: Any, ids: Any) -> Any:
        return _spread(sums, ids)

    def quotients(self, sums: Any, over: Any) -> Any:
        return sums.astype(jnp.float32) / jnp.asarray(over).astype(jnp.float32)

    def where(self, condition: Any, sums: Any, other: float) -> Any:
        return jnp.where(condition, sums, other)

    def numbers(self, item: Any, like: Any) -> Any:
        return jnp.asarray(item, jnp.float32)

    def repeated(self, number: Any, count: int) -> Any:
        return jnp.broadcast_to(number, (count,))

    def result(self, made: Any, like: Any) -> Any:
        return made


JAX_SUMS = JaxSums()


def _can_be_read(array: Any) -> bool:
    """Whether its numbers are known, and in memory of the host."""
    if isinstance(array, jax.core.Tracer):
        return False
    return not isinstance(array, jax.Array) or all(place.platform == "cpu" for place in array.devices())


def _gathered(array: Any) -> Any:
    """The whole array on every device, where a mesh with explicit axes leaves that to us."""
    if not jax.sharding.get_abstract_mesh().explicit_axes:
        return array
    return jax.sharding.reshard(array, jax.sharding.PartitionSpec())


def _ids_of_lengths(lengths: Any, leading: Sequence[int]) -> Any:
    lengths, tokens = jnp.asarray(lengths), prod(leading)
    count = lengths.shape[0]
    ends = jnp.concatenate([jnp.zeros(1, lengths.dtype), jnp.cumsum(lengths)])
    ids = jnp.searchsorted(ends[1:], jnp.arange(tokens), side="right")
    is_wrong = (ends[-1] != tokens) | (lengths < 0).any()
    return jnp.where(is_wrong, count, ids).reshape(tuple(leading))


def _spread(sums: Any, ids: Any) -> Any:
    padded = jnp.append(sums, jnp.zeros(1, sums.dtype))
    return padded[jnp.where(ids < 0, sums.shape[0], jnp.minimum(ids, sums.shape[0]))]


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
@functools.partial(jax.jit, static_argnums=2)
def _sums(values: Any, ids: Any, count: int) -> Any:
    """Adds pairs of neighbours, then pairs of these sums, and so on: in the same order on every
    device, and with smaller errors than one addition after the other.

    Sorting makes the tokens of a sequence neighbours. After each step a token has the sum of twice
    as many tokens up to itself, as far as they are of its sequence, so that the last token has the
    sum of all.
    """
    kind = jnp.float32 if jnp.issubdtype(values.dtype, jnp.floating) else jnp.asarray(0).dtype
    flat = ids.reshape(-1)
    if not flat.size:
        return jnp.zeros(count, kind)
    order = jnp.argsort(flat, stable=True)
    flat, places = flat[order], jnp.arange(flat.size)

    def doubled(step: Any, totals: Any) -> Any:
        earlier = places - (1 << step)
        left = jnp.maximum(earlier, 0)
        return totals + jnp.where((earlier >= 0) & (flat[left] == flat), totals[left], 0)

    steps = (flat.size - 1).bit_length()
    totals = jax.lax.fori_loop(0, steps, doubled, values.reshape(-1)[order].astype(kind))
    end = jnp.searchsorted(flat, jnp.arange(count), side="right")
    begin = jnp.searchsorted(flat, jnp.arange(count), side="left")
    sums = jnp.where(end > begin, totals[end - 1], 0)
    return jnp.where(flat[-1] >= count, jnp.nan if kind == jnp.float32 else -1, sums)


def _forward(values: Any, ids: Any, count: int) -> Any:
    return _sums(values, ids, count), ids


def _backward(count: int, ids: Any, cotangent: Any) -> Any:
    return _spread(cotangent, ids), numpy.zeros(ids.shape, jax.dtypes.float0)


_sums.defvjp(_forward, _backward)
