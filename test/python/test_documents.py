"""The Python blocks of the documents run, one after the other; the errors that they show are the real ones.

A block whose fence says `python raises SomeError` must raise that; the `text` block behind it is the message.
An `mlir` block quotes the variable `text` of the Python blocks: its lines are there in that order; `...`
leaves something out, and numbers may differ, because tile sizes are a matter of the machine.
"""

import pathlib
import re
from dataclasses import dataclass

import logitile
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)(?: raises (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of Python or IR: first line, text, and the error's class and message if it must fail."""

    language: str
    line: int
    text: str
    error: str | None = None
    message: str | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of Python and of IR in a document."""
    found = list(FENCE.finditer(text))
    result = []
    for match, following in zip(found, [*found[1:], None], strict=True):
        language, error, body = match.groups()
        if language not in ("python", "mlir"):
            continue
        message = following[3] if error and following and following[1] == "text" else None
        result.append(Block(language, text[: match.start(3)].count("\n"), body, error, message))
    return result


def plain(message: str) -> str:
    """A message without line breaks and line numbers."""
    return re.sub(r"\.md:\d+", ".md:0", " ".join(message.split()))


def check_quotation(block: Block, quoted: str) -> None:
    """Every piece of the block between line ends and `...` is in the text, behind the piece before it."""
    text, behind = without_numbers(quoted), 0
    for line in block.text.splitlines():
        for piece in line.partition("//")[0].split("..."):
            wanted = without_numbers(piece)
            found = text.find(wanted, behind)
            assert found >= 0, f"line {block.line} and following: the IR has no '{wanted}' there"
            behind = found + len(wanted)


def without_numbers(text: str) -> str:
    return re.sub(r"\d+", "0", " ".join(text.split()))


def run(block: Block, names: dict, file: pathlib.Path) -> None:
    code = compile("\n" * block.line + block.text, file.name, "exec")  # errors name the line of the document
    if block.error is None:
        exec(code, names)
        return
    with pytest.raises(getattr(logitile, block.error)) as caught:
        exec(code, names)
    assert block.message is not None, f"{file.name}: no text block with the error of line {block.line}"
    assert plain(str(caught.value)) == plain(block.message)


@pytest.mark.parametrize("path", ["README.md", "docs/language.md", "docs/internals.md"])
def test_the_blocks_of_a_document_run(path, monkeypatch, tmp_path):
    file = ROOT / path
    found = blocks(file.read_text())
    assert found
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict = {}
    for block in found:
        if block.language == "mlir":
            check_quotation(block, names["text"])
        else:
            run(block, names, file)


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
