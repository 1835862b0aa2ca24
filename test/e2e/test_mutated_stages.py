"""Damaged texts of every stage: the compiler says what is wrong, or takes them. It neither dies nor hangs."""

import concurrent.futures
import os
import resource
import subprocess

import pytest
from conftest import BUILD
from mutations import mutant
from test_zoo import sample

TOOL = BUILD / "compiler" / "tools" / "logitile-compile"
STAGES = ("spec", "plan", "tiles", "device", "llvm")
SECONDS, MEMORY = 60, 6 << 30


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def complaint(text, stage, path):
    """How the compiler misbehaves over a text, which stays in the path then; None where it does not."""
    path.write_text(text)
    command = [str(TOOL), f"--from={stage}", "--to=obj", str(path), "-o", os.devnull]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return f"takes longer than {SECONDS} s: {' '.join(command)}"
    reasons = [line for line in done.stderr.splitlines() if not line.startswith(b"logitile-compile: ")]
    if done.returncode == 0 or (done.returncode == 1 and reasons):
        path.unlink()
        return None
    return (
        f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr.decode(errors='replace')[:2000]}"
    )


def check(name, stage, seeds, folder):
    made = sample(name, "bfloat16")
    text = made.head.ir(stage, **made.passed)
    assert complaint(text, stage, folder / "whole.mlir") is None

    def damaged(seed):
        changed, mutations = mutant(text, seed)
        found = complaint(changed, stage, folder / f"{name}.{seed}.{stage}.mlir")
        return found and f"seed {seed} ({', '.join(mutations)}): {found}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [text for text in pool.map(damaged, seeds) if text]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("stage", STAGES)
def test_damaged_texts_are_refused_or_taken(stage, tmp_path):
    check("jsd", stage, range(16), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", ["jsd", "kept_set", "topk_kl"])
@pytest.mark.parametrize("stage", STAGES)
def test_many_damaged_texts_are_refused_or_taken(name, stage, tmp_path):
    check(name, stage, range(1000, 1200), tmp_path)


def test_what_the_compiler_does_wrong_is_found(tmp_path, monkeypatch):
    """A tool that is killed, and one that complains without a reason."""
    for body, expected in (("kill -SEGV $$", "exit status -11"), ("exit 1", "exit status 1"),
                           ("sleep 60", "takes longer")):  # fmt: skip
        tool = tmp_path / "tool"
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)
        monkeypatch.setattr("test_mutated_stages.TOOL", tool)
        monkeypatch.setattr("test_mutated_stages.SECONDS", 1)
        assert complaint("", "spec", tmp_path / "text").startswith(expected)
