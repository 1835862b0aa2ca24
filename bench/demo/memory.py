"""Memory of this process: what malloc keeps of it,
and the peak of a piece of code as Linux counts it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# Source: mallopt(3) and glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Lets malloc keep what is freed: else torch spends most of a step on fresh
    pages for its logits.
    """
    libc = ctypes.CDLL(None)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    libc.mallopt(M_MMAP_MAX, 0)


def peak_of(work: Callable[[], Result]) -> tuple[Result, int]:
    """Runs `work` and returns its result with the bytes by which resident memory rose while it ran.

    Source: proc(5): writing 5 to clear_refs resets the high-water mark VmHWM to the resident set.
    """
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = _status_bytes("VmRSS")
    result = work()
    return result, _status_bytes("VmHWM") - before


def _status_bytes(field: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
