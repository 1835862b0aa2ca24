"""The engine of this process: compiler, caches, threads and history, made when first needed."""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..errors import CallValueError, TargetError

if TYPE_CHECKING:
    from .. import _native

_lock = threading.Lock()
_engine: _native.Engine | None = None


@functools.cache  # an import costs a call more than what it is made for
def native() -> Any:
    """The compiled module, loaded when first needed."""
    from .. import _native

    return _native


def engine() -> _native.Engine:
    """The engine of this process."""
    global _engine
    if _engine is None:
        with _lock:
            _engine = _engine or native().Engine()
    return _engine


def thread_count() -> int:
    """Threads of a call: LOGITILE_NUM_THREADS, else those of torch where it is imported, else the cores."""
    torch = sys.modules.get("torch")
    return native().thread_count(torch.get_num_threads() if torch is not None else 0)


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


@functools.cache
def gpu_target(ordinal: int) -> str:
    """What code is made for on a GPU, "cuda:sm_90". Calls ask for it, the driver once.

    Raises:
        TargetError: there is no driver, or no such GPU.
    """
    return native().cuda_target(ordinal)


def history() -> list[dict[str, Any]]:
    """What ran lately, oldest first: program, key, cache event, phase, tokens, bytes and times in
    milliseconds.
    """
    return engine().history()


def check() -> None:
    """Waits for GPUs and tells of indices outside the vocabulary that calls on them have met.

    Such calls do not wait: their tokens' results are NaN, -1 or False, and the error is raised here or by any
    later call. With the environment variable LOGITILE_CHECK=1 each call waits and raises it itself.

    Raises:
        CallIndexError: a call has met one, since the last error of this kind.
    """
    engine().check()


def trim() -> None:
    """Gives free workspace back to the system and forgets compiled programs."""
    engine().trim()
