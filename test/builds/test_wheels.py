"""The wheels of python/build_wheels.py: one for each Python that is here,
each installed and run in an empty environment.
"""
from __future__ import annotations

import pathlib
import sys
import zipfile

import pytest
import tree
from commands import run
from test_c_library import EXAMPLE, build
from test_wheel import PROGRAM

BUILD = tree.ROOT / "build"
MOST_BYTES = 32_000_000
sys.path.insert(0, str(tree.ROOT / "python"))
import build_wheels  # noqa: E402 - a script beside the package

PYTHONS = build_wheels.find_pythons()
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder with them. That they run on glibc 2.28, auditwheel has said."""
    folder = tmp_path_factory.mktemp("wheels")
    run([sys.executable, "python/build_wheels.py", "--build", str(BUILD), "--out", str(folder)], limit=1500)
    return folder


def wheel_of(folder: pathlib.Path, version: tuple[int, int]) -> pathlib.Path:
    python = f"cp{version[0]}{version[1]}"
    (wheel,) = folder.glob(f"logitile-*-{python}-{python}-manylinux_2_28_x86_64.whl")
    return wheel


def test_there_is_one_small_wheel_for_each_python(wheels):
    assert sys.version_info[:2] in PYTHONS
    assert {wheel_of(wheels, version) for version in PYTHONS} == set(wheels.iterdir())
    for wheel in wheels.iterdir():
        assert wheel.stat().st_size < MOST_BYTES
        modules = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("logitile/_native.cpython")]
        assert len(modules) == 1


@pytest.mark.parametrize("version", PYTHONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_a_wheel_runs_in_an_empty_environment(wheels, version, tmp_path):
    run([PYTHONS[version], "-m", "venv", "--without-pip", str(tmp_path)], limit=120)
    python = str(tmp_path / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "-q"]
    run([*pip, str(wheel_of(wheels, version))], limit=300)
    run([python, "-c", PROGRAM, str(tmp_path)], limit=300, folder=tmp_path, PYTHONPATH="")


def test_a_c_program_builds_against_an_unpacked_wheel(wheels, tmp_path):
    zipfile.ZipFile(wheel_of(wheels, sys.version_info[:2])).extractall(tmp_path)
    package = tmp_path / "logitile"
    run([sys.executable, str(EXAMPLE / "save_plan.py")], limit=120, folder=tmp_path, PYTHONPATH=str(tmp_path))
    program = build(EXAMPLE, tmp_path / "build", package)
    assert run([str(program)], limit=60, folder=tmp_path).startswith("loss ")


def test_a_later_system_than_that_of_the_tag_is_noticed():
    assert build_wheels.older("manylinux_2_28_x86_64", "manylinux_2_35_x86_64")
    assert not build_wheels.older("manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
