"""The Python blocks of the documents run, one after the other; the errors that they show are the real ones.

A block whose fence says `python raises SomeError` must raise that; the `text` block behind it is the message.
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
    """A Python block: its first line, its text, and for one that must fail the error's class and message."""

    line: int
    text: str
    error: str | None = None
    message: str | None = None


def blocks(text: str) -> list[Block]:
    """The Python blocks of a document."""
    found = list(FENCE.finditer(text))
    result = []
    for match, following in zip(found, [*found[1:], None], strict=True):
        language, error, body = match.groups()
        if language != "python":
            continue
        message = following[3] if error and following and following[1] == "text" else None
        result.append(Block(text[: match.start(3)].count("\n"), body, error, message))
    return result


def plain(message: str) -> str:
    """A message without line breaks and line numbers."""
    return re.sub(r"\.md:\d+", ".md:0", " ".join(message.split()))


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
        run(block, names, file)


def test_a_wrong_message_is_found(tmp_path):
    text = "```python raises SpecError\nimport logitile\nlogitile.nothing\n```\n\n```text\nanother\n```\n"
    (block,) = blocks(text)
    assert (block.line, block.error, block.message) == (1, "SpecError", "another\n")
    with pytest.raises(AssertionError, match="another"):
        run(block, {}, tmp_path / "a.md")
