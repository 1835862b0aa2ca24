"""lt.testing.filecheck: what passes, and what a failure says."""

import sys

import logitile as lt
import pytest

TEXT = "one = f(1)\ntwo = g(one)\nthree = h(two)\n"


@pytest.mark.contract("4 filecheck")
def test_passing_checks():
    lt.testing.filecheck(
        TEXT,
        """
        // CHECK: [[NAME:.*]] = f(1)
        // CHECK-NEXT: g([[NAME]])
        // CHECK-NOT: four
    """,
    )


@pytest.mark.contract("4 filecheck")
@pytest.mark.parametrize(("checks", "words"), [
    ("CHECK: two\nCHECK: one = f", ["checks:2", "Couldn't match \"one = f\"", "three = h(two)"]),
    ("CHECK-NOT: g(one)\nCHECK: three", ["checks:1", "CHECK-NOT"]),
    ("CHECK: one\nCHECK-NEXT: three", ["checks:2"]),
    ("nothing", ["No check strings found"]),
    ("CHECK: [[NAME]]", ["NAME"]),
])  # fmt: skip
def test_failing_checks(checks, words):
    with pytest.raises(AssertionError) as caught:
        lt.testing.filecheck(TEXT, checks)
    text = str(caught.value)
    assert text.startswith("the text does not pass its checks\n") and text.endswith(TEXT)
    assert all(word in text for word in words), text
    assert "\x1b" not in text


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "filecheck.finput", None)
    with pytest.raises(ImportError, match="'filecheck', which is not installed: pip install filecheck"):
        lt.testing.filecheck(TEXT, "CHECK: one")
