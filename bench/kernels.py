"""Measures the kernels of calls one by one: time, rate, and share of what the processor can do.

Run it with the built package: `PYTHONPATH=build/python python bench/kernels.py --tiles default TM=256,TD=512`.
Configurations take turns, and each turn measures the peak as well, so that shares are of the same moment.
Figures are medians over rounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from typing import Any

import logitile as lt
from comparison.machine import peak
from logitile import _native, execute, inspection
from logitile.explanation import explanation
from logitile.program import Program
from logitile.samples import sample_arguments

_PEAKS = {"float32": "f32_avx512", "bfloat16": "bf16_avx512", "avx2": "f32_avx2"}


class Configuration:
    """A head with some tiles, compiled for a call of its own engine, which times kernels."""

    def __init__(self, loss: lt.Loss, given: dict[str, Any], grad: list[str] | None, tiles: str, threads: int, workspace: str):
        self.head = lt.jit(loss, workspace=workspace)
        call = self.head.bound((), given)
        wanted = inspection.wanted_of(self.head, call, grad)
        key = self.head.key(call, wanted)
        whole = dict(size.split("=") for size in Program(self.head.spec(call), self.head.options, call, key).tiles()[0].split(","))
        whole |= dict(size.split("=") for size in tiles.split(",")) if tiles != "default" else {}
        self.name, self.call = tiles, call
        self.engine = _native.Engine(times_kernels=True, disk_cache="")
        key = dataclasses.replace(key, threads=threads, tiles=",".join(f"{name}={size}" for name, size in whole.items()))
        self.program = Program(self.head.spec(call), self.head.options, call, key, self.engine)
        described = self.program.plan(call.tokens).describe(call.tokens, threads)
        plan_text = str(self.program.stage(call.tokens, "plan", ""))
        self.explanation = explanation(described, plan_text, wanted.mode, None, {}, (tiles, False))
        self.rounds: list[dict[str, float]] = []
        self.run()

    def run(self) -> dict[str, float]:
        """Milliseconds of each kernel, and of the whole call."""
        self.engine.clear_history()
        start = time.perf_counter()
        execute.run(self.head, self.call, self.program, {})
        found = {"call": 1e3 * (time.perf_counter() - start)}
        for record in self.engine.history():
            for kernel in record["kernels"]:
                found[kernel["name"]] = found.get(kernel["name"], 0.0) + kernel["ms"]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="1024,1024,32000", help="N,D,V")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--loss", choices=lt.losses.__all__, default="cross_entropy", metavar="NAME")
    parser.add_argument("--forward", action="store_true", help="no gradients")
    parser.add_argument("--tiles", nargs="+", default=["default"], help="sizes that differ from the table's first row, such as TM=256,TD=512")
    parser.add_argument("--threads", type=int, default=_native.thread_count())
    parser.add_argument("--workspace", default="256MiB")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tokens, hidden, vocab = map(int, options.shape.split(","))
    loss = getattr(lt.losses, options.loss)
    given = sample_arguments(loss, tokens, hidden, vocab, options.dtype, on_gpu=False)
    grad = [] if options.forward else None
    each = [Configuration(loss, given, grad, tiles, options.threads, options.workspace) for tiles in options.tiles]
    peaks = []
    for _ in range(options.rounds):
        peaks.append(peak(_PEAKS["avx2" if "avx2" in _native.host_target() else options.dtype], options.threads))
        for one in each:
            one.rounds.append(one.run())
    show(each, statistics.median(peaks))


def show(each: list[Configuration], most: float) -> None:
    """One table for each configuration."""
    print(f"peak {most:.0f} GFLOP/s")
    for one in each:
        print(f"\n{one.name}")
        flops = {kernel.name: kernel.flops for kernel in one.explanation.kernels}
        flops["call"] = one.explanation.flops
        for name in one.rounds[0]:
            times = sorted(found[name] for found in one.rounds)
            middle = statistics.median(times)
            rate = flops.get(name, 0) / middle / 1e6
            share = f"{rate:8.0f} GFLOP/s {100 * rate / most:6.1f} %" if rate > 1 else ""
            print(f"  {name:<20}{middle:10.2f} ms [{times[0]:.2f}-{times[-1]:.2f}]{share}")


if __name__ == "__main__":
    main()
