"""Liger's cross-entropy and total variation distance of each token against a teacher."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .... import losses
from ....errors import CallTypeError
from ....language.annotations import Logits, Token
from ....language.definition import loss
from ....language.outputs import Outputs
from ...heads import head
from ...shapes import check_shape

_Given = Tensor | tuple[Tensor, Tensor]


@loss
def cross_entropy_and_variation(student: Logits, teacher: Logits, target: Token[int]):
    """`losses.cross_entropy` of the student, and its `losses.total_variation` from the teacher."""
    return Outputs(
        cross_entropy=losses.cross_entropy(student, target),
        variation=losses.total_variation(student, teacher),
    )


class LigerFusedCETVDFunction:
    """Stands for Liger's autograd function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        student_logits: _Given, teacher_logits: _Given, target: Tensor, ignore_index: int = -100
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy, and half of sum(|p - q|), of each token.

        Args:
            student_logits, teacher_logits: [N, V] each; or projections (hidden [N, D], weight [V,
                D]), whose logits are made inside of the kernels. The teacher gets no gradient.
            target: [N].
            ignore_index: the target of tokens of which both are 0, without a gradient.

        Returns: (cross-entropy, distance), float32 [N] each.

        Raises:
            CallError: shapes or types do not agree, or a target lies outside the vocabulary.
        """
        inputs = {"student": student_logits, "teacher": _detached(teacher_logits)}
        for name, item in inputs.items():
            _check(f"{name}_logits", item)
        if isinstance(student_logits, Tensor) and isinstance(teacher_logits, Tensor):
            check_shape("teacher_logits", teacher_logits, tuple(student_logits.shape))
        first = student_logits if isinstance(student_logits, Tensor) else student_logits[0]
        check_shape("target", target, tuple(first.shape[:1]))
        run = head(cross_entropy_and_variation, ignore_index=ignore_index)
        result = run(target=target, **inputs)
        return result.cross_entropy, result.variation


class LigerFusedCETVDLoss(torch.nn.Module):
    """LigerFusedCETVDFunction.apply with its option kept."""

    def __init__(self, ignore_index: int = -100):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(
        self, student_logits: _Given, teacher_logits: _Given, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Both terms of each token."""
        return LigerFusedCETVDFunction.apply(student_logits, teacher_logits, target, self.ignore_index)


def _detached(item: Any) -> Any:
    return item.detach() if isinstance(item, Tensor) else tuple(part.detach() for part in item)


def _check(name: str, item: Any) -> None:
    """Refuses what is neither [N, V] nor a projection of [N, D]."""
    if isinstance(item, tuple) and len(item) != 2:
        raise CallTypeError(f"{name} is a tuple of {len(item)}; give logits [N, V], or (hidden, weight)")
    first = item if isinstance(item, Tensor) else item[0]
    if first.dim() != 2:
        raise CallTypeError(
            f"{name} has {first.dim()} axes; give two, one for tokens and one for the vocabulary or the "
            "hidden size"
        )
