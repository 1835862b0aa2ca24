"""Liger's cross-entropy of each token with a slice of the vocabulary on each process."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .... import losses
from ....errors import CallValueError
from ....losses.ranges import check_choice
from ....parallel import vocab_parallel
from ...coefficients import Coefficient, given, is_number, value_of
from ...heads import head

_Given = Tensor | tuple[Tensor, Tensor]
_ONE_PROCESS = "heads take logits on one process alone; give the projection (hidden, weight) that makes them"


class LigerVocabParallelCEFunction:
    """Stands for Liger's autograd function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        vocab_parallel_logits: _Given,
        target: Tensor,
        tp_group: Any,
        ignore_index: int | None,
        label_smoothing: Coefficient,
        label_smoothing_formula: str,
        label_smoothing_mode: str,
    ) -> Tensor:
        """The cross-entropy of each token.

        Args:
            vocab_parallel_logits: [S, B, V]; or, which Liger does not have, the projection (hidden
                [S, B, D], weight [V_local, D]) of this process's slice. Slices lie in the order of
                ranks, and hidden states are the same on every process.
            target: [S, B], indices of the whole vocabulary.
            tp_group: the processes; None, or a group of one: the vocabulary is whole.
            ignore_index: the target of tokens of which the loss is 0, without a gradient;
                None: no token.
            label_smoothing: a, from 0 to below 1. It may be a tensor without axes,
                which gets a gradient if it requires one.
            label_smoothing_formula: "pytorch" spreads a over all entries,
                "megatron" over all but the target.
            label_smoothing_mode: "global", or "partition", which averages over a slice and is
                refused where there are several and labels are smoothed.

        Returns: float32 [S, B], the same on every process.

        Raises:
            CallError: shapes, types or values do not agree,
                or an index lies outside the vocabulary.
        """
        _check(label_smoothing, label_smoothing_formula, label_smoothing_mode)
        is_split = tp_group is not None and tp_group.size() > 1
        is_smooth = not is_number(label_smoothing, 0)
        if is_split and isinstance(vocab_parallel_logits, Tensor):
            raise CallValueError(f"tp_group has {tp_group.size()} processes, but {_ONE_PROCESS}")
        if is_split and is_smooth and label_smoothing_mode == "partition":
            raise CallValueError(
                "label_smoothing_mode='partition' averages over this process's slice, so that losses differ "
                "between processes; give 'global'"
            )
        share = label_smoothing
        if is_smooth and label_smoothing_formula == "megatron":
            count = _entries(vocab_parallel_logits, tp_group if is_split else None)
            share = label_smoothing * (count / (count - 1))
        run: Any = head(losses.cross_entropy, reduction="none", ignore_index=ignore_index)
        if is_split:
            run = vocab_parallel(run, tp_group)
        if isinstance(vocab_parallel_logits, Tensor):
            return run(z=vocab_parallel_logits, target=target, **given(label_smoothing=share))
        return run(*vocab_parallel_logits, target=target, **given(label_smoothing=share))


class LigerVocabParallelCrossEntropy(torch.nn.Module):
    """LigerVocabParallelCEFunction.apply with its options kept; `reduction` is "none"."""

    def __init__(
        self,
        ignore_index: int | None = -100,
        label_smoothing: Coefficient = 0.0,
        reduction: str = "none",
        label_smoothing_formula: str = "pytorch",
        label_smoothing_mode: str = "global",
    ):
        super().__init__()
        if reduction != "none":
            raise CallValueError(f"reduction={reduction!r} must be 'none': losses are per token")
        _check(label_smoothing, label_smoothing_formula, label_smoothing_mode)
        self.ignore_index, self.label_smoothing, self.reduction = ignore_index, label_smoothing, reduction
        self.label_smoothing_formula = label_smoothing_formula
        self.label_smoothing_mode = label_smoothing_mode

    def forward(self, vocab_parallel_logits: _Given, target: Tensor, tp_group: Any = None) -> Tensor:
        """The losses [S, B]."""
        first = vocab_parallel_logits
        first = first if isinstance(first, Tensor) else first[0]
        if first.dim() != 3:
            raise CallValueError(
                f"vocab_parallel_logits has shape {tuple(first.shape)}; it must have three axes, "
                "[sequence, batch, ...]"
            )
        return LigerVocabParallelCEFunction.apply(
            vocab_parallel_logits, target, tp_group, self.ignore_index, self.label_smoothing,
            self.label_smoothing_formula, self.label_smoothing_mode,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The options."""
        names = (
            "ignore_index", "label_smoothing", "reduction", "label_smoothing_formula", "label_smoothing_mode",
        )  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


def _check(label_smoothing: Any, formula: Any, mode: Any) -> None:
    number = value_of("label_smoothing", label_smoothing)
    if number is not None and not 0 <= number < 1:
        raise CallValueError(f"label_smoothing={number} must be a number from 0 to below 1")
    check_choice("label_smoothing_formula", formula, ("pytorch", "megatron"))
    check_choice("label_smoothing_mode", mode, ("global", "partition"))


def _entries(logits: _Given, group: Any) -> int:
    """How many entries the whole vocabulary has."""
    if isinstance(logits, Tensor):
        return logits.shape[-1]
    weight = logits[1]
    if group is None:
        return weight.shape[0]
    count = torch.tensor(weight.shape[0], device=weight.device)
    torch.distributed.all_reduce(count, group=group)
    return int(count)
