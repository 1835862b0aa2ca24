"""dialect/types/make_sources.py: requests, structs and enumerations in C, C++ and Python."""
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


def with_member(
    type: str = "Logitile_Number", kind: str = "", in_attribute: int = 1, owner: str = "Request"
) -> dict[str, Any]:
    """The records of the tree, with one member more."""
    found = copy.deepcopy(RECORDS)
    found[f"Logitile_{owner}"]["members"].append({"def": "example"})
    found["example"] = {
        "name": "two_words", "cpp": "twoWords", "type": {"def": type}, "meaning": "see `x`", "isRequired": 0,
        "kind": kind, "isInAttribute": in_attribute,
    }  # fmt: skip
    return found


def type_of(name: str) -> str:
    """The type of a member of the request."""
    listed = make_sources.records(RECORDS, RECORDS["Logitile_Request"]["members"])
    (type,) = [member["type"]["def"] for member in listed if member["name"] == name]
    return type


def added(write: Any, found: dict[str, Any]) -> list[str]:
    """The lines of a text that the member brings, but for the digest."""
    before = write(RECORDS).splitlines()
    return [line for line in write(found).splitlines() if line not in before and "DIGEST" not in line]


def test_a_member_is_everywhere():
    found = with_member()
    assert added(make_sources.rows, found) == [
        "LOGITILE_REQUEST(int64_t, twoWords, two_words) // see `x`", ", int64_t twoWords"]
    assert added(make_sources.c_header, found) == ["  int64_t two_words; /* see 'x' */"]
    assert added(make_sources.stub, found) == [
        "    two_words: NotRequired[int]", '    """see `x`"""']


def test_a_list_has_a_length_in_c():
    found = with_member(type_of("gradients"))
    assert added(make_sources.rows, found)[0].startswith(
        "LOGITILE_REQUEST_LIST(std::vector<GradientRequest>, twoWords, two_words, two_word_count) //")
    assert added(make_sources.c_header, found) == [
        "  const struct lt_gradient *two_words; /* see 'x' */", "  size_t two_word_count;"]


def test_what_only_messages_depend_on_is_no_parameter():
    assert added(make_sources.rows, with_member("Logitile_Text", "NOTE", 0)) == [
        "LOGITILE_REQUEST_NOTE(std::string, twoWords, two_words) // see `x`"]


def test_what_each_call_has_its_own_of_is_not_asked_for():
    found = with_member(kind="CALL")
    assert added(make_sources.rows, found)[0].startswith("LOGITILE_REQUEST_CALL(")
    assert added(make_sources.c_header, found) == added(make_sources.stub, found) == []


def test_a_member_of_a_struct_is_everywhere():
    found = with_member(owner="Gradient")
    assert added(make_sources.structs, found) == [
        "  int64_t twoWords{}; // see `x`",
        "  static auto members(auto &of) { return std::tie(of.owner, of.part, of.element, of.twoWords); }",
        "  auto inKey() const { return std::tie(part, owner, element, twoWords); }"]
    assert added(make_sources.rows, found) == [
        "LOGITILE_REQUEST_STRUCT(lt_gradient, gradient, gradient.name, gradient.part, gradient.type, "
        "gradient.two_words)"]
    assert added(make_sources.c_header, found) == ["  int64_t two_words; /* see 'x' */"]
    assert added(make_sources.stub, found) == ["    int,  # two_words: see `x`"]


def test_python_knows_the_words_of_a_member():
    found = with_member(type_of("mode"))
    assert added(make_sources.stub, found)[0] == (
        '    two_words: NotRequired[Literal["forward", "early", "split"]]')


def digest(found: dict[str, Any]) -> str:
    lines = make_sources.c_header(found).splitlines()
    (line,) = [line for line in lines if "#define LT_REQUEST_DIGEST" in line]
    return line


def test_the_digest_follows_the_structs_and_not_their_comments():
    told = with_member()
    told["example"]["meaning"] = "other words"
    assert digest(told) == digest(with_member()) != digest(RECORDS)
    assert digest(with_member("Logitile_Count")) != digest(with_member())
    assert digest(with_member(owner="Slice")) != digest(RECORDS)


def with_word(enum: str) -> dict[str, Any]:
    """The records of the tree, with one word more."""
    found = copy.deepcopy(RECORDS)
    words = found[enum]["words"]
    found["example"] = {
        "symbol": "Example", "str": "example", "value": len(words), "meaning": "see `x`"
    }  # fmt: skip
    words.append({"def": "example"})
    return found


def test_a_word_is_in_c_and_in_cpp():
    found = with_word("Logitile_Reduction")
    assert added(make_sources.enums, found) == [
        "  Example, // see `x`",
        'inline constexpr const char *kReductionWords[] = {"none", "sum", "mean", "example"};']
    assert added(make_sources.c_header, found) == ["  LT_EXAMPLE = 3, /* see 'x' */"]
    assert digest(found) != digest(RECORDS)


def test_values_that_do_not_count_from_0_are_refused():
    found = copy.deepcopy(RECORDS)
    found[found["Logitile_Mode"]["words"][0]["def"]]["value"] = 7
    with pytest.raises(SystemExit, match="Logitile_Mode: values must count from 0"):
        make_sources.enums(found)
