"""Sums over masked values, against float64.

The branch that is not taken may be infinite, and conditions may hold nowhere.
"""

import logitile as lt
import numpy as np
import pytest
from gate import Gates, Sample

pytestmark = pytest.mark.emulated
TOKENS, VOCAB, HIDDEN = 256, 100, 8
INFINITY = float("inf")
CENTRES = {
    "maximum": lambda z, y, v: z - lt.max(z),
    "pick": lambda z, y, v: z - z[y],
    "mean of a vector": lambda z, y, v: z - lt.mean(v),
    "logsumexp": lambda z, y, v: lt.log_softmax(z),
    "scaled": lambda z, y, v: 0.7 * lt.log_softmax(1.3 * z),
}


def sample(loss, wrt, **inputs):
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(VOCAB, HIDDEN)) * 3 / HIDDEN**0.5
    given = {
        "z": (rng.normal(size=(TOKENS, HIDDEN)).astype(np.float32), weight.astype(np.float32)),
        "y": rng.integers(0, VOCAB // 2, TOKENS),
        "v": np.linspace(0.5, 2, VOCAB, dtype=np.float32),
        "m": np.arange(VOCAB) < VOCAB // 2,
    } | inputs
    names = [parameter.name for parameter in loss.signature.inputs]
    cotangent = {"loss": rng.normal(size=TOKENS).astype(np.float32)}
    return Sample(loss, {name: given[name] for name in names}, {"reduction": "none"}, wrt, cotangent)


def check_where_torch_is_not_finite(made):
    """torch multiplies the gradient 0 of the branch that is not taken with infinity."""
    found, wanted = made.run(), made.reference()
    for name in wanted:
        error = np.linalg.norm(found[name].astype(np.float64) - wanted[name]) / np.linalg.norm(wanted[name])
        assert error < 1e-6, name


def test_the_conditions_along_the_vocabulary_reach_every_token():
    """The first sweep reads vocabulary inputs alone."""

    @lt.loss
    def above(z: lt.Logits, v: lt.Vocab[float]):
        return lt.logsumexp(lt.where(v > lt.mean(v), z, -1.0)) + lt.logsumexp(z * lt.softmax(v))

    sample(above, ("hidden", "weight", "v")).check()


@pytest.mark.parametrize("centred", CENTRES.values(), ids=CENTRES)
def test_entropies_and_divergences_of_masked_values(centred):
    @lt.loss
    def masked(z: lt.Logits, y: lt.Token[int], v: lt.Vocab[float], m: lt.Vocab[bool]):
        log_p = lt.log_softmax(lt.where(m, centred(z, y, v), -INFINITY))
        p = lt.exp(log_p)
        return lt.sum(p * log_p) + lt.sum(p * (log_p - lt.log_softmax(z))) + v[y]

    sample(masked, ("hidden", "weight")).check()


@pytest.mark.parametrize("other", [INFINITY, -INFINITY, np.nan], ids=str)
def test_a_number_in_a_branch_that_no_entry_takes(other):
    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float], m: lt.Vocab[bool]):
        return lt.sum(lt.where(m, lt.log_softmax(z), a)) + lt.sum(lt.where(m, z, a * lt.logsumexp(z)))

    made = sample(loss, ("hidden", "weight"), a=np.full(TOKENS, other, np.float32), m=np.ones(VOCAB, bool))
    check_where_torch_is_not_finite(made)


def test_a_factor_of_entries_that_is_infinite_where_no_condition_holds():
    """A quotient of what another sweep finished, pulled out of the sum:
    1 / 0 times a sum of nothing.
    """

    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float], m: lt.Vocab[bool]):
        p = lt.softmax(z)
        return lt.sum(lt.where(m, p * (z / (a * lt.logsumexp(z))), 0.0)) + lt.logsumexp(z)

    made = sample(loss, ("hidden", "weight"), a=np.zeros(TOKENS, np.float32), m=np.zeros(VOCAB, bool))
    check_where_torch_is_not_finite(made)


def test_a_miss_names_the_results_that_torch_is_not_finite_for():
    """They may be as far off as exact results. An infinite error of torch excuses nothing."""

    @lt.loss
    def loss(z: lt.Logits, f: lt.Token[bool], s: lt.Scalar):
        return lt.sum(lt.where(f, lt.exp(z * s), 0.0)) + lt.logsumexp(z)

    made = sample(loss, ("hidden", "weight"), f=np.zeros(TOKENS, bool), s=np.float32(1e3))
    wanted = made.reference()
    gates, name = Gates(made, wanted), "grad z.hidden"
    gates.check(wanted | {name: wanted[name] * (1 + 3.9 * made.unit)}, "")
    beyond = r"not finite for 2 of them: grad z\.hidden, grad z\.weight"
    with pytest.raises(AssertionError, match=rf"{name} misses the gate 1\.\d+ times; torch is {beyond}"):
        gates.check(wanted | {name: wanted[name] * (1 + 4.1 * made.unit)}, "")


def test_a_sum_that_overflows_in_a_branch_of_other_tokens():
    @lt.loss
    def loss(z: lt.Logits, f: lt.Token[bool], s: lt.Scalar):
        return lt.sum(lt.where(f, lt.exp(z * s), 0.0)) + lt.logsumexp(z)

    made = sample(loss, ("hidden", "weight"), f=np.zeros(TOKENS, bool), s=np.float32(1e3))
    check_where_torch_is_not_finite(made)
