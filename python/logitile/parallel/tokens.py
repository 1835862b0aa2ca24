"""Tokens on several processes: the divisor of a mean over all of them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributed import _functional_collectives as collectives

from ..errors import CallTypeError
from .processes import named_group


def token_count(target: Tensor, group: object = None, *, ignore_index: int | None = -100) -> Tensor:
    """How many tokens of all processes count:
    a `divisor` that makes means those of all their tokens.

        divisor = lt.parallel.token_count(target, group)
        loss = head(hidden, weight, target=target, divisor=divisor)  # their sum is the mean

    Args:
        target: of this process's tokens, integers of any shape.
        group: of torch.distributed; None is the group of all processes.
        ignore_index: of the tokens that do not count; None counts all.

    Returns: a float32 tensor without axes on the device of target, the same on every process;
        nothing waits for it.

    Raises:
        CallTypeError: 'target' is no tensor of integers, or 'group' is no group.
    """
    if not isinstance(target, Tensor) or target.is_floating_point() or target.is_complex():
        raise CallTypeError(
            f"'target' is {getattr(target, 'dtype', type(target).__name__)}; it must be a tensor of integers"
        )
    own = torch.tensor(target.numel(), device=target.device)
    own = own if ignore_index is None else (target != ignore_index).sum()
    return collectives.all_reduce(own.to(torch.int64), "sum", named_group(group)).to(torch.float32)
