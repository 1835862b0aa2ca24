"""Damaged texts of every stage: the compiler says what is wrong, or takes them.
It neither dies nor hangs.
"""

import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import random
import re
import subprocess

import logitile as lt
import numpy as np
import pytest
from conftest import BUILD
from mutations import mutant
from test_zoo import sample

TOOLS = BUILD / "compiler" / "tools"
TESTS = pathlib.Path(__file__).resolve().parents[2]
STAGES = ("spec", "plan", "tiles", "device", "llvm")
SECONDS, MEMORY = 60, 6 << 30
DIED = b"this text is more than the compiler can take"
PASSES = {
    "%form_sweeps": ("--logitile-differentiate", "--logitile-form-sweeps"),
    "%schedule": ("--logitile-choose-schedule",),
    "%specialise": ("--logitile-specialise",),
}


@dataclasses.dataclass(frozen=True)
class Text:
    """A text that a tool takes, and the tool with its options."""

    name: str
    command: tuple[str, ...]
    text: str

    @property
    def may_die(self):
        """LLVM alone reads its own language, and dies of some texts; an error tells of it."""
        return "--from=llvm" in self.command


# ---- texts ---------------------------------------------------------------------------------------


def for_cpu(name):
    made = sample(name, "bfloat16")
    for stage in STAGES:
        text = made.head.ir(stage, **made.passed)
        yield Text(f"{name}.{stage}", ("logitile-compile", f"--from={stage}", "--to=obj"), text)


def shapes_of(given):
    """Arguments without numbers: there may be no GPU."""
    if isinstance(given, tuple):
        return tuple(map(shapes_of, given))
    array = np.asarray(given)
    return lt.ShapeDtype(array.shape, array.dtype.name) if array.ndim else given


def for_cuda(name):
    """Later stages, which are long, as the text of one kernel each."""
    made = sample(name, "bfloat16", backend="emu:sm_80")
    given = {key: shapes_of(value) for key, value in made.passed.items()}
    head = lt.jit(made.loss, **made.options | {"backend": "cuda:sm_80"})
    texts = {stage: head.ir(stage, **given) for stage in STAGES[:3]}
    first = texts["tiles"].partition("\n")[0]
    shared = re.search(r"^ *llvm.mlir.global.*\n", head.ir("device", **given), re.MULTILINE).group()
    for kernel in re.findall(r"logitile\.kernel @(\w+)", texts["tiles"]):
        texts[f"device.{kernel}"] = f"{first}\n{shared}{head.ir('device', kernel=kernel, **given)}\n}}\n"
        texts[f"llvm.{kernel}"] = head.ir("llvm", kernel=kernel, **given)
    for stage, text in texts.items():
        from_ = stage.partition(".")[0]
        yield Text(f"{name}.cuda.{stage}", ("logitile-compile", f"--from={from_}", "--to=ptx"), text)


def own_files():
    """Each chunk of the tests of ops and passes, with the passes of its file."""
    for path in sorted(TESTS.rglob("*.mlir")):
        text = path.read_text()
        line = re.search(r"RUN: (.*)", text)
        words = line.group(1).split() if line else []
        known = re.compile(r"--(logitile|convert|canon|cse|symbol)[\w-]*")
        passes = [word for word in words if known.fullmatch(word)]
        passes += [each for word in words for each in PASSES.get(word, ())]
        for number, chunk in enumerate(text.split("// -----")):
            yield Text(f"{path.relative_to(TESTS)}.{number}", ("logitile-opt", *passes), chunk)


@functools.cache
def texts(cpu, cuda):
    """Texts of stages and the tests' own files, by turns."""
    stages = [text for name in cpu for text in for_cpu(name)]
    stages += [text for name in cuda for text in for_cuda(name)]
    return stages, list(own_files())


# ---- what a tool does ----------------------------------------------------------------------------


def complaint(given, path):
    """How a tool misbehaves over a text, which stays in the path then; None where it does not."""
    path.write_text(given.text)
    tool, *options = given.command
    command = [str(TOOLS / tool), *options, str(path), "-o", os.devnull]
    # Limits that Python sets need a fork, which copies the tables of this large process.
    limited = ["prlimit", f"--as={MEMORY}", f"--cpu={SECONDS}", *command]
    try:
        done = subprocess.run(limited, capture_output=True, timeout=10 * SECONDS, close_fds=False)
    except subprocess.TimeoutExpired:
        return f"takes longer than {10 * SECONDS} s: {' '.join(command)}"
    reasons = [line for line in done.stderr.splitlines() if not line.startswith(b"logitile-compile: ")]
    died = DIED in done.stderr and not given.may_die
    if not died and (done.returncode == 0 or (done.returncode == 1 and reasons)):
        path.unlink()
        return None
    return (
        f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr.decode(errors='replace')[:2000]}"
    )


def check(corpus, seeds, folder):
    def damaged(seed):
        rng = random.Random(seed)
        whole = rng.choice(corpus[rng.random() < 0.4])
        changed, mutations = mutant(whole.text, seed)
        given = dataclasses.replace(whole, text=changed)
        found = complaint(given, folder / f"{seed}.mlir")
        return found and f"seed {seed}, {whole.name} ({', '.join(mutations)}): {found}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [text for text in pool.map(damaged, seeds) if text]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("made", [for_cpu, for_cuda])
def test_whole_texts_are_taken(made, tmp_path):
    for text in made("plain"):
        path = tmp_path / text.name
        path.write_text(text.text)
        tool, *options = text.command
        command = [str(TOOLS / tool), *options, str(path), "-o", os.devnull]
        subprocess.run(command, check=True, timeout=10 * SECONDS)


def test_damaged_texts_are_refused_or_taken(tmp_path):
    check(texts(("jsd", "listed"), ("plain",)), range(170), tmp_path)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_many_damaged_texts_are_refused_or_taken(part, tmp_path):
    first = 1000 + 500 * part
    check(texts(("jsd", "kept_set", "listed"), ("plain", "listed")), range(first, first + 500), tmp_path)


def test_what_a_tool_does_wrong_is_found(tmp_path, monkeypatch):
    """One that is killed, one that complains without a reason, one that dies with a word,
    one that hangs.
    """
    tool = tmp_path / "tool"
    monkeypatch.setattr("test_mutated_stages.TOOLS", tmp_path)
    monkeypatch.setattr("test_mutated_stages.SECONDS", 1)
    for body, expected in (
        ("kill -SEGV $$", "exit status -11"),
        ("exit 1", "exit status 1"),
        (f"echo '{DIED.decode()}' >&2; exit 1", "exit status 1"),
        ("kill -KILL $$", "exit status -9"),
        ("sleep 60", "takes longer"),
    ):
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)
        assert complaint(Text("text", ("tool",), ""), tmp_path / "text").startswith(expected)
    tool.write_text(f"#!/bin/sh\necho '{DIED.decode()}' >&2; exit 1\n")
    assert complaint(Text("text", ("tool", "--from=llvm"), ""), tmp_path / "text") is None
