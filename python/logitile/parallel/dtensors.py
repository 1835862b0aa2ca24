"""Heads on DTensors, whose placements say where tokens and the slices of the vocabulary are.

The axis of the mesh that shards the weights has the slices; all others have tokens, or copies. The
loss is one per token until the tokens of the whole mesh are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DeviceMesh, DTensor, Partial, Placement, Replicate, Shard

from ..calls.captured import HeadCapture
from ..errors import CallTypeError, CallValueError
from ..frameworks import capture
from ..frameworks.slots import Place, by_name, spelled
from ..frameworks.torch.operators import flattened, slot_axes
from .heads import HeadProcesses, captured, slot_facts
from .operators import together
from .processes import joined_names, named_group
from .slots import Layout

Placements = tuple[Placement, ...]


@dataclass(frozen=True)
class _Place:
    """Where the arrays of a call are.

    Args:
        mesh: of all of them.
        vocabulary: the axis of the mesh with the slices;
            None where every process has all of the vocabulary.
        tokens: where hidden states, Token inputs and outputs are.
    """

    mesh: DeviceMesh
    vocabulary: int | None
    tokens: Placements

    @property
    def split(self) -> int | None:
        """The axis of tokens that is split over the processes with slices, which gather it."""
        placement = Replicate() if self.vocabulary is None else self.tokens[self.vocabulary]
        return placement.dim if isinstance(placement, Shard) else None

    @property
    def has_all_tokens(self) -> bool:
        """Whether the processes with slices have all tokens together,
        in the order of the leading axes.
        """
        others = [p for axis, p in enumerate(self.tokens) if axis != self.vocabulary]
        return not self.split and not any(p.is_shard() for p in others)

    def of(self, axis: str, rank: int, weight_axis: int) -> Placements:
        """The placements of an array that has an axis for something."""
        if axis in ("hidden", "token"):
            return self.tokens
        replicated = [Replicate() for _ in self.tokens]
        found = list(self.tokens) if axis == "dense" else replicated
        if self.vocabulary is not None and axis in ("weight", "vocab", "dense"):
            columns = {"weight": weight_axis, "vocab": 0, "dense": rank - 1}[axis]
            found[self.vocabulary] = Shard(columns)
        return tuple(found)

    def of_gradient(self, axis: str, placements: Placements) -> Placements:
        """Where the gradient of such an array is:
        what has no tokens has a part of it for each of them.
        """
        if axis in ("hidden", "token", "dense"):
            return placements
        has_tokens = [p.is_shard() and d != self.vocabulary for d, p in enumerate(self.tokens)]
        found = zip(has_tokens, placements, strict=True)
        return tuple(Partial() if is_part else placement for is_part, placement in found)

    def added_up(self, part: Tensor) -> Tensor:
        """The sum over the tokens of the mesh, from that of this process's tokens."""
        parts = [Partial() if p.is_shard() else Replicate() for p in self.tokens]
        whole = DTensor.from_local(part, self.mesh, parts, run_check=False)
        return whole.redistribute(self.mesh, [Replicate() for _ in parts]).to_local()


def distributed_call(head: HeadCapture, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call with DTensors, as Head.__call__ makes it.

    Weights are Shard over the vocabulary on one axis of the mesh, or replicated. Hidden states and
    Token inputs are replicated or Shard over an axis of tokens on every axis of the mesh.

    Returns: DTensors with the placements of the tokens; a loss that is reduced is replicated.

    Raises:
        CallTypeError: a plain tensor is among the DTensors.
        CallValueError: arrays are placed in another way.
        CallError: as for a call.
    """
    inputs = dict(inputs)
    divisor = inputs.pop("divisor", None)
    if inputs.pop("weight_grad_out", None) is not None:
        raise CallTypeError("'weight_grad_out' is for plain tensors: see lt.parallel.vocab_parallel")
    slots, items = flattened(args, inputs)
    axes = slot_axes(head.token, slots)
    place = _placed(slots, axes, items, head.is_transposed)
    tensors = _local_tensors(place, slots, axes, items, head.is_transposed)
    token, group = _processes(
        head.token,
        place.mesh,
        place.vocabulary,
        place.split is not None,
        divisor is not None,
        place.has_all_tokens,
    )
    rank = tensors[0].ndim - 1
    given = zip(slots, axes, tensors, strict=True)
    facts = tuple(slot_facts(slot, axis, tensor, rank) for slot, axis, tensor in given)
    key, carries, returned, names, result_type, ignoring = captured(token, facts, ())
    results = list(together(key, group, False, (carries, returned), (), tensors))
    reduction, ignore_index, is_zero = _rules(head.token)
    is_reduced = "loss" in names and reduction != "none"
    finished = [_of_tokens(place, result, items[0].shape[:-1]) for result in results]
    if is_reduced:
        total = place.added_up(results[names.index("loss")].sum())
        if reduction == "mean":
            count = divisor
            if count is None:
                count = place.added_up(_count(names, results, slots, tensors, ignoring, ignore_index))
            total = _mean(total, count, divisor is not None, is_zero)
        everywhere = [Replicate() for _ in place.tokens]
        finished[names.index("loss")] = DTensor.from_local(total, place.mesh, everywhere, run_check=False)
    return getattr(head, result_type)(*finished) if result_type else finished[0]


# ---- arguments -----------------------------------------------------------------------------------


def _placed(
    slots: Sequence[Place], axes: Sequence[str], items: Sequence[Tensor], is_transposed: bool
) -> _Place:
    """Where a call is, from its hidden states and its weights.

    Raises:
        CallTypeError, CallValueError: they are placed in no way that a head can be called.
    """
    named = list(zip(slots, axes, items, strict=True))
    first = next(item for item in items if isinstance(item, DTensor))
    for slot, axis, item in named:
        if not isinstance(item, DTensor):
            if item.ndim or axis in ("hidden", "weight"):
                raise CallTypeError(_beside(spelled(slot, axis), axis, first))
        elif item.device_mesh != first.device_mesh:
            raise CallValueError(
                f"'{spelled(slot, axis)}' is on {item.device_mesh}, but other inputs are on "
                f"{first.device_mesh}; all are on one mesh"
            )
    hidden = next(item for _, axis, item in named if axis == "hidden")
    tokens = tuple(Replicate() if p.is_partial() else p for p in hidden.placements)
    if any(p.is_shard(hidden.ndim - 1) for p in tokens):
        raise CallValueError(
            f"hidden is a DTensor placed as {_told(hidden)}, which cuts the hidden size; redistribute it to "
            "Replicate, or to Shard of an axis of tokens"
        )
    vocabulary = None
    for slot, axis, item in named:
        if axis == "weight":
            vocabulary = _vocabulary_axis(spelled(slot, axis), item, 1 if is_transposed else 0)
    return _Place(first.device_mesh, vocabulary, tokens)


def _vocabulary_axis(name: str, weight: DTensor, columns: int) -> int | None:
    """The axis of the mesh that a weight is sharded over."""
    sharded = [d for d, p in enumerate(weight.placements) if not p.is_replicate()]
    if len(sharded) > 1 or any(not weight.placements[d].is_shard(columns) for d in sharded):
        raise CallValueError(
            f"'{name}' is a DTensor placed as {_told(weight)}, but a head takes weights that are "
            f"Shard({columns}) on one axis of the mesh and Replicate on all others; gather it over the "
            "others first (FSDP: call the head inside of the module's forward, or module.unshard(); else "
            "weight.redistribute)"
        )
    return sharded[0] if sharded else None


def _beside(name: str, axis: str, other: DTensor) -> str:
    way = {
        "hidden": "under FSDP gather the weight first (call the head inside of the module's forward, or "
        "weight.full_tensor()); under tensor parallelism give hidden as a DTensor, such as "
        "DTensor.from_local(hidden, mesh, [Replicate()])",
        "weight": "give the weight as a DTensor that is Shard(0) over the vocabulary, or all inputs as plain "
        "tensors to lt.parallel.vocab_parallel",
    }.get(axis, "give it as a DTensor of the same mesh, such as DTensor.from_local(x, mesh, placements)")
    return f"'{name}' is a plain tensor, but another input is a DTensor placed as {_told(other)}; {way}"


def _told(item: DTensor) -> str:
    return ", ".join(map(str, item.placements))


def _local_tensors(
    place: _Place, slots: Sequence[Place], axes: Sequence[str], items: Sequence[Tensor], is_transposed: bool
) -> list[Tensor]:
    """This process's part of every array, whose gradients go back to where the arrays are. The axis
    of tokens that is split comes first.
    """
    tensors = []
    for axis, item in zip(axes, items, strict=True):
        axis = axis if item.ndim else "scalar"
        everywhere = [Replicate() for _ in place.tokens]
        whole = (
            item
            if isinstance(item, DTensor)
            else DTensor.from_local(item, place.mesh, everywhere, run_check=False)
        )
        wanted = place.of(axis, item.ndim, 1 if is_transposed else 0)
        local = whole.redistribute(place.mesh, wanted).to_local(
            grad_placements=place.of_gradient(axis, wanted)
        )
        if place.split and axis in ("hidden", "token", "dense"):
            local = local.movedim(place.split, 0)
        tensors.append(local)
    return tensors


# ---- results -------------------------------------------------------------------------------------


def _of_tokens(place: _Place, output: Tensor, leading: tuple[int, ...]) -> DTensor:
    """An output per token with the placements of the tokens; lists have one more axis,
    which is whole.
    """
    output = output.movedim(0, place.split) if place.split else output
    shape = (*leading, *output.shape[len(leading) :])
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    strides.reverse()
    return DTensor.from_local(
        output, place.mesh, place.tokens, run_check=False, shape=torch.Size(shape), stride=tuple(strides)
    )


def _count(
    names: Sequence[str],
    results: Sequence[Tensor],
    slots: Sequence[Place],
    tensors: Sequence[Tensor],
    ignoring: str,
    ignore_index: int | None,
) -> Tensor:
    """What a mean divides by: of this process's tokens."""
    if "weight" in names:
        return results[names.index("weight")].detach().sum()
    rank = tensors[0].ndim - 1
    if not ignoring or ignore_index is None:
        return tensors[0].new_ones(tensors[0].shape[:-1], dtype=torch.float32).sum()
    live = tensors[slots.index(by_name(ignoring))] != ignore_index
    return (live if live.ndim == rank else live.any(-1)).sum().to(torch.float32)


def _mean(total: Tensor, count: Any, is_given: bool, is_zero: bool) -> Tensor:
    """A mean over the tokens of the mesh. Where no token counts, gradients are 0."""
    if is_given:
        count = count.full_tensor() if isinstance(count, DTensor) else count
        return total / (count.detach() if isinstance(count, Tensor) else count)
    mean = total / torch.where(count == 0, torch.ones_like(count), count)
    return mean if is_zero else mean + torch.where(count == 0, torch.full_like(count, torch.nan), 0)


# ---- what graph capture takes for constants ------------------------------------------------------


@torch.compiler.assume_constant_result
def _processes(
    token: str,
    mesh: DeviceMesh,
    vocabulary: int | None,
    is_split: bool,
    has_divisor: bool,
    has_all_tokens: bool,
) -> tuple[str, str]:
    """The token of a HeadProcesses, and the name of its processes."""
    head = capture.head_of_token(token)
    groups = [named_group(mesh.get_group(axis)) for axis in range(mesh.ndim)]
    slices = "" if vocabulary is None else groups.pop(vocabulary)
    name = joined_names(slices, groups)
    layout = Layout(is_split, is_split, True, has_divisor, has_all_tokens)
    if (name, layout) not in head.distributed:
        head.distributed[name, layout] = HeadProcesses(head, name, layout)
    return head.distributed[name, layout].token, name


@torch.compiler.assume_constant_result
def _rules(token: str) -> tuple[str, int | None, bool]:
    """How a head reduces its loss."""
    options = capture.head_of_token(token).binder.options
    return options.reduces, options.ignore_index, options.all_ignored == "zero"
