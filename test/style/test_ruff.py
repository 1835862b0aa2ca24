"""Python files pass ruff with the rules of pyproject.toml, which are those of the commit hook."""
from __future__ import annotations

import pathlib
import subprocess

import ruff
import tree


def check(*arguments: str, folder: pathlib.Path = tree.ROOT) -> subprocess.CompletedProcess[str]:
    """ruff check with the settings of the tree."""
    settings = f"--config={tree.ROOT / 'pyproject.toml'}"
    command = [ruff.find_ruff_bin(), "check", "--no-cache", settings, "--output-format=concise", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_python_files_pass():
    result = check(".")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_rules_are_those_of_the_tree(tmp_path):
    tree.write(tmp_path, "a.py", "import sys, os\nx = 1" + " " * 105 + "# y\npairs = zip([1], [2])\n")
    lines = check("a.py", folder=tmp_path).stdout.splitlines()
    found = {line.split()[1] for line in lines if line.startswith("a.py:")}
    assert found == {"F401", "E401", "E501", "I001", "B905"}
