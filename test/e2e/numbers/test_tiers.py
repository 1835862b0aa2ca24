"""Every instruction set that this machine has, by LOGITILE_CPU_TIER: the gate,
tails and special numbers.
"""

import os

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
from cases import CASES
from gate import Sample
from logitile import _native
from schedules import KINDS, scheduled
from test_random_losses import check
from test_zoo import sample


def tiers_of_this_machine():
    found, before = [], os.environ.get("LOGITILE_CPU_TIER")
    for name in ("portable", "avx2", "avx512", "avx512_bf16", "amx_bf16", "amx_bf16_emulated"):
        os.environ["LOGITILE_CPU_TIER"] = name
        try:
            found.append(_native.host_target().removeprefix("cpu:"))
        except lt.TargetError:
            continue
    del os.environ["LOGITILE_CPU_TIER"]
    if before is not None:
        os.environ["LOGITILE_CPU_TIER"] = before
    return found


TIERS = tiers_of_this_machine()
LOSSES = ("plain", "jsd", "soft_targets", "power_sum", "masked_entropy", "topk_kl")


@pytest.fixture
def tier(request, monkeypatch):
    monkeypatch.setenv("LOGITILE_CPU_TIER", request.param)
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    assert _native.host_target() == f"cpu:{request.param}"
    return request.param


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("name, dtype", [
    (name, ("float32", "bfloat16", "float16")[i % 3]) for i, name in enumerate(LOSSES)
] + [("plain", "bfloat16"), ("plain", "float16")])  # fmt: skip
def test_losses_on_every_tier(tier, name, dtype):
    sample(name, dtype).check()


@pytest.mark.parametrize("tier", TIERS, indirect=True)
def test_random_losses_on_every_tier(tier, monkeypatch):
    for seed in range(340, 348):
        check(seed, monkeypatch)


@pytest.mark.contract("3 not a number")
@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_special_numbers_stay_with_their_token(tier, dtype):
    """NaN, infinities and masked rows: as in float64, token by token."""
    made = sample("plain", dtype)
    hidden, weight = (x.copy() for x in made.given["z"])
    hidden[3, 1], hidden[17, 0], hidden[40] = np.nan, np.inf, 0
    given = {**made.given, "z": (hidden, weight)}
    plain = Sample(made.loss, given, made.options, ("hidden",), made.cotangent)
    results = plain.run()
    assert (
        np.isnan(results["loss"][[3, 17]]).all()
        and np.isnan(results["grad z.hidden"][[3, 17]].astype(np.float32)).all()
    )
    rest = np.setdiff1d(np.arange(made.tokens), [3, 17])
    assert (
        np.isfinite(results["loss"][rest]).all()
        and np.isfinite(results["grad z.hidden"][rest].astype(np.float32)).all()
    )
    np.testing.assert_allclose(results["loss"][40], np.log(made.spec.vocab), rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("index, name", enumerate(CASES))
def test_all_losses_on_every_tier(tier, index, name):
    """Types and schedules take turns: test_zoo.py has all of them on the best tier."""
    made = sample(name, ("float32", "bfloat16", "float16")[index % 3])
    with scheduled(made, KINDS[index % len(KINDS)]) as one:
        one.check()


@pytest.mark.full
@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("seed", range(1500, 1520))
def test_more_random_losses_on_every_tier(tier, seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("tokens", [1, 5, 8, 37])
@pytest.mark.parametrize("hidden, dtype, layout", [
    (1025, "float32", "vd"), (3000, "float32", "dv"), (2050, "bfloat16", "dv"), (5001, "bfloat16", "vd"),
    (2500, "float16", "vd")
])  # fmt: skip
def test_few_tokens_of_long_hidden_states(tier, tokens, hidden, dtype, layout):
    """Dot products come in parts; 21 entries are whole blocks of rows, and rows left over."""
    rng = np.random.default_rng(hidden)
    element = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    pair = rng.normal(size=(tokens, hidden)), rng.normal(size=(21, hidden)) / hidden**0.5
    given = {"z": tuple(x.astype(element) for x in pair), "target": rng.integers(0, 21, tokens)}
    options = {"reduction": "none", "weight_layout": layout}
    cotangent = {"loss": rng.normal(size=tokens).astype(np.float32)}
    Sample(lt.losses.cross_entropy, given, options, ("hidden", "weight"), cotangent).check()
