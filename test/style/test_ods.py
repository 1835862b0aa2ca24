"""What the .td files owe their readers: a summary and a description everywhere,
an example in every op.
"""
from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import ods
import pytest
import rules
import tree
from rules import Violation

DIALECT = "dialect/operations/Logitile.td"
CONTRACT = ("Before:", "After:", "Refuses:")


def passes() -> list[dict[str, Any]]:
    return [record for file in ods.PASSES for record in ods.records(file, "PassBase")]


def text_problems(record: dict[str, Any]) -> list[str]:
    """What is missing in the prose of one record."""
    summary, description = record["summary"] or "", record["description"] or ""
    problems = []
    if not summary.strip():
        problems.append("has no summary")
    if summary.endswith("."):
        problems.append("has a summary that ends in a full stop")
    if not description.strip():
        problems.append("has no description")
    return problems


def op_problems(record: dict[str, Any]) -> list[str]:
    problems = text_problems(record)
    example = (record["description"] or "").partition("```mlir")[2]
    if f"logitile.{record['opName']}" not in example:
        problems.append("has no ```mlir example of itself")
    return problems


def pass_problems(record: dict[str, Any]) -> list[str]:
    description = record["description"] or ""
    missing = [word for word in CONTRACT if word not in description]
    return text_problems(record) + [f"does not say '{word} ...'" for word in missing]


def violations(records: list[dict[str, Any]], problems: Any) -> Iterator[Violation]:
    for record in records:
        for problem in problems(record):
            yield Violation(record["!name"], problem)


def test_every_op_is_described():
    records = ods.records(DIALECT, "Op")
    assert records
    rules.check("ods-op", violations(records, op_problems))


@pytest.mark.parametrize("base", ["TypeDef", "AttrDef", "Dialect"])
def test_types_and_attributes_are_described(base: str):
    records = ods.records(DIALECT, base)
    assert records
    described = [record for record in records if "EnumAttr" not in record["!superclasses"]]
    rules.check("ods-def", violations(described, text_problems))


def untested_ops(records: list[dict[str, Any]], folder: pathlib.Path) -> Iterator[Violation]:
    for record in records:
        for name in (record["opName"], record["opName"] + "_invalid"):
            if not (folder / f"{name}.mlir").is_file():
                yield Violation(record["!name"], f"has no test/dialect/{name}.mlir")


def untested_passes(records: list[dict[str, Any]], test: pathlib.Path) -> Iterator[Violation]:
    for record in records:
        flag = record["argument"]
        if not any((test / folder / flag).is_dir() for folder in ("transforms", "conversion")):
            yield Violation(record["!name"], f"has no test/transforms/{flag} and no test/conversion/{flag}")


def test_every_op_has_a_test_and_a_negative_twin():
    records = ods.records(DIALECT, "Op")
    rules.check("op-test", untested_ops(records, tree.ROOT / "test" / "dialect"))


def test_every_pass_has_tests():
    rules.check("pass-test", untested_passes(passes(), tree.ROOT / "test"))


def test_every_pass_states_its_contract():
    records = passes()
    assert records
    rules.check("ods-pass", violations(records, pass_problems))


# ---- that the rules find what they are for -------------------------------------------------------


def test_missing_prose_is_found():
    bare = {"!name": "A", "opName": "a", "summary": "", "description": None}
    no_example = "has no ```mlir example of itself"
    assert op_problems(bare) == ["has no summary", "has no description", no_example]
    other = {"!name": "A", "opName": "a", "summary": "an op.", "description": "x\n```mlir\nlogitile.b\n```\n"}
    assert op_problems(other) == ["has a summary that ends in a full stop", no_example]
    incomplete = {"summary": "a pass", "description": "Before: x. After: y."}
    assert pass_problems(incomplete) == ["does not say 'Refuses: ...'"]


def test_missing_tests_are_found(tmp_path):
    tree.write(tmp_path, "dialect/a.mlir", "")
    tree.write(tmp_path, "transforms/logitile-a/a.mlir", "")
    op = {"!name": "A", "opName": "a"}
    missing = [Violation("A", "has no test/dialect/a_invalid.mlir")]
    assert list(untested_ops([op], tmp_path / "dialect")) == missing
    passes = [{"!name": "A", "argument": "logitile-a"}, {"!name": "B", "argument": "logitile-b"}]
    assert [one.place for one in untested_passes(passes, tmp_path)] == ["B"]
