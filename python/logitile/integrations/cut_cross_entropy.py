"""linear_cross_entropy and LinearCrossEntropy of cut-cross-entropy,
in the order of arguments of 25.6.

    from logitile.integrations.cut_cross_entropy import linear_cross_entropy

docs/integrations/cut_cross_entropy.md says what differs.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallValueError
from ..messages.names import did_you_mean
from ..parallel import vocab_parallel
from .coefficients import constant
from .heads import head

__all__ = ("LinearCrossEntropy", "LinearCrossEntropyImpl", "VocabParallelOptions", "linear_cross_entropy")


class LinearCrossEntropyImpl(enum.IntEnum):
    """Names of implementations. All select the same kernels here, with exact gradients."""

    CCE = 1
    TORCH_COMPILE = 2
    CCE_KAHAN_FULL_C = 3
    CCE_KAHAN_FULL_E = 4
    CCE_EXACT = 5
    CCE_KAHAN_FULL_C_FULL_E = 6
    CCE_KAHAN_FULL = 7


@dataclass
class VocabParallelOptions:
    """The slice of the vocabulary that this process has.

    Args:
        start, stop: its first entry, and the one after its last. Slices lie in the order of ranks.
        group: of torch.distributed; None is the group of all processes.
        reduce_e_grad: must be true: the gradient of hidden states is summed over the group.
    """

    start: int
    stop: int
    group: Any = None
    reduce_e_grad: bool = True

    @classmethod
    def from_vocab(
        cls, vocab_size: int, group: Any = None, reduce_e_grad: bool = True
    ) -> VocabParallelOptions:
        """Slices that are as equal as can be, the larger ones first."""
        rank = torch.distributed.get_rank(group)
        width, larger = divmod(vocab_size, torch.distributed.get_world_size(group))
        start = rank * width + min(rank, larger)
        return cls(start, start + width + (rank < larger), group, reduce_e_grad)


def linear_cross_entropy(
    e: Tensor,
    c: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    softcap: float | None = None,
    reduction: str = "mean",
    shift: bool | int = 0,
    return_lse: bool = False,
    filter_eps: float | str | None = "auto",
    accum_e_fp32: bool = False,
    accum_c_fp32: bool = False,
    filter_e_grad: bool = True,
    filter_c_grad: bool = True,
    impl: str | LinearCrossEntropyImpl = LinearCrossEntropyImpl.CCE,
    vocab_parallel_options: VocabParallelOptions | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The cross-entropy of softcap(e @ c.T + bias).

    Args:
        e: hidden states, [..., D].
        c: the weight of the head, [V, D].
        targets: the leading dimensions of `e`.
        bias: [V].
        ignore_index: the target of tokens that count nowhere.
        softcap: s, above 0; logits are limited to s tanh(z / s).
        reduction: "mean" over the tokens that count, "sum" or "none".
        shift: s: the hidden state at t predicts the target at t + s; True is 1.
        return_lse: return the log of the sum of exponentials too.
        filter_eps: "auto", None or 0. Gradients are exact: no entry of them is left out.
        accum_e_fp32, accum_c_fp32: no effect: gradients are always summed in float32.
        filter_e_grad, filter_c_grad: no effect: nothing is filtered.
        impl: a name of LinearCrossEntropyImpl; all are the same here.
        vocab_parallel_options: `c` and `bias` are this process's slice of the vocabulary; all else
            is the same on every process, and so are the results.

    Returns: the loss in float32; with "none" in the shape of `targets`, whose last axis is shorter
        by `shift`. With return_lse (loss, lse): lse has that shape for every reduction, is 0 where
        a token is ignored, and has a gradient of its own.

    Raises:
        CallError: shapes, types or values do not agree, or a target lies outside the vocabulary.
    """
    _check(filter_eps, impl)
    e, targets = _shifted(e, targets, shift)
    run: Any = head(
        losses.cross_entropy,
        reduction=reduction,
        ignore_index=ignore_index,
        softcap=constant("softcap", softcap),
        returns=("lse",) if return_lse else (),
    )
    if vocab_parallel_options is not None:
        _check_slice(vocab_parallel_options, c)
        run = vocab_parallel(run, vocab_parallel_options.group)
    result = run(e, c, target=targets, bias=bias)
    return (result.loss, result.lse) if return_lse else result


class LinearCrossEntropy(torch.nn.Module):
    """`linear_cross_entropy` as a module.
    Its arguments, except `return_lse`, have the order of the function.
    """

    def __init__(
        self,
        ignore_index: int = -100,
        softcap: float | None = None,
        reduction: str = "mean",
        shift: bool | int = 0,
        filter_eps: float | str | None = "auto",
        accum_e_fp32: bool = False,
        accum_c_fp32: bool = False,
        filter_e_grad: bool = True,
        filter_c_grad: bool = True,
        impl: str | LinearCrossEntropyImpl = LinearCrossEntropyImpl.CCE,
        return_lse: bool = False,
    ):
        super().__init__()
        _check(filter_eps, impl)
        self.ignore_index, self.softcap, self.reduction = ignore_index, softcap, reduction
        self.shift, self.filter_eps, self.impl, self.return_lse = shift, filter_eps, impl, return_lse
        self.accum_e_fp32, self.accum_c_fp32 = accum_e_fp32, accum_c_fp32
        self.filter_e_grad, self.filter_c_grad = filter_e_grad, filter_c_grad

    def forward(
        self, e: Tensor, c: Tensor, targets: Tensor, bias: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The loss; see `linear_cross_entropy`."""
        return linear_cross_entropy(
            e,
            c,
            targets,
            bias=bias,
            ignore_index=self.ignore_index,
            softcap=self.softcap,
            reduction=self.reduction,
            shift=self.shift,
            return_lse=self.return_lse,
        )


def _check(filter_eps: Any, impl: Any) -> None:
    """Refuses what is not done here."""
    if filter_eps not in (None, "auto", 0):
        raise CallValueError(
            f"filter_eps={filter_eps!r} asks to leave out small entries of gradients, but gradients are "
            "exact here; give 'auto' or None"
        )
    names = [each.name.lower() for each in LinearCrossEntropyImpl]
    name = impl.name.lower() if isinstance(impl, enum.Enum) else impl
    if name not in names:
        raise CallValueError(f"impl={impl!r} is no implementation{did_you_mean(str(impl), names)}")


def _check_slice(options: VocabParallelOptions, c: Tensor) -> None:
    if c.shape[0] != options.stop - options.start:
        raise CallValueError(
            f"c has {c.shape[0]} rows, but vocab_parallel_options are for entries {options.start} to "
            f"{options.stop}, {options.stop - options.start} of them"
        )
    if not options.reduce_e_grad:
        raise CallValueError(
            "reduce_e_grad=False asks for a part of the gradient of e, but it is summed over the group here; "
            "leave it out"
        )


def _shifted(e: Tensor, targets: Tensor, shift: bool | int) -> tuple[Tensor, Tensor]:
    """Hidden states and targets that belong together."""
    if not shift:
        return e, targets
    length = targets.shape[-1]
    if not 0 <= shift < length:
        raise CallValueError(f"shift={shift} must be from 0 to {length - 1}, below the length of sequences")
    return e[..., : length - int(shift), :], targets[..., int(shift) :]
