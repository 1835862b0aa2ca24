"""Measures what a warm call costs beside its arithmetic: cross entropy of one token, 8 wide,
over 16 entries.

Run it with the built package: `PYTHONPATH=build/python python bench/overhead.py`. Every row is the
fastest of many short rounds, in microseconds for one call, since whatever else the machine does
only adds time. Rows of torch's and JAX's own operators and of the native call alone say what the
Python above costs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import jax
import logitile as lt
import numpy as np
import torch
import torch.nn.functional as F
from logitile.arguments.wanted import Wanted
from logitile.calls.results import new_outputs

CALLS_PER_ROUND = 50


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """The time of one call, of the fastest round."""
    for _ in range(50):
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(CALLS_PER_ROUND):
            call()
        times.append((time.perf_counter() - start) / CALLS_PER_ROUND)
    return min(times) * 1e6


def import_milliseconds() -> float:
    """What `import logitile` takes of the processor in a process of its own:
    the fastest of several.
    """
    code = "import time; start = time.process_time(); import logitile; print(time.process_time() - start)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9)) * 1e3


def native_call(head: lt.Head, *arrays: np.ndarray, target: np.ndarray) -> Callable[[], object]:
    """The forward program alone, with arrays that are described already."""
    call = head._bind(*arrays, target=target)
    job = head._programs.program(call, Wanted()).native_call(call)
    _, outputs = new_outputs(call)
    return lambda: job.plan.forward(job.options, job.inputs, outputs)


@jax.jit
def jax_sum(hidden: jax.Array, weight: jax.Array, label: jax.Array) -> jax.Array:
    """Nearly nothing, of the same arguments."""
    return hidden.sum()


@jax.jit
def jax_dense(hidden: jax.Array, weight: jax.Array, *, target: jax.Array) -> jax.Array:
    """Cross entropy of one token by jax.numpy."""
    logits = hidden @ weight.T
    picked = jax.numpy.take_along_axis(logits, target[:, None], 1)[:, 0]
    return (jax.nn.logsumexp(logits, 1) - picked).mean()


def cases() -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    head = lt.jit(lt.losses.cross_entropy)
    random = np.random.default_rng(0)
    arrays = random.standard_normal((1, 8), np.float32), random.standard_normal((16, 8), np.float32)
    target = np.array([3])
    hidden, weight = (torch.tensor(array) for array in arrays)
    leaves = [tensor.clone().requires_grad_() for tensor in (hidden, weight)]
    label = torch.tensor(target)

    jax_arrays, jax_label = [jax.numpy.asarray(array) for array in arrays], jax.numpy.asarray(target)
    in_jit = jax.jit(lambda h, w, t: head(h, w, target=t))

    def backward(loss: torch.Tensor) -> None:
        loss.backward()
        leaves[0].grad = leaves[1].grad = None

    return {
        "native forward": native_call(head, *arrays, target=target),
        "NumPy forward": lambda: head(*arrays, target=target),
        "NumPy value_and_grad": lambda: head.value_and_grad(*arrays, target=target),
        "torch forward": lambda: head(hidden, weight, target=label),
        "torch forward, gradients recorded": lambda: head(*leaves, target=label),
        "torch forward and backward": lambda: backward(head(*leaves, target=label)),
        "JAX forward": lambda: jax.block_until_ready(head(*jax_arrays, target=jax_label)),
        "JAX forward inside of jit": lambda: jax.block_until_ready(in_jit(*jax_arrays, jax_label)),
        "a sum in JAX inside of jit": lambda: jax.block_until_ready(jax_sum(*jax_arrays, jax_label)),
        "JAX's own forward": lambda: jax.block_until_ready(jax_dense(*jax_arrays, target=jax_label)),
        "torch's own forward": lambda: F.cross_entropy(F.linear(hidden, weight), label),
        "torch's own forward and backward": lambda: backward(F.cross_entropy(F.linear(*leaves), label)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="rounds of 50 calls (200)")
    arguments = parser.parse_args()
    print(f"{'call':34} {'us':>7}")
    print(f"{'import logitile':34} {import_milliseconds() * 1e3:7.0f}", flush=True)
    for name, call in cases().items():
        print(f"{name:34} {microseconds(call, arguments.rounds):7.1f}", flush=True)


if __name__ == "__main__":
    main()
