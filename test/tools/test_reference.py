"""The committed reference is what the .td files say, in words for readers of IR."""
from __future__ import annotations

import re
import subprocess
import sys

import make_reference
import make_words
import ods
import pytest

MADE = {"dialect.md": make_reference.dialect_reference, "passes.md": make_reference.passes_reference}


@pytest.mark.parametrize("name", MADE)
def test_the_reference_is_up_to_date(name: str):
    committed = (ods.ROOT / "docs" / "reference" / name).read_text()
    assert MADE[name]() == committed, "run: ninja -C build docs"


def test_the_words_of_pages_are_those_of_the_glossary():
    made = make_words.words(make_words.GLOSSARY.read_text())
    assert make_words.WORDS.read_text() == make_words.text_of(made), "run: ninja -C build docs"
    assert made["sweep"] == "sweep is one pass over the vocabulary that updates the row state of every token."
    assert made["multiply_no_nan"].startswith("multiply_no_nan is")


@pytest.mark.parametrize("name", MADE)
def test_the_reference_speaks_of_ir_only(name: str):
    text = MADE[name]()
    noise = ("::mlir", "::logitile", "::llvm", "Traits:", "Interfaces:", "Effects:", "<table>", "custom<")
    assert [word for word in noise if word in text] == []


def test_every_op_stands_in_a_stage_and_is_listed_there():
    text = make_reference.dialect_reference()
    stages = text.partition("\n## Attributes\n")[0].split("\n### Stage ")[1:]
    assert [stage[:2] for stage in stages] == ["1,", "2,", "3,"]
    for record in ods.records("dialect/operations/Logitile.td", "Op"):
        name = record["opName"]
        assert sum(f"\n#### `logitile.{name}`\n" in stage and f"[{name}](#logitile{name})" in stage
                   for stage in stages) == 1, name


def test_every_word_of_an_enumeration_is_explained():
    text = make_reference.dialect_reference()
    enums = ods.records("dialect/operations/Logitile.td", "EnumInfo")
    assert enums
    for enum in enums:
        lines = enum["description"].splitlines()
        assert len(lines) == len(enum["enumerants"]), enum["className"]
        assert all(re.fullmatch(r"\* `\w+`: \S.*", line) for line in lines), enum["className"]
        assert enum["description"] in text.partition(f"\n### {enum['className']}\n")[2].partition("\n### ")[0]


def test_the_tool_takes_no_argument():
    """One that it does not know is no folder to write to."""
    tool = ods.ROOT / "docs" / "make_reference.py"
    done = subprocess.run([sys.executable, tool, "--help-me"], capture_output=True, text=True)
    assert done.returncode == 2 and "unrecognized arguments: --help-me" in done.stderr
