"""Entries that top_p, and top_k of each token, leave to lt.losses.sample:
those of a sorted float64 row.

How often each is drawn is tested in test_sampling.py.
"""

import logitile as lt
import numpy as np
import pytest
from inputs import arguments
from test_sampling import check_counts

TOKENS, VOCAB = 500, 24
LOGITS = (2 * np.random.default_rng(5).normal(size=VOCAB)).astype(np.float32)


def rows(tokens=37, vocab=211, seed=3):
    """Operands whose logits differ from token to token, and these logits."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(tokens, 16)).astype(np.float32)
    weight = rng.normal(size=(vocab, 16)).astype(np.float32)
    return hidden, weight, hidden.astype(float) @ weight.astype(float).T


def left(z, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0):
    """The distribution of one row that is drawn from."""
    z = z / temperature
    order = np.argsort(-z, kind="stable")
    p = np.exp(z - z.max())
    if 0 < top_k < len(z):
        p[order[top_k:]] = 0
    p /= p.sum()
    if top_p < 1:
        before = np.cumsum(p[order]) - p[order]
        dropped = order[before >= top_p]
        p[dropped[dropped != order[0]]] = 0
    p = np.where(p >= min_p * p.max(), p, 0)
    return p / p.sum()


def check_drawn(found, distributions):
    assert (found.index >= 0).all()
    p = np.stack([row[index] for row, index in zip(distributions, found.index, strict=True)])
    assert (p > 0).all()
    np.testing.assert_allclose(found.processed_logprob, np.log(p), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("more", [{}, {"temperature": 0.7}, {"temperature": 2.0, "min_p": 0.05}])
@pytest.mark.parametrize("top_p", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("top_k", [0, 1, 5, 64, 211])
def test_only_the_nucleus_is_drawn(top_k, top_p, more):
    hidden, weight, z = rows()
    head = lt.jit(lt.losses.sample, top_k=top_k, candidates=211)
    found = head(hidden, weight, seed=1, top_p=top_p, **more)
    check_drawn(found, [left(row, top_k=top_k, top_p=top_p, **more) for row in z])


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_every_token_has_its_own_limits(dtype):
    hidden, weight, z = rows(tokens=120)
    rng = np.random.default_rng(1)
    limits = {
        "temperature": rng.choice([0.5, 1.0, 1.5], 120).astype(np.float32),
        "top_p": rng.choice([0.25, 0.5, 0.75, 1.0], 120).astype(np.float32),
        "min_p": rng.choice([0.0, 0.03125], 120).astype(np.float32),
    }
    k = rng.choice([0, 1, 2, 7, 40, 211, 10**6], 120).astype("int64" if dtype == "float32" else dtype)
    found = lt.jit(lt.losses.sample)(hidden, weight, seed=2, k=k, **limits)
    expected = [
        left(row, top_k=k[i], **{name: float(values[i]) for name, values in limits.items()})
        for i, row in enumerate(z)
    ]
    check_drawn(found, expected)


@pytest.mark.parametrize("more", [{}, {"temperature": 2.0}])
@pytest.mark.parametrize(("k", "top_p"), [(None, 0.8), (4, None), (6, 0.7)])
def test_entries_come_with_their_probability(k, top_p, more):
    given = dict(more)
    if k is not None:
        given["k"] = np.full(20000, k)
    if top_p is not None:
        given["top_p"] = top_p
    found = lt.jit(lt.losses.sample)(np.ones((20000, 1), np.float32), LOGITS[:, None], seed=6, **given)
    p = left(LOGITS.astype(float), top_k=k or 0, top_p=1 if top_p is None else top_p, **more)
    check_counts(np.bincount(found.index, minlength=VOCAB), p)


def test_limits_are_those_of_the_warpers_of_transformers():
    """Temperature, top_k, top_p, min_p: the order in which generate() applies them."""
    torch = pytest.importorskip("torch")
    warpers = pytest.importorskip("transformers.generation.logits_process")
    hidden, weight, z = rows(tokens=50)
    chain = warpers.LogitsProcessorList([
        warpers.TemperatureLogitsWarper(1.25), warpers.TopKLogitsWarper(40),
        warpers.TopPLogitsWarper(0.8), warpers.MinPLogitsWarper(0.05),
    ])  # fmt: skip
    scores = chain(None, torch.from_numpy(z)).log_softmax(-1).numpy()
    head = lt.jit(lt.losses.sample, top_k=40)
    for seed in range(5):
        found = head(hidden, weight, seed=seed, temperature=1.25, top_p=0.8, min_p=0.05)
        expected = scores[np.arange(50), found.index]
        np.testing.assert_allclose(found.processed_logprob, expected, rtol=1e-4, atol=1e-5)


def test_a_nucleus_of_more_entries_than_candidates_draws_nothing():
    hidden, weight, z = rows(tokens=200)
    sizes = np.array([(left(row, top_p=0.9) > 0).sum() for row in z])
    assert (sizes <= 4).any() and (sizes > 4).any()
    head = lt.jit(lt.losses.sample, candidates=4)
    found = head(hidden, weight, seed=1, top_p=0.9)
    np.testing.assert_array_equal(found.index < 0, sizes > 4)
    for logprob in (found.logprob, found.processed_logprob):
        np.testing.assert_array_equal(np.isnan(logprob), sizes > 4)
    greedy = head(hidden, weight, seed=1, top_p=0.9, temperature=0.0)
    np.testing.assert_array_equal(greedy.index, z.argmax(axis=1))
    assert (head(hidden, weight, seed=1, top_p=1.0).index >= 0).all()


@pytest.mark.parametrize("k", [-1, 5, VOCAB - 1])
@pytest.mark.parametrize("more", [{}, {"top_p": 0.5}])
def test_a_k_outside_of_its_range_draws_nothing(k, more):
    ks = np.full(TOKENS, 4)
    ks[3] = k
    head = lt.jit(lt.losses.sample, candidates=4)
    found = head(np.ones((TOKENS, 1), np.float32), LOGITS[:, None], seed=1, k=ks, **more)
    others = np.arange(TOKENS) != 3
    assert found.index[3] == -1 and (found.index[others] >= 0).all()
    assert np.isnan(found.logprob[3]) and np.isfinite(found.logprob[others]).all()


def test_entries_that_equal_the_last_of_the_nucleus_are_drawn_too():
    logits = np.array([0, 1, 2, 1, -1, 1], np.float32)
    hidden = np.ones((20000, 1), np.float32)
    found = lt.jit(lt.losses.sample)(hidden, logits[:, None], seed=1, top_p=0.5)
    p = np.where(logits >= 1, np.exp(logits.astype(float)), 0)
    check_counts(np.bincount(found.index, minlength=6), p / p.sum())


@pytest.mark.parametrize("limit", ["k", "top_p"])
def test_masked_and_not_a_number_logits(limit):
    """Entries of -inf are never drawn, and a row with NaN takes that entry, as without limits."""
    hidden, weight, _ = rows(tokens=6)
    bias = np.full(211, -np.inf, np.float32)
    bias[[3, 8]] = 0
    given = {"k": np.full(6, 5)} if limit == "k" else {"top_p": 0.5}
    found = lt.jit(lt.losses.sample)(hidden, weight, seed=1, bias=bias, **given)
    assert set(found.index) <= {3, 8}
    hidden[2] = np.nan
    found = lt.jit(lt.losses.sample)(hidden, weight, seed=1, **given)
    assert found.index[2] == 0 and np.isnan(found.logprob[2])
    assert np.isfinite(np.delete(found.logprob, 2)).all()


@pytest.mark.parametrize("top_p", [0, 0.5, 1])
def test_constants_of_another_loss_do_what_run_time_values_do(top_p):
    @lt.loss
    def loss(z: lt.Logits, seed: lt.Scalar[int]):
        return lt.losses.sample(z, seed, top_p=top_p)

    given = arguments(loss, tokens=37, vocab=61)
    fixed = lt.jit(loss)(**given)
    read = lt.jit(lt.losses.sample)(**given, top_p=float(top_p))
    np.testing.assert_array_equal(fixed.index, read.index)
    np.testing.assert_allclose(fixed.processed_logprob, read.processed_logprob, rtol=1e-5, atol=1e-6)


def test_k_takes_the_place_of_top_k():
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(lt.losses.sample, top_k=3)(**arguments(lt.losses.sample), k=np.full(6, 2))
    assert "k is a top_k for every token and takes the place of top_k=3; give one" in str(caught.value)


SHAPES = lt.ShapeDtype((8, 16), "float32"), lt.ShapeDtype((4000, 16), "float32")
PER_TOKEN = {"k": lt.ShapeDtype((8,), "int64"), "top_p": lt.ShapeDtype((8,), "float32")}


@pytest.mark.parametrize("names", [("k",), ("top_p",), ("k", "top_p")])
def test_a_loss_of_the_most_candidates_can_be_written(names):
    """It stays within the limit of operations one after the other."""
    given = {name: PER_TOKEN[name] for name in names}
    head = lt.jit(lt.losses.sample, candidates=1024)
    assert "places 1024" in head.ir("spec", *SHAPES, seed=lt.ShapeDtype((), "int64"), grad=(), **given)


@pytest.mark.full
def test_the_most_candidates():
    hidden, weight, z = rows(tokens=9, vocab=1500)
    head = lt.jit(lt.losses.sample, candidates=1024)
    found = head(hidden, weight, seed=1, top_p=0.5, k=np.full(9, 1000), temperature=20.0)
    check_drawn(found, [left(row, temperature=20.0, top_k=1000, top_p=0.5) for row in z])


def test_two_sweeps_and_no_stored_logits():
    arrays = lt.ShapeDtype((4096, 64), "float32"), lt.ShapeDtype((32000, 64), "float32")
    one = lt.ShapeDtype((4096,), "float32")
    limits = dict.fromkeys(("temperature", "top_p", "min_p"), one)
    limits["k"] = lt.ShapeDtype((4096,), "int64")
    head = lt.jit(lt.losses.sample, workspace="64MiB")
    plan = head.explain(*arrays, seed=lt.ShapeDtype((), "int64"), grad=(), **limits)
    assert plan.forward_sweeps == 2


def test_torch_and_jax_draw_the_same():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    hidden, weight, _ = rows()
    k, top_p = np.arange(37) % 6, np.linspace(0.2, 1, 37).astype(np.float32)
    head = lt.jit(lt.losses.sample)
    expected = head(hidden, weight, seed=4, k=k, top_p=top_p)
    tensors = [torch.from_numpy(array) for array in (hidden, weight, k, top_p)]
    found = head(*tensors[:2], seed=4, k=tensors[2], top_p=tensors[3])
    np.testing.assert_array_equal(found.index.numpy(), expected.index)
    traced = jax.jit(lambda x, w, k, p: head(x, w, seed=4, k=k, top_p=p))(hidden, weight, k, top_p)
    np.testing.assert_array_equal(np.asarray(traced.index), expected.index)
