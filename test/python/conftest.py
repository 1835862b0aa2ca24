"""Makes python/ importable and offers logitile-opt to tests."""

import os
import pathlib
import subprocess
import sys

import pytest

# The arrays of these tests are tiny: more threads only wait for each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LOGITILE_BUILD", ROOT / "build"))
BUILT = BUILD / "python"  # the sources with the native module beside them
PACKAGE = BUILT if (BUILT / "logitile").is_dir() else ROOT / "python"
HERE = pathlib.Path(__file__).resolve().parent
for folder in (*sorted(HERE.glob("*/")), PACKAGE, HERE):  # tests may use what other tests define
    # before what PYTHONPATH names, even where it names this one too
    sys.path.insert(0, str(folder))


def find_tool(name):
    """A developer tool: from LOGITILE_TOOLS, else from the build folder; None if there is none."""
    folders = [os.environ.get("LOGITILE_TOOLS"), BUILD / "compiler" / "tools"]
    return next(
        (path for folder in folders if folder and (path := pathlib.Path(folder) / name).exists()), None
    )


@pytest.fixture(scope="session")
def logitile_opt():
    """Runs logitile-opt on text and returns what it prints;
    a failure of the tool is one of the test.
    """
    tool = find_tool("logitile-opt")
    if tool is None:
        pytest.skip("logitile-opt is not built (set LOGITILE_TOOLS)")

    def run(text, *flags):
        result = subprocess.run([tool, *flags], input=text, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr + "\n" + text
        return result.stdout

    return run
