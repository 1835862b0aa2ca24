"""Entries drawn by lt.losses.sample: how often each comes, with which log-probability,
and which never do.

Seeds are fixed, so a test finds the same numbers every time. Limits are far out:
five standard deviations.
"""

import logitile as lt
import numpy as np
import pytest
from inputs import arguments

TOKENS, VOCAB = 20000, 24
RNG = np.random.default_rng(5)
LOGITS = (2 * RNG.normal(size=VOCAB)).astype(np.float32)
DRAW = lt.jit(lt.losses.sample)


def drawn(seed=0, logits=LOGITS, tokens=TOKENS, **inputs):
    """Entries drawn for tokens that all have the same logits."""
    hidden = np.ones((tokens, 1), np.float32)
    return DRAW(hidden, logits[:, None], seed=seed, **inputs)


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


def check_counts(counts, probabilities):
    """Pearson's chi-squared statistic: its mean is the degrees of freedom,
    its variance is twice that.

    The rarest entries count together, as many as it takes to expect five of them.
    """
    expected = probabilities * counts.sum()
    assert (counts[expected == 0] == 0).all()
    order = np.argsort(expected)
    first = np.searchsorted(np.cumsum(expected[order]), 5)
    starts = np.concatenate([[0], np.arange(first + 1, len(order))])
    counts, expected = (np.add.reduceat(values[order], starts) for values in (counts, expected))
    statistic, freedom = ((counts - expected) ** 2 / expected).sum(), len(counts) - 1
    assert statistic <= freedom + 5 * np.sqrt(2 * freedom), (statistic, freedom)


def test_the_statistic_finds_a_wrong_distribution():
    p = softmax(LOGITS.astype(float))
    counts = RNG.multinomial(TOKENS, p)
    check_counts(counts, p)
    with pytest.raises(AssertionError):
        check_counts(counts, softmax(1.05 * LOGITS.astype(float)))


@pytest.mark.parametrize("temperature", [None, 0.5, 1, 3.0])
def test_entries_come_with_their_probability(temperature):
    found = drawn(**({} if temperature is None else {"temperature": temperature}))
    p = softmax(LOGITS.astype(float) / (temperature or 1))
    check_counts(np.bincount(found.index, minlength=VOCAB), p)
    raw = np.log(softmax(LOGITS.astype(float)))
    np.testing.assert_allclose(found.logprob, raw[found.index], rtol=1e-5)
    np.testing.assert_allclose(found.processed_logprob, np.log(p)[found.index], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("temperature", [None, 2.0])
@pytest.mark.parametrize("min_p", [0.0, 0.125, 1.0])
def test_entries_that_are_not_likely_enough_are_not_drawn(temperature, min_p):
    more = {} if temperature is None else {"temperature": temperature}
    found = drawn(min_p=min_p, **more)
    p = softmax(LOGITS.astype(float) / (temperature or 1))
    p = np.where(p >= min_p * p.max(), p, 0)
    p /= p.sum()
    check_counts(np.bincount(found.index, minlength=VOCAB), p)
    raw = np.log(softmax(LOGITS.astype(float)))
    np.testing.assert_allclose(found.logprob, raw[found.index], rtol=1e-5)
    np.testing.assert_allclose(found.processed_logprob, np.log(p[found.index]), rtol=1e-5, atol=1e-6)


def allowed(z, top_k=0, min_p=0.0):
    """The distribution of what both masks allow."""
    p = softmax(z)
    least = np.sort(z)[-top_k] if top_k else -np.inf
    p = np.where((p >= min_p * p.max()) & (z >= least), p, 0)
    return p / p.sum()


@pytest.mark.parametrize("more", [{}, {"temperature": 2.0}, {"temperature": 3.0, "min_p": 0.125}])
@pytest.mark.parametrize("top_k", [1, 5, VOCAB])
def test_only_the_largest_entries_are_drawn(top_k, more):
    head = lt.jit(lt.losses.sample, top_k=top_k)
    found = head(np.ones((TOKENS, 1), np.float32), LOGITS[:, None], seed=3, **more)
    p = allowed(LOGITS.astype(float) / more.get("temperature", 1), top_k, more.get("min_p", 0.0))
    check_counts(np.bincount(found.index, minlength=VOCAB), p)
    raw = np.log(softmax(LOGITS.astype(float)))
    np.testing.assert_allclose(found.logprob, raw[found.index], rtol=1e-5)
    np.testing.assert_allclose(found.processed_logprob, np.log(p[found.index]), rtol=1e-5, atol=1e-6)


def test_entries_that_equal_the_last_of_the_largest_are_drawn_too():
    logits = np.array([0, 1, 2, 1, -1, 1], np.float32)
    found = lt.jit(lt.losses.sample, top_k=2)(np.ones((TOKENS, 1), np.float32), logits[:, None], seed=1)
    p = allowed(logits.astype(float), 2)
    assert (p > 0).sum() == 4
    check_counts(np.bincount(found.index, minlength=6), p)


def test_top_k_and_a_bias():
    bias = np.linspace(-2, 2, VOCAB).astype(np.float32)
    bias[np.argmax(LOGITS)] = -np.inf
    hidden = np.ones((TOKENS, 1), np.float32)
    found = lt.jit(lt.losses.sample, top_k=4)(hidden, LOGITS[:, None], seed=1, bias=bias)
    check_counts(np.bincount(found.index, minlength=VOCAB), allowed((LOGITS + bias).astype(float), 4))


@pytest.mark.parametrize(("constant", "error"), [
    ({"top_k": -1}, "top_k=-1 must be from 0 to 1024"),
    ({"top_k": 1025}, "top_k=1025 must be from 0 to 1024"),
    ({"top_k": 2.0}, "top_k=2.0 must be an int that is known while the loss is traced"),
    ({"candidates": 0}, "candidates=0 must be from 1 to 1024"),
    ({"candidates": 1025}, "candidates=1025 must be from 1 to 1024"),
    ({"candidates": 2.0}, "candidates=2.0 must be an int that is known while the loss is traced"),
])  # fmt: skip
def test_top_k_and_candidates_are_integers_that_are_compiled_in(constant, error):
    with pytest.raises((lt.CallValueError, lt.CallTypeError)) as caught:
        lt.jit(lt.losses.sample, **constant)(**arguments(lt.losses.sample))
    assert error in str(caught.value)


def test_a_bias_of_minus_infinity_excludes_an_entry():
    bias = np.zeros(VOCAB, np.float32)
    bias[np.argsort(LOGITS)[-3:]] = -np.inf
    found = drawn(bias=bias)
    p = softmax((LOGITS + bias).astype(float))
    check_counts(np.bincount(found.index, minlength=VOCAB), p)
    np.testing.assert_allclose(found.processed_logprob, np.log(p[found.index]), rtol=1e-5)


def test_every_token_has_its_own_temperature_and_min_p():
    temperature = np.where(np.arange(TOKENS) % 2, 0.5, 3.0).astype(np.float32)
    min_p = np.where(np.arange(TOKENS) % 4 < 2, 0.0, 0.25).astype(np.float32)
    index = drawn(temperature=temperature, min_p=min_p).index
    for t in (0.5, 3.0):
        for least in (0.0, 0.25):
            p = softmax(LOGITS.astype(float) / t)
            p = np.where(p >= least * p.max(), p, 0)
            mine = index[(temperature == np.float32(t)) & (min_p == np.float32(least))]
            check_counts(np.bincount(mine, minlength=VOCAB), p / p.sum())


def test_draws_of_other_seeds_and_tokens_are_independent():
    """Pairs of draws fill a table as a product of distributions does."""
    one, other = drawn(seed=1).index, drawn(seed=2).index
    p = softmax(LOGITS.astype(float))
    common = p > 0.02
    pairs = (one, other), (one[1:], one[:-1])
    for a, b in pairs:
        table = np.zeros((VOCAB, VOCAB))
        np.add.at(table, (a, b), 1)
        expected = len(a) * np.outer(p, p)[np.ix_(common, common)]
        statistic = ((table[np.ix_(common, common)] - expected) ** 2 / expected).sum()
        freedom = expected.size
        assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_rare_entries_of_a_large_vocabulary_come_as_often_as_they_should():
    """One entry has half of the probability; 32767 share the rest:
    each of them is rarer than 2^-15.
    """
    vocab, tokens = 32768, 2000
    logits = np.zeros(vocab, np.float32)
    logits[12345] = np.log(vocab - 1)
    index = drawn(logits=logits, tokens=tokens).index
    often = (index == 12345).sum()
    assert abs(often - tokens / 2) < 5 * np.sqrt(tokens / 4)
    rare = index[index != 12345]
    check_counts(np.bincount(rare // 2048, minlength=16), np.full(16, 1 / 16))
    assert len(np.unique(rare)) > 0.95 * len(rare)


# ---- the ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("min_p", [None, 0.0, 0.5])
def test_a_temperature_of_0_takes_the_most_likely_entry(min_p):
    given = arguments(lt.losses.sample, tokens=37, vocab=211)
    more = {} if min_p is None else {"min_p": min_p}
    found = DRAW(**given, temperature=0.0, **more)
    best = lt.jit(lt.losses.prediction)(z=given["z"]).index
    np.testing.assert_array_equal(found.index, best)
    np.testing.assert_array_equal(found.processed_logprob, np.zeros(37))
    raw = lt.jit(lt.losses.logprob)(z=given["z"], target=best).logprob
    np.testing.assert_allclose(found.logprob, raw, rtol=1e-6)


def test_the_logprob_is_what_logprob_says_of_the_entry():
    given = arguments(lt.losses.sample, tokens=37, vocab=211)
    found = DRAW(**given, temperature=0.75, min_p=0.01)
    raw = lt.jit(lt.losses.logprob)(z=given["z"], target=found.index).logprob
    np.testing.assert_allclose(found.logprob, raw, rtol=1e-6)


@pytest.mark.parametrize("number", [-0.5, np.nan, np.inf])
def test_a_temperature_outside_of_its_range_draws_nothing(number):
    temperature = np.full(37, 1.0, np.float32)
    temperature[3] = number
    check_nothing_at_3(temperature=temperature)


@pytest.mark.parametrize("name", ["min_p", "top_p"])
@pytest.mark.parametrize("number", [-0.5, np.nan, 1.5])
def test_a_min_p_or_top_p_outside_of_its_range_draws_nothing(name, number):
    part = np.full(37, 0.5, np.float32)
    part[3] = number
    check_nothing_at_3(**{name: part})


def check_nothing_at_3(**more):
    found = DRAW(**arguments(lt.losses.sample, tokens=37, vocab=23), **more)
    others = np.arange(37) != 3
    assert found.index[3] == -1 and (found.index[others] >= 0).all()
    for values in (found.logprob, found.processed_logprob):
        assert np.isnan(values[3]) and np.isfinite(values[others]).all()


@pytest.mark.parametrize(("constants", "error"), [
    ({"temperature": -1.0}, "temperature=-1.0 must be a finite number of 0 or more"),
    ({"temperature": float("inf")}, "temperature=inf must be a finite number of 0 or more"),
    ({"min_p": 1.5}, "min_p=1.5 must be a number from 0 to 1"),
    ({"min_p": -0.1}, "min_p=-0.1 must be a number from 0 to 1"),
    ({"top_p": 1.5}, "top_p=1.5 must be a number from 0 to 1"),
])  # fmt: skip
def test_constants_outside_of_their_range_are_refused(constants, error):
    @lt.loss
    def loss(z: lt.Logits, seed: lt.Scalar[int]):
        return lt.losses.sample(z, seed, **constants)

    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(loss)(**arguments(loss))
    assert str(caught.value).endswith(error)


@pytest.mark.parametrize("temperature", [0, 0.5, 1])
def test_constants_of_another_loss_do_what_run_time_values_do(temperature):
    @lt.loss
    def loss(z: lt.Logits, seed: lt.Scalar[int]):
        return lt.losses.sample(z, seed, temperature=temperature, min_p=0.0625)

    given = arguments(loss, tokens=37, vocab=211)
    fixed = lt.jit(loss)(**given)
    read = DRAW(**given, temperature=float(temperature), min_p=0.0625)
    np.testing.assert_array_equal(fixed.index, read.index)
    np.testing.assert_allclose(fixed.processed_logprob, read.processed_logprob, rtol=1e-5, atol=1e-6)


@pytest.mark.contract("2 ignored tokens")
def test_ignored_tokens_get_nothing_and_others_what_they_would():
    given = arguments(lt.losses.sample, tokens=37, vocab=211)
    target = np.zeros(37, int)
    target[[0, 5, 6]] = -100
    found, whole = DRAW(**given, target=target), DRAW(**given)
    live = target == 0
    np.testing.assert_array_equal(found.index, np.where(live, whole.index, -1))
    np.testing.assert_array_equal(found.logprob, np.where(live, whole.logprob, 0))


def test_no_logits_are_stored_for_one_sweep():
    arrays = lt.ShapeDtype((4096, 64), "float32"), lt.ShapeDtype((32000, 64), "float32")
    seed, one = lt.ShapeDtype((), "int64"), lt.ShapeDtype((), "float32")
    plan = DRAW.explain(*arrays, seed=seed, temperature=one, grad=())
    assert plan.forward_sweeps == 1 and plan.stored == 0
    assert DRAW.explain(*arrays, seed=seed, min_p=one, grad=()).forward_sweeps == 2
    assert lt.jit(lt.losses.sample, top_k=50).explain(*arrays, seed=seed, grad=()).forward_sweeps == 2


# ---- frameworks ----------------------------------------------------------------------------------


def test_torch_compiled_and_plain_draw_the_same():
    import torch

    given = arguments(lt.losses.sample, tokens=37, vocab=211)
    hidden, weight = (torch.from_numpy(operand) for operand in given["z"])
    plain = DRAW(*given["z"], seed=7, temperature=0.5)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(hidden, seed):
        return DRAW(hidden, weight, seed=seed, temperature=0.5)

    for seed in (7, torch.tensor(7), torch.tensor(7, dtype=torch.int32)):
        for found in (DRAW(hidden, weight, seed=seed, temperature=0.5), step(hidden, seed)):
            np.testing.assert_array_equal(found.index.numpy(), plain.index)
            np.testing.assert_array_equal(found.logprob.numpy(), plain.logprob)


def test_jax_draws_the_same():
    jax = pytest.importorskip("jax")
    given = arguments(lt.losses.sample, tokens=37, vocab=211)
    plain = DRAW(*given["z"], seed=7, temperature=0.5)
    hidden, weight = (jax.numpy.asarray(operand) for operand in given["z"])
    step = jax.jit(lambda x, seed: DRAW(x, weight, seed=seed, temperature=0.5))
    for found in (DRAW(hidden, weight, seed=7, temperature=0.5), step(hidden, 7), step(hidden, np.uint32(7))):
        np.testing.assert_array_equal(np.asarray(found.index), plain.index)
        np.testing.assert_array_equal(np.asarray(found.logprob), plain.logprob)


def test_each_slice_of_jax_vmap_is_a_call():
    jax = pytest.importorskip("jax")
    given = arguments(lt.losses.sample, tokens=6, vocab=211)
    hidden, weight = (jax.numpy.asarray(operand) for operand in given["z"])
    batch = jax.numpy.stack([hidden, hidden])
    mapped = jax.vmap(lambda x: DRAW(x, weight, seed=7))(batch)
    each = DRAW(hidden, weight, seed=7)
    for found in mapped.index:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(each.index))
    assert (np.asarray(DRAW(batch, weight, seed=7).index)[1] != np.asarray(each.index)).any()
