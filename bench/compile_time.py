"""Measures how the time to compile a loss with its gradients grows with the loss.

Run it with the built package: `PYTHONPATH=build/python python bench/compile_time.py`. Each loss of
large_losses.py is compiled at several sizes, each in a fresh process without a cache on disk.
Beside seconds on the clock stand those of the processor: other programs on the machine change them
less. The growth is the exponent of these between two sizes that follow one another: 1 where twice
the loss takes twice as long.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import large_losses
import logitile as lt
from logitile.runtime import engine

SIZES = {
    "chain": (475, 950, 1900),
    "chain_of_tokens": (475, 950, 1900),
    "mixed": (300, 600, 1200),
    "nested": (15, 30, 60),
    "picks": (375, 750, 1500),
    "entries": (128, 256, 512),
    "softmaxes": (30, 60, 120),
    "addends": (250, 500, 1000),
    "choices": (225, 450, 900),
    "outputs": (100, 200, 400),
}
STAGES = ("cpu", "plan", "tiles", "device", "obj", "load")


def compiled_here(name: str, n: int) -> dict[str, float]:
    """Seconds from lt.jit to a program that can run, of which those of the compiler's stages."""
    engine.native()
    loss = large_losses.find(name)
    pairs, others = large_losses.inputs(loss, n)
    start, begin = time.perf_counter(), time.process_time()
    lt.jit(loss, n=n).value_and_grad(*pairs, **others)
    seconds = {"all": time.perf_counter() - start, "cpu": time.process_time() - begin}
    for record in engine.history():
        for stage, milliseconds in {**record["stage_ms"], "load": record["load_ms"]}.items():
            seconds[stage] = seconds.get(stage, 0.0) + milliseconds / 1e3
    return seconds


def ptx_here(name: str, n: int, gpu: str) -> dict[str, float]:
    """Seconds from lt.jit to PTX."""
    engine.native()
    loss = large_losses.find(name)
    pairs, others = large_losses.inputs(loss, n)
    shapes = [lt.ShapeDtype(array.shape, array.dtype) for array in pairs]
    named = {name: lt.ShapeDtype(array.shape, array.dtype) for name, array in others.items()}
    start, begin = time.perf_counter(), time.process_time()
    lt.jit(loss, n=n, backend=f"cuda:{gpu}").ir("ptx", *shapes, grad=None, **named)
    return {"all": time.perf_counter() - start, "cpu": time.process_time() - begin}


def measured(name: str, n: int, gpu: str | None, limit: float) -> dict[str, float] | None:
    """The same in a fresh process; None where it takes longer than the limit."""
    child = json.dumps([name, n] + ([gpu] if gpu else []))
    env = {**os.environ, "LOGITILE_CACHE_DIR": "off"}
    command = [sys.executable, __file__, "--child", child]
    try:
        run = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=env, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(run.stdout)


def growth(smaller: dict[str, Any] | None, larger: dict[str, Any]) -> str:
    """The exponent between two sizes."""
    if smaller is None or smaller["seconds"] is None or larger["seconds"] is None:
        return ""
    times = larger["seconds"]["cpu"] / smaller["seconds"]["cpu"]
    return f"{math.log(times) / math.log(larger['n'] / smaller['n']):.2f}"


def described(row: dict[str, Any], smaller: dict[str, Any] | None, limit: float) -> str:
    """One line of the table."""
    seconds = row["seconds"]
    if seconds is None:
        return f"| {row['loss']} | {row['n']} | more than {limit:g} |" + " |" * (len(STAGES) + 1)
    stages = " | ".join(f"{seconds[stage]:.2f}" if stage in seconds else "" for stage in STAGES)
    return f"| {row['loss']} | {row['n']} | {seconds['all']:.2f} | {stages} | {growth(smaller, row)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--losses", choices=SIZES, nargs="+", default=list(SIZES), metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", help="other sizes than those of each loss")
    parser.add_argument("--gpu", metavar="SM", help="such as sm_80: the time until there is PTX for it")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a size is given up")
    parser.add_argument("--json", type=Path, help="writes all figures")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        given = json.loads(options.child)
        print(json.dumps(compiled_here(*given) if len(given) == 2 else ptx_here(*given)))
        return
    print("| loss | n | seconds | " + " | ".join(STAGES) + " | growth |\n" + "|---" * (4 + len(STAGES)) + "|")
    rows: list[dict[str, Any]] = []
    for name in options.losses:
        smaller = None
        for n in options.sizes or SIZES[name]:
            row = {"loss": name, "n": n, "seconds": measured(name, n, options.gpu, options.limit)}
            print(described(row, smaller, options.limit), flush=True)
            rows.append(row)
            smaller = row
            if row["seconds"] is None:
                break
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
