"""The oldest JAX that pyproject.toml asks for, in the place of the one that is installed."""
from __future__ import annotations

import pathlib
import re
import sys

import pytest
import tree
from commands import run

pytestmark = pytest.mark.full
PROCESSES = ("-n", "2", "--dist", "worksteal")

TESTS = ("test/python/frameworks/test_jax.py", "test/python/frameworks/test_jax_programs.py", "test/python/frameworks/test_xla_interface.py",
         "test/e2e/frameworks/test_jax_losses.py", "test/e2e/frameworks/test_jax_meshes.py")  # fmt: skip


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pathlib.Path]:
    """The version, and a folder with it alone; what it needs is installed already."""
    version = re.search(r'"jax>=([0-9.]+)"', (tree.ROOT / "pyproject.toml").read_text())[1]
    folder = tmp_path_factory.mktemp("jax")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps"]
    run([*pip, "--target", str(folder), f"jax=={version}", f"jaxlib=={version}"], limit=600)
    return version, folder


def test_all_tests_of_jax_pass(oldest):
    version, folder = oldest
    shown = run([sys.executable, "-c", "import jax; print(jax.__version__)"], limit=60, PYTHONPATH=str(folder))
    assert shown.strip() == version
    for test in TESTS:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PROCESSES, test]
        run(command, limit=3000, PYTHONPATH=str(folder), LOGITILE_TEST_FULL="0")
