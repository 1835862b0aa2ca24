"""One expression has one value, wherever it is made.

A logsumexp, a maximum, a pick and a comparison of the same expression see the same rounded numbers.
So a logarithm of a probability is never above 0, a value equals its own maximum, and a softmax of
one entry is 1.
"""

import logitile as lt
import numpy as np
import pytest
from backends import brought_back, jit, moved

pytestmark = pytest.mark.emulated
TOKENS, VOCAB, HIDDEN = 40, 50, 8
ONES = np.ones(TOKENS, np.float32)
COMPUTED = {
    "bias": lambda z, u, v, s: z + u,
    "two vectors": lambda z, u, v, s: z + u + v,
    "scale": lambda z, u, v, s: z * s,
    "temperature": lambda z, u, v, s: z / s,
    "scaled bias": lambda z, u, v, s: 0.37 * (z / s + u) + 1.3,
    "square": lambda z, u, v, s: z * z * s,
    "scale of entries": lambda z, u, v, s: z * u - v * s,
    "softcap": lambda z, u, v, s: 30.0 * lt.tanh((z + u) / 30.0),
    "normalised": lambda z, u, v, s: lt.log_softmax(z + u),
    "probability": lambda z, u, v, s: lt.softmax(z * s + u),
    "centred": lambda z, u, v, s: (z - u * s) + v - lt.mean((z - u * s) + v),
    "scaled distance from the mean": lambda z, u, v, s: (z + u - lt.mean(z + u)) * 0.7,
    "root": lambda z, u, v, s: lt.sqrt(1.0 + lt.square(z - lt.logsumexp(v))),
    "token": lambda z, u, v, s: z + v - lt.max(z),
    "masked": lambda z, u, v, s: lt.where(u > 0, z * s, -float("inf")),
    "less a part": lambda z, u, v, s: z - z * s,
    "scaled sum": lambda z, u, v, s: (z + u) * s + v,
    "cube": lambda z, u, v, s: z * z * z,
    "one entry apart": lambda z, u, v, s: lt.where(lt.column() == 0, u, z * 0.1) / s,
    "two probabilities": lambda z, u, v, s: lt.softmax(z) * lt.softmax(z * u),
    "scaled probability": lambda z, u, v, s: 0.3 * lt.softmax(z * s),
}


def computed(of):
    """Facts that hold for every x, as numbers of a token."""

    @lt.loss
    def loss(
        z: lt.Logits, y: lt.Token[int], u: lt.Vocab[float], v: lt.Vocab[float], s: lt.Scalar, *, of: int = of
    ):
        x = list(COMPUTED.values())[of](z, u, v, s)
        p, log_p, best = lt.softmax(x), lt.log_softmax(x), lt.max(x)
        return lt.Outputs(
            above=lt.logsumexp(x) - best,
            log_p=log_p[y],
            p=p[y],
            rest=(1.0 - p[y]) ** 1.5,
            largest=lt.count(x >= best),
            equal=lt.count(x - best == 0.0),
            rank=lt.count(p >= p[y]) - lt.count(p > p[y]),
            ties=lt.count(x == x[y]),
            sure=lt.count(log_p >= lt.max(log_p)),
            size=lt.max(p),
            compared=lt.count(x - x[y] <= 0.0) + lt.count(x - x[y] > 0.0) + lt.count(lt.isnan(x - x[y])),
            at_best=lt.count(x == x[lt.argmax(x)]),
            others=u[y] * v[y] * s,
        )

    return loss


def inputs(scale, seed=3):
    rng = np.random.default_rng(seed)
    hidden, weight = rng.normal(size=(TOKENS, HIDDEN)), rng.normal(size=(VOCAB, HIDDEN)) * scale
    numbers = {"u": rng.normal(size=VOCAB), "v": rng.normal(size=VOCAB)}
    arrays = {name: x.astype(np.float32) for name, x in numbers.items()}
    arrays["u"][0] = 1.0  # not all are masked
    return {
        "z": (hidden.astype(np.float32), weight.astype(np.float32)),
        "y": rng.integers(0, VOCAB, TOKENS),
        "s": np.float32(0.73),
        **arrays,
    }


def run(head, given):
    here = {name: moved(item, head.options.backend) for name, item in given.items()}
    return {name: brought_back(value) for name, value in head(**here)._asdict().items()}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e5, 1e9], ids=str)
@pytest.mark.parametrize("of", range(len(COMPUTED)), ids=list(COMPUTED))
def test_an_expression_agrees_with_its_own_maximum_and_pick(of, scale):
    out = run(jit(computed(of)), inputs(scale))
    assert out["above"].min() >= 0 and np.isfinite(out["above"]).all()
    assert out["log_p"].max() <= 0 and not np.isnan(out["log_p"]).any()
    assert out["p"].min() >= 0 and out["p"].max() <= 1
    assert not np.isnan(out["rest"]).any()
    assert out["size"].max() <= 1
    for name in ("largest", "equal", "sure", "rank", "ties", "at_best"):
        assert out[name].min() >= 1, name
    assert (out["compared"] == VOCAB).all()


def at_selected_entries(of):
    """Counts of entries that equal the one at a per-token index: at least 1 each."""

    @lt.loss
    def loss(
        z: lt.Logits, y: lt.Token[int], u: lt.Vocab[float], v: lt.Vocab[float], s: lt.Scalar, *, of: int = of
    ):
        x = list(COMPUTED.values())[of](z, u, v, s)
        p, log_p = lt.softmax(x), lt.log_softmax(x)
        best = lt.where(y > 20, y, lt.argmax(z))
        either = lt.where(y > 20, lt.argmin(u), lt.argmax(log_p))
        return lt.Outputs(
            value=lt.count(x == x[best]),
            log_p=lt.count(log_p == log_p[either]),
            p=lt.count(p == p[best]),
            either=lt.count(p == p[either]),
            scaled=lt.count(0.3 * p == (0.3 * p)[best]),
            power=lt.count(lt.exp2(log_p) == lt.exp2(log_p)[best]),
            product=lt.count(p * lt.softmax(z) == (p * lt.softmax(z))[either]),
            masked=lt.count(p == p[lt.argmax(lt.log_softmax(lt.where(u > v, x, -float("inf"))))]),
            others=u[y] * v[y] * s,
        )

    return loss


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("of", range(len(COMPUTED)), ids=list(COMPUTED))
def test_an_entry_at_a_selected_index_has_the_bits_of_the_others(of):
    counts = run(jit(at_selected_entries(of)), inputs(1.0))
    del counts["others"]
    for name, count in counts.items():
        assert count.min() >= 1, name


@pytest.mark.parametrize("of", range(3), ids=list(COMPUTED)[:3])
def test_without_ties_one_entry_is_the_largest(of):
    out = run(jit(computed(of)), inputs(1.0))
    for name in ("largest", "equal", "rank", "ties"):
        assert (out[name] == 1).all(), name


@lt.loss
def relative(z: lt.Logits, y: lt.Token[int], n: lt.Token[float], b: lt.Token[float]):
    best = (z - lt.max(z)) * n
    return lt.Outputs(
        best=lt.logsumexp(best),
        again=lt.logsumexp(best * n),
        size=lt.sum(lt.exp(best)),
        entry=lt.logsumexp((z - z[y]) * n) - lt.max((z - z[y]) * n),
        both=lt.logsumexp((z + (b - lt.max(z))) * n) - lt.max((z + (b - lt.max(z))) * n),
        least=lt.logsumexp((lt.min(z) - z) * n),
        listed=lt.topk((z - lt.max(z)) * 0.37, 1)[0],
    )


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e2, 1e5, 1e9], ids=str)
def test_scaled_distances_from_an_entry_are_zero_at_it(scale):
    """For sure tokens results are exactly 0 or 1. Any other rounding of the entry would show."""
    rng = np.random.default_rng(1)
    given = {name: item for name, item in inputs(scale).items() if name in ("z", "y")}
    numbers = {"n": 100 + 50 * rng.random(TOKENS), "b": 0.01 * rng.random(TOKENS)}
    out = run(jit(relative), given | {name: x.astype(np.float32) for name, x in numbers.items()})
    for name in ("best", "again", "size", "entry", "both", "least", "listed"):
        exact = int(name == "size")
        assert (out[name] >= exact).all(), name
        assert (out[name] == exact).mean() > 0.5, name


@lt.loss
def of_one_entry(z: lt.Logits, u: lt.Vocab[float], s: lt.Scalar):
    return lt.Outputs(
        square=lt.log_softmax(z * z)[0],
        shifted=lt.log_softmax(lt.square(z - z * s))[0],
        scaled=lt.softmax(z * s + u)[0],
        biased=lt.logsumexp(z + u) - (z + u)[0],
        sum_scaled=lt.sum(lt.log_softmax(z * s)),
        sum_shifted=lt.sum(lt.log_softmax(s + z * z)),
        sum_parts=lt.sum(lt.log_softmax(z * u + z * z)),
        sum_power=lt.sum(lt.log_softmax(lt.square(lt.square(z)))),
    )


@pytest.mark.contract("5 one value")
def test_a_softmax_of_one_entry_is_one():
    rng = np.random.default_rng(0)
    pair = (100 * rng.normal(size=(64, 8)).astype(np.float32), rng.normal(size=(1, 8)).astype(np.float32))
    out = run(jit(of_one_entry), {"z": pair, "u": np.float32([0.1]), "s": np.float32(0.3)})
    assert (out["scaled"] == 1).all()
    for name in ("square", "shifted", "biased", "sum_scaled", "sum_shifted", "sum_parts", "sum_power"):
        assert (out[name] == 0).all(), name


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("of", range(len(COMPUTED)), ids=list(COMPUTED))
def test_the_sum_of_one_entry_is_that_entry(of):
    @lt.loss
    def loss(z: lt.Logits, u: lt.Vocab[float], v: lt.Vocab[float], s: lt.Scalar):
        x = list(COMPUTED.values())[of](z, u, v, s)
        used = 0.0 * (lt.sum(u) + lt.sum(v) + s)
        return lt.Outputs(
            total=lt.sum(x) - x[0] + used,
            mean=lt.mean(x) - lt.max(x),
            centred=lt.logsumexp(x - lt.mean(x)),
            threefold=lt.logsumexp(3.0 * (x - lt.mean(x))),
            variance=lt.mean(lt.square(x - lt.mean(x))),
        )

    given = inputs(1e3)
    hidden, weight = given["z"]
    one = {"z": (hidden, weight[:1]), "u": np.float32([0.3]), "v": np.float32([-1.7]), "s": given["s"]}
    for name, found in run(jit(loss), one).items():
        assert (found == 0).all(), name


@lt.loss
def infinite(z: lt.Logits, a: lt.Token[float]):
    x = z + a
    return lt.Outputs(
        pick=lt.log_softmax(x)[0], sum=lt.sum(lt.log_softmax(x)), p=lt.sum(lt.exp(lt.log_softmax(x)) * z)
    )


def test_an_infinite_addend_does_not_cancel():
    """It leaves NaN, as in torch."""
    given = inputs(1.0)
    a = np.where(np.arange(TOKENS) % 2, np.inf, 0.5).astype(np.float32)
    out = run(jit(infinite), {"z": given["z"], "a": a})
    for name, value in out.items():
        assert np.isnan(value[1::2]).all() and np.isfinite(value[::2]).all(), name


@lt.loss
def nothing_left(z: lt.Logits, q: lt.Dense[bool]):
    p = lt.softmax(lt.where(q, z, -float("inf")))
    return lt.Outputs(
        numbers=lt.count(lt.sqrt(p) >= 0.0), powers=lt.count(p**1.5 >= 0.0), sum=lt.sum(p**0.5), p=p[0]
    )


def test_powers_of_a_softmax_of_masked_entries_alone_are_nan():
    q = np.ones((TOKENS, VOCAB), bool)
    q[1::2] = False
    out = run(jit(nothing_left), {"z": inputs(1.0)["z"], "q": q})
    assert (out["numbers"] == np.where(np.arange(TOKENS) % 2, 0, VOCAB)).all()
    assert (out["powers"] == out["numbers"]).all()
    for name in ("sum", "p"):
        assert np.isnan(out[name][1::2]).all() and np.isfinite(out[name][::2]).all(), name


@pytest.mark.parametrize("of", range(len(COMPUTED)), ids=list(COMPUTED))
def test_entropies_of_sure_tokens(of):
    """Without a tie, the largest of logits of 1e9 has the probability 1: there is no entropy."""

    @lt.loss
    def loss(z: lt.Logits, u: lt.Vocab[float], v: lt.Vocab[float], s: lt.Scalar, *, of: int = of):
        x = list(COMPUTED.values())[of](z, u, v, s)
        log_p = lt.log_softmax(x)
        return lt.Outputs(
            loss=-lt.sum(lt.exp(log_p) * log_p),
            bounded=lt.max(x) - lt.min(x) < 100.0,
            tie=lt.count(x == lt.max(x)) > 1,
            others=lt.stop_gradient(u[0] + v[0] * s),
        )

    given = inputs(1e9)
    del given["y"]
    head = jit(loss, reduction="none")
    here = {name: moved(item, head.options.backend) for name, item in given.items()}
    out, gradients = head.value_and_grad(
        **here, wrt=("hidden",), grad_output={"loss": moved(ONES, head.options.backend)}
    )
    entropy, sure = brought_back(out.loss), ~(brought_back(out.bounded) | brought_back(out.tie))
    assert entropy.min() >= 0 and entropy.max() <= np.log(VOCAB) + 1e-5
    assert not entropy[sure].any()
    assert not brought_back(gradients["hidden"])[sure].any()


@lt.loss
def largest_of_equals(z: lt.Logits):
    distance = lt.log2(lt.to_float(lt.column()) + 0.01)
    return lt.max(lt.where(distance - lt.max(distance) == 0.0, z, -1e9))


def test_a_gradient_flows_where_the_value_came_from():
    """Its condition is the same comparison as that of the value, with all digits of its numbers."""
    z = inputs(1.0)["z"]
    head = jit(largest_of_equals, reduction="none")
    here = head.options.backend
    value, gradients = head.value_and_grad(
        *(moved(item, here) for item in z), wrt=("hidden",), grad_output=moved(ONES, here)
    )
    last = z[1][-1]
    assert np.allclose(brought_back(value), z[0] @ last, rtol=1e-4, atol=1e-4)
    assert np.allclose(brought_back(gradients["hidden"]), np.broadcast_to(last, z[0].shape), rtol=1e-6)


@lt.loss
def two_probabilities(z: lt.Logits, s: lt.Scalar):
    return lt.sum(lt.softmax(z * s) * lt.softmax(z))


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9, 1e11, 1e13], ids=str)
def test_products_of_probabilities_are_right_or_nan(scale):
    """Their exponents are added, and so may be beyond what float32 holds."""
    given = inputs(1.0)
    head = jit(two_probabilities, reduction="none")
    hidden, weight = (moved(item, head.options.backend) for item in given["z"])
    found = brought_back(head(hidden, weight, s=np.float32(scale)))
    logits = given["z"][0].astype(np.float64) @ given["z"][1].astype(np.float64).T
    sure = np.exp(logits.max(1) - np.log(np.exp(logits).sum(1)))  # the other softmax has one entry
    is_sure = np.diff(np.sort(logits, 1)[:, -2:])[:, 0] * scale > 30
    right = np.isclose(found, sure, rtol=1e-3 + 2.0**-46 * scale * 100) | ~is_sure
    assert right[~np.isnan(found)].all()
    assert not np.isnan(found).any() or scale > 2.0**29 / 100


@lt.loss
def distances_from_the_largest(z: lt.Logits, s: lt.Scalar, u: lt.Vocab[float]):
    x = z * s + u
    return lt.Outputs(
        plain=lt.logsumexp(z) - lt.max(z),
        computed=lt.logsumexp(x) - lt.max(x),
        entry=lt.logsumexp(z / s) - (z / s)[0],
        log_p=-lt.log_softmax(x)[0],
    )


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e4, 1e11, 1e20, 1e30], ids=str)
def test_a_logsumexp_of_large_numbers_keeps_its_logarithm(scale):
    """For three equal largest entries it is log 3, where float64 loses that beside the maximum."""
    weight = np.repeat(np.float32([1.0, 0.5]), [3, VOCAB - 3])[:, None]
    hidden = np.linspace(scale, 2 * scale, TOKENS, dtype=np.float32)[:, None]
    given = {"z": (hidden, weight), "s": np.float32(0.37), "u": np.zeros(VOCAB, np.float32)}
    for name, value in run(jit(distances_from_the_largest), given).items():
        np.testing.assert_allclose(value, np.log(3), rtol=1e-6, err_msg=name)


@lt.loss
def beside_what_cancels(z: lt.Logits, w: lt.Vocab[float]):
    return lt.sum(lt.softmax(z * w / 3.0) * lt.log_softmax(lt.softmax(w)))


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6], ids=str)
def test_products_of_probabilities_lose_nothing_to_large_exponents(scale):
    """With one entry of the vocabulary both factors are known: 1,
    and 0 as the difference of two ones.
    """
    rng = np.random.default_rng(7)
    hidden, weight, w = (rng.normal(size=size) for size in ((TOKENS, 1), (1, 1), 1))
    head = jit(beside_what_cancels, reduction="none")
    here = [moved(item.astype(np.float32), head.options.backend) for item in (scale * hidden, weight, w)]
    value, gradients = head.value_and_grad(
        *here[:2], w=here[2], wrt=("hidden", "w"), grad_output=moved(ONES, head.options.backend)
    )
    assert np.abs(brought_back(value)).max() <= 1e-6
    assert np.abs(brought_back(gradients["hidden"])).max() <= 2.0**-20
    assert np.abs(brought_back(gradients["w"])).max() <= 2.0**-20 * TOKENS * scale


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e9, 1e20], ids=str)
def test_cross_entropy_of_sure_tokens_is_zero(scale):
    """With a temperature or a bias, at any size of logits: never below 0, never infinite."""
    given = inputs(scale)
    hidden, weight = given["z"]
    target = (hidden.astype(np.float64) @ weight.astype(np.float64).T).argmax(1)
    head = jit(lt.losses.cross_entropy, reduction="none")
    here = head.options.backend
    operands = [moved(hidden, here), moved(weight, here)]
    for options in ({"temperature": np.float32(0.37)}, {"bias": given["u"]}):
        numbers = {name: moved(item, here) for name, item in options.items()}
        loss = brought_back(head(*operands, target=moved(target, here), **numbers))
        assert loss.min() >= 0 and loss.max() <= 1e-3, options


FOLDED = {  # expressions of which one entry, y, 0 or 5, needs fewer inputs, or is partly constant
    "product with the column": lambda z, y, u: 0.01 * lt.to_float(lt.column()) * lt.exp(lt.minimum(z, 1.0)),
    "of the vocabulary": lambda z, y, u: 0.01 * lt.to_float(lt.column()) * lt.exp(u),
    "column over an exponential": lambda z, y, u: lt.to_float(lt.column()) / lt.exp(lt.tanh(u + z)),
    "distance from the target": lambda z, y, u: lt.abs(lt.to_float(lt.column() - y)) * lt.sigmoid(z + u),
    "sum": lambda z, y, u: lt.to_float(lt.column() - y) * lt.sigmoid(u) + z,
    "branch": lambda z, y, u: lt.where(lt.column() == y, 0.5, lt.exp(z)) * 0.3,
    "square of a mean": lambda z, y, u: lt.square(lt.where(lt.column() <= 4, u, -lt.mean(z))),
    "part of columns alone": lambda z, y, u: lt.square(lt.to_float(lt.column()) * 0.1) / (1.0 + lt.exp(u)),
}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("name", FOLDED)
def test_an_entry_that_needs_fewer_inputs_has_the_bits_of_the_others(name):
    """Simplification makes such an entry a number, or drops a part of it;
    the sweep computes all of it.
    """

    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int], u: lt.Vocab[float]):
        x = FOLDED[name](z, y, u)
        p, log_p = lt.softmax(x), lt.log_softmax(x)

        def own(values, index):
            return lt.count((lt.column() == index) & (values == values[index]))

        return lt.Outputs(
            p=own(p, y),
            first_p=own(p, 0),
            log_p=own(log_p, y),
            first_log_p=own(log_p, 0),
            x=own(x, y),
            first_x=own(x, 0),
            fifth_x=own(x, 5),
            least=lt.count(p < lt.min(p)),
            apart=own(p * p + log_p, 0),
            loss=lt.mean(z) + u[y],
        )

    for seed in range(4):
        given = inputs(scale=1.0, seed=seed)
        for field, count in run(jit(loss), {name: given[name] for name in "zyu"}).items():
            if field != "loss":
                assert (count == (field != "least")).all(), (field, seed)


DISTANCES = {  # from the entry y, times a factor: at y itself each is 0
    "threefold": lambda z, y, u, s: (u - u[y]) * 3.0,
    "negative": lambda z, y, u, s: (z - z[y]) * -0.3,
    "to the entry": lambda z, y, u, s: (z[y] - z) * 3.0,
    "divided": lambda z, y, u, s: (u - u[y]) / 0.7,
    "positive": lambda z, y, u, s: (z - z[y]) * lt.exp(s),
    "of unknown sign": lambda z, y, u, s: (z - z[y]) * s,
    "with a bias": lambda z, y, u, s: ((z + u) - (z + u)[y]) / 0.7,
}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1.0, 1e6], ids=str)
@pytest.mark.parametrize("name", DISTANCES)
def test_a_logsumexp_of_one_scaled_distance_is_exact(name, scale):
    """All other entries are masked, so the result is that of y: 0,
    without the rounding of a product.
    """

    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int], u: lt.Vocab[float], s: lt.Scalar):
        x = lt.where(lt.column() == y, DISTANCES[name](z, y, u, s), -float("inf"))
        return lt.Outputs(found=lt.logsumexp(x), used=z[y] + u[y] * s)

    given = inputs(scale)
    given["u"] *= np.float32(scale)
    assert not run(jit(loss), {name: given[name] for name in "zyus"})["found"].any()


@lt.loss
def of_the_last_entry(z: lt.Logits, u: lt.Vocab[float]):
    return lt.Outputs(found=z[0] * lt.logsumexp((u - u[lt.vocab_size() - 1]) * 3.0))


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("number", [0.37, 1.1, -2.3])
def test_a_logsumexp_of_a_single_scaled_distance_is_exact(number):
    hidden, weight = inputs(1e6)["z"]
    given = {"z": (hidden, weight[:1]), "u": np.full(1, number, np.float32)}
    assert not run(jit(of_the_last_entry), given)["found"].any()


@lt.loss
def chosen_means(z: lt.Logits, y: lt.Token[int], t: lt.Logits):
    mean, fixed = lt.mean(z), lt.where(lt.column() <= 7, t, lt.mean(z))
    return lt.Outputs(
        above=lt.count(lt.maximum(z, mean) - mean > 0.0) - lt.count(z > mean),
        below=lt.count(mean - lt.minimum(z, mean) > 0.0) - lt.count(z < mean),
        clamped=lt.count(lt.clamp(z, mean, mean + 1.0) - mean > 0.0) - lt.count(z > mean),
        target=lt.count(-mean + lt.where(lt.column() == y, mean, t) == 0.0) - lt.count(t == mean),
        entry=lt.count(fixed - fixed[9] != 0.0) - 8,
    )


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6], ids=str)
def test_a_value_per_token_cancels_where_it_is_chosen(scale):
    """A mean has a low part. An entry that is the mean has none, and differs from it by 0."""
    given = inputs(scale)
    hidden, weight = given["z"]
    out = run(jit(chosen_means), {"z": given["z"], "y": given["y"], "t": (hidden[:, ::-1].copy(), weight)})
    for name in ("above", "below", "clamped", "entry"):
        assert not out[name].any(), name
    assert (out["target"] == 1).all()


@lt.loss
def masked_distances(z: lt.Logits, y: lt.Token[int], a: lt.Token[float], m: lt.Vocab[bool]):
    i = lt.maximum(y - 1, 0)
    x = lt.where(m, z - z[i], -float("inf")) / (a * a + 1.0)
    return lt.logsumexp(x) - x[i]


def test_an_entry_that_is_known_needs_nothing_of_the_exponents():
    """z - z[i] is 0 at i, where no pass picks z: asking for it there ended the process."""
    given = inputs(1.0)
    a, mask = np.linspace(-1, 1, TOKENS, dtype=np.float32), np.arange(VOCAB) % 3 > 0
    head = jit(masked_distances, reduction="none")
    arguments = {"z": given["z"], "y": given["y"], "a": a, "m": mask}
    here = {name: moved(item, head.options.backend) for name, item in arguments.items()}
    found = brought_back(head(**here))
    np.testing.assert_allclose(found, head.reference(**arguments), rtol=1e-5)


@lt.loss
def listed_probabilities(z: lt.Logits, u: lt.Vocab[float], s: lt.Scalar):
    masked = lt.where(u > 0, z * 0.3, -float("inf"))
    return lt.Outputs(
        third=lt.topk(lt.log_softmax(z / 3.0), 2)[0],
        biased=lt.topk(lt.log_softmax((z + u) / 0.7), 2)[0],
        positive=lt.topk(lt.log_softmax(z * lt.exp(s)), 3)[0],
        scaled=lt.topk(lt.log_softmax(z * s), 2)[0],
        masked=lt.topk(lt.log_softmax(masked), 2)[0],
        own=lt.count(z / 3.0 >= lt.topk(z / 3.0, 1)[0][0]),
    )


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e4, 1e6, 1e9], ids=str)
def test_the_best_of_a_list_of_sure_tokens_is_exact(scale):
    """A list has rounded entries. So does the logsumexp beside it, which its best entry cancels."""
    given = inputs(scale)
    out = run(jit(listed_probabilities), {name: given[name] for name in "zus"})
    for name in ("third", "biased", "positive", "scaled", "masked"):
        best = out[name][:, 0]
        assert (best <= 0).all() and (best == 0).mean() > 0.9, name
    assert (out["own"] >= 1).all()


POWERS = {  # of probabilities: 1 where one entry of the vocabulary has all of it
    "root of a product": lambda z, u, s: lt.sqrt(lt.softmax(u) * lt.softmax(z / 0.01)),
    "root with columns": lambda z, u, s: lt.sqrt(lt.softmax(lt.to_float(lt.column())) * lt.softmax(z * 1e2)),
    "power": lambda z, u, s: lt.softmax(z * s) ** 1.3,
    "opposite factors": lambda z, u, s: lt.sqrt(lt.softmax(z * s) * lt.softmax(z * z * -0.3)),
    "opposite logits": lambda z, u, s: lt.softmax(-3.0 * z + u) ** 0.7,
}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e2, 1e4], ids=str)
@pytest.mark.parametrize("name", POWERS)
def test_powers_of_sure_probabilities_are_one(name, scale):
    @lt.loss
    def loss(z: lt.Logits, u: lt.Vocab[float], s: lt.Scalar):
        return lt.Outputs(found=lt.sum(POWERS[name](z, u, s)), used=z[0] * u[0] * s)

    given = inputs(scale)
    hidden, weight = given["z"]
    one = {"z": (hidden, weight[:1]), "u": given["u"][:1] + np.float32(0.3), "s": given["s"]}
    assert np.abs(run(jit(loss), one)["found"] - 1).max() <= 2.0**-22


@lt.loss
def overlap(z: lt.Logits):
    return lt.sum(lt.sqrt(lt.softmax(z * 0.01) * lt.softmax(-z / 0.01)))


@pytest.mark.contract("5 one value")
def test_a_negative_multiple_is_as_exact_as_a_positive_one():
    """One of two entries has nearly all of the second softmax: most of the gradient cancels."""
    rng = np.random.default_rng(0)
    hidden, weight = (rng.normal(size=(rows, 3)).astype(np.float32) for rows in (TOKENS, 2))
    head = jit(overlap, reduction="none")
    here = [moved(item, head.options.backend) for item in (hidden, weight)]
    up = moved(ONES, head.options.backend)
    loss, gradients = head.value_and_grad(*here, wrt=("hidden",), grad_output=up)
    exact, wanted = head.reference_grad(hidden, weight, wrt=("hidden",), grad_output=ONES)
    np.testing.assert_allclose(brought_back(loss), exact, rtol=1e-6)
    off = np.abs(brought_back(gradients["hidden"]) - wanted["hidden"]).max(1)
    assert (off <= 4e-3 * np.maximum(np.abs(wanted["hidden"]).max(1), 1e-3)).all()


@lt.loss
def divided_and_multiplied(z: lt.Logits):
    log_q = lt.log_softmax(z)
    return lt.sum(lt.exp(lt.log_softmax(lt.square(z)) - log_q) * lt.softmax(z))


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e3, 1e6], ids=str)
def test_a_softmax_that_divides_and_multiplies_leaves_nothing(scale):
    """What is left has the sum 1, at exponents of 1e12 beside which float32
    cannot hold a logsumexp.
    """
    rng = np.random.default_rng(0)
    z = rng.integers(1, 9, (TOKENS, 1)), rng.integers(-8, 9, (VOCAB, 1)) * scale / 8
    head = jit(divided_and_multiplied, reduction="none")
    loss = brought_back(head(*(moved(item.astype(np.float32), head.options.backend) for item in z)))
    np.testing.assert_allclose(loss, 1.0, rtol=1e-5)
