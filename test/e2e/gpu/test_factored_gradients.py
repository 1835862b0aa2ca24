"""Gradients that the first sweep stores, but for a factor of each token:
GPUs, operands of bfloat16.
"""

import dataclasses

import logitile as lt
import numpy as np
import pytest
from backends import CPU, jit
from gate import Sample
from random_specs import numpy_dtype
from schedules import gradients_apart, plans, scheduled

TOKENS, VOCAB, HIDDEN = 70, 700, 40
BFLOAT16 = numpy_dtype("bfloat16")

pytestmark = [pytest.mark.contract("5 stored format"), pytest.mark.emulated]


@pytest.fixture(autouse=True)
def stores_gradients(backend):
    if backend == CPU:
        pytest.skip("CPUs store no gradients in sweeps")


@lt.loss
def plain(z: lt.Logits, y: lt.Token[int]):
    return lt.logsumexp(z) - z[y]


@lt.loss
def weighted(z: lt.Logits, y: lt.Token[int], much: lt.Token[float], classes: lt.Vocab[float]):
    return much * classes[y] * (lt.logsumexp(z) - z[y]) + 1e-3 * lt.square(lt.logsumexp(z))


@lt.loss
def two_targets(z: lt.Logits, y: lt.Token[int], x: lt.Token[int]):
    return 2 * lt.logsumexp(z) - 0.25 * z[y] - 1.75 * z[x]


@lt.loss
def biased_and_masked(z: lt.Logits, y: lt.Token[int], bias: lt.Vocab[float], keep: lt.Vocab[bool]):
    x = lt.where(keep, z + bias, float("-inf"))
    return lt.logsumexp(x) - x[y]


@lt.loss
def capped(z: lt.Logits, y: lt.Token[int]):
    x = 30 * lt.tanh(z / 30)
    return lt.logsumexp(x) - x[y]


@lt.loss
def independent(z: lt.Logits, sign: lt.Token[float]):
    return sign * lt.sum(lt.log1p(lt.exp(-lt.abs(z))) + lt.maximum(z, 0))


@lt.loss
def rewarded_by_another_model(z: lt.Logits, judge: lt.Logits, y: lt.Token[int]):
    return lt.stop_gradient(judge[y]) * (lt.logsumexp(z) - z[y])


@lt.loss
def where_some_are_allowed(z: lt.Logits, y: lt.Token[int], some: lt.Token[bool], allowed: lt.Dense[bool]):
    x = lt.where(allowed, z, float("-inf"))
    return lt.where(some, lt.logsumexp(x) - x[y], 0.0)


@lt.loss
def cooled(z: lt.Logits, y: lt.Token[int]):
    x = 0.37 * z
    return lt.logsumexp(x) - x[y]


@lt.loss
def cooled_squares(z: lt.Logits, y: lt.Token[int]):
    x = 0.37 * lt.square(z)
    return lt.logsumexp(x) - x[y]


def operands(std=1.0, peak=0.0):
    """Hidden states and a weight, whose logits have that spread;
    `peak` is added to the last of them.
    """
    random = np.random.default_rng(3)
    hidden = random.standard_normal((TOKENS, HIDDEN))
    weight = random.standard_normal((VOCAB, HIDDEN)) * std / np.sqrt(HIDDEN)
    hidden[:, 0] = 1
    weight[-1, 0] += peak
    return hidden.astype(BFLOAT16), weight.astype(BFLOAT16)


def targets(seed=4):
    return np.random.default_rng(seed).integers(0, VOCAB, TOKENS)


def inputs(loss):
    random = np.random.default_rng(5)
    named = {
        "y": targets(), "x": np.where(random.random(TOKENS) < 0.5, targets(), targets(6)),
        "much": random.standard_normal(TOKENS).astype(np.float32),
        "classes": random.random(VOCAB).astype(np.float32),
        "bias": random.standard_normal(VOCAB).astype(np.float32),
        "keep": np.arange(VOCAB) >= 300,
        "sign": np.sign(random.standard_normal(TOKENS)).astype(np.float32),
    }  # fmt: skip
    if loss is biased_and_masked:
        named["y"] = 300 + named["y"] % (VOCAB - 300)
    wanted = [parameter.name for parameter in loss.signature.inputs]
    return {name: value for name, value in named.items() if name in wanted}


def sample(loss, z):
    cotangent = {"loss": np.random.default_rng(8).standard_normal(TOKENS).astype(np.float32)}
    return Sample(loss, {"z": z} | inputs(loss), {"reduction": "none"}, ("hidden", "weight"), cotangent)


def launches(made):
    steps = [step for plan in plans(made) for phase in ("forward", "backward") for step in plan[phase]]
    return {step["launch"] for step in steps if "launch" in step}


@pytest.mark.parametrize("kind", ["kept", "chunks", "split kept"])
@pytest.mark.parametrize("loss", [plain, weighted, two_targets, biased_and_masked, capped, independent])
def test_it_is_the_gradient(loss, kind):
    with scheduled(sample(loss, operands()), kind) as made:
        made.check()
        if kind != "chunks":
            assert "gradient" not in launches(made)
            assert ("repair" in launches(made)) == (loss is not independent)


def test_the_same_sweep_picks_logits_of_another_projection():
    """They are those at the target, and not what the gradient there is made of."""
    hidden, weight = operands(std=4.0)
    likely = np.argmax(hidden.astype(np.float32) @ weight.astype(np.float32).T, 1)
    given = {"z": (hidden, weight), "judge": (-hidden, weight), "y": likely}
    cotangent = {"loss": np.ones(TOKENS, np.float32)}
    wrt = ("z.hidden", "z.weight")
    with gradients_apart(True):
        made = Sample(rewarded_by_another_model, given, {"reduction": "none"}, wrt, cotangent)
        made.check()
    assert "repair" in launches(made)


@pytest.mark.contract("3 branch")
def test_a_branch_that_is_not_taken_is_no_part_of_sums_over_tokens():
    """No column is allowed for some tokens: their factor would be NaN."""
    allowed = np.random.default_rng(5).random((TOKENS, VOCAB)) < 0.7
    allowed[::3] = False
    some = allowed.any(1)
    given = {"z": operands(), "y": np.argmax(allowed, 1), "some": some, "allowed": allowed}
    cotangent = {"loss": np.ones(TOKENS, np.float32)}
    made = Sample(where_some_are_allowed, given, {"reduction": "none"}, ("hidden", "weight"), cotangent)
    found = made.check()
    assert "repair" in launches(made)
    assert not found["grad z.hidden"][~some].any()


@pytest.mark.parametrize("peak", [40.0, 90.0, 300.0, 3000.0])
@pytest.mark.parametrize("loss", [plain, two_targets])
def test_logits_far_above_those_of_the_first_columns(loss, peak):
    sample(loss, operands(peak=peak)).check()


@pytest.mark.parametrize("loss, peak", [(cooled, 3e4), (cooled, 3e7), (cooled_squares, 3e3)])
def test_multiples_of_large_logits(loss, peak):
    """Multiples of the maximum and of the reference would be rounded before their difference."""
    hidden, weight = operands(peak=peak)
    sample(loss, (hidden, np.roll(weight, 1, 0))).check()


def test_factors_of_small_cotangents_have_all_their_digits():
    made = sample(plain, operands(peak=40.0))
    cotangent = {name: up * np.float32(1e-24) for name, up in made.cotangent.items()}
    dataclasses.replace(made, cotangent=cotangent).check()


def test_some_tokens_are_far_above_and_others_are_not():
    hidden, weight = operands(std=8.0, peak=200.0)
    hidden[::3, 0] = 0
    sample(plain, (hidden, weight)).check()


def test_the_first_columns_are_masked():
    """The reference is the lowest number then, which every logit is far above."""
    sample(biased_and_masked, operands(std=8.0)).check()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_logits_beyond_all_bounds_stay_with_their_token(value):
    hidden, weight = operands()
    head = jit(plain, reduction="sum")
    _, usual = head.value_and_grad(hidden, weight, y=targets())
    hidden[7, 3] = value
    _, gradients = head.value_and_grad(hidden, weight, y=targets())
    others = np.arange(TOKENS) != 7
    own, expected = (each["hidden"].astype(np.float32)[others] for each in (gradients, usual))
    np.testing.assert_allclose(own, expected, rtol=0.02, atol=0.01)
    assert np.isnan(gradients["weight"].astype(np.float32)).any() == (value != 1e30)


def test_a_token_that_counts_nothing():
    hidden, weight = operands()
    named = inputs(weighted) | {"much": np.zeros(TOKENS, np.float32)}
    _, gradients = jit(weighted, reduction="sum").value_and_grad(hidden, weight, **named)
    expected = jit(weighted, backend="reference", reduction="sum").value_and_grad(
        hidden.astype(np.float64), weight.astype(np.float64), **named
    )[1]
    for name, exact in expected.items():
        assert np.abs(np.asarray(gradients[name], np.float64) - exact).max() <= 0.01 * np.abs(exact).max()


def test_what_stays_is_told():
    told = jit(plain).explain(*operands(), y=targets())
    assert told.schedule == "gradients stored" and told.forward_sweeps == 1
    assert "700 of 700 logits per token stay as gradients" in str(told)
