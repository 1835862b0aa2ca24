"""liger_kernel.ops: the autograd classes, for code that calls `apply`."""

from __future__ import annotations

from .scaled_cross_entropy import (
    LigerFusedLinearScaledCrossEntropyFunction,
    LigerFusedLinearScaledCrossEntropyTPFunction,
)
from .transformers.fused_ce_tvd import LigerFusedCETVDFunction
from .transformers.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction
from .transformers.fused_linear_jsd import LigerFusedLinearJSDFunction
from .transformers.fused_linear_kl_div import LigerFusedLinearKLDivFunction
from .transformers.vocab_parallel_cross_entropy import LigerVocabParallelCEFunction

__all__ = (
    "LigerFusedCETVDFunction",
    "LigerFusedLinearCrossEntropyFunction",
    "LigerFusedLinearJSDFunction",
    "LigerFusedLinearKLDivFunction",
    "LigerFusedLinearScaledCrossEntropyFunction",
    "LigerFusedLinearScaledCrossEntropyTPFunction",
    "LigerVocabParallelCEFunction",
)
