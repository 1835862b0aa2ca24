"""The pass generator: the files that it writes, what it refuses, and that they build and pass."""
from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest
import tree

SCRIPT = tree.ROOT / "compiler" / "tools" / "new_pass.py"


def load():
    spec = importlib.util.spec_from_file_location("new_pass", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


new_pass = load()


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A tree that has what the generator changes."""
    for name in ("Passes.td", "CMakeLists.txt"):
        tree.write(tmp_path, f"compiler/{name}", (tree.ROOT / "compiler" / name).read_text())
    (tmp_path / "compiler" / "Transforms").mkdir()
    return tmp_path


@pytest.mark.parametrize("name, flag", [
    ("FormSweeps", "logitile-form-sweeps"),
    ("Pack", "logitile-pack"),
    ("EmitPTXText", "logitile-emit-ptx-text"),
])
def test_the_flag_is_the_name_in_small_letters(name: str, flag: str):
    assert new_pass.flag_of(name) == flag


def test_the_files_name_the_pass(root: pathlib.Path):
    files = new_pass.start_pass(root, "MergeRows", "program")
    assert [str(file.relative_to(root)) for file in files] == [
        "compiler/Passes.td", "compiler/CMakeLists.txt", "compiler/Transforms/MergeRows.cpp",
        "test/transforms/logitile-merge-rows/start.mlir"]
    passes, lists, source, test = (file.read_text() for file in files)
    assert 'def MergeRowsPass : Pass<"logitile-merge-rows", "logitile::ProgramOp"> {' in passes
    assert passes.startswith((tree.ROOT / "compiler" / "Passes.td").read_text().rpartition("#endif")[0])
    assert passes.endswith("#endif\n")
    assert lists.count("Transforms/MergeRows.cpp") == 1
    assert source.startswith("// MergeRows.cpp - ")
    assert "#define GEN_PASS_DEF_MERGEROWSPASS" in source
    assert "RUN: logitile-opt --logitile-merge-rows" in test


def test_only_the_new_lines_are_new(root: pathlib.Path):
    lists = root / "compiler" / "CMakeLists.txt"
    old = lists.read_text()
    new_pass.start_pass(root, "MergeRows", "module")
    assert lists.read_text().replace("\n  Transforms/MergeRows.cpp", "") == old


@pytest.mark.parametrize("name", ["formSweeps", "Form-Sweeps", "FormSweepsPass", "", "../Form"])
def test_other_names_are_refused(root: pathlib.Path, name: str):
    with pytest.raises(SystemExit, match="is no name of a pass; expected CamelCase without 'Pass'"):
        new_pass.start_pass(root, name, "module")


def test_a_pass_that_exists_is_refused(root: pathlib.Path):
    with pytest.raises(SystemExit, match="pass Specialise exists"):
        new_pass.start_pass(root, "Specialise", "module")
    new_pass.start_pass(root, "MergeRows", "module")
    with pytest.raises(SystemExit, match="pass MergeRows exists"):
        new_pass.start_pass(root, "MergeRows", "module")


@pytest.mark.full
def test_a_new_pass_builds_and_its_test_passes(tmp_path: pathlib.Path):
    copy = tmp_path / "tree"
    shutil.copytree(tree.ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "build*", "dist"))
    start = [sys.executable, str(SCRIPT), "MergeRows", "--on", "kernel", "--root", str(copy)]
    subprocess.run(start, check=True)
    build = tmp_path / "build"
    configure = ["cmake", "-G", "Ninja", "-S", str(copy), "-B", str(build), "-DCMAKE_C_COMPILER=clang-22",
                 "-DCMAKE_CXX_COMPILER=clang++-22", f"-DPython3_EXECUTABLE={sys.executable}",
                 # for a short build
                 "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["ninja", "-C", str(build), "-j2", "logitile-opt"], check=True, capture_output=True)
    lit = subprocess.run([sys.executable, shutil.which("lit-22") or shutil.which("lit"), "-v",
                          str(build / "test" / "transforms" / "logitile-merge-rows")],
                         capture_output=True, text=True)
    assert lit.returncode == 0, lit.stdout
