"""Calls on several devices: the work of each device, and the data that they exchange.

Tokens may be on any axes of a mesh. The vocabulary may be on others: then a device makes one sweep
at a time over its slice, and all devices merge what the sweeps leave, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ..traced import KeyedCall, SliceArray, SlicedCall, SlicedPart
from .varying import gathered

Run = Any  # runs a KeyedCall on operands


@dataclass(frozen=True)
class Axes:
    """The axes of a mesh that arrays are on.

    Args:
        tokens: of all leading dimensions.
        vocabulary: in the order of the slices.
        sizes: of every axis of the mesh.
    """

    tokens: tuple[str, ...]
    vocabulary: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def slices(self) -> int:
        """How many slices the vocabulary has."""
        count = 1
        for axis in self.vocabulary:
            count *= self.sizes[axis]
        return count

    def slice(self) -> Any:
        """The number of this device's slice."""
        number = jnp.int32(0)
        for axis in self.vocabulary:
            number = number * self.sizes[axis] + jax.lax.axis_index(axis)
        return number

    def sum_of_tokens(self, array: Any) -> Any:
        """The sum over the devices that have other tokens."""
        return jax.lax.psum(array, self.tokens) if self.tokens else array

    def sum_of_slices(self, array: Any) -> Any:
        """The sum over the devices that have another slice."""
        return jax.lax.psum(array, self.vocabulary) if self.vocabulary else array


def run_on_shard(run: Run, call: KeyedCall, operands: Sequence[Any], axes: Axes) -> list[Any]:
    """The results of a call on one device, from its part of the operands."""
    return _Shard(run, call, operands, axes).results()


class _Shard:
    """One device's part of a call."""

    def __init__(self, run: Run, call: KeyedCall, operands: Sequence[Any], axes: Axes):
        self.run, self.call, self.axes, self.mean = run, call, axes, call.head.mean
        cotangents = sum(call.given)
        count = len(operands) - cotangents
        self.cotangents = dict(zip((i for i, g in enumerate(call.given) if g), operands[count:], strict=True))
        self.divisor = None if self.mean.divisor is None else operands[self.mean.divisor]
        self.operands = [o for i, o in enumerate(operands[:count]) if i != self.mean.divisor]
        self.need = tuple(n for i, n in enumerate(call.need) if i != self.mean.divisor)
        self.outputs = len(call.given)

    def results(self) -> list[Any]:
        """Outputs, then gradients, as the whole call has them on this device."""
        given = list(self.call.given)
        if any(self.need) and not any(given):
            given[self.mean.loss] = True
            self.cotangents = {self.mean.loss: jnp.float32(1)}
        given = tuple(given)
        shapes = [operand.shape for operand in self.operands]
        if self.axes.vocabulary:
            outputs, gradients = self._by_slices(self.call.head.sliced(shapes, self.need, given))
        else:
            outputs, gradients = self._whole(self.call.head.on_shard(shapes), given)
        wanted = [result.like for result in self.call.results if result.like is not None]
        summed = {like: self._summed(like, gradients[like]) for like in wanted}
        return [*self._reduced(outputs), *(summed[like] for like in wanted)]

    def _whole(self, head: Any, given: tuple[bool, ...]) -> tuple[list[Any], dict[int, Any]]:
        """With the whole vocabulary on this device."""
        outputs = None
        if not any(self.need) or self._needs_weights():
            outputs = self.run(head.forward, self.operands)
        if not any(self.need):
            return outputs, {}
        reaching = self._reaching(outputs)
        call = head.gradients(self.need, given, "float32")
        made = self.run(call, [*self.operands, *reaching.values()])
        return made[: self.outputs], dict(zip(self._needed(), made[self.outputs :], strict=True))

    def _by_slices(self, sliced: SlicedCall) -> tuple[list[Any], dict[int, Any]]:
        """With a slice of the vocabulary on this device."""
        weight = self.operands[self.call.kinds.index("weight")]
        width = weight.shape[1 if self.call.head.is_transposed else 0]
        arrays = {SliceArray("input", position): operand for position, operand in enumerate(self.operands)}
        arrays[SliceArray("offset")] = self.axes.slice() * width
        for number in range(sliced.forward):
            arrays |= self._swept(sliced, number, arrays)
        made = self._made(sliced.finish(), arrays)
        outputs = [made[SliceArray("output", position)] for position in range(self.outputs)]
        if not any(self.need):
            return outputs, {}
        for position, cotangent in self._reaching(outputs).items():
            arrays[SliceArray("cotangent", position)] = cotangent
        for number in range(sliced.forward, sliced.forward + sliced.backward):
            arrays |= self._swept(sliced, number, arrays)
        made = self._made(sliced.gradient(), arrays)
        gradients = {position: made[SliceArray("gradient", position)] for position in self._needed()}
        for position in gradients:
            if self.call.kinds[position] == "hidden":
                gradients[position] = self.axes.sum_of_slices(gradients[position])
        return outputs, gradients

    def _swept(self, sliced: SlicedCall, number: int, arrays: dict[SliceArray, Any]) -> dict[SliceArray, Any]:
        """What a sweep leaves on all slices together."""
        made = self._made(sliced.sweep(number), arrays)
        rows = {name: row for name, row in made.items() if name.kind == "state"}
        of_slices = _gathered(rows, self.axes.vocabulary)
        merged = {name: row[0] for name, row in of_slices.items()}
        merge = sliced.merge(number)
        for slice in range(1, self.axes.slices):
            sides = {name._replace(kind="first"): row for name, row in merged.items()}
            sides |= {name._replace(kind="second"): row[slice] for name, row in of_slices.items()}
            made = self._made(merge, arrays | sides)
            merged = {name: made[name] for name in merged}
        return merged

    def _made(self, part: SlicedPart, arrays: dict[SliceArray, Any]) -> dict[SliceArray, Any]:
        made = self.run(part.call, [arrays[name] for name in part.operands])
        return dict(zip(part.results, made, strict=True))

    # ---- sums over devices -----------------------------------------------------------------------

    def _needed(self) -> list[int]:
        return [position for position, needed in enumerate(self.need) if needed]

    def _summed(self, position: int, gradient: Any) -> Any:
        """A gradient as its operand is: of its type, and complete."""
        if not self.call.has_tokens[position]:
            gradient = self.axes.sum_of_tokens(gradient)
        return gradient.astype(self.operands[position].dtype)

    def _needs_weights(self) -> bool:
        return self.mean.reduction == "mean" and self.divisor is None and self.mean.weight is not None

    def _reaching(self, outputs: list[Any] | None) -> dict[int, Any]:
        """What reaches the outputs of this device."""
        reaching = dict(self.cotangents)
        if self.mean.reduction == "mean" and self.mean.loss in reaching:
            cotangent, count = reaching[self.mean.loss], self._count(outputs)
            reaching[self.mean.loss] = jnp.where(count == 0, 0, cotangent / jnp.where(count == 0, 1, count))
        return reaching

    def _reduced(self, outputs: list[Any]) -> list[Any]:
        """Outputs with the loss of all tokens of the mesh."""
        if self.mean.reduction not in ("sum", "mean"):
            return outputs
        loss = self.axes.sum_of_tokens(outputs[self.mean.loss])
        if self.mean.reduction == "mean":
            count = self._count(outputs)
            mean = loss / count
            loss = jnp.where(count == 0, 0, mean) if self.mean.is_zero_if_all_ignored else mean
        return [*outputs[: self.mean.loss], loss, *outputs[self.mean.loss + 1 :]]

    def _count(self, outputs: list[Any] | None) -> Any:
        """What a mean divides by."""
        if self.divisor is not None:
            return self.divisor.astype(jnp.float32)
        if self.mean.weight is not None:
            return self.axes.sum_of_tokens(outputs[self.mean.weight].sum())
        hidden = self.operands[0]
        counts = jnp.ones(hidden.shape[:-1], jnp.int32)
        if self.mean.ignoring is not None and self.mean.ignore_index is not None:
            ignoring = self.operands[self.mean.ignoring]
            matches = ignoring == self.mean.ignore_index
            counts = ~(matches if matches.ndim < hidden.ndim else matches.all(-1))
        return self.axes.sum_of_tokens(counts.sum(dtype=jnp.int32)).astype(jnp.float32)


def _gathered(rows: dict[SliceArray, Any], axes: tuple[str, ...]) -> dict[SliceArray, Any]:
    """Rows of all slices, in their order: one all-gather for each type,
    and for lists of each length.
    """
    found = {}
    for kind in dict.fromkeys((row.dtype, row.shape) for row in rows.values()):
        alike = {name: row for name, row in rows.items() if (row.dtype, row.shape) == kind}
        together = gathered(jnp.stack(list(alike.values())), axes)
        found |= {name: together[:, position] for position, name in enumerate(alike)}
    return found
