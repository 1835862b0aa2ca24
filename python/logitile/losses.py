"""A library of losses, written in the language and with no privilege: copy one to change it.

z is a row of logits, y the target, p = softmax(z), lse = log(sum(exp(z))), V the vocabulary size.
"""

from __future__ import annotations

from . import functions as lt
from .annotations import Logits, Scalar, Token, Vocab
from .definition import loss
from .outputs import Outputs


@loss
def cross_entropy(
    z: Logits,
    target: Token[int],
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
):
    """Cross-entropy, -log p[y], with the options that language models train with.

    Formula: (1 - e) w[y] (lse - z[y]) + e / V sum(w (lse - z)) + c lse**2, with e = label_smoothing,
    w = class_weight (1 if absent), c = z_loss.

    Args:
        target: y, one per token. Tokens with `ignore_index` count nowhere.
        class_weight: w, one per vocabulary entry; a mean then divides by the sum of w[y].
        bias: added to the logits of every token.
        temperature: the logits are divided by it (after `softcap`).
        label_smoothing: e, the share of the target's probability that is spread over the vocabulary.
        z_loss: c, the weight of lse**2, which keeps logits from drifting. It has no class weight.
        softcap: s, where logits are limited to s tanh(z / s).

    Returns:
        the loss; with class weights `Outputs(loss, weight)`, so that a mean is what torch's is.

    Source: torch.nn.CrossEntropyLoss for weights and smoothing (Szegedy et al. 2016, arXiv:1512.00567);
    PaLM (arXiv:2204.02311, section 5) for z_loss; Gemma 2 (arXiv:2408.00118) for softcap.
    """
    if bias is not None:
        z = z + bias
    if softcap is not None:
        z = softcap * lt.tanh(z / softcap)
    if temperature is not None:
        z = z / temperature
    lse = lt.logsumexp(z)
    nll = lse - z[target]
    smooth = lse - lt.mean(z) if class_weight is None else lt.mean(class_weight * (lse - z))
    if class_weight is not None:
        nll = class_weight[target] * nll
    value = nll
    if label_smoothing:
        value = (1 - label_smoothing) * nll + label_smoothing * smooth
    if z_loss:
        value = value + z_loss * lse**2
    return value if class_weight is None else Outputs(loss=value, weight=class_weight[target])


@loss
def entropy(z: Logits, *, temperature: Scalar | Token[float] | None = None):
    """Entropy of the prediction, -sum(p log p).

    Args:
        temperature: the logits are divided by it.

    Source: Shannon 1948. Its negative is the usual bonus of policy gradients.
    """
    log_p = lt.log_softmax(z if temperature is None else z / temperature)
    return -lt.sum(lt.exp(log_p) * log_p)


@loss
def logprob_entropy(z: Logits, target: Token[int], *, temperature: Scalar | Token[float] | None = None):
    """log p[y] and the entropy of the prediction, both per token and differentiable; there is no loss field.

    Args:
        target: y, one per token.
        temperature: the logits are divided by it.

    Returns: `Outputs(logprob, entropy)`.

    Source: what policy-gradient losses read of a model, such as PPO (arXiv:1707.06347).
    """
    log_p = lt.log_softmax(z if temperature is None else z / temperature)
    return Outputs(logprob=log_p[target], entropy=-lt.sum(lt.exp(log_p) * log_p))


@loss
def forward_kl(student: Logits, teacher: Logits, *, temperature: Scalar | Token[float] | None = None):
    """Distillation by KL(q || p) = sum(q (log q - log p)), q of the teacher and p of the student.

    Args:
        temperature: the logits of both are divided by it; multiply the loss by its square to keep the
            scale of gradients.

    Source: Hinton, Vinyals and Dean 2015, arXiv:1503.02531.
    """
    log_q, log_p = _both(student, teacher, temperature)
    return lt.sum(lt.exp(log_q) * (log_q - log_p))


@loss
def reverse_kl(student: Logits, teacher: Logits, *, temperature: Scalar | Token[float] | None = None):
    """Distillation by KL(p || q) = sum(p (log p - log q)), q of the teacher and p of the student.

    Args:
        temperature: the logits of both are divided by it.

    Source: MiniLLM, Gu et al. 2024, arXiv:2306.08543.
    """
    log_q, log_p = _both(student, teacher, temperature)
    return lt.sum(lt.exp(log_p) * (log_p - log_q))


def _both(student, teacher, temperature):
    """log-probabilities of teacher and student."""
    if temperature is not None:
        student, teacher = student / temperature, teacher / temperature
    return lt.log_softmax(teacher), lt.log_softmax(student)
