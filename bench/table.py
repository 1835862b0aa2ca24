#!/usr/bin/env python3
"""One table of several machines, from what bench/cpu.py wrote on each.

    python bench/table.py "Zen 4" bench/results/cpu-2026-11-22.json ... -- "Zen 5" FILE ...

Of a case in several files of a machine, each contender's last figures count. "of peak" is the share
of the machine's own peak, measured in the same rounds; other columns are times divided by
logitile's, so all machines have one scale. A dash: not measured there, or, for one token with
gradients, no share of a peak, since the memory of gradients decides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

CONTENDERS = {"eager": "eager", "compile": "`torch.compile`", "onednn": "oneDNN"}
MODES = {"gradients": "with gradients", "forward": "forward"}
Case = tuple[int, int, int, str, str]


def figures(files: Iterable[Path], loss: str = "cross_entropy") -> dict[Case, dict[str, float]]:
    """Of each case (tokens, hidden, vocabulary, mode, type): the share of the peak as "logitile",
    and ratios of the contenders.
    """
    found: dict[Case, dict[str, float]] = {}
    for file in files:
        for case in json.loads(file.read_text())["cases"]:
            if case["loss"] != loss:
                continue
            key = (case["tokens"], case["hidden"], case["vocab"], case["mode"], case["dtype"])
            contenders = case["contenders"]
            row = found.setdefault(key, {})
            row |= {name: contenders[name]["ratio"]["median"] for name in CONTENDERS if name in contenders}
            row["logitile"] = contenders["logitile"]["share"]["median"]
    return found


def table(machines: Mapping[str, Iterable[Path]]) -> str:
    """Markdown: a row for each case, the columns of one machine beside those of the next."""
    measured = {name: figures(files) for name, files in machines.items()}
    columns = ["of peak", *CONTENDERS.values()]
    head = [f"{name}: {column}" if column == "of peak" else column for name in measured for column in columns]
    lines = [
        f"| tokens x hidden x vocabulary | | {' | '.join(head)} |",
        "|---" * (len(head) + 2) + "|",
    ]
    cases = dict.fromkeys(case for rows in measured.values() for case in rows)
    for case in sorted(cases, key=_order):
        has_peak = case[0] > 1 or case[3] == "forward"
        cells = [cell for rows in measured.values() for cell in _cells(rows.get(case, {}), has_peak)]
        what = f"{case[0]} x {case[1]} x {case[2]}, {MODES[case[3]]}"
        lines.append(f"| {what} | {case[4]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(case: Case) -> tuple[Any, ...]:
    """Many tokens first; of one shape gradients before forward, and float32 before bfloat16."""
    tokens, hidden, vocab, mode, dtype = case
    return (-tokens * hidden * vocab, vocab, mode != "gradients", dtype != "float32")


def _cells(row: Mapping[str, float], has_peak: bool) -> list[str]:
    share = f"{row['logitile'] * 100:.0f} %" if has_peak and "logitile" in row else "-"
    return [share, *(f"{row[name]:.2f}" if name in row else "-" for name in CONTENDERS)]


def machines_of(arguments: Sequence[str]) -> dict[str, list[Path]]:
    """Names and files, as the command has them."""
    machines: dict[str, list[Path]] = {}
    group: list[str] = []
    for word in [*arguments, "--"]:
        if word != "--":
            group.append(word)
        elif group:
            machines[group[0]] = [Path(file) for file in group[1:]]
            group = []
    return machines


if __name__ == "__main__":
    print(table(machines_of(sys.argv[1:])))
