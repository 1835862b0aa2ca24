"""Measures whole calls of cross entropy on this CPU as shares of the peak that bench/peak.cpp finds.

Run it with the built package: `PYTHONPATH=build/python python bench/cpu.py --out bench/results/cpu`.
Peak and calls alternate, so that a machine whose speed drifts, or that others use, spoils neither alone;
medians of the ratios of each round are printed and written. Rates count the contractions alone:
6NVD with gradients of hidden states and head, 2NVD without.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import logitile as lt
import ml_dtypes
import numpy as np
from logitile import _native

os.environ["LOGITILE_CACHE_DIR"] = "off"  # compiling is measured
ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPES = {"f32": ("float32", np.float32), "bf16": ("bfloat16", ml_dtypes.bfloat16)}
PEAKS = {"portable": "f32_sse", "avx2": "f32_avx2", "avx512": "f32_avx512", "avx512_bf16": "f32_avx512"}
CALLS = {"default": [("f32", 1024, 1024, 32000, "early"), ("bf16", 1024, 1024, 32000, "early"),
                     ("f32", 1024, 1024, 32000, "forward"), ("bf16", 1024, 1024, 32000, "forward")],
         "large": [(element, n, d, 32000, "early")
                   for element in ("f32", "bf16") for n, d in ((8192, 512), (1024, 4096))],
         "small": [("f32", 64, 64, 1000, "early"), ("f32", 64, 64, 1000, "forward")]}  # fmt: skip


@dataclasses.dataclass
class Case:
    """One call with its arrays, compiled: a step of training (mode "early") or an evaluation ("forward")."""

    element: str
    tokens: int
    hidden: int
    vocab: int
    mode: str
    threads: int
    workspace: int
    target: str

    def __post_init__(self) -> None:
        self.engine = _native.Engine(times_kernels=True)
        self.shapes = {"z.hidden": (self.tokens, self.hidden), "z.weight": (self.vocab, self.hidden)}
        random = np.random.default_rng(0)
        kind = TYPES[self.element][1]
        self.inputs = {
            "z.hidden": (1.7 * random.standard_normal(self.shapes["z.hidden"], np.float32)).astype(kind),
            "z.weight": (0.1 * random.standard_normal(self.shapes["z.weight"], np.float32)).astype(kind),
        }
        target = random.integers(0, self.vocab, size=self.tokens)
        names = tuple(self.shapes) if self.mode == "early" else ()
        self.gradients = {name: np.zeros(self.shapes[name], kind) for name in names}
        self.loss = np.zeros((), np.float32)
        self.arrays = [*self.inputs.items(), ("target", target)]
        self.options = _native.CallOptions(
            reduction="mean", ignore="target", ignore_index=-100, threads=self.threads
        )
        start = time.perf_counter()
        self.plan = self._program(target).plan(self.tokens)
        self.compile_seconds = time.perf_counter() - start

    def _program(self, target: np.ndarray) -> _native.Program:
        head = lt.jit(lt.losses.cross_entropy)
        pair = [np.zeros(shape, np.float32) for shape in self.shapes.values()]
        spec = head.spec(head.bind(*pair, target=target))
        of, wrt = (["loss"], ["z"]) if self.gradients else (None, None)
        return _native.Program(
            self.engine,
            spec=spec.text(of, wrt, locations=False),
            pairs=[("z", self.hidden, _native.TYPES[TYPES[self.element][0]])],
            gradients=tuple(self.gradients),
            mode=self.mode,
            workspace=self.workspace,
            target=self.target,
            threads=self.threads,
        )

    def _array(self, name: str, array: np.ndarray) -> tuple:
        if array.dtype != ml_dtypes.bfloat16:
            return name, array
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return name, array.ctypes.data, _native.TYPES["bfloat16"], array.shape, strides

    def prepare(self) -> None:
        """What calls give to the runtime, made once: packing arguments is not what is measured."""
        self.given = [self._array(*pair) for pair in self.arrays]
        self.made = [self._array(*pair) for pair in self.gradients.items()]

    def call(self) -> tuple[float, float]:
        """Seconds of one call: on the clock, and worked by each thread on average."""
        wall, worked = time.perf_counter(), time.process_time()
        self.plan.forward(self.options, self.given, [("loss", self.loss)], self.made)
        return time.perf_counter() - wall, (time.process_time() - worked) / self.threads

    @property
    def flops(self) -> float:
        return (6.0 if self.gradients else 2.0) * self.tokens * self.vocab * self.hidden


def peak(case: Case, program: pathlib.Path) -> float:
    """GFLOP/s of multiply-adds in registers, all threads of the case together."""
    tier = case.target.removeprefix("cpu:")
    figure = "bf16_avx512" if (case.element, tier) == ("bf16", "avx512_bf16") else PEAKS[tier]
    command = [program, str(case.threads), "/dev/stderr", figure]
    report = subprocess.run(command, check=True, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return json.loads(report.stderr)[figure][str(case.threads)]


def measure(case: Case, rounds: int, program: pathlib.Path) -> dict[str, object]:
    """Medians over rounds of peak, call, call."""
    case.prepare()
    case.call()
    case.call()
    case.engine.clear_history()
    walls, workeds, peaks = [], [], []
    for _ in range(rounds):
        rate = peak(case, program)
        for _ in range(2):
            wall, worked = case.call()
            walls.append(wall)
            workeds.append(worked)
            peaks.append(rate)
    shares = [case.flops / seconds * 1e-9 / rate for seconds, rate in zip(workeds, peaks, strict=True)]
    clock_shares = [case.flops / seconds * 1e-9 / rate for seconds, rate in zip(walls, peaks, strict=True)]
    records = case.engine.history()
    kernels: dict[str, list[float]] = {}
    for kernel in (kernel for record in records for kernel in record["kernels"]):
        kernels.setdefault(kernel["name"], []).append(kernel["ms"])
    sizes = ("element", "tokens", "hidden", "vocab", "mode", "threads", "target", "workspace")
    return {name: getattr(case, name) for name in sizes} | {
        "workspace_used": records[-1]["measured_bytes"],
        "chunks": records[-1]["chunks"],
        "compile_ms": 1e3 * case.compile_seconds,
        "clock_ms": 1e3 * statistics.median(walls),
        "worked_ms": 1e3 * statistics.median(workeds),
        "peak_gflops": statistics.median(peaks),
        "gflops": case.flops / statistics.median(workeds) * 1e-9,
        "share": statistics.median(shares),
        "share_range": [min(shares), max(shares)],
        "clock_share": statistics.median(clock_shares),
        "clock_share_best": max(clock_shares),
        "kernel_clock_ms": {name: statistics.median(times) for name, times in kernels.items()},
        "loss": float(case.loss),
    }


HEADINGS = "call, N D V, ms, GFLOP/s, peak, share of peak, by the clock, workspace, compile".split(", ")


def table(results: list[dict[str, object]]) -> str:
    """Markdown: calls, then the time of their kernels on the clock."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for r in results:
        low, high = r["share_range"]
        columns = (
            f"{r['element']} {r['mode']}",
            f"{r['tokens']}, {r['hidden']}, {r['vocab']}",
            f"{r['worked_ms']:.2f}",
            f"{r['gflops']:.0f}",
            f"{r['peak_gflops']:.0f}",
            f"{r['share']:.1%} [{low:.1%}-{high:.1%}]",
            f"{r['clock_share']:.1%}, best {r['clock_share_best']:.1%}",
            f"{r['workspace_used'] / 2**20:.0f} MiB",
            f"{r['compile_ms']:.0f} ms",
        )
        lines.append(f"| {' | '.join(columns)} |")
    for r in results:
        kernels = ", ".join(f"{name} {ms:.2f}" for name, ms in r["kernel_clock_ms"].items())
        call = f"{r['element']} {r['mode']} {r['tokens']}, {r['hidden']}, {r['vocab']}"
        lines += ["", f"{call}, {r['chunks'] or 1} chunk(s), ms of the clock: {kernels}"]
    return "\n".join(lines) + "\n"


def machine() -> dict[str, object]:
    names = {line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")}  # fmt: skip
    return {"cpu": sorted(names), "cores": os.cpu_count(), "build": _native.build_id()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", choices=[*CALLS, "all"], default="default", help="which calls (default)")
    parser.add_argument("--one", nargs=5, metavar=("ELEMENT", "N", "D", "V", "MODE"), help="one call instead")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workspace", type=int, default=1 << 28, help="budget in bytes (256 MiB)")
    parser.add_argument("--target", default=_native.host_target(), help="target (this machine's)")
    built = ROOT / "build/bench/logitile-bench-peak"
    parser.add_argument("--peak", type=pathlib.Path, default=built, help="built peak.cpp")
    parser.add_argument("--out", type=pathlib.Path, help="writes OUT.json and OUT.md")
    arguments = parser.parse_args()
    chosen = sum(CALLS.values(), []) if arguments.calls == "all" else CALLS[arguments.calls]
    if arguments.one:
        element, *sizes, mode = arguments.one
        chosen = [(element, *map(int, sizes), mode)]
    results = []
    for call in chosen:
        case = Case(*call, arguments.threads, arguments.workspace, arguments.target)
        results.append(measure(case, arguments.rounds, arguments.peak))
    print(table(results))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        report = json.dumps({"machine": machine(), "calls": results}, indent=1)
        arguments.out.with_suffix(".json").write_text(report + "\n")
        arguments.out.with_suffix(".md").write_text(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
