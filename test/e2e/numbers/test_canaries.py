"""Losses that no compiler of cross entropies would get right, on data that is not kind,
under every schedule.

None of them has code of its own anywhere:
who finds one of their names in the compiler has found a mistake.
"""

import dataclasses

import logitile as lt
import numpy as np
import pytest
from cases import CASES
from gate import Sample
from schedules import KINDS, check_memory, scheduled, smallest_workspace
from test_zoo import SHAPE, sample


@lt.loss
def forty_picks(z: lt.Logits, several: lt.Token[int, 40]):
    return lt.logsumexp(z) - sum(z[k] for k in several) / 40.0


@lt.loss
def after_target(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target + 1]


CANARIES = (
    "standardised_kl", "bhattacharyya", "power_sum", "margin", "teacher_at_argmax", "next_column",
    "capped_probability", "vocab_scale", "learned_temperature", "second_best", "masked_entropy",
    "two_temperatures", "no_target", "forty_picks", "after_target",
)  # fmt: skip
# Arguments whose logits lie on a grid: comparisons and indices must come out as in float64.
EXACT = ("teacher_at_argmax", "second_best")
# Where a common offset of the logits is no offset of exponents, or has no meaning.
NO_OFFSET = ("capped_probability", "no_target", "vocab_scale", "teacher_at_argmax", "second_best")


def canary(name, shape=SHAPE):
    if name in CASES:
        return sample(name, "float32", shape)
    rng = np.random.default_rng(4)
    base = sample("plain", "float32", shape)
    given = {"z": base.given["z"]}
    vocab = base.spec.vocab
    if name == "forty_picks":
        given["several"] = rng.integers(0, vocab, (base.tokens, 40))
    else:
        given["target"] = rng.integers(0, vocab - 1, base.tokens)
    return Sample(globals()[name], given, base.options, base.wrt, base.cotangent)


def on_data(made, data):
    """The same call with other logits."""
    given = dict(made.given)
    for name, (hidden, weight) in made.pairs.items():
        if data == "large":
            weight = 4 * weight
        if data == "offset":  # of 300, through one more hidden unit
            hidden = np.concatenate([hidden, np.full((len(hidden), 1), 8, np.float32)], 1)
            weight = np.concatenate([weight, np.full((len(weight), 1), 37.5, np.float32)], 1)
        if data == "ties":  # and a grid
            hidden, weight = np.round(hidden), np.round(weight * 4) / 4
            weight[1::2] = weight[: len(weight) // 2 * 2 : 2]
        given[name] = (hidden, weight)
    if data == "near" and len(made.pairs) == 2:
        rng = np.random.default_rng(1)
        hidden, weight = given["z"]
        noise = (1 + 1e-3 * rng.normal(size=hidden.shape)).astype(np.float32)
        given["t"] = (hidden * noise, weight)
    return dataclasses.replace(made, given=given)


def data_of(name):
    """What a canary is tried on."""
    kinds = ["ties"] if name in EXACT else ["usual", "large"]
    if name not in EXACT and name not in NO_OFFSET:
        kinds.append("offset")
    return kinds + (["near"] if name in ("standardised_kl", "bhattacharyya") else [])


PAIRS = [(name, data) for name in CANARIES for data in data_of(name)]


def check_canary(name, data, kind):
    with scheduled(on_data(canary(name), data), kind) as made:
        made.check()
        check_memory(made)


@pytest.mark.contract("1 ties", "5 canaries", "5 gate")
@pytest.mark.parametrize("index, name, data", [(i, *pair) for i, pair in enumerate(PAIRS)])
def test_a_canary_on_data_that_is_not_kind(index, name, data, monkeypatch):
    """Schedules take turns; test_zoo.py has all of them on its data."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    is_new = name not in CASES and data == "usual"
    kinds = KINDS if is_new else (KINDS[index % len(KINDS)], KINDS[(index + 3) % len(KINDS)])
    for kind in kinds:
        check_canary(name, data, kind)


@pytest.mark.contract("5 canaries")
@pytest.mark.full
@pytest.mark.parametrize("index, name, data", [(i, *pair) for i, pair in enumerate(PAIRS)])
def test_a_canary_under_more_schedules(index, name, data, monkeypatch):
    """Schedules take turns: each pair meets half of them."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    for kind in KINDS[index % 2 :: 2]:
        check_canary(name, data, kind)


@pytest.mark.contract("5 canaries")
@pytest.mark.full
@pytest.mark.parametrize("name", CANARIES)
def test_a_canary_in_every_budget(name, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = on_data(canary(name), data_of(name)[0])
    least = smallest_workspace(made)
    for part in (0, 0.1, 0.3, 1):
        budget = least + int(part * 4 * made.tokens * made.spec.vocab * len(made.pairs))
        limited = dataclasses.replace(made, options=made.options | {"workspace": budget})
        limited.check()
        check_memory(limited)


# ---- rows without an entry -----------------------------------------------------------------------


@pytest.mark.emulated("full")
@pytest.mark.contract("3 masked row")
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_only_masks_is_nan_and_no_other_is(kind, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = sample("entropy_per_token_set", "float32")
    keep = made.given["keep"].copy()
    keep[[3, 200]] = False
    made = dataclasses.replace(made, given=made.given | {"keep": keep}, wrt=("hidden",))
    with scheduled(made, kind) as limited:
        results = limited.run()
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(results["loss"])), [3, 200])
        limited.check()
