"""Importing logitile stays cheap and needs no framework:
heavy packages are imported where they are used.
"""
from __future__ import annotations

import ast
import pathlib

import tree

HEAVY = {"numpy", "torch", "jax", "ml_dtypes"}
# Packages that may import them at module level, with the reason;
# `import logitile` imports nothing of them.
ALLOWED = {
    "python/logitile/frameworks/torch/": "the PyTorch integration",
    "python/logitile/frameworks/jax/": "the JAX integration",
    "python/logitile/nn.py": "modules of PyTorch",
    "python/logitile/parallel/": "processes of PyTorch",
    "python/logitile/reference/": "the float64 reference is NumPy",
    "python/logitile/integrations/": "each is for users of one other project",
}


def run_on_import(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that an import of the module runs: not bodies of functions,
    nor of `if TYPE_CHECKING`.
    """
    found = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            found += run_on_import(statement.orelse)
            continue
        for name in ("body", "orelse", "finalbody"):
            found += run_on_import(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            found += run_on_import(handler.body)
    return found


def imported(file: pathlib.Path) -> set[str]:
    """Top-level names of the packages that importing `file` imports itself."""
    names: set[str] = set()
    for statement in run_on_import(ast.parse(file.read_text()).body):
        if isinstance(statement, ast.Import):
            names |= {alias.name.split(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names.add((statement.module or "").split(".")[0])
    return names


def heavy_imports(root: pathlib.Path) -> list[str]:
    """Module-level imports of heavy packages that no line of the allow-list covers."""
    found = []
    for file in tree.files(root, ".py", under="python/logitile"):
        path = file.relative_to(root).as_posix()
        if path.startswith(tuple(ALLOWED)):
            continue
        found += [f"{path} imports {name} at module level; import it in the function that needs it"
                  for name in sorted(imported(file) & HEAVY)]
    return found


def lookers(root: pathlib.Path) -> list[str]:
    """Uses of sys.modules outside of the one package that knows which frameworks a process has."""
    found = []
    for file in tree.files(root, ".py", under="python/logitile"):
        path = file.relative_to(root).as_posix()
        if not path.startswith("python/logitile/frameworks/"):
            found += [f"{path} line {node.lineno} looks into sys.modules; ask logitile.frameworks.choice"
                      for node in ast.walk(ast.parse(file.read_text()))
                      if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.modules"]
    return found


def test_heavy_packages_are_imported_where_they_are_used():
    assert heavy_imports(tree.ROOT) == []


def test_one_package_knows_the_libraries_of_the_process():
    assert lookers(tree.ROOT) == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_an_import_at_module_level_is_found(tmp_path):
    tree.write(tmp_path, "python/logitile/a.py", "import sys\nimport numpy as np\n")
    tree.write(tmp_path, "python/logitile/b.py", "try:\n    from torch.nn import Linear\nfinally:\n    0\n")
    tree.write(tmp_path, "python/logitile/c.py", "class A:\n    import jax.numpy\n")
    assert [line.split()[:3] for line in heavy_imports(tmp_path)] == [
        ["python/logitile/a.py", "imports", "numpy"], ["python/logitile/b.py", "imports", "torch"],
        ["python/logitile/c.py", "imports", "jax"]]


def test_imports_that_do_not_run_are_fine(tmp_path):
    tree.write(tmp_path, "python/logitile/a.py", "from . import numpy\ndef f():\n    import numpy\n")
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
    tree.write(tmp_path, "python/logitile/b.py", guarded)
    tree.write(tmp_path, "python/logitile/frameworks/torch/c.py", "import torch\n")
    assert heavy_imports(tmp_path) == []


def test_a_look_into_the_modules_of_the_process_is_found(tmp_path):
    text = "import sys\ntorch = sys.modules.get('torch')\nprint(sys.argv)\n"
    tree.write(tmp_path, "python/logitile/calls/a.py", text)
    tree.write(tmp_path, "python/logitile/frameworks/choice.py", text)
    assert lookers(tmp_path) == [
        "python/logitile/calls/a.py line 2 looks into sys.modules; ask logitile.frameworks.choice"]
