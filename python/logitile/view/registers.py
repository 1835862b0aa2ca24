"""Registers, spills, and thread blocks per multiprocessor of kernels, from ptxas."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Limits of a multiprocessor: CUDA C++ Programming Guide, table "Technical Specifications per
# Compute Capability". Registers are given to warps in units of 256.
_REGISTERS, _UNIT = 65536, 256
_WARPS_AND_BLOCKS = {"sm_86": (48, 16), "sm_89": (48, 24), "sm_120": (48, 24)}
_OTHERS = (64, 32)


@dataclass(frozen=True)
class Assembled:
    """One kernel after ptxas: registers of a thread,
    bytes of registers that were spilled to memory.
    """

    registers: int
    spilled_bytes: int


def assembled(ptx: str, target: str) -> dict[str, Assembled]:
    """By kernel; empty where there is no ptxas on PATH or it does not know the target.

    Args:
        ptx: a whole module.
        target: such as "cuda:sm_90".
    """
    program = shutil.which("ptxas")
    if program is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        command = [program, "-v", f"-arch={target.partition(':')[2]}", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _read(done.stderr + done.stdout) if done.returncode == 0 else {}


def _read(report: str) -> dict[str, Assembled]:
    found: dict[str, Assembled] = {}
    for part in re.split(r"(?=Compiling entry function)", report):
        name = re.match(r"Compiling entry function '(\S+)'", part)
        registers = re.search(r"Used (\d+) registers", part)
        if name and registers:
            spilled = sum(int(count) for count in re.findall(r"(\d+) bytes spill", part))
            found[name[1]] = Assembled(int(registers[1]), spilled)
    return found


def blocks_per_multiprocessor(
    registers: int, threads: int, shared_bytes: int, chip: Mapping[str, float], target: str
) -> int:
    """How many blocks of a kernel a multiprocessor holds at once, by registers,
    warps and shared memory.

    Args:
        registers: of a thread.
        threads, shared_bytes: of a block.
        chip: figures of describe_target, of which "shared_bytes" counts.
        target: such as "cuda:sm_90".
    """
    warps = -(-threads // 32)
    by_registers = _REGISTERS // (-(-registers * 32 // _UNIT) * _UNIT * warps)
    by_shared = int(chip["shared_bytes"]) // shared_bytes if shared_bytes else by_registers
    most_warps, most_blocks = _WARPS_AND_BLOCKS.get(target.partition(":")[2].rstrip("a"), _OTHERS)
    return min(by_registers, most_warps // warps, by_shared, most_blocks)
