"""The libraries for programs in C and C++ as `cmake --install` leaves them: their size,
and examples/c built against them.
"""
from __future__ import annotations

import pathlib
import shutil
import sys

import pytest
import tree
from commands import run

BUILD = tree.ROOT / "build"
EXAMPLE = tree.ROOT / "examples" / "c"
MOST_BYTES = 5_000_000
COMPILERS = ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22"]
# Takes the whole library, and the program as C++.
PROJECT = f"""
cmake_minimum_required(VERSION 3.24)
project(other LANGUAGES CXX)
find_package(logitile REQUIRED COMPONENTS core)
add_executable(run_plan {EXAMPLE / "run_plan.c"})
set_source_files_properties({EXAMPLE / "run_plan.c"} PROPERTIES LANGUAGE CXX)
target_link_libraries(run_plan PRIVATE logitile::core)
"""

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the component `runtime` alone."""
    return install(tmp_path_factory.mktemp("runtime"), "runtime")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with what save_plan.py writes."""
    folder = tmp_path_factory.mktemp("saved")
    run([sys.executable, str(EXAMPLE / "save_plan.py")], limit=120, folder=folder,
        PYTHONPATH=str(BUILD / "python"))  # fmt: skip
    return folder


def install(folder: pathlib.Path, component: str) -> pathlib.Path:
    run(["ninja", "-C", str(BUILD), "python_package"], limit=3000)
    run(["cmake", "--install", str(BUILD), "--strip", "--component", component, "--prefix", str(folder)], limit=120)
    return folder


def build(source: pathlib.Path, binary: pathlib.Path, prefix: pathlib.Path) -> pathlib.Path:
    """The program of a project that finds logitile in `prefix`."""
    run(["cmake", "-G", "Ninja", "-S", str(source), "-B", str(binary), f"-DCMAKE_PREFIX_PATH={prefix}", *COMPILERS],
        limit=120)  # fmt: skip
    run(["ninja", "-C", str(binary)], limit=120)
    return binary / "run_plan"


def test_the_runtime_is_small_and_alone(prefix):
    files = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    assert files == {
        "include/logitile.h", "include/logitile_request.h", "lib/liblogitile_runtime.so",
        "lib/cmake/logitile/logitileConfig.cmake", "lib/cmake/logitile/logitileConfigVersion.cmake",
    }  # fmt: skip
    assert (prefix / "lib/liblogitile_runtime.so").stat().st_size < MOST_BYTES


def test_the_example_runs_with_the_runtime(prefix, saved, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved)  # nothing names the folder that it was installed to
    program = build(EXAMPLE, tmp_path / "build", moved)
    assert run([str(program)], limit=60, folder=saved).startswith("loss ")


def test_the_example_runs_as_cpp_with_the_core(saved, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    program = build(tmp_path, tmp_path / "build", install(tmp_path / "prefix", "core"))
    assert run([str(program)], limit=60, folder=saved).startswith("loss ")


def test_a_component_that_is_not_installed_is_named(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    with pytest.raises(AssertionError, match=r"has no component 'core' of\s+logitile;"):
        build(tmp_path, tmp_path / "build", prefix)


def test_a_later_version_is_not_found(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.replace("logitile REQUIRED", "logitile 77.1 REQUIRED"))
    with pytest.raises(AssertionError, match='compatible with requested version "77.1"'):
        build(tmp_path, tmp_path / "build", prefix)
