"""Logits of several projections that kernels of their own make: GPUs where tiles of one projection
are faster than those of all of them.
"""

import logitile as lt
import numpy as np
import pytest
from backends import CPU, EMULATOR
from gate import Sample
from random_specs import numpy_dtype
from schedules import gradients_apart, plans, scheduled

TOKENS, VOCAB = 150, 701

# Hidden sizes of which the products take long enough: narrow tiles cost less on an H200.
EVEN, ODD = ((640, 704), (519, 1030)) if EMULATOR == "emu:sm_80" else ((3008, 2944), (3001, 3970))

pytestmark = pytest.mark.emulated


@pytest.fixture(autouse=True)
def is_a_gpu(backend):
    if backend == CPU:
        pytest.skip("tiles of CPUs are in caches, whatever their size")


@lt.loss
def distilled(z: lt.Logits, t: lt.Logits, y: lt.Token[int], share: lt.Token[float]):
    kl = lt.sum(lt.softmax(t) * (lt.log_softmax(t) - lt.log_softmax(z)))
    return share * kl - (1 - share) * lt.log_softmax(z)[y]


@lt.loss
def two_sweeps(z: lt.Logits, t: lt.Logits):
    return lt.sum(lt.abs(lt.softmax(z) - lt.softmax(t)))


def sample(loss, dtype, hidden, *, of=("z", "t"), **options):
    rng = np.random.default_rng(9)

    def pair(size):
        x, w = rng.normal(size=(TOKENS, size)), rng.normal(size=(VOCAB, size)) / size**0.5
        return x.astype(numpy_dtype(dtype)), w.astype(numpy_dtype(dtype))

    given = {"z": pair(hidden[0]), "t": pair(hidden[1])}
    if loss is distilled:
        given |= {"y": rng.integers(0, VOCAB, TOKENS), "share": rng.uniform(size=TOKENS).astype(np.float32)}
    wrt = tuple(f"{pair}.{operand}" for pair in of for operand in ("hidden", "weight"))
    cotangent = {"loss": rng.normal(size=TOKENS).astype(np.float32)}
    return Sample(loss, given, {"reduction": "none", **options}, wrt, cotangent)


def launches(made):
    return [step["launch"] for step in plans(made)[-1]["forward"] if "launch" in step]


@pytest.mark.parametrize("loss", [distilled, two_sweeps])
@pytest.mark.parametrize("dtype, hidden", [("bfloat16", EVEN), ("float16", ODD)])
def test_one_chunk(loss, dtype, hidden):
    made = sample(loss, dtype, hidden, chunks=1)
    made.check()
    if EMULATOR in ("emu:sm_80", "emu:sm_90a"):
        assert {"project_z", "project_t"} <= set(launches(made))


@pytest.mark.parametrize("kind", ["chunks", "split kept", "split hybrid"])
def test_other_schedules(kind):
    """Students alone have gradients, as most distillations have it."""
    with scheduled(sample(distilled, "bfloat16", EVEN, of=("z",)), kind) as made:
        made.check()


@pytest.mark.contract("2 bits")
def test_bits_do_not_depend_on_the_number_of_chunks():
    """In a backward pass of its own, several chunks make logits again, in narrow tiles."""
    with gradients_apart(True):
        found = [sample(distilled, "bfloat16", EVEN, chunks=chunks).run() for chunks in (1, 3)]
    for result in ("loss", "grad z.hidden", "grad t.hidden"):
        np.testing.assert_array_equal(*(one[result] for one in found), err_msg=result)
