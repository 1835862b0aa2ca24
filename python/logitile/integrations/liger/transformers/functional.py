"""liger_kernel.transformers.functional: the losses as functions."""

from __future__ import annotations

from ..scaled_cross_entropy import liger_fused_linear_scaled_cross_entropy_tp
from .fused_linear_cross_entropy import CrossEntropyOutput, liger_fused_linear_cross_entropy
from .fused_linear_jsd import liger_fused_linear_jsd
from .fused_linear_kl_div import liger_fused_linear_kl_div

__all__ = (
    "CrossEntropyOutput",
    "liger_fused_linear_cross_entropy",
    "liger_fused_linear_jsd",
    "liger_fused_linear_kl_div",
    "liger_fused_linear_scaled_cross_entropy_tp",
)
