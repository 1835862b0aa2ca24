"""Small damage to the text of a stage: what a slip of an editor, or of a pass, could leave.

A mutation is a function of a text and a random generator; it returns the damaged text. `mutant`
applies one to three of them, always the same for the same seed.
"""

from __future__ import annotations

import functools
import random
import re
import string

TOKEN = re.compile(
    r'"[^"\n]*"|[%@!#^][\w$.-]+(?:#\d+)?|-?0x[0-9A-Fa-f]+|-?\d+\.\d+(?:[eE][+-]?\d+)?|-?\d+|'
    r"[A-Za-z_][\w.$]*|->|[^\s\w]"
)
# Widths of LLVM's vectors stay: it takes any, and minutes for some.
NUMBER = re.compile(r"(?<![\w%@#!^.$])-?\d+(?![\w.]| x )|(?<=[<x])\d+(?=x)")
LETTERS = string.ascii_letters + "_"
ATTRIBUTE = re.compile(r',?\s*\b[\w.]+ = (?:"[^"\n]*"|<[^<>\n]*>|\[[^\[\]\n]*\]|[^,\s{}()<>\[\]]+)')
NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "1000003",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
)


def mutant(text, seed):
    """The text with one to three pieces of damage, and their names."""
    rng = random.Random(seed)
    names = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        mutation = rng.choice(MUTATIONS)
        names.append(mutation.__name__)
        text = mutation(text, rng)
    return text, names


def _replaced(text, span, new):
    return text[: span[0]] + new + text[span[1] :]


@functools.lru_cache(maxsize=64)
def _spans(pattern, text):
    """Where the matches are. Many seeds damage the same text,
    and looking through it costs most of that.
    """
    return [match.span() for match in pattern.finditer(text)]


def _one(pattern, text, rng):
    """The place of one match, an empty one at the end where there is none."""
    found = _spans(pattern, text)
    return rng.choice(found) if found else (len(text), len(text))


def _lines(text):
    return text.split("\n")


def delete_token(text, rng):
    return _replaced(text, _one(TOKEN, text, rng), "")


def double_token(text, rng):
    span = _one(TOKEN, text, rng)
    return _replaced(text, span, text[slice(*span)] + " " + text[slice(*span)])


def swap_tokens(text, rng):
    first, second = sorted((_one(TOKEN, text, rng), _one(TOKEN, text, rng)))
    if first[1] > second[0]:
        return text
    one, other = text[slice(*first)], text[slice(*second)]
    return _replaced(_replaced(text, second, one), first, other)


def rename_token(text, rng):
    """Another token of the same kind that the text has: a value, a symbol, a string or a word."""
    span = _one(TOKEN, text, rng)
    first = text[span[0] : span[0] + 1]
    kind = first if first in '%@"#!^' else LETTERS
    alike = [each for each in _spans(TOKEN, text) if text[each[0]] in kind]
    return _replaced(text, span, text[slice(*rng.choice(alike))]) if alike else text


def change_number(text, rng):
    return _replaced(text, _one(NUMBER, text, rng), rng.choice(NUMBERS))


def remove_attribute(text, rng):
    return _replaced(text, _one(ATTRIBUTE, text, rng), "")


def delete_line(text, rng):
    lines = _lines(text)
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def double_line(text, rng):
    lines = _lines(text)
    at = rng.randrange(len(lines))
    lines.insert(at, lines[at])
    return "\n".join(lines)


def move_line(text, rng):
    lines = _lines(text)
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def shuffle_lines(text, rng):
    """A few lines in a row, in another order."""
    lines = _lines(text)
    at, count = rng.randrange(len(lines)), rng.randrange(2, 6)
    some = lines[at : at + count]
    rng.shuffle(some)
    lines[at : at + count] = some
    return "\n".join(lines)


def cut(text, rng):
    return text[: rng.randrange(len(text))] if text else text


MUTATIONS = (
    delete_token,
    double_token,
    swap_tokens,
    rename_token,
    rename_token,
    change_number,
    change_number,
    remove_attribute,
    delete_line,
    double_line,
    move_line,
    shuffle_lines,
    cut,
)
