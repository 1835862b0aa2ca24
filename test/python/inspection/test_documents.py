"""The blocks of the documents run, one after the other;
the errors that they show are the real ones.

A block whose fence says `python raises SomeError` must raise that; the `text` block after it is
the message. An `mlir` block quotes the variable `text` of the Python blocks: its lines are there in
that order; `...` leaves something out, and numbers may differ, because tile sizes are a matter of
the machine. A block `sh runs` is a script that must succeed; a block `c some.c` becomes a file for
it. All blocks of a document work in one folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass

import logitile
import pytest
import torch
from conftest import PACKAGE, find_tool

ROOT = pathlib.Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/*.md", "docs/design/*.md", "docs/guides/*.md", "docs/integrations/*.md")
    for path in sorted(ROOT.glob(pattern))
    if "```python" in path.read_text()
]


@dataclass(frozen=True)
class Block:
    """A block: its first line, its text, and what its fence says of it.

    Args:
        language: "python", "mlir", "sh" or "c".
        line: the line of the document before its text.
        error, message: the error's class and message if it must fail.
        file: the name that a block of C has.
    """

    language: str
    line: int
    text: str
    error: str | None = None
    message: str | None = None
    file: str | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of a document that something is done with."""
    found = list(FENCE.finditer(text))
    result = []
    for match, following in zip(found, [*found[1:], None], strict=True):
        language, words, body = match.groups()
        line = text[: match.start(3)].count("\n")
        if language == "python" and words:
            error = words.removeprefix("raises ")
            message = following[3] if following and following[1] == "text" else None
            result.append(Block(language, line, body, error, message))
        elif language in ("python", "mlir") or (language, words) == ("sh", "runs"):
            result.append(Block(language, line, body))
        elif language == "c" and words:
            result.append(Block(language, line, body, file=words))
    return result


def plain(message: str) -> str:
    """A message without line breaks and line numbers."""
    return re.sub(r"\.md:\d+", ".md:0", " ".join(message.split()))


def check_quotation(block: Block, quoted: str) -> None:
    """Every piece of the block between line ends and `...` is in the text,
    after the piece before it.
    """
    text, end = without_numbers(quoted), 0
    for line in block.text.splitlines():
        for piece in line.partition("//")[0].split("..."):
            wanted = without_numbers(piece)
            found = text.find(wanted, end)
            assert found >= 0, f"line {block.line} and following: the IR has no '{wanted}' there"
            end = found + len(wanted)


def without_numbers(text: str) -> str:
    return re.sub(r"\d+", "0", " ".join(text.split()))


def run(block: Block, names: dict, file: pathlib.Path) -> None:
    # errors name the line of the document
    code = compile("\n" * block.line + block.text, file.name, "exec")
    if block.error is None:
        exec(code, names)
        return
    with pytest.raises(getattr(logitile, block.error)) as caught:
        exec(code, names)
    assert block.message is not None, f"{file.name}: no text block with the error of line {block.line}"
    assert plain(str(caught.value)) == plain(block.message)


def run_script(block: Block, folder: pathlib.Path) -> None:
    """Runs a block of shell commands with the developer tools,
    the package and a C compiler at hand.
    """
    compiler = next(filter(None, map(shutil.which, ("cc", "clang-22", "clang", "gcc"))), None)
    if compiler is None or find_tool("logitile-opt") is None:
        pytest.skip("the commands of this document need a build and a C compiler")
    tools = str(pathlib.Path(find_tool("logitile-opt")).parent)
    env = dict(os.environ, PATH=os.pathsep.join([tools, os.environ["PATH"]]), CC=compiler,
               INCLUDE=str(PACKAGE / "logitile" / "include"), LIBRARY=str(PACKAGE / "logitile"))  # fmt: skip
    command = ["sh", "-euc", block.text]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"line {block.line}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_blocks_of_a_document_run(file, monkeypatch, tmp_path):
    found = blocks(file.read_text())
    assert found
    if "import jax" in file.read_text():
        pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict = {}
    for block in found:
        if block.language == "mlir":
            check_quotation(block, names["text"])
        elif block.language == "sh":
            run_script(block, tmp_path)
        elif block.file is not None:
            (tmp_path / block.file).write_text(block.text)
        else:
            run(block, names, file)


def test_the_guide_to_the_c_interface_shows_the_example():
    found = blocks((ROOT / "docs" / "guides" / "use-the-c-interface.md").read_text())
    shown = {block.file or "save_plan.py": block.text for block in found if block.language in ("python", "c")}
    folder = ROOT / "examples" / "c"
    assert shown == {name: (folder / name).read_text() for name in ("save_plan.py", "run_plan.c")}


def test_every_guide_is_looked_at():
    names = {str(path.relative_to(ROOT)) for path in DOCUMENTS}
    assert {"README.md", "docs/language.md", "docs/design/overview.md", "docs/guides/recipes.md"} <= names


def test_the_guide_names_everything_public():
    spans = re.findall(r"`[^`\n]+`", (ROOT / "docs" / "language.md").read_text())
    named = {word for span in spans for word in re.findall(r"\w+", span)}
    assert {*logitile.__all__, *logitile.losses.__all__} <= named


def test_a_wrong_message_is_found(tmp_path):
    text = "```python raises SpecError\nimport logitile\nlogitile.nothing\n```\n\n```text\nanother\n```\n"
    (block,) = blocks(text)
    assert (block.language, block.line, block.error, block.message) == ("python", 1, "SpecError", "another\n")
    with pytest.raises(AssertionError, match="another"):
        run(block, {}, tmp_path / "a.md")


def test_a_wrong_quotation_is_found():
    (block,) = blocks("```mlir\na 12 // comment\n...\nc ... d\n```\n")
    check_quotation(block, "a 7\n  b\n  c x y d")
    with pytest.raises(AssertionError, match="the IR has no 'd' there"):
        check_quotation(block, "a 7\n  b d\n  c x y")
