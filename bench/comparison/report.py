"""What the comparison shows: a table for each case, and a picture of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .cases import MODES, Case
from .measuring import BASE

MIB = 2**20
HEADINGS = ("contender", "ms", f"x {BASE}", "[quartiles]", "GFLOP/s", "of peak", "MiB", "error")
WIDTHS = (14, 10, 12, 17, 9, 9, 7, 9)

LEGEND = """
ms: median over rounds. x logitile: time as a multiple of logitile's in the same round. GFLOP/s: over 2NVD for
each product of matrices. of peak: of multiply-adds in registers or, for one token forward, of plain reading
of the same weights, measured in the same rounds. MiB: peak memory of a call beyond inputs and results. error:
the largest normwise one against torch in float32."""


def table(record: Mapping[str, Any]) -> str:
    """One case, as a table for people."""
    case = case_of(record)
    peaks = ", ".join(
        f"{sorted(rates)[len(rates) // 2]:.0f} with {threads} threads"
        for threads, rates in record["peaks"].items()
    )
    unit = "GB/s" if case.is_bound_by_memory else "GFLOP/s"
    lines = [f"{case}", f"  peak {record['bound']}, {unit}: {peaks}"]
    lines.append("  " + _columns(HEADINGS))
    for name, one in record["contenders"].items():
        lines.append("  " + _columns(_row(name, one)) if "seconds" in one else f"  {name:<14}{_reason(one)}")
    return "\n".join(lines)


def draw(records: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Speeds relative to logitile's as a PNG: a row for each loss and mode, a column per type."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys((record["loss"], record["mode"]) for record in records))
    dtypes = list(dict.fromkeys(record["dtype"] for record in records))
    names = list(dict.fromkeys(name for record in records for name in record["contenders"]))
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    figure = Figure(figsize=(1 + 7.5 * len(dtypes), 1.2 + 2.8 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(dtypes), squeeze=False)
    for (loss, mode), line in zip(rows, panels, strict=True):
        for dtype, axes in zip(dtypes, line, strict=True):
            chosen = [r for r in records if (r["loss"], r["mode"], r["dtype"]) == (loss, mode, dtype)]
            _panel(axes, chosen, colours)
            axes.set_title(f"{loss}, {MODES[mode]}, {dtype}", fontsize=10)
    handles = [panels[0][0].bar([0], [0], color=colours[name]) for name in names]
    figure.legend(handles, names, loc="outside upper right", ncols=len(names), fontsize=9)
    figure.suptitle(f"{title}; shares are {BASE}'s", x=0.01, ha="left", fontsize=10)
    figure.savefig(path, dpi=110)


def _panel(axes: Any, records: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> None:
    """Bars of one loss, mode and type: groups are shapes,
    with those contenders that took part in any.
    """
    names = [name for name in colours if any("ratio" in r["contenders"].get(name, {}) for r in records)]
    width = 0.8 / max(1, len(names))
    for place, record in enumerate(records):
        for number, name in enumerate(names):
            ratio = record["contenders"].get(name, {}).get("ratio")
            if ratio is None:
                continue
            speed, slowest, fastest = (1 / ratio[end] for end in ("median", "high", "low"))
            left, error = place - 0.4 + (number + 0.5) * width, [[speed - slowest], [fastest - speed]]
            axes.bar(left, speed, 0.9 * width, color=colours[name], yerr=error, ecolor="0.3", capsize=2)
            label = {"textcoords": "offset points", "ha": "center", "fontsize": 6.5}
            axes.annotate(f"{speed:.2f}", (left, fastest), (0, 3), **label)
    axes.axhline(1, color=colours.get(BASE, "0.3"), linewidth=0.8, linestyle="--")
    axes.set_xticks(range(len(records)), [_label(record) for record in records], fontsize=8)
    axes.set_xlim(-0.5, len(records) - 0.5)
    axes.set_ylabel(f"speed, {BASE} = 1", fontsize=8)
    axes.margins(y=0.12)
    axes.spines[["top", "right"]].set_visible(False)


def _label(record: Mapping[str, Any]) -> str:
    """The shape, and logitile's share of what is possible,
    narrow enough for many shapes side by side.
    """
    case, base = case_of(record), record["contenders"].get(BASE, {})
    what = "bandwidth" if case.is_bound_by_memory else "peak"
    share = f"\n{base['share']['median']:.0%} of {what}" if "share" in base else ""
    return f"{case.tokens} x {case.hidden}\nx {case.vocab}{share}"


def case_of(record: Mapping[str, Any]) -> Case:
    return Case(*(record[name] for name in ("tokens", "hidden", "vocab", "dtype", "loss", "mode")))


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    ratio = one.get("ratio")
    return (
        name,
        f"{1e3 * one['median_seconds']:.2f}",
        f"{ratio['median']:.3f}" if ratio else "",
        f"[{ratio['low']:.2f}-{ratio['high']:.2f}]" if ratio else "",
        f"{one['gflops']:.0f}",
        f"{one['share']['median']:.1%}",
        f"{(one['memory']['peak'] - one['memory']['results']) / MIB:.0f}",
        f"{max(one['errors'].values()):.1e}",
    )


def _columns(texts: Sequence[str]) -> str:
    first, *others = (f"{text:<{width}}" if not place else f"{text:>{width}}"
                      for place, (text, width) in enumerate(zip(texts, WIDTHS, strict=True)))  # fmt: skip
    return first + "".join(others)


def _reason(one: Mapping[str, Any]) -> str:
    if "failed" in one:
        return f"FAILED: {one['failed'].partition(chr(10))[0][:160]}"
    return f"- {one['unsupported']}"
