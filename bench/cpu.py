"""Measures whole calls of cross entropy on this CPU as shares of the peak that bench/peak.cpp finds in the same round.

Run it with the built package on PYTHONPATH: `PYTHONPATH=build/python python bench/cpu.py --out bench/results/cpu`.
Peak and calls alternate, so that a machine whose speed drifts, or that others use, spoils neither alone; medians of the
ratios of each round are printed and written. Rates count the multiply-adds of the contractions: 6NVD with gradients of
hidden states and head, 2NVD without.
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

import ml_dtypes
import numpy as np

import logitile as lt
from logitile import _native

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
        spec = head.spec(head.bind(*(np.zeros(shape, np.float32) for shape in self.shapes.values()), target=target))
        of, wrt = (["loss"], ["z"]) if self.gradients else (None, None)
        return _native.Program(
            self.engine, spec=spec.text(of, wrt, locations=False), target=self.target, mode=self.mode,
            pairs=[("z", self.hidden, _native.TYPES[TYPES[self.element][0]])], gradients=tuple(self.gradients),
            threads=self.threads, workspace=self.workspace,
        )  # fmt: skip

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
    walls, workeds, peaks, shares, wall_shares = [], [], [], [], []
    for _ in range(rounds):
        rate = peak(case, program)
        for _ in range(2):
            wall, worked = case.call()
            walls.append(wall)
            workeds.append(worked)
            peaks.append(rate)
            shares.append(case.flops / worked * 1e-9 / rate)
            wall_shares.append(case.flops / wall * 1e-9 / rate)
    kernels: dict[str, list[float]] = {}
    records = case.engine.history()
    for record in records:
        for kernel in record["kernels"]:
            kernels.setdefault(kernel["name"], []).append(kernel["ms"])
    description = case.plan.describe(case.tokens, case.threads)
    return {
        "element": case.element, "tokens": case.tokens, "hidden": case.hidden, "vocab": case.vocab, "mode": case.mode,
        "threads": case.threads, "target": case.target, "workspace": case.workspace,
        "workspace_used": records[-1]["measured_bytes"], "chunks": records[-1]["chunks"],
        "schedule": description.get("schedule"), "compile_ms": 1e3 * case.compile_seconds,
        "seconds": statistics.median(walls), "worked_seconds": statistics.median(workeds),
        "peak_gflops": statistics.median(peaks), "share": statistics.median(shares),
        "share_range": [min(shares), max(shares)], "wall_share": statistics.median(wall_shares),
        "wall_share_best": max(wall_shares), "kernel_ms": {name: statistics.median(times) for name, times in kernels.items()},
        "loss": float(case.loss),
    }  # fmt: skip


def table(results: list[dict[str, object]]) -> str:
    """Markdown: calls, then their kernels."""
    lines = ["| call | N, D, V | ms | GFLOP/s | peak | share of peak [range] | on the clock, best | workspace MiB |", "|---|---|---|---|---|---|---|---|"]
    for r in results:
        flops = (6 if r["mode"] == "early" else 2) * r["tokens"] * r["hidden"] * r["vocab"]
        low, high = r["share_range"]
        lines.append(
            f"| {r['element']} {r['mode']} | {r['tokens']}, {r['hidden']}, {r['vocab']} | {1e3 * r['worked_seconds']:.2f} "
            f"| {flops / r['worked_seconds'] * 1e-9:.0f} | {r['peak_gflops']:.0f} | {100 * r['share']:.1f} % "
            f"[{100 * low:.1f}-{100 * high:.1f}] | {100 * r['wall_share']:.1f} %, {100 * r['wall_share_best']:.1f} % "
            f"| {r['workspace_used'] / 2**20:.0f} |"
        )
    for r in results:
        lines += ["", f"{r['element']} {r['mode']} {r['tokens']}, {r['hidden']}, {r['vocab']}: {r['chunks']} chunks; ms on the clock: "
                  + ", ".join(f"{name} {ms:.2f}" for name, ms in r["kernel_ms"].items())]  # fmt: skip
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
    parser.add_argument("--peak", type=pathlib.Path, default=ROOT / "build/bench/logitile-bench-peak", help="built peak.cpp")
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
        arguments.out.with_suffix(".json").write_text(json.dumps({"machine": machine(), "calls": results}, indent=1) + "\n")
        arguments.out.with_suffix(".md").write_text(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
