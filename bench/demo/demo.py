"""Trains a small language model on Python's own sources with torch's loss and
logitile's, and compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy
from report import Run, draw, failures, table, verdict
from text import VOCABULARY, sources, tokens, trained_tokenizer
from tqdm import tqdm
from training import BATCH, HIDDEN, SEQUENCE, STEPS, WORKSPACE

FOLDER = Path(__file__).resolve().parents[2] / "build" / "demo"


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    token_file, picture = FOLDER / "tokens.npy", FOLDER / "demo.png"
    size = BATCH * SEQUENCE
    with tqdm(total=2 * STEPS + 1, bar_format="{desc:<40} {bar} {n_fmt}/{total_fmt} [{elapsed}]") as progress:
        progress.set_description_str("byte pairs of the standard library")
        texts = sources()
        numpy.save(token_file, tokens(trained_tokenizer(texts), texts, STEPS * size + 1))
        progress.update()
        torch, logitile = train(("torch", "logitile"), token_file, progress)
    print(
        f"\n{size} tokens x {VOCABULARY} entries, hidden size {HIDDEN}, fp32: logits take "
        f"{size * VOCABULARY * 4 / 2**20:.0f} MiB; logitile's workspace is {WORKSPACE / 2**20:.0f} MiB\n"
    )
    print(table(torch, logitile))
    draw(torch, logitile, picture)
    print(f"picture: {picture.relative_to(Path.cwd()) if picture.is_relative_to(Path.cwd()) else picture}")
    print(verdict(torch, logitile))
    return 1 if failures(torch, logitile) else 0


def train(contenders: Sequence[str], token_file: Path, progress: tqdm) -> list[Run]:
    """Trains all contenders, each in a process of its own.

    They take turns, step by step: what else the machine does then disturbs all of them alike.
    """
    with ExitStack() as stack:
        processes = [stack.enter_context(started(name, token_file)) for name in contenders]
        steps: list[list[dict[str, float]]] = [[] for _ in contenders]
        for _ in range(STEPS):
            for name, process, records in zip(contenders, processes, steps, strict=True):
                records.append(next_step(name, process))
                loss = records[-1]["loss"]
                progress.set_description_str(f"{name:<9} step {len(records):>2}  loss {loss:.4f}")
                progress.update()
    return [Run(records) for records in steps]


def started(contender: str, token_file: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("training.py")), contender, str(token_file)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def next_step(contender: str, process: subprocess.Popen[str]) -> dict[str, float]:
    """Lets a contender take one step and returns what it says of it.

    Raises:
        SystemExit: the process ended; what it said is on standard error.
    """
    try:
        process.stdin.write("step\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        sys.exit(f"training with {contender} ended with exit code {process.wait()}")
    return json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
