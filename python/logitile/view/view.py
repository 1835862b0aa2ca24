"""`head.view`: compiles a call, or two of different heads, and writes the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..arguments.call import Call
from ..calls.demands import by_names
from ..calls.programs import Programs
from ..inspection.stages import explained
from ..runtime.engine import native
from .highlight import needed
from .page import page
from .program import Viewed


def viewed(programs: Programs, call: Call, grad: Iterable[str] | None, timing: bool, label: str) -> Viewed:
    """A program with its stages.

    Args:
        programs: of the head.
        call: bound to the head.
        grad, timing: see Head.view.
        label: of the program on the page.

    Raises:
        CallError: see Head.explain.
    """
    needed()
    explanation = explained(programs, call, grad, timing)
    trace = programs.program(call, by_names(call, grad)).trace(call.tokens)
    chip: dict[str, Any] = native().describe_target(explanation.target).get("chip", {})
    return Viewed(label, explanation, trace, chip)


def write(path: str | Path, *programs: Viewed) -> Path:
    """Writes the page of one program or two; returns its path."""
    file = Path(path)
    file.write_text(page(programs), encoding="utf-8")
    return file
