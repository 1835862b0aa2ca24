"""Where a call runs: the target for which code is compiled, and the number of host threads."""

from __future__ import annotations

from ..arguments.options import REFERENCE
from ..errors import CallTypeError, CallValueError, TargetError
from ..frameworks.arrays import HOST
from ..frameworks.choice import host_threads
from ..runtime.engine import native
from ..runtime.platforms import Platform, platform_of, target_of


def thread_count() -> int:
    """Threads of a call: LOGITILE_NUM_THREADS, else those of torch where it is imported,
    else the cores.
    """
    return native().thread_count(host_threads())


def place(backend: str, device: str | None) -> tuple[str, int]:
    """What code is made for, such as "cpu:avx512", and how many threads of the host run it.

    Args:
        backend: the option of lt.jit.
        device: of the arrays; None where they have no data.

    Raises:
        CallTypeError: the backend is the interpreter.
        CallValueError: the arrays are on a device that the backend cannot read.
        TargetError: there is no code generation for the device, no driver, or no such GPU.
    """
    if backend == REFERENCE:
        raise CallTypeError(
            "backend='reference' compiles nothing; use backend='auto' to get a program"
        )
    memory, _, ordinal = (device or "").partition(":")
    if backend == "auto":
        platform = _platform_of_arrays(memory or HOST, device)
    else:
        platform = platform_of(backend)
        check_memory(platform, backend, device)
    threads = thread_count() if platform.host_threads else 1
    if ":" in backend:
        return backend, threads
    return target_of(platform, int(ordinal or 0)), threads


def check_memory(platform: Platform, backend: str, device: str | None) -> None:
    """That a platform can read arrays; `backend` is what messages call it.

    Raises:
        CallValueError: it cannot.
    """
    if device is None or device.partition(":")[0] == platform.memory:
        return
    advice = "move them or use backend='auto'"
    if not platform.host_memory:
        advice = "move them, use backend='auto', or give lt.ShapeDtype where no numbers are needed"
    raise CallValueError(f"backend='{backend}', but the arrays are on {device}; {advice}")


def _platform_of_arrays(memory: str, device: str | None) -> Platform:
    try:
        return platform_of(memory)
    except TargetError:
        raise TargetError(
            f"the arrays are on {device}, but code runs on CPUs and NVIDIA GPUs alone; move them to one"
        ) from None
