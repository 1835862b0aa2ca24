"""Measures what richer losses cost beside plain cross entropy,
in interleaved rounds of one process.

Run it with the built package: `PYTHONPATH=build/python python bench/losses.py --shape
1024,1024,32000`. Each figure is the median over rounds of a loss's time as a multiple of plain
cross entropy's in the same round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import logitile as lt
import numpy
from comparison.cases import LOGITS_DEVIATION, MODES, TYPES
from comparison.losses import SMOOTHING, SOFTCAP, Z_LOSS
from comparison.measuring import spread

Call = Callable[[], object]


def calls(shape: tuple[int, int, int], dtype: str, mode: str) -> dict[str, Call]:
    """One call for each loss, on the same arrays; plain cross entropy first."""
    tokens, hidden, vocab = shape
    random = numpy.random.default_rng(0)
    x = random.standard_normal((tokens, hidden), numpy.float32).astype(TYPES[dtype])
    w = (random.standard_normal((vocab, hidden), numpy.float32) * (LOGITS_DEVIATION / hidden**0.5)).astype(
        TYPES[dtype]
    )
    given = {"target": random.integers(0, vocab, tokens)}
    bias = {"bias": random.standard_normal(vocab, numpy.float32)}
    cotangent = {"grad_output": {name: numpy.ones(tokens, numpy.float32) for name in ("logprob", "entropy")}}

    def call(loss: lt.Loss, more: dict[str, object], **options: float) -> Call:
        head = lt.jit(loss, **options)
        function = head.value_and_grad if mode == "gradients" else head
        return lambda: function(x, w, **given, **more)

    plain, policy = lt.losses.cross_entropy, lt.losses.logprob_entropy
    return {
        "plain": call(plain, {}),
        "softcap": call(plain, {}, softcap=SOFTCAP),
        "smoothing + z-loss + softcap + bias": call(
            plain, bias, label_smoothing=SMOOTHING, z_loss=Z_LOSS, softcap=SOFTCAP
        ),
        "log-prob + entropy": call(policy, cotangent if mode == "gradients" else {}),
    }


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measured(shape: tuple[int, int, int], dtype: str, mode: str, rounds: int) -> list[dict[str, Any]]:
    """A row for each loss: median milliseconds, and quartiles of ratios to plain cross entropy."""
    contenders = calls(shape, dtype, mode)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()  # compiles
    names = list(contenders)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(seconds(contenders[name]))
    return [
        {"shape": shape, "dtype": dtype, "mode": mode, "loss": name}
        | {"milliseconds": 1e3 * statistics.median(times[name])}
        | {"ratio": spread([mine / plain for mine, plain in zip(times[name], times["plain"], strict=True)])}
        for name in names
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--shape", default="1024,1024,32000", metavar="N,D,V", help="tokens, hidden, vocabulary"
    )
    parser.add_argument("--dtypes", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--rounds", type=int, default=9, help="turns of each loss (9)")
    parser.add_argument("--json", type=Path, help="writes all figures")
    chosen = parser.parse_args()
    tokens, hidden, vocab = (int(size) for size in chosen.shape.split(","))
    print(f"{'dtype':9} {'mode':10} {'loss':36} {'ms':>8} {'x plain':>8}  [quartiles]")
    rows = []
    for dtype in chosen.dtypes:
        for mode in chosen.modes:
            for row in measured((tokens, hidden, vocab), dtype, mode, chosen.rounds):
                rows.append(row)
                ratio = row["ratio"]
                quartiles = f"[{ratio['low']:.3f}-{ratio['high']:.3f}]"
                figures = f"{row['milliseconds']:8.1f} {ratio['median']:8.3f}  {quartiles}"
                print(f"{dtype:9} {mode:10} {row['loss']:36} {figures}")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
