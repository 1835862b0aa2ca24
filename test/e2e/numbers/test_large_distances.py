"""Distances between large logits are small and often exact:
what they meet is not rounded as logits are.
"""

import logitile as lt
import numpy as np
import pytest
from backends import brought_back, jit, moved

pytestmark = pytest.mark.emulated
TOKENS, VOCAB = 40, 50

BESIDE_OTHERS = {
    "from an entry": lambda z, y, u, s: (z - z[y]) - u * s,
    "from the largest": lambda z, y, u, s: (z - lt.max(z)) - u * s,
    "from the mean": lambda z, y, u, s: (z - lt.mean(z)) - u * s,
    "scaled": lambda z, y, u, s: (z - z[y]) * 0.5 + u * s,
    "from another value": lambda z, y, u, s: u * s - (lt.stop_gradient(z[y]) - z),
}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("name", BESIDE_OTHERS)
def test_a_small_distance_of_large_logits_stays_exact_beside_others(name):
    """Logits are 2^30, and two of them 64 less: these are numbers of float32,
    their sums with u are not.
    """

    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int], u: lt.Vocab[float], s: lt.Scalar):
        log_p = lt.log_softmax(BESIDE_OTHERS[name](z, y, u, s))
        return lt.Outputs(entropy=-lt.sum(lt.exp(log_p) * log_p), entry=log_p[y])

    rng = np.random.default_rng(0)
    columns = np.full((VOCAB, 1), 2.0**30)
    columns[:2] -= 64
    given = {"z": (np.ones((TOKENS, 1), np.float32), columns.astype(np.float32)),
             "y": rng.integers(2, VOCAB, TOKENS), "s": np.float32(0.9),
             "u": rng.normal(size=VOCAB).astype(np.float32)}  # fmt: skip
    head = jit(loss)
    hidden, weight = (moved(item, head.options.backend) for item in given["z"])
    found = head(hidden, weight, **{name: moved(given[name], head.options.backend) for name in "yus"})
    exact = head.reference(*given["z"], **{name: given[name] for name in "yus"})
    for name in ("entropy", "entry"):
        np.testing.assert_allclose(brought_back(getattr(found, name)), getattr(exact, name), rtol=1e-5)


@lt.loss
def of_multiples(z: lt.Logits):
    x = lt.square(z / 0.37)
    log_p = lt.log_softmax(x)
    return lt.Outputs(loss=-lt.sum(lt.exp(log_p) * log_p), above=lt.logsumexp(x) - lt.max(x))


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [2.0**10, 2.0**20, 2.0**30], ids=str)
def test_logarithms_stay_beside_maxima_that_are_multiples(scale):
    """The rounding error of a product is far larger than the logarithm, and cancels."""
    logits = np.array([[1, 1, -1], [1, -1, 0], [3, 1, 1], [1, 3, -3], [3, 3, 3]], np.float32) * scale
    head = jit(of_multiples, reduction="none")
    operands = [moved(item, head.options.backend) for item in (logits, np.eye(3, dtype=np.float32))]
    up = moved(np.ones(5, np.float32), head.options.backend)
    out, gradients = head.value_and_grad(*operands, wrt=("hidden",), grad_output={"loss": up})
    for name in ("loss", "above"):
        np.testing.assert_allclose(brought_back(getattr(out, name)), np.log([3, 2, 1, 2, 3]), rtol=1e-6)
    assert (brought_back(gradients["hidden"]) == 0).all()


@lt.loss
def entropy_of_weighted_logsumexp(z: lt.Logits, w: lt.Vocab[float]):
    log_p = lt.log_softmax(lt.logsumexp(z) * w + lt.log(w))
    return -lt.sum(lt.exp(log_p) * log_p)


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e9], ids=str)
def test_entropies_of_multiples_of_a_logsumexp(scale):
    """Vocabulary inputs times a logsumexp are as large as logits: one entry takes all."""
    rng = np.random.default_rng(0)
    logits = np.abs(rng.normal(size=(16, 5))).astype(np.float32) * np.float32(scale)
    head = jit(entropy_of_weighted_logsumexp, reduction="none")
    given = (logits, np.eye(5, dtype=np.float32), np.array([0.5, 1.5, 1.1, 0.3, 0.9], np.float32))
    hidden, weight, w = (moved(item, head.options.backend) for item in given)
    up = moved(np.ones(16, np.float32), head.options.backend)
    value, gradients = head.value_and_grad(hidden, weight, w=w, wrt=("hidden",), grad_output=up)
    assert (brought_back(value) == 0).all()
    assert (brought_back(gradients["hidden"]) == 0).all()
