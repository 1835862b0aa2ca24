"""The engine of this process: compiler, caches, threads and history, made when first needed."""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

from .errors import CallValueError, TargetError

if TYPE_CHECKING:
    from . import _native

_lock = threading.Lock()
_engine: _native.Engine | None = None


@functools.cache  # an import costs a call more than what it is made for
def native() -> Any:
    """The compiled module, loaded when first needed."""
    from . import _native

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
        TargetError: there is no code generation for the backend.
    """
    kind = (device or "cpu").partition(":")[0]
    wanted = kind if backend == "auto" else backend
    host = wanted == "cpu" or wanted.startswith("emu:")
    if host and kind != "cpu":
        raise CallValueError(
            f"backend='{backend}', but the arrays are on {device}; move them or use backend='auto'"
        )
    if wanted == "cpu":
        return native().host_target(), thread_count()
    if ":" not in wanted:
        raise TargetError(
            f"backend='{backend}' asks for {wanted}, but this build runs code on the CPU and on emulated GPUs "
            "alone; use backend='cpu' and arrays in its memory"
        )
    return wanted, 1


def history() -> list[dict[str, Any]]:
    """What ran lately, oldest first: program, key, cache event, phase, tokens, bytes and times in
    milliseconds.
    """
    return engine().history()


def trim() -> None:
    """Gives free workspace back to the system and forgets compiled programs."""
    engine().trim()
