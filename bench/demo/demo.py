"""Trains a small language model on Python's own sources with torch's loss and logitile's, and compares."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy
from report import Run, draw, failures, table
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
        torch, logitile = (train(name, token_file, progress) for name in ("torch", "logitile"))
    print(
        f"\n{size} tokens x {VOCABULARY} entries, hidden size {HIDDEN}, fp32: logits take "
        f"{size * VOCABULARY * 4 / 2**20:.0f} MiB; logitile's workspace is {WORKSPACE / 2**20:.0f} MiB\n"
    )
    print(table(torch, logitile))
    draw(torch, logitile, picture)
    print(f"picture: {picture.relative_to(Path.cwd()) if picture.is_relative_to(Path.cwd()) else picture}")
    for failure in failures(torch, logitile):
        print(f"FAILED: {failure}")
    return 1 if failures(torch, logitile) else 0


def train(contender: str, token_file: Path, progress: tqdm) -> Run:
    """Runs one contender in a process of its own.

    Raises:
        SystemExit: the process failed; what it said is on standard error.
    """
    command = [sys.executable, str(Path(__file__).with_name("training.py")), contender, str(token_file)]
    steps = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            steps.append(json.loads(line))
            progress.set_description_str(f"{contender:<9} step {len(steps):>2}  loss {steps[-1]['loss']:.4f}")
            progress.update()
    if process.returncode != 0:
        sys.exit(f"training with {contender} ended with exit code {process.returncode}")
    return Run(steps)


if __name__ == "__main__":
    sys.exit(main())
