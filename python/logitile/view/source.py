"""The user's text of a loss: the functions from which the lines of stage `spec` come."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLine:
    """One line of a file: its number from 1, and its text without the line end."""

    file: str
    number: int
    text: str


def loss_lines(places: Iterable[tuple[str, int]]) -> list[SourceLine]:
    """The functions around some lines, file by file; a line outside functions stands alone.

    Args:
        places: files and lines.
    """
    lines: list[SourceLine] = []
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        wanted.setdefault(file, set()).add(line)
    for file, numbers in wanted.items():
        text = linecache.getlines(file)
        for number in sorted(_around(text, numbers)):
            if number <= len(text):
                lines.append(SourceLine(file, number, text[number - 1].rstrip("\n")))
    return lines


def _around(text: list[str], numbers: set[int]) -> set[int]:
    """Lines of the outermost functions that hold some of the lines, decorators included."""
    shown = set(numbers)
    try:
        tree = ast.parse("".join(text))
    except SyntaxError:  # a cell of a notebook with magic commands
        return shown
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            own = range(first, (node.end_lineno or first) + 1)
            if not numbers.isdisjoint(own):
                shown.update(own)
    return shown
