"""The name of a type in a namespace belongs to one file:
linking two such types is undefined behaviour.
"""
from __future__ import annotations

import collections
import pathlib
import re

import tree

LITERAL_OR_COMMENT = re.compile(
    r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/'
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)  # fmt: skip
SCOPE = re.compile(
    r"namespace\s*(?P<namespace>[\w:]*)\s*\{"
    r"|(?:struct|class|enum(?:\s+class)?)\s+(?P<type>\w+)(?:\s+final)?\s*(?::(?!:)[^;{(]*)?\{"
    r"|[{}]")


def types(text: str) -> list[str]:
    """Types that `text` defines in named namespaces: those of no function,
    type or unnamed namespace.
    """
    found, scopes = [], []  # a scope is the name of its namespace, or None
    for match in SCOPE.finditer(LITERAL_OR_COMMENT.sub(" ", text)):
        if match[0] == "}":
            scopes = scopes[:-1]
            continue
        if match["type"] and all(scopes):
            found.append("::".join([*scopes, match["type"]]))
        scopes.append(match["namespace"])
    return found


def types_of_two_files(root: pathlib.Path) -> list[str]:
    files = collections.defaultdict(set)
    for name in tree.LAYERS:
        for file in tree.files(root, *tree.CPP, under=name):
            for type_ in types(file.read_text()):
                files[type_].add(file.relative_to(root).as_posix())
    return [f"{type_} is defined in {', '.join(sorted(where))}"
            for type_, where in sorted(files.items()) if len(where) > 1]


def test_each_type_has_one_file():
    assert types_of_two_files(tree.ROOT) == []


def test_two_files_with_one_type_are_found(tmp_path):
    tree.write(tmp_path, "compiler/A.h", "namespace a::b {\nclass Kernel final : public Base {\n"
                                         "  struct Part {};\n};\n}\n")
    tree.write(tmp_path, "compiler/B.h", "namespace a {\nnamespace b {\n// struct Other {\n"
                                         "struct Kernel {\n};\n}\n}\n")
    tree.write(tmp_path, "compiler/C.cpp", "namespace a::b {\nnamespace {\nstruct Kernel {};\n}\n"
                                           "class Part;\nvoid run() { struct Kernel {}; }\n}\n"
                                           "struct Kernel {};\n")
    assert types_of_two_files(tmp_path) == ["a::b::Kernel is defined in compiler/A.h, compiler/B.h"]
