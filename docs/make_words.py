#!/usr/bin/env python3
"""Writes python/logitile/view/assets/words.json from docs/glossary.md:
what pages say of words in texts.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
GLOSSARY, WORDS = ROOT / "docs/glossary.md", ROOT / "python/logitile/view/assets/words.json"
# Words of the texts are spelled in code, in the glossary between backticks, or are the term itself.
NAMED = re.compile(r"called\s+`([^`]+)`(?:\s+(?:and|or)\s+`([^`]+)`)?")


def words(glossary: str) -> dict[str, str]:
    """The text of a term by the words that the IR has for it."""
    found: dict[str, str] = {}
    for part in glossary.split("\n\n"):
        term = re.match(r"\*\*(.+?)\*\*", part)
        if term is None:
            continue
        text = " ".join(part.split("\n*Field:*")[0].split())
        plain = re.sub(r"[*`]|\]\([^)]*\)|\[", "", text)
        named = [name for match in NAMED.findall(" ".join(part.split())) for name in match if name]
        for word in [re.sub(r"[ -]", "_", term[1].lower()), *named]:
            for piece in re.findall(r"\w+", word):
                if piece == word or word in named:
                    found.setdefault(piece, plain)
    return dict(sorted(found.items()))


def text_of(made: dict[str, str]) -> str:
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(f"make_words: unknown arguments {sys.argv[1:]}; it takes none")
    WORDS.write_text(text_of(words(GLOSSARY.read_text())))
