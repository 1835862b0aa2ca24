"""Words that the tree does without: deprecated or dangerous calls, notes to self,
paths of one machine.
"""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import rules
import tree
from rules import Violation


@dataclass(frozen=True)
class Ban:
    """A pattern that no line of files with these suffixes (default: all) may hold,
    and what to do instead.
    """

    pattern: str
    advice: str
    suffixes: tuple[str, ...] = ()


BANS = [
    Ban(r"\.create<", "write Op::create(builder, loc, ...)", tree.CPP),
    Ban(r"\bLLVM_DEBUG\b", "the packaged tools have no --debug-only; use a remark", tree.CPP),
    Ban(r"\b(abort|exit|_exit|quick_exit)\(", "report an error; never end the process of the user", tree.CPP),
    Ban(r'Option<[^>;]*std::string', "options are enums or numbers", (*tree.CPP, ".td")),
    Ban(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "do it, or write an issue"),
    Ban(r"(?<![\w.$}/~])/(work|root|tmp|home|Users)/", "paths of one machine do not belong here"),
    Ban(r"(?i)\b(files\.pythonhosted|pypi|registry\.npmjs|crates|proxy\.golang|deb\.debian|security\.debian|"
        r"ghcr|docker|quay|download\.pytorch|conda\.anaconda)\.(org|io|com)\b",
        "registries are a matter of the machine's own settings"),
    Ban(r"(?i)\b((sub-?)?ag" r"ents?|chat" r"bots?|(ai|coding)[ -]assistants?|work" r"places?)\b|"
        r"\b(this|our|(last|next|previous)) sess" r"ion\b",
        "the tree speaks of itself, not of how or where it was written"),
    Ban(r"(?i)\bentr(y|ies) of (the |a |its |row )*(state|sweep|table|tile table|registry)\b",
        "entries are those of logits and of the vocabulary; row states have slots, tables have rows"),
    Ban(r"(?i)\bbeh" r"ind\b", "write 'after', 'beyond', or 'end' for the end of a range"),
]


def banned_words(root: pathlib.Path) -> Iterator[Violation]:
    for ban in BANS:
        for path, number, line in rules.lines_of(root, *ban.suffixes):
            found = re.search(ban.pattern, line)
            if found:
                yield Violation(path, f"line {number} has '{found.group()}'; {ban.advice}")


def test_no_banned_words():
    rules.check("words", banned_words(tree.ROOT))


# ---- that the rule finds what it is for ----------------------------------------------------------


def test_each_ban_is_found(tmp_path):
    lines = ["builder.create<AddOp>(loc)", "LLVM_DEBUG(x)", "std::abort()", "exit(1)",
             'Option<"a", "b", "std::string", "", "c">', "// TO" "DO", '"/wo' 'rk/x"',
             "https://py" "pi.org/simple", "our work" "place",
             "two entr" "ies of the row state", "the columns beh" "ind the last"]
    tree.write(tmp_path, "a.cpp", "\n".join(lines))
    found = [int(violation.text.split()[1]) for violation in banned_words(tmp_path)]
    assert sorted(found) == list(range(1, 12))


def test_similar_words_are_fine(tmp_path):
    lines = ["AddOp::create(builder, loc)", "system_exit(", "Option<int> a; std::string b", "build/wo" "rk/x",
             "https://a.org/home/x", "user ag" "entry; a session of its own; docs.python.org"]
    tree.write(tmp_path, "a.cpp", "\n".join(lines))
    assert list(banned_words(tmp_path)) == []
