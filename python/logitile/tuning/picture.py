"""A picture of tuning results: the numbers of the table (table.py), with a panel for each tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import CallTypeError, CallValueError
from ..tuned.store import TuneRecord
from .table import DEFAULT, Row, rows_of, tunings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHOSEN, _OTHER = "tab:blue", "lightgrey"
# inches: the height of a bar, of what surrounds a panel; the width
_ROW, _HEAD, _WIDTH = 0.28, 0.9, 9.0


def draw(records: Sequence[TuneRecord], file: str) -> None:
    """A bar for each configuration: its share of the default's time.

    Raises:
        CallTypeError: matplotlib is not there.
        CallValueError: the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise CallTypeError(
            "the picture is made with matplotlib, which is not installed; install it, or give --png none"
        ) from None
    groups = tunings(records)
    heights = [_HEAD + _ROW * len(group) for group in groups]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    panels = figure.subplots(len(groups), squeeze=False, height_ratios=heights)
    for axes, group in zip(panels[:, 0], groups, strict=True):
        _panel(axes, group)
    panels[-1, 0].set_xlabel("time as a share of the default's, median of rounds (blue: chosen)", fontsize=8)
    FigureCanvasAgg(figure)
    try:
        figure.savefig(file, dpi=130)
    except (OSError, ValueError) as error:
        raise CallValueError(f"'{file}' cannot be written: {error}") from None


def _panel(axes: Axes, records: Sequence[TuneRecord]) -> None:
    rows = rows_of(records)
    colours = [_CHOSEN if row.is_chosen else _OTHER for row in rows]
    bars = axes.barh(range(len(rows)), [row.ratio for row in rows], color=colours)
    axes.bar_label(bars, [f"{row.ratio:.3f}  ({row.rounds})" for row in rows], fontsize=7, padding=2)
    axes.set_yticks(range(len(rows)), [_named(row) for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_title(f"{records[0].loss}, {records[0].shape}, {records[0].target}", fontsize=8)


def _named(row: Row) -> str:
    default = " (default)" if row.note == DEFAULT else ""
    return f"{row.tiles}, {row.threads} threads{default}"
