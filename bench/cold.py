"""Measures what the first call of each library loss takes in a fresh process: tracing,
compiling, loading.

Run it with the built package: `PYTHONPATH=build/python python bench/cold.py`. Each figure is the
median of several processes. Importing logitile and its native module is not counted, nor is the
call's own work: the time of a second call is taken off. Gradients of hidden states and weights are
made where the loss has any. A cache on disk would hide it all: every process has an empty one.

With `--gpu sm_90` it measures tracing and compiling to PTX instead, for which no GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import logitile as lt
import numpy
from logitile.runtime import engine
from logitile.spec.gradient_flow import differentiable_outputs

TOKENS, HIDDEN, VOCAB, ENTRIES = 64, 64, 1000, 4


def arguments(loss: lt.Loss, dtype: str) -> tuple[list[numpy.ndarray], dict[str, numpy.ndarray]]:
    """Small arrays for every required input of a loss: those of pairs by position,
    all others by name.
    """
    random = numpy.random.default_rng(0)
    kind = numpy.float32
    if dtype == "bfloat16":
        import ml_dtypes

        kind = ml_dtypes.bfloat16
    pairs = []
    for _ in loss.signature.pairs:
        pairs += [random.standard_normal(shape).astype(kind) for shape in ((TOKENS, HIDDEN), (VOCAB, HIDDEN))]
    others = {}
    for parameter in loss.signature.others:
        if parameter.optional:
            continue
        wanted = parameter.kinds[0]
        shape = {"token": (TOKENS,), "vocab": (VOCAB,), "dense": (TOKENS, VOCAB), "scalar": ()}[wanted.axis]
        shape += (ENTRIES,) if wanted.entries is not None else ()
        if wanted.element == "int":
            others[parameter.name] = random.integers(0, VOCAB, size=shape)
        else:
            others[parameter.name] = random.random(shape, numpy.float32)
    return pairs, others


def differentiated(loss: lt.Loss) -> list[str]:
    """The outputs that gradients are made of: the loss, else all that have one."""
    pairs, others = arguments(loss, "float32")
    head = lt.jit(loss)
    names = differentiable_outputs(head._bind(*pairs, **others).form.spec)
    return ["loss"] if "loss" in names else list(names)


def measured_here(name: str, dtype: str, outputs: list[str]) -> dict[str, Any]:
    """Milliseconds of the first call beyond those of the second, and of the compiler's stages."""
    engine.native()
    loss = getattr(lt.losses, name)
    pairs, others = arguments(loss, dtype)
    if outputs and outputs != ["loss"]:
        others["grad_output"] = {output: numpy.ones(TOKENS, numpy.float32) for output in outputs}
    head = lt.jit(loss)
    call = head.value_and_grad if outputs else head
    times = []
    for _ in range(2):
        start = time.perf_counter()
        call(*pairs, **others)
        times.append(1e3 * (time.perf_counter() - start))
    stages: dict[str, float] = {}
    for record in engine.history():
        for stage, milliseconds in {**record["stage_ms"], "load": record["load_ms"]}.items():
            stages[stage] = stages.get(stage, 0.0) + milliseconds
    return {"milliseconds": times[0] - times[1], "stages": stages}


def compiled_here(name: str, dtype: str, outputs: list[str], gpu: str) -> dict[str, Any]:
    """Milliseconds until there is PTX."""
    engine.native()
    loss = getattr(lt.losses, name)
    pairs, others = arguments(loss, dtype)
    shapes = [lt.ShapeDtype(array.shape, array.dtype) for array in pairs]
    named = {name: lt.ShapeDtype(array.shape, array.dtype) for name, array in others.items()}
    start = time.perf_counter()
    lt.jit(loss, backend=f"cuda:{gpu}").ir("ptx", *shapes, grad=None if outputs else (), **named)
    return {"milliseconds": 1e3 * (time.perf_counter() - start), "stages": {}}


def measured(name: str, dtype: str, processes: int, gpu: str | None) -> dict[str, Any]:
    """Medians over fresh processes."""
    outputs = differentiated(getattr(lt.losses, name))
    child = [name, dtype, outputs] + ([gpu] if gpu else [])
    command = [sys.executable, __file__, "--child", json.dumps(child)]
    found = []
    for _ in range(processes):
        with tempfile.TemporaryDirectory(prefix="logitile-bench-") as empty:
            env = {**os.environ, "HOME": empty, "XDG_CACHE_HOME": empty, "LOGITILE_CACHE_DIR": empty}
            run = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=env)
            found.append(json.loads(run.stdout))
    times = [one["milliseconds"] for one in found]
    stages = {stage: statistics.median(one["stages"][stage] for one in found) for stage in found[0]["stages"]}
    return {
        "loss": name, "dtype": dtype, "gradients_of": outputs, "median_ms": statistics.median(times),
        "fastest_ms": min(times), "slowest_ms": max(times), "stages_ms": stages,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--losses", choices=lt.losses.__all__, nargs="+", default=lt.losses.__all__, metavar="NAME"
    )
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--processes", type=int, default=9)
    parser.add_argument("--gpu", metavar="SM", help="such as sm_90: the time until there is PTX for it")
    parser.add_argument("--json", type=Path, help="writes all figures")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        given = json.loads(options.child)
        print(json.dumps(measured_here(*given) if len(given) == 3 else compiled_here(*given)))
        return
    print(f"{'loss':<22}{'ms':>7}  {'[range]':<14}stages")
    rows = []
    for name in options.losses:
        rows.append(row := measured(name, options.dtype, options.processes, options.gpu))
        stages = ", ".join(f"{stage} {milliseconds:.0f}" for stage, milliseconds in row["stages_ms"].items())
        bounds = f"[{row['fastest_ms']:.0f}-{row['slowest_ms']:.0f}]"
        print(f"{name:<22}{row['median_ms']:>7.0f}  {bounds:<14}{stages}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
