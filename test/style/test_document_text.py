"""Documents lead somewhere: links and paths in them exist, lines are short,
every folder has a README.
"""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import rules
import tree
from rules import Violation

COLUMNS = 100
README_LINES = 149
# Made by tools, or lists with an item in each line.
GENERATED = ("docs/reference/", "bench/results/", "test/contract.md")
BUILT = {"logitile_request.h"}  # by every build
# Folders whose subfolders have a README too, at any depth.
NESTED = ("dialect", "compiler", "runtime", "emulator")
TOP = ("bench", "compiler", "dialect", "docs", "emulator", "examples", "python", "runtime", "templates",
       "test")

FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
# A path in backticks: it starts with a folder of the tree, or is the bare name of a source file.
PATH = re.compile(rf"`((?:{'|'.join((*TOP, 'cmake'))})/[\w./{{}},*-]*)`")
SOURCE = re.compile(r"`(\w[\w-]*\.(?:cpp|h|td|def|py|mlir|json|sh))`")


def documents(root: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(path, text) of every document that people write."""
    for file in tree.files(root, ".md"):
        path = rules.relative(root, file)
        if not path.startswith(GENERATED):
            yield path, file.read_text()


def without_code(text: str) -> str:
    """The text with empty lines in the place of fenced blocks."""
    return FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)


# ---- lines ---------------------------------------------------------------------------------------


def long_lines(root: pathlib.Path) -> Iterator[Violation]:
    """Lines that are too long; a row of a table cannot be broken."""
    for path, text in documents(root):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS and not line.startswith("|"):
                yield Violation(path, f"line {number} has {len(line)} columns, more than {COLUMNS}")


def test_lines_of_documents_are_short():
    rules.check("document-columns", long_lines(tree.ROOT))


def test_the_readme_is_short():
    assert len((tree.ROOT / "README.md").read_text().splitlines()) <= README_LINES


# ---- links and paths -----------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The names that headings have in links, as GitHub makes them."""
    names = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
             for heading in HEADING.findall(without_code(text)))
    return set(names)


def broken_links(root: pathlib.Path) -> Iterator[Violation]:
    for path, text in documents(root):
        for target in LINK.findall(without_code(text)):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            file = (root / path).parent / name if name else root / path
            if not file.exists():
                yield Violation(path, f"links to '{target}', which is not there")
            elif anchor and anchor not in anchors(file.read_text()):
                yield Violation(path, f"links to '{target}', where no heading has that name")


def lost_paths(root: pathlib.Path) -> Iterator[Violation]:
    """Paths and files that a document names and that are not there.
    `{a,b}` and `*` are as in a shell.
    """
    names = BUILT | {file.name for file in tree.files(root)}
    for path, text in documents(root):
        prose = without_code(text)
        for name in PATH.findall(prose):
            if not all(any(root.glob(one.rstrip("/"))) for one in alternatives(name)):
                yield Violation(path, f"names '{name}', which is not there")
        for name in SOURCE.findall(prose):
            if name not in names:
                yield Violation(path, f"names '{name}', which is not there")


def alternatives(name: str) -> list[str]:
    """The paths that braces stand for."""
    found = re.search(r"\{([^{}]*)\}", name)
    if not found:
        return [name]
    return [one for part in found[1].split(",")
            for one in alternatives(name[: found.start()] + part + name[found.end():])]


def test_links_lead_somewhere():
    rules.check("document-links", broken_links(tree.ROOT))


def test_paths_in_documents_exist():
    rules.check("document-paths", lost_paths(tree.ROOT))


# ---- folders -------------------------------------------------------------------------------------


def folders(root: pathlib.Path) -> list[str]:
    """The folders that say what is in them."""
    nested = [rules.relative(root, folder) for outer in NESTED
              for folder in sorted((root / outer).rglob("*/"))
              if folder.is_dir() and folder.name != "__pycache__"]
    return [*TOP, *nested]


def test_folders_say_what_is_in_them():
    missing = [folder for folder in folders(tree.ROOT) if not (tree.ROOT / folder / "README.md").is_file()]
    assert missing == []


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_long_line_is_found(tmp_path):
    tree.write(tmp_path, "a.md", "x" * 101 + "\n|" + "x" * 200 + "|\n")
    tree.write(tmp_path, "docs/reference/b.md", "x" * 101)
    assert list(long_lines(tmp_path)) == [Violation("a.md", "line 1 has 101 columns, more than 100")]


def test_a_broken_link_is_found(tmp_path):
    links = "[x](b.md#two-words) [y](c.md) [z](#a-heading) [w](https://x.org/a.md)\n"
    tree.write(tmp_path, "docs/a.md", links)
    tree.write(tmp_path, "docs/b.md", "## `Two` words\n")
    assert [violation.text for violation in broken_links(tmp_path)] == [
        "links to 'c.md', which is not there", "links to '#a-heading', where no heading has that name"]


def test_a_lost_path_is_found(tmp_path):
    tree.write(tmp_path, "compiler/A.cpp", "")
    tree.write(tmp_path, "compiler/B.cpp", "")
    tree.write(tmp_path, "a.md", "`compiler/{A,B}.cpp`, `compiler/*.cpp`, `compiler/`, `compiler/{A,C}.cpp`")
    tree.write(tmp_path, "b.md", "`A.cpp`, `C.cpp`, `plan.run`")
    names = "names 'compiler/{A,C}.cpp', which is not there"
    assert list(lost_paths(tmp_path)) == [
        Violation("a.md", names), Violation("b.md", "names 'C.cpp', which is not there")]
