"""Losses of any size, for measuring how the time to compile them grows."""

from __future__ import annotations

import logitile as lt
import numpy

TOKENS, HIDDEN, VOCAB, MOST_ENTRIES = 16, 16, 2048, 128


@lt.loss
def chain(z: lt.Logits, *, n: int):
    """n functions, each of the result of the one before."""
    for _ in range(n):
        z = lt.tanh(z)
    return lt.logsumexp(z)


@lt.loss
def chain_of_tokens(z: lt.Logits, a: lt.Token[float], *, n: int):
    """The same with one value per token."""
    for _ in range(n):
        a = lt.tanh(a)
    return lt.logsumexp(z + a) * a


@lt.loss
def mixed(z: lt.Logits, a: lt.Token[float], v: lt.Vocab[float], *, n: int):
    """A chain of n operations of many kinds."""
    x = z
    kinds = (
        lambda x: x + v,
        lambda x: x * a,
        lambda x: lt.exp(-lt.abs(x)),
        lambda x: lt.log(1.0 + x),
        lambda x: lt.where(x > a, x, v),
        lambda x: lt.maximum(x, 0.5 * v),
        lambda x: lt.sigmoid(x),
        lambda x: x - 0.25,
    )
    for i in range(n):
        x = kinds[i % len(kinds)](x)
    return lt.logsumexp(x + z)  # whose gradient does not vanish


@lt.loss
def nested(z: lt.Logits, *, n: int):
    """n reductions, each of the result of the one before: as many sweeps."""
    for _ in range(n):
        z = lt.tanh(z - 0.1 * lt.logsumexp(z))
    return lt.logsumexp(z)


@lt.loss
def picks(z: lt.Logits, target: lt.Token[int], *, n: int):
    """n logits of a row."""
    total = lt.logsumexp(z)
    for i in range(n):
        total = total - z[target + i]
    return total


@lt.loss
def entries(z: lt.Logits, ids: lt.Token[int, lt.K], weights: lt.Token[float, lt.K], *, n: int):
    """n logits of a row with a weight each;
    those of the inputs are used again where there are more.
    """
    log_p = lt.log_softmax(z)
    total = lt.max(z)
    for i in range(n):
        k = i % len(ids)
        total = total - lt.exp(weights[k]) * log_p[ids[k] + i // len(ids)]
    return total


@lt.loss
def softmaxes(z: lt.Logits, *, n: int):
    """n softmaxes of different logits."""
    total = lt.logsumexp(z)
    for i in range(n):
        total = total + lt.sum(lt.softmax(z * (1.0 + i / n)) * z)
    return total


@lt.loss
def addends(z: lt.Logits, v: lt.Vocab[float], *, n: int):
    """A sum of n functions of a logit."""
    total = z
    for i in range(n):
        total = total + lt.tanh(z * (i / n) + v)
    return lt.logsumexp(total)


@lt.loss
def choices(z: lt.Logits, v: lt.Vocab[float], *, n: int):
    """n choices, each of which has the one before it on both sides."""
    x, mean = z, lt.mean(z)
    for i in range(n):
        x = lt.where(v > i / n, x, lt.maximum(x, v * (1 + i / n)))
    return lt.sum(lt.tanh(x - mean))


@lt.loss
def outputs(z: lt.Logits, a: lt.Token[float], *, n: int):
    """n outputs of several operations each."""
    named = {f"output{i}": lt.tanh(a * float(i)) + lt.max(z) for i in range(n)}
    return lt.Outputs(loss=lt.logsumexp(z) + a, **named)


LOSSES = (chain, chain_of_tokens, mixed, nested, picks, entries, softmaxes, addends, choices, outputs)


def inputs(loss: lt.Loss, n: int) -> tuple[list[numpy.ndarray], dict[str, numpy.ndarray]]:
    """Small arrays for a loss: those of logits by position, all others by name."""
    random = numpy.random.default_rng(0)
    logits = [random.standard_normal((rows, HIDDEN), dtype=numpy.float32) for rows in (TOKENS, VOCAB)]
    axes = {
        "a": lambda: random.random(TOKENS, numpy.float32),
        "v": lambda: random.random(VOCAB, numpy.float32),
        "target": lambda: random.integers(0, VOCAB - n, TOKENS),
        "ids": lambda: random.integers(0, VOCAB // 2, (TOKENS, min(n, MOST_ENTRIES))),
        "weights": lambda: random.random((TOKENS, min(n, MOST_ENTRIES)), numpy.float32),
    }
    return logits, {other.name: axes[other.name]() for other in loss.signature.others}


def find(name: str) -> lt.Loss:
    """The loss of that name."""
    return next(loss for loss in LOSSES if loss.name == name)
