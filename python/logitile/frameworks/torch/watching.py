"""Whether torch watches a call: runs it or only traces it, and what autocast rounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ...errors import CallTypeError
from ..stand_ins import Rounded

_CASTS = (torch.float32, torch.bfloat16, torch.float16)  # float64 is left alone, as by torch
_PLAIN = (
    Tensor,
    torch.nn.Parameter,
    torch.nn.Buffer,
)  # subclasses may have no memory, or memory of another meaning


def is_traced(args: tuple[Any, ...], inputs: dict[str, Any]) -> bool:
    """Whether the call has to go through the operators: torch compiles,
    transforms or dispatches it.
    """
    if torch.compiler.is_compiling():
        return True
    tensors = []
    for item in (*args, *inputs.values()):
        parts = item if isinstance(item, (tuple, list)) else (item,)
        tensors += [part for part in parts if isinstance(part, Tensor)]
    if not tensors:
        return False
    if forward_ad._current_level >= 0:
        _check_reverse(tensors)
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0:
        return True
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.is_meta:
            return True
    return False


def has_shards(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether a DTensor is among the arguments of a call."""
    from torch.distributed.tensor import DTensor

    for item in (*args, *inputs.values()):
        for part in item if isinstance(item, (tuple, list)) else (item,):
            if isinstance(part, DTensor):
                return True
    return False


def _check_reverse(tensors: Sequence[Tensor]) -> None:
    """Tangents would be lost without a word:
    operators of torch that have no rule for them give zeros.
    """
    if any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise CallTypeError(
            "an input carries a tangent of forward-mode differentiation (torch.func.jvp, jacfwd), for "
            "which heads have no rule; use reverse mode (torch.func.vjp, jacrev)"
        )


# ---- autocast ------------------------------------------------------------------------------------


def rounds_to(item: Any) -> str | None:
    """The type that autocast has an operand multiplied in, if it has a say in that."""
    if not isinstance(item, Tensor) or item.dtype not in _CASTS:
        return None
    kind = item.device.type
    if kind == "meta":  # lies nowhere, so it follows whichever autocast is on
        kind = "cpu" if torch.is_autocast_enabled("cpu") else "cuda"
    if not torch.is_autocast_enabled(kind):
        return None
    return str(torch.get_autocast_dtype(kind)).removeprefix("torch.")


def autocast(
    pairs: Collection[str], args: Sequence[Any], inputs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Under autocast hidden and weights are rounded to its type; everything else stays as it is.

    Args:
        pairs: the names among the inputs that are tuples of hidden and weight.
    """

    def marked(item: Any) -> Any:
        if isinstance(item, (tuple, list)):
            return tuple(marked(part) for part in item)
        dtype = rounds_to(item)
        return item if dtype is None else Rounded(item, dtype)

    return tuple(marked(i) for i in args), {k: marked(v) if k in pairs else v for k, v in inputs.items()}
