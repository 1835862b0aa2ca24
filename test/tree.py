"""The files of the source tree and their ODS records, for tests that read text. Not: build folders."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ["dialect", "templates", "compiler", "runtime", "python"]  # each may use those before it
CPP = (".h", ".cpp")

_LEFT_OUT = {".git", ".venv", "__pycache__", "dist", "demo-output",
             ".pytest_cache", ".ruff_cache", ".hypothesis"}


def files(root: pathlib.Path, *suffixes: str, under: str = ".") -> Iterator[pathlib.Path]:
    """Files below `root / under` that end in one of `suffixes` (all without any), sorted."""
    for folder, folders, names in os.walk(root / under):
        folders[:] = sorted(set(folders) - _LEFT_OUT - {name for name in folders if name.startswith("build")})
        for name in sorted(set(names) - _LEFT_OUT):
            if not suffixes or name.endswith(suffixes):
                yield pathlib.Path(folder) / name


def write(root: pathlib.Path, path: str, text: str) -> None:
    """Writes one file of a made-up tree."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def llvm_tool(name: str) -> pathlib.Path:
    """A tool of LLVM 22, from PATH. Raises FileNotFoundError where it is not installed."""
    found = shutil.which(f"{name}-22") or shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} of LLVM 22 is not on PATH; ./setup.sh installs it")
    return pathlib.Path(found).resolve()


def ods_command(tool: str, td: str) -> list[str]:
    """The command line of a tablegen tool on one .td file of the tree."""
    program = llvm_tool(tool)
    return [str(program), "-I", str(ROOT), "-I", str(program.parent.parent / "include"), str(ROOT / td)]


def ods_records(td: str, base: str) -> list[dict[str, Any]]:
    """The records of a .td file that derive from `base` and belong to this tree, in the order of the text."""
    command = [*ods_command("llvm-tblgen", td), "--dump-json"]
    records = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ours = {file.name for file in files(ROOT, ".td")}
    found = [records[name] for name in records["!instanceof"][base]]
    return [record for record in found if pathlib.Path(record["!locs"][0].rsplit(":", 1)[0]).name in ours]
