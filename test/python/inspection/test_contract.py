"""Every line of test/contract.md has a test that claims it, and no test claims another."""

import ast
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[2]
LINE = re.compile(r"- `(\d [^`]+)`: \S")
COMMENT = re.compile(r"^\s*(?://|#) contract: (.+)$", re.MULTILINE)


def promised(text):
    """The names of the lines of a table, in order."""
    return [match[1] for match in map(LINE.match, text.splitlines()) if match]


def claimed_in_python(text):
    """(line, test) for every marker of a function."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.contract":
                yield from ((ast.literal_eval(name), node.name) for name in mark.args)


def claims(folder):
    """(line, place) of every claim under a folder."""
    for path in sorted(folder.rglob("test_*.py")):
        for line, name in claimed_in_python(path.read_text()):
            yield line, f"{path.relative_to(folder)}::{name}"
    for path in sorted([*folder.rglob("*.mlir"), *folder.rglob("*.test")]):
        yield from (
            (line.strip(), str(path.relative_to(folder))) for line in COMMENT.findall(path.read_text())
        )


def problems(folder):
    """What is wrong between a table and the tests around it."""
    lines, found = promised((folder / "contract.md").read_text()), list(claims(folder))
    twice = {line for line in lines if lines.count(line) > 1}
    untested = [line for line in lines if line not in {claim for claim, _ in found}]
    unknown = [f"'{line}' of {place}" for line, place in found if line not in lines]
    no_test = [
        place for _, place in found if "::" in place and not place.rpartition("::")[2].startswith("test_")
    ]
    return {"named twice": sorted(twice), "without a test": untested, "unknown": unknown, "no test": no_test}


def test_every_line_of_the_contract_has_a_test():
    assert len(promised((TESTS / "contract.md").read_text())) > 90
    assert not any(found := problems(TESTS).values()), found


def test_what_is_missing_is_found(tmp_path):
    (tmp_path / "contract.md").write_text("- `1 a`: one\n- `1 b`: two\n- `1 b`: two again\n- `2 c`: three\n")
    marker = "@pytest.mark." + "contract"
    (tmp_path / "test_a.py").write_text(
        f'{marker}("1 a", "1 z")\ndef test_one(): pass\n\n{marker}("1 a")\ndef other(): pass\n'
    )
    (tmp_path / "some.mlir").write_text("// contract: 2 c\n// contract: 9 y\n")
    assert problems(tmp_path) == {
        "named twice": ["1 b"],
        "without a test": ["1 b", "1 b"],
        "unknown": ["'1 z' of test_a.py::test_one", "'9 y' of some.mlir"],
        "no test": ["test_a.py::other"],
    }
