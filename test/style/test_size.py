"""Limits of size: lines of a file, of a function and of the facade; includes of a file,
columns of a line.
"""
from __future__ import annotations

import ast
import io
import pathlib
import re
import tokenize
from collections.abc import Iterator

import rules
import tree
from rules import Violation

FUNCTION_LINES = 60
FACADE_LINES = 149  # docstrings included
# Head, and the classes that it is made of
FACADE = ("python/logitile/head.py", "python/logitile/heads/")
INCLUDES = 25
CPP_COLUMNS, PYTHON_COLUMNS = 150, 110
PROSE_COLUMNS = 100  # of comments and docstrings; in C++, tables (two spaces in a row) may be wider
WHOLE_COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*$", re.DOTALL | re.MULTILINE)
# A comment of a lit test that is no line for lit, FileCheck or MLIR's check of diagnostics
LIT_PROSE = re.compile(r"\s*// (?!\s*(?:[A-Z][A-Z0-9_-]*:|expected-))")


RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)
PROSE = re.compile(r"\s*//[/ ] ?\S(?!.*\S  ).*$")
STARTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
FOR_TOOLS = re.compile(r"# *(noqa|fmt:|type:|pragma)")
MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def blank(match: re.Match[str]) -> str:
    """Only the line ends of a comment or literal."""
    return "\n" * match.group().count("\n")


def file_limit(path: str) -> int | None:
    """The most lines that a file may have; None where there is no limit."""
    if path.endswith(tree.CPP):
        return 700
    if path.endswith((".td", ".py")):
        return 600
    if path.endswith(".mlir"):
        return 150
    return None


def long_files(root: pathlib.Path) -> Iterator[Violation]:
    for file in tree.files(root):
        path = rules.relative(root, file)
        limit = file_limit(path)
        count = len(file.read_text().splitlines()) if limit else 0
        if limit and count > limit:
            yield Violation(path, f"has {count} lines, more than {limit}")


def long_lines(root: pathlib.Path) -> Iterator[Violation]:
    """Long lines of code; a raw string of C++ is IR or another text with a width of its own."""
    for suffixes, columns in (((*tree.CPP, ".td"), CPP_COLUMNS), ((".py",), PYTHON_COLUMNS)):
        for file in tree.files(root, *suffixes):
            text = file.read_text()
            code = RAW_STRING.sub(blank, text) if file.suffix in tree.CPP else text
            for number, line in enumerate(code.splitlines(), 1):
                limit = PROSE_COLUMNS if PROSE.match(line) else columns
                if len(line) > limit:
                    place = rules.relative(root, file)
                    yield Violation(place, f"line {number} has {len(line)} columns, more than {limit}")


def wide_block_comments(root: pathlib.Path) -> Iterator[Violation]:
    """Comments of C between /* and */ that have lines of their own."""
    for file in tree.files(root, *tree.CPP, ".c"):
        text = RAW_STRING.sub(blank, file.read_text())
        for comment in WHOLE_COMMENT.finditer(text):
            first = text.count("\n", 0, comment.start()) + 1
            for number, line in enumerate(comment.group().splitlines(), first):
                if len(line) > PROSE_COLUMNS:
                    place = f"{rules.relative(root, file)}:{number}"
                    yield Violation(place, f"has {len(line)} columns of prose, more than {PROSE_COLUMNS}")


def wide_lit_prose(root: pathlib.Path) -> Iterator[Violation]:
    for path, number, line in rules.lines_of(root, ".mlir"):
        if LIT_PROSE.match(line) and len(line) > PROSE_COLUMNS:
            text = f"has {len(line)} columns of prose, more than {PROSE_COLUMNS}"
            yield Violation(f"{path}:{number}", text)


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of every line that is part of a docstring or has a comment for people."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    code = [token for token in tokens if token.type not in (tokenize.NL, tokenize.COMMENT)]
    docstrings = [here for before, here, after in zip([None, *code], code, code[1:], strict=False)
                  if here.type == tokenize.STRING and after.type == tokenize.NEWLINE
                  and (before is None or before.type in STARTS or before.string == ":")]
    comments = [token for token in tokens
                if token.type == tokenize.COMMENT and not FOR_TOOLS.match(token.string)]
    numbers = {number for token in (*docstrings, *comments)
               for number in range(token.start[0], token.end[0] + 1)}
    lines = text.splitlines()
    return ((number, lines[number - 1]) for number in sorted(numbers))


def wide_python_prose(root: pathlib.Path) -> Iterator[Violation]:
    for file in tree.files(root, ".py", ".pyi"):
        for number, line in python_prose(file.read_text()):
            if len(line) > PROSE_COLUMNS:
                place = f"{rules.relative(root, file)}:{number}"
                yield Violation(place, f"has {len(line)} columns of prose, more than {PROSE_COLUMNS}")


def many_includes(root: pathlib.Path) -> Iterator[Violation]:
    for file in tree.files(root, *tree.CPP):
        count = len(re.findall(r"^\s*#\s*include\b", file.read_text(), re.MULTILINE))
        if count > INCLUDES:
            yield Violation(rules.relative(root, file), f"has {count} includes, more than {INCLUDES}")


# ---- functions -----------------------------------------------------------------------------------


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    """(name, lines) of every function, without its decorators and its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            doc_lines = (doc.end_lineno or 0) - doc.lineno + 1 if doc else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - doc_lines


def cpp_functions(text: str) -> Iterator[tuple[str, int]]:
    """(name, lines) of every function body in a file, a namespace or a class.
    Raw strings are not counted.
    """
    text = RAW_STRING.sub("", text)
    code = MACRO.sub(blank, COMMENT_OR_LITERAL.sub(blank, text))
    # name and first line of a function; None: any other brace
    stack: list[tuple[str, int] | None] = []
    # what stands before a brace; how many open braces hold no functions
    head, line, inside = "", 1, 0
    for char in code:
        line += char == "\n"
        if char == "{":
            starts_body = not inside and not is_value(head)
            name = function_of(head) if starts_body else None
            stack.append((name, line - head.lstrip().count("\n")) if name else None)
            if not starts_body or name:
                inside += 1
            else:
                head = ""
        elif char == "}" and stack:
            function = stack.pop()
            inside = max(inside - 1, 0)
            if function:
                yield function[0], line - function[1] + 1
                head = ""
        elif not inside:
            head = "" if char == ";" else head + char


def is_value(head: str) -> bool:
    """Whether `head {` starts a value: an argument, `= {` or `x{`.
    A body has a space before its brace.
    """
    return head.count("(") != head.count(")") or bool(re.search(r"=\s*$|[\w>]$", head))


def function_of(head: str) -> str | None:
    """The name of the function that `head {` opens; None for a namespace or a class."""
    if re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$", head):
        return None
    found = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
    return found.group(1) if found else None


def long_functions(root: pathlib.Path) -> Iterator[Violation]:
    for suffixes, functions in (((".py",), python_functions), (tree.CPP, cpp_functions)):
        for file in tree.files(root, *suffixes):
            for name, count in functions(file.read_text()):
                if count > FUNCTION_LINES:
                    place = f"{rules.relative(root, file)}:{name}"
                    yield Violation(place, f"has {count} lines, more than {FUNCTION_LINES}")


def long_facades(root: pathlib.Path) -> Iterator[Violation]:
    """Classes of the facade that do more than say what may be asked, and hand it on."""
    for file in tree.files(root, ".py", under="python/logitile"):
        path = rules.relative(root, file)
        for node in ast.walk(ast.parse(file.read_text())) if path.startswith(FACADE) else ():
            if isinstance(node, ast.ClassDef) and (count := node.end_lineno - node.lineno + 1) > FACADE_LINES:
                yield Violation(f"{path}:{node.name}", f"has {count} lines, more than {FACADE_LINES}")


def test_files_are_short():
    rules.check("file-lines", long_files(tree.ROOT))


def test_functions_are_short():
    rules.check("function-lines", long_functions(tree.ROOT))


def test_the_facade_is_short():
    rules.check("facade-lines", long_facades(tree.ROOT))


def test_files_include_little():
    rules.check("includes", many_includes(tree.ROOT))


def test_lines_are_short():
    rules.check("line-columns", long_lines(tree.ROOT))


def test_prose_is_narrow():
    rules.check("prose-columns", [*wide_python_prose(tree.ROOT), *wide_block_comments(tree.ROOT),
                                  *wide_lit_prose(tree.ROOT)])


# ---- that the rules find what they are for -------------------------------------------------------


def test_a_long_file_is_found(tmp_path):
    tree.write(tmp_path, "a.cpp", "\n" * 701)
    tree.write(tmp_path, "b.cpp", "\n" * 700)
    tree.write(tmp_path, "build-debug/c.cpp", "\n" * 701)
    assert list(long_files(tmp_path)) == [Violation("a.cpp", "has 701 lines, more than 700")]


def test_long_lines_are_found(tmp_path):
    tree.write(tmp_path, "a.py", "x = 1\n#" + " " * 110 + "\n")
    tree.write(tmp_path, "a.cpp", "//" + " " * 148 + "\n")
    tree.write(tmp_path, "b.cpp", 'text = R"(' + "\n" + " " * 151 + '\n)";\n')
    assert list(long_lines(tmp_path)) == [Violation("a.py", "line 2 has 111 columns, more than 110")]


def test_wide_comments_are_found(tmp_path):
    tree.write(tmp_path, "runtime/a.h", f"/// {'x ' * 50}\nint a; // {'x ' * 50}\n//   {'x   ' * 30}\n")
    assert list(long_lines(tmp_path)) == [Violation("runtime/a.h", "line 1 has 104 columns, more than 100")]


def test_wide_prose_of_python_is_found(tmp_path):
    x = "x" * 100
    tree.write(tmp_path, "a.py", f'"""{x}"""\ny = 1  # {x}\ny = "{x}"  # noqa: {x}\nf("{x}", 1)\n')
    tree.write(tmp_path, "b.pyi", f'class A:\n    y: int\n    """B.\n    {x}"""\n    def f(): """{x}"""\n')
    assert [(violation.place, violation.text[:8]) for violation in wide_python_prose(tmp_path)] == [
        ("a.py:1", "has 106 "), ("a.py:2", "has 109 "), ("b.pyi:4", "has 107 "), ("b.pyi:5", "has 119 ")]


def test_wide_block_comments_are_found(tmp_path):
    x = "x" * 100
    tree.write(tmp_path, "a.c", f"/* a\n * {x} */\nf(/*b=*/{x});\n")
    assert [violation.place for violation in wide_block_comments(tmp_path)] == ["a.c:2"]


def test_wide_prose_of_lit_tests_is_found(tmp_path):
    x = "x" * 100
    lines = [f"// RUN: {x}", f"// {x}", f"// A-B_1: {x}", f"// expected-error {x}", f"%{x}", f"  // {x}"]
    tree.write(tmp_path, "a.mlir", "\n".join(lines))
    assert [violation.place for violation in wide_lit_prose(tmp_path)] == ["a.mlir:2", "a.mlir:6"]


def test_many_includes_are_found(tmp_path):
    tree.write(tmp_path, "a.h", '#include "b.h"\n' * 26)
    assert list(many_includes(tmp_path)) == [Violation("a.h", "has 26 includes, more than 25")]


CPP_EXAMPLE = """
namespace a { namespace {
const char *text() {
  return R"IR(
    {
  )IR";
}
constexpr int table[] = {
    1, 2,
};
struct B : Base<int> {
  B() : x{1}, y(2) { y = 3; }
  int get() const override {
    if (x) { // {
      return [&] { return '{'; }();
    }
    return 0;
  }
};
}
template <typename T>
static T twice(T value,
               T other = {}) {
  return "}{" ? 2 * value : 0;
}
}
"""


def test_cpp_functions_are_measured():
    assert dict(cpp_functions(CPP_EXAMPLE)) == {"text": 3, "B": 1, "get": 6, "twice": 5}


def test_python_functions_are_measured():
    text = 'def f(\n    x,\n):\n    """One\n    two."""\n    return x\n'
    assert list(python_functions(text)) == [("f", 4)]


def test_a_long_facade_is_found(tmp_path):
    text = 'class A:\n    """One.' + "\n" * 147 + '"""\n'
    tree.write(tmp_path, "python/logitile/heads/a.py", text)
    assert list(long_facades(tmp_path)) == []
    tree.write(tmp_path, "python/logitile/heads/a.py", text + "    x = 1\n")
    tree.write(tmp_path, "python/logitile/calls/a.py", text + "    x = 1\n")
    assert list(long_facades(tmp_path)) == [
        Violation("python/logitile/heads/a.py:A", "has 150 lines, more than 149")]


def test_a_long_function_is_found(tmp_path):
    tree.write(tmp_path, "a.py", "def f():\n" + "    pass\n" * 60)
    tree.write(tmp_path, "a.cpp", "void g() {\n" + "  h();\n" * 60 + "}\n")
    assert list(long_functions(tmp_path)) == [Violation("a.py:f", "has 61 lines, more than 60"),
                                              Violation("a.cpp:g", "has 62 lines, more than 60")]
