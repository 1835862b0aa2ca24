"""Predicts, without a GPU, how long the kernels of a loss take on one,
from the instructions that NVIDIA's assembler makes of them.

Run it with the built package:
    PYTHONPATH=build/python python bench/sass_model.py --target sm_80:a100 --shape 8192,4096,128256
PTX of the compiler goes through ptxas and nvdisasm (PATH, or the wheels nvidia-cuda-nvcc and
nvidia-cuda-nvdisasm). bench/sass plays the main loop of each kernel on a model of one
multiprocessor and adds prologue, epilogue, occupancy, waves of the grid, and the bytes of the plan.
FLOOR is the time of the three matrix products of forward and backward, 6 N V D operations (2 N V D
without gradients), at the rate of cuBLAS; figures of chips are those of
compiler/Backends/NVPTX/GPU.cpp.

Everything printed is predicted, nothing measured. Kernels that the runtime launches around those of
a plan are left out, and so are L2 reuse, power and clocks. CUTLASS' own products, whose rates are
known, come out within 10 % (--cutlass); expect 10 % for a main loop, 20 % for a call. Differences
of more than 10 % between two versions of a kernel are reliable.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

import logitile as lt
from logitile import _native
from logitile.calls.demands import by_names
from logitile.calls.program import Program, default_key
from logitile.inspection.explanation import explanation
from ptxas_report import LIMITS, REGISTERS, RESERVED_SHARED, arguments
from sass import cutlass
from sass.listing import read_listings
from sass.multiprocessor import rates_of
from sass.timing import KernelModel, Launches, Limits, predict
from sass.toolchain import ToolMissing, assemble


class Compiled:
    """A loss for one target: its plan, its PTX, and the listing of each kernel.

    Args:
        tiles: as options spell them; "" for the first row of the table.
    """

    def __init__(
        self, name: str, target: str, shape: tuple[int, int, int], dtype: str, workspace: str, tiles: str = ""
    ) -> None:
        head = lt.jit(getattr(lt.losses, name), backend=f"cuda:{target}", workspace=workspace or "auto")
        call = head._bind(**arguments(getattr(lt.losses, name), shape, dtype))
        wanted = by_names(call, None)
        key = default_key(call, wanted)
        self.program = Program(call, dataclasses.replace(key, tiles=tiles))
        self.described = self.program.plan(call.tokens).describe(call.tokens, 1)
        seconds = self.program.predict(call.tokens)
        told = explanation(self.described, wanted.mode, None, {}, (tiles, False), seconds)
        self.bytes = {kernel.name: kernel.bytes for kernel in told.kernels}
        self.has_gradients = bool(self.described["gradients"])
        ptx = str(self.program.stage(call.tokens, "ptx", ""))
        self.assembled, listing = assemble(ptx, target.partition(":")[0])
        self.listings = read_listings(listing)


def limits_of(architecture: str) -> Limits:
    warps, kib = LIMITS[architecture]
    return Limits(warps, kib * 1024, REGISTERS, reserved=RESERVED_SHARED)


def kernel_rows(compiled: Compiled, target: str, chip: Mapping[str, float]) -> list[dict[str, Any]]:
    """The table of a call: one row for each kernel."""
    architecture = target.partition(":")[0]
    sm = int(architecture.removeprefix("sm_").removesuffix("a"))
    limits, rates = limits_of(architecture), rates_of(sm, chip)
    operations = chip["tensor_rate"] / chip["multiprocessors"] / chip["hertz"]
    models: dict[str, KernelModel] = {}
    rows = []
    for kernel in compiled.described["kernels"]:
        columns = compiled.described["vocab_split"] or compiled.described["vocab"]
        launches = compiled.described["launches"]
        each = [one | {"columns": columns} for one in launches if one["kernel"] == kernel["name"]]
        if not each:
            continue
        function, threads, shared = kernel["function"], kernel["threads"], kernel["shared_bytes"]
        assembled = compiled.assembled[function]
        if function not in models:
            blocks = limits.blocks_of(assembled, threads, shared)
            models[function] = KernelModel(
                compiled.listings[function], assembled, rates, -(-threads // 32), blocks
            )
        model = models[function]
        predicted = predict(model, Launches(each, compiled.bytes[kernel["name"]]), chip)
        row = {
            "kernel": kernel["name"],
            "launches": len(each),
            "blocks": max(launch["tasks"] for launch in each),
            "threads": threads,
            "registers": assembled.registers,
            "spilled_bytes": assembled.spilled,
            "shared_bytes": shared + assembled.shared,
            "blocks_per_multiprocessor": model.blocks,
            "waves": round(predicted.waves, 2),
            "around_cycles": round(predicted.tile_cycles),
            "around_share": round(predicted.tile_share, 3),
            "cache_bytes": sum(launch["global_bytes"] for launch in each),
            "memory_bytes": compiled.bytes[kernel["name"]],
            "bound": predicted.bound,
            "predicted_ms": round(1e3 * predicted.seconds, 4),
        }
        if model.main_loop is not None:
            row["loop"] = model.mix()
            row["loop_cycles"] = round(model.turn_cycles(model.blocks))
            row["predicted_share_of_peak"] = round(model.share_of_peak(operations), 3)
        rows.append(row)
    return rows


def report(compiled: Compiled, target: str, shape: tuple[int, int, int]) -> dict[str, Any]:
    """All that is predicted of a call."""
    tokens, hidden, vocab = shape
    chip = _native.describe_target(f"cuda:{target}")["chip"]
    rows = kernel_rows(compiled, target, chip)
    pairs = len(compiled.described["projections"])
    floor = (6 if compiled.has_gradients else 2) * pairs * tokens * vocab * hidden / chip["library_rate"]
    total = sum(row["predicted_ms"] for row in rows)
    return {
        "target": target,
        "shape": list(shape),
        "workspace_bytes": compiled.described["workspace_bytes"],
        "kernels": rows,
        "predicted_ms": round(total, 3),
        "floor_ms": round(1e3 * floor, 3),
        "predicted_ratio": round(total / (1e3 * floor), 3),
    }


# ---- the command ---------------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """A call as Markdown."""
    n, d, v = found["shape"]
    lines = [
        f"### {found['loss']}, {found['target']}, {n} x {d} x {v}, {found['dtype']}",
        "",
        f"predicted {found['predicted_ms']:.2f} ms; FLOOR {found['floor_ms']:.2f} ms; "
        f"predicted {found['predicted_ratio']:.2f}x FLOOR; "
        f"workspace {found['workspace_bytes'] / 2**30:.2f} GiB",
        "",
        "| kernel | launches x blocks | threads | registers | spilled | shared | blocks/SM | waves "
        "| products : LDSM : copies : other | predicted share of peak | around, cycles | around, share "
        "| memory GB | cache GB | bound | predicted ms |",
        "|" + "---|" * 16,
    ]
    for row in found["kernels"]:
        mix = " : ".join(str(count) for count in row["loop"].values()) if "loop" in row else ""
        share = f"{row['predicted_share_of_peak']:.0%}" if "loop" in row else ""
        lines.append(
            f"| {row['kernel']} | {row['launches']} x {row['blocks']} | {row['threads']} "
            f"| {row['registers']} | {row['spilled_bytes']} | {row['shared_bytes']} "
            f"| {row['blocks_per_multiprocessor']} "
            f"| {row['waves']} | {mix} | {share} | {row['around_cycles']} | {row['around_share']:.0%} "
            f"| {row['memory_bytes'] / 1e9:.2f} | {row['cache_bytes'] / 1e9:.1f} | {row['bound']} "
            f"| {row['predicted_ms']:.3f} |"
        )
    return "\n".join(lines)


def shape_of(text: str) -> tuple[int, int, int]:
    tokens, hidden, vocab = (int(part) for part in text.split(","))
    return tokens, hidden, vocab


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--target", action="append", help="compute capability and chip; default sm_80:a100")
    parser.add_argument("--shape", action="append", type=shape_of, help="tokens,hidden,vocabulary")
    parser.add_argument("--loss", action="append", choices=lt.losses.__all__)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--workspace", default="", help="bytes that a call may take; default auto")
    parser.add_argument("--tiles", default="", help="sizes of tiles; default: the first row of the table")
    parser.add_argument("--cutlass", help="folder of CUTLASS' headers: predict its kernels instead")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    chosen = parser.parse_args()
    targets = chosen.target or ["sm_80:a100"]
    try:
        if chosen.cutlass:
            found = []
            for target in targets:
                chip = _native.describe_target(f"cuda:{target}")["chip"]
                found += cutlass.rows(chosen.cutlass, target, chip, limits_of(target.partition(":")[0]))
            print("\n".join(json.dumps(row) for row in found))
        else:
            found = []
            for target in targets:
                for shape in chosen.shape or [(8192, 4096, 128256)]:
                    for loss in chosen.loss or ["cross_entropy"]:
                        compiled = Compiled(loss, target, shape, chosen.dtype, chosen.workspace, chosen.tiles)
                        one = {"loss": loss, "dtype": chosen.dtype, **report(compiled, target, shape)}
                        print(table(one), end="\n\n", flush=True)
                        found.append(one)
    except ToolMissing as missing:
        print(f"sass_model: {missing}", file=sys.stderr)
        return 2
    if chosen.json:
        made = {"date": str(datetime.date.today()), "predicted": True, "results": found}
        chosen.json.write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
