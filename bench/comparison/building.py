"""C++ programs of the benchmarks, compiled where they are first used and kept in build/bench."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
FOLDER = BENCH.parent / "build" / "bench"


class Missing(Exception):
    """Something of the system is not there; the text says what to install."""


def compiler(*names: str) -> str:
    """The first of these C++ compilers that there is.

    Raises:
        Missing: there is none.
    """
    for name in names:
        if shutil.which(name):
            return name
    raise Missing(f"there is no {' or '.join(names)}; install the package {names[0]}")


def require_header(header: str, package: str) -> None:
    """Raises Missing with the name of the package where g++ does not find a header."""
    command = [compiler("g++"), "-x", "c++", "-E", "-"]
    run = subprocess.run(command, input=f"#include <{header}>\n", text=True, capture_output=True)
    if run.returncode:
        raise Missing(f"there is no {header}; install the package {package}")


def built(compiler: str, source: Path, flags: Sequence[str], libraries: Sequence[str] = ()) -> Path:
    """A program or library of one file. Compiled anew if source, flags or processor change.

    Raises:
        RuntimeError: the compiler refuses the source; the text is what it says.
    """
    command = [compiler, "-std=c++20", "-O3", *flags]
    parts = [repr([*command, *libraries]).encode(), source.read_bytes(), _processor().encode()]
    made = FOLDER / f"{source.stem}-{hashlib.sha256(b''.join(parts)).hexdigest()[:16]}"
    if not made.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        fresh = made.with_suffix(f".{os.getpid()}")  # others may compile it at the same time
        command += [str(source), *libraries, "-o", str(fresh)]
        run = subprocess.run(command, text=True, capture_output=True)
        if run.returncode:
            raise RuntimeError(f"{compiler} refuses {source.name}:\n{run.stderr}")
        fresh.rename(made)
    return made


def _processor() -> str:
    """What -march=native depends on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith("flags")), "")
