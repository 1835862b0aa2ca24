"""The artefact of package.sh: what is in it, its size,
and what gpu_check.sh says where there is no GPU.

It is unpacked away from the tree and runs with an empty environment,
so that nothing of the tree can help it.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
import tree
from commands import run

BUILD = tree.ROOT / "build"
MOST_BYTES = 40_000_000

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def archive() -> pathlib.Path:
    run(["./package.sh", str(BUILD)], limit=3000)
    (file,) = BUILD.glob("logitile-*.tar.xz")
    return file


@pytest.fixture(scope="module")
def unpacked(archive: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def alone(root: pathlib.Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the artefact, with no variable of this process and with the
    system's tools alone.
    """
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), "PYTHON": sys.executable}
    return subprocess.run(
        command,
        cwd=root,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1500,
    )


def test_it_is_small_and_stripped(archive, unpacked):
    assert archive.stat().st_size <= MOST_BYTES
    files = [*unpacked.glob("python/logitile/liblogitile_*.so"), unpacked / "test/gpu_conformance"]
    assert len(files) == 3
    for file in files:
        assert ".symtab" not in run(["llvm-readelf-22", "--sections", str(file)], limit=60), file


def test_its_libraries_need_no_python_and_no_llvm(unpacked):
    libraries = map(str, unpacked.glob("python/logitile/liblogitile_*.so"))
    needed = run(["llvm-readelf-22", "--needed-libs", *libraries], limit=60)
    assert not {"libpython", "libLLVM", "libMLIR", "libstdc++", "libcuda"} & {
        word.split(".")[0] for word in needed.split()
    }  # fmt: skip


def test_it_runs_with_the_glibc_of_2022(unpacked):
    """Many machines with GPUs have 2.35. The libraries alone need 2.28 at most."""
    files = [*unpacked.glob("python/logitile/*.so"), unpacked / "test/gpu_conformance"]
    symbols = run(["llvm-readelf-22", "--version-info", *map(str, files)], limit=60)
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)}
    assert (2, 17) < max(versions) <= (2, 35)


def test_gpu_check_runs_what_needs_no_gpu_and_names_what_it_skips(unpacked):
    done = alone(unpacked, "bench/gpu_check.sh")
    steps = (unpacked / "results/steps").read_text()
    assert done.returncode == 0, done.stdout[-6000:]
    states = {line.split(maxsplit=1)[1][:12]: line.split()[0] for line in steps.splitlines()}
    assert states == {
        "import      ": "passed", "instructions": "passed", "exact losses": "passed",
        "numbers of a": "skipped", "benchmark   ": "skipped", "benchmark, f": "skipped",
    }, steps  # fmt: skip
    assert "emulator alone" in steps and "no GPU: AssertionError: torch sees no GPU" in steps


def test_a_step_that_fails_fails_the_check(unpacked):
    program = unpacked / "test/gpu_conformance"
    program.rename(program.with_suffix(".away"))
    try:
        done = alone(unpacked, "bench/gpu_check.sh")
    finally:
        program.with_suffix(".away").rename(program)
    assert done.returncode == 1
    assert "FAILED   instructions, emulator alone" in (unpacked / "results/steps").read_text()


def test_the_binding_builds_from_source(unpacked):
    """With the system's compiler, as on a machine whose Python the artefact has no binding for."""
    if not shutil.which("c++", path="/usr/bin:/bin"):
        pytest.skip("the system has no c++")
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    (module,) = (unpacked / "python/logitile").glob(f"_native.cpython-{version}*")
    module.unlink()
    done = alone(unpacked, "python/build_binding.sh", sys.executable)
    assert done.returncode == 0, done.stdout
    program = "from logitile import _native; print(_native.host_target())"
    found = alone(unpacked, "/usr/bin/env", "PYTHONPATH=python", sys.executable, "-c", program)
    assert found.stdout.startswith("cpu:"), found.stdout
