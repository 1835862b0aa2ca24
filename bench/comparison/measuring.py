"""Measures one case: checks the results of all contenders, then their memory,
then lets them take turns.
"""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from .cases import Case, Inputs
from .machine import figure_of, peak
from .workers import Failed, Unsupported, Worker, rounds

# Normwise, against torch in float32: far above rounding, far below a wrong term. A bfloat16 has 8
# bits, and torch's own divergence of 16-bit logits is off by 2e-2.
TOLERANCES = {"float32": 2e-4, "bfloat16": 6e-2}
BASE = "logitile"
REFERENCE = "reference"

Progress = Callable[[str], None]


def measure(
    case: Case, inputs: Inputs, workers: Mapping[str, Worker], tier: str, count: int, progress: Progress
) -> dict[str, Any]:
    """All that is known of a case: peaks, and what each contender took, or why it took no part.

    Args:
        workers: by contender, and the one of the reference; ratios are to the one called logitile.
        tier: of the processor, such as "avx512".
        count: of rounds.
    """
    progress("float32 reference")
    expected = prepared(workers[REFERENCE], case, inputs)
    workers[REFERENCE].ask("forget")
    workers = {name: worker for name, worker in workers.items() if name != REFERENCE}
    contenders: dict[str, dict[str, Any]] = {}
    try:
        for name, worker in workers.items():
            progress(f"{name}: results and memory")
            contenders[name] = entered(worker, case, inputs, expected)
        taking_part = {name: worker for name, worker in workers.items() if "memory" in contenders[name]}
        figure = figure_of(case, tier)
        read = inputs.described(case)["weight"]["path"] if case.is_bound_by_memory else None
        peaks: dict[int, list[float]] = {worker.threads: [] for worker in taking_part.values()}

        def each_round(number: int) -> None:
            progress(f"round {number + 1} of {count}")
            for threads, rates in peaks.items():
                rates.append(peak(figure, threads, read))

        times = rounds(taking_part, count, each_round)
    finally:
        forget(workers.values())
    for name, each in times.items():
        contenders[name] |= figures(case, each, times.get(BASE, []), peaks[workers[name].threads])
    by_threads = {str(threads): rates for threads, rates in peaks.items()}
    found = {**dataclasses.asdict(case), "flops": case.flops, "bound": figure, "peaks": by_threads}
    return {**found, "contenders": contenders}


def entered(
    worker: Worker, case: Case, inputs: Inputs, expected: Mapping[str, numpy.ndarray]
) -> dict[str, Any]:
    """A contender's errors and memory, or why it takes no part."""
    found: dict[str, Any] = {"threads": worker.threads}
    try:
        found["errors"] = checked(prepared(worker, case, inputs), expected, TOLERANCES[case.dtype])
        return {**found, "memory": worker.ask("memory")}
    except Unsupported as error:
        return {**found, "unsupported": str(error)}
    except Failed as error:
        return {**found, "failed": str(error)}


def prepared(worker: Worker, case: Case, inputs: Inputs) -> dict[str, numpy.ndarray]:
    """The probes of a contender's results."""
    with tempfile.TemporaryDirectory(prefix="logitile-bench-") as folder:
        file = Path(folder) / "results.npz"
        arrays = inputs.described(case)
        worker.ask("prepare", case=dataclasses.asdict(case), arrays=arrays, results=str(file))
        with numpy.load(file) as results:
            return dict(results)


def checked(
    results: Mapping[str, numpy.ndarray], expected: Mapping[str, numpy.ndarray], tolerance: float
) -> dict[str, float]:
    """Normwise relative errors by result.

    Raises:
        Failed: one is missing or larger than the tolerance.
    """
    if results.keys() != expected.keys():
        raise Failed(f"gave results {sorted(results)}, not {sorted(expected)}")
    errors = {}
    for name, right in expected.items():
        difference = numpy.linalg.norm(results[name] - right) / numpy.linalg.norm(right)
        errors[name] = float(difference)
        if not difference <= tolerance:
            raise Failed(f"a wrong result: '{name}' is off by {difference:.1e}, more than {tolerance:.0e}")
    return errors


def figures(
    case: Case, times: Sequence[float], base: Sequence[float], peaks: Sequence[float]
) -> dict[str, Any]:
    """Medians of a contender's rounds, and the share of the peak and the ratio to the
    base of each round.
    """
    median = statistics.median(times)
    found = {"seconds": list(times), "median_seconds": median, "gflops": case.flops / median * 1e-9}
    done = case.weight_bytes if case.is_bound_by_memory else case.flops
    found["share"] = spread([done * 1e-9 / time / rate for time, rate in zip(times, peaks, strict=True)])
    if base:
        found["ratio"] = spread([time / other for time, other in zip(times, base, strict=True)])
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = numpy.percentile(values, (25, 50, 75))
    return {"low": float(low), "median": float(median), "high": float(high)}


def forget(workers: Sequence[Worker]) -> None:
    """Lets all that still live drop the case."""
    for worker in workers:
        try:
            worker.ask("forget")
        except Failed:
            pass  # what ended it is told already
