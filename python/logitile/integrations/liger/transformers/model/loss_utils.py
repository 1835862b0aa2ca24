"""The losses that Liger's forwards of causal language models call."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .....errors import CallTypeError
from ..fused_linear_cross_entropy import CrossEntropyOutput, liger_fused_linear_cross_entropy

_OPTIONS = frozenset(inspect.signature(liger_fused_linear_cross_entropy).parameters)


def unpack_cross_entropy_result(
    result: Any,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """(loss, z_loss, token_accuracy, predicted_tokens) of a CrossEntropyOutput, of a tuple that may
    be shorter, or of a loss alone; None for what it does not have.
    """
    if isinstance(result, CrossEntropyOutput):
        return result.loss, result.z_loss, result.token_accuracy, result.predicted_tokens
    parts = result if isinstance(result, tuple) else (result,)
    loss, z_loss, accuracy, index = (*parts[:4], None, None, None)[:4]
    return loss, z_loss, accuracy, index


def fixed_fused_linear_cross_entropy(
    hidden_states: Tensor,
    lm_head_weight: Tensor,
    target: Tensor,
    num_items_in_batch: int | Tensor | None = None,
    ignore_index: int = -100,
    final_logit_softcapping: float | None = None,
    accum_dtype: torch.dtype | None = None,
    return_token_accuracy: bool = False,
    return_predicted_tokens: bool = False,
    **kwargs: Any,
) -> Tensor | CrossEntropyOutput:
    """The mean over tokens, or the sum divided by a number that is given.

    Args:
        hidden_states: [N, D].
        lm_head_weight: [V, D].
        target: [N].
        num_items_in_batch: what the sum is divided by; None: the number of tokens that count.
        final_logit_softcapping: above 0, or None.
        ignore_index, accum_dtype, kwargs: as of liger_fused_linear_cross_entropy.
        return_token_accuracy, return_predicted_tokens: return a CrossEntropyOutput.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    result = liger_fused_linear_cross_entropy(
        hidden_states, lm_head_weight, target, reduction="mean" if num_items_in_batch is None else "sum",
        ignore_index=ignore_index, softcap=final_logit_softcapping, accum_dtype=accum_dtype,
        return_token_accuracy=return_token_accuracy, return_predicted_tokens=return_predicted_tokens,
        **kwargs,
    )  # fmt: skip
    loss, _, accuracy, index = unpack_cross_entropy_result(result)
    if num_items_in_batch is not None:
        loss = loss / num_items_in_batch
    if return_token_accuracy or return_predicted_tokens:
        return CrossEntropyOutput(loss=loss, token_accuracy=accuracy, predicted_tokens=index)
    return loss


def LigerForCausalLMLoss(
    hidden_states: Tensor,
    lm_head_weight: Tensor,
    labels: Tensor | None,
    hidden_size: int,
    num_items_in_batch: int | Tensor | None = None,
    ignore_index: int = -100,
    shift_labels: Tensor | None = None,
    final_logit_softcapping: float | None = None,
    return_token_accuracy: bool = False,
    return_predicted_tokens: bool = False,
    **kwargs: Any,
) -> Tensor | CrossEntropyOutput:
    """The loss of a causal language model, whose token at t predicts the label at t + 1.

    Args:
        hidden_states: [..., hidden_size].
        lm_head_weight: [V, hidden_size].
        labels: [..., T]; not read where `shift_labels` is given.
        shift_labels: the labels, moved by one already.
        kwargs: options of liger_fused_linear_cross_entropy. Others are left out, as in Liger, since
            models hand on all keywords of their call.
        others: as of fixed_fused_linear_cross_entropy.

    Raises:
        CallError: shapes, types or values do not agree.
    """
    options = {name: value for name, value in kwargs.items() if name in _OPTIONS}
    if shift_labels is None:
        if labels is None:
            raise CallTypeError("labels is None; give labels, or shift_labels")
        shift_labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    return fixed_fused_linear_cross_entropy(
        hidden_states.reshape(-1, hidden_size), lm_head_weight,
        shift_labels.reshape(-1).to(hidden_states.device), num_items_in_batch, ignore_index,
        final_logit_softcapping, return_token_accuracy=return_token_accuracy,
        return_predicted_tokens=return_predicted_tokens, **options,
    )  # fmt: skip
