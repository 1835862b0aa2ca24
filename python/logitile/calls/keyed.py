"""Calls by key: a compiled program of another framework holds the key, and a handler finds the call
when the program runs.

A record describes a call completely, except for the device. Its digest is the key. Records are kept
in memory, and beside the compiled programs on disk, where another process finds them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import LogitileError
from ..frameworks.arrays import HOST
from ..messages.warned import cache_warning
from ..runtime.engine import engine, native
from .place import place
from .program import automatic_budget

_FORMAT = 2  # of records
_FOLDER = "heads"  # in the folder of the disk cache

Slot = tuple[str, str, int, bool]
"""What an array of the call is: "input", "cotangent", "divisor", "output" or "gradient"; its name
for the plan; the code of its type where it is written; whether it is a weight [D, V]."""

Finder = Callable[[str, int], Any]
"""Makes the native call for a device and a number of tokens."""

_finders: dict[str, Finder] = {}


def remember(record: Mapping[str, Any], finder: Finder) -> str:
    """Makes a call known to this process and to later ones.

    Args:
        record: see `recorded`.
        finder: how this process makes the native call.

    Returns: its key.
    """
    text = json.dumps(record, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = f"lt1:{digest}"
    if key not in _finders:
        _finders[key] = finder
        _keep(digest, text)
        native().xla_resolver(find)
    return key


def recorded(
    request: Mapping[str, Any],
    budget: Mapping[str, Any],
    rules: Mapping[str, Any],
    arguments: Sequence[Slot],
    results: Sequence[Slot],
) -> dict[str, Any]:
    """All that a call is, as JSON has it.

    Args:
        request: to the compiler, without what depends on the machine.
        budget: the options `backend`, `workspace` and `chunks`, and the bytes of weights.
        rules: how the loss is reduced and which tokens are ignored.
        arguments, results: what the arrays are, in order.
    """
    return {
        "format": _FORMAT,
        "request": dict(request),
        "budget": dict(budget),
        "rules": dict(rules),
        "arguments": [list(slot) for slot in arguments],
        "results": [list(slot) for slot in results],
    }


def find(key: str, device: str, tokens: int) -> Any:
    """The native call of a key. Handlers ask for it, once for each device and number of tokens.

    Raises:
        LogitileError: nothing in this process or on disk has that key.
        CallError, TargetError, CompileError: see `calls.program.Program`.
    """
    finder = _finders.get(key)
    if finder is None:
        finder = _finders[key] = finder_of(_read(key))
    return finder(device, tokens)


def native_call(
    plan: Any,
    options: Any,
    is_early: bool,
    slots: tuple[Sequence[Slot], Sequence[Slot]],
    device: str,
    picks: str,
) -> Any:
    """A call as handlers run it. On GPUs its last result is the workspace."""
    arguments, results = ([tuple(slot) for slot in part] for part in slots)
    if device != HOST:
        results.append(("workspace", "workspace", 0, False))
    return native().XlaCall(
        plan=plan, options=options, is_early=is_early, arguments=arguments, results=results, picks=picks
    )


def finder_of(record: Mapping[str, Any]) -> Finder:
    """Makes native calls from a record alone."""

    def finder(device: str, tokens: int) -> Any:
        plan, threads = planned(record, device, tokens)
        options = native().CallOptions(**record["rules"], threads=threads)
        slots = record["arguments"], record["results"]
        return native_call(plan, options, record["request"]["mode"] == "early", slots, device, "")

    return finder


def planned(record: Mapping[str, Any], device: str, tokens: int) -> tuple[Any, int]:
    """The plan of a record for a device and a number of tokens,
    and the threads of the host that run it.

    Raises:
        CallError, TargetError, CompileError: see `calls.program.Program`.
    """
    budget = record["budget"]
    target, threads = place(budget["backend"], device)
    chunks, workspace = budget["chunks"] or 0, budget["workspace"]
    if chunks:
        workspace = 0
    elif workspace is None:
        workspace = automatic_budget(*budget["weight_bytes"], target, threads)
    where = {"target": target, "threads": threads, "workspace": workspace, "chunks": chunks}
    program = native().Program(engine(), **record["request"], **where)
    return program.plan(tokens), threads


# ---- on disk -------------------------------------------------------------------------------------


def clear() -> tuple[int, int]:
    """Removes all records on disk; their number and bytes."""
    folder = os.path.dirname(_path("") or "")
    count = size = 0
    with contextlib.suppress(OSError):
        for file in os.scandir(folder):
            size += file.stat().st_size
            os.unlink(file.path)
            count += 1
    return count, size


def _path(digest: str) -> str | None:
    folder, _ = native().disk_cache_settings()
    return os.path.join(folder, _FOLDER, f"{digest}.json") if folder else None


def _keep(digest: str, text: str) -> None:
    path = _path(digest)
    if path is None or os.path.exists(path):
        return
    folder = os.path.dirname(path)
    try:
        import tempfile  # takes a twentieth of what `import logitile` takes

        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError as error:
        cache_warning(f"a head cannot be kept in {folder} ({error}); exported programs do not find it there")


def _read(key: str) -> dict[str, Any]:
    """The record of a key. What is on disk has that digest, or somebody changed it.

    Raises:
        LogitileError: there is no such record.
    """
    digest = key.rpartition(":")[2]
    path = _path(digest)
    try:
        with open(path or "", encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        text = ""
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        place = f"nor in {os.path.dirname(path)}" if path else "and the disk cache is off"
        raise LogitileError(
            f"head {key} is not known in this process, {place}; build it with lt.jit and trace one call "
            "of the same kind before the program runs"
        )
    return json.loads(text)
