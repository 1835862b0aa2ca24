"""Random numbers of a loss: the bits of the reference's generator, however a call is cut,
on every target.

The weight is the identity, so the gradient of hidden states of sum(u * z) is u itself, exactly: it
shows the kernel of the gradient. Outputs show the sweep and the finish.
"""

import dataclasses
import itertools

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
from backends import brought_back, jit, moved
from gate import Sample
from logitile.reference import philox
from schedules import KINDS, scheduled
from test_slices import Slices
from test_tiers import TIERS, tier  # noqa: F401 - a fixture

TOKENS, VOCAB = 150, 180
SEED, STREAM = -3, 2**31 - 1


@lt.loss
def drawn(z: lt.Logits, seed: lt.Scalar[int], place: lt.Token[int], target: lt.Token[int]):
    u = lt.uniform(seed, STREAM)
    return lt.Outputs(
        loss=lt.sum(u * z),
        largest=lt.max(u),
        at=lt.argmax(u),
        here=lt.sum(lt.where(lt.column() == place, u, 0.0)),
        picked=u[place] + 0.0 * z[place],
        other=lt.sum(lt.where(lt.column() == place, lt.uniform(seed, place), 0.0)),
    )


def given(leading=(TOKENS,), vocab=VOCAB, ignored=()):
    rng = np.random.default_rng(1)
    target = rng.integers(0, vocab, leading)
    target.reshape(-1)[list(ignored)] = -100
    hidden = rng.integers(-2, 3, (*leading, vocab)).astype(np.float32)
    place = rng.integers(0, vocab, leading)
    return {"z": (hidden, np.eye(vocab, dtype=np.float32)), "seed": SEED, "place": place, "target": target}


def numbers(tokens, vocab, seed=SEED, stream=STREAM):
    """[tokens, vocab] by the reference's generator, float32."""
    at = np.arange(tokens)[:, None], np.arange(vocab)[None, :]
    return philox.uniform(np.array(seed), np.asarray(stream), *at).astype(np.float32)


def check(found, call, gradient=None):
    """The outputs of `drawn` and the gradient of hidden have the bits of the generator."""
    tokens, vocab = call["target"].size, call["z"][1].shape[0]
    live = call["target"].reshape(-1) != -100
    u, place = numbers(tokens, vocab), call["place"].reshape(-1, 1)
    wanted = {
        "largest": u.max(1),
        "at": u.argmax(1),
        "here": np.take_along_axis(u, place, 1)[:, 0],
        "picked": np.take_along_axis(u, place, 1)[:, 0],
        "other": np.take_along_axis(numbers(tokens, vocab, stream=place), place, 1)[:, 0],
    }
    for name, value in wanted.items():
        value = np.where(live, value, -1 if name == "at" else 0)
        np.testing.assert_array_equal(brought_back(found[name]).reshape(-1), value, err_msg=name)
    if gradient is not None:
        exact = np.where(live[:, None], u, 0)
        np.testing.assert_array_equal(brought_back(gradient).reshape(exact.shape), exact)


def sample(**more):
    return Sample(drawn, given(**more), {"reduction": "sum"}, ("hidden",), {"loss": 1.0})


def check_sample(made):
    found = made.run()
    check(found, made.given, found.get("grad z.hidden"))


@pytest.mark.emulated
@pytest.mark.contract("1 random numbers")
@pytest.mark.parametrize("kind", KINDS)
def test_every_schedule_draws_the_same(kind):
    with scheduled(sample(), kind) as made:
        check_sample(made)


@pytest.mark.emulated
@pytest.mark.contract("1 random numbers", "2 ignored tokens")
def test_ignored_tokens_count_in_the_index():
    check_sample(sample(ignored=(0, 1, 2, 7, 50, *range(100, 140))))


@pytest.mark.contract("1 random numbers")
@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("leading", [(TOKENS,), (1,), (3,), (2, 3, 5)])
def test_every_tier_and_number_of_tokens(tier, leading):  # noqa: F811
    check_sample(sample(leading=leading, ignored=() if leading == (1,) else (1,)))


@pytest.mark.contract("1 random numbers")
@pytest.mark.parametrize("tiles", ["TM=32", "TN=32"])
def test_every_shape_of_tiles(tiles):
    made = sample()
    made.head.options = dataclasses.replace(made.head.options, tiles=tiles)
    check_sample(made)


@pytest.mark.contract("1 random numbers")
@pytest.mark.parametrize("backend", ["cpu", "emu:sm_80", "emu:sm_90a"])
def test_operands_of_16_bits(backend):
    """Threads of warpgroups have the columns of whole blocks."""
    call = given(vocab=400, ignored=(3,))
    call["z"] = tuple(operand.astype(ml_dtypes.bfloat16) for operand in call["z"])
    check(lt.jit(drawn, reduction="sum", backend=backend)(**call)._asdict(), call)


@pytest.mark.emulated
@pytest.mark.contract("1 random numbers")
@pytest.mark.parametrize("cuts", [(0, VOCAB), (0, 41, VOCAB), (0, 41, 42, VOCAB), (0, 16, 112, VOCAB)])
def test_slices_draw_by_the_columns_of_the_whole(cuts):
    call = given(ignored=(0, 9))
    slices = Slices(jit(drawn, reduction="sum"), cuts, call)
    state = slices.state(wrt=["hidden"], grad_output={"loss": 1.0})
    found = slices.head.finish(state)._asdict()
    parts = slices.gradients(state, grad_output={"loss": 1.0})
    check(found, call, parts["hidden"])


@pytest.mark.emulated
@pytest.mark.contract("1 random numbers", "1 scalar")
def test_another_seed_compiles_nothing_and_draws_others():
    head, call = jit(drawn, reduction="sum"), given()
    del call["seed"]
    here = {name: moved(item, head.options.backend) for name, item in call.items()}
    found = [head(**here, seed=seed).largest for seed in (0, 1, 2**31 - 1, -(2**31))]
    assert len(head._programs.made) == 1
    for seed, largest in zip((0, 1, 2**31 - 1, -(2**31)), found, strict=True):
        np.testing.assert_array_equal(brought_back(largest), numbers(TOKENS, VOCAB, seed).max(1))
    assert all((brought_back(a) != brought_back(b)).all() for a, b in itertools.pairwise(found))


# ---- logarithms ----------------------------------------------------------------------------------


@lt.loss
def gumbels(z: lt.Logits, u: lt.Dense[float]):
    zero = 0.0 * z
    return lt.Outputs(
        plain=lt.min(-lt.log(-lt.log(u)) + zero), most=lt.max(-lt.log(-lt.log(u)) + zero),
        small=lt.min(-lt.log(-lt.log1p(-u)) + zero), large=lt.max(-lt.log(-lt.log1p(-u)) + zero),
    )  # fmt: skip


@pytest.mark.emulated
@pytest.mark.contract("1 random numbers")
def test_logarithms_of_the_largest_and_smallest_numbers_are_finite():
    """Each float between neighbours of the ends, and those of the ends themselves."""
    least, most = np.float32(2.0**-33), np.float32(1 - 2.0**-24)
    steps = np.arange(100, dtype=np.float32)
    u = np.concatenate([least * (2 * steps + 1), most - steps * np.float32(2.0**-24)])[:, None]
    zeros = np.zeros((len(u), 1), np.float32), np.zeros((1, 1), np.float32)
    found = jit(gumbels)(z=zeros, u=u)
    exact = u[:, 0].astype(np.float64)
    for name, wanted in (
        ("plain", -np.log(-np.log(exact))), ("most", -np.log(-np.log(exact))),
        ("small", -np.log(-np.log1p(-exact))), ("large", -np.log(-np.log1p(-exact))),
    ):  # fmt: skip
        value = np.asarray(getattr(found, name))
        assert np.isfinite(value).all()
        np.testing.assert_allclose(value, wanted, rtol=4e-6, atol=1e-6, err_msg=name)
