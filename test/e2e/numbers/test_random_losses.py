"""Random losses, shapes, types, options and schedules:
outputs and gradients of heads against the gate.
"""

import dataclasses

import numpy as np
import pytest
from gate import Sample
from logitile.spec.gradient_flow import differentiable_outputs, reached_inputs
from random_specs import FIRST_WITH_LISTS, random_loss
from schedules import check_memory, smallest_workspace

SEEDS = 220
LIST_SEEDS = 40  # of losses that use Token[..., K] inputs as lists
MORE_SEEDS = 60  # of --full, with larger arrays; test_fuzz_losses.py has others
DTYPES = ("float32", "float32", "float32", "bfloat16", "float16")
PRIMES = (2, 3, 31, 61, 127, 257, 509, 1021, 2039, 4999)


def shape(rng, large):
    """Tokens, vocabulary, hidden: mostly small, sometimes long in one of them."""
    kind = rng.choice(["tiny", "small", "small", "small", "tokens", "vocab", "hidden"])
    tokens, vocab, hidden = rng.integers(1, 65), int(rng.integers(2, 150)), rng.integers(1, 49)
    if kind == "tiny":
        tokens, vocab, hidden = rng.integers(0, 9), int(rng.integers(1, 17)), rng.integers(1, 9)
    if rng.random() < 0.3:
        vocab = int(rng.choice([p for p in PRIMES if p < 4 * vocab]))
    if kind == "tokens":
        tokens = rng.integers(200, 601)
    if kind == "vocab":
        tokens, vocab = rng.integers(1, 33), int(rng.choice([1021, 2039, 4999, rng.integers(1000, 5001)]))
    if kind == "hidden":
        hidden = rng.integers(100, 301)
    scale = 3 if large and kind not in ("tiny", "vocab") else 1
    return int(tokens), vocab * scale, int(hidden)


def arguments(random, rng, large):
    tokens, vocab, hidden = shape(rng, large)
    given = random.arrays(tokens, vocab, hidden, dtype=str(rng.choice(DTYPES)), seed=1)
    ignoring = None
    for name in ("y", "ys"):
        if name in given and rng.random() < 0.5:
            ignoring = name
    if ignoring and rng.random() < 0.8:
        given[ignoring] = given[ignoring].astype(rng.choice([np.int32, np.int64]))
        given[ignoring][rng.random(tokens) < rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.3, 0.1])] = -100
    return given, ignoring


def options(random, rng, ignoring):
    chosen = {"weight_layout": str(rng.choice(["vd", "dv"])), "ignore": ignoring}
    if "loss" in names_of_outputs(random):
        chosen["reduction"] = str(rng.choice(["mean", "sum", "none"]))
        chosen["all_ignored"] = str(rng.choice(["nan", "zero"]))
    return {key: item for key, item in chosen.items() if item is not None}


def names_of_outputs(random):
    return ["loss"] if "lt.Outputs(" not in random.source else [
        name for name in ("loss", "weight", "more") if f" {name}=" in random.source.replace("(", " ")
    ]  # fmt: skip


def cotangent(names, chosen, rng, given):
    tokens, half = (
        given["z" if "z" in given else "t"][0].shape[0],
        given["z" if "z" in given else "t"][0].dtype == np.float16,
    )
    reaching = {}
    for name in names:
        if name == "weight" or (name == "more" and "loss" in names and rng.random() < 0.3):
            continue
        reduction = chosen.get("reduction") if name == "loss" else "none"
        if reduction == "none":
            reaching[name] = rng.normal(size=tokens).astype(np.float32)
        else:  # as loss scaling does, which 16 bits need under a mean
            reaching[name] = float(rng.uniform(0.5, 2) * (tokens if half and reduction == "mean" else 1))
    return reaching


def sample(seed, large=False):
    """The call of that seed, with a generous budget."""
    rng = np.random.default_rng([7, seed])
    random = random_loss(seed, several=seed % 4 == 3)
    given, ignoring = arguments(random, rng, large)
    chosen = options(random, rng, ignoring)
    names = names_of_outputs(random)
    wrt, call = random.differentiable, {}
    if rng.random() < 0.3:
        call["grad_dtype"] = "float32"
    if chosen.get("reduction") == "mean" and rng.random() < 0.3:
        call["divisor"] = float(rng.uniform(5, 50))
    made = Sample(random.loss, given, chosen, wrt, cotangent(names, chosen, rng, given), call)
    if rng.random() < 0.4:
        made = dataclasses.replace(made, wrt=some_gradients(made, rng))
    return made, rng


def some_gradients(made, rng):
    """One that the outputs lead to, and others that they may not lead to."""
    reached = reached_inputs(made.spec, differentiable_outputs(made.spec))
    first = [name for name in made.wrt if name.partition(".")[0] in reached or name in ("hidden", "weight")]
    chosen = {str(rng.choice(first)), *rng.choice(made.wrt, size=len(made.wrt) // 2).tolist()}
    return tuple(name for name in made.wrt if name in chosen)


def budget(made, rng):
    """A schedule: a workspace from the least that works, or a number of chunks."""
    kind = rng.choice(["auto", "least", "between", "chunks"])
    if kind == "auto":
        return {}
    if kind == "chunks":
        return {"chunks": int(rng.choice([1, 2, 3, 7]))}
    least = smallest_workspace(made)
    return {"workspace": least if kind == "least" else int(least * rng.uniform(1, 4))}


def check(seed, monkeypatch, large=False):
    scheduled = scheduled_sample(seed, monkeypatch, large)
    scheduled.check()
    check_memory(scheduled)


def scheduled_sample(seed, monkeypatch, large=False):
    made, rng = sample(seed, large)
    monkeypatch.setenv("LOGITILE_NUM_THREADS", str(rng.choice([1, 2, 2, 3])))
    chosen = budget(made, rng)
    return dataclasses.replace(made, options=made.options | chosen)


@pytest.mark.contract("5 gate")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_losses_pass_the_gate(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.parametrize("seed", range(FIRST_WITH_LISTS, FIRST_WITH_LISTS + LIST_SEEDS))
def test_random_losses_of_lists_pass_the_gate(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(SEEDS, SEEDS + MORE_SEEDS))
def test_more_and_larger_ones(seed, monkeypatch):
    check(seed, monkeypatch, large=True)


@pytest.mark.contract("1 vocab")
def test_the_samples_cover_the_language():
    """Types, layouts, reductions, several projections and outputs are really drawn."""
    made = [sample(seed)[0] for seed in range(SEEDS)]
    dtypes = {next(iter(s.pairs.values()))[0].dtype.name for s in made}
    assert dtypes == {"float32", "bfloat16", "float16"}
    assert {s.options.get("reduction") for s in made} == {"mean", "sum", "none", None}
    assert {len(s.pairs) for s in made} == {1, 2}
    kinds = {(given.axis, given.type, given.entries is not None) for s in made for given in s.spec.inputs}
    drawn = {f"{axis} {element}{' K' if several else ''}" for axis, element, several in kinds}
    wanted = (
        "token i32 K, token f32 K, token i1, vocab f32, vocab i1, vocab i32, dense f32, dense i1, scalar f32"
    )
    assert drawn >= set(wanted.split(", "))
    outputs = {(o.name if o.name in ("loss", "weight") else o.type) for s in made for o in s.spec.outputs}
    assert outputs == {"loss", "weight", "f32", "i32", "i1"}
    assert any(not s.counted().any() and s.tokens for s in made) and any(s.tokens == 0 for s in made)
