"""Measures the kernels of calls one by one: time, rate, and share of what the processor can do.

Run it with the built package: `PYTHONPATH=build/python python bench/kernels.py --tiles ""
TM=256,TD=512`. Configurations take turns, and each turn measures the peak as well, so that shares
are of the same moment. Figures are medians over rounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time

import logitile as lt
from comparison.cases import TYPES
from comparison.machine import figure_of_products, peak
from logitile import _native
from logitile.arguments.call import Call
from logitile.arguments.wanted import Wanted
from logitile.calls import execute
from logitile.calls.demands import by_names
from logitile.calls.program import Program, default_key
from logitile.inspection.explanation import explanation
from logitile.tuning.samples import sample_arguments


def sizes(text: str) -> dict[str, str]:
    """The parts of "TM=64,TN=128"."""
    return dict(size.split("=") for size in text.split(",")) if text else {}


class Configuration:
    """A call with tiles of its own, compiled by an engine that times kernels.

    Args:
        tiles: sizes in the place of those in the first row of the table.
    """

    def __init__(self, call: Call, wanted: Wanted, tiles: str, threads: int) -> None:
        self.call, self.name = call, tiles or "sizes of the table"
        key = dataclasses.replace(default_key(call, wanted), threads=threads)
        known = Program(call, key).tiles()[0]
        chosen = ",".join(f"{name}={size}" for name, size in (sizes(known) | sizes(tiles)).items())
        key = dataclasses.replace(key, tiles=chosen)
        self.engine = _native.Engine(times_kernels=True, disk_cache="")
        self.program = Program(call, key, self.engine)
        described = self.program.plan(call.tokens).describe(call.tokens, threads)
        seconds = self.program.predict(call.tokens)
        told = explanation(described, wanted.mode, None, {}, (chosen, False), seconds)
        self.flops = {kernel.name: kernel.flops for kernel in told.kernels} | {"call": told.flops}
        self.rounds: list[dict[str, float]] = []
        self.run()

    def run(self) -> dict[str, float]:
        """Milliseconds of the whole call, and of each kernel."""
        self.engine.clear_history()
        start = time.perf_counter()
        execute.run(self.call, self.program, {})
        found = {"call": 1e3 * (time.perf_counter() - start)}
        for record in self.engine.history():
            for kernel in record["kernels"]:
                found[kernel["name"]] = found.get(kernel["name"], 0.0) + kernel["ms"]
        return found

    def table(self, most: float) -> str:
        """A line for each kernel; `most` is the peak in GFLOP/s."""
        lines = [self.name]
        for name in self.rounds[0]:
            times = sorted(found[name] for found in self.rounds)
            line = f"  {name:<20}{statistics.median(times):10.2f} ms [{times[0]:.2f}-{times[-1]:.2f}]"
            rate = self.flops[name] / statistics.median(times) / 1e6
            lines.append(line + (f"{rate:8.0f} GFLOP/s{100 * rate / most:7.1f} %" if rate else ""))
        return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="1024,1024,32000", metavar="N,D,V", help="(1024,1024,32000)")
    parser.add_argument("--dtype", choices=TYPES, default="float32")
    parser.add_argument("--loss", choices=lt.losses.__all__, default="cross_entropy", metavar="NAME")
    parser.add_argument("--forward", action="store_true", help="no gradients")
    parser.add_argument(
        "--tiles", nargs="+", default=[""], metavar="TM=256,...", help="sizes of each configuration"
    )
    parser.add_argument("--threads", type=int, default=_native.thread_count(), help="(cores)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tokens, hidden, vocab = map(int, options.shape.split(","))
    loss = getattr(lt.losses, options.loss)
    call = lt.jit(loss)._bind(**sample_arguments(loss, tokens, hidden, vocab, options.dtype))
    wanted = by_names(call, [] if options.forward else None)
    each = [Configuration(call, wanted, tiles, options.threads) for tiles in options.tiles]
    figure = figure_of_products(options.dtype, _native.host_target().partition(":")[2])
    peaks = []
    for _ in range(options.rounds):
        peaks.append(peak(figure, options.threads))
        for one in each:
            one.rounds.append(one.run())
    print(f"peak {statistics.median(peaks):.0f} GFLOP/s")
    for one in each:
        print(one.table(statistics.median(peaks)))


if __name__ == "__main__":
    main()
