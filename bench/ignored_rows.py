"""Measures training steps whose tokens are partly ignored:
what a batch of prompts and answers costs.

Run it with the built package: `PYTHONPATH=build/python python bench/ignored_rows.py`. Steps with
different shares of ignored tokens alternate, so that a machine whose speed drifts spoils none of
them alone; medians of their times against that of a step without ignored tokens are printed, and
written with --out FILE as JSON. `--where first` ignores the first tokens, `scattered` any.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import time

import logitile as lt
import ml_dtypes
import numpy as np

SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
TYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16}


def ignored(share: float, tokens: int, where: str) -> np.ndarray:
    """Which tokens are ignored, [N] bool."""
    count = round(share * tokens)
    places = np.arange(tokens) if where == "first" else np.random.default_rng(1).permutation(tokens)
    mask = np.zeros(tokens, bool)
    mask[places[:count]] = True
    return mask


def measure(options: argparse.Namespace) -> list[dict[str, float]]:
    """A row for each share: its median milliseconds,
    and medians of ratios to a step that ignores nothing.
    """
    rng = np.random.default_rng(0)
    kind = TYPES[options.dtype]
    hidden = rng.standard_normal((options.tokens, options.hidden), np.float32).astype(kind)
    weight = (rng.standard_normal((options.vocab, options.hidden), np.float32) / 8).astype(kind)
    target = rng.integers(0, options.vocab, options.tokens)
    targets = [np.where(ignored(share, len(target), options.where), -100, target) for share in SHARES]
    head = lt.jit(lt.losses.cross_entropy)
    times: list[list[float]] = [[] for _ in SHARES]
    for turn in range(options.rounds + 1):
        for share_times, labels in zip(times, targets, strict=True):
            start = time.perf_counter()
            head.value_and_grad(hidden, weight, target=labels)
            if turn:  # the first round compiles and touches memory
                share_times.append(1e3 * (time.perf_counter() - start))
    return [
        {
            "ignored": share,
            "milliseconds": statistics.median(found),
            "ratio": statistics.median(one / whole for one, whole in zip(found, times[0], strict=True)),
        }
        for share, found in zip(SHARES, times, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--vocab", type=int, default=16000)
    parser.add_argument("--dtype", choices=TYPES, default="bfloat16")
    parser.add_argument("--where", choices=("first", "scattered"), default="scattered")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, help="a JSON file")
    options = parser.parse_args()
    rows = measure(options)
    print(f"{options.tokens} tokens, hidden {options.hidden}, vocabulary {options.vocab}, {options.dtype}, "
          f"ignored: {options.where}")  # fmt: skip
    print(f"{'ignored':>8} {'ms':>9} {'of none':>8} {'counted':>8}")
    for row in rows:
        print(
            f"{row['ignored']:8.0%} {row['milliseconds']:9.1f} {row['ratio']:8.2f} {1 - row['ignored']:8.2f}"
        )
    if options.out:
        shape = {key: item for key, item in vars(options).items() if key != "out"}
        options.out.write_text(json.dumps({**shape, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
