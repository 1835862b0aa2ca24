"""NVIDIA's assembler and disassembler, from PATH or from PyPI's wheels, and what they print."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}


class ToolMissing(RuntimeError):
    """A tool that the model needs is not installed. The text says which, and what to install."""


def find_tool(name: str) -> str:
    """The path of a tool: on PATH, or in a wheel of this Python (nvidia/cu13/bin and the like).

    Raises:
        ToolMissing: it is in neither.
    """
    if path := shutil.which(name):
        return path
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(pathlib.Path(folder).glob(f"*/bin/{name}")):
            return str(path)
    raise ToolMissing(f"no {name} on PATH or among this Python's packages; pip install {PACKAGES[name]}")


@dataclass(frozen=True)
class Assembled:
    """What the assembler says of one kernel.

    Attributes:
        registers: of a thread.
        spilled: bytes of spill stores and spill loads.
        shared: static shared memory of a block, bytes.
    """

    registers: int
    spilled: int
    shared: int


_REPORT = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?"
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def read_report(text: str) -> dict[str, Assembled]:
    """The kernels of what `ptxas -v` prints."""
    found = {}
    for report in _REPORT.finditer(text):
        shared = re.search(r"(\d+) bytes smem", report["rest"])
        spilled = int(report["stores"]) + int(report["loads"])
        found[report["name"]] = Assembled(int(report["registers"]), spilled, int(shared[1]) if shared else 0)
    return found


def assemble(ptx: str, target: str) -> tuple[dict[str, Assembled], str]:
    """Assembles PTX for `target`, such as "sm_80".

    Returns: figures of each kernel, and the listing of `nvdisasm -c -hex`.

    Raises:
        ToolMissing: see find_tool.
        subprocess.CalledProcessError: the assembler refuses the text.
    """
    ptxas, nvdisasm = find_tool("ptxas"), find_tool("nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "kernels.ptx"), pathlib.Path(folder, "kernels.cubin")
        source.write_text(ptx)
        command = [ptxas, "-v", f"-arch={target}", str(source), "-o", str(binary)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        return read_report(said.stdout + said.stderr), disassemble(binary, nvdisasm)


def disassemble(binary: pathlib.Path, nvdisasm: str | None = None) -> str:
    """The listing of a cubin."""
    command = [nvdisasm or find_tool("nvdisasm"), "-c", "-hex", str(binary)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
