"""Distillation: how far the student's prediction p is from the teacher's q.

Losses of two projections have a `target` that is not read: where it is given, tokens whose target
is `ignore_index` count nowhere. Their biases are added to the logits of every token.
"""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import K, Logits, Scalar, Token, Vocab
from ..language.definition import loss
from .ranges import check, check_choice, check_inside


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
        temperature: the logits of both are divided by it;
            multiply the loss by its square to keep the scale of gradients.

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
        beta: between 0 and 1, both excluded:
            the limits are forward_kl and reverse_kl, each times 0.
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
    rest: str = "drop",
):
    """Distillation from the teacher's best entries, sum_k(q[k] (log q[k] - log p[i[k]])).

    The teacher may have run long before: of its distribution only K log-probabilities are kept.

    Args:
        index: i, [..., K], none of them twice. Entries with `ignore_index` are padding and count
            nothing. Name it as `ignore` to drop tokens that have nothing else.
        logprob: log q, [..., K], as the teacher gave it.
        target: one per token. It is not read: where it is given,
            tokens whose target is `ignore_index` count nowhere.
        bias: added to the logits of every token.
        temperature: the logits are divided by it; the teacher's log-probabilities are taken as they
            are, those of logits that were divided by it too.
        rest: what becomes of r = 1 - sum(q), which the teacher gives to all other entries. "drop"
            leaves it out, so the loss may be negative, and the student learns probabilities that
            are too large. "normalize" divides q by its sum: the loss is KL(q || p) then. "class"
            takes all other entries as one class and adds r (log r - log s), where s = 1 -
            sum_k(p[i[k]]) is the student's rest, 2**-23 at least.

    Source: the sparse form of Hinton, Vinyals and Dean 2015, arXiv:1503.02531; for `rest`, Sparse
    Logit Sampling, Anshumann et al. 2025, arXiv:2503.16870.
    """
    check_choice("rest", rest, ("drop", "normalize", "class"))
    if bias is not None:
        z = z + bias
    log_p, is_kept = lt.log_softmax(z if temperature is None else z / temperature)[index], lt.valid(index)
    if rest == "normalize":
        logprob = logprob - lt.log(_total(is_kept, logprob))
    value = lt.sum(lt.where(is_kept, lt.exp(logprob) * (logprob - log_p), 0.0))
    if rest != "class":
        return value
    teachers, students = 1.0 - _total(is_kept, logprob), 1.0 - _total(is_kept, log_p)
    distance = teachers * (lt.log(teachers) - lt.log(lt.maximum(students, 2.0**-23)))
    return value + lt.where(teachers > 0.0, distance, 0.0)


def _total(is_kept, logprob):
    """The sum of the probabilities that are kept."""
    return lt.sum(lt.where(is_kept, lt.exp(logprob), 0.0))


def _both(student, teacher, student_bias, teacher_bias, temperature):
    """log-probabilities of teacher and student."""
    if student_bias is not None:
        student = student + student_bias
    if teacher_bias is not None:
        teacher = teacher + teacher_bias
    if temperature is not None:
        student, teacher = student / temperature, teacher / temperature
    return lt.log_softmax(teacher), lt.log_softmax(student)
