"""Log-probabilities of sequences, and sums of their logits, without an array of logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ... import losses
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
    temperature: float = 1.0,
) -> Tensor:
    """log p of each target, [batch, sequence]; 0 where a token is ignored.

    Args:
        chunk_size: sequences per chunk.
    """
    scaled = {} if temperature == 1 else {"temperature": temperature}
    run = head(losses.logprob, ignore_index=ignore_index, **chunks(hidden.shape[0], chunk_size))
    result: Tensor = run(hidden, weight, target=target, bias=bias, **scaled).logprob
    return result


def of_sequences(per_token: Tensor, counts: Tensor, averages: bool) -> Tensor:
    """Sums over sequences, [batch], or means over the tokens that count; NaN for a mean over none."""
    total = per_token.sum(-1)
    return total / counts.sum(-1) if averages else total


@torch.no_grad()
def logit_sums(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The sum of all logits of each sequence, [batch]: the product of two sums is the sum of the products."""
    sums = hidden.sum(1, dtype=torch.float32) @ weight.sum(0, dtype=torch.float32)
    return sums if bias is None else sums + hidden.shape[1] * bias.sum(dtype=torch.float32)
