"""Distillation: how far the student's prediction p is from the teacher's q.

Losses of two projections have a `target` that is not read: where it is given, tokens whose target is
`ignore_index` count nowhere. Their biases are added to the logits of every token.
"""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import K, Logits, Scalar, Token, Vocab
from ..language.definition import loss
from .ranges import check, check_inside


@loss
def forward_kl(
    student: Logits,
    teacher: Logits,
    target: Token[int] | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """Distillation by KL(q || p) = sum(q (log q - log p)), q of the teacher and p of the student.

    Args:
        temperature: the logits of both are divided by it; multiply the loss by its square to keep the scale
            of gradients.

    Source: Hinton, Vinyals and Dean 2015, arXiv:1503.02531.
    """
    log_q, log_p = _both(student, teacher, student_bias, teacher_bias, temperature)
    return lt.sum(lt.exp(log_q) * (log_q - log_p))


@loss
def reverse_kl(
    student: Logits,
    teacher: Logits,
    target: Token[int] | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """Distillation by KL(p || q) = sum(p (log p - log q)), q of the teacher and p of the student.

    Args:
        temperature: the logits of both are divided by it.

    Source: MiniLLM, Gu et al. 2024, arXiv:2306.08543.
    """
    log_q, log_p = _both(student, teacher, student_bias, teacher_bias, temperature)
    return lt.sum(lt.exp(log_p) * (log_p - log_q))


@loss
def skewed_kl(
    student: Logits,
    teacher: Logits,
    target: Token[int] | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    alpha: Scalar | float = 0.1,
):
    """Distillation by KL(q || alpha q + (1 - alpha) p), which stays finite where p is 0.

    Args:
        alpha: from 0, which is forward_kl, to 1.
        temperature: the logits of both are divided by it.

    Source: DistiLLM, Ko et al. 2024, arXiv:2402.03898.
    """
    check("alpha", alpha, 0, 1)
    log_q, log_p = _both(student, teacher, student_bias, teacher_bias, temperature)
    q = lt.exp(log_q)
    return lt.sum(q * (log_q - lt.log(alpha * q + (1 - alpha) * lt.exp(log_p))))


@loss
def jensen_shannon(
    student: Logits,
    teacher: Logits,
    target: Token[int] | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    beta: Scalar | float = 0.5,
):
    """Distillation by beta KL(q || m) + (1 - beta) KL(p || m) with m = beta q + (1 - beta) p.

    Args:
        beta: between 0 and 1, both excluded: the limits are forward_kl and reverse_kl, each times 0.
        temperature: the logits of both are divided by it.

    Source: GKD, Agarwal et al. 2024, arXiv:2306.13649.
    """
    check_inside("beta", beta, 0, 1)
    log_q, log_p = _both(student, teacher, student_bias, teacher_bias, temperature)
    q, p = lt.exp(log_q), lt.exp(log_p)
    log_m = lt.log(beta * q + (1 - beta) * p)
    return beta * lt.sum(q * (log_q - log_m)) + (1 - beta) * lt.sum(p * (log_p - log_m))


@loss
def total_variation(
    student: Logits,
    teacher: Logits,
    target: Token[int] | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """Distillation by half of sum(|p - q|).

    Args:
        temperature: the logits of both are divided by it.

    Source: f-DISTILL, Wen et al. 2023, arXiv:2307.15190.
    """
    log_q, log_p = _both(student, teacher, student_bias, teacher_bias, temperature)
    return 0.5 * lt.sum(abs(lt.exp(log_p) - lt.exp(log_q)))


@loss
def top_k_kl(
    z: Logits,
    index: Token[int, K],
    logprob: Token[float, K],
    target: Token[int] | None = None,
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """Distillation from the teacher's best entries, sum_k(q[k] (log q[k] - log p[i[k]])).

    Args:
        index: i, [..., K]; entries with `ignore_index` count nothing.
        logprob: log q, [..., K], as the teacher gave it. What it leaves out of its distribution counts
            nothing; normalise it over the K entries for a divergence that is never negative.
        target: one per token. It is not read: where it is given, tokens whose target is `ignore_index` count
            nowhere.
        bias: added to the logits of every token.
        temperature: the logits are divided by it; the teacher's log-probabilities are taken as they are.

    Source: the sparse form of Hinton, Vinyals and Dean 2015, arXiv:1503.02531.
    """
    if bias is not None:
        z = z + bias
    log_p = lt.log_softmax(z if temperature is None else z / temperature)[index]
    return lt.sum(lt.where(lt.valid(index), lt.exp(logprob) * (logprob - log_p), 0.0))


def _both(student, teacher, student_bias, teacher_bias, temperature):
    """log-probabilities of teacher and student."""
    if student_bias is not None:
        student = student + student_bias
    if teacher_bias is not None:
        teacher = teacher + teacher_bias
    if temperature is not None:
        student, teacher = student / temperature, teacher / temperature
    return lt.log_softmax(teacher), lt.log_softmax(student)
