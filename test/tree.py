"""The files of the source tree, for tests that read its text.
Not: build folders and environments.
"""
from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
# each may use those before it
LAYERS = ["dialect", "templates", "compiler", "runtime", "emulator", "python"]
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
