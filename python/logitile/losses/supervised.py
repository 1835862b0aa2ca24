"""Losses of supervised training: cross-entropy and what is made of the probability of the target.

z is a row of logits, y the target, p = softmax(z), lse = log(sum(exp(z))), V the vocabulary size.
"""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import Dense, K, Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..language.outputs import Outputs
from .ranges import check, check_names, check_positive, is_zero


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
    returns: tuple[str, ...] = (),
):
    """Cross-entropy, -log p[y], with the options that language models train with.

    Formula: (1 - e) w[y] (lse - z[y]) + e / V sum(w (lse - z)) + c lse**2, with e = label_smoothing,
    w = class_weight (1 if absent), c = z_loss.

    Args:
        target: y, one per token. Tokens with `ignore_index` count nowhere.
        class_weight: w, one per vocabulary entry; a mean then divides by the sum of w[y].
        bias: added to the logits of every token.
        temperature: the logits are divided by it (after `softcap`).
        label_smoothing: e, from 0 to 1, the share of the target's probability that is spread over the
            vocabulary.
        z_loss: c, 0 or more, the weight of lse**2, which keeps logits from drifting. It has no class weight.
        softcap: s, above 0; logits are limited to s tanh(z / s).
        returns: outputs beside the loss, in this order: "lse", which has a gradient of its own; "z_loss",
            lse**2 without its weight, to look at; "correct", whether the most likely entry is y; "index", the
            most likely entry.

    Returns:
        the loss; with class weights `Outputs(loss, weight)`, so that a mean is what torch's is; with
        `returns` `Outputs` that have its names too.

    Source: torch.nn.CrossEntropyLoss for weights and smoothing (Szegedy et al. 2016, arXiv:1512.00567);
    PaLM (arXiv:2204.02311, section 5) for z_loss; Gemma 2 (arXiv:2408.00118) for softcap.
    """
    check("label_smoothing", label_smoothing, 0, 1)
    check("z_loss", z_loss, 0)
    check_names("returns", returns, ("lse", "z_loss", "correct", "index"))
    if bias is not None:
        z = z + bias
    if softcap is not None:
        check_positive("softcap", softcap)
        z = softcap * lt.tanh(z / softcap)
    if temperature is not None:
        z = z / temperature
    lse = lt.logsumexp(z)
    nll = lse - z[target]
    smooth = lse - lt.mean(z) if class_weight is None else lt.mean(class_weight * (lse - z))
    if class_weight is not None:
        nll = class_weight[target] * nll
    value = nll
    if not is_zero(label_smoothing):
        value = (1 - label_smoothing) * nll + label_smoothing * smooth
    if not is_zero(z_loss):
        value = value + z_loss * lse**2
    outputs = {"loss": value} if class_weight is None else {"loss": value, "weight": class_weight[target]}
    outputs |= {name: _observed(name, z, target, lse) for name in returns}
    return value if len(outputs) == 1 else Outputs(**outputs)


def _observed(name, z, target, lse):
    """An output of cross_entropy beside its loss."""
    if name == "lse":
        return lse
    if name == "z_loss":
        return lt.stop_gradient(lse**2)
    index = lt.argmax(z)
    return index if name == "index" else index == target


@loss
def cross_entropy_metrics(
    z: Logits,
    target: Token[int],
    live_targets: Token[float] | None = None,
    *,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
):
    """Cross-entropy with what training loops report about it, in one pass over the vocabulary.

    Formula: l (ce + c lse**2), with l = live_targets (1 if absent), ce the cross-entropy with smoothing,
    c = z_loss. A mean divides by the sum of l.

    Args:
        target: y, one per token. Tokens with `ignore_index` count nowhere, whatever their l is.
        live_targets: l, one per token: how much the token counts; 0 leaves it out of the loss.
        label_smoothing: as in `cross_entropy`.
        z_loss: c, 0 or more, the weight of lse**2 in the loss.
        softcap: s, above 0; logits are limited to s tanh(z / s) before anything else.

    Returns:
        `Outputs(loss, weight, cross_entropy, z_loss, lse, correct, index)`. `weight` is l, and absent where
        l is. The others are per token and not multiplied by l: `cross_entropy` is ce, `z_loss` is lse**2
        without its weight, `correct` says whether `index`, the most likely entry, is y. They carry no
        gradient.

    Source: the outputs are those of the losses of AXLearn and of MaxText's vocabulary tiling; PaLM
    (arXiv:2204.02311, section 5) for z_loss; Gemma 2 (arXiv:2408.00118) for softcap.
    """
    check("z_loss", z_loss, 0)
    if softcap is not None:
        check_positive("softcap", softcap)
        z = softcap * lt.tanh(z / softcap)
    lse = lt.logsumexp(z)
    index = lt.argmax(z)
    nll = cross_entropy(z, target, label_smoothing=label_smoothing)
    value = nll if is_zero(z_loss) else nll + z_loss * lse**2
    weighted = {"loss": value}
    if live_targets is not None:
        weighted = {"loss": live_targets * value, "weight": live_targets}
    return Outputs(
        **weighted,
        cross_entropy=lt.stop_gradient(nll),
        z_loss=lt.stop_gradient(lse**2),
        lse=lt.stop_gradient(lse),
        correct=index == target,
        index=index,
    )


@loss
def soft_cross_entropy(
    z: Logits,
    target: Dense[float],
    label: Token[int] | None = None,
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    label_smoothing: float = 0.0,
):
    """Cross-entropy with a distribution for a target, -sum(w ((1 - e) q + e / V) log p).

    Args:
        target: q, [..., V]; its rows need not add up to 1. It gets a gradient if it requires one.
        label: one per token. It is not read: name it as `ignore` to drop tokens that have `ignore_index`.
        class_weight: w, one per vocabulary entry; a mean divides by the number of tokens, as torch does.
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
        target: y, [..., K]: the tokens that follow at depths 1 to K. Entries with `ignore_index` count
            nothing; tokens of which all entries are that count nowhere.
        depth_weight: w, [..., K]; 1 if absent.

    Source: multi-token prediction, Gloeckle et al. 2024, arXiv:2404.19737.
    """
    lse = lt.logsumexp(z)
    value = 0.0
    for k in range(len(target)):
        term = lt.where(lt.valid(target[k]), lse - z[target[k]], 0.0)
        value = value + (term if depth_weight is None else depth_weight[k] * term)
    return value


@loss
def focal(z: Logits, target: Token[int], *, gamma: float = 2.0):
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
def poly1(z: Logits, target: Token[int], *, epsilon: float = 1.0):
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
        negative: c, [..., K]; entries with `ignore_index` count nothing. Name it as `ignore` to drop tokens
            that have none: lt.jit(losses.unlikelihood, ignore="negative").

    Source: Welleck et al. 2019, arXiv:1908.04319.
    """
    log_p = lt.log_softmax(z)
    value = 0.0
    for k in range(len(negative)):
        value = value - lt.where(lt.valid(negative[k]), lt.log(-lt.expm1(log_p[negative[k]])), 0.0)
    return value


@loss
def dynamic_fine_tuning(z: Logits, target: Token[int]):
    """Cross-entropy times the target's probability, which carries no gradient: -stop_gradient(p[y]) log p[y].

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
