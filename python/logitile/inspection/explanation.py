"""The result of `head.explain`: the schedule of a call, its memory and its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from ..messages.names import counted, interval_text, size_text
from . import picture
from .timeline import Timeline, launch_order, predicted_milliseconds, shared_milliseconds, timeline

STAGES = ("spec", "plan", "tiles", "device", "llvm", "obj", "ptx")
_GRADIENTS = "gradients stored"
_PURPOSES = {  # by the role of a buffer
    "stored": "logits and their gradient",
    "logit_gradient": "logits and their gradient",
    "row_state": "row states",
    "row_list": "lists",
    "packed_rows": "packed operands",
    "packed_columns": "packed operands",
    "scaled_hidden": "packed operands",
    "hidden_sum": "sums over tokens",
    "weight_sum": "sums over tokens",
    "input_sum": "sums over tokens",
    "input_blocks": "sums over tokens",
    "hidden_map": "tokens that count",
    "input_map": "tokens that count",
    "token_map": "tokens that count",
    "token_slots": "tokens that count",
    "wrong_tokens": "tokens that count",
}
_PER_TOKEN = "values per token"
_SCRATCH = "scratch of threads"
_ELEMENT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4, "int64": 8, "bool": 1}


@dataclass(frozen=True)
class KernelRow:
    """One kernel of a call.

    Args:
        name: in the IR, for head.ir("tiles", ..., kernel=name).
        launches: how often a call runs it.
        flops: of its contractions, 2 for each multiplication with its addition.
        bytes: of the arrays and buffers that it reads or writes, once each for every launch.
        milliseconds: measured, if timing was asked for.
        counters: what the emulator counted in a timed call; None elsewhere.
            Names as in `lt.history`.
        predicted: the same by the cost model: "matrix_instructions" and "global_bytes",
            read or written.
        predicted_milliseconds: of all launches: the kernel's share of what the cost model says of
            the call; None where the rates of the target are unknown.
        threads: of a block on a GPU, else 0.
        shared_bytes: of the shared memory of a block on a GPU, else 0.
    """

    name: str
    launches: int
    flops: int
    bytes: int
    milliseconds: float | None = None
    counters: Mapping[str, int] | None = None
    predicted: Mapping[str, int] | None = None
    predicted_milliseconds: float | None = None
    threads: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True)
class Explanation:
    """How a head runs calls of one shape. `str()` of it is a table for people.

    Args:
        name: of the loss.
        target: such as "cpu:avx512".
        tokens, vocab, threads: of the call; for a part of a slice, `vocab` is that of the slice.
        mode: "forward", "early" (gradients along with the outputs) or "split" (in a
            phase of their own).
        interval: numbers of tokens that the same program serves, [first, end).
        schedule: "all stored", "hybrid" or "recompute": whether logits stay between sweeps; or
            "gradients stored": the first sweep makes gradients of logits, which stay instead.
        stored: vocabulary entries whose logits, or gradients, are stored.
        chunk_tokens, chunks: how tokens are cut.
        forward_sweeps, backward_sweeps: passes over the vocabulary beside the gradient's.
        operands: by pair, the type that hidden and weight are multiplied in,
            and their types in memory.
        kernels: in the order of their first launch.
        workspace: bytes by purpose.
        workspace_bytes: all of them; never more than the budget.
        budget: bytes; None where the number of chunks is fixed instead.
        tiles: sizes such as "TM=64,TN=128,..."; "" for those of the target's table.
        is_tuned: whether tiles and threads come from tuning.
        compile_milliseconds: by stage.
        timeline: the launches in their order, and the workspace that they use.
        product_rate: flops a second that the cost model expects of products;
            None where it is unknown.
        predicted_milliseconds: of a call, by the cost model;
            None where the rates of the target are unknown.
        memory_rate: bytes a second that it expects of memory, as product_rate.

    A notebook shows the schedule as a picture above the table.
    """

    name: str
    target: str
    tokens: int
    vocab: int
    threads: int
    mode: str
    interval: tuple[int, int]
    schedule: str
    stored: int
    chunk_tokens: int
    chunks: int
    forward_sweeps: int
    backward_sweeps: int
    operands: Mapping[str, tuple[str, str, str]]
    kernels: tuple[KernelRow, ...]
    workspace: Mapping[str, int]
    workspace_bytes: int
    budget: int | None
    tiles: str = ""
    is_tuned: bool = False
    compile_milliseconds: Mapping[str, float] = field(default_factory=dict)
    timeline: Timeline | None = None
    product_rate: float | None = None
    predicted_milliseconds: float | None = None
    memory_rate: float | None = None

    @property
    def flops(self) -> int:
        """Of all contractions."""
        return sum(kernel.flops for kernel in self.kernels)

    @property
    def bytes(self) -> int:
        """Of all kernels; caches make the traffic of memory less."""
        return sum(kernel.bytes for kernel in self.kernels)

    def __str__(self) -> str:
        budget = "" if self.budget is None else f" of {size_text(self.budget)}"
        threads = counted(self.threads, "thread")
        lines = [
            f"{self.name} on {self.target}, {threads}, gradients: {_MODES[self.mode]}",
            f"  tokens     {self.tokens} in {self._chunks()}; the same program serves "
            f"{interval_text(self.interval)}",
            f"  schedule   {self.schedule}: {self.stored} of {self.vocab} logits per token stay "
            f"{'as gradients' if self.schedule == _GRADIENTS else 'between sweeps'}; "
            f"{self.forward_sweeps} forward and {self.backward_sweeps} backward sweeps",
            f"  tiles      {self._tiles()}",
            f"  operands   {', '.join(_operands(name, *dtypes) for name, dtypes in self.operands.items())}",
            f"  work       {self.flops / 1e9:.3g} Gflop, {size_text(self.bytes)} read or written",
            *self._predicted(),
            f"  compiled   {', '.join(f'{s} {ms:.1f} ms' for s, ms in self.compile_milliseconds.items())}",
            f"  workspace  {size_text(self.workspace_bytes)}{budget}",
        ]
        for purpose, count in sorted(self.workspace.items(), key=lambda item: -item[1]):
            lines.append(f"    {purpose:<28}{size_text(count):>12}")
        lines.append(f"  {'kernel':<30}{'launches':>10}{'Gflop':>10}{'bytes':>12}{self._timed('ms')}")
        for kernel in self.kernels:
            work = f"{kernel.flops / 1e9:>10.3g}{size_text(kernel.bytes):>12}"
            time = "" if kernel.milliseconds is None else f"{kernel.milliseconds:.2f}"
            lines.append(f"    {kernel.name:<28}{kernel.launches:>10}{work}{self._timed(time)}")
        return "\n".join(lines + self._counted())

    def _repr_html_(self) -> str:
        """What notebooks show: the schedule as a picture, and the table."""
        return f"{self.picture()}<pre>{escape(str(self))}</pre>"

    def picture(self) -> str:
        """The schedule as SVG: launches over time, and the workspace that they use."""
        if self.timeline is None:
            return ""
        return picture.svg(self.name, self.timeline, self.workspace_bytes, self.budget)

    def _chunks(self) -> str:
        if self.chunks == 1:
            return "1 chunk"
        return f"{self.chunks} chunks of up to {self.chunk_tokens}"

    def _predicted(self) -> list[str]:
        if None in (self.predicted_milliseconds, self.product_rate, self.memory_rate):
            return []
        rates = f"{self.product_rate / 1e9:.3g} Gflop/s and {self.memory_rate / 1e9:.3g} GB/s of memory"
        return [f"  predicted  {self.predicted_milliseconds:.3g} ms, by {rates}"]

    def _tiles(self) -> str:
        if not self.tiles:
            return "those of the target's table"
        return f"{self.tiles}, {'found by tuning' if self.is_tuned else 'as asked for'}"

    def _timed(self, text: str) -> str:
        """The last column, which is there if something was measured."""
        return f"{text:>10}" if any(kernel.milliseconds is not None for kernel in self.kernels) else ""

    def _counted(self) -> list[str]:
        """A table of what the emulator counted."""
        counted = [kernel for kernel in self.kernels if kernel.counters is not None]
        if not counted:
            return []
        titles = ("mma", "predicted", "global", "predicted", "sectors", "shared", "conflicts", "barriers")
        lines = [f"  {'counted by the emulator':<30}" + "".join(f"{title:>12}" for title in titles)]
        for kernel in counted:
            cells = "".join(f"{cell:>12}" for cell in _counter_cells(kernel.counters, kernel.predicted))
            lines.append(f"    {kernel.name:<28}{cells}")
        return lines


def _operands(name: str, dtype: str, hidden: str, weight: str) -> str:
    """How one pair is multiplied; what is rounded for that is told."""
    given = [
        (operand, memory) for operand, memory in (("hidden", hidden), ("weight", weight)) if memory != dtype
    ]
    rounded = " and ".join(f"{operand} from {memory}" for operand, memory in given)
    return f"{name} in {dtype}" + (f" ({rounded}, rounded while packed)" if rounded else "")


def _counter_cells(counters: Mapping[str, int], predicted: Mapping[str, int]) -> tuple[object, ...]:
    """One row of the table of counters."""
    return (
        counters["matrix_instructions"],
        predicted["matrix_instructions"],
        size_text(counters["global_read_bytes"] + counters["global_write_bytes"]),
        size_text(predicted["global_bytes"]),
        counters["global_sectors"],
        size_text(counters["shared_read_bytes"] + counters["shared_write_bytes"]),
        counters["bank_conflicts"],
        counters["barriers"],
    )


_MODES = {"forward": "none", "early": "along with the outputs", "split": "in a phase of their own"}


def explanation(
    described: Mapping[str, Any],
    mode: str,
    budget: int | None,
    measured: Mapping[str, Mapping[str, Any]],
    tiles: tuple[str, bool],
    seconds: float,
) -> Explanation:
    """An explanation from what the native module tells.

    Args:
        described: Plan.describe.
        mode: of the program.
        budget: of the workspace in bytes; None where the number of chunks is fixed.
        measured: by kernel, what a timed call tells: "ms" and, where the device counts,
            "counters" and "predicted".
        tiles: sizes, and whether they come from tuning.
        seconds: of the call, by the cost model.
    """
    tokens, stored, vocab = described["tokens"], described["stored"], described["columns"]
    forward_sweeps, backward_sweeps = described["sweeps"]
    chunk = described["backward_chunk"] if mode == "split" else described["forward_chunk"]
    kernels = _kernels(described, measured, 1e3 * seconds)
    rates = described.get("rates")
    return Explanation(
        name=described["name"],
        target=described["target"],
        tokens=tokens,
        vocab=vocab,
        threads=described["threads"],
        mode=mode,
        interval=tuple(described["interval"]),
        schedule=_schedule(described),
        stored=stored,
        chunk_tokens=chunk,
        chunks=max(1, -(-tokens // chunk)) if chunk else 1,
        forward_sweeps=forward_sweeps,
        backward_sweeps=backward_sweeps,
        operands={p["name"]: (p["element"], *p["memory"]) for p in described["projections"]},
        kernels=kernels,
        workspace=_workspace(described),
        workspace_bytes=described["workspace_bytes"],
        budget=budget,
        tiles=tiles[0],
        is_tuned=tiles[1],
        compile_milliseconds=_compile_times(described),
        timeline=_timeline(described, kernels),
        product_rate=_product_rate(described),
        predicted_milliseconds=1e3 * seconds if rates else None,
        memory_rate=rates["memory_rate"] if rates else None,
    )


def _product_rate(described: Mapping[str, Any]) -> float | None:
    """Flops a second of products with operands of 16 bits, where all have such, else of float32."""
    rates = described.get("rates")
    if rates is None:
        return None
    is_16_bit = all(_ELEMENT_BYTES[pair["element"]] == 2 for pair in described["projections"])
    return float(rates["flops"] * (rates["speed_of_16_bits"] if is_16_bit else 1.0))


def _timeline(described: Mapping[str, Any], kernels: Sequence[KernelRow]) -> Timeline:
    """Of measured times where all kernels have one, else of predicted ones."""
    is_measured = all(kernel.milliseconds is not None for kernel in kernels)
    times = {
        kernel.name: (kernel.milliseconds if is_measured else kernel.predicted_milliseconds) or 0.0
        for kernel in kernels
    }
    own = {b["name"]: (_purpose(b), b["name"], b["bytes"]) for b in described["buffers"] if b["bytes"]}
    uses = {k["name"]: [own[b] for b in k["buffers"] if b in own] for k in described["kernels"]}
    return timeline(launch_order(described), times, uses, is_measured)


def _schedule(described: Mapping[str, Any]) -> str:
    stored, vocab = described["stored"], described["columns"]
    keeps_logits = any(buffer["role"] == "stored" for buffer in described["buffers"])
    if stored and described["gradients"] and not keeps_logits:
        return _GRADIENTS
    return "all stored" if stored >= vocab else "hybrid" if stored else "recompute"


def _purpose(buffer: Mapping[str, Any]) -> str:
    return _PURPOSES.get(buffer["role"], _PER_TOKEN)


def _compile_times(described: Mapping[str, Any]) -> dict[str, float]:
    """In the order of the stages; nothing where the plan was compiled before."""
    times = described["stage_ms"]
    ordered = {stage: times[stage] for stage in STAGES if stage in times}
    return {**ordered, "load": described["load_ms"]} if times else {}


def _workspace(described: Mapping[str, Any]) -> dict[str, int]:
    purposes: dict[str, int] = {}
    for buffer in described["buffers"]:
        purpose = _purpose(buffer)
        purposes[purpose] = purposes.get(purpose, 0) + buffer["bytes"]
    rest = described["workspace_bytes"] - sum(purposes.values())
    return {purpose: count for purpose, count in {**purposes, _SCRATCH: rest}.items() if count > 0}


@dataclass(frozen=True)
class _Launches:
    """The launches that one step of a plan stands for: `chunks` times `vocab_splits`,
    each with its share of both axes.
    """

    kernel: str
    chunks: int
    vocab_splits: int
    share: float  # of the vocabulary, by all of them for one chunk


def _launches(described: Mapping[str, Any]) -> list[_Launches]:
    """All launches of a call."""
    all_vocab_splits = -(-described["columns"] // described["vocab_split"]) if described["vocab_split"] else 1

    def visit(steps: Sequence[Mapping[str, Any]], chunk: int, outer: _Launches) -> Iterator[_Launches]:
        for step in steps:
            if "launch" in step:
                share = outer.share
                if "vocab_splits" in step:
                    share = (step["vocab_splits"][1] - step["vocab_splits"][0]) / all_vocab_splits
                yield replace(outer, kernel=step["launch"], share=min(1.0, share))
            elif step["loop"] == "tokens":
                chunks = -(-described["tokens"] // chunk) if chunk else 0
                yield from visit(step["body"], chunk, replace(outer, chunks=chunks))
            else:
                first, end = step.get("range", (0, all_vocab_splits))
                count = -(-(end - first) // step["step"])
                share = (end - first) / all_vocab_splits
                yield from visit(step["body"], chunk, replace(outer, vocab_splits=count, share=share))

    found: list[_Launches] = []
    for phase in ("prologue", "forward", "backward"):
        chunk = described["backward_chunk"] if phase == "backward" else described["forward_chunk"]
        found += visit(described[phase], chunk, _Launches("", 1, 1, 1.0))
    return found


def _kernels(
    described: Mapping[str, Any], measured: Mapping[str, Mapping[str, Any]], predicted: float
) -> tuple[KernelRow, ...]:
    buffers = {buffer["name"]: buffer for buffer in described["buffers"]}
    kernels = {kernel["name"]: kernel for kernel in described["kernels"]}
    launches = _launches(described)
    rows, rate = [], _product_rate(described)
    for name in dict.fromkeys(launch.kernel for launch in launches):
        own = [launch for launch in launches if launch.kernel == name]
        used = [buffers[buffer] for buffer in kernels[name]["buffers"]]
        told = measured.get(name, {})
        count = sum(launch.chunks * launch.vocab_splits for launch in own)
        if kernels[name]["conditional"]:  # for hardly any token
            used = [buffer for buffer in used if buffer["role"] == "result"]
        flops = round(sum(launch.share * _flops(used, described) for launch in own))
        read = used if flops else [_rows_of_targets(buffer, used, described) for buffer in used]
        moved = round(sum(_bytes(buffer, launch, described) for launch in own for buffer in read))
        rows.append(
            KernelRow(
                name,
                count,
                flops,
                moved,
                told.get("ms"),
                told.get("counters"),
                told.get("predicted"),
                predicted_milliseconds(described.get("rates"), rate, count, flops, moved),
                kernels[name]["threads"],
                kernels[name]["shared_bytes"],
            )
        )
    shares = shared_milliseconds(predicted, [row.predicted_milliseconds for row in rows])
    return tuple(replace(row, predicted_milliseconds=ms) for row, ms in zip(rows, shares, strict=True))


def _flops(buffers: Sequence[Mapping[str, Any]], described: Mapping[str, Any]) -> int:
    """A kernel contracts once where it has two of packed hidden states,
    weights and gradients of logits, or
    all: it makes logits again.
    """
    flops = 0
    for number, pair in enumerate(described["projections"]):
        roles = {buffer["role"] for buffer in buffers if buffer["owner"] == number}
        has_hidden = not roles.isdisjoint({"packed_rows", "packed_columns", "scaled_hidden"})
        matrices = has_hidden + ("weight" in roles) + ("logit_gradient" in roles)
        flops += (matrices >= 2) * 2 * described["tokens"] * described["columns"] * pair["hidden"]
    return flops


def _rows_of_targets(
    buffer: Mapping[str, Any], used: Sequence[Mapping[str, Any]], described: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What a kernel without products reads of `buffer`. One that adds the terms of targets reads a
    row of the weight for each token and each coefficient; coefficients are results. One that rounds
    a weight reads all.
    """
    coefficients = sum(other["role"] == "result" for other in used)
    if buffer["role"] not in ("weight", "rounded_weight") or not coefficients:
        return buffer
    return {**buffer, "rows": min(buffer["rows"], described["tokens"] * coefficients)}


def _bytes(buffer: Mapping[str, Any], launch: _Launches, described: Mapping[str, Any]) -> float:
    """What launches move of a buffer, whose extents of -1 are tokens."""
    tokens, vocab = described["tokens"], described["columns"]
    extents = (buffer["rows"], buffer["columns"])
    along_tokens, along_vocab = -1 in extents, vocab in extents
    elements = 1
    for extent in extents:
        elements *= tokens if extent == -1 else extent
    repeats = (1 if along_tokens else launch.chunks) * (launch.share if along_vocab else launch.vocab_splits)
    return elements * _ELEMENT_BYTES[buffer["element"]] * repeats
