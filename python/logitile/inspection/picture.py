"""The schedule of a call as a picture (SVG): launches over time,
and workspace by purpose below them.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..messages.names import size_text
from .timeline import Timeline

# pixels: of labels, of the axis of time, of a row, above rows
_LABEL, _WIDTH, _ROW, _TOP = 200, 640, 20, 26
_HUES = (210, 28, 140, 280, 340, 95, 185, 50, 250, 10)  # one for each kernel


def svg(name: str, line: Timeline, workspace_bytes: int, budget: int | None) -> str:
    """A picture that follows the colours of the page around it; "" where nothing is launched.

    Args:
        name: of the loss.
        line: what is drawn.
        workspace_bytes, budget: of the call; the budget is None where it has none.
    """
    if not line.launches:
        return ""
    kernels = list(dict.fromkeys(span.kernel for span in line.launches))
    height = _TOP + _ROW * (len(kernels) + len(line.purposes) + 2) + 30
    words = "measured" if line.is_measured else "predicted"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LABEL + _WIDTH + 90} {height}" '
        f'font-family="sans-serif" font-size="12" fill="currentColor" role="img" '
        f'aria-label="Schedule of {escape(name)}" style="width:100%;max-width:1100px">',
        _text(0, 14, f"launches over time, {words}: {_time(line.milliseconds)}{_cut(line)}", weight="bold"),
        *_launches(line, kernels),
        *_workspace(line, workspace_bytes, budget, _TOP + _ROW * len(kernels) + 24),
        "</svg>",
    ]
    return "\n".join(parts)


def _cut(line: Timeline) -> str:
    shown = len(line.launches)
    return "" if shown == line.launch_count else f", the first {shown} of {line.launch_count} launches"


def _launches(line: Timeline, kernels: list[str]) -> Iterator[str]:
    scale = _WIDTH / max(line.milliseconds, 1e-9)
    totals = dict.fromkeys(kernels, 0.0)
    for span in line.launches:
        row, hue = kernels.index(span.kernel), _HUES[kernels.index(span.kernel) % len(_HUES)]
        totals[span.kernel] += span.end - span.begin
        width = max((span.end - span.begin) * scale, 1.0)
        name = f"{span.kernel}: {_time(span.begin)} to {_time(span.end)}"
        yield _bar(_LABEL + span.begin * scale, _TOP + row * _ROW, width, f"hsl({hue} 60% 55%)", name)
    for row, kernel in enumerate(kernels):
        yield _text(0, _TOP + row * _ROW + 14, kernel)
        yield _text(_LABEL + _WIDTH + 8, _TOP + row * _ROW + 14, _time(totals[kernel]))


def _workspace(line: Timeline, workspace_bytes: int, budget: int | None, top: int) -> Iterator[str]:
    limit = "" if budget is None else f" of {size_text(budget)}"
    title = f"workspace in use: {size_text(workspace_bytes)}{limit}"
    yield _text(0, top + 4, title, weight="bold")
    scale = _WIDTH / max(line.milliseconds, 1e-9)
    for number, purpose in enumerate(line.purposes):
        y = top + 12 + number * _ROW
        begin, end = line.launches[purpose.first].begin, line.launches[purpose.last].end
        width = max((end - begin) * scale, 1.0)
        told = f"{purpose.purpose}: {size_text(purpose.bytes)}"
        yield _text(0, y + 14, purpose.purpose)
        yield _bar(_LABEL + begin * scale, y, width, "hsl(210 15% 60%)", told)
        yield _text(_LABEL + _WIDTH + 8, y + 14, size_text(purpose.bytes))


def _bar(x: float, y: float, width: float, colour: str, title: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y + 2}" width="{width:.2f}" height="{_ROW - 4}" rx="2" fill="{colour}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.0f}" y="{y}" font-weight="{weight}">{escape(text)}</text>'


def _time(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds:.3g} ms" if milliseconds >= 1 else f"{milliseconds * 1000:.3g} µs"
