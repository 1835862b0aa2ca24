"""Calls of heads in which some arrays are DTensors and others are plain tensors, the same on every
process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..frameworks.choice import has_shards


def call(head: Any, projections: Sequence[tuple[Tensor, Tensor]], inputs: Mapping[str, Any]) -> Any:
    """`head(hidden, weight, ..., **inputs)`, with DTensors and plain tensors.
    If hidden states or weights include a DTensor, every process must have the same plain inputs and
    projections, and results are whole plain tensors.

    Args:
        head: of lt.jit.
        projections: hidden states [..., D] and weight [V, D] of each lt.Logits. One DTensor of the
            two does not go with a plain tensor: that may be FSDP, whose processes have other hidden
            states.
        inputs: of the loss, by name; tensors, numbers or None.

    Raises:
        CallError: as for a call of the head.
    """
    arrays = [array for projection in projections for array in projection]
    if not has_shards(tuple(arrays), {}):
        return head(*arrays, **inputs)
    placed = [array for projection in projections for array in _placed(*projection, arrays)]
    beside = {name: _copied(item, arrays) for name, item in inputs.items()}
    return _whole(head(*placed, **beside))


def _placed(hidden: Tensor, weight: Tensor, arrays: Sequence[Tensor]) -> tuple[Any, Any]:
    """A projection on the mesh of the others; its weight is cut as the first one that is."""
    if has_shards((hidden, weight), {}):
        return hidden, weight
    like = next((array for array in arrays[1::2] if has_shards((array,), {})), None)
    weight = _copied(weight, arrays)
    if like is not None:
        weight = weight.redistribute(like.device_mesh, like.placements)
    return _copied(hidden, arrays), weight


def _copied(item: Any, arrays: Sequence[Tensor]) -> Any:
    """A plain tensor as a DTensor that is replicated over the mesh of `arrays`."""
    from torch.distributed.tensor import DTensor, Replicate

    if not isinstance(item, Tensor) or isinstance(item, DTensor) or not item.ndim:
        return item
    mesh = next(array for array in arrays if isinstance(array, DTensor)).device_mesh
    return DTensor.from_local(item, mesh, [Replicate()] * mesh.ndim, run_check=False)


def _whole(result: Any) -> Any:
    """Results as plain tensors with all tokens; what reaches them is the same on every process.
    Models add to their loss in place, which autograd refuses for the view that a DTensor gives.
    """
    from torch.distributed.tensor import DTensor

    if isinstance(result, DTensor):
        return result.full_tensor().clone()
    if isinstance(result, Tensor):
        return result
    return type(result)(*map(_whole, result))
