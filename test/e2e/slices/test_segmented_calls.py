"""Sums and means over sequences as whole calls: schedules, types, emulated GPUs, processes."""

import backends
import logitile as lt
import numpy as np
import parallel_call_jobs as jobs
import pytest
from test_parallel_losses import team

TOKENS, VOCAB, HIDDEN, COUNT = 70, 90, 32, 5


def arguments(dtype):
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((TOKENS, HIDDEN)).astype(dtype)
    weight = (0.5 * rng.standard_normal((VOCAB, HIDDEN))).astype(dtype)
    target = rng.integers(0, VOCAB, TOKENS)
    target[::9] = -100
    return (hidden, weight), target, rng.integers(-1, COUNT, TOKENS)


@pytest.mark.contract("2 segments")
@pytest.mark.emulated
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("options", [{}, {"chunks": 2}], ids=str)
def test_outputs_and_gradients(options, reduction, dtype):
    operands, target, ids = arguments(dtype)
    head = backends.jit(lt.losses.logprob_entropy, reduction=reduction, **options)
    segments = lt.Segments(backends.moved(ids, head.options.backend), COUNT)
    reaching = {"logprob": np.linspace(-1, 1, COUNT, dtype=np.float32), "entropy": 0.3}
    given = [backends.moved(array, head.options.backend) for array in (*operands, target)]
    out, gradients = head.value_and_grad(*given[:2], target=given[2], segments=segments, grad_output=reaching)
    wanted, exact = head.reference_grad(
        *operands, target=target, segments=lt.Segments(ids, COUNT), grad_output=reaching
    )
    for found, right in zip(out, wanted, strict=True):
        np.testing.assert_allclose(backends.brought_back(found), right, rtol=1e-5, atol=1e-5)
    unit = {"float32": 2.0**-24, "float16": 2.0**-11}[dtype]
    for name, gradient in gradients.items():
        difference = np.linalg.norm(backends.brought_back(gradient) - exact[name])
        assert difference <= 8 * unit * np.linalg.norm(exact[name]) + 1e-6


@pytest.mark.contract("2 segments")
@pytest.mark.parametrize(
    "job", [jobs.summing_sequences, jobs.compiling_sequences], ids=lambda job: job.__name__
)
def test_slices_of_the_vocabulary(job):
    team(2).run(job)


def test_split_tokens_are_refused_and_wrong_ids_end_all_processes():
    assert team(2).run(jobs.refusing_sequences) == [True, True]


def test_data_parallel_training():
    """DDP averages the gradients of the processes' sequences."""
    team(2).run(jobs.averaging_sequences)
