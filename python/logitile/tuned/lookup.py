"""Finds the tuned tile sizes and threads for calls."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from ..arguments.call import Call
from ..calls.program import Program, ProgramKey, default_key
from ..errors import CallValueError, LogitileError
from ..runtime.engine import native
from ..runtime.platforms import device_model
from . import store
from .store import TuneRecord

_REACH = 4.0  # numbers of tokens within this factor take what was found for one of them

# What this process found and could not keep on disk, by task, device and driver.
_unkept: dict[tuple[str, str, str], tuple[TuneRecord, ...]] = {}


class TunedKeys:
    """The tiles and threads that tuning chose for the calls of one head.

    The database is queried once per key, and not at all if there is none. Its rows outlive
    the version that measured them; what this one cannot compile is a warning, once.
    """

    def __init__(self) -> None:
        self._known: dict[ProgramKey, tuple[TuneRecord, ...]] = {}

    def key(self, call: Call, key: ProgramKey) -> ProgramKey:
        """The key of a call with what was chosen for such calls; `key` where nothing was.
        Sizes that the head was given win.
        """
        if call.form.options.tiles or not _is_any():
            return key
        known = self._known.get(key)  # another thread may clear them meanwhile
        if known is None:
            place = model_of(key.target, call.pairs[0].hidden.device)
            known = self._known[key] = chosen(Program(call, key).task, *place)
        found = nearest(known, call.tokens)
        if found is None:
            return key
        tuned = replace(key, tiles=found.tiles, threads=found.threads)
        return tuned if _is_usable(call, tuned) else key

    def forget(self) -> None:
        """Has the next calls ask again."""
        self._known.clear()


def _is_usable(call: Call, key: ProgramKey) -> bool:
    name = call.form.spec.name
    most = max(os.cpu_count() or 1, default_key(call, key.wanted).threads)
    if not 1 <= key.threads <= most:
        store.tell(
            f"{key.threads} threads were chosen for '{name}', but 1 to {most} are possible; the default is "
            "used"
        )
        return False
    try:
        return _has_plan(Program(call, key), call.tokens)  # a program reads its tiles
    except LogitileError as error:
        store.tell(f"'{key.tiles}' was chosen for '{name}' but cannot be used ({error}); the default is used")
        return False


def _has_plan(program: Program, tokens: int) -> bool:
    """Whether the workspace is large enough, which it may be for other numbers of tokens alone."""
    try:
        program.plan(tokens)
    except CallValueError:
        return False
    return True


def nearest(records: Iterable[TuneRecord], tokens: int) -> TuneRecord | None:
    """The record that was made with about as many tokens, if there is one."""

    def distance(record: TuneRecord) -> float:
        few, many = sorted((max(tokens, 1), max(record.tokens, 1)))
        return many / few

    near = [record for record in records if distance(record) <= _REACH]
    return min(near, key=distance, default=None)


def chosen(task: str, device: str, driver: str) -> tuple[TuneRecord, ...]:
    """The records that calls of a task take, at most one for a number of tokens."""
    found = {record.tokens: record for record in store.find(task, device, driver)}
    found.update((record.tokens, record) for record in _unkept.get((task, device, driver), ()))
    return tuple(found.values())


def remember(record: TuneRecord) -> None:
    """Keeps a chosen record in memory, for the calls of this process."""
    place = (record.task, record.device, record.driver)
    others = tuple(other for other in _unkept.get(place, ()) if other.tokens != record.tokens)
    _unkept[place] = (*others, record)


def forget(record: TuneRecord) -> None:
    """Forgets what memory has for the task, device and number of tokens: the disk is newer."""
    place = (record.task, record.device, record.driver)
    _unkept[place] = tuple(other for other in _unkept.get(place, ()) if other.tokens != record.tokens)


def _is_any() -> bool:
    if any(_unkept.values()):
        return True
    folder, _ = native().disk_cache_settings()
    return bool(folder) and os.path.lexists(os.path.join(folder, store.DATABASE))


def model_of(target: str, device: str | None) -> tuple[str, str]:
    """What code runs on, and the driver or the instruction set.

    Args:
        target: "cpu:avx512", "cuda:sm_80", ...
        device: of the arrays; None where they have no data.
    """
    return device_model(target, int((device or "").partition(":")[2] or 0))
