"""Type checkers accept losses: annotations are types, and traced values have the operators of numbers."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOSSES = """
import logitile as lt


@lt.loss
def softcapped(
    z: lt.Logits, target: lt.Token[int], *, gamma: float = 2.0, softcap: float | None = None
) -> lt.Value:
    if softcap is not None:
        z = softcap * lt.tanh(z / softcap)
    log_p = lt.log_softmax(z)[target]
    return -((1 - lt.exp(log_p)) ** gamma) * log_p


@lt.loss
def many(
    z: lt.Logits,
    ys: lt.Token[int, lt.K],
    weights: lt.Token[float, lt.K],
    allowed: lt.Vocab[bool] | None,
    teacher: lt.Dense[float],
    temperature: lt.Scalar | lt.Token[float],
    seed: lt.Scalar[int],
) -> lt.Outputs:
    log_p = lt.log_softmax(z / temperature + teacher * lt.uniform(seed))
    if allowed is not None:
        log_p = lt.where(allowed & (teacher > 0.0), log_p, 0.0)
    terms = [lt.where(lt.valid(y), -w * log_p[y], 0.0) for y, w in zip(ys, weights)]
    return lt.Outputs(loss=sum(terms), first=log_p[ys[0]], count=len(ys) * lt.count(log_p > -1.0))


head = lt.jit(softcapped, reduction="mean", gamma=1.5)
"""


def complaints(text, tmp_path):
    """What mypy says of a program in its strictest mode."""
    file = tmp_path / "program.py"
    file.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]
    done = subprocess.run(
        [*command, "--cache-dir", str(tmp_path), str(file)], capture_output=True, text=True,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": ""}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("program.py")]


def test_losses_have_types(tmp_path):
    assert complaints(LOSSES, tmp_path) == []


@pytest.mark.parametrize("wrong", ["lt.jit(softcapped, reduction=3)", "z: int = lt.exp(1.0)"])
def test_what_is_wrong_is_found(wrong, tmp_path):
    assert len(complaints(LOSSES + wrong + "\n", tmp_path)) == 1


def test_the_example_of_the_readme_has_types(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    example = next(block for block in blocks if "@lt.loss" in block)
    untyped = re.compile(r"missing a return type annotation|import-untyped|no-untyped-call|union-attr")
    assert [line for line in complaints(example, tmp_path) if not untyped.search(line)] == []
