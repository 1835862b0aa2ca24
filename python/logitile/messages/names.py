"""Helpers for the text of errors: the nearest name, lists of names, counted nouns,
ranges of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like 'name', or None where nothing is alike."""
    import difflib  # only errors need it

    found = difflib.get_close_matches(name, list(candidates), n=1)
    return found[0] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The end of an error: "; did you mean 'x'?", or nothing where no candidate is alike."""
    found = nearest(name, candidates)
    return f"; did you mean '{found}'?" if found else ""


def public_name_hint(name: str, names: Sequence[str], functions: Sequence[str], losses: Sequence[str]) -> str:
    """The end of an error about a name that the package does not have: where it is, or the nearest
    one, and the functions that a loss may use, unless it was something else that was meant.

    Args:
        names: all public names.
        functions: those of them that losses are written with.
        losses: the names of the library of losses.
    """
    near = nearest(name, [*names, *losses])
    if near and near not in functions:
        return f"; did you mean '{near if near in names else f'losses.{near}'}'?"
    hint = f"; did you mean '{near}'? The functions are " if near else "; the functions of a loss are "
    return hint + ", ".join(functions)


def listed(names: Iterable[str]) -> str:
    """Names as "'a', 'b' and 'c'"."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + " and " + quoted[-1]


def with_article(word: str) -> str:
    """A noun as in "an Array" and "a list"."""
    return f"{'an' if word[0].lower() in 'aeio' else 'a'} {word}"


def shape_text(shape: Iterable[object]) -> str:
    """How errors write a shape: "[4, 32]"."""
    return "[" + ", ".join(str(extent) for extent in shape) + "]"


def interval_text(interval: Sequence[int]) -> str:
    """Numbers of tokens in words: [first, end), of which the largest number stands for no end."""
    first, end = interval
    return f"{first} and more" if end == 2**63 - 1 else f"{first} to {end - 1}"


def counted(count: int, noun: str) -> str:
    """A number of things: "1 thread", "2 threads"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_UNITS = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10}


def budget_text(count: int) -> str | int:
    """A number of bytes as `workspace` takes it: "64MiB"; an int if it is no multiple of a KiB."""
    for unit, factor in _UNITS.items():
        if count % factor == 0:
            return f"{count // factor}{unit}"
    return count


def size_text(count: int) -> str:
    """A number of bytes for people, rounded up: as a budget it is enough."""
    for unit, factor in _UNITS.items():
        if count >= factor:
            return f"{-(-count * 10 // factor) / 10:.1f} {unit}"
    return f"{count} B"
