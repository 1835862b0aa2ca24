"""Python text that runs in a process of its own, with the package and helpers of these tests."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent


def run(text, *arguments, status=0, timeout=240, **environment):
    """What the text prints. Fails where it ends otherwise than with `status`.

    Args:
        arguments: sys.argv[1:] of the text.
        environment: variables beyond those of this process.
    """
    start = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport conftest\n"
    result = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(text), *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment},
    )  # fmt: skip
    assert result.returncode == status, f"{result.returncode}\n{result.stdout}\n{result.stderr[-4000:]}"
    return result.stdout
