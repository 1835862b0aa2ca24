"""Liger's fused linear Jensen-Shannon divergence of two projections."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .... import losses
from ...coefficients import Coefficient, check, is_number, of_temperature
from ...divergences import any_share
from ...heads import head
from ..options import check_accum_dtype, check_kernels, check_temperature


def liger_fused_linear_jsd(
    student_input: Tensor,
    student_weight: Tensor,
    teacher_input: Tensor,
    teacher_weight: Tensor,
    shift_labels: Tensor | None = None,
    jsd_beta: Coefficient = 0.5,
    ignore_index: int = -100,
    temperature: Coefficient = 1.0,
    accum_dtype: torch.dtype | None = None,
) -> Tensor:
    """The mean of the generalised Jensen-Shannon divergence; 0 if no token counts.

    Args:
        student_input, teacher_input: [N, D] each; D may differ.
        student_weight, teacher_weight: [V, D] each. The teacher gets no gradient.
        shift_labels: [N]; tokens whose label is `ignore_index` count nowhere. None: all count.
        jsd_beta: from 0, KL(teacher || student), to 1, KL(student || teacher).
        temperature: the logits of both are divided by it; not 0. Like `jsd_beta` it may be a tensor
            without axes, which gets a gradient if it requires one.
        accum_dtype: None or a type of at most 32 bits; sums are float32.

    Returns: float32, without an axis.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    check_accum_dtype(accum_dtype)
    check_temperature(temperature)
    check("jsd_beta", jsd_beta, 0, 1)
    inputs = of_temperature(temperature)
    text: Any = any_share if isinstance(jsd_beta, Tensor) else losses.jensen_shannon
    if is_number(jsd_beta, 0) or is_number(jsd_beta, 1):
        text = losses.forward_kl if jsd_beta == 0 else losses.reverse_kl
    else:
        inputs["beta"] = jsd_beta
    return head(text, ignore_index=ignore_index, all_ignored="zero")(
        student=(student_input, student_weight),
        teacher=(teacher_input.detach(), teacher_weight.detach()),
        target=shift_labels,
        **inputs,
    )


class LigerFusedLinearJSDFunction:
    """Stands for Liger's autograd function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        student_input: Tensor,
        student_weight: Tensor,
        teacher_input: Tensor,
        teacher_weight: Tensor,
        shift_labels: Tensor | None = None,
        jsd_beta: Coefficient = 0.5,
        ignore_index: int = -100,
        temperature: Coefficient = 1.0,
        accum_dtype: torch.dtype | None = None,
        jsd_impl: str | None = None,
        jsd_mode: str | None = None,
    ) -> Tensor:
        """liger_fused_linear_jsd; `jsd_impl` and `jsd_mode` name kernels of Liger,
        so they are refused.
        """
        check_kernels(jsd_impl=jsd_impl, jsd_mode=jsd_mode)
        return liger_fused_linear_jsd(
            student_input, student_weight, teacher_input, teacher_weight, shift_labels, jsd_beta,
            ignore_index, temperature, accum_dtype,
        )  # fmt: skip


class LigerFusedLinearJSD(torch.nn.Module):
    """liger_fused_linear_jsd with its options kept."""

    def __init__(
        self,
        jsd_beta: Coefficient = 0.5,
        ignore_index: int = -100,
        temperature: Coefficient = 1.0,
        accum_dtype: torch.dtype | None = None,
    ):
        super().__init__()
        check_accum_dtype(accum_dtype)
        check_temperature(temperature)
        self.jsd_beta, self.ignore_index = jsd_beta, ignore_index
        self.temperature, self.accum_dtype = temperature, accum_dtype

    def forward(
        self,
        student_input: Tensor,
        student_weight: Tensor,
        teacher_input: Tensor,
        teacher_weight: Tensor,
        shift_labels: Tensor | None,
    ) -> Tensor:
        """The divergence of two heads."""
        return liger_fused_linear_jsd(
            student_input, student_weight, teacher_input, teacher_weight, shift_labels, self.jsd_beta,
            self.ignore_index, self.temperature, self.accum_dtype,
        )  # fmt: skip
