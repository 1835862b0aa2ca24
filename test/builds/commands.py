"""Runs the commands of other builds of the tree."""
from __future__ import annotations

import os
import pathlib
import subprocess

import tree


def run(command: list[str], limit: int, folder: pathlib.Path = tree.ROOT, **variables: str) -> str:
    """What a command printed; a failure shows its end.

    Args:
        limit: seconds after which it hangs.
        folder: where it runs.
        variables: environment beside this process's own.
    """
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **variables), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit)
    assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-8000:]}"
    return done.stdout
