"""Log-probabilities of sequences, and sums of their logits, without an array of logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ... import losses
from ...arguments.segments import Segments
from ..coefficients import Coefficient, of_temperature
from ..heads import head
from .options import chunks


def token_logprobs(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    *,
    ignore_index: int,
    chunk_size: int,
    temperature: Coefficient = 1.0,
) -> Tensor:
    """log p of each target, [batch, sequence]; 0 where a token is ignored.

    Args:
        chunk_size: sequences per chunk.
    """
    run = head(losses.logprob, ignore_index=ignore_index, **chunks(hidden.shape[0], chunk_size))
    result: Tensor = run(hidden, weight, target=target, bias=bias, **of_temperature(temperature)).logprob
    return result


def sequence_logprobs(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    *,
    ignore_index: int,
    chunk_size: int,
    averages: bool = False,
) -> Tensor:
    """The sum of log p over the counted tokens of each sequence, [batch], or their mean.
    A mean over no token is NaN.

    Args:
        chunk_size: sequences per chunk.
    """
    run = head(
        losses.logprob, reduction="mean" if averages else "sum", ignore_index=ignore_index,
        **chunks(hidden.shape[0], chunk_size),
    )  # fmt: skip
    result: Tensor = run(hidden, weight, target=target, bias=bias, segments=rows_of(target)).logprob
    return result


def rows_of(target: Tensor) -> Segments:
    """Each row of a batch is one sequence."""
    count = target.shape[0]
    return Segments(torch.arange(count, device=target.device)[:, None].expand(target.shape), count)


@torch.no_grad()
def logit_sums(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The sum of all logits of each sequence, [batch]:
    the product of two sums is the sum of the products.
    """
    sums = hidden.sum(1, dtype=torch.float32) @ weight.sum(0, dtype=torch.float32)
    return sums if bias is None else sums + hidden.shape[1] * bias.sum(dtype=torch.float32)
