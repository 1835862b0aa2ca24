"""One program of a page: its stages as panes of lines with their origins, and its schedule."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..inspection.explanation import Explanation, KernelRow
from ..messages.names import size_text
from .highlight import coloured
from .registers import Assembled, assembled, blocks_per_multiprocessor
from .source import loss_lines

_MOST_DIFFED = 4000  # lines of a text; a pass that rewrites a longer one is told in numbers


@dataclass(frozen=True)
class Viewed:
    """A compiled call.

    Args:
        label: what tells it from another one on the same page.
        explanation: of the call.
        trace: of Program.trace.
        chip: figures of the target; empty for a CPU.
    """

    label: str
    explanation: Explanation
    trace: Sequence[Mapping[str, Any]]
    chip: Mapping[str, float]


def program_data(viewed: Viewed) -> dict[str, Any]:
    """What the page's script reads of a program."""
    explanation, trace = viewed.explanation, viewed.trace
    return {
        "label": viewed.label,
        "summary": str(explanation),
        "picture": explanation.picture(),
        "table": _table(viewed),
        "kernels": [kernel.name for kernel in explanation.kernels],
        "panes": _panes(trace, explanation.name),
        "passes": [{"stage": s["stage"], "passes": _passes(trace, n)} for n, s in enumerate(trace)],
    }


# ---- panes ---------------------------------------------------------------------------------------


def _panes(trace: Sequence[Mapping[str, Any]], program: str) -> list[dict[str, Any]]:
    """The loss, then the stages. Lines come from [pane, index of a line]."""
    places = [(f, n) for line in trace[0]["origins"] for f, n in line if f != trace[0]["stage"]]
    source = loss_lines(places)
    text = "\n".join(line.text for line in source)
    loss = _pane("loss", coloured("loss", text)[: len(source)], [[] for _ in source])
    loss["numbers"] = [line.number for line in source]
    panes, index = [loss], {(line.file, line.number): number for number, line in enumerate(source)}
    for number, stage in enumerate(trace):
        before = {"loss": index} if number == 0 else trace[number - 1]["stage"]
        panes.append(_stage_pane(stage, before, number, program))
    return panes


def _stage_pane(
    stage: Mapping[str, Any], before: Mapping[str, Any] | str, previous: int, program: str
) -> dict[str, Any]:
    """The pane of a stage; `previous` is the pane before it,
    `before` its name or the lines of the loss.
    """
    lines = coloured(stage["stage"], stage["text"])
    origins: list[list[list[int]]] = []
    skeletons: dict[int, str] = {}
    for number, places in enumerate(stage["origins"]):
        own: list[list[int]] = []
        for file, line in places:
            if isinstance(before, str):
                if file == before:
                    own.append([previous, line - 1])
                elif file.startswith("templates/"):
                    skeletons[number] = f"{file}:{line}"
            elif (file, line) in before["loss"]:
                own.append([previous, before["loss"][file, line]])
        origins.append(own)
    pane = _pane(stage["stage"], lines[: len(origins)], origins)
    pane["skeletons"] = skeletons
    pane["symbols"] = [[name, line - 1] for name, line in stage["symbols"]]
    # The program of the stage `plan` stays in later modules of MLIR; its text is in its own pane.
    pane["hidden"] = program if stage["stage"] in ("tiles", "device") else ""
    return pane


def _pane(name: str, lines: list[list[str]], origins: list[Any]) -> dict[str, Any]:
    return {"name": name, "lines": lines, "origins": origins, "symbols": [], "skeletons": {}, "hidden": ""}


# ---- passes --------------------------------------------------------------------------------------


def _passes(trace: Sequence[Mapping[str, Any]], number: int) -> list[dict[str, str]]:
    """What each pass of a stage changed."""
    before = trace[number - 1]["text"] if number else ""
    changes = []
    for name, text in trace[number]["passes"]:
        changes.append({"name": name, "diff": difference(before, text)})
        before = text
    return changes


def difference(before: str, after: str) -> str:
    """A unified diff; for long texts their lengths alone."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_DIFFED:
        return f"{len(old)} lines before, {len(new)} lines after: too many to compare"
    return "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))


# ---- kernels -------------------------------------------------------------------------------------


def _table(viewed: Viewed) -> dict[str, Any]:
    """The kernels with their work and what they take, as columns and rows of text."""
    explanation = viewed.explanation
    code = viewed.trace[-1]
    told = assembled(code["text"], explanation.target) if code["stage"] == "ptx" else {}
    tiles = dict(pair for stage in viewed.trace for pair in stage["tiles"])
    columns = ["kernel", "tiles", "launches", "Gflop", "bytes", "predicted", "measured", "Tflop/s", "of peak"]
    if viewed.chip:
        columns += ["threads", "shared memory", "registers", "spilled", "blocks per SM"]
    rows = [
        _row(kernel, tiles[kernel.name], viewed.chip.get("tensor_rate", explanation.product_rate))
        + (_occupancy(kernel, told.get(kernel.name), viewed) if viewed.chip else [])
        for kernel in explanation.kernels
    ]
    return {"columns": columns, "rows": rows}


def _row(kernel: KernelRow, tiles: str, peak: float | None) -> list[str]:
    """The cells of a kernel on every target. Rates are of measured times where there are such.

    Args:
        tiles: the tile sizes of the kernel, as the trace has them.
        peak: flops a second of the target; None where it is unknown.
    """
    time = kernel.milliseconds if kernel.milliseconds is not None else kernel.predicted_milliseconds
    rate = kernel.flops / time * 1e3 if time else 0.0
    return [
        kernel.name,
        tiles.replace(",", ", "),
        str(kernel.launches),
        f"{kernel.flops / 1e9:.3g}",
        size_text(kernel.bytes),
        _milliseconds(kernel.predicted_milliseconds),
        _milliseconds(kernel.milliseconds),
        f"{rate / 1e12:.3g}" if rate else "",
        f"{rate / peak:.0%}" if rate and peak else "",
    ]


def _milliseconds(time: float | None) -> str:
    return "" if time is None else f"{time:.3g} ms"


def _occupancy(kernel: KernelRow, told: Assembled | None, viewed: Viewed) -> list[str]:
    cells = [str(kernel.threads), size_text(kernel.shared_bytes)]
    if told is None:
        return [*cells, "", "", ""]
    blocks = blocks_per_multiprocessor(
        told.registers, kernel.threads, kernel.shared_bytes, viewed.chip, viewed.explanation.target
    )
    return [*cells, str(told.registers), size_text(told.spilled_bytes), str(blocks)]
