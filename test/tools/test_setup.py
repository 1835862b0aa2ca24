"""setup.sh: what it leaves in the virtual environment.
Its packages and its build are stand-ins here.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import tree


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A tree in which everything is installed and built, with an environment of its own."""
    root = tmp_path / "a tree"
    root.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    shutil.copy(tree.ROOT / "setup.sh", root)
    for list_ in ("requirements-dev.txt", "bench/demo/requirements.txt"):
        tree.write(root, list_, "")
        tree.write(root, f".venv/{list_.replace('/', '_')}.stamp", "")
    tree.write(root, "build/build.ninja", "build package: phony\nbuild all: phony\ndefault all\n")
    tree.write(root, "build/python/logitile/__init__.py", "place = 'the build'\n")
    installed = "#!/bin/sh\nshift 2\nfor name; do echo \"$name installed\"; done\n"
    tree.write(root, "bin/dpkg-query", installed)
    (root / "bin" / "dpkg-query").chmod(0o755)
    return root


def run(root: pathlib.Path, *command: str, **variables: str) -> str:
    ours = ("PYTHONPATH", "LOGITILE_UNITY")  # which may say how this tree was built
    environment = {name: item for name, item in os.environ.items() if name not in ours}
    environment["PATH"] = f"{root / 'bin'}:{environment['PATH']}"
    environment |= variables
    done = subprocess.run(command, cwd=root.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def place(root: pathlib.Path, **variables: str) -> str:
    """Which package Python of the environment imports, from a folder outside of the tree."""
    program = "import logitile; print(logitile.place)"
    return run(root, str(root / ".venv" / "bin" / "python"), "-c", program, **variables).strip()


def test_python_finds_the_build_from_any_folder(checkout):
    for _ in range(2):
        run(checkout, str(checkout / "setup.sh"), "package")
        assert place(checkout) == "the build"


def test_pythonpath_comes_before_the_build(checkout, tmp_path):
    run(checkout, str(checkout / "setup.sh"))
    tree.write(tmp_path, "other/logitile/__init__.py", "place = 'elsewhere'\n")
    assert place(checkout, PYTHONPATH=str(tmp_path / "other")) == "elsewhere"


def test_files_that_the_demo_compiled_as_one_become_files_of_their_own(checkout):
    """So that a contributor's edit compiles one file, and a missing include is found."""
    tree.write(checkout, "bin/cmake", "#!/bin/sh\necho cmake \"$@\"\n")
    (checkout / "bin" / "cmake").chmod(0o755)
    tree.write(checkout, "build/CMakeCache.txt", "CMAKE_UNITY_BUILD:UNINITIALIZED=ON\n")
    switched = "cmake -DCMAKE_UNITY_BUILD=OFF build"
    assert switched not in run(checkout, str(checkout / "setup.sh"), LOGITILE_UNITY="ON")
    assert switched in run(checkout, str(checkout / "setup.sh"))
    tree.write(checkout, "build/CMakeCache.txt", "CMAKE_UNITY_BUILD:UNINITIALIZED=OFF\n")
    assert switched not in run(checkout, str(checkout / "setup.sh"))
    (checkout / "build" / "CMakeCache.txt").unlink()
    (checkout / "build" / "build.ninja").unlink()
    tree.write(checkout, "bin/ninja", "#!/bin/sh\n")
    (checkout / "bin" / "ninja").chmod(0o755)
    assert "-DCMAKE_UNITY_BUILD=ON" in run(checkout, str(checkout / "setup.sh"), LOGITILE_UNITY="ON")


def test_the_demo_builds_the_module_with_few_packages(checkout):
    """Its own list of Python packages, and no target but the module: no test, tool or emulator."""
    shutil.copy(tree.ROOT / "demo.sh", checkout)
    # setup.sh would install that list now
    (checkout / ".venv" / "requirements-dev.txt.stamp").unlink()
    tree.write(checkout, "build/build.ninja", "rule other\n  command = false\n"
                                              "build _native: phony\nbuild all: other\ndefault all\n")
    tree.write(checkout, "bench/demo/demo.py", "import logitile; print('the demo has', logitile.place)\n")
    said = run(checkout, str(checkout / "demo.sh"))
    assert "the demo has the build" in said
    for step in ("step 1 of 2", "step 1 took", "step 2 of 2", "step 2 took"):
        assert f"demo: {step}" in said
