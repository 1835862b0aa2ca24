"""Liger's fused linear divergence from a given distribution, such as stored soft labels."""

from __future__ import annotations

import torch
from torch import Tensor

from ....language import functions as lt
from ....language.annotations import Dense, Logits, Scalar, Token
from ....language.definition import loss
from ...coefficients import Coefficient, check, of_temperature
from ...heads import head
from ...shapes import check_shape
from ..options import check_accum_dtype, check_reduction, check_temperature


@loss
def kl_from(
    z: Logits,
    target: Dense[float],
    eps: Scalar,
    label: Token[int] | None = None,
    *,
    temperature: Scalar | None = None,
):
    """KL(q || p) = sum(q (log max(q, eps) - log p)).

    Args:
        target: q, [..., V].
        label: not read: where it is given, tokens whose label is `ignore_index` count nowhere.
        temperature: the logits are divided by it.
    """
    log_p = lt.log_softmax(z if temperature is None else z / temperature)
    return lt.sum(target * (lt.log(lt.maximum(target, eps)) - log_p))


def liger_fused_linear_kl_div(
    student_input: Tensor,
    student_weight: Tensor,
    target: Tensor,
    shift_labels: Tensor | None = None,
    reduction: str = "batchmean",
    ignore_index: int = -100,
    temperature: Coefficient = 1.0,
    eps: Coefficient = 1e-10,
    accum_dtype: torch.dtype | None = None,
) -> Tensor:
    """KL(target || p), p of a projection; 0 if no token counts.

    Args:
        student_input: [N, D].
        student_weight: [V, D].
        target: probabilities, [N, V]; rows need not add up to 1. They get no gradient.
            float64 is rounded to float32.
        shift_labels: [N]; tokens whose label is `ignore_index` count nowhere. None: all count.
        reduction: "batchmean", the mean over tokens that count; "mean",
            that divided by V; or "sum".
        temperature: the logits are divided by it; not 0. It may be a tensor without axes, which
            gets a gradient if it requires one.
        eps: the least probability under the logarithm of the target, so that entries of 0 count
            nothing. A tensor that requires a gradient gets one.
        accum_dtype: None or a type of at most 32 bits; sums are float32.

    Returns: float32, without an axis.

    Raises:
        CallError: shapes, types or values do not agree.

    Source: torch.nn.KLDivLoss for the reductions.
    """
    check_accum_dtype(accum_dtype)
    check_temperature(temperature)
    check("eps", eps, 0)
    check_reduction(reduction, "batchmean", "mean", "sum")
    tokens, classes = tuple(student_input.shape[:-1]), student_weight.shape[0]
    check_shape("target", target, (*tokens, classes))
    check_shape("shift_labels", shift_labels, tokens)
    target = target.detach().float() if target.dtype == torch.float64 else target.detach()
    run = head(
        kl_from, ignore="label", ignore_index=ignore_index, all_ignored="zero",
        reduction="sum" if reduction == "sum" else "mean",
    )  # fmt: skip
    value: Tensor = run(
        student_input, student_weight, target=target, eps=eps, label=shift_labels,
        **of_temperature(temperature),
    )  # fmt: skip
    return value / classes if reduction == "mean" else value


class LigerFusedLinearKLDivFunction:
    """Stands for Liger's autograd function of this name, of which code calls `apply`."""

    apply = staticmethod(liger_fused_linear_kl_div)


class LigerFusedLinearKLDivLoss(torch.nn.Module):
    """liger_fused_linear_kl_div with its options kept."""

    def __init__(
        self,
        reduction: str = "batchmean",
        ignore_index: int = -100,
        temperature: Coefficient = 1.0,
        eps: Coefficient = 1e-10,
        accum_dtype: torch.dtype | None = None,
    ):
        super().__init__()
        check_accum_dtype(accum_dtype)
        check_temperature(temperature)
        self.reduction, self.ignore_index = reduction, ignore_index
        self.temperature, self.eps, self.accum_dtype = temperature, eps, accum_dtype

    def forward(
        self,
        student_input: Tensor,
        student_weight: Tensor,
        target: Tensor,
        shift_labels: Tensor | None = None,
    ) -> Tensor:
        """The divergence from `target`."""
        return liger_fused_linear_kl_div(
            student_input, student_weight, target, shift_labels, self.reduction, self.ignore_index,
            self.temperature, self.eps, self.accum_dtype,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The options."""
        names = ("reduction", "ignore_index", "temperature", "eps", "accum_dtype")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)
