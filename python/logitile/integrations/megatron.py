"""linear_cross_entropy of Megatron-LM's fusions, and the class of its autograd function.

    from logitile.integrations.megatron import linear_cross_entropy

docs/integrations/megatron.md says what differs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallValueError
from ..parallel import vocab_parallel
from .heads import head

__all__ = ("LinearCrossEntropy", "linear_cross_entropy")


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    tp_group: Any = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    sequence_parallel: bool = False,
) -> Tensor:
    """The cross-entropy of `hidden @ weight.T`.

    Args:
        hidden: [tokens, D], [sequence, batch, D] or [batch, sequence, D].
        weight: [V, D], or this rank's rows of it. If it has a float32 `main_grad`, as Megatron's
            data-parallel wrapper gives it, its gradient is added to that in float32, and
            `grad_added_to_main_grad` is set.
        labels: the leading dimensions of `hidden`; the same on every rank.
        tp_group: the process group whose ranks have slices of the weight, in order;
            None: the weight is whole.
        reduction: "mean" over the tokens that count, "sum" or "none".
        ignore_index: the label of tokens that count nowhere.
        sequence_parallel: whether `hidden` is this rank's part of the first axis, as its gradient
            is then; `labels` are those of all ranks.

    Returns: float32, the same bits on every rank; without an axis,
        or with "none" [tokens], flattened.

    Raises:
        CallError: shapes, types or values do not agree, or a label lies outside the vocabulary.
    """
    run: Any = head(losses.cross_entropy, reduction=reduction, ignore_index=ignore_index)
    if tp_group is not None and tp_group.size() > 1:
        run = vocab_parallel(run, tp_group, sequence_parallel=sequence_parallel)
        labels = _own_labels(labels, hidden, tp_group) if sequence_parallel else labels
    buffer = _main_grad(weight)
    if buffer is None:
        loss = run(hidden, weight, target=labels)
    else:
        loss = run(hidden, weight, target=labels, weight_grad_out=buffer)
        if hasattr(weight, "grad_added_to_main_grad"):
            loss = _Added.apply(loss, weight)
    return loss.flatten() if reduction == "none" else loss


class LinearCrossEntropy:
    """Stands for Megatron's autograd function of this name, of which code calls `apply`."""

    apply = staticmethod(linear_cross_entropy)


def _own_labels(labels: Tensor, hidden: Tensor, tp_group: Any) -> Tensor:
    """The labels of this rank's part of the hidden states, of those of all ranks."""
    length = hidden.shape[0]
    if labels.shape[0] != length * tp_group.size():
        raise CallValueError(
            f"labels have {labels.shape[0]} entries along their first axis; {tp_group.size()} ranks with "
            f"{length} hidden states each want {length * tp_group.size()}"
        )
    return labels[tp_group.rank() * length :][:length]


# ---- main_grad -----------------------------------------------------------------------------------


def _main_grad(weight: Tensor) -> Tensor | None:
    """The float32 buffer of Megatron that the gradient of a weight goes to, if there is one."""
    if not (torch.is_grad_enabled() and weight.requires_grad) or torch.compiler.is_compiling():
        return None
    main = getattr(weight, "main_grad", None)
    return main if isinstance(main, Tensor) and main.dtype == torch.float32 else None


class _Added(torch.autograd.Function):
    """The loss, whose backward pass tells Megatron that the gradient of a weight is in `main_grad`.

    Hooks of the weight wait for a gradient, so it gets zeros, which Megatron then leaves alone.
    They come after the head's own backward pass, because autograd waits for all that a weight went
    into.
    """

    @staticmethod
    def forward(ctx: Any, loss: Tensor, weight: Tensor) -> Tensor:
        ctx.weight = weight
        return loss.view_as(loss)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        ctx.weight.grad_added_to_main_grad = True
        return cotangent, cotangent.new_zeros((), dtype=ctx.weight.dtype).expand_as(ctx.weight)
