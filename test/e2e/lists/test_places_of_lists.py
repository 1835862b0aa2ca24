"""Places of lists of computed values, and lists whose values depend on other lists,
beside the reference.
"""

import backends
import logitile as lt
import numpy as np
import pytest

pytestmark = pytest.mark.emulated

TOKENS, HIDDEN, VOCAB = 9, 12, 150
MASKED = -float("inf")

# What a list is made of: a part of the logits,
# and something that is the same for all entries of a token.
COMPUTED = {
    "bias": lambda z, b, n: lt.log_softmax(z + b),
    "quotient": lambda z, b, n: lt.log_softmax(z / n),
    "positive quotient": lambda z, b, n: lt.log_softmax(z / lt.exp(n)),
    "positive scale": lambda z, b, n: z * lt.exp(n) - lt.max(z),
    "scaled": lambda z, b, n: z * 0.7 + n,
    "constant": lambda z, b, n: lt.log_softmax(z * 0.7),
    "opposite": lambda z, b, n: lt.log_softmax(-z),
    "product": lambda z, b, n: lt.log_softmax(z * n + b),
    "addend": lambda z, b, n: z * n + b + n,
    "tanh": lambda z, b, n: lt.log_softmax(30 * lt.tanh(z / 30)),
    "mask": lambda z, b, n: lt.log_softmax(lt.where(b > 0, z, -1e9)),
    "centred": lambda z, b, n: lt.tanh(z) - lt.mean(lt.tanh(z)),
}


def place_of(make):
    @lt.loss
    def place(z: lt.Logits, b: lt.Vocab[float], n: lt.Token[float]):
        values, _ = lt.topk(make(z, b, n), 5)
        return values[0] - values[3] * n + lt.logsumexp(z + b)

    return place


def entry_of(make):
    @lt.loss
    def entry(z: lt.Logits, b: lt.Vocab[float], n: lt.Token[float]):
        x = make(z, b, n)
        values, indices = lt.topk(x, 5)
        loss = x[indices[1]] * n + lt.logsumexp(z + b)
        return lt.Outputs(loss=loss, count=lt.count(x >= values[4]), indices=indices)

    return entry


@lt.loss
def distances(z: lt.Logits):
    values, _ = lt.topk(z, 3)
    others, _ = lt.topk(lt.abs(z - values[2]), 4)
    return lt.Outputs(loss=values[0], others=others)


@lt.loss
def without_the_best(z: lt.Logits):
    values, indices = lt.topk(z, 3)
    others, where = lt.topk(lt.where(lt.column() == indices[0], MASKED, z), 4)
    return lt.Outputs(loss=values[0], others=others, where=where)


@lt.loss
def renormalised(z: lt.Logits):
    values, _ = lt.topk(z, 7)
    probabilities, indices = lt.topk(lt.softmax(lt.where(z >= values[6], z, MASKED)), 4)
    return lt.Outputs(loss=values[1], probabilities=probabilities, indices=indices)


@lt.loss
def a_list_within_a_list(z: lt.Logits):
    first, _ = lt.topk(lt.abs(z), 4)
    second, _ = lt.topk(lt.tanh(z - first[1]), 3)
    third, where = lt.topk(lt.sin(z - second[2]), 3)
    return lt.Outputs(loss=third[1], third=third, where=where)


def check(loss, **inputs):
    rng = np.random.default_rng(3)
    hidden, weight = ((0.5 * rng.normal(size=(n, HIDDEN))).astype(np.float32) for n in (TOKENS, VOCAB))
    head = backends.jit(loss, reduction="none")
    found, reference = head(hidden, weight, **inputs), head.reference(hidden, weight, **inputs)
    for name in getattr(found, "_fields", [None]):
        pair = [x if name is None else getattr(x, name) for x in (found, reference)]
        np.testing.assert_allclose(*pair, rtol=2e-5, atol=2e-5, err_msg=str(name))


@pytest.mark.parametrize("kind", [place_of, entry_of])
@pytest.mark.parametrize("make", COMPUTED)
def test_places_of_lists_of_computed_values(make, kind):
    rng = np.random.default_rng(4)
    b, n = rng.normal(size=VOCAB).astype(np.float32), rng.uniform(0.5, 2, size=TOKENS).astype(np.float32)
    check(kind(COMPUTED[make]), b=b, n=n)


@pytest.mark.parametrize("loss", [distances, without_the_best, renormalised, a_list_within_a_list],
                         ids=lambda loss: loss.name)  # fmt: skip
def test_lists_of_values_that_depend_on_another_list(loss):
    check(loss)
