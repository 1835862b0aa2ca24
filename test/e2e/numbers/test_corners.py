"""Small losses, each about one corner of the language, against float64.

Free memory of earlier calls is never clean.
"""

import logitile as lt
import numpy as np
import pytest
from backends import brought_back, jit, moved
from gate import Sample

TOKENS, VOCAB, HIDDEN = 37, 150, 12
pytestmark = pytest.mark.emulated


@pytest.fixture(autouse=True)
def dirty_memory(monkeypatch):
    """A call whose stored logits are not finite leaves them in the workspace that the
    test's call takes.
    """
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    x = np.full((64, HIDDEN), 1e30, np.float32)
    for vocab in (VOCAB, 2 * VOCAB, 8 * VOCAB):
        head = lt.jit(dirty, reduction="sum")
        head.value_and_grad(
            x, np.full((vocab, HIDDEN), 1e30, np.float32), w=np.full(vocab, np.nan, np.float32)
        )


@lt.loss
def dirty(z: lt.Logits, w: lt.Vocab[float]):
    return lt.logsumexp(z * w) + lt.sum(lt.exp(z - w))


def call(loss, wrt, cotangent=None, dtype="float32", **inputs):
    """A sample whose pairs are made for it; per-token cotangents for all of its float outputs."""
    rng = np.random.default_rng(1)
    given = {}
    for parameter in loss.signature.inputs:
        if parameter.kinds[0].axis == "logits":
            weight = rng.normal(size=(VOCAB, HIDDEN)) * 3 / HIDDEN**0.5
            given[parameter.name] = tuple(
                x.astype(dtype) for x in (rng.normal(size=(TOKENS, HIDDEN)), weight)
            )
        elif parameter.name == "y":
            given["y"] = rng.integers(0, VOCAB, TOKENS)
    outputs = cotangent or ["loss"]
    up = {name: rng.normal(size=TOKENS).astype(np.float32) for name in outputs}
    options = {"reduction": "none"} if "loss" in outputs else {}
    return Sample(loss, given | inputs, options, tuple(wrt), up)


VECTOR = np.linspace(0.5, 2, VOCAB, dtype=np.float32)


@pytest.mark.contract("1 valid")
def test_an_entry_may_be_ignore_index_where_no_input_tells_ignored_tokens(monkeypatch):
    @lt.loss
    def kept(z: lt.Logits, ys: lt.Token[int, lt.K]):
        return lt.logsumexp(z) - sum(lt.where(lt.valid(k), z[k], 0.0) for k in ys)

    entries = np.random.default_rng(0).integers(0, VOCAB, (TOKENS, 3))
    entries[::4, 1] = -100
    call(kept, ("hidden", "weight"), ys=entries).check()
    entries[5, 2] = -7
    monkeypatch.setenv("LOGITILE_CHECK", "1")  # GPUs tell of it later without
    outside = r"'ys'(\[5, 2\] is -7| was outside the vocabulary for token 5)"
    with pytest.raises(lt.CallIndexError, match=outside):
        call(kept, ("hidden",), ys=entries).run()


def test_conditions_are_outputs():
    @lt.loss
    def found(z: lt.Logits, y: lt.Token[int]):
        return lt.Outputs(
            loss=lt.logsumexp(z), large=lt.any(z > 6.0), small=lt.all(z < 7.0), right=lt.argmax(z) == y
        )

    made = call(found, ("hidden",))
    results = made.run()
    logits = made.given["z"][0] @ made.given["z"][1].T
    assert results["large"].dtype == bool and 0 < results["large"].sum() < TOKENS
    np.testing.assert_array_equal(results["large"], (logits > 6).any(1))
    np.testing.assert_array_equal(results["small"], (logits < 7).all(1))
    np.testing.assert_array_equal(results["right"], logits.argmax(1) == made.given["y"])


def test_logits_are_clamped():
    @lt.loss
    def clamped(z: lt.Logits, y: lt.Token[int]):
        return lt.logsumexp(lt.clamp(z, -2.0, 3.0)) - lt.clamp(z[y], -1.0, 1.0)

    call(clamped, ("hidden", "weight")).check()


def test_a_vocab_gradient_of_picks_alone():
    @lt.loss
    def weighted(z: lt.Logits, y: lt.Token[int], w: lt.Vocab[float]):
        return w[y] * (lt.logsumexp(z) - z[y])

    call(weighted, ("hidden", "weight", "w"), w=VECTOR).check()


def test_a_gradient_that_no_cotangent_leads_to_is_zero():
    @lt.loss
    def apart(z: lt.Logits, s: lt.Scalar, a: lt.Token[float], w: lt.Vocab[float], d: lt.Dense[float]):
        return lt.Outputs(loss=lt.logsumexp(z), more=lt.sum(w * d * lt.softmax(z * s)) * a)

    inputs = {"s": np.float32(0.5), "a": np.ones(TOKENS, np.float32), "w": VECTOR,
              "d": np.ones((TOKENS, VOCAB), np.float32)}  # fmt: skip
    results = call(apart, ("hidden", "s", "a", "w", "d"), **inputs).run()
    assert results["grad z.hidden"].any()
    for name in ("s", "a", "w", "d"):
        assert results[f"grad {name}"].shape == inputs[name].shape and not results[f"grad {name}"].any(), name


@pytest.mark.contract("1 pick")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_gradient_of_picks_alone(dtype):
    @lt.loss
    def picked(z: lt.Logits, t: lt.Logits, y: lt.Token[int], u: lt.Vocab[float]):
        return -lt.log(lt.sigmoid(z - 3.0)[y] + 0.01) + lt.square((-t)[lt.argmax(t + u)])

    call(picked, ("z.hidden", "z.weight", "t.hidden", "t.weight", "u"), dtype=dtype, u=0 * VECTOR).check()


def test_a_gradient_that_is_the_same_for_all_entries():
    @lt.loss
    def average(z: lt.Logits, a: lt.Token[float]):
        return a * (lt.mean(z) + 8.0)

    call(average, ("hidden", "weight", "a"), a=np.linspace(-1, 1, TOKENS, dtype=np.float32)).check()


def test_a_gradient_that_is_the_same_for_all_tokens_but_for_the_cotangent():
    @lt.loss
    def dotted(z: lt.Logits, w: lt.Vocab[float]):
        return lt.sum(z * w)

    call(dotted, ("hidden", "weight", "w"), w=VECTOR).check()


def test_a_sum_that_gradients_of_logits_and_of_a_scalar_share():
    @lt.loss
    def shared(z: lt.Logits, y: lt.Token[int], s: lt.Scalar):
        return lt.logsumexp(lt.where(lt.column() == y, z - lt.mean(z) - s, z)) - z[y]

    call(shared, ("hidden", "weight", "s"), s=np.float32(0.75)).check()


@pytest.mark.contract("1 column")
def test_values_without_logits():
    @lt.loss
    def bare(z: lt.Logits, y: lt.Token[int], w: lt.Vocab[float]):
        below = lt.to_float(lt.count(lt.column() < y))
        return lt.logsumexp(z) + lt.sum(lt.square(w - lt.mean(w))) * below / 100

    call(bare, ("hidden", "weight", "w"), w=VECTOR).check()


@pytest.mark.parametrize("vocab", [1, 2])
def test_very_small_vocabularies(vocab):
    @lt.loss
    def small(z: lt.Logits, y: lt.Token[int]):
        return lt.logsumexp(z) - z[y] + lt.square(lt.mean(z)) + lt.to_float(lt.argmax(z))

    x, w = (
        np.random.default_rng(0).normal(size=(TOKENS, HIDDEN)),
        np.random.default_rng(1).normal(size=(vocab, HIDDEN)),
    )
    given = {"z": (x.astype(np.float32), w.astype(np.float32)), "y": np.arange(TOKENS) % vocab}
    Sample(small, given, {}, ("hidden", "weight"), {"loss": 1.0}).check()


# ---- numbers that are not finite -----------------------------------------------------------------


@lt.loss
def half_lse(z: lt.Logits, b: lt.Vocab[float]):
    return 0.5 * lt.logsumexp(z + b)


@lt.loss
def third_of_lse(z: lt.Logits, b: lt.Vocab[float]):
    return lt.logsumexp(z + b) / 3.0


@lt.loss
def squared_lse(z: lt.Logits, b: lt.Vocab[float]):
    return lt.logsumexp(z + b) ** 2


@lt.loss
def plain_sum(z: lt.Logits, b: lt.Vocab[float]):
    return lt.sum(z + b)


@lt.loss
def scaled_mean(z: lt.Logits, b: lt.Vocab[float]):
    return -0.1 * lt.mean(lt.log_softmax(z + b))


@pytest.mark.emulated("full")
@pytest.mark.parametrize("loss", [half_lse, third_of_lse, squared_lse, plain_sum, scaled_mean])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("everywhere", [False, True])
def test_numbers_that_are_not_finite_stay_so_in_products(loss, special, everywhere):
    """Per-token values are pairs of numbers: what is not finite may be in the low one."""
    rng = np.random.default_rng(1)
    hidden, weight = rng.normal(size=(5, 8)).astype(np.float32), rng.normal(size=(11, 8)).astype(np.float32)
    bias = np.where(everywhere | (np.arange(11) == 3), special, 0).astype(np.float32)
    head = jit(loss, reduction="none")
    given = [moved(x, head.options.backend) for x in (hidden, weight, bias)]
    found = brought_back(head(*given[:2], b=given[2]))
    np.testing.assert_allclose(found, head.reference(hidden, weight, b=bias), rtol=1e-5)


@pytest.mark.parametrize("name", ["masked_lse", "masked_mean", "masked_twice", "masked_otherwise"])
def test_a_branch_not_taken_leaks_no_nan_through_a_softmax(name):
    rng = np.random.default_rng(2)
    hidden, weight = rng.normal(size=(3, 8)).astype(np.float32), rng.normal(size=(5, 8)).astype(np.float32)
    given = {"counts": np.array([True, True, False]), "scale": np.array([1, 1, np.nan], np.float32)}
    head = jit(globals()[name])
    operands = [moved(x, head.options.backend) for x in (hidden, weight)]
    given = {key: moved(x, head.options.backend) for key, x in given.items()}
    loss, made = head.value_and_grad(*operands, **given)
    gradients = {key: brought_back(gradient) for key, gradient in made.items()}
    assert np.isfinite(brought_back(loss)) and all(np.isfinite(x).all() for x in gradients.values())
    assert np.all(gradients["hidden"][2] == 0) and np.any(gradients["hidden"][1] != 0)


@pytest.mark.contract("1 entries")
def test_forty_entries_per_token():
    """Kernels on GPUs then have more than 4096 bytes of arguments."""
    rng = np.random.default_rng(2)
    index, share = rng.integers(0, VOCAB, (TOKENS, 40)), rng.random((TOKENS, 40)).astype(np.float32)
    call(shared_entries, ["hidden", "weight", "share"], index=index, share=share).check()


# ---- names ---------------------------------------------------------------------------------------


@lt.loss
def masked_lse(z: lt.Logits, counts: lt.Token[bool], scale: lt.Token[float]):
    return lt.where(counts, lt.logsumexp(z * scale), 0.5)


@lt.loss
def masked_mean(z: lt.Logits, counts: lt.Token[bool], scale: lt.Token[float]):
    return lt.where(counts, lt.sum(lt.softmax(z / scale) * z), 0.0)


@lt.loss
def masked_twice(z: lt.Logits, counts: lt.Token[bool], scale: lt.Token[float]):
    inner = lt.where(scale != 7, lt.logsumexp(z * scale), 0.5)
    return lt.where(counts, inner, 0.5)


@lt.loss
def masked_otherwise(z: lt.Logits, counts: lt.Token[bool], scale: lt.Token[float]):
    return lt.where(~counts, 0.25, lt.where(scale == 7, 0.5, lt.logsumexp(z * scale)))


@lt.loss
def shared_entries(z: lt.Logits, index: lt.Token[int, lt.K], share: lt.Token[float, lt.K]):
    return sum(share[k] * (lt.logsumexp(z) - z[index[k]]) for k in range(len(index)))


@lt.loss
def gradient(z: lt.Logits, map: lt.Token[int], tokens: lt.Token[float], vocab_split_first: lt.Vocab[float]):
    return (lt.logsumexp(z + vocab_split_first) - z[map]) * tokens


@lt.loss
def forward0(z: lt.Logits, map: lt.Token[float], again: lt.Scalar):
    return lt.logsumexp(z) * map * again


@pytest.mark.parametrize("loss", [gradient, forward0])
def test_names_of_users_do_not_meet_those_of_kernels(loss):
    rng = np.random.default_rng(1)
    given = {
        "z": (rng.normal(size=(70, 8)).astype(np.float32), rng.normal(size=(30, 8)).astype(np.float32)),
        "map": rng.integers(0, 30, 70) if loss is gradient else rng.normal(size=70).astype(np.float32),
        "tokens": rng.normal(size=70).astype(np.float32),
        "vocab_split_first": rng.normal(size=30).astype(np.float32),
        "again": np.float32(0.5),
    }
    given = {name: item for name, item in given.items() if loss.signature.input(name)}
    head = jit(loss)
    wrt = [name for name in given if name not in ("z", "map" if loss is gradient else "")] + [
        "hidden",
        "weight",
    ]
    there = {name: moved(item, head.options.backend) for name, item in given.items()}
    out, gradients = head.value_and_grad(**there, wrt=wrt)
    expected, wanted = head.reference_grad(**given, wrt=wrt)
    np.testing.assert_allclose(brought_back(out), expected, rtol=1e-5)
    for name, array in wanted.items():
        found = brought_back(gradients[name])
        np.testing.assert_allclose(found, array, rtol=1e-4, atol=1e-6, err_msg=name)


@lt.loss
def largest_scaled_square(z: lt.Logits):
    return lt.max(lt.square(0.001 * z))


@pytest.mark.parametrize("logit, square", [(1e18, 1e30), (1e19, 1e32), (1e20, np.inf)], ids=str)
def test_squares_of_logits_overflow_to_infinity(logit, square):
    """A number in front of a logit is taken out of its square."""
    head = jit(largest_scaled_square, reduction="none")
    hidden, weight = (moved(np.float32(x), head.options.backend) for x in ([[logit]], [[1.0], [0.5]]))
    assert np.allclose(brought_back(head(hidden, weight)), square, rtol=1e-6)


def test_reductions_of_what_folds_to_one_number():
    @lt.loss
    def even(z: lt.Logits, y: lt.Token[int]):
        none = 0.0 * z
        return lt.logsumexp(none) + lt.to_float(lt.argmax(none)) + lt.logsumexp(z) - z[y]

    call(even, ("hidden", "weight")).check()

    @lt.loss
    def alone(z: lt.Logits):
        return lt.logsumexp(0.0 * z)

    np.testing.assert_allclose(call(alone, ()).run()["loss"], np.log(VOCAB), rtol=1e-6)


def test_sweeps_that_read_no_input_along_the_vocabulary():
    @lt.loss
    def placed(z: lt.Logits, y: lt.Token[int], a: lt.Token[float]):
        one_hot = lt.where(lt.column() == y, z[y], 0.0)
        below = lt.to_float(lt.count(lt.column() < lt.argmax(z)))
        return lt.logsumexp(one_hot) + below + lt.sum((z + a) * lt.to_float(lt.column())) / VOCAB

    call(placed, ("hidden", "weight", "a"), a=np.linspace(-1, 1, TOKENS, dtype=np.float32)).check()

    @lt.loss
    def nothing(z: lt.Logits):
        return lt.logsumexp(z - z)

    np.testing.assert_allclose(call(nothing, ("hidden",)).run()["loss"], np.log(VOCAB), rtol=1e-6)


def test_a_gradient_through_what_folds_to_one_number():
    @lt.loss
    def folded(z: lt.Logits, s: lt.Scalar, a: lt.Token[float], w: lt.Vocab[float]):
        even = lt.softmax(0.0 * z)
        return lt.sum((0.0 * z + 2.0) ** s) + lt.max(even * a) + lt.max(lt.log_softmax(w) * even) + lt.max(z)

    inputs = {"s": np.float32(0.5), "a": np.ones(TOKENS, np.float32), "w": VECTOR}
    call(folded, ("hidden", "s", "a", "w"), **inputs).check()


def test_a_gradient_of_entries_that_fold_away():
    @lt.loss
    def constant(z: lt.Logits, b: lt.Token[bool], c: lt.Token[float, lt.K]):
        return lt.where(b == b, lt.logsumexp(z), c[0])

    inputs = {"b": np.ones(TOKENS, bool), "c": np.ones((TOKENS, 3), np.float32)}
    results = call(constant, ("hidden", "c"), **inputs).run()
    assert results["grad c"].shape == (TOKENS, 3) and not results["grad c"].any()


@pytest.mark.parametrize("weights", ["vocab", "hot", "teacher"])
def test_weighted_means_far_from_the_maximum(weights):
    """Sums about a maximum, whose tiles move it: the mean is a hundredth of it."""

    @lt.loss
    def mean(z: lt.Logits, t: lt.Logits, u: lt.Vocab[float]):
        exponent = {"vocab": u, "hot": 0.01 * z, "teacher": 0.01 * t}[weights]
        return lt.sum(lt.softmax(exponent) * z) + 0.0 * lt.mean(t + u)

    rng = np.random.default_rng(2)
    vocab = 3001
    z, t = (
        (rng.normal(size=(300, HIDDEN)), rng.normal(size=(vocab, HIDDEN)) * 3 / HIDDEN**0.5) for _ in range(2)
    )
    given = {name: tuple(x.astype(np.float32) for x in pair) for name, pair in (("z", z), ("t", t))}
    given["u"] = rng.normal(size=vocab).astype(np.float32)
    Sample(mean, given, {"reduction": "none"}, (), {"loss": np.ones(300, np.float32)}).check()


def test_the_difference_of_an_infinite_number_from_itself():
    @lt.loss
    def guarded(z: lt.Logits, a: lt.Token[float]):
        return lt.where(lt.isnan(a - a), 0.0, lt.logsumexp(z))

    a = np.where(np.arange(TOKENS) % 3, 1.0, np.inf).astype(np.float32)
    made = call(guarded, ("hidden", "weight"), a=a)
    made.check()
    assert not made.run()["loss"][::3].any()


@pytest.mark.parametrize("low", [2.0, "v"])
def test_a_clamp_whose_upper_bound_is_below_its_lower_one(low):
    @lt.loss
    def clamped(z: lt.Logits, v: lt.Vocab[float], a: lt.Token[float]):
        return lt.sum(lt.clamp(z, v if low == "v" else low, a)) + 0.1 * lt.mean(v)

    a = np.linspace(-4, 4, TOKENS).astype(np.float32)
    made = call(clamped, ("hidden", "weight", "v", "a"), a=a, v=np.sort(VECTOR) - 1.0)
    made.check()
    a_is_the_result = made.run()["grad a"][:5] / made.cotangent["loss"][:5]
    assert (a_is_the_result > 0.9 * VOCAB).all()


@lt.loss
def cancelling(z: lt.Logits, v: lt.Vocab[float], d: lt.Dense[float]):
    return lt.logsumexp(z) + lt.sum(lt.softmax(d * v))


@pytest.mark.parametrize("wrt", [("d",), ("v",), ("hidden", "weight", "v", "d")], ids=str)
def test_gradients_of_inputs_that_cancel_are_zero(wrt):
    """No kernel reads v or d, because the sum of a softmax is 1."""
    dense = np.random.default_rng(2).normal(size=(TOKENS, VOCAB)).astype(np.float32)
    found = call(cancelling, wrt, v=VECTOR, d=dense).run()
    for name in {"v", "d"} & set(wrt):
        assert found[f"grad {name}"].shape == {"v": VECTOR, "d": dense}[name].shape
        assert not found[f"grad {name}"].any()


@lt.loss
def distances_from_an_infinite_mean(z: lt.Logits, m: lt.Vocab[bool]):
    x = lt.where(m, z, -float("inf"))
    distances = x - lt.mean(x)
    largest, places = lt.topk(distances, 2)
    return lt.Outputs(best=lt.argmax(distances), largest=lt.max(distances), places=places, values=largest)


def test_entries_less_infinity_have_the_order_of_what_is_left():
    """Masked entries are -inf + inf there: no number, and the first of these is the best."""
    rng = np.random.default_rng(0)
    hidden, weight = (rng.normal(size=(rows, HIDDEN)).astype(np.float32) for rows in (TOKENS, VOCAB))
    mask = np.ones(VOCAB, bool)
    mask[[70, 90]] = False
    head = jit(distances_from_an_infinite_mean)
    here = head.options.backend
    out = head(moved(hidden, here), moved(weight, here), m=moved(mask, here))
    assert (brought_back(out.best) == 70).all() and (brought_back(out.places) == [70, 90]).all()
    assert np.isnan(brought_back(out.largest)).all() and np.isnan(brought_back(out.values)).all()


@lt.loss
def order_of_probabilities(z: lt.Logits, d: lt.Dense[float], u: lt.Vocab[float]):
    log_p = lt.log_softmax(d)
    best = lt.argmax(log_p)
    return lt.Outputs(
        argmax=best,
        argmin=lt.argmin(log_p),
        likeliest=lt.argmax(lt.softmax(d)),
        entry=u[best],
        largest=lt.max(log_p),
        own=log_p[best],
        mean=lt.mean(z),
    )


def test_probabilities_that_are_no_numbers_have_an_order():
    """All of them are NaN where one logit is, and the first is best;
    an infinite one has the only NaN.
    """
    rng = np.random.default_rng(0)
    d = rng.normal(size=(7, VOCAB)).astype(np.float32)
    d[0, 70] = np.nan
    d[1, 70] = np.inf
    d[2] = -np.inf
    d[3, 70:] = -np.inf
    d[4, [70, 90]] = np.inf, np.nan
    d[5, [70, 90]] = np.inf, -np.inf
    hidden, weight = (rng.normal(size=(rows, HIDDEN)).astype(np.float32) for rows in (7, VOCAB))
    head = jit(order_of_probabilities)
    given = {"d": d, "u": VECTOR}
    here = head.options.backend
    out = head(moved(hidden, here), moved(weight, here), **{n: moved(x, here) for n, x in given.items()})
    with np.errstate(all="ignore"):
        log_p = d - np.log(np.exp(d.astype(np.float64)).sum(1, keepdims=True))
    best = log_p.argmax(1)  # the first NaN, as with lt.argmax
    assert best[[0, 1, 2, 4, 5]].tolist() == [0, 70, 0, 0, 70]
    for found in (out.argmax, out.likeliest):
        assert (brought_back(found) == best).all()
    assert (brought_back(out.argmin) == log_p.argmin(1)).all()
    assert (brought_back(out.entry) == VECTOR[best]).all()
    for found in (out.largest, out.own):
        np.testing.assert_allclose(brought_back(found), log_p[np.arange(7), best], rtol=1e-5)


CANCELLED = {
    "logsumexp": lambda x, z: lt.logsumexp(x - x),
    "sum of exponentials": lambda x, z: lt.sum(lt.exp(x - x)),
    "beside logits": lambda x, z: lt.logsumexp(z - x + x),
    "twice": lambda x, z: lt.logsumexp(z + 2.0 * x - x - x),
    "softmax": lambda x, z: lt.max(lt.softmax(z + (x - x))),
    "mean": lambda x, z: lt.sum(lt.softmax(z) * (x - x + z)),
    "maximum": lambda x, z: lt.max(z + x - x),
    "product": lambda x, z: lt.sum(lt.exp(z - x) * lt.exp(x)),
}


@pytest.mark.parametrize("name", CANCELLED)
def test_infinite_parts_of_an_exponent_do_not_cancel(name):
    @lt.loss
    def loss(z: lt.Logits, m: lt.Vocab[bool], v: lt.Vocab[float]):
        masked = lt.where(m, z * 0.5, -float("inf"))
        return CANCELLED[name](masked, z) + 0.1 * CANCELLED[name](v, z)

    every = np.ones(VOCAB, bool)
    call(loss, ("hidden", "weight", "v"), m=every, v=VECTOR).check()
    masked, infinite = every.copy(), VECTOR.copy()
    masked[70], infinite[70] = False, np.inf
    for given in ({"m": masked, "v": VECTOR}, {"m": every, "v": infinite}):
        made = call(loss, (), **given)
        found = made.run()["loss"]
        np.testing.assert_allclose(found, made.reference()["loss"], rtol=1e-4)
        assert np.isnan(found).all() or name == "product"  # where an exponential of 0 wins
