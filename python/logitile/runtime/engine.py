"""The engine of this process: compiler, caches, threads and history, created when first needed."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import _native

_lock = threading.Lock()
_engine: _native.Engine | None = None


@functools.cache  # an import costs a call more than its work
def native() -> Any:
    """The compiled module, loaded when first needed."""
    from .. import _native

    return _native


def version() -> str:
    """The version of the native code, which runtime/logitile.h gives; the wheel has the same."""
    return str(native().build_id()).partition(" ")[0]


def engine() -> _native.Engine:
    """The engine of this process."""
    global _engine
    if _engine is None:
        with _lock:
            _engine = _engine or native().Engine()
    return _engine


def history() -> list[dict[str, Any]]:
    """What ran lately, oldest first: program, key, cache event, phase, tokens, bytes and times in
    milliseconds.
    """
    return engine().history()


def check() -> None:
    """Waits for GPUs and tells of indices outside the vocabulary that calls on them have met.

    Such calls do not wait: their tokens' results are NaN, -1 or False, and the error is raised here
    or by any later call. With the environment variable LOGITILE_CHECK=1 each call waits and raises
    it itself.

    Raises:
        CallIndexError: a call has met one, since the last error of this kind.
    """
    engine().check()


def trim() -> None:
    """Gives free workspace back to the system and forgets compiled programs."""
    native().xla_forget()
    engine().trim()
