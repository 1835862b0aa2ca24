"""Importing logitile imports no framework, and takes little.
bench/overhead.py measures how long it takes.
"""

import pathlib
import re
import subprocess
import sys

import logitile
import pytest
import tree

HEAVY = ("numpy", "torch", "jax", "transformers", "ml_dtypes", "matplotlib", "pygments", "tqdm", "asyncio",
         "difflib", "filecheck", "tempfile")  # fmt: skip
# with the native module: a loss is traced by its table
PYTHON = pathlib.Path(logitile.__file__).parents[1]


def run(code):
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PYTHON)!r}); {code}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_import_loads_nothing_heavy():
    assert run(f"import logitile; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_losses_and_tracing_load_nothing_heavy():
    code = [
        "import logitile as lt",
        "from logitile.language.definition import Specialisation",
        "lt.losses.cross_entropy.trace(Specialisation(10)).text()",
        "hidden, weight = lt.ShapeDtype((3, 4), 'float32'), lt.ShapeDtype((9, 4), 'float32')",
        "lt.jit(lt.losses.entropy)._bind(hidden, weight)",
        f"print([m for m in {HEAVY} if m in sys.modules])",
    ]
    assert run("; ".join(code)) == "[]"


def test_names_are_the_public_ones():
    names = "{*lt.__all__, '__version__', 'nn', 'parallel', 'testing'}"
    assert run(f"import logitile as lt; print(sorted(set(dir(lt)) ^ {names}))") == "[]"


@pytest.mark.parametrize("module", ["losses", "nn", "parallel", "testing"])
def test_names_of_a_module_are_the_public_ones(module):
    part = getattr(logitile, module)
    assert dir(part) == sorted(part.__all__)


def test_dir_of_a_head_has_what_language_md_has():
    """Section 7 and those that it leads to, and view; the rest is internal."""
    public = {name for name in dir(logitile.Head) if not name.startswith("_")}
    assert public == {
        "compile", "compile_text", "constants", "explain", "finish", "finish_grad", "ir", "loss", "options",
        "partial", "reference", "reference_grad", "value_and_grad", "view", "vocab_parallel", "with_options",
    }  # fmt: skip


def test_there_is_one_version():
    """The header has it. The library tells what CMake read there,
    and pyproject.toml reads the same line.
    """
    header = (tree.ROOT / "runtime" / "logitile.h").read_text(encoding="utf-8")
    (version,) = re.findall(r'^#define LT_VERSION "([0-9.]+)"$', header, re.MULTILINE)
    assert logitile.__version__ == version
    pyproject = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in pyproject and 'input = "runtime/logitile.h"' in pyproject
    (regex,) = re.findall(r"^regex = '(.*)'$", pyproject, re.MULTILINE)
    assert re.search(regex, header)["value"] == version


def test_calls_load_no_other_framework():
    code = [
        "import numpy as np, logitile as lt",
        "hidden, weight = np.ones((3, 4), np.float32), np.ones((9, 4), np.float32)",
        "lt.jit(lt.losses.cross_entropy)(hidden, weight, target=np.zeros(3, np.int64))",
        "print([m for m in ('torch', 'jax', 'ml_dtypes') if m in sys.modules])",
    ]
    assert run("; ".join(code)) == "[]"
