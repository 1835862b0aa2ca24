"""Losses in use under every kind of schedule and in every type, against the gate."""

import numpy as np
import pytest
from cases import CASES
from gate import Sample
from inputs import arguments
from random_specs import numpy_dtype
from schedules import KINDS, check_memory, gradients_apart, plans, scheduled, smallest_workspace

SHAPE = (256, 601, 40)  # tokens, vocabulary, hidden


def sample(name, dtype, shape=SHAPE, **options):
    """Every token and every gradient."""
    loss, _, constants = CASES[name]
    tokens, vocab, hidden = shape
    given = arguments(loss, seed=3, tokens=tokens, vocab=vocab, hidden=hidden)
    for key, item in given.items():
        if isinstance(item, tuple):
            given[key] = tuple(operand.astype(numpy_dtype(dtype)) for operand in item)
    several = sum(isinstance(item, tuple) for item in given.values()) > 1
    wrt = []
    for key, item in given.items():
        if isinstance(item, tuple):
            wrt += [f"{key}.{o}" if several else o for o in ("hidden", "weight")]
        elif np.asarray(item).dtype == np.float32:
            wrt.append(key)
    cotangent = {"loss": np.random.default_rng(5).normal(size=tokens).astype(np.float32)}
    return Sample(loss, given, {"reduction": "none", **constants, **options}, tuple(wrt), cotangent)


@pytest.mark.contract("2 rounding errors", "2 budgets agree", "5 ranks", "5 gate")
@pytest.mark.parametrize("name", CASES)
def test_every_loss_in_single_precision_under_every_schedule(name, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    for kind in KINDS:
        with scheduled(sample(name, "float32"), kind) as made:
            made.check()
            check_memory(made)


@pytest.mark.parametrize("name", ["plain", "entropy"])
def test_some_budgets_keep_a_part_of_the_logits(name, monkeypatch):
    """At the hidden size of other tests, recomputing them is as fast, whatever the budget."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    found = set()
    made = sample(name, "float32", (150, 1201, 96))
    with gradients_apart(True):
        least = smallest_workspace(made)
        for share in (1.1, 1.2, 1.3, 1.4, 3):
            workspace = least + int(share * 4 * 150 * 1201)
            one = sample(name, "float32", (150, 1201, 96), workspace=workspace)
            one.check()
            launches = {step["launch"] for plan in plans(one) for step in plan["forward"] if "launch" in step}
            found.add("forward0_stored" in launches)
            check_memory(one)
    assert found == {True, False}


@pytest.mark.contract("5 gate")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_every_loss_in_sixteen_bits(name, dtype, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    sample(name, dtype).check()


@pytest.mark.contract("5 stored format")
@pytest.mark.full
@pytest.mark.parametrize("index, name", list(enumerate(CASES)))
def test_every_loss_in_sixteen_bits_under_more_schedules(index, name, monkeypatch):
    """Both types take turns with the schedules: each loss meets half of them in a type."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    for number, kind in enumerate(KINDS[index % 2 :: 2], index // 2):
        with scheduled(sample(name, ("bfloat16", "float16")[number % 2]), kind) as made:
            made.check()
