"""Reads .td files with the tablegen tools of LLVM 22, and gives their records as dictionaries."""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The passes for every target, then those of each backend.
BACKENDS = ROOT / "compiler" / "Backends"
PASSES = ["compiler/Passes.td", *sorted(str(file.relative_to(ROOT)) for file in BACKENDS.glob("*/Passes.td"))]


def llvm_tool(name: str) -> pathlib.Path:
    """A tool of LLVM 22, from PATH. Raises FileNotFoundError where it is not installed."""
    found = shutil.which(f"{name}-22") or shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} of LLVM 22 is not on PATH; ./setup.sh installs it")
    return pathlib.Path(found).resolve()


def command(tool: str, td: str) -> list[str]:
    """The command line of a tablegen tool on one .td file of the tree."""
    program = llvm_tool(tool)
    return [str(program), "-I", str(ROOT), "-I", str(program.parent.parent / "include"), str(ROOT / td)]


def run(line: list[str]) -> str:
    """The output of a tablegen tool. Raises RuntimeError with what it says where it fails."""
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{line[0]} failed:\n{done.stderr}")
    return done.stdout


def records(td: str, base: str) -> list[dict[str, Any]]:
    """The records of a .td file that derive from `base` and belong to this tree,
    in the order of the text.
    """
    found = json.loads(run([*command("llvm-tblgen", td), "--dump-json"]))
    ours = {file.name for folder in ("dialect", "compiler") for file in (ROOT / folder).rglob("*.td")}
    wanted = [found[name] for name in found["!instanceof"][base]]
    return [record for record in wanted if pathlib.Path(record["!locs"][0].rsplit(":", 1)[0]).name in ours]
