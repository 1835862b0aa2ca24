"""The suites of the CPU on the emulator of a GPU,
which checks calls for faults in several orders of threads.

Shapes are one or two tiles and a ragged rest on each axis: the emulator makes some hundred million
operations a second. Other tests run there as they are (`emulated`).
"""

import dataclasses
import itertools

import logitile as lt
import numpy as np
import pytest
from backends import EMULATOR, SEEDS, check_orders, is_on_gpu
from cases import CASES
from gate import Sample
from logitile import _native
from schedules import (
    KINDS,
    check_memory,
    gradients_apart,
    kind_of_loss,
    other_kind,
    plans,
    scheduled,
    smallest_workspace,
)  # fmt: skip
from test_canaries import CANARIES, PAIRS, canary, on_data
from test_random_losses import scheduled_sample
from test_zoo import sample

SHAPE = (150, 150, 24)
DTYPES = ("float32", "bfloat16", "float16")
RANDOM, MORE_RANDOM = 86, 14  # seeds by default, and of --full
SLOW = (3, 6, 33, 57, 61, 71)  # of the first, for --full
BEYOND_HALF = ("chi_squared", "grpo")
SMALL_TILES = "TM=32,TN=32,TD=32,TKproject=16,TKhidden=16,TKweight=16"
ON_EMULATOR = pytest.mark.parametrize("backend", [EMULATOR], indirect=True)
pytestmark = ON_EMULATOR


# ---- losses --------------------------------------------------------------------------------------


def with_small_tiles(made):
    """More of them, in half the time; where there is no budget,
    which is one for tiles of the table.
    """
    if "workspace" in made.options:
        return made
    return dataclasses.replace(made, options=made.options | {"tiles": SMALL_TILES})


def two_orders(number):
    """Orders of threads where many schedules meet many losses: that of the program,
    and one of the others.
    """
    return SEEDS[0], SEEDS[1 + number % 2]


def check_loss(name, kind, dtype, monkeypatch, is_small=False, seeds=SEEDS):
    made = sample(name, dtype, SHAPE)
    with scheduled(with_small_tiles(made) if is_small else made, kind) as made:
        check_orders(made, monkeypatch, seeds)
        check_memory(made)


@pytest.mark.parametrize("index, name", list(enumerate(CASES)))
def test_every_loss(index, name, monkeypatch):
    """Schedules and types take turns: 21 of them, then once more with small tiles."""
    dtype, is_small = DTYPES[index % len(DTYPES)], index >= len(DTYPES) * len(KINDS)
    check_loss(name, kind_of_loss(index, "sm_80"), dtype, monkeypatch, is_small=is_small)


@pytest.mark.parametrize("dtype, tiles", [
    ("bfloat16", "TN=96,TD=96"), ("float16", "TN=64,TD=192"), ("float32", "TM=96,TN=96,TD=96"),
])  # fmt: skip
def test_tiles_that_are_no_powers_of_two(dtype, tiles, monkeypatch):
    """Warps have blocks of 48 or 96 entries,
    and the last round of copies is for some of the threads.
    """
    made = sample("plain", dtype, (130, 300, 200))
    made.head.options = dataclasses.replace(made.head.options, tiles=tiles)
    check_orders(made, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("index, name", list(enumerate(CASES)))
def test_every_loss_under_another_schedule(index, name, monkeypatch):
    """Types and tiles take turns.

    Tensor cores multiply gradients of logits in float16, which those of some pass.
    """
    dtype = DTYPES[(index + 1) % len(DTYPES)]
    passes = dtype == "float16" and name in BEYOND_HALF
    dtype = "bfloat16" if passes else dtype
    kind = other_kind(index, "sm_80")
    check_loss(name, kind, dtype, monkeypatch, is_small=index % 2 == 1, seeds=two_orders(index))


def test_schedules_are_what_they_are_called(monkeypatch):
    """Stored, recomputed, or a part of each: the kernels of the gradient tell."""
    kernels = {}
    for kind in KINDS:
        with scheduled(sample("plain", "bfloat16", (300, 520, 8)), kind) as made:
            made.run()
            kernels[kind] = "".join(str(plan) for plan in plans(made))
    assert len(set(kernels.values())) == len(KINDS)


@pytest.mark.parametrize("dtype, hidden", [("float32", 136), ("float16", 1032)])
def test_a_part_of_the_logits_is_kept(dtype, hidden, monkeypatch):
    """Only where making them again costs more than memory traffic does."""
    tokens, vocab = 70, 1600  # several parts of a vocabulary on each target
    made = sample("plain", dtype, (tokens, vocab, hidden))
    with gradients_apart(True):
        logits = tokens * vocab * np.dtype(dtype).itemsize
        budget = smallest_workspace(made) + logits * 3 // 4
        made = dataclasses.replace(made, options=made.options | {"workspace": budget})
        check_orders(made, monkeypatch)
        check_memory(made)
    assert any(0 < plan["stored"] < plan["vocab"] for plan in plans(made))


@pytest.mark.parametrize("index, name", [
    pytest.param(i, name, marks=pytest.mark.full if name in CASES else ()) for i, name in enumerate(CANARIES)
])  # fmt: skip
def test_every_canary(index, name, monkeypatch):
    data = [data for pair, data in PAIRS if pair == name]
    made = on_data(canary(name, SHAPE), data[index % len(data)])
    with scheduled(made, KINDS[(index * 3 + 1) % len(KINDS)]) as made:
        check_orders(made, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("index, name, data", [(i, *pair) for i, pair in enumerate(PAIRS)])
def test_every_canary_on_its_data(index, name, data, monkeypatch):
    """Schedules and tiles take turns."""
    made = on_data(canary(name, SHAPE), data)
    with scheduled(with_small_tiles(made) if index % 2 else made, KINDS[index % len(KINDS)]) as one:
        check_orders(one, monkeypatch, two_orders(index))


# ---- random losses -------------------------------------------------------------------------------


def check_random(seed, monkeypatch):
    made = scheduled_sample(seed, monkeypatch)
    if seed % 3:
        made = with_small_tiles(made)
    check_orders(made, monkeypatch)
    check_memory(made)


@pytest.mark.parametrize("seed", [seed for seed in range(RANDOM) if seed not in SLOW])
def test_random_losses(seed, monkeypatch):
    check_random(seed, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("seed", [*SLOW, *range(RANDOM, RANDOM + MORE_RANDOM)])
def test_more_random_losses(seed, monkeypatch):
    check_random(seed, monkeypatch)


# ---- tails ---------------------------------------------------------------------------------------

VOCABS, HIDDENS, TOKENS = (1, 129, 50257, 152063), (1, 7, 9, 300, 4096), (0, 1, 37, 300)


def fits(vocab, hidden, tokens):
    """Whether the emulator can do it: a tile of tokens costs the same as one token."""
    return vocab * hidden <= 2**22 and (tokens <= 1 or vocab * hidden * tokens <= 2**22)


def covering():
    """Shapes with every value, and with every pair of values that fits, once or more."""
    shapes = [shape for shape in itertools.product(VOCABS, HIDDENS, TOKENS) if fits(*shape)]
    wanted = {pair for shape in shapes for pair in pairs_of(shape)}
    chosen = []
    while wanted:
        best = max(shapes, key=lambda shape: (len(wanted & pairs_of(shape)), -np.prod(shape)))
        chosen.append(best)
        wanted -= pairs_of(best)
    return chosen


def pairs_of(shape):
    return set(itertools.combinations(enumerate(shape), 2))


def tailed(vocab, hidden, tokens, dtype, unaligned):
    """A call; unaligned rows start in the middle of 16 bytes."""
    made = sample("plain", dtype, (tokens, vocab, hidden))
    if not unaligned:
        return made
    given = {name: tuple(shifted(operand) for operand in pair) for name, pair in made.pairs.items()}
    return dataclasses.replace(made, given=made.given | given)


def shifted(array):
    """The same numbers one element further in memory."""
    memory = np.zeros(array.size + 1, array.dtype)
    memory[1:] = array.reshape(-1)
    return memory[1:].reshape(array.shape)


def is_quick(shape):
    vocab, hidden, tokens = shape
    return vocab * hidden <= 2**20 and vocab * max(tokens, 1) <= 2**17


@pytest.mark.parametrize("index, shape", [
    pytest.param(i, shape, marks=() if is_quick(shape) else pytest.mark.full)
    for i, shape in enumerate(covering())
])  # fmt: skip
def test_tails(index, shape, monkeypatch):
    tailed(*shape, DTYPES[index % 3], unaligned=index % 2 == 1).check()


def test_tails_cover_what_they_should():
    shapes = covering()
    for values, axis in zip((VOCABS, HIDDENS, TOKENS), range(3), strict=True):
        assert {shape[axis] for shape in shapes} == set(values)


def test_several_tiles_in_a_vocab_split(monkeypatch):
    check_orders(sample("entropy", "bfloat16", (140, 2200, 24)), monkeypatch)


@pytest.mark.full
def test_tiles_of_rows_in_several_groups(monkeypatch):
    """Hidden states so long that those of four tiles fill a group's share of the L2:
    two tiles are left.
    """
    made = with_small_tiles(tailed(33, 2**16, 161, "bfloat16", unaligned=False))
    check_orders(dataclasses.replace(made, wrt=()), monkeypatch, SEEDS[:1])


# ---- tile configurations -------------------------------------------------------------------------


@lt.loss
def three(z: lt.Logits, t: lt.Logits, u: lt.Logits, y: lt.Token[int]):
    return lt.logsumexp(z) - z[y] + lt.sum(lt.softmax(t) * (lt.log_softmax(t) - lt.log_softmax(u)))


def held(values, dtype):
    """A loss whose kernels hold so many tiles at a time."""
    if values < 3:
        return sample("plain" if values == 1 else "forward_kl", dtype, (140, 140, 40))
    rng = np.random.default_rng(0)
    base = sample("forward_kl", dtype, (140, 140, 40))
    given = {"z": base.given["z"], "t": base.given["t"], "u": base.given["z"], "y": rng.integers(0, 140, 140)}
    wrt = tuple(f"{pair}.{operand}" for pair in "ztu" for operand in ("hidden", "weight"))
    return Sample(three, given, base.options, wrt, base.cotangent)


KIND = EMULATOR.partition(":")[0]


def skip_what_the_gpu_cannot_run(target):
    """Code runs on its own GPU and on later ones. Code of a variant (sm_90a) runs there alone."""
    if not is_on_gpu(EMULATOR):
        return
    gpu = _native.device_target("cuda")
    wanted, own = (int(name.rpartition("_")[2].rstrip("a")) for name in (target, gpu))
    if wanted > own or (target.endswith("a") and wanted != own):
        pytest.skip(f"code for {target} does not run on {gpu}")


@pytest.mark.parametrize("target, values", [
    pytest.param(f"{KIND}:sm_{sm}", values, marks=() if sm in ("80", "90", "90a") else pytest.mark.full)
    for sm in ("80", "86", "89", "90", "90a", "100", "120") for values in (1, 2, 3)
])  # fmt: skip
def test_every_tile_configuration(target, values, monkeypatch):
    skip_what_the_gpu_cannot_run(target)
    for dtype in ("bfloat16", "float32") if values == 1 else ("bfloat16",):
        made = held(values, dtype)
        dataclasses.replace(made, options=made.options | {"backend": target}).check()


# ---- orders --------------------------------------------------------------------------------------


@pytest.mark.skipif(is_on_gpu(EMULATOR), reason="a GPU has an order of its own")
def test_orders_differ(monkeypatch):
    """A seed that is no number is refused where it is read, so seeds do reach the emulator."""
    assert len(set(SEEDS)) == 3
    monkeypatch.setenv("LOGITILE_EMULATOR_SEED", "first")
    with pytest.raises(lt.LogitileError, match="LOGITILE_EMULATOR_SEED is 'first'"):
        sample("plain", "float32", SHAPE).run()
