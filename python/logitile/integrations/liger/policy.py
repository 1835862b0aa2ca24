"""GRPO and its relatives: losses of answers that a policy sampled, with an advantage for each.

Kernels make the log-probability of each token;
what is done with these [batch, sequence] numbers is torch.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import CallValueError
from ...messages.names import listed
from ..coefficients import Coefficient, check_constants, is_number, value_of
from ..shapes import check_shape
from .sequences import token_logprobs

_TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")
BY_TOKEN_ALONE = ("cispo", "sapo", "vespo")
IGNORED = -100
_SMALLEST = math.log(1e-8)


@dataclass(frozen=True)
class Settings:
    """The options of a loss; `grpo` says what they mean."""

    beta: Coefficient
    epsilon_low: Coefficient
    epsilon_high: Coefficient
    loss_type: str
    max_completion_length: int | None
    importance_sampling_level: str
    sapo_temperature_pos: Coefficient
    sapo_temperature_neg: Coefficient
    delta: Coefficient | None
    use_bias_correction_kl: bool
    vespo_k_pos: Coefficient
    vespo_lambda_pos: Coefficient
    vespo_k_neg: Coefficient
    vespo_lambda_neg: Coefficient

    def check(self) -> None:
        """Refuses what does not go together.

        Raises:
            CallValueError: an option is not possible.
        """
        level, kind = self.importance_sampling_level, self.loss_type
        if kind not in _TYPES:
            raise CallValueError(f"loss_type={kind!r} is none of {listed(_TYPES)}")
        if level not in ("token", "sequence"):
            raise CallValueError(f"importance_sampling_level={level!r} is none of 'token' and 'sequence'")
        if level == "sequence" and kind in BY_TOKEN_ALONE:
            raise CallValueError(
                "importance_sampling_level='sequence': Sequence-level importance sampling is not supported "
                f"for loss_type={kind!r}; give 'token'"
            )
        if kind == "dr_grpo" and self.max_completion_length is None:
            raise CallValueError("loss_type='dr_grpo' needs 'max_completion_length'")
        check_positive(delta=self.delta)
        if kind == "sapo":
            check_positive(
                sapo_temperature_pos=self.sapo_temperature_pos, sapo_temperature_neg=self.sapo_temperature_neg
            )
        if kind == "cispo":
            check_constants(
                "the bounded ratio of loss_type='cispo' is a constant", epsilon_high=self.epsilon_high
            )
        if kind == "vespo":
            check_constants(
                "the weights of loss_type='vespo' are constants",
                vespo_k_pos=self.vespo_k_pos, vespo_lambda_pos=self.vespo_lambda_pos,
                vespo_k_neg=self.vespo_k_neg, vespo_lambda_neg=self.vespo_lambda_neg,
            )  # fmt: skip


def check_positive(**options: Coefficient | None) -> None:
    """Refuses numbers that are not above 0. None is allowed.

    Raises:
        CallValueError: one is not.
    """
    for name, value in options.items():
        number = value_of(name, value)
        if number is not None and number <= 0:
            raise CallValueError(f"{name}={number} must be above 0")


@dataclass(frozen=True)
class Batch:
    """Numbers of a batch: log-probabilities under policy, reference and sampler, [batch, sequence].

    Args:
        mask: 1 for tokens that count, float32.
        advantages: [batch, 1].
        correction: the importance ratio of the engine that sampled, or None.
    """

    logps: Tensor
    reference: Tensor
    old: Tensor
    mask: Tensor
    advantages: Tensor
    correction: Tensor | None

    @property
    def log_ratio(self) -> Tensor:
        """How much more likely tokens are now than when they were sampled, as logs."""
        return self.logps - self.old


def grpo(
    _input: Tensor,
    weight: Tensor,
    selected_token_ids: Tensor,
    attention_mask: Tensor,
    advantages: Tensor,
    bias: Tensor | None = None,
    ref_per_token_logps: Tensor | None = None,
    old_per_token_logps: Tensor | None = None,
    ref_input: Tensor | None = None,
    ref_weight: Tensor | None = None,
    ref_bias: Tensor | None = None,
    beta: Coefficient = 0.04,
    epsilon_low: Coefficient = 0.2,
    epsilon_high: Coefficient = 0.2,
    loss_type: str = "dapo",
    max_completion_length: int | None = None,
    importance_sampling_level: str = "token",
    sapo_temperature_pos: Coefficient = 1.0,
    sapo_temperature_neg: Coefficient = 1.05,
    temperature: Coefficient = 1.0,
    compiled: bool = True,
    use_ref_model: bool = True,
    chunk_size: int = 1,
    vllm_is_ratio: Tensor | None = None,
    delta: Coefficient | None = None,
    use_bias_correction_kl: bool = False,
    vespo_k_pos: Coefficient = 2.0,
    vespo_lambda_pos: Coefficient = 3.0,
    vespo_k_neg: Coefficient = 3.0,
    vespo_lambda_neg: Coefficient = 2.0,
    num_items_in_batch: Tensor | float | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A policy-gradient loss with importance ratios, and a penalty for leaving a reference.

    Args:
        _input: hidden states, [B, T, D].
        weight, bias: [V, D] and [V].
        selected_token_ids: the tokens that were sampled, [B, T].
        attention_mask: 1 for tokens that count, [B, T].
        advantages: [B].
        ref_per_token_logps: log-probabilities under the reference, [B, T]; left out:
            of `ref_input`.
        old_per_token_logps: under the policy that sampled; left out: this policy's own.
        ref_input, ref_weight, ref_bias: the reference model.
        beta: the weight of the penalty exp(d) - d - 1, d = log p_ref - log p.
        epsilon_low, epsilon_high: how far ratios may move.
        loss_type: "grpo" (arXiv:2402.03300), "bnpo", "dr_grpo" (2503.20783), "dapo" (2503.14476),
            "cispo" (2506.13585), "sapo" (2511.20347), "luspo" or "vespo".
        max_completion_length: of "dr_grpo".
        importance_sampling_level: a ratio for each "token" or each "sequence".
        sapo_temperature_pos, sapo_temperature_neg: of "sapo".
        temperature: logits are divided by it. Coefficients may be tensors without axes, which get a
            gradient if they require one; one that the loss type takes for a constant is refused
            then.
        compiled: has no effect: kernels are compiled always.
        use_ref_model: whether there is a reference.
        chunk_size: sequences per chunk.
        vllm_is_ratio: corrects for the engine that sampled: [B], [B, 1] or [B, T].
        delta: the most that a ratio may be.
        use_bias_correction_kl: multiply the penalty by the ratio.
        vespo_k_pos, vespo_lambda_pos, vespo_k_neg, vespo_lambda_neg: of "vespo".
        num_items_in_batch: the number of tokens of all micro-batches and processes, for "dapo",
            "cispo" and "vespo"; left out: those of this micro-batch, on all processes.

    Returns: (loss, metrics): the mean penalty, if beta is not 0,
        and the share of tokens that are clipped.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    settings = Settings(
        beta, epsilon_low, epsilon_high, loss_type, max_completion_length, importance_sampling_level,
        sapo_temperature_pos, sapo_temperature_neg, delta, use_bias_correction_kl, vespo_k_pos,
        vespo_lambda_pos, vespo_k_neg, vespo_lambda_neg,
    )  # fmt: skip
    settings.check()
    _check_shapes(selected_token_ids, attention_mask, advantages, ref_per_token_logps, old_per_token_logps)
    mask = attention_mask.to(torch.float32)
    # The one loss that also sums tokens outside of the mask has to know them.
    ids = selected_token_ids if loss_type == "luspo" else torch.where(mask > 0, selected_token_ids, IGNORED)

    def logprobs(hidden: Tensor, rows: Tensor, offset: Tensor | None) -> Tensor:
        how: dict[str, Any] = {"ignore_index": IGNORED, "chunk_size": chunk_size, "temperature": temperature}
        return token_logprobs(hidden, rows, offset, ids, **how)

    logps = logprobs(_input, weight, bias)
    reference = old = logps.detach()
    if use_ref_model:
        reference = _reference(ref_per_token_logps, ref_input, ref_weight, ref_bias, logprobs)
    if old_per_token_logps is not None:
        old = old_per_token_logps.float()
    reference, old = (torch.where(ids == IGNORED, 0.0, values) for values in (reference, old))
    correction = correction_of(vllm_is_ratio, mask)
    batch = Batch(logps, reference, old, mask, advantages.unsqueeze(1), correction)
    return _loss(batch, settings, num_items_in_batch)


def _check_shapes(
    ids: Tensor, mask: Tensor, advantages: Tensor, reference: Tensor | None, old: Tensor | None
) -> None:
    shape = tuple(ids.shape)
    check_shape("attention_mask", mask, shape)
    check_shape("advantages", advantages, shape[:1])
    check_shape("ref_per_token_logps", reference, shape)
    check_shape("old_per_token_logps", old, shape)


def _reference(
    given: Tensor | None,
    hidden: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    logprobs: Callable[[Tensor, Tensor, Tensor | None], Tensor],
) -> Tensor:
    if given is not None:
        if hidden is not None:
            warnings.warn("ref_per_token_logps is taken; ref_input is left alone", stacklevel=3)
        return given.float()
    if hidden is None or weight is None:
        raise CallValueError(
            "use_ref_model=True needs 'ref_per_token_logps', or 'ref_input' and 'ref_weight'"
        )
    with torch.no_grad():
        return logprobs(hidden, weight, bias)


def correction_of(ratio: Tensor | None, mask: Tensor) -> Tensor | None:
    """`vllm_is_ratio` as [B, 1] or [B, T]."""
    if ratio is None:
        return None
    batch, length = mask.shape
    check_shape("vllm_is_ratio", ratio, (batch,), (batch, 1), (batch, length))
    return ratio.unsqueeze(-1) if ratio.dim() == 1 else ratio


# ---- the loss ------------------------------------------------------------------------------------


def _loss(
    batch: Batch, settings: Settings, num_items: Tensor | float | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    per_token, penalty, clipped = terms(batch, settings)
    count = batch.mask.sum().clamp(min=1.0)
    metrics = [] if penalty is None else [(penalty * batch.mask).sum() / count]
    metrics.append((clipped * batch.mask).sum() / count)
    loss = normalised(per_token, batch.mask, settings, num_items)
    return loss, tuple(metric.detach() for metric in metrics)


def terms(batch: Batch, settings: Settings) -> tuple[Tensor, Tensor | None, Tensor]:
    """The loss of each token, the penalty without its weight, and whether it is clipped.
    The penalty is None if its weight is 0. The others are [B, T], or [B, 1] for ratios of
    sequences.
    """
    log_weight = batch.log_ratio
    if settings.importance_sampling_level == "sequence":
        lengths = batch.mask.sum(-1, keepdim=True).clamp(min=1.0)
        log_weight = (log_weight * batch.mask).sum(-1, keepdim=True) / lengths
    ratio = log_weight.exp()
    per_token = _surrogate(batch, settings, ratio)
    if batch.correction is not None and settings.loss_type != "vespo":
        per_token = per_token * batch.correction
    penalty = None
    if not is_number(settings.beta, 0):
        distance = batch.reference - batch.logps
        penalty = distance.exp() - distance - 1
        if settings.use_bias_correction_kl:
            penalty = penalty * ratio
        per_token = per_token + settings.beta * penalty
    return per_token, penalty, _clipped(batch, settings, ratio)


def _surrogate(batch: Batch, settings: Settings, ratio: Tensor) -> Tensor:
    """The loss without the penalty: [B, T], or [B, 1] for a ratio of sequences."""
    advantages, kind = batch.advantages, settings.loss_type
    if kind == "cispo":
        return -_clamped(ratio, None, settings.epsilon_high).detach() * advantages * batch.logps
    if kind == "vespo":
        return -_vespo_weight(batch, settings) * advantages * batch.logps
    if kind == "sapo":
        good, bad = (
            torch.sigmoid(heat * (ratio - 1)) * 4 / heat
            for heat in (settings.sapo_temperature_pos, settings.sapo_temperature_neg)
        )
        return -torch.where(advantages > 0, good, bad) * advantages
    clipped = _clamped(ratio, 1 - settings.epsilon_low, 1 + settings.epsilon_high)
    bounded = ratio if settings.delta is None else _clamped(ratio, None, settings.delta)
    return -torch.minimum(bounded * advantages, clipped * advantages)


def _clamped(ratio: Tensor, least: Coefficient | None, most: Coefficient) -> Tensor:
    """torch.clamp, which takes two numbers or two tensors."""
    if not isinstance(least, Tensor) and not isinstance(most, Tensor):
        return ratio.clamp(least, most)
    bounds = (None if x is None else torch.as_tensor(x).to(ratio) for x in (least, most))
    return ratio.clamp(*bounds)


def _clipped(batch: Batch, settings: Settings, ratio: Tensor) -> Tensor:
    """Which tokens have a ratio beyond the bound that matters for the sign of their advantage."""
    advantages, kind = batch.advantages, settings.loss_type
    if kind in ("sapo", "vespo"):
        return torch.zeros_like(batch.mask)
    if kind == "cispo":
        return ((ratio > settings.epsilon_high) & (advantages > 0)).float()
    low = (ratio < 1 - settings.epsilon_low) & (advantages < 0)
    high = (ratio > 1 + settings.epsilon_high) & (advantages > 0)
    return (low | high).float()


@torch.no_grad()
def _vespo_weight(batch: Batch, settings: Settings) -> Tensor:
    """exp(l) w**k exp(-l w) of a sequence's ratio w, 1 for w = 1; [B, 1]."""
    log_w = (batch.log_ratio.clamp(-20, 20) * batch.mask).sum(-1, keepdim=True)
    if batch.correction is not None:
        log_w = log_w + batch.correction.log().clamp(_SMALLEST, 20).sum(-1, keepdim=True)
    log_w = log_w.clamp(_SMALLEST, 20)
    is_good = batch.advantages >= 0
    k = torch.where(is_good, settings.vespo_k_pos, settings.vespo_k_neg).to(log_w)
    rate = torch.where(is_good, settings.vespo_lambda_pos, settings.vespo_lambda_neg).to(log_w)
    rate = rate.clamp(min=1e-4)
    weight = (rate + k * log_w - rate * log_w.exp()).exp()
    return weight.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


def normalised(
    per_token: Tensor, mask: Tensor, settings: Settings, num_items: Tensor | float | None
) -> Tensor:
    """The loss of a batch, as its type divides that of tokens."""
    kind, lengths = settings.loss_type, mask.sum(-1)
    if kind == "luspo":
        return (per_token * lengths.unsqueeze(1)).mean()
    if kind in ("grpo", "sapo"):
        return ((per_token * mask).sum(-1) / lengths.clamp(min=1.0)).sum() / mask.shape[0]
    total = (per_token * mask).sum()
    if kind == "bnpo":
        return total / mask.sum().clamp(min=1.0)
    if kind == "dr_grpo" and settings.max_completion_length is not None:
        return total / (mask.shape[0] * settings.max_completion_length)
    return total / _tokens_of_process(mask, num_items)


def _tokens_of_process(mask: Tensor, num_items: Tensor | float | None) -> Tensor:
    """The number of tokens of all processes, divided by the number of processes; 1 at least."""
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    processes = torch.distributed.get_world_size() if distributed else 1
    if num_items is not None:
        count = torch.as_tensor(num_items, dtype=torch.float32, device=mask.device)
    else:
        count = mask.sum()
        if distributed:
            torch.distributed.all_reduce(count)
    return (count / processes).clamp(min=1.0)
