"""Products of CUTLASS on the model: how far predicted rates are from known ones.

The known rates are shares of the data sheet for bf16 products of 8192^3. a100: CUTLASS reaches what
cuBLAS does (README of CUTLASS 2.x and 3.x, figures "CUTLASS primitives"), about 275 of 312 Tflop/s.
h100: about 60 %; instructions of mma.sync alone reach 62.9 % (Luo et al. 2024, arXiv:2402.13499,
tensor cores).
"""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from .listing import read_listings
from .multiprocessor import rates_of
from .timing import KernelModel, Launches, Limits, predict
from .toolchain import disassemble, find_tool, read_report

SOURCE = pathlib.Path(__file__).with_name("cutlass_gemms.cu")
SIZE, WARPS = 8192, 8
# Rows, columns and depth of a tile, stages: the kernels of SOURCE.
TILES = {"gemm_128x256x32_3": (128, 256, 32, 3), "gemm_256x128x64_3": (256, 128, 64, 3)}
KNOWN = {("sm_80:a100", "gemm_256x128x64_3"): 0.88, ("sm_90:h100", "gemm_256x128x64_3"): 0.60}


def rows(include: str, target: str, chip: Mapping[str, float], limits: Limits) -> list[dict[str, Any]]:
    """Predicted and known shares of the data sheet, one row for each kernel.

    Args:
        include: folder of CUTLASS' headers.

    Raises:
        ToolMissing: there is no nvcc.
        subprocess.CalledProcessError: it refuses the headers.
    """
    architecture = target.partition(":")[0]
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder, "gemms.cubin")
        command = [
            find_tool("nvcc"),
            "-cubin",
            f"-arch={architecture}",
            "-std=c++17",
            "-Xptxas=-v",
            f"-I{include}",
        ]
        said = subprocess.run(
            [*command, str(SOURCE), "-o", str(binary)], check=True, capture_output=True, text=True
        )
        listings = read_listings(disassemble(binary))
    assembled = read_report(said.stdout + said.stderr)
    rates = rates_of(int(architecture.removeprefix("sm_")), chip)
    found = []
    for name, (height, width, depth, stages) in TILES.items():
        shared = (height + width) * depth * 2 * stages
        blocks = limits.blocks_of(assembled[name], WARPS * 32, shared)
        model = KernelModel(listings[name], assembled[name], rates, WARPS, blocks)
        tiles = SIZE // height * (SIZE // width)
        launch = {
            "tokens": SIZE,
            "columns": SIZE,
            "tasks": tiles,
            "product_tiles": tiles,
            "matrix_instructions": (SIZE // 16) * (SIZE // 8) * (SIZE // 16),
            "global_bytes": tiles * (height + width) * SIZE * 2,
        }
        predicted = predict(model, Launches([launch], 3 * SIZE * SIZE * 2), chip)
        operations = chip["tensor_rate"] / chip["multiprocessors"] / chip["hertz"]
        found.append(
            {
                "target": target,
                "kernel": name,
                "predicted_share_of_loop": round(model.share_of_peak(operations), 3),
                "predicted_share": round(2 * SIZE**3 / predicted.seconds / chip["tensor_rate"], 3),
                "known_share": KNOWN.get((target, name)),
            }
        )
    return found
