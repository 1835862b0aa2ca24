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


def target(backend: str, device: str | None) -> str:
    """The target that code is made for, such as "cpu:avx512".

    Args:
        backend: the option of lt.jit.
        device: of the arrays; None where they have no data.

    Raises:
        CallValueError: the arrays are on another device than the backend.
        TargetError: there is no code generation for the backend.
    """
    kind = (device or "cpu").partition(":")[0]
    if backend == "cpu" and kind != "cpu":
        raise CallValueError(
            f"backend='cpu', but the arrays are on {device}; move them or use backend='auto'"
        )
    wanted = kind if backend == "auto" else backend
    if wanted != "cpu":
        raise TargetError(
            f"backend='{backend}' asks for {wanted}, but this build makes code for the CPU alone; use "
            "backend='cpu' and arrays in its memory"
        )
    return native().host_target()


def history() -> list[dict[str, Any]]:
    """What ran lately, oldest first: program, key, cache event, phase, tokens, bytes and times in
    milliseconds.
    """
    return engine().history()


def trim() -> None:
    """Gives free workspace back to the system and forgets compiled programs."""
    engine().trim()
