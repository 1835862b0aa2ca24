"""What the emulator counts of kernels, against the cost model,
and that no lanes meet in a memory bank.
"""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from backends import EMULATOR, is_on_gpu
from schedules import records, scheduled
from test_emulator import SMALL_TILES
from test_zoo import sample

pytestmark = [
    pytest.mark.skipif(is_on_gpu(EMULATOR), reason="GPUs do not count"),
    pytest.mark.parametrize("backend", [EMULATOR], indirect=True),
]
SHAPE = (140, 170, 136)  # tokens, vocabulary, hidden: more than four tiles, a rest on each axis
KINDS = ("statistics", "kept", "chunks", "recompute", "split hybrid")


def used_kernels(made):
    """What the history tells of each launched kernel of a sample's calls."""
    kernels = [kernel for record in records(made.head) for kernel in record["kernels"]]
    assert kernels
    return kernels


def moved(kernel):
    """Bytes of global memory that threads asked for, and as predicted."""
    counters = kernel["counters"]
    return counters["global_read_bytes"] + counters["global_write_bytes"], kernel["predicted"]["global_bytes"]


def check_work(name, dtype, kind, shape=SHAPE, tiles=SMALL_TILES):
    """Products exactly; bytes within 2 % in all that multiply, and in the whole call.

    Other kernels may ask for less than predicted: threads after the last token need not read what
    they do not store. At most a tile of 64 in a chunk of 47 tokens stands after it. How many
    targets lie in a part of the vocabulary is not predicted: kernels of the stored part count
    together with those of the other.

    Returns: the names of the kernels.
    """
    usual = sample(name, dtype, shape)
    small = dataclasses.replace(usual, options=usual.options | {"tiles": tiles})
    with scheduled(small, kind) as made:
        made.run()
        kernels = used_kernels(made)
    sums, products = {}, set()
    for kernel in kernels:
        counters, predicted = kernel["counters"], kernel["predicted"]
        assert counters["matrix_instructions"] == predicted["matrix_instructions"], kernel
        assert counters["bank_conflicts"] == 0, kernel
        whole = kernel["name"].removesuffix("_stored")
        sums[whole] = [sum(pair) for pair in zip(sums.get(whole, (0, 0)), moved(kernel), strict=True)]
        if counters["matrix_instructions"]:
            products.add(whole)
    assert products
    for whole, (counted, expected) in sums.items():
        if whole in products:
            assert expected == pytest.approx(counted, rel=0.02), whole
        assert 0.98 * counted <= expected <= 1.02 * 64 / 47 * counted, whole
    counted, expected = (sum(amounts) for amounts in zip(*sums.values(), strict=True))
    assert expected == pytest.approx(counted, rel=0.02), sums
    return set(sums)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_work_is_as_predicted(kind, dtype):
    check_work("plain", dtype, kind)


@pytest.mark.parametrize(("dtype", "vocab"), [("bfloat16", 9300), ("float32", 3100)])
def test_work_in_parts_of_the_vocabulary_is_as_predicted(dtype, vocab):
    assert "join_z_hidden" in check_work("plain", dtype, "kept", (40, vocab, 72))


OTHERS = list(enumerate(itertools.product(["vocab_scale", "jsd", "entropy", "topk_kl", "mtp"], KINDS)))


@pytest.mark.full
@pytest.mark.parametrize("index, case", OTHERS)
def test_work_of_other_losses_is_as_predicted(index, case):
    """Types take turns."""
    name, kind = case
    check_work(name, ("bfloat16", "float16", "float32")[index % 3], kind)


@pytest.mark.full
@pytest.mark.parametrize("index, kind", list(enumerate(KINDS)))
def test_work_with_the_tiles_of_the_table_is_as_predicted(index, kind):
    """Types take turns."""
    check_work("plain", ("bfloat16", "float32")[index % 2], kind, (512, 520, 520), "")


def test_explanations_show_the_counters():
    made = sample("plain", "bfloat16", (40, 70, 40))
    told = made.head.explain(**made.passed, timing=True)
    products = [kernel for kernel in told.kernels if kernel.flops]
    assert products
    for kernel in products:
        assert kernel.counters["matrix_instructions"] == kernel.predicted["matrix_instructions"] > 0
        assert kernel.counters["barriers"] > 0
    assert "counted by the emulator" in str(told)


def test_other_backends_count_nothing():
    made = sample("plain", "float32", (40, 70, 40), backend="cpu")
    told = made.head.explain(**made.passed, timing=True)
    assert all(kernel.milliseconds > 0 and kernel.counters is None for kernel in told.kernels)
    assert "emulator" not in str(told)
