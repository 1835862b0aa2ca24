"""Losses whose logits are products of warpgroups,
on the emulator of sm_90a or on a GPU that is one.

Shapes are one or two tiles and a ragged rest on each axis, or none.
test_emulator.py has what is the same for all GPUs.
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
from random_specs import numpy_dtype
from schedules import kind_of_loss, other_kind, records, scheduled
from test_emulator import BEYOND_HALF, SHAPE, tailed, two_orders
from test_kernel_work import check_work
from test_zoo import sample

TARGET = EMULATOR.partition(":")[0] + ":sm_90a"
pytestmark = [
    pytest.mark.parametrize("backend", [TARGET], indirect=True),
    pytest.mark.skipif(
        is_on_gpu(TARGET) and _native.device_target("cuda") != TARGET,
        reason="code for sm_90a runs on compute capability 9.0 alone",
    ),
]
HALVES = ("bfloat16", "float16")
DTYPES = (*HALVES, "float32")
QUICK = 14  # of the losses, by default
# Blocks of 64 steps: one, several, more than there are stages; rests of all kinds.
VOCABS, HIDDENS, TOKENS = (1, 64, 130, 1025), (1, 16, 64, 72, 321), (1, 64, 129, 200)
SHAPES = [
    (VOCABS[i % 4], hidden, TOKENS[(i + j) % 4]) for i, hidden in enumerate(HIDDENS) for j in range(2)
] + [(257, 520, 130), (128, 64, 128)]


def check_loss(index, name, kind, monkeypatch, seeds=SEEDS):
    dtype = DTYPES[index % 3]
    if name in BEYOND_HALF and dtype == "float16":
        dtype = "bfloat16"
    with scheduled(sample(name, dtype, SHAPE), kind) as made:
        check_orders(made, monkeypatch, seeds)


@pytest.mark.parametrize("index, name", [
    pytest.param(i, name, marks=() if i < QUICK else pytest.mark.full) for i, name in enumerate(CASES)
])  # fmt: skip
def test_every_loss(index, name, monkeypatch):
    """Schedules and types take turns."""
    check_loss(index, name, kind_of_loss(index, "sm_90a"), monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("index, name", list(enumerate(CASES)))
def test_every_loss_under_another_schedule(index, name, monkeypatch):
    check_loss(index + 1, name, other_kind(index, "sm_90a"), monkeypatch, two_orders(index))


@pytest.mark.parametrize("index, shape", list(enumerate(SHAPES)))
def test_tails(index, shape, monkeypatch):
    """Some operands start in the middle of 16 bytes. There is a separate loop for them."""
    check_orders(tailed(*shape, DTYPES[index % 3], unaligned=index % 4 == 3), monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("index, case", list(enumerate(itertools.product(SHAPES, DTYPES))))
def test_all_tails(index, case, monkeypatch):
    """Aligned and unaligned operands take turns."""
    shape, dtype = case
    check_orders(tailed(*shape, dtype, unaligned=index % 4 == 0), monkeypatch)


OTHER_TILES = [
    ("bfloat16", "TKproject=16,TKhidden=16,TKweight=16"),
    ("bfloat16", "TM=64,TN=64,TD=96"),
    ("bfloat16", "TM=128,TN=256,TD=32,TKweight=16"),
    ("float32", "TKproject=16,TKhidden=16,TKweight=16"),
    ("float32", "TM=64,TN=96,TD=96"),
    ("float32", "TM=64,TN=64,TD=64,TKweight=16"),
]


@pytest.mark.parametrize("dtype, tiles", OTHER_TILES)
def test_other_tiles(dtype, tiles, monkeypatch):
    """Lines of 32, 64 and 128 bytes; one panel and several."""
    made = sample("plain", dtype, (130, 300, 72))
    made.head.options = dataclasses.replace(made.head.options, tiles=tiles)
    check_orders(made, monkeypatch)


@pytest.mark.parametrize("tiles, vocab", [
    ("TM=192", 128), ("TM=128,TN=96,TKproject=16", 192), ("TM=256,TN=32", 64),
    ("TM=128,TD=32,TKhidden=16", 128),
])  # fmt: skip
def test_blocks_with_fewer_chunks_than_threads(tiles, vocab, monkeypatch):
    """Tiles divide the vocabulary and the hidden axis: only the tile's end is that of the reads."""
    made = sample("plain", "float32", (70, vocab, 64))
    made.head.options = dataclasses.replace(made.head.options, tiles=tiles)
    check_orders(made, monkeypatch)


PAIRS = "TM=64,TN=64,TD=128,cluster=2"


PAIRED_SHAPES = [(130, 300, 72), (257, 520, 130), (64, 64, 64), (1025, 72, 200)]


@pytest.mark.parametrize("index, shape", list(enumerate(PAIRED_SHAPES)))
def test_tails_of_pairs(index, shape, monkeypatch):
    """Even and odd numbers of tiles along each axis, one alone, and operands that have no boxes."""
    made = tailed(*shape, HALVES[index % 2], unaligned=index == 1)
    made.head.options = dataclasses.replace(made.head.options, tiles=PAIRS)
    check_orders(made, monkeypatch)


@pytest.mark.parametrize("index, name", [
    pytest.param(i, name, marks=() if i % 6 == 0 else pytest.mark.full) for i, name in enumerate(CASES)
])  # fmt: skip
def test_every_loss_by_pairs(index, name, monkeypatch):
    kind = kind_of_loss(index, "sm_90a")
    made = sample(name, "bfloat16" if name in BEYOND_HALF else HALVES[index % 2], SHAPE)
    with scheduled(dataclasses.replace(made, options=made.options | {"tiles": PAIRS}), kind) as scheduled_one:
        check_orders(scheduled_one, monkeypatch, SEEDS)


@pytest.mark.parametrize("tiles", [
    PAIRS, "TM=64,TN=128,TD=192,TKproject=16,TKhidden=16,TKweight=16,cluster=2",
])  # fmt: skip
def test_pairs_of_which_tokens_do_not_count(tiles, monkeypatch):
    """Where those that count end within the tiles of a pair, its blocks are alone."""
    made = sample("plain", "bfloat16", (300, 330, 136))
    targets = made.given["target"].copy()
    targets[::3] = -100
    made = dataclasses.replace(made, given=made.given | {"target": targets})
    made.head.options = dataclasses.replace(made.head.options, tiles=tiles)
    check_orders(made, monkeypatch)


@pytest.mark.skipif(is_on_gpu(TARGET), reason="GPUs do not count")
@pytest.mark.parametrize("kind", ["kept", "recompute"])
def test_work_of_pairs_is_as_predicted(kind):
    """Each of two blocks copies half of what they share; of three tiles, one is alone."""
    check_work("plain", "bfloat16", kind, tiles=PAIRS)


@pytest.mark.skipif(is_on_gpu(TARGET), reason="GPUs do not count")
@pytest.mark.parametrize("kind", ["kept", "chunks"])
def test_work_of_planes_is_as_predicted(kind):
    """No lanes meet in a memory bank, and hardly any numbers are read that are not there:
    rows of stored gradients end with whole chunks.
    """
    check_work("plain", "float32", kind, tiles="TM=64,TN=64,TD=64")


def barriers(made):
    """Of each kernel with products, in a call with gradients."""
    made.run()
    kernels = [kernel for record in records(made.head) for kernel in record["kernels"]]
    return {k["name"]: k["counters"]["barriers"] for k in kernels if k["counters"]["matrix_instructions"]}


@pytest.mark.skipif(is_on_gpu(TARGET), reason="GPUs do not count")
def test_operands_come_as_boxes():
    """The loop over a shared axis has no barriers then. Copying threads need one per block."""
    short, long, copied = (
        barriers(tailed(130, hidden, 129, "bfloat16", unaligned))
        for hidden, unaligned in ((64, False), (640, False), (640, True))
    )
    products = [name for name in short if name.startswith(("forward", "gradient"))]
    assert products
    for name in products:
        assert short[name] == long[name] < copied[name]


@pytest.mark.skipif(is_on_gpu(TARGET), reason="GPUs do not count")
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_tile_with_tokens_that_do_not_count_is_copied(dtype, monkeypatch):
    """What a map says of them nobody has written."""
    made = sample("plain", dtype, (300, 130, 136))
    targets = made.given["target"].copy()
    targets[::3] = -100
    check_orders(dataclasses.replace(made, given=made.given | {"target": targets}), monkeypatch)


@lt.loss
def thinned(z: lt.Logits, y: lt.Token[int], far: lt.Vocab[bool], seed: lt.Scalar[int]):
    x = lt.where(lt.uniform(seed) < 0.8, lt.where(far, z - 100.0, z), 0.0)
    return lt.logsumexp(x) - x[y]


@pytest.mark.parametrize("vocab", [125, 126, 127, 255])
def test_rows_whose_padding_ends_with_a_tile(vocab):
    """Threads that read what was stored read some of the padding with it."""
    rng = np.random.default_rng(0)
    z = tuple(rng.normal(size=(count, 72)).astype(numpy_dtype("bfloat16")) for count in (17, vocab))
    given = {"z": z, "y": rng.integers(0, vocab, 17), "far": rng.random(vocab) < 0.5, "seed": np.int32(5)}
    Sample(thinned, given, {"reduction": "sum"}, ("hidden", "weight"), {"loss": 1.0}).check()
