"""What the style tests share: the list of exceptions and how a violation of a rule is reported."""
from __future__ import annotations

import pathlib
from collections.abc import Iterable
from dataclasses import dataclass

import tree

EXCEPTIONS = pathlib.Path(__file__).with_name("exceptions.txt")


@dataclass(frozen=True)
class Violation:
    """One place that breaks a rule (a path, or a part of one), and what is wrong there."""

    place: str
    text: str


def read_exceptions(text: str) -> dict[tuple[str, str], str]:
    """Reasons by (rule, place). Raises ValueError for a line without a reason or a duplicate."""
    reasons: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(maxsplit=2)
        if len(words) < 3:
            raise ValueError(f"exception without a reason: {line}")
        if (words[0], words[1]) in reasons:
            raise ValueError(f"exception stands twice: {words[0]} {words[1]}")
        reasons[words[0], words[1]] = words[2]
    return reasons


def check(rule: str, violations: Iterable[Violation]) -> None:
    """Fails with what exceptions.txt does not excuse, and with exceptions that excuse nothing."""
    excused = {place for name, place in read_exceptions(EXCEPTIONS.read_text()) if name == rule}
    found = list(violations)
    problems = [f"{one.place}: {one.text}" for one in found if one.place not in excused]
    for place in sorted(excused - {one.place for one in found}):
        problems.append(f"{place}: exceptions.txt excuses it from '{rule}', which it does not break")
    advice = f"{rule}: fix these, or add '{rule} <place> <reason>' to test/style/exceptions.txt"
    assert not problems, "\n".join(["", advice, *problems])


def relative(root: pathlib.Path, file: pathlib.Path) -> str:
    return file.relative_to(root).as_posix()


def lines_of(root: pathlib.Path, *suffixes: str, under: str = ".") -> Iterable[tuple[str, int, str]]:
    """(path, number, text) of every line of the files below `under` that end in one of `suffixes`.
    Pictures have no lines.
    """
    for file in tree.files(root, *suffixes, under=under):
        if file.suffix == ".png":
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            yield relative(root, file), number, line
