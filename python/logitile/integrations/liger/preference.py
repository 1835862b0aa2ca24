"""Losses of pairs of answers: DPO and its relatives, CPO, ORPO, SimPO.

The first half of a batch are the chosen answers, the second half the rejected ones. Every function
returns (loss, outputs): outputs are chosen and rejected log-probabilities, the mean logits of both
halves, the loss of the chosen answers as text (0 if it is not computed), and what the function
adds. The loss alone has a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import losses
from ...errors import CallValueError
from ...messages.names import listed
from ..coefficients import Coefficient, value_of
from ..heads import head
from .options import chunks
from .sequences import logit_sums, sequence_logprobs

_Results = tuple[Tensor, tuple[Tensor, ...]]


@dataclass(frozen=True)
class _Pairs:
    """A batch of pairs, and the values that are computed from it.

    Args:
        averages: whether the log-probability of an answer is a mean over its
            tokens instead of a sum.
        chunk_size: pairs per chunk.

    Raises:
        CallValueError: the answers have no halves.
    """

    hidden: Tensor
    weight: Tensor
    target: Tensor
    bias: Tensor | None
    ignore_index: int
    averages: bool
    chunk_size: int

    def __post_init__(self) -> None:
        count = self.target.shape[0]
        if count % 2:
            raise CallValueError(
                f"'target' has {count} answers, an odd number; give the chosen ones, "
                "then as many rejected ones"
            )

    @property
    def half(self) -> int:
        """How many pairs there are."""
        return self.target.shape[0] // 2

    def counts(self, target: Tensor) -> Tensor:
        """Which tokens count."""
        return target != self.ignore_index

    def result(
        self,
        preference: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
        alpha: Coefficient,
        compute_nll_loss: bool,
        nll_target: Tensor | None = None,
    ) -> _Results:
        """alpha times the loss of the chosen answers as text,
        and what `preference` makes of both halves.
        """
        totals = self.logprobs(self.hidden, self.weight, self.bias)
        chosen, rejected = self.halves(totals)
        nll = totals.new_zeros(())
        if compute_nll_loss:
            nll = self._nll(totals) if nll_target is None else self._nll_of(nll_target)
        loss, *added = preference(chosen, rejected)
        sums = logit_sums(self.hidden, self.weight, self.bias)
        count = self.half * self.hidden.shape[1] * self.weight.shape[0]
        means = sums[: self.half].sum() / count, sums[self.half :].sum() / count
        outputs = (chosen, rejected, *means, nll, *added)
        return (alpha * nll + loss).to(totals.dtype), tuple(output.detach() for output in outputs)

    def logprobs(self, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The log-probability of each answer, [2 B]: the sum over its tokens."""
        return sequence_logprobs(
            hidden, weight, bias, self.target, ignore_index=self.ignore_index, chunk_size=2 * self.chunk_size
        )

    def halves(self, totals: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probabilities of chosen and rejected answers, as they are compared."""
        if self.averages:
            totals = totals / self.counts(self.target).sum(-1)
        return totals[: self.half], totals[self.half :]

    def _nll(self, totals: Tensor) -> Tensor:
        return -totals[: self.half].sum() / self.counts(self.target[: self.half]).sum()

    def _nll_of(self, target: Tensor) -> Tensor:
        """The loss of the chosen answers with a target of its own."""
        target = target[: self.half]
        run = head(
            losses.cross_entropy, reduction="sum", ignore_index=self.ignore_index,
            **chunks(self.half, self.chunk_size),
        )  # fmt: skip
        total = run(self.hidden[: self.half], self.weight, target=target, bias=self.bias)
        return total / self.counts(target).sum()

    def reference(self, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The log-probabilities of both halves under another model, without a gradient."""
        with torch.no_grad():
            return self.halves(self.logprobs(hidden, weight, bias))


# ---- DPO -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Margins:
    """What the losses of DPO need: log-ratios of policy and reference, chosen and rejected."""

    chosen: Tensor
    rejected: Tensor
    beta: Coefficient
    smoothing: Coefficient
    tau: Coefficient

    @property
    def margin(self) -> Tensor:
        return self.beta * (self.chosen - self.rejected)


def _exo(m: _Margins) -> Tensor:
    """KL between the policy's preference and one that is wrong with probability `smoothing`."""
    right, wrong = F.logsigmoid(m.margin), F.logsigmoid(-m.margin)
    return right.exp() * (right - _log(1 - m.smoothing)) + wrong.exp() * (wrong - _log(m.smoothing))


def _log(value: Coefficient) -> Coefficient:
    return value.log() if isinstance(value, Tensor) else math.log(value)


def _nca(m: _Margins) -> Tensor:
    chosen, rejected = m.beta * m.chosen, m.beta * m.rejected
    return -F.logsigmoid(chosen) - 0.5 * (F.logsigmoid(-chosen) + F.logsigmoid(-rejected))


def _robust(m: _Margins) -> Tensor:
    kept = (1 - m.smoothing) * F.logsigmoid(m.margin) - m.smoothing * F.logsigmoid(-m.margin)
    return -kept / (1 - 2 * m.smoothing)


def _sppo(m: _Margins) -> Tensor:
    half = 0.5 / m.beta
    return (m.chosen - half) ** 2 + (m.rejected + half) ** 2


def _discopop(m: _Margins) -> Tensor:
    share = torch.sigmoid(m.margin / m.tau)
    return -F.logsigmoid(m.margin) * (1 - share) + torch.exp(-m.margin) * share


# Sources: sigmoid arXiv:2305.18290, exo_pair 2402.00856, nca_pair 2402.05369, robust 2403.00409,
# bco_pair 2404.04656, sppo_hard 2405.00675, apo_zero and apo_down 2408.06266, discopop 2406.08414.
_DPO: dict[str, Callable[[_Margins], Tensor]] = {
    "sigmoid": lambda m: -F.logsigmoid(m.margin),
    "hinge": lambda m: torch.relu(1 - m.margin),
    "exo_pair": _exo,
    "nca_pair": _nca,
    "robust": _robust,
    "bco_pair": lambda m: -F.logsigmoid(m.beta * m.chosen) - F.logsigmoid(-m.beta * m.rejected),
    "sppo_hard": _sppo,
    "apo_zero": lambda m: torch.sigmoid(-m.beta * m.chosen) + torch.sigmoid(m.beta * m.rejected),
    "apo_down": lambda m: torch.sigmoid(m.beta * m.chosen) + torch.sigmoid(-m.margin),
    "discopop": _discopop,
}


def check_dpo(loss_type: str, label_smoothing: Coefficient) -> None:
    """Refuses unknown types of loss, and smoothing that they cannot have, in Liger's words."""
    if loss_type not in _DPO:
        raise CallValueError(f"Unsupported loss_type={loss_type!r}; it is none of {listed(list(_DPO))}")
    number = value_of("label_smoothing", label_smoothing)
    if number is None:
        return
    if loss_type == "exo_pair" and not 0 < number < 1:
        raise CallValueError(
            f"label_smoothing must be > 0 for loss_type='exo_pair', and below 1, but is {number}"
        )
    if loss_type == "robust" and not 0 <= number < 0.5:
        raise CallValueError(
            f"label_smoothing must lie in [0.0, 0.5) for loss_type='robust', but is {number}"
        )


def dpo(
    _input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    ref_input: Tensor | None = None,
    ref_weight: Tensor | None = None,
    ref_bias: Tensor | None = None,
    ignore_index: int = -100,
    beta: Coefficient = 0.1,
    compute_nll_loss: bool = False,
    compiled: bool = True,
    use_ref_model: bool = True,
    average_log_prob: bool = False,
    chunk_size: int = 1,
    loss_type: str = "sigmoid",
    label_smoothing: Coefficient = 0.0,
    discopop_tau: Coefficient = 0.05,
    alpha: Coefficient = 1.0,
) -> _Results:
    """DPO. It adds the rewards of chosen and rejected answers to the outputs.

    Args:
        _input: hidden states, [2 B, T, D].
        weight, bias: [V, D] and [V].
        target: [2 B, T].
        ref_input, ref_weight, ref_bias: those of the reference model.
        beta: the scale of rewards. Like `alpha`, `label_smoothing` and `discopop_tau` it may be a
            tensor without axes, which gets a gradient if it requires one.
        compute_nll_loss, alpha: whether the chosen answers' loss is added, and its weight.
        compiled: has no effect: kernels are compiled always.
        use_ref_model: whether the reference model is subtracted.
        average_log_prob: means over tokens instead of sums.
        chunk_size: pairs per chunk.
        loss_type: a name of the table above this function.
        label_smoothing, discopop_tau: of the types that have them.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    check_dpo(loss_type, label_smoothing)
    pairs = _Pairs(_input, weight, target, bias, ignore_index, average_log_prob, chunk_size)
    reference: tuple[Tensor | float, Tensor | float] = (0.0, 0.0)
    if use_ref_model:
        if ref_input is None or ref_weight is None:
            raise CallValueError("use_ref_model=True needs 'ref_input' and 'ref_weight'")
        reference = pairs.reference(ref_input, ref_weight, ref_bias)

    def preference(chosen: Tensor, rejected: Tensor) -> tuple[Tensor, ...]:
        margins = _Margins(
            chosen - reference[0], rejected - reference[1], beta, label_smoothing, discopop_tau
        )
        loss = _DPO[loss_type](margins).sum() / pairs.half
        return loss, beta * margins.chosen, beta * margins.rejected

    return pairs.result(preference, alpha, compute_nll_loss)


# ---- CPO, SimPO, ORPO ----------------------------------------------------------------------------


def _smoothed(
    pairs: _Pairs, beta: Coefficient, gamma: Coefficient, label_smoothing: Coefficient
) -> Callable[..., Any]:
    """-log sigmoid(beta (chosen - rejected) - gamma), and rewards."""

    def preference(chosen: Tensor, rejected: Tensor) -> tuple[Tensor, ...]:
        margin = beta * (chosen - rejected) - gamma
        kept = (1 - label_smoothing) * F.logsigmoid(margin) + label_smoothing * F.logsigmoid(-margin)
        return -kept.sum() / pairs.half, beta * chosen, beta * rejected

    return preference


def cpo(
    _input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    beta: Coefficient = 0.1,
    alpha: Coefficient = 1.0,
    label_smoothing: Coefficient = 0.0,
    compute_nll_loss: bool = True,
    compiled: bool = True,
    average_log_prob: bool = False,
    chunk_size: int = 1,
) -> _Results:
    """CPO, arXiv:2401.08417; arguments and results as of `dpo`."""
    pairs = _Pairs(_input, weight, target, bias, ignore_index, average_log_prob, chunk_size)
    return pairs.result(_smoothed(pairs, beta, 0.0, label_smoothing), alpha, compute_nll_loss)


def simpo(
    _input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    beta: Coefficient = 0.1,
    alpha: Coefficient = 1.0,
    label_smoothing: Coefficient = 0.0,
    compute_nll_loss: bool = False,
    compiled: bool = True,
    gamma: Coefficient = 0.5,
    chunk_size: int = 1,
) -> _Results:
    """SimPO, arXiv:2405.14734, with the margin `gamma`; else arguments and results as of `dpo`."""
    pairs = _Pairs(_input, weight, target, bias, ignore_index, True, chunk_size)
    return pairs.result(_smoothed(pairs, beta, gamma, label_smoothing), alpha, compute_nll_loss)


def orpo(
    _input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    beta: Coefficient = 0.1,
    compute_nll_loss: bool = True,
    nll_target: Tensor | None = None,
    compiled: bool = True,
    chunk_size: int = 1,
) -> _Results:
    """ORPO, arXiv:2403.07691.
    It adds to the outputs: rewards, the mean of log sigmoid of the log odds ratio, and the mean log
    odds ratio.

    Args:
        nll_target: the target of the chosen answers' loss, in the shape of `target`;
            left out: `target`.
        others: as of `dpo`.
    """
    pairs = _Pairs(_input, weight, target, bias, ignore_index, True, chunk_size)

    def preference(chosen: Tensor, rejected: Tensor) -> tuple[Tensor, ...]:
        odds = chosen - rejected - torch.log1p(-chosen.exp()) + torch.log1p(-rejected.exp())
        ratio = F.logsigmoid(odds).sum() / pairs.half
        return -beta * ratio, beta * chosen, beta * rejected, ratio, odds.sum() / pairs.half

    return pairs.result(preference, 1.0, compute_nll_loss, nll_target)
