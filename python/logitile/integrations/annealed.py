"""Losses of the library whose coefficients are read at each call, so that annealing one compiles nothing."""

from __future__ import annotations

from typing import Any

from .. import losses
from ..language.annotations import Dense, Logits, Scalar, Token, Vocab
from ..language.definition import loss


@loss
def cross_entropy(
    z: Logits,
    target: Token[int],
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    label_smoothing: Scalar | None = None,
    z_loss: Scalar | None = None,
    softcap: float | None = None,
    returns: tuple[str, ...] = (),
):
    """lt.losses.cross_entropy with `label_smoothing` and `z_loss` as numbers of the call."""
    return losses.cross_entropy(
        z,
        target,
        class_weight=class_weight,
        bias=bias,
        label_smoothing=0.0 if label_smoothing is None else label_smoothing,
        z_loss=0.0 if z_loss is None else z_loss,
        softcap=softcap,
        returns=returns,
    )


@loss
def soft_cross_entropy(
    z: Logits,
    target: Dense[float],
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    label_smoothing: Scalar | None = None,
):
    """lt.losses.soft_cross_entropy with `label_smoothing` as a number of the call."""
    smoothing = 0.0 if label_smoothing is None else label_smoothing
    return losses.soft_cross_entropy(
        z, target, class_weight=class_weight, bias=bias, label_smoothing=smoothing
    )


def given(**numbers: float) -> dict[str, Any]:
    """The coefficients of a call that are not 0: a term whose coefficient is left out costs nothing."""
    return {name: number for name, number in numbers.items() if number != 0}
