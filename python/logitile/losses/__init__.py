"""A library of losses, written only in the language: copy one to change it.

Functions of the language are not here but in `language`: a loss uses them alone.

For selected rows only, such as the last token of each sequence, index hidden:
head(hidden[:, -1], weight, ...).
"""

from __future__ import annotations

from .distillation import forward_kl, jensen_shannon, reverse_kl, skewed_kl, top_k_kl, total_variation
from .metrics import accuracy, prediction, rank, top_logprobs
from .policy import dpo_reward, entropy, grpo, logprob, logprob_entropy, ppo_clip, simpo_reward
from .sampling import sample
from .supervised import (
    cross_entropy,
    dynamic_fine_tuning,
    focal,
    multi_token,
    poly1,
    soft_cross_entropy,
    unlikelihood,
    z_loss,
)

__all__ = [
    "accuracy", "cross_entropy", "dpo_reward", "dynamic_fine_tuning", "entropy", "focal", "forward_kl",
    "grpo", "jensen_shannon", "logprob", "logprob_entropy", "multi_token", "poly1", "ppo_clip",
    "prediction", "rank", "reverse_kl", "sample", "simpo_reward", "skewed_kl", "soft_cross_entropy",
    "top_k_kl", "top_logprobs", "total_variation", "unlikelihood", "z_loss",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names; what this module imports for itself is left out."""
    return sorted(__all__)
