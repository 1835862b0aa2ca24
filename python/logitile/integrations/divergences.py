"""The divergence of student and teacher for a teacher's share that is read at each call."""

from __future__ import annotations

from typing import Any

from ..language import functions as lt
from ..language.annotations import Logits, Scalar, Token
from ..language.definition import loss


@loss
def any_share(
    student: Logits,
    teacher: Logits,
    beta: Scalar,
    target: Token[int] | None = None,
    *,
    temperature: Scalar | None = None,
):
    """`of_share` of two projections.

    Args:
        target: not read: where it is given, tokens whose target is `ignore_index` count nowhere.
        temperature: the logits of both are divided by it.
    """
    if temperature is not None:
        student, teacher = student / temperature, teacher / temperature
    return of_share(lt.log_softmax(teacher), lt.log_softmax(student), beta)


def of_share(log_q: Any, log_p: Any, beta: Any) -> Any:
    """Inside of a loss: the Jensen-Shannon divergence with the teacher's share `beta`; KL(q || p)
    where it is 0, and KL(p || q) where it is 1, as functions have it that take a number. At these
    two, `beta` has a gradient of 0.

    Args:
        log_q, log_p: log-probabilities of teacher and student.

    Source: GKD, Agarwal et al. 2024, arXiv:2306.13649.
    """
    q, p = lt.exp(log_q), lt.exp(log_p)
    log_m = lt.log(beta * q + (1 - beta) * p)
    between = beta * lt.sum(q * (log_q - log_m)) + (1 - beta) * lt.sum(p * (log_p - log_m))
    at_one = lt.where(beta == 1, lt.sum(p * (log_p - log_q)), between)
    return lt.where(beta == 0, lt.sum(q * (log_q - log_p)), at_one)
