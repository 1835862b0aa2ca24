"""Draws the picture of bench/cpu.py from results that are there. Of a case in several files,
the last counts.

Run as: draw.py RESULTS.json ... --png PICTURE.png [--loss cross_entropy]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from comparison.report import draw


def latest(reports: Iterable[Mapping[str, Any]], loss: str) -> list[dict[str, Any]]:
    """The cases of a loss, each with its last figures: the contenders of one run are those of one
    machine and code, so they are never mixed.
    """
    cases: dict[tuple[Any, ...], dict[str, Any]] = {}
    for report in reports:
        for case in report["cases"]:
            key = tuple(case[name] for name in ("tokens", "hidden", "vocab", "dtype", "loss", "mode"))
            cases[key] = case
    return [case for case in cases.values() if case["loss"] == loss]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path, help="what bench/cpu.py wrote, the oldest first")
    parser.add_argument("--png", type=Path, required=True)
    parser.add_argument("--loss", default="cross_entropy")
    options = parser.parse_args()
    reports = [json.loads(file.read_text()) for file in options.results]
    names = ", ".join(file.stem for file in options.results)
    draw(latest(reports, options.loss), f"Speed beside logitile's, from {names}", options.png)


if __name__ == "__main__":
    main()
