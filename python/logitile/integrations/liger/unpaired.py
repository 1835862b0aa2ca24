"""KTO: answers that are good or bad by themselves, instead of in pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...errors import CallValueError
from ..coefficients import Coefficient
from ..shapes import check_shape
from .sequences import logit_sums, sequence_logprobs


def kto(
    _input: Tensor,
    weight: Tensor,
    target: Tensor,
    preference_labels: Tensor | None,
    bias: Tensor | None = None,
    ref_input: Tensor | None = None,
    ref_weight: Tensor | None = None,
    ref_bias: Tensor | None = None,
    kl: Tensor | None = None,
    ignore_index: int = -100,
    beta: Coefficient = 0.1,
    compiled: bool = True,
    use_ref_model: bool = True,
    average_log_prob: bool = False,
    chunk_size: int = 1,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """KTO, arXiv:2402.01306.
    The loss is the mean of 1 - sigmoid(beta (log-ratio - kl)), with the opposite sign for bad
    answers.

    Args:
        _input: hidden states, [B, T, D].
        weight, bias: [V, D] and [V].
        target: [B, T].
        preference_labels: bools, [B]: whether an answer is good.
        ref_input, ref_weight, ref_bias: those of the reference model.
        kl: the divergence from the reference, one number or [B].
        beta: the scale of rewards. It may be a tensor without axes,
            which gets a gradient if it requires one.
        compiled: has no effect: kernels are compiled always.
        use_ref_model: whether the reference model is subtracted.
        average_log_prob: means over tokens instead of sums.
        chunk_size: sequences per chunk.

    Returns: (loss, outputs): sums over good and over bad answers of log-probabilities, of logits,
        and of rewards. The loss alone has a gradient.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    if preference_labels is None or preference_labels.dtype != torch.bool:
        raise CallValueError("preference_labels must be bools, one for each sequence")
    check_shape("preference_labels", preference_labels, (target.shape[0],))
    if isinstance(kl, Tensor):
        check_shape("kl", kl, (), (1,), (target.shape[0],))
    how: dict[str, Any] = {
        "ignore_index": ignore_index, "chunk_size": chunk_size, "averages": average_log_prob,
    }  # fmt: skip
    logps = sequence_logprobs(_input, weight, bias, target, **how)
    ratios = logps
    if use_ref_model:
        if ref_input is None or ref_weight is None:
            raise CallValueError("use_ref_model=True needs 'ref_input' and 'ref_weight'")
        with torch.no_grad():
            before = sequence_logprobs(ref_input, ref_weight, ref_bias, target, **how)
        ratios = logps - before
    sign = torch.where(preference_labels, 1.0, -1.0)
    shifted = ratios if kl is None else ratios - kl
    loss = (1 - torch.sigmoid(beta * shifted * sign)).sum() / target.shape[0]
    values = (logps, logit_sums(_input, weight, bias), beta * ratios)
    sums = [(value * kept).sum() for value in values for kept in (preference_labels, ~preference_labels)]
    return loss, tuple(total.detach() for total in sums)
