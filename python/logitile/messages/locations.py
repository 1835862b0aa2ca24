"""The location in the user's text at which a value was created."""

from __future__ import annotations

import itertools
import os
import sys
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType

from ..errors import SpecError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Losses are written in the language, also those that come with logitile:
# their lines are worth reading.
_LOSS_LIBRARY = os.path.join(_PACKAGE, "losses", "")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file; line and column start at 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}"


def short_path(file: str) -> str:
    """The path from the current directory if 'file' lies below it, else as it is."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    below = not relative.startswith(os.pardir) and os.path.isabs(file) and os.path.exists(file)
    return relative if below else file


def user_frame() -> FrameType | None:
    """The innermost frame that belongs to the user: not to logitile,
    except for its library of losses.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def location_of(frame: FrameType) -> Location:
    """The instruction that 'frame' is executing."""
    return Location(frame.f_code.co_filename, frame.f_lineno, _column(frame.f_code, frame.f_lasti))


def definition_of(code: CodeType) -> Location:
    """The first line of a function, decorators included."""
    return Location(code.co_filename, code.co_firstlineno)


def here() -> Location | None:
    """The user's line that is being executed."""
    frame = user_frame()
    return None if frame is None else location_of(frame)


def line_in(code: CodeType, trace: TracebackType | None) -> Location:
    """The line of a function that an error went through, by its traceback."""
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return Location(code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return definition_of(code)


def spec_error(
    message: str, location: Location | None = None, kind: type[SpecError] = SpecError
) -> SpecError:
    """A SpecError that starts with 'location', or with the user's line that is being executed."""
    return kind(message, location or here())


def _is_internal(file: str) -> bool:
    return file.startswith(_PACKAGE) and not file.startswith(_LOSS_LIBRARY)


def _column(code: CodeType, instruction: int) -> int:
    if not hasattr(code, "co_positions"):  # Python 3.10 knows lines only
        return 1
    position = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    return 1 if position is None or position[2] is None else position[2] + 1
