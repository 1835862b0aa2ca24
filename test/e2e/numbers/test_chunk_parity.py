"""Chunks and budgets change where and when numbers are made, not which: ragged counts, ignored
tokens in one chunk only, budgets from the least to what keeps everything.
"""

import dataclasses
import itertools

import logitile as lt
import numpy as np
import pytest
from backends import CPU
from gate import Sample
from random_specs import numpy_dtype
from schedules import check_memory, gradients_apart, records, smallest_workspace

TOKENS, VOCAB, HIDDEN = 1003, 307, 24  # no multiple of any tile
CHUNKS, EMULATED = (1, 2, 3, 8, 16), (1, 16)


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], share: lt.Vocab[float]):
    log_p = lt.log_softmax(z)
    share = share[target]
    return lt.Outputs(loss=-share * log_p[target], weight=share, entropy=-lt.sum(lt.exp(log_p) * log_p))


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def two_sweeps(z: lt.Logits, target: lt.Token[int]):
    centred = z - lt.mean(z)
    return -lt.log_softmax(centred * lt.rsqrt(lt.mean(lt.square(centred)) + 1e-5))[target]


def sample(loss, dtype, ignored=slice(0, 0), tokens=TOKENS, **options):
    """A call whose tokens in `ignored` count nowhere, though their hidden states are NaN."""
    rng = np.random.default_rng(2)
    hidden = rng.normal(size=(tokens, HIDDEN)).astype(np.float32)
    weight = (rng.normal(size=(VOCAB, HIDDEN)) * 3 / HIDDEN**0.5).astype(np.float32)
    target = rng.integers(0, VOCAB, tokens)
    target[ignored], hidden[ignored] = -100, np.nan
    given = {"z": tuple(x.astype(numpy_dtype(dtype)) for x in (hidden, weight)), "target": target}
    cotangent = {"loss": 1.0}
    if loss is weighted:
        given["share"] = np.linspace(0.2, 3, VOCAB, dtype=np.float32)
    return Sample(loss, given, {"reduction": "mean", **options}, ("hidden", "weight"), cotangent)


def same_bits(one, other, names):
    return all(one[name].tobytes() == other[name].tobytes() for name in names)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")


# ---- chunks --------------------------------------------------------------------------------------

IGNORED = {"none": slice(0, 0), "of the first chunk": slice(0, 400), "of the last chunk": slice(940, TOKENS),
           "of a chunk between": slice(512, 640)}  # fmt: skip


@pytest.mark.emulated("full")
@pytest.mark.contract("2 ignored cost", "2 bits")
@pytest.mark.parametrize("ignored", IGNORED)
@pytest.mark.parametrize("loss, dtype", [(plain, "bfloat16"), (weighted, "float32"), (two_sweeps, "float16")])
def test_the_bits_of_losses_and_of_hidden_gradients_do_not_depend_on_chunks(loss, dtype, ignored, backend):
    results, numbers = {}, CHUNKS if backend == CPU else EMULATED
    for chunks in numbers:
        made = sample(loss, dtype, IGNORED[ignored], chunks=chunks)
        # the weight's gradient too
        results[chunks] = made.check() if chunks in (3, 16) else made.run()
        counted = TOKENS - len(range(*IGNORED[ignored].indices(TOKENS)))
        if backend != CPU:
            counted = TOKENS  # a GPU does not tell the host
        assert records(made.head)[-1]["counted"] == counted
    names = [name for name in results[1] if name != "grad z.weight"]
    for chunks in numbers[1:]:
        assert same_bits(results[1], results[chunks], names), chunks


@pytest.mark.emulated("full")
@pytest.mark.contract("2 chunks")
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("tokens", [1, 7, 16, 130])
def test_there_may_be_more_chunks_than_tokens(tokens, split):
    results = []
    for chunks in (1, 16):
        with gradients_apart(split):
            results.append(sample(plain, "float32", tokens=tokens, chunks=chunks).run())
    assert same_bits(*results, ["loss", "grad z.hidden"])


@pytest.mark.emulated("full")
@pytest.mark.contract("2 mean")
def test_a_mean_is_none_of_chunk_means():
    """The tokens of one chunk are ignored but one:
    it must not weigh as much as all of another chunk.
    """
    made = sample(weighted, "float32", slice(1, 900), chunks=4)
    whole = made.reference()["loss"]
    per_token = dataclasses.replace(made, options={**made.options, "reduction": "none"}, wrt=()).reference()
    share = np.where(made.given["target"] >= 0, made.given["share"][made.given["target"]], 0)
    parts = [slice(i, i + 256) for i in range(0, TOKENS, 256)]
    means = [per_token["loss"][part].sum() / share[part].sum() for part in parts if share[part].any()]
    found = made.run()["loss"]
    assert abs(np.mean(means) - whole) > 0.01 * abs(whole)  # the wrong number would show
    assert abs(found - whole) <= 1e-5 * abs(whole)


# ---- budgets -------------------------------------------------------------------------------------


@pytest.mark.contract("2 workspace", "2 budgets agree")
@pytest.mark.parametrize("loss, dtype, split", [
    (plain, "float32", False), (weighted, "float32", True), (two_sweeps, "bfloat16", False),
    (two_sweeps, "bfloat16", True),
])  # fmt: skip
def test_every_budget_gives_the_same_numbers_in_the_memory_that_is_told(loss, dtype, split):
    made = sample(loss, dtype)
    with gradients_apart(split):
        least = smallest_workspace(made)
        measured, told = [], []
        for budget in [least + int(part * 4 * TOKENS * VOCAB) for part in (4, 0.6, 0.2, 0)]:
            limited = dataclasses.replace(made, options=made.options | {"workspace": budget})
            limited.check()
            check_memory(limited)
            measured.append(max(record["measured_bytes"] for record in records(limited.head)))
            told.append(max(record["predicted_bytes"] for record in records(limited.head)))
            if not split:
                explained = limited.head.explain(**limited.passed, grad=limited.wrt)
                assert explained.workspace_bytes == told[-1] <= budget
    assert told[-1] < told[0] / 1.5, told
    for one, other in itertools.combinations(range(len(told)), 2):
        # other schedules may need a little more again
        if abs(told[one] - told[other]) > 0.05 * told[0]:
            assert (told[one] > told[other]) == (measured[one] > measured[other]), (told, measured)
