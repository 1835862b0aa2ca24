"""The machine: what it is, and what it can do at most, measured while contenders run."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

from .building import BENCH, built, compiler
from .cases import Case

# Figures of peak.cpp for float32 products by tier of the target.
_FLOAT32 = {"portable": "f32_sse", "avx2": "f32_avx2"}
_BFLOAT16 = {"avx512_bf16": "bf16_avx512", "amx_bf16": "bf16_amx"}


def figure_of(case: Case, tier: str) -> str:
    """The figure of peak.cpp that bounds a case."""
    return "read" if case.is_bound_by_memory else figure_of_products(case.dtype, tier)


def figure_of_products(dtype: str, tier: str) -> str:
    """The figure of peak.cpp that bounds products of matrices."""
    wide = _FLOAT32.get(tier, "f32_avx512")
    return _BFLOAT16.get(tier, wide) if dtype == "bfloat16" else wide


def peak(figure: str, threads: int, file: str | None = None) -> float:
    """What all threads together reach: GFLOP/s of multiply-adds in registers, or for "read" GB/s
    read from the file: that of the weights, because memory is not equally fast everywhere.
    """
    program = built(compiler("g++", "clang++-22"), BENCH / "peak.cpp", ["-pthread"])
    command = [str(program), str(threads), figure, *filter(None, [file])]
    return json.loads(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)[figure]


def described(tier: str) -> dict[str, object]:
    """Processor, cores, memory, system, and the date."""
    processor = _field("/proc/cpuinfo", "model name")
    return {
        "cpu": processor,
        "cores": len(os.sched_getaffinity(0)),
        "tier": tier,
        "memory_gib": round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def _field(path: str, name: str) -> str:
    lines = Path(path).read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "unknown")


def _chosen(path: str) -> str:
    """The choice that stands in brackets in a file of the kernel."""
    try:
        return Path(path).read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return "unknown"
