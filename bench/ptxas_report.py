"""Registers, shared memory, spills and occupancy of kernels for GPUs,
as the assembler of a toolkit says.

Run it with the built package: `PYTHONPATH=build/python python bench/ptxas_report.py --loss focal`.
It compiles every loss of the library for every element type, schedule, row of the tile table and
target that is not left out, and assembles each kernel that is different once. With --check it
prints only what is wrong (errors, spills, stack frames, remarks on serialised code, memory barriers
in loops with copies of boxes) and fails if anything is: `ninja check-ptxas` does that. A few words
may be spilled around loops of products, which take almost all the time. No GPU is needed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace

import logitile as lt
from logitile.spec.gradient_flow import differentiable_outputs
from sass.boxes import slow_loops
from sass.listing import read_listings
from sass.toolchain import ToolMissing, disassemble, find_tool

TABLE = pathlib.Path(__file__).resolve().parent.parent / "compiler" / "Backends" / "NVPTX" / "tiles.json"
SHAPE = TOKENS, HIDDEN, VOCAB = 4096, 768, 50257  # no tile divides the vocabulary
ENTRIES = 4  # of a token in an input Token[..., K]
FEW_SPILLED = 112  # bytes of stores and loads: 28 of the thousands of instructions of a tile
DTYPES = ("bfloat16", "float16", "float32")
# Gradients in the place of stored logits, summed over chunks, and of logits that are recomputed.
SCHEDULES = {"forward": {}, "kept": {"chunks": 1}, "chunks": {"chunks": 4}, "again": {"workspace": "600MiB"}}
REGISTERS, RESERVED_SHARED = 65536, 1024  # of a multiprocessor; of each block
# Warps and bytes of shared memory of a multiprocessor: CUDA programming guide,
# technical specifications.
LIMITS = {
    "sm_80": (64, 164), "sm_86": (48, 100), "sm_89": (48, 100), "sm_90": (64, 228), "sm_90a": (64, 228),
    "sm_100": (64, 228), "sm_120": (48, 100),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One program."""

    target: str
    loss: str
    dtype: str
    schedule: str
    tiles: str

    def __str__(self) -> str:
        return " ".join((self.target, self.loss, self.dtype, self.schedule, self.tiles or "default tiles"))


@dataclass(frozen=True)
class Kernel:
    """One kernel as PTX, with what comes before it in its file."""

    name: str
    text: str
    threads: int
    shared: int


@dataclass(frozen=True)
class Figures:
    """What the assembler says of a kernel."""

    registers: int
    spilled: int
    stack: int


# ---- programs ------------------------------------------------------------------------------------


def tile_rows(target: str, values: int) -> list[str]:
    """The rows of the tile table that serve so many tiles at a time, as requests spell them.

    The first one is the default, which requests do not name: sizes that a loss has no registers for
    are reduced then, and refused where they are named.
    """
    rows = json.loads(TABLE.read_text())[target]
    served = min(values, max(row["values"] for row in rows))
    spelled = [
        ",".join(f"{name}={size}" for name, size in row.items() if name != "values")
        for row in rows
        if row["values"] >= served
    ]
    return ["", *spelled[1:]]


def arguments(loss: lt.Loss, shape: tuple[int, int, int], dtype: str) -> dict[str, object]:
    """Arguments of a call with no data, without the optional ones; a shape is tokens,
    hidden, vocabulary.
    """
    tokens, hidden, vocab = shape
    made: dict[str, object] = {}
    for parameter in loss.signature.inputs:
        kind = parameter.kinds[0]
        if parameter.optional:
            continue
        if kind.axis == "logits":
            pair = ((tokens, hidden), (vocab, hidden))
            made[parameter.name] = tuple(lt.ShapeDtype(extents, dtype) for extents in pair)
            continue
        extents = {"token": (tokens,), "vocab": (vocab,), "dense": (tokens, vocab), "scalar": ()}[kind.axis]
        element = {"int": "int32", "bool": "bool"}.get(kind.element, "float32")
        made[parameter.name] = lt.ShapeDtype(extents + ((ENTRIES,) if kind.entries else ()), element)
    return made


def tiles_at_a_time(loss: lt.Loss) -> int:
    """Tiles of all tokens and columns that its kernels hold."""
    return sum(p.kinds[0].axis in ("logits", "dense") and not p.optional for p in loss.signature.inputs)


def cases(chosen: argparse.Namespace) -> Iterator[Case]:
    """All programs that are not left out."""
    for target, name in itertools.product(chosen.target or LIMITS, chosen.loss or lt.losses.__all__):
        loss = getattr(lt.losses, name)
        rows = tile_rows(target, tiles_at_a_time(loss))
        rows = rows if chosen.row is None else rows[chosen.row : chosen.row + 1]
        head = lt.jit(loss)
        has_gradients = differentiable_outputs(head._bind(**arguments(loss, SHAPE, "float32")).form.spec)
        for schedule in chosen.schedule or SCHEDULES:
            if schedule != "forward" and not has_gradients:
                continue
            for dtype, tiles in itertools.product(chosen.dtype or DTYPES, rows):
                # operands of 32 bits are not shared
                if dtype != "float32" or "cluster" not in tiles:
                    yield Case(target, name, dtype, schedule, tiles)


def kernels_of(case: Case) -> list[Kernel]:
    """Compiles a program."""
    loss = getattr(lt.losses, case.loss)
    head = lt.jit(loss, backend=f"cuda:{case.target}", **SCHEDULES[case.schedule])
    head.options = replace(head.options, tiles=case.tiles)
    grad = () if case.schedule == "forward" else None
    given = arguments(loss, SHAPE, case.dtype)
    ptx, device = (str(head.ir(stage, grad=grad, **given)) for stage in ("ptx", "device"))
    shared = re.findall(r"llvm\.func @(\w+)\(.*?logitile\.shared_bytes = (\d+)", device, re.DOTALL)
    bytes_of = {name: int(count) for name, count in shared}
    ptx = re.sub(r"^\s*//.*$", "", ptx, flags=re.MULTILINE)  # they name the next kernel
    start, *kernels = re.split(r"(?=^\.visible \.entry)", ptx, flags=re.MULTILINE)
    found = []
    for kernel in kernels:
        name = re.search(r"\.entry (\w+)\(", kernel)[1]
        threads = int(re.search(r"\.reqntid (\d+)", kernel)[1])
        found.append(Kernel(name, start + kernel, threads, bytes_of[name]))
    return found


# ---- the assembler -------------------------------------------------------------------------------


def assemble(target: str, kernel: Kernel) -> tuple[Figures | None, list[str]]:
    """The figures of a kernel, and what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "kernel.ptx")
        file.write_text(kernel.text)
        binary = file.with_suffix(".cubin")
        command = ["ptxas", "-v", f"-arch={target}", str(file), "-o", str(binary)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        said = run.stdout + run.stderr
        if run.returncode != 0:
            return None, [said.strip()]
        has_products = "mma" in kernel.text
        listings = read_listings(disassemble(binary)).values() if has_products else ()
    stack, *spills = map(
        int,
        re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said
        ).groups(),
    )
    figures = Figures(int(re.search(r"Used (\d+) registers", said)[1]), sum(spills), stack)
    wrong = [line for line in said.splitlines() if re.search(r"\bC75\d\d\b", line)]
    wrong += itertools.chain.from_iterable(map(slow_loops, listings))
    is_little = has_products and max(figures.spilled, figures.stack) <= FEW_SPILLED
    if (figures.spilled or figures.stack) and not is_little:
        wrong.append(f"{figures.registers} registers, {figures.spilled} bytes of spills, {stack} of stack")
    return figures, wrong


def occupancy(target: str, kernel: Kernel, figures: Figures) -> float:
    """Share of a multiprocessor's warps that run at a time."""
    warps, kib = LIMITS[target]
    mine = kernel.threads // 32
    registers_of_warp = -(-figures.registers // 8) * 8 * 32
    blocks = min(
        warps // mine,
        REGISTERS // (registers_of_warp * mine),
        kib * 1024 // (kernel.shared + RESERVED_SHARED),
    )
    return blocks * mine / warps


# ---- the command ---------------------------------------------------------------------------------


def examine(case: Case, seen: str) -> list[tuple[Kernel, Figures | None, list[str]]]:
    """Compiles a program and assembles those of its kernels that have no file in the
    folder `seen` yet.

    A row of the table whose tiles the loss cannot have is told, and has no kernels.
    """
    found = []
    try:
        kernels = kernels_of(case)
    except lt.CompileError as error:
        if "cannot have tiles" not in str(error):
            raise
        print(f"refused {case}: {error}", flush=True)
        return []
    for kernel in kernels:
        digest = hashlib.sha256(f"{case.target} {kernel.text}".encode()).hexdigest()
        try:
            pathlib.Path(seen, digest).touch(exist_ok=False)
        except FileExistsError:
            continue
        found.append((replace(kernel, text=""), *assemble(case.target, kernel)))
    return found


def row(case: Case, kernel: Kernel, figures: Figures) -> str:
    """A line of the table."""
    return (
        f"{case} {kernel.name:16} {kernel.threads:4} threads {figures.registers:3} registers "
        f"{kernel.shared:6} shared {figures.spilled:4} spilled {occupancy(case.target, kernel, figures):4.0%}"
    )


def run(chosen: argparse.Namespace) -> int:
    """Prints the table, or with --check what is wrong; returns the number of kernels that are."""
    todo, count, bad = list(cases(chosen)), 0, 0
    with (
        tempfile.TemporaryDirectory() as seen,
        concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool,
    ):
        results = pool.map(examine, todo, itertools.repeat(seen))
        for number, (case, kernels) in enumerate(zip(todo, results, strict=True), 1):
            count += len(kernels)
            for kernel, figures, wrong in kernels:
                bad += bool(wrong)
                for line in wrong:
                    print(f"WRONG {case} {kernel.name}: {line}", flush=True)
                if figures and not chosen.check:
                    print(row(case, kernel, figures), flush=True)
            if chosen.check:
                print(f"[{number}/{len(todo)}] {case}: {len(kernels)} new kernels", flush=True)
    print(f"{len(todo)} programs, {count} different kernels, {bad} of them wrong")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--target", action="append", choices=list(LIMITS))
    parser.add_argument("--loss", action="append", choices=lt.losses.__all__)
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--schedule", action="append", choices=list(SCHEDULES))
    parser.add_argument("--row", type=int, help="only this row of those that serve a loss; 0 is the default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="print and count what is wrong")
    if shutil.which("ptxas") is None:
        print("ptxas, the assembler of a CUDA toolkit, is not on PATH", file=sys.stderr)
        return 2
    try:
        find_tool("nvdisasm")
    except ToolMissing as missing:
        print(f"ptxas_report: {missing}", file=sys.stderr)
        return 2
    return min(run(parser.parse_args()), 1)


if __name__ == "__main__":
    sys.exit(main())
