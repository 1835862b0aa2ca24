"""Measures whether logitile and torch's own products of matrices disturb each other
within one process.

Run it with the built package: `PYTHONPATH=build/python python bench/neighbours.py`. Four processes
take turns: logitile alone, torch's product of hidden states and weights alone, and each of them
timed right after the other. Both have threads of their own; what is printed is how much longer a
call takes in that company.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import sys

from comparison.cases import TYPES, Case, Inputs
from comparison.measuring import forget, prepared, spread
from comparison.workers import Worker, rounds

PAIRS = {"logitile-after-product": "logitile", "product-after-logitile": "product"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="1024,1024,32000", metavar="N,D,V", help="1024,1024,32000")
    parser.add_argument("--dtypes", choices=TYPES, nargs="+", default=list(TYPES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="(cores)")
    options = parser.parse_args()
    tokens, hidden, vocab = map(int, options.shape.split(","))
    with contextlib.ExitStack() as stack:
        workers = {name: Worker(name, options.threads) for name in (*PAIRS.values(), *PAIRS)}
        for worker in workers.values():
            stack.callback(worker.close)
        print(f"{'timed':<26}{'alone, ms':>10}{'ratio':>8}  [quartiles]")
        for dtype in options.dtypes:
            case = Case(tokens, hidden, vocab, dtype, "cross_entropy", "gradients")
            for name, times in ratios(case, workers, options.rounds).items():
                company = spread([late / alone for late, alone in times])
                alone = 1e3 * spread([alone for _, alone in times])["median"]
                quartiles = f"[{company['low']:.3f}-{company['high']:.3f}]"
                print(f"{name:<24}{alone:>12.2f}{company['median']:>8.3f}  {quartiles} {dtype}", flush=True)


def ratios(case: Case, workers: dict[str, Worker], count: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of a call after the other and alone, round by round."""
    inputs = Inputs(case.tokens, case.hidden, case.vocab, case.dtype)
    for worker in workers.values():
        prepared(worker, case, inputs)
    print(f"{dataclasses.astuple(case)}: {count} rounds", file=sys.stderr)
    times = rounds(workers, count, lambda _: None)
    forget(workers.values())
    inputs.close()
    return {name: list(zip(times[name], times[alone], strict=True)) for name, alone in PAIRS.items()}


if __name__ == "__main__":
    main()
