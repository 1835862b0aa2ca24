"""Distillation: how far the student's prediction p is from the teacher's q.

Losses of two projections have a `target` that is not read: where it is given, tokens whose target is
`ignore_index` count nowhere. Their biases are added to the logits of every token.
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
        index: i, [..., K], K at most 128; entries with `ignore_index` count nothing.
        logprob: log q, [..., K], as the teacher gave it. What it leaves out of its distribution counts
            nothing; normalise it over the K entries for a divergence that is never negative.
        target: one per token. It is not read: where it is given, tokens whose target is `ignore_index` count
            nowhere.
        bias: added to the logits of every token.
        temperature: the logits are divided by it; the teacher's log-probabilities are taken as they are.

    `sparse_distillation` takes more entries, and can do something about what the teacher leaves out. This
    loss runs in slices of the vocabulary, and gives gradients of `logprob` and `bias`.

    Source: the sparse form of Hinton, Vinyals and Dean 2015, arXiv:1503.02531.
    """
    if bias is not None:
        z = z + bias
    log_p = lt.log_softmax(z if temperature is None else z / temperature)
    value = 0.0
    for k in range(len(index)):
        term = lt.exp(logprob[k]) * (logprob[k] - log_p[index[k]])
        value = value + lt.where(lt.valid(index[k]), term, 0.0)
    return value


@loss
def sparse_distillation(
    z: Logits,
    ids: Token[int, K],
    teacher: Token[float, K],
    target: Token[int] | None = None,
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    rest: str = "drop",
):
    """Offline distillation from the teacher's most likely tokens, sum_k(q[k] (log q[k] - log p[i[k]])).

    The teacher ran before, and only the log-probabilities of its K most likely tokens were kept: q. Its
    probability outside of them is r = 1 - sum(q).

    Args:
        ids: i, [..., K], K at most 4096, none of them twice. Entries with `ignore_index` are padding: they
            count nothing. Name it as `ignore` to drop tokens that have nothing else.
        teacher: log q, [..., K], in the order of `ids`; as numbers, without a gradient.
        target: one per token. It is not read: where it is given, tokens whose target is `ignore_index` count
            nowhere.
        bias: added to the logits of every token; it gets no gradient.
        temperature: T. The logits are divided by it, and with rest="normalize" log q, too; otherwise give log
            q of a teacher whose logits were divided by it.
        rest: what becomes of r. "drop" leaves it out, so the loss may be negative, and the student learns
            probabilities that are too large. "normalize" divides q by its sum, which is KL(q || p) and
            never negative. "class" takes all tokens outside of i as one class and adds r log(r / s), where s
            = 1 - sum_k(p[i[k]]) is the student's, 2**-23 at least.

    Source: the sparse form of Hinton, Vinyals and Dean 2015, arXiv:1503.02531; for `rest` Sparse Logit
    Sampling, Anshumann et al. 2025, arXiv:2503.16870.
    """
    check_choice("rest", rest, ("drop", "normalize", "class"))
    if bias is not None:
        z = z + bias
    log_p = lt.log_softmax(z if temperature is None else z / temperature)[ids]
    is_kept = lt.valid(ids)
    log_q = teacher if temperature is None or rest != "normalize" else teacher / temperature
    if rest == "normalize":
        log_q = log_q - lt.log(lt.sum(lt.where(is_kept, lt.exp(log_q), 0.0)))
    q = lt.where(is_kept, lt.exp(log_q), 0.0)
    value = lt.sum(lt.where(is_kept, q * (log_q - log_p), 0.0))
    if rest != "class":
        return value
    outside = lt.maximum(1.0 - lt.sum(q), 0.0)
    student_outside = lt.maximum(1.0 - lt.sum(lt.where(is_kept, lt.exp(log_p), 0.0)), 2.0**-23)
    of_rest = outside * (lt.log(outside) - lt.log(student_outside))
    return value + lt.where(outside > 0.0, of_rest, 0.0)


def _both(student, teacher, student_bias, teacher_bias, temperature):
    """log-probabilities of teacher and student."""
    if student_bias is not None:
        student = student + student_bias
    if teacher_bias is not None:
        teacher = teacher + teacher_bias
    if temperature is not None:
        student, teacher = student / temperature, teacher / temperature
    return lt.log_softmax(teacher), lt.log_softmax(student)
