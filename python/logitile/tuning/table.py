"""Tables of measured times: of one tuning, and of all in the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..tuned.store import TuneRecord

DEFAULT = "default"  # the note of the row with which the others are compared


@dataclass(frozen=True)
class Row:
    """One configuration in a table.

    Args:
        is_chosen: whether calls take it.
        predicted, measured: seconds of a call; measured is None where there was no measurement.
        ratio: the share of the default's time by which was decided.
        rounds: that the ratio is the median of.
        note: what else is to be said.
    """

    is_chosen: bool
    tiles: str
    threads: int
    predicted: float
    measured: float | None
    ratio: float | None
    rounds: int
    note: str


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines with a heading; the chosen row has a star."""
    width = max(len("tiles"), *(len(row.tiles) for row in rows))
    numbers = f"{'threads':>8}{'predicted':>12}{'measured':>12}{'of default':>12}{'rounds':>8}"
    yield f"    {'tiles':<{width}}{numbers}"
    for row in rows:
        mark = "*" if row.is_chosen else ""
        share = "" if row.ratio is None else f"{row.ratio:.3f}"
        yield (
            f"  {mark:<2}{row.tiles:<{width}}{row.threads:>8}{_milliseconds(row.predicted):>12}"
            f"{_milliseconds(row.measured):>12}{share:>12}{row.rounds or '':>8}  {row.note}"
        ).rstrip()


def rows_of(records: Iterable[TuneRecord]) -> list[Row]:
    """The records of one tuning as rows: those that were measured most often first, by ratio."""
    ordered = sorted(records, key=lambda one: (-one.rounds, one.ratio))
    return [
        Row(one.chosen, one.tiles, one.threads, one.predicted, one.measured, one.ratio, one.rounds,
            note(one.rounds, ordered[0].rounds, is_default(one)))
        for one in ordered
    ]  # fmt: skip


def note(rounds: int, most: int, is_default: bool) -> str:
    """What is to be said of a row that was measured.

    Args:
        rounds, most: how often it was measured, and how often the default was.
    """
    if is_default:
        return DEFAULT
    return "dropped" if rounds < most else ""


def tunings(records: Iterable[TuneRecord]) -> list[list[TuneRecord]]:
    """Records apart by what was tuned and where, in their order."""
    groups: dict[tuple[str, str, str, int], list[TuneRecord]] = {}
    for record in records:
        groups.setdefault((record.task, record.device, record.driver, record.tokens), []).append(record)
    return list(groups.values())


def compared(records: Iterable[TuneRecord]) -> str:
    """What was decided by the records of one tuning, in words."""
    best = next((record for record in records if record.chosen), None)
    if best is None:
        return "none is chosen"
    if is_default(best):
        return "* the default stays: nothing was quicker beyond noise"
    return f"* is chosen: {best.ratio:.3f} of the default's time, the median of {best.rounds} rounds"


def is_default(record: TuneRecord) -> bool:
    """Whether a record belongs to the default, with which the others are compared."""
    return record.ratio == 1.0


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None or seconds == float("inf") else f"{seconds * 1e3:.4g} ms"
