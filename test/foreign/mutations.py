"""Bugs to put into the translated code of a kernel: instructions left out or changed,
by their text.
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable


class NothingToChange(Exception):
    """No instruction of the kernel looks like what a bug is to be put into."""


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A bug, and the kinds of faults of which the emulator reports one;
    none where only numbers are wrong.
    """

    name: str
    change: Callable[[str], str]
    faults: tuple[str, ...] = ()


def lines_of(body: str, pattern: str, which: slice) -> list[int]:
    found = [i for i, line in enumerate(body.splitlines()) if re.search(pattern, line)][which]
    if not found:
        raise NothingToChange(pattern)
    return found


def without(pattern: str, which: slice = slice(None)) -> Callable[[str], str]:
    """Leaves out the instructions that look like that; nothing may use their results."""

    def change(body: str) -> str:
        left_out = set(lines_of(body, pattern, which))
        return "\n".join(line for i, line in enumerate(body.splitlines()) if i not in left_out) + "\n"

    return change


def replaced(pattern: str, new: str, which: slice = slice(None)) -> Callable[[str], str]:
    """Replaces what looks like that in instructions; `new` may refer to groups."""

    def change(body: str) -> str:
        lines = body.splitlines()
        for i in lines_of(body, pattern, which):
            lines[i] = re.sub(pattern, new, lines[i])
        return "\n".join(lines) + "\n"

    return change


def counted_up(pattern: str, by: int, which: slice = slice(None)) -> Callable[[str], str]:
    """Adds to the number that is the pattern's only group."""

    def change(body: str) -> str:
        lines = body.splitlines()
        for i in lines_of(body, pattern, which):
            found = re.search(pattern, lines[i])
            assert found
            lines[i] = lines[i][: found.start(1)] + str(int(found[1]) + by) + lines[i][found.end(1) :]
        return "\n".join(lines) + "\n"

    return change


def mutated(ir: str, kernel: str, mutation: Mutation) -> str:
    """The module with a bug in the one kernel whose name holds `kernel`.

    Raises:
        NothingToChange: the kernel has no such instruction.
    """
    found = [at for at in re.finditer(r"^define [^\n]*$", ir, re.MULTILINE) if kernel in at[0]]
    if len(found) != 1:
        raise NothingToChange(f"a kernel for '{kernel}'")
    start = found[0].end()
    end = ir.index("\n}", start)
    return ir[:start] + mutation.change(ir[start:end]) + ir[end:]
