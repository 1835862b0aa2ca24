"""linear_cross_entropy of Megatron-LM's fusions, for a whole vocabulary.

    from logitile.integrations.megatron import linear_cross_entropy

docs/integrations/megatron.md says what differs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallValueError
from .heads import head

__all__ = ("linear_cross_entropy",)


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
        weight: [V, D]. If it has a float32 `main_grad`, as Megatron's data-parallel wrapper gives it, its
            gradient is added to that in float32, and `grad_added_to_main_grad` is set.
        labels: the leading dimensions of `hidden`.
        tp_group: None or a process group of one rank.
        reduction: "mean" over the tokens that count, "sum" or "none".
        ignore_index: the label of tokens that count nowhere.
        sequence_parallel: has no effect where the group has one rank.

    Returns: float32; without an axis, or with "none" [tokens], flattened.

    Raises:
        CallError: shapes, types or values do not agree, a label lies outside the vocabulary, or the group has
            more than one rank.
    """
    _check_group(tp_group)
    run = head(losses.cross_entropy, reduction=reduction, ignore_index=ignore_index)
    buffer = _main_grad(weight)
    if buffer is None:
        loss = run(hidden, weight, target=labels)
    else:
        loss = run(hidden, weight, target=labels, weight_grad_out=buffer)
        if hasattr(weight, "grad_added_to_main_grad"):
            loss = _Added.apply(loss, weight)
    return loss.flatten() if reduction == "none" else loss


def _check_group(tp_group: Any) -> None:
    size = 1 if tp_group is None else tp_group.size()
    if size > 1:
        raise CallValueError(
            f"tp_group has {size} ranks, but a weight that is sharded over processes is not supported; keep "
            "the output layer whole, or use slices of the vocabulary (head.partial)"
        )


# ---- main_grad ---------------------------------------------------------------------------------------------


def _main_grad(weight: Tensor) -> Tensor | None:
    """The float32 buffer of Megatron that the gradient of a weight goes to, if there is one."""
    if not (torch.is_grad_enabled() and weight.requires_grad) or torch.compiler.is_compiling():
        return None
    main = getattr(weight, "main_grad", None)
    return main if isinstance(main, Tensor) and main.dtype == torch.float32 else None


class _Added(torch.autograd.Function):
    """The loss, whose backward pass tells Megatron that the gradient of a weight is in `main_grad`.

    Hooks of the weight wait for a gradient, so it gets zeros, which Megatron then leaves alone. They come
    after the head's own backward pass, because autograd waits for all that a weight went into.
    """

    @staticmethod
    def forward(ctx: Any, loss: Tensor, weight: Tensor) -> Tensor:
        ctx.weight = weight
        return loss.view_as(loss)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        ctx.weight.grad_added_to_main_grad = True
        return cotangent, cotangent.new_zeros((), dtype=ctx.weight.dtype).expand_as(ctx.weight)
