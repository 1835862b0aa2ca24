"""liger_kernel.transformers: fused linear cross-entropy and divergences, as modules,
functions and classes.

What Liger has in `functional` and `ops` is here too.
"""

from __future__ import annotations

from ..scaled_cross_entropy import liger_fused_linear_scaled_cross_entropy_tp
from .fused_ce_tvd import LigerFusedCETVDFunction, LigerFusedCETVDLoss
from .fused_linear_cross_entropy import (
    CrossEntropyOutput,
    LigerFusedLinearCrossEntropyFunction,
    LigerFusedLinearCrossEntropyLoss,
    liger_fused_linear_cross_entropy,
)
from .fused_linear_jsd import LigerFusedLinearJSD, LigerFusedLinearJSDFunction, liger_fused_linear_jsd
from .fused_linear_kl_div import (
    LigerFusedLinearKLDivFunction,
    LigerFusedLinearKLDivLoss,
    liger_fused_linear_kl_div,
)
from .vocab_parallel_cross_entropy import LigerVocabParallelCEFunction, LigerVocabParallelCrossEntropy

__all__ = (
    "CrossEntropyOutput",
    "LigerFusedCETVDFunction",
    "LigerFusedCETVDLoss",
    "LigerFusedLinearCrossEntropyFunction",
    "LigerFusedLinearCrossEntropyLoss",
    "LigerFusedLinearJSD",
    "LigerFusedLinearJSDFunction",
    "LigerFusedLinearKLDivFunction",
    "LigerFusedLinearKLDivLoss",
    "LigerVocabParallelCEFunction",
    "LigerVocabParallelCrossEntropy",
    "liger_fused_linear_cross_entropy",
    "liger_fused_linear_jsd",
    "liger_fused_linear_kl_div",
    "liger_fused_linear_scaled_cross_entropy_tp",
)
