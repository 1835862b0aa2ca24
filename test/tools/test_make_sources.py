"""dialect/types/make_sources.py: what C, C++ and Python get of members of a request,
and of enumerations.
"""
from __future__ import annotations

import copy
import json
import sys
from typing import Any

import ods
import pytest
import tree

sys.path.append(str(tree.ROOT / "dialect" / "types"))

import make_sources  # noqa: E402

RECORDS = json.loads(ods.run([*ods.command("llvm-tblgen", "dialect/types/LogitileAttrs.td"), "--dump-json"]))


def with_member(type: str = "Number", kind: str = "", in_attribute: int = 1) -> dict[str, Any]:
    """The records of the tree, with one member more."""
    found = copy.deepcopy(RECORDS)
    found["Logitile_Request"]["members"].append({"def": "example"})
    found["example"] = {
        "name": "two_words", "type": {"def": f"Logitile_{type}"}, "meaning": "see `x`", "isRequired": 0,
        "kind": kind, "isInAttribute": in_attribute,
    }  # fmt: skip
    return found


def added(write: Any, found: dict[str, Any]) -> list[str]:
    """The lines of a text that the member brings, but for the digest."""
    before = write(RECORDS).splitlines()
    return [line for line in write(found).splitlines() if line not in before and "DIGEST" not in line]


def test_a_member_is_everywhere():
    found = with_member()
    assert added(make_sources.rows, found) == [
        "LOGITILE_REQUEST(int64_t, twoWords, two_words) // see `x`", ", int64_t two_words"]
    assert added(make_sources.c_header, found) == ["  int64_t two_words; /* see 'x' */"]
    assert added(make_sources.stub, found) == [
        "    two_words: NotRequired[int]", '    """see `x`"""']


def test_a_list_has_a_length_in_c():
    found = with_member("Gradients")
    assert added(make_sources.rows, found)[0].startswith(
        "LOGITILE_REQUEST_LIST(std::vector<GradientRequest>, twoWords, two_words, two_word_count) //")
    assert added(make_sources.c_header, found) == [
        "  const struct lt_gradient *two_words; /* see 'x' */", "  size_t two_word_count;"]


def test_what_only_messages_depend_on_is_no_parameter():
    assert added(make_sources.rows, with_member("Text", "NOTE", 0)) == [
        "LOGITILE_REQUEST_NOTE(std::string, twoWords, two_words) // see `x`"]


def test_what_each_call_has_its_own_of_is_not_asked_for():
    found = with_member("Number", "CALL")
    assert added(make_sources.rows, found)[0].startswith("LOGITILE_REQUEST_CALL(")
    assert added(make_sources.c_header, found) == added(make_sources.stub, found) == []


def digest(found: dict[str, Any]) -> str:
    lines = make_sources.c_header(found).splitlines()
    (line,) = [line for line in lines if "#define LT_REQUEST_DIGEST" in line]
    return line


def test_the_digest_follows_the_struct_and_not_its_comments():
    told = with_member()
    told["example"]["meaning"] = "other words"
    assert digest(told) == digest(with_member()) != digest(RECORDS)
    assert digest(with_member("Count")) != digest(with_member())


def test_values_that_do_not_count_from_0_are_refused():
    found = copy.deepcopy(RECORDS)
    found[found["Logitile_Mode"]["enumerants"][0]["def"]]["value"] = 7
    with pytest.raises(SystemExit, match="Logitile_Mode: values must count from 0"):
        make_sources.enums(found)
