"""Losses of supervised training: cross-entropy, and losses of the target's probability.

z is a row of logits, y the target, p = softmax(z), lse = log(sum(exp(z))), V the vocabulary size.
"""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import Dense, K, Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..language.outputs import Outputs
from .ranges import check, check_names, check_positive, is_zero

_RETURNS = ("cross_entropy", "z_loss", "lse", "correct", "index")


@loss
def cross_entropy(
    z: Logits,
    target: Token[int],
    *,
    token_weight: Token[float] | None = None,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    label_smoothing: Scalar | float = 0.0,
    z_loss: Scalar | float = 0.0,
    softcap: float | None = None,
    returns: tuple[str, ...] = (),
):
    """Cross-entropy, -log p[y], with the options that language models train with.

    Formula: l (ce + c lse**2) with ce = (1 - e) w[y] (lse - z[y]) + e / V sum(w (lse - z)), l =
    token_weight and w = class_weight (1 if absent), e = label_smoothing, c = z_loss. A mean divides
    by the sum of l w[y].

    Args:
        target: y, one per token. Tokens with `ignore_index` count nowhere, whatever their l is.
        token_weight: l, one per token: how much the token counts; 0 leaves it out of the loss.
        class_weight: w, one per vocabulary entry.
        bias: added to the logits of every token.
        temperature: the logits are divided by it (after `softcap`).
        label_smoothing: e, from 0 to 1, the share of the target's probability that is spread over
            the vocabulary.
        z_loss: c, 0 or more, the weight of lse**2, which keeps logits from drifting. It has no
            class weight. For a z-loss that is averaged over tokens beside class weights, give c
            mean(w[y]) to the call.
        softcap: s, above 0; logits are limited to s tanh(z / s) before anything else but `bias`.
        returns: outputs beside the loss, in this order: "cross_entropy", ce; "z_loss", lse**2
            without its weight; "lse"; "correct", whether the most likely entry is y; "index", the
            most likely entry. They are per token and not multiplied by l. "lse" alone has a
            gradient.

    Returns:
        the loss; with weights or `returns` `Outputs(loss, weight, ...)`. `weight` is l w[y],
        so that a mean is what torch's is.

    Source: torch.nn.CrossEntropyLoss for weights and smoothing (Szegedy et al. 2016,
    arXiv:1512.00567); PaLM (arXiv:2204.02311, section 5) for z_loss; Gemma 2 (arXiv:2408.00118) for
    softcap. The outputs are those that AXLearn and MaxText report.
    """
    check("label_smoothing", label_smoothing, 0, 1)
    check("z_loss", z_loss, 0)
    check_names("returns", returns, _RETURNS)
    if bias is not None:
        z = z + bias
    if softcap is not None:
        check_positive("softcap", softcap)
        z = softcap * lt.tanh(z / softcap)
    if temperature is not None:
        z = z / temperature
    lse = lt.logsumexp(z)
    nll = _smoothed(z, lse, target, class_weight, label_smoothing)
    value = nll if is_zero(z_loss) else nll + z_loss * lse**2
    outputs = {"loss": value if token_weight is None else token_weight * value}
    if class_weight is not None or token_weight is not None:
        outputs["weight"] = _product(token_weight, None if class_weight is None else class_weight[target])
    outputs |= {name: _observed(name, z, target, lse, nll) for name in returns}
    return value if len(outputs) == 1 else Outputs(**outputs)


def _smoothed(z, lse, target, class_weight, label_smoothing):
    """Cross-entropy without its z-loss."""
    nll = lse - z[target]
    if class_weight is not None:
        nll = class_weight[target] * nll
    if is_zero(label_smoothing):
        return nll
    smooth = lse - lt.mean(z) if class_weight is None else lt.mean(class_weight * (lse - z))
    return (1 - label_smoothing) * nll + label_smoothing * smooth


def _product(a, b):
    """That of the factors that are given."""
    if a is None or b is None:
        return b if a is None else a
    return a * b


def _observed(name, z, target, lse, nll):
    """An output of cross_entropy beside its loss."""
    if name == "lse":
        return lse
    if name in ("cross_entropy", "z_loss"):
        return lt.stop_gradient(nll if name == "cross_entropy" else lse**2)
    index = lt.argmax(z)
    return index if name == "index" else index == target


@loss
def soft_cross_entropy(
    z: Logits,
    target: Dense[float],
    label: Token[int] | None = None,
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    label_smoothing: Scalar | float = 0.0,
):
    """Cross-entropy with a distribution for a target, -sum(w ((1 - e) q + e / V) log p).

    Args:
        target: q, [..., V]; its rows need not add up to 1. It gets a gradient if it requires one.
        label: one per token. It is not read:
            name it as `ignore` to drop tokens that have `ignore_index`.
        class_weight: w, one per vocabulary entry; a mean divides by the number of tokens,
            as torch does.
        bias: added to the logits of every token.
        temperature: the logits are divided by it.
        label_smoothing: e, from 0 to 1.

    Source: torch.nn.CrossEntropyLoss with probabilities as target.
    """
    check("label_smoothing", label_smoothing, 0, 1)
    if bias is not None:
        z = z + bias
    if temperature is not None:
        z = z / temperature
    log_p = lt.log_softmax(z)
    if class_weight is not None:
        log_p = class_weight * log_p
    value = -lt.sum(target * log_p)
    if is_zero(label_smoothing):
        return value
    return (1 - label_smoothing) * value - label_smoothing * lt.mean(log_p)


@loss
def multi_token(z: Logits, target: Token[int, K], depth_weight: Token[float, K] | None = None):
    """Cross-entropy with several targets of one head, sum_k(w[k] (lse - z[y[k]])).

    Args:
        target: y, [..., K]: the tokens that follow at depths 1 to K. Entries with `ignore_index`
            count nothing; tokens of which all entries are that count nowhere.
        depth_weight: w, [..., K]; 1 if absent.

    Source: multi-token prediction, Gloeckle et al. 2024, arXiv:2404.19737.
    """
    terms = lt.where(lt.valid(target), lt.logsumexp(z) - z[target], 0.0)
    return lt.sum(terms if depth_weight is None else depth_weight * terms)


@loss
def focal(z: Logits, target: Token[int], *, gamma: Scalar | float = 2.0):
    """Cross-entropy that dwells on what is hard, (1 - p[y])**gamma (-log p[y]).

    Args:
        target: y, one per token.
        gamma: 0 or more; 0 is cross-entropy.

    Source: Lin et al. 2017, arXiv:1708.02002.
    """
    check("gamma", gamma, 0)
    log_p = lt.log_softmax(z)[target]
    return -((-lt.expm1(log_p)) ** gamma) * log_p


@loss
def poly1(z: Logits, target: Token[int], *, epsilon: Scalar | float = 1.0):
    """Cross-entropy with its first polynomial coefficient moved, -log p[y] + epsilon (1 - p[y]).

    Args:
        target: y, one per token.
        epsilon: 0 is cross-entropy.

    Source: PolyLoss, Leng et al. 2022, arXiv:2204.12511.
    """
    check("epsilon", epsilon)
    log_p = lt.log_softmax(z)[target]
    return -log_p - epsilon * lt.expm1(log_p)


@loss
def unlikelihood(z: Logits, negative: Token[int, K]):
    """Keeps probability from tokens that should not come, -sum_k(log(1 - p[c[k]])).

    Args:
        negative: c, [..., K]; entries with `ignore_index` count nothing. Name it as `ignore` to
            drop tokens that have none: lt.jit(losses.unlikelihood, ignore="negative").

    Source: Welleck et al. 2019, arXiv:1908.04319.
    """
    log_p = lt.log_softmax(z)[negative]
    return -lt.sum(lt.where(lt.valid(negative), lt.log(-lt.expm1(log_p)), 0.0))


@loss
def dynamic_fine_tuning(z: Logits, target: Token[int]):
    """Cross-entropy times the target's probability, -stop_gradient(p[y]) log p[y].

    Args:
        target: y, one per token.

    Source: DFT, Wu et al. 2025, arXiv:2508.05629.
    """
    log_p = lt.log_softmax(z)[target]
    return -lt.stop_gradient(lt.exp(log_p)) * log_p


@loss
def z_loss(z: Logits):
    """lse**2, which keeps logits from drifting; to be added to another loss with a small weight.

    Source: PaLM, arXiv:2204.02311, section 5.
    """
    return lt.logsumexp(z) ** 2
