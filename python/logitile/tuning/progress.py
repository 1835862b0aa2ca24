"""A line that shows progress, for people who wait at a terminal."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType

_WIDTH = 24


class Progress:
    """One line on stderr that is written over; nothing where that is no terminal.

        with Progress("tuning") as progress:
            progress.show(0.5, "half of it")

    Args:
        title: what stands before the bar.
    """

    def __init__(self, title: str):
        self._title = title
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, share: float, text: str) -> None:
        """Shows a share of the whole, from 0 to 1, and what is done now."""
        if not self._is_shown:
            return
        filled = round(_WIDTH * min(max(share, 0.0), 1.0))
        bar = "#" * filled + "-" * (_WIDTH - filled)
        line = f"{self._title} [{bar}] {text}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
