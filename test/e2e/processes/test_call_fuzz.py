"""Calls that nobody wrote: legal ones agree with the reference,
wrong ones are named errors, none crashes.

A crash shows as a child that died, with the case that it ran last.
"""

import pathlib
import subprocess
import sys

import pytest

FUZZ = pathlib.Path(__file__).parents[1] / "call_fuzz.py"


def fuzz(kind, examples, seed, log, timeout=500):
    done = subprocess.run(
        [sys.executable, str(FUZZ), kind, str(examples), str(seed), str(log)],
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    last = log.read_text() if log.exists() else "none"
    assert done.returncode == 0, f"{done.returncode}; the last case was {last}\n{done.stderr[-6000:]}"


@pytest.mark.contract("4 errors")
@pytest.mark.parametrize("kind, examples", [("legal", 40), ("wrong", 200)])
def test_calls_that_nobody_wrote(kind, examples, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    fuzz(kind, examples, 0, tmp_path / "case")


@pytest.mark.full
@pytest.mark.parametrize("kind, examples", [("legal", 120), ("wrong", 600)])
def test_many_calls_that_nobody_wrote(kind, examples, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    fuzz(kind, examples, 1, tmp_path / "case")


@pytest.mark.parametrize("damage, trace", [
    ("__import__('os').kill(__import__('os').getpid(), 11)", "^-11; the last case was Case"),
    ("1 / 0", "^1; the last case was Case(.|\n)*ZeroDivisionError"),
    ("(1.125, lambda: 1.0)", "^1; the last case was Case(.|\\n)*in check_near"),
])  # fmt: skip
def test_crashes_unnamed_errors_and_wrong_numbers_are_found(damage, trace, tmp_path, monkeypatch):
    copy = tmp_path / "fuzz.py"
    path = f"import sys\nsys.path.insert(0, {str(FUZZ.parent)!r})\nimport call_fuzz\n"
    copy.write_text(f"{path}call_fuzz.run = lambda case: {damage}\ncall_fuzz.main()\n")
    monkeypatch.setattr("test_call_fuzz.FUZZ", copy)
    with pytest.raises(AssertionError, match=trace):
        fuzz("legal", 3, 0, tmp_path / "case")
