"""The glossary names words of the sources as they are today: one that was renamed is found here."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import tree

GLOSSARY = "docs/glossary.md"
# Where a word that is "called `x` in ..." must occur.
PLACES = {
    "IR": (("dialect", "templates"), (".td", ".cpp", ".mlir")),
    "code": (("dialect", "compiler", "runtime", "emulator"), (".td", ".h", ".cpp")),
    "package": (("python",), (".py", ".pyi")),
}
MARK = re.compile(r"called ((?:`[^`]+`(?:, | and | or )?)+) in the (\w+)")
HEADWORD = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)


def marked_words(text: str) -> list[tuple[str, str]]:
    """(word, place) of every word that the glossary says is used somewhere."""
    plain = " ".join(text.split())
    found = MARK.findall(plain)
    return [(word, place) for words, place in found for word in re.findall(r"`([^`]+)`", words)]


def text_of(root: pathlib.Path, place: str) -> str:
    under, suffixes = PLACES[place]
    files = (file for folder in under for file in tree.files(root, *suffixes, under=folder))
    return "\n".join(file.read_text() for file in files)


def unused_words(root: pathlib.Path) -> Iterator[str]:
    """Words that the glossary marks and that their place does not have."""
    texts: dict[str, str] = {}
    for word, place in marked_words((root / GLOSSARY).read_text()):
        if place not in PLACES:
            yield f"'{word}' is said to be in the {place}; places are {', '.join(PLACES)}"
            continue
        text = texts.setdefault(place, text_of(root, place))
        if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            yield f"'{word}' is said to be in the {place}, which does not have it"


def test_marked_words_are_in_use():
    assert marked_words((tree.ROOT / GLOSSARY).read_text())
    assert list(unused_words(tree.ROOT)) == []


def test_every_term_stands_once():
    terms = [term.lower() for term in HEADWORD.findall((tree.ROOT / GLOSSARY).read_text())]
    assert terms and sorted({term for term in terms if terms.count(term) > 1}) == []


# ---- that the rule finds what it is for ----------------------------------------------------------


def test_an_unused_word_is_found(tmp_path):
    text = "**end**\ncalled `after` in the\nIR, called `Gone` and\n`here` in the code, called `x` in the sea"
    tree.write(tmp_path, GLOSSARY, text)
    tree.write(tmp_path, "dialect/A.td", "afters $after")
    tree.write(tmp_path, "compiler/A.cpp", "int here;")
    assert list(unused_words(tmp_path)) == ["'Gone' is said to be in the code, which does not have it",
                                            "'x' is said to be in the sea; places are IR, code, package"]
