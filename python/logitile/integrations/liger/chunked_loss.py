"""liger_kernel.chunked_loss: modules and functions of preferences, distillation and policies.

What they compute is in `preference`, `unpaired`, `distillation` and `policy`;
here they have Liger's names.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..coefficients import Coefficient
from . import distillation, policy, preference, unpaired
from .options import check_temperature

liger_fused_linear_cosine = distillation.cosine
liger_fused_linear_cpo = preference.cpo
liger_fused_linear_dpo = preference.dpo
liger_fused_linear_grpo = policy.grpo
liger_fused_linear_jsd = distillation.jsd
liger_fused_linear_kto = unpaired.kto
liger_fused_linear_orpo = preference.orpo
liger_fused_linear_simpo = preference.simpo


class _Options(torch.nn.Module):
    """A module that keeps the options that it was made with as attributes."""

    def __init__(self, **options: Any):
        super().__init__()
        self.names = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)

    @property
    def options(self) -> dict[str, Any]:
        """The options as they are now."""
        return {name: getattr(self, name) for name in self.names}


# ---- preferences ---------------------------------------------------------------------------------


class LigerFusedLinearDPOLoss(_Options):
    """`preference.dpo` with its options kept."""

    def __init__(
        self,
        ignore_index: int = -100,
        beta: Coefficient = 0.1,
        alpha: Coefficient = 1.0,
        compute_nll_loss: bool = False,
        compiled: bool = True,
        use_ref_model: bool = True,
        average_log_prob: bool = False,
        chunk_size: int = 1,
        loss_type: str = "sigmoid",
        label_smoothing: Coefficient = 0.0,
        discopop_tau: Coefficient = 0.05,
    ):
        preference.check_dpo(loss_type, label_smoothing)
        super().__init__(
            ignore_index=ignore_index, beta=beta, alpha=alpha, compute_nll_loss=compute_nll_loss,
            compiled=compiled, use_ref_model=use_ref_model, average_log_prob=average_log_prob,
            chunk_size=chunk_size, loss_type=loss_type, label_smoothing=label_smoothing,
            discopop_tau=discopop_tau,
        )  # fmt: skip

    def forward(
        self,
        lin_weight: Tensor,
        _input: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        ref_input: Tensor | None = None,
        ref_weight: Tensor | None = None,
        ref_bias: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, outputs)."""
        return preference.dpo(
            _input, lin_weight, target, bias, ref_input, ref_weight, ref_bias, **self.options
        )


class LigerFusedLinearCPOLoss(_Options):
    """`preference.cpo` with its options kept."""

    def __init__(
        self,
        ignore_index: int = -100,
        beta: Coefficient = 0.1,
        alpha: Coefficient = 1.0,
        label_smoothing: Coefficient = 0.0,
        compute_nll_loss: bool = True,
        compiled: bool = True,
        average_log_prob: bool = False,
        chunk_size: int = 1,
    ):
        super().__init__(
            ignore_index=ignore_index, beta=beta, alpha=alpha, label_smoothing=label_smoothing,
            compute_nll_loss=compute_nll_loss, compiled=compiled, average_log_prob=average_log_prob,
            chunk_size=chunk_size,
        )  # fmt: skip

    def forward(
        self, lin_weight: Tensor, _input: Tensor, target: Tensor, bias: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, outputs)."""
        return preference.cpo(_input, lin_weight, target, bias, **self.options)


class LigerFusedLinearORPOLoss(_Options):
    """`preference.orpo` with its options kept."""

    def __init__(
        self,
        ignore_index: int = -100,
        beta: Coefficient = 0.1,
        compute_nll_loss: bool = True,
        compiled: bool = True,
        chunk_size: int = 1,
    ):
        super().__init__(
            ignore_index=ignore_index, beta=beta, compute_nll_loss=compute_nll_loss, compiled=compiled,
            chunk_size=chunk_size,
        )  # fmt: skip

    def forward(
        self,
        lin_weight: Tensor,
        _input: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        nll_target: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, outputs)."""
        return preference.orpo(_input, lin_weight, target, bias, nll_target=nll_target, **self.options)


class LigerFusedLinearSimPOLoss(_Options):
    """`preference.simpo` with its options kept."""

    def __init__(
        self,
        ignore_index: int = -100,
        beta: Coefficient = 0.1,
        alpha: Coefficient = 1.0,
        label_smoothing: Coefficient = 0.0,
        compute_nll_loss: bool = True,
        compiled: bool = True,
        gamma: Coefficient = 0.5,
        chunk_size: int = 1,
    ):
        super().__init__(
            ignore_index=ignore_index, beta=beta, alpha=alpha, label_smoothing=label_smoothing,
            compute_nll_loss=compute_nll_loss, compiled=compiled, gamma=gamma, chunk_size=chunk_size,
        )  # fmt: skip

    def forward(
        self, lin_weight: Tensor, _input: Tensor, target: Tensor, bias: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, outputs)."""
        return preference.simpo(_input, lin_weight, target, bias, **self.options)


class LigerFusedLinearKTOLoss(_Options):
    """`unpaired.kto` with its options kept."""

    def __init__(
        self,
        ignore_index: int = -100,
        beta: Coefficient = 0.1,
        compiled: bool = True,
        use_ref_model: bool = False,
        average_log_prob: bool = False,
        chunk_size: int = 1,
    ):
        super().__init__(
            ignore_index=ignore_index, beta=beta, compiled=compiled, use_ref_model=use_ref_model,
            average_log_prob=average_log_prob, chunk_size=chunk_size,
        )  # fmt: skip

    def forward(
        self,
        _input: Tensor,
        lin_weight: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        preference_labels: Tensor | None = None,
        ref_input: Tensor | None = None,
        ref_weight: Tensor | None = None,
        ref_bias: Tensor | None = None,
        kl: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, outputs)."""
        return unpaired.kto(
            _input, lin_weight, target, preference_labels, bias, ref_input, ref_weight, ref_bias, kl,
            **self.options,
        )  # fmt: skip


# ---- distillation --------------------------------------------------------------------------------


class LigerFusedLinearJSDLoss(_Options):
    """`distillation.jsd` with its options kept."""

    _function = staticmethod(distillation.jsd)

    def __init__(
        self,
        weight_hard_loss: Coefficient = 0.5,
        weight_soft_loss: Coefficient = 0.5,
        beta: Coefficient = 0.5,
        ignore_index: int = -100,
        temperature: Coefficient = 1.0,
        compiled: bool = True,
        chunk_size: int = 1024,
        return_soft_hard_loss: bool = False,
    ):
        check_temperature(temperature)
        super().__init__(
            weight_hard_loss=weight_hard_loss, weight_soft_loss=weight_soft_loss, beta=beta,
            ignore_index=ignore_index, temperature=temperature, compiled=compiled, chunk_size=chunk_size,
            return_soft_hard_loss=return_soft_hard_loss,
        )  # fmt: skip

    def forward(
        self,
        student_input: Tensor,
        student_weight: Tensor,
        teacher_input: Tensor,
        teacher_weight: Tensor,
        true_labels: Tensor,
        student_bias: Tensor | None = None,
        teacher_bias: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """The loss, or (loss, distance, cross-entropy)."""
        return self._function(
            student_input, student_weight, teacher_input, teacher_weight, true_labels, student_bias,
            teacher_bias, **self.options,
        )  # fmt: skip


class LigerFusedLinearCosineSimilarityLoss(LigerFusedLinearJSDLoss):
    """`distillation.cosine` with its options kept."""

    _function = staticmethod(distillation.cosine)


# ---- policies ------------------------------------------------------------------------------------


class LigerFusedLinearGRPOLoss(_Options):
    """`policy.grpo` with its options kept."""

    def __init__(
        self,
        beta: Coefficient = 0.04,
        compiled: bool = True,
        use_ref_model: bool = True,
        chunk_size: int = 1,
        epsilon_low: Coefficient = 0.2,
        epsilon_high: Coefficient = 0.2,
        loss_type: str = "dapo",
        max_completion_length: int | None = None,
        importance_sampling_level: str = "token",
        sapo_temperature_pos: Coefficient = 1.0,
        sapo_temperature_neg: Coefficient = 1.05,
        temperature: Coefficient = 1.0,
        delta: Coefficient | None = None,
        use_bias_correction_kl: bool = False,
        vespo_k_pos: Coefficient = 2.0,
        vespo_lambda_pos: Coefficient = 3.0,
        vespo_k_neg: Coefficient = 3.0,
        vespo_lambda_neg: Coefficient = 2.0,
    ):
        policy.check_positive(  # for every loss_type
            sapo_temperature_pos=sapo_temperature_pos, sapo_temperature_neg=sapo_temperature_neg, delta=delta
        )
        super().__init__(
            beta=beta, compiled=compiled, use_ref_model=use_ref_model, chunk_size=chunk_size,
            epsilon_low=epsilon_low, epsilon_high=epsilon_high, loss_type=loss_type,
            max_completion_length=max_completion_length,
            importance_sampling_level=importance_sampling_level, sapo_temperature_pos=sapo_temperature_pos,
            sapo_temperature_neg=sapo_temperature_neg, temperature=temperature, delta=delta,
            use_bias_correction_kl=use_bias_correction_kl, vespo_k_pos=vespo_k_pos,
            vespo_lambda_pos=vespo_lambda_pos, vespo_k_neg=vespo_k_neg, vespo_lambda_neg=vespo_lambda_neg,
        )  # fmt: skip

    def forward(
        self,
        _input: Tensor,
        lin_weight: Tensor,
        selected_token_ids: Tensor,
        attention_mask: Tensor,
        advantages: Tensor,
        bias: Tensor | None = None,
        ref_per_token_logps: Tensor | None = None,
        old_per_token_logps: Tensor | None = None,
        ref_input: Tensor | None = None,
        ref_weight: Tensor | None = None,
        ref_bias: Tensor | None = None,
        vllm_is_ratio: Tensor | None = None,
        num_items_in_batch: Tensor | float | None = None,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(loss, metrics)."""
        return policy.grpo(
            _input, lin_weight, selected_token_ids, attention_mask, advantages, bias, ref_per_token_logps,
            old_per_token_logps, ref_input, ref_weight, ref_bias, vllm_is_ratio=vllm_is_ratio,
            num_items_in_batch=num_items_in_batch, **self.options,
        )  # fmt: skip


# ---- names of autograd functions, of which code calls `apply` ------------------------------------


class LigerFusedLinearCosineSimilarityFunction:
    """`apply` is distillation.cosine."""

    apply = staticmethod(distillation.cosine)


class LigerFusedLinearCPOFunction:
    """`apply` is preference.cpo."""

    apply = staticmethod(preference.cpo)


class LigerFusedLinearDPOFunction:
    """`apply` is preference.dpo."""

    apply = staticmethod(preference.dpo)


class LigerFusedLinearGRPOFunction:
    """`apply` is policy.grpo."""

    apply = staticmethod(policy.grpo)


class LigerFusedLinearJSDFunction:
    """`apply` is distillation.jsd."""

    apply = staticmethod(distillation.jsd)


class LigerFusedLinearKTOFunction:
    """`apply` is unpaired.kto."""

    apply = staticmethod(unpaired.kto)


class LigerFusedLinearORPOFunction:
    """`apply` is preference.orpo."""

    apply = staticmethod(preference.orpo)


class LigerFusedLinearSimPOFunction:
    """`apply` is preference.simpo."""

    apply = staticmethod(preference.simpo)
