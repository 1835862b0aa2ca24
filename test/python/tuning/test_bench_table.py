"""bench/table.py: the table of docs/speed.md is the one of its reports,
and README.md has rows of it.
"""

import re
import shlex
import sys

import conftest

sys.path.append(str(conftest.ROOT / "bench"))

import table  # noqa: E402

SPEED = (conftest.ROOT / "docs" / "speed.md").read_text()


def test_the_document_has_the_table_of_the_command_that_it_names(monkeypatch):
    monkeypatch.chdir(conftest.ROOT)
    (command,) = re.findall(r"python bench/table.py (.*?)\n```", SPEED, re.DOTALL)
    assert table.table(table.machines_of(shlex.split(command.replace("\\\n", " ")))) in SPEED


def test_the_readme_has_figures_of_that_table():
    text = (conftest.ROOT / "README.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in SPEED.splitlines()]
    wanted = {(row[0], row[1]): row[2:5] + row[6:9] + row[14:17] for row in rows if len(row) == 18}
    found = re.findall(r"^\| ?(.*?) \| (float32|bfloat16) \| (.*) \|$", text, re.MULTILINE)
    assert len(found) == 6
    for number, (_, dtype, cells) in enumerate(found):
        shape = found[number - number % 2][0]
        assert cells.split(" | ") == wanted[f"{shape}, with gradients", dtype]


def test_a_case_that_was_not_measured_has_dashes(tmp_path):
    file = tmp_path / "a.json"
    share = '{"share": {"median": 0.5}, "ratio": {"median": 1.0}}'
    case = '"tokens": 1, "hidden": 2, "vocab": 3, "dtype": "float32", "loss": "cross_entropy"'
    file.write_text(
        f'{{"cases": [{{{case}, "mode": "gradients", "contenders": {{"logitile": {share}, "eager": '
        '{"ratio": {"median": 1.234}}}}]}'
    )
    assert table.table({"A": [file]}).splitlines()[2:] == [
        "| 1 x 2 x 3, with gradients | float32 | - | 1.23 | - | - |"
    ]
