"""Type checkers accept losses: annotations are types,
and traced values have the operators of numbers.
"""

import pathlib
import re
import subprocess
import sys

import logitile
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = pathlib.Path(logitile.__file__).parents[1]  # with the stubs that the build makes
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


# Packages of others that examples import and that have no types, or not all:
# the only complaints left out.
SETTINGS = """
[mypy]
strict = true
follow_imports = silent
untyped_calls_exclude = jax
[mypy-optax.*]
ignore_missing_imports = true
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy knows of torch and JAX, which takes it half a minute to read."""
    return tmp_path_factory.mktemp("mypy")


def complaints(text, tmp_path, cache, name="program.py"):
    """What mypy says of a program in its strictest mode."""
    file, settings = tmp_path / name, tmp_path / "mypy.ini"
    file.write_text(text)
    settings.write_text(SETTINGS)
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--no-error-summary"]
    done = subprocess.run(
        [*command, "--cache-dir", str(cache), str(file)], capture_output=True, text=True,
        env={"MYPYPATH": str(PACKAGE), "PATH": ""}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def test_losses_have_types(tmp_path, cache):
    assert complaints(LOSSES, tmp_path, cache) == []


@pytest.mark.parametrize("wrong", ["lt.jit(softcapped, reduction=3)", "z: int = lt.exp(1.0)"])
def test_what_is_wrong_is_found(wrong, tmp_path, cache):
    assert len(complaints(LOSSES + wrong + "\n", tmp_path, cache)) == 1


REQUEST = """
from logitile import _native

projection = ("z", 8, 2, 2, 2)
_native.Program(_native.Engine(), spec="", projections=[projection], target="cpu:avx2", {})
"""


@pytest.mark.parametrize(
    "rest, wrong", [("threads=2, tiles=''", 0), ("threads='2'", 1), ("", 1), ("threads=2, tile=''", 1),
     ("threads=2, mode='early', slice=('merge', 8, 0), gradients=[('z', 'hidden', 2)]", 0),
     ("threads=2, mode='late'", 1), ("threads=2, gradients=[('z', 'bias', 2)]", 1)],
)  # fmt: skip
def test_requests_have_types(rest, wrong, tmp_path, cache):
    assert len(complaints(REQUEST.format(rest), tmp_path, cache)) == wrong


def test_the_example_of_the_readme_has_types(tmp_path, cache):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    example = next(block for block in blocks if "@lt.loss" in block)
    assert complaints(example, tmp_path, cache) == []


EXAMPLES = {file.relative_to(ROOT).as_posix(): file for file in sorted((ROOT / "examples").rglob("*.py"))}


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_have_types(path, tmp_path, cache):
    assert complaints(EXAMPLES[path].read_text(), tmp_path, cache, EXAMPLES[path].name) == []
