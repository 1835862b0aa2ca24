"""The page: data of one or two programs and the script that shows them, in one file."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from .highlight import style_sheet
from .program import Viewed, difference, program_data

_ASSETS = Path(__file__).parent / "assets"


def page(viewed: Sequence[Viewed]) -> str:
    """HTML of a program, or of two side by side. Browsers need nothing else to show it.

    Args:
        viewed: one or two programs.
    """
    data: dict[str, Any] = {
        "programs": [program_data(program) for program in viewed],
        "words": json.loads(_asset("words.json")),
        "differences": _differences(*viewed) if len(viewed) == 2 else [],
    }
    packed = base64.b64encode(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))
    explanation = viewed[0].explanation
    colours = "\n".join(
        (
            style_sheet("default", "html[data-theme=light] .line"),
            style_sheet("github-dark", "html[data-theme=dark] .line"),
        )
    )
    fills = {
        "{{title}}": escape(f"{explanation.name} on {explanation.target}"),
        "{{style}}": _asset("page.css") + colours,
        "{{script}}": _asset("page.js"),
        "{{data}}": packed.decode(),
    }
    text = _asset("page.html")
    for hole, value in fills.items():
        text = text.replace(hole, value)
    return text


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _differences(first: Viewed, second: Viewed) -> list[dict[str, str]]:
    """Where two programs differ: their summaries, then each stage that both have."""
    found = [{"name": "schedule", "diff": difference(str(first.explanation), str(second.explanation))}]
    texts = {stage["stage"]: stage["text"] for stage in second.trace}
    for stage in first.trace:
        if stage["stage"] in texts:
            found.append({"name": stage["stage"], "diff": difference(stage["text"], texts[stage["stage"]])})
    return found
