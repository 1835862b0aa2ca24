"""Distillation with targets: the cross-entropy of the student, and its distance from a teacher."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ... import losses
from ...errors import CallValueError
from ...language import functions as lt
from ...language.annotations import Logits, Scalar, Token, Vocab
from ...language.definition import loss
from ...language.outputs import Outputs
from ..coefficients import Coefficient, check, is_number, of_temperature, value_of
from ..divergences import of_share
from ..heads import head
from .options import check_temperature, chunks

_LEAST = 1e-24  # of a squared norm


@loss
def distilled(
    student: Logits,
    teacher: Logits,
    target: Token[int],
    soft_weight: Scalar,
    hard_weight: Scalar | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | None = None,
    beta: Scalar | None = None,
    distance: str = "jensen_shannon",
    classes: int = 0,
    returns_parts: bool = False,
):
    """soft_weight times the distance from the teacher, plus hard_weight times the cross-entropy.

    Args:
        beta: the share of the teacher in the mixture, or the weight of the cosine.
        distance: "forward_kl", "reverse_kl", "jensen_shannon",
            "any_share" (one of these three, as `beta` says) or "cosine".
        classes: entries of the student's own vocabulary; those after it are padding,
            with logits of 0.
        returns_parts: return both parts too, without a gradient.
    """
    z = student if student_bias is None else student + student_bias
    t = teacher if teacher_bias is None else teacher + teacher_bias
    soft = _cosine(z, t, beta) if distance == "cosine" else _divergence(distance, z, t, temperature, beta)
    value, parts = soft_weight * soft, {"soft": lt.stop_gradient(soft)}
    if hard_weight is not None:
        own = z if classes == lt.vocab_size() else lt.where(lt.column() < classes, z, float("-inf"))
        hard = losses.cross_entropy(own, target)
        value, parts["hard"] = value + hard_weight * hard, lt.stop_gradient(hard)
    return Outputs(loss=value, **parts) if returns_parts else value


def _divergence(distance, z, t, temperature, beta):
    if temperature is not None:
        z, t = z / temperature, t / temperature
    log_q, log_p = lt.log_softmax(t), lt.log_softmax(z)
    if distance == "any_share":
        return of_share(log_q, log_p, beta)
    q, p = lt.exp(log_q), lt.exp(log_p)
    if distance == "forward_kl":
        return lt.sum(q * (log_q - log_p))
    if distance == "reverse_kl":
        return lt.sum(p * (log_p - log_q))
    log_m = lt.log(beta * q + (1 - beta) * p)
    return beta * lt.sum(q * (log_q - log_m)) + (1 - beta) * lt.sum(p * (log_p - log_m))


def _cosine(z, t, beta):
    """beta (1 - cos); 0 is orthogonal to everything."""
    norms = [lt.rsqrt(lt.maximum(lt.sum(lt.square(x)), _LEAST)) for x in (z, t)]
    return beta * (1 - lt.sum(z * t) * norms[0] * norms[1])


def jsd(
    student_input: Tensor,
    student_weight: Tensor,
    teacher_input: Tensor,
    teacher_weight: Tensor,
    true_labels: Tensor,
    student_bias: Tensor | None = None,
    teacher_bias: Tensor | None = None,
    weight_hard_loss: Coefficient = 0.5,
    weight_soft_loss: Coefficient = 0.5,
    beta: Coefficient = 0.5,
    ignore_index: int = -100,
    temperature: Coefficient = 1.0,
    compiled: bool = True,
    chunk_size: int = 1024,
    return_soft_hard_loss: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy and the generalised Jensen-Shannon divergence, means over tokens.

    Args:
        student_input, teacher_input: [N, D] each; D may differ.
        student_weight, teacher_weight: [V, D] each. A teacher with more rows is padded: the
            student's logits of the rows that it lacks are 0 in the divergence, for which its weight
            is copied. The teacher gets no gradient.
        true_labels: [N].
        student_bias, teacher_bias: [V] each.
        weight_hard_loss, weight_soft_loss: the weights of both parts. Like `beta` and `temperature`
            they may be tensors without axes, which get a gradient if they require one.
        beta: from 0, KL(teacher || student), to 1, KL(student || teacher).
        temperature: logits are divided by it in the divergence; not 0.
        compiled: has no effect: kernels are compiled always.
        chunk_size: tokens per chunk.
        return_soft_hard_loss: return (loss, divergence, cross-entropy).

    Raises:
        CallError: shapes, types or values do not agree.
    """
    check_temperature(temperature)
    check("beta", beta, 0, 1)
    inputs = of_temperature(temperature)
    distance = "any_share" if isinstance(beta, Tensor) else "jensen_shannon"
    if is_number(beta, 0) or is_number(beta, 1):
        distance = "forward_kl" if beta == 0 else "reverse_kl"
    else:
        inputs["beta"] = beta
    return _distilled(
        (student_input, student_weight, student_bias), (teacher_input, teacher_weight, teacher_bias),
        true_labels, (weight_hard_loss, weight_soft_loss), ignore_index, chunk_size, return_soft_hard_loss,
        distance, inputs,
    )  # fmt: skip


def cosine(
    student_input: Tensor,
    student_weight: Tensor,
    teacher_input: Tensor,
    teacher_weight: Tensor,
    true_labels: Tensor,
    student_bias: Tensor | None = None,
    teacher_bias: Tensor | None = None,
    weight_hard_loss: Coefficient = 0.5,
    weight_soft_loss: Coefficient = 0.5,
    beta: Coefficient = 0.5,
    ignore_index: int = -100,
    temperature: Coefficient = 1.0,
    compiled: bool = True,
    chunk_size: int = 1024,
    return_soft_hard_loss: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy and beta (1 - the cosine of the logits of student and teacher).
    Arguments are as for `jsd`. The temperature does not change the cosine.
    """
    check_temperature(temperature)
    value_of("beta", beta)
    return _distilled(
        (student_input, student_weight, student_bias), (teacher_input, teacher_weight, teacher_bias),
        true_labels, (weight_hard_loss, weight_soft_loss), ignore_index, chunk_size, return_soft_hard_loss,
        "cosine", {"beta": beta},
    )  # fmt: skip


def _distilled(
    student: Any,
    teacher: Any,
    target: Tensor,
    weights: tuple[Coefficient, Coefficient],
    ignore_index: int,
    chunk_size: int,
    returns_parts: bool,
    distance: str,
    inputs: dict[str, Any],
) -> Any:
    hidden, weight, bias = student
    classes, rows = weight.shape[0], teacher[1].shape[0]
    if rows < classes:
        raise CallValueError(f"the teacher has {rows} vocabulary entries, fewer than the student's {classes}")
    if rows > classes:
        weight = torch.cat([weight, weight.new_zeros(rows - classes, weight.shape[1])])
        bias = None if bias is None else torch.cat([bias, bias.new_zeros(rows - classes)])
    for name, value in zip(("weight_hard_loss", "weight_soft_loss"), weights, strict=True):
        value_of(name, value)
    if not is_number(weights[0], 0) or returns_parts:
        inputs = {**inputs, "hard_weight": weights[0]}
    run = head(
        distilled, distance=distance, classes=classes, returns_parts=returns_parts,
        ignore_index=ignore_index, all_ignored="zero", **chunks(hidden.shape[0], chunk_size),
    )  # fmt: skip
    teacher_hidden, teacher_weight, teacher_bias = (
        None if tensor is None else tensor.detach() for tensor in teacher
    )
    result = run(
        student=(hidden, weight), teacher=(teacher_hidden, teacher_weight), target=target,
        student_bias=bias, teacher_bias=teacher_bias, soft_weight=weights[1],
        **inputs,
    )  # fmt: skip
    if not returns_parts:
        return result
    count = (target != ignore_index).sum().clamp(min=1)
    return result.loss, result.soft.sum() / count, result.hard.sum() / count
