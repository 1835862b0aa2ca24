"""Liger's policy loss on given logits, and its log-probabilities."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .... import losses
from ....errors import CallValueError
from ...coefficients import Coefficient, is_number, of_temperature
from ...heads import head
from ...shapes import check_shape
from ..policy import BY_TOKEN_ALONE, IGNORED, Batch, Settings, correction_of, normalised, terms


@torch.no_grad()
def fused_selective_log_softmax(
    logits: Tensor, input_ids: Tensor, temperature: Coefficient = 0.9, mask: Tensor | None = None
) -> Tensor:
    """log p of tokens without a gradient, float32 [B, L]; 0 outside of the mask.

    Args:
        logits: [B, L + 1, V], of which the last place of each sequence is not read.
        input_ids, mask: their last L places are those of the logits.
        temperature: the logits are divided by it.

    Raises:
        CallError: shapes or types do not agree, or an id lies outside the vocabulary.
    """
    length = logits.shape[1] - 1
    ids = input_ids[:, input_ids.shape[1] - length :]
    if mask is not None:
        ids = torch.where(mask[:, mask.shape[1] - length :] != 0, ids, IGNORED)
    return _logprobs(logits, ids, temperature)


def triton_grpo_loss(
    logits: Tensor,
    old_logp: Tensor | None,
    ref_logp: Tensor | None,
    completion_ids: Tensor,
    advantages: Tensor,
    completion_mask: Tensor | None = None,
    temperature: Coefficient = 0.9,
    beta: Coefficient = 0.04,
    eps_low: Coefficient = 0.2,
    eps_high: Coefficient = 0.4,
    inplace: bool = True,
    loss_type: str = "dapo",
    max_completion_length: int | None = None,
    importance_sampling_level: str = "token",
    reduce: bool = False,
    sapo_temperature_pos: Coefficient = 1.0,
    sapo_temperature_neg: Coefficient = 1.05,
    vllm_is_ratio: Tensor | None = None,
    delta: Coefficient | None = None,
    use_bias_correction_kl: bool = False,
    num_items_in_batch: Tensor | float | None = None,
    vespo_k_pos: Coefficient = 2.0,
    vespo_lambda_pos: Coefficient = 3.0,
    vespo_k_neg: Coefficient = 3.0,
    vespo_lambda_neg: Coefficient = 2.0,
) -> Any:
    """The loss of `policy.grpo`, of logits.

    Args:
        logits: [B, L + 1, V], of which the last place of each sequence is not read.
        old_logp, ref_logp: log-probabilities [B, L] under the policy that sampled, None: this one;
            and under the reference, which may be None where beta is 0.
        completion_ids: the tokens that were sampled, [B, L].
        advantages: [B].
        completion_mask: 1 for tokens that count, [B, L]; None: all.
        inplace: has no effect: logits are never changed.
        max_completion_length: of "dr_grpo"; None is L.
        reduce: return the loss of the batch instead of those of tokens.
        others: as of `policy.grpo`, where eps_low and eps_high are called
            epsilon_low and epsilon_high.

    Returns: (losses, penalties or None, clipped), float32 [B, L] each and 0 outside of the mask; or
        with `reduce` (loss, metrics), where metrics are a list of the mean penalty, if beta is not
        0, and the share of tokens that are clipped. The first one alone has a gradient.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    settings = Settings(
        beta, eps_low, eps_high, loss_type, max_completion_length or completion_ids.shape[1],
        importance_sampling_level, sapo_temperature_pos, sapo_temperature_neg, delta, use_bias_correction_kl,
        vespo_k_pos, vespo_lambda_pos, vespo_k_neg, vespo_lambda_neg,
    )  # fmt: skip
    _check(settings, logits, completion_ids, ref_logp)
    shape = tuple(completion_ids.shape)
    named = {"old_logp": old_logp, "ref_logp": ref_logp, "completion_mask": completion_mask}
    for name, tensor in named.items():
        check_shape(name, tensor, shape)
    check_shape("advantages", advantages, shape[:1])
    mask = torch.ones(shape, device=logits.device) if completion_mask is None else completion_mask.float()
    ids = torch.where(mask != 0, completion_ids, IGNORED)
    logps = _logprobs(logits, ids, temperature)
    old, reference = (
        logps.detach() if given is None else torch.where(mask != 0, given.float(), 0.0)
        for given in (old_logp, ref_logp)
    )
    batch = Batch(logps, reference, old, mask, advantages[:, None], correction_of(vllm_is_ratio, mask))
    per_token, penalty, clipped = terms(batch, settings)
    per_token = torch.where(mask != 0, per_token, 0.0)
    if not reduce:
        return per_token * mask, None if penalty is None else penalty.detach() * mask, clipped * mask
    count = mask.sum().clamp(min=1.0)
    metrics = [(each.detach() * mask).sum() / count for each in (penalty, clipped) if each is not None]
    return normalised(per_token, mask, settings, num_items_in_batch), metrics


def _check(settings: Settings, logits: Tensor, ids: Tensor, ref_logp: Tensor | None) -> None:
    """Refuses what does not go together."""
    settings.check()
    if settings.delta is not None and settings.loss_type in BY_TOKEN_ALONE:
        raise CallValueError(f"delta is not supported for loss_type={settings.loss_type!r}; leave it out")
    if ref_logp is None and not is_number(settings.beta, 0):
        raise CallValueError(f"beta={settings.beta} needs 'ref_logp'; give it, or beta=0")
    check_shape("logits", logits, (ids.shape[0], ids.shape[1] + 1, logits.shape[-1]))


def _logprobs(logits: Tensor, ids: Tensor, temperature: Coefficient) -> Tensor:
    """log p of tokens, [B, L]; 0 where an id is IGNORED."""
    run = head(losses.logprob, ignore_index=IGNORED)
    result: Tensor = run(z=logits[:, :-1], target=ids, **of_temperature(temperature)).logprob
    return result
