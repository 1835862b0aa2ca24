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
