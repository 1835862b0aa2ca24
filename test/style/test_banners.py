"""Every file says in its first lines what it is about."""
from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import rules
import tree
from rules import Violation


def banner_problem(file: pathlib.Path, path: str) -> str | None:
    """What is wrong with the first lines of a file, or None.
    Lit tests start with their RUN line instead.
    """
    lines = file.read_text().splitlines() or [""]
    if path.endswith((*tree.CPP, ".td")):
        start = f"//===- {file.name} - " if path.endswith(".td") else f"// {file.name} - "
        return None if lines[0].startswith(start) else f"does not start with '{start}'"
    if path.endswith(".py"):
        named = file.name.endswith(".cfg.py")  # lit's configurations start with a comment
        has_doc = lines[0].startswith("# ") if named else ast.get_docstring(ast.parse(file.read_text()))
        return None if has_doc else "has no docstring"
    if path.startswith("templates/") and path.endswith(".mlir"):
        return None if lines[0].startswith("// ") else "starts without a comment"
    if path.endswith((".sh", ".cmake")) or lines[0].startswith("#!"):
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        return None if first.startswith("# ") else "starts without a comment"
    return None


def missing_banners(root: pathlib.Path) -> Iterator[Violation]:
    for file in tree.files(root, *tree.CPP, ".td", ".py", ".mlir", ".sh", ".cmake"):
        path = rules.relative(root, file)
        problem = banner_problem(file, path)
        if problem:
            yield Violation(path, problem)


def test_every_file_has_a_banner():
    rules.check("banner", missing_banners(tree.ROOT))


# ---- that the rule finds what it is for ----------------------------------------------------------


def test_a_missing_banner_is_found(tmp_path):
    tree.write(tmp_path, "dialect/A.cpp", "// B.cpp - something else\n")
    tree.write(tmp_path, "dialect/A.td", "// A.td\n")
    tree.write(tmp_path, "python/a.py", "import sys\n")
    tree.write(tmp_path, "templates/a.mlir", "logitile.template @a\n")
    tree.write(tmp_path, "run.sh", "#!/bin/sh\nset -e\n")
    assert [violation.place for violation in missing_banners(tmp_path)] == [
        "run.sh", "dialect/A.cpp", "dialect/A.td", "python/a.py", "templates/a.mlir"]


def test_banners_are_seen(tmp_path):
    tree.write(tmp_path, "dialect/A.cpp", "// A.cpp - the checks of A. Not its syntax.\n")
    tree.write(tmp_path, "dialect/A.td", "//===- A.td - ops of A ---===//\n")
    tree.write(tmp_path, "python/a.py", '"""What a is."""\n')
    tree.write(tmp_path, "test/dialect/a.mlir", "// RUN: true\n")
    tree.write(tmp_path, "run.sh", "#!/bin/sh\n# Runs it.\n")
    assert list(missing_banners(tmp_path)) == []
