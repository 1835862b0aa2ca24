"""`filecheck`: assertions on the text of IR, for users' own tests.
It needs the package of that name.
"""

from __future__ import annotations

import io
import re

__all__ = ("filecheck",)


def __dir__() -> list[str]:
    """The public names; what this module imports for itself is left out."""
    return sorted(__all__)


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def filecheck(text: str, checks: str) -> None:
    """Asserts that 'text' has what the CHECK lines of 'checks' ask for, in that order.

    Args:
        text: IR, for example from `head.ir`.
        checks: lines such as `CHECK: logitile.reduce logsumexp`, with or without a leading `//`.
            CHECK-NEXT, CHECK-NOT, CHECK-DAG, CHECK-COUNT-n, CHECK-SAME, CHECK-LABEL and captures
            such as `%[[NAME:.*]]` mean what they mean in LLVM's FileCheck.

    Raises:
        AssertionError: a line is not found, cannot be read, or there is none; says which line of
            'checks' it is and where the search stopped.
        ImportError: the package `filecheck` is not installed (pip install filecheck).
    """
    try:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher
        from filecheck.options import Options
        from filecheck.parser import Parser, pattern_for_opts
    except ModuleNotFoundError as error:
        raise ImportError(
            "lt.testing.filecheck needs the package 'filecheck', which is not installed: pip install "
            "filecheck"
        ) from error

    options = Options(match_filename="checks", input_file="text")
    matcher = Matcher(
        options, FInput("text", text), Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    )
    matcher.stderr = report = io.StringIO()
    if matcher.run() != 0:
        reason = _COLOURS.sub("", report.getvalue()).rstrip()
        raise AssertionError(f"the text does not pass its checks\n{reason}\n--- text ---\n{text}")
