"""The mesh axes over which arrays vary inside of jax.shard_map, as far as JAX tracks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax


def varying_axes(array: Any) -> frozenset[str]:
    """The axes along which devices may have other numbers; none where JAX does not check that."""
    kind = jax.typeof(array)
    if hasattr(kind, "manual_axis_type"):  # JAX 0.10; before, `vma`
        return kind.manual_axis_type.varying
    return kind.vma


def varying_alike(arrays: Sequence[Any]) -> list[Any]:
    """Every operand of a primitive must vary over the same axes."""
    axes = [varying_axes(array) for array in arrays]
    wanted = frozenset().union(*axes)
    return [
        _varied(array, tuple(wanted - has)) if wanted - has else array
        for array, has in zip(arrays, axes, strict=True)
    ]


def _varied(array: Any, axes: tuple[str, ...]) -> Any:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, axes, to="varying")
    return jax.lax.pvary(array, axes)


def is_checked(axis: str) -> bool:
    """Whether JAX keeps track of an axis: shard_map(check_vma=True)."""
    return axis in varying_axes(jax.lax.axis_index(axis))


def gathered(array: Any, axes: tuple[str, ...]) -> Any:
    """What all devices of some axes have, on a new first axis; the same on each of them."""
    if not axes or not is_checked(axes[0]):
        return jax.lax.all_gather(array, axes)
    if hasattr(jax.lax, "pcast"):  # JAX 0.10
        return jax.lax.all_gather(array, axes, to="invarying")
    return jax.lax.pmax(jax.lax.all_gather(array, axes), axes)
