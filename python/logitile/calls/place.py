"""Where a call runs: what code is made for, and how many threads of the host run it."""

from __future__ import annotations

from ..errors import CallValueError, TargetError
from ..frameworks.choice import host_threads
from ..runtime.engine import gpu_target, native


def thread_count() -> int:
    """Threads of a call: LOGITILE_NUM_THREADS, else those of torch where it is imported, else the cores."""
    return native().thread_count(host_threads())


def place(backend: str, device: str | None) -> tuple[str, int]:
    """What code is made for, such as "cpu:avx512", and how many threads of the host run it.

    Args:
        backend: the option of lt.jit.
        device: of the arrays; None where they have no data.

    Raises:
        CallValueError: the arrays are on a device that the backend cannot read.
        TargetError: there is no code generation for the device, no driver, or no such GPU.
    """
    if device == "cpu" and backend in ("auto", "cpu"):
        return native().host_target(), thread_count()
    kind, _, ordinal = (device or "").partition(":")
    wanted = (kind or "cpu") if backend == "auto" else backend
    read = "cuda" if wanted.partition(":")[0] == "cuda" else "cpu"  # emulated GPUs read host memory
    if backend != "auto" and kind and kind != read:
        advice = "move them or use backend='auto'"
        if read == "cuda":
            advice = "move them, use backend='auto', or give lt.ShapeDtype where no numbers are needed"
        raise CallValueError(f"backend='{backend}', but the arrays are on {device}; {advice}")
    if wanted == "cpu":
        return native().host_target(), thread_count()
    if wanted == "cuda":
        return gpu_target(int(ordinal or 0)), 1
    if ":" not in wanted:
        raise TargetError(
            f"the arrays are on {device}, but code runs on CPUs and NVIDIA GPUs alone; move them to one"
        )
    return wanted, 1
