"""The same bits: from run to run, from several Python threads at once,
and for any number of chunks.
"""

import dataclasses
import threading

import numpy as np
import pytest
import subprocesses
from cases import CASES
from gate import Sample
from random_specs import numpy_dtype
from schedules import gradients_apart
from test_random_losses import sample
from test_zoo import sample as zoo_sample


def same(a, b, names):
    return [
        name for name in names if not np.array_equal(a[name], b[name], equal_nan=a[name].dtype.kind == "f")
    ]


def test_threads_that_call_at_once_get_the_bits_of_one(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    samples = [sample(seed)[0] for seed in range(300, 316)]
    samples = [s for s in samples if s.tokens]
    alone = [s.run() for s in samples]
    # heads without programs: compiled at once as well
    fresh = [dataclasses.replace(s) for s in samples]
    wrong = []

    def work(start):
        for turn in range(2 * len(fresh)):
            i = (start + turn) % len(fresh)
            wrong.extend((i, name) for name in same(alone[i], fresh[i].run(), alone[i]))

    threads = [threading.Thread(target=work, args=(2 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.contract("2 bits")
@pytest.mark.parametrize("name", ["jsd", "soft_targets", "vocab_scale", "learned_temperature"])
def test_runs_give_the_same_bits(name, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    for dtype in ("float32", "bfloat16"):
        made = zoo_sample(name, dtype)
        first = made.run()
        assert not any(same(first, made.run(), first) for _ in range(3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_many_tiles_of_tokens_do_not_disturb_each_other(dtype, monkeypatch):
    """Gradients may lie where the logits were, but tasks take their tiles in any order."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "4")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2100, 16)), rng.normal(size=(700, 16))
    given = {
        "z": tuple(part.astype(numpy_dtype(dtype)) for part in (x, w)),
        "target": rng.integers(0, 700, 2100),
    }
    made = Sample(CASES["plain"][0], given, {"reduction": "sum"}, ("hidden", "weight"), {"loss": 1.0})
    first = made.run()
    assert not any(same(first, made.run(), first) for _ in range(30))
    made.check()


def tokenwise(made, results):
    """What must not depend on chunks: outputs, gradients per token."""
    kept = {f"grad {given.name}" for given in made.spec.inputs if given.axis in ("token", "dense")}
    return [
        name for name in results if not name.startswith("grad") or name.endswith(".hidden") or name in kept
    ]


@pytest.mark.contract("2 bits")
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("name, dtype", [
    ("plain", "float32"), ("plain", "bfloat16"), ("jsd", "float16"), ("soft_targets", "bfloat16"),
    ("vocab_scale", "float32"), ("teacher_at_argmax", "float32"),
])  # fmt: skip
def test_chunks_do_not_change_the_bits_of_a_token(name, dtype, split, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    results = []
    for chunks in (1, 2, 3, 8, 16):
        made = zoo_sample(name, dtype, chunks=chunks)
        with gradients_apart(split):
            results.append(made.run())
    names = tokenwise(made, results[0])
    assert "loss" in names and len(names) > 1
    for chunks, other in zip((2, 3, 8, 16), results[1:], strict=True):
        assert not same(results[0], other, names), chunks


def test_random_losses_have_the_same_bits_for_any_number_of_chunks(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    for seed in range(320, 330):
        made = sample(seed)[0]
        one, many = (dataclasses.replace(made, options=made.options | {"chunks": k}) for k in (1, 3))
        first, other = one.run(), many.run()
        assert not same(first, other, tokenwise(made, first)), made


THREADS = """
import os, threading
import numpy as np
import logitile as lt

x, w = np.ones((4096, 64), np.float32), np.ones((4000, 64), np.float32)
lt.jit(lt.losses.cross_entropy, chunks=4)(x, w, target=np.zeros(4096, int))
print(len(os.listdir("/proc/self/task")) - 1)
"""


@pytest.mark.parametrize("number", [1, 2, 5])
def test_the_environment_says_how_many_threads_run(number):
    # NumPy's own threads are switched off; what remains beside the main one are helpers.
    printed = subprocesses.run(THREADS, LOGITILE_NUM_THREADS=str(number))
    assert int(printed) == number - 1


@pytest.mark.contract("5 merging")
@pytest.mark.parametrize("name", ["standardised_kl", "plain", "pairwise"])
def test_numbers_of_threads_agree_within_the_gate(name, monkeypatch):
    for number in ("1", "3", "7"):
        monkeypatch.setenv("LOGITILE_NUM_THREADS", number)
        zoo_sample(name, "float32").check()
