"""When kernels of a call run and which workspace they use: predicted by rates, or measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_LAUNCHES = 400  # a picture of more shows nothing


@dataclass(frozen=True)
class LaunchSpan:
    """One launch, in milliseconds from the begin of the call."""

    kernel: str
    begin: float
    end: float


@dataclass(frozen=True)
class PurposeSpan:
    """Workspace of one purpose: its bytes, and the first and the last launch that uses it."""

    purpose: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Timeline:
    """The launches of a call in their order.

    Args:
        launches: the first `MOST_LAUNCHES` of them.
        launch_count: of the whole call.
        purposes: what of the workspace is used by these launches.
        is_measured: times are measured, else predicted.
    """

    launches: tuple[LaunchSpan, ...]
    launch_count: int
    purposes: tuple[PurposeSpan, ...]
    is_measured: bool

    @property
    def milliseconds(self) -> float:
        """From the begin of the call to the end of the last launch that is kept."""
        return self.launches[-1].end if self.launches else 0.0


def predicted_milliseconds(
    rates: Mapping[str, float] | None, product_rate: float | None, launches: int, flops: float, bytes: float
) -> float | None:
    """The time of a kernel alone by the rates of the cost model: that of its products or of its
    traffic, whichever is longer, and of its launches. None where the rates of the target are
    unknown.

    Args:
        rates: of Plan.describe: "memory_rate" in bytes a second, "launch_seconds".
        product_rate: of products, in flops a second.
        launches, flops, bytes: of all launches of the kernel.
    """
    if rates is None or product_rate is None:
        return None
    work = max(flops / product_rate, bytes / rates["memory_rate"])
    return 1e3 * (work + launches * rates["launch_seconds"])


def shared_milliseconds(whole: float, parts: Sequence[float | None]) -> list[float | None]:
    """The time of a call, by the cost model of the compiler, shared among its kernels.

    Args:
        whole: milliseconds of the call.
        parts: of each kernel, `predicted_milliseconds`.
    """
    known = sum(part or 0.0 for part in parts)
    return [None if part is None else part * whole / known for part in parts]


def launch_order(described: Mapping[str, Any]) -> list[str]:
    """The kernels of a call, once for each launch.

    Args:
        described: Plan.describe.
    """
    all_splits = -(-described["columns"] // described["vocab_split"]) if described["vocab_split"] else 1

    def visit(steps: Sequence[Mapping[str, Any]], chunk: int) -> Iterator[str]:
        for step in steps:
            if "launch" in step:
                yield step["launch"]
                continue
            if step["loop"] == "tokens":
                repeats = -(-described["tokens"] // chunk) if chunk else 0
            else:
                first, end = step.get("range", (0, all_splits))
                repeats = -(-(end - first) // step["step"])
            for _ in range(repeats):
                yield from visit(step["body"], chunk)

    order: list[str] = []
    for phase in ("prologue", "forward", "backward"):
        chunk = described["backward_chunk"] if phase == "backward" else described["forward_chunk"]
        order += visit(described[phase], chunk)
    return order


def timeline(
    order: Sequence[str],
    milliseconds: Mapping[str, float],
    uses: Mapping[str, Sequence[tuple[str, str, int]]],
    is_measured: bool,
) -> Timeline:
    """A timeline of launches one after the other.

    Args:
        order: the kernel of each launch.
        milliseconds: by kernel, of all its launches together.
        uses: by kernel, the purpose, name and bytes of each buffer of the workspace that it uses.
        is_measured: times are measured.
    """
    counts = {kernel: order.count(kernel) for kernel in dict.fromkeys(order)}
    spans, now = [], 0.0
    for kernel in order[:MOST_LAUNCHES]:
        end = now + milliseconds.get(kernel, 0.0) / counts[kernel]
        spans.append(LaunchSpan(kernel, now, end))
        now = end
    return Timeline(tuple(spans), len(order), _purposes(order[:MOST_LAUNCHES], uses), is_measured)


def _purposes(
    order: Sequence[str], uses: Mapping[str, Sequence[tuple[str, str, int]]]
) -> tuple[PurposeSpan, ...]:
    """Purposes in the order of their first use."""
    buffers: dict[str, dict[str, int]] = {}
    times: dict[str, tuple[int, int]] = {}
    for number, kernel in enumerate(order):
        for purpose, name, count in uses.get(kernel, ()):
            buffers.setdefault(purpose, {})[name] = count
            times[purpose] = (times.get(purpose, (number, 0))[0], number)
    return tuple(PurposeSpan(p, sum(buffers[p].values()), *times[p]) for p in times)
