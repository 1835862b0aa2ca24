"""Losses whose values are shared at every step: as trees they have 2^40 operations,
and compile at once.
"""

import logitile as lt
import numpy as np
import pytest
from backends import jit
from gate import Sample

TOKENS, VOCAB, HIDDEN = 37, 150, 12
STEPS = {
    "square": lambda t, z, u: t * t,
    "product of products": lambda t, z, u: (t * z) * (t * u),
    "difference": lambda t, z, u: t - t * u,
    "sum of an exponential": lambda t, z, u: t + lt.exp(z - u) * t,
    "branches": lambda t, z, u: lt.where(u > 0, t * 0.5, t - 1),
    "branches of entries": lambda t, z, u: lt.where(t > 0, t, t - 1),
    "quotient": lambda t, z, u: t / (u + t),
    "maximum": lambda t, z, u: lt.maximum(t, t * 0.5),
    "exponent": lambda t, z, u: lt.exp(t - t * t),
    "logarithm": lambda t, z, u: t * lt.log(t * t + 1),
    "sigmoid": lambda t, z, u: t * lt.sigmoid(t),
}


def shared(step, depth, start):
    """A loss of `depth` steps, from logits, their probabilities or one number per token."""

    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int]):
        u = lt.logsumexp(z)
        t = {"logits": z, "probabilities": lt.softmax(z), "token": z[y]}[start]
        for _ in range(depth):
            t = step(t, z if start != "token" else z[y], u)
        if start == "token":
            return t + u
        return lt.sum(lt.softmax(z) * t) + lt.logsumexp(t) - t[y]

    return loss


def operands():
    rng = np.random.default_rng(5)
    weight = rng.normal(size=(VOCAB, HIDDEN)) / HIDDEN**0.5
    return rng.normal(size=(TOKENS, HIDDEN)).astype(np.float32), weight.astype(np.float32)


@pytest.mark.parametrize("start", ["logits", "probabilities", "token"])
@pytest.mark.parametrize("name", STEPS)
def test_forty_steps(name, start):
    """The plan: at this depth few losses are finite."""
    loss = shared(STEPS[name], 40, start)
    assert "logitile.gradient" in jit(loss).ir("plan", *operands(), y=np.zeros(TOKENS, np.int64))


@pytest.mark.parametrize("start", ["logits", "probabilities", "token"])
@pytest.mark.parametrize("name", STEPS)
def test_numbers_of_three_steps(name, start):
    loss = shared(STEPS[name], 3, start)
    targets = np.arange(TOKENS, dtype=np.int64) * 4
    cotangent = {"loss": np.random.default_rng(6).normal(size=TOKENS).astype(np.float32)}
    inputs = {"z": operands(), "y": targets}
    Sample(loss, inputs, {"reduction": "none"}, ("hidden", "weight"), cotangent).check()
