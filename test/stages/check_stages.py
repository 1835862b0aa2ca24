"""Checks that the text of every stage can be fed back in:
the next stage comes out as from the spec.

Texts are compared as logitile-opt prints them: names of values are for readers,
and a parser drops them.

Run as: check_stages.py FILE, a module of the spec stage where $TARGET stands for the target of its
request, or $CPU where only CPUs can run it.
"""
from __future__ import annotations

import itertools
import pathlib
import subprocess
import sys

STAGES = ("plan", "tiles", "device", "llvm")
CODE = {"cpu": "obj", "cuda": "ptx"}  # the last stage, by backend
TARGETS = (
    "cpu:portable", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cpu:amx_bf16",
    "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_120",
)  # fmt: skip


def run(tool: list[str], text: bytes) -> bytes:
    """What a tool prints when it reads `text`; its complaint ends the script."""
    done = subprocess.run(tool, input=text, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(tool)} failed:\n{done.stderr.decode()}")
    return done.stdout


def compile_to(text: bytes, start: str, end: str) -> bytes:
    return run(["logitile-compile", f"--from={start}", f"--to={end}"], text)


def without_names(text: bytes, stage: str) -> bytes:
    return text if stage == "llvm" or stage in CODE.values() else run(["logitile-opt"], text)


def check(spec: bytes, stages: tuple[str, ...]) -> None:
    """Every stage from the text of the one before it, against the same stage from the spec."""
    text = compile_to(spec, "spec", stages[0])
    for before, stage in itertools.pairwise(stages):
        text = compile_to(text, before, stage)
        at_once = compile_to(spec, "spec", stage)
        if not text or without_names(text, stage) != without_names(at_once, stage):
            sys.exit(f"'{stage}' from the text of '{before}' is not '{stage}' from the spec")


def main() -> None:
    template = pathlib.Path(sys.argv[1]).read_text()
    for target in TARGETS:
        backend, _, _ = target.partition(":")
        if backend == "cpu" or "$TARGET" in template:
            text = template.replace("$TARGET", target).replace("$CPU", target)
            check(text.encode(), (*STAGES, CODE[backend]))


if __name__ == "__main__":
    main()
