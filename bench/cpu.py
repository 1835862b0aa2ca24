"""Compares logitile on this CPU with everything that a user of one would pick, case by case.

Run it with the built package: `PYTHONPATH=build/python python bench/cpu.py`. Every contender lives
in a process of its own; inputs lie in memory that all of them map, and results are dropped after
each call. First each one's results are compared with torch's in float32 and its memory is measured,
then all take turns, round by round, so that a machine whose speed drifts spoils none of them alone.

    bench/cpu.py --quick                                        four small cases, within two minutes
    bench/cpu.py --shapes 1024,1024,32000 --dtypes bfloat16     one shape
    bench/cpu.py --contenders logitile:1,logitile               one thread against all threads
    bench/cpu.py --contenders logitile peaked                   also inputs with peaked softmax
    bench/cpu.py --contenders logitile given                    gradients into memory that stays
    LOGITILE_CPU_TIER=avx2 bench/cpu.py --contenders logitile   share of another tier's peak

The baselines on plain GEMMs need the Debian packages libdnnl-dev and libopenblas-dev; they and
torch.compile need g++. Who is left out, and what is missing, is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison import machine
from comparison.building import Missing
from comparison.cases import LOSSES, MODES, SHAPES, TYPES, Inputs, cases, quick_cases
from comparison.contenders import CONTENDERS
from comparison.measuring import REFERENCE, measure
from comparison.report import LEGEND, draw, table
from comparison.workers import MALLOCS, Worker
from logitile import _native


def main() -> int:
    options = parsed()
    tier = _native.host_target().removeprefix("cpu:")
    described = machine.described(tier)
    settings = {"rounds": options.rounds, "threads": options.threads, "malloc": options.malloc}
    print(f"{described['cpu']}, {options.threads} threads, tier {tier}, malloc: {options.malloc}")
    with contextlib.ExitStack() as stack:
        workers, skipped = started(options, stack)
        for name, reason in skipped.items():
            print(f"skipped {name}: {reason}")
        print(LEGEND, flush=True)
        versions = {key: text for worker in workers.values() for key, text in worker.versions.items()}
        report = {"machine": described, "versions": versions, "settings": settings, "skipped": skipped}
        report["cases"] = []
        for record in measured(options, workers, tier):
            print("\n" + table(record), flush=True)
            report["cases"].append(record)
            if options.json:  # after every case: what is measured is not lost
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.png:
        options.png.parent.mkdir(parents=True, exist_ok=True)
        title = f"{described['cpu']}, {options.threads} threads, {described['date'][:10]}"
        draw(report["cases"], title, options.png)
    return 1 if any(failures(report["cases"])) else 0


def started(
    options: argparse.Namespace, stack: contextlib.ExitStack
) -> tuple[dict[str, Worker], dict[str, str]]:
    """Processes of the contenders and of the reference, and why others are left out."""
    workers, skipped = {}, {}
    for name in [*options.contenders, REFERENCE]:
        contender, _, threads = name.partition(":")
        try:
            worker = Worker(contender, int(threads or options.threads), options.malloc)
        except Missing as error:
            skipped[name] = str(error)
            continue
        workers[name] = worker
        stack.callback(worker.close)
    return workers, skipped


def measured(
    options: argparse.Namespace, workers: Mapping[str, Worker], tier: str
) -> Iterator[dict[str, Any]]:
    """Measures all cases, one after the other. Those of one shape and type share inputs."""
    chosen = options.cases
    done = 0
    for key, group in itertools.groupby(
        chosen, lambda case: (case.tokens, case.hidden, case.vocab, case.dtype)
    ):
        inputs = Inputs(*key)
        for case in group:
            done += 1
            place = f"[{done}/{len(chosen)}] {case}"
            yield measure(case, inputs, workers, tier, options.rounds, functools.partial(progress, place))
        inputs.close()


def progress(place: str, step: str) -> None:
    """What runs now, on standard error: one line, written over where somebody watches."""
    watched = sys.stderr.isatty()
    print(
        f"\r\033[K{place}: {step}" if watched else f"{place}: {step}",
        end="" if watched else "\n",
        file=sys.stderr,
    )
    sys.stderr.flush()


def failures(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Contenders that broke, or whose results were wrong."""
    for record in records:
        yield from (name for name, one in record["contenders"].items() if "failed" in one)


# ---- options -------------------------------------------------------------------------------------


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add, cores = parser.add_argument, len(os.sched_getaffinity(0))
    names = f"of {', '.join(CONTENDERS)}; ratios are to logitile"
    add("--quick", action="store_true", help="four small cases of its own, three rounds: two minutes")
    add("--shapes", type=shape, nargs="+", metavar="N,D,V", help="tokens, hidden size, vocabulary")
    add("--dtypes", choices=TYPES, nargs="+")
    add("--losses", choices=LOSSES, nargs="+")
    add("--modes", choices=MODES, nargs="+", help="with gradients, or without")
    add(
        "--contenders",
        type=contender,
        nargs="+",
        default=list(CONTENDERS),
        metavar="NAME[:THREADS]",
        help=names,
    )
    add("--rounds", type=int, help="turns of each contender in each case (7)")
    add("--threads", type=int, default=cores, help="of each contender (cores)")
    add(
        "--malloc",
        choices=MALLOCS,
        default="stock",
        help="of all: keeps what is freed, or asks for huge pages",
    )
    add("--json", type=Path, help="writes all figures, after every case")
    add("--png", type=Path, help="draws the ratios")
    options = parser.parse_args(arguments)
    own = (options.shapes, options.dtypes, options.losses, options.modes)
    if options.quick and any(own):
        parser.error("--quick has cases of its own; leave out --shapes, --dtypes, --losses and --modes")
    every = (SHAPES, list(TYPES), list(LOSSES), list(MODES))
    options.cases = (
        quick_cases() if options.quick else cases(*(a or b for a, b in zip(own, every, strict=True)))
    )
    options.rounds = options.rounds or (3 if options.quick else 7)
    return options


def shape(text: str) -> tuple[int, int, int]:
    tokens, hidden, vocab = map(int, text.split(","))
    return tokens, hidden, vocab


def contender(text: str) -> str:
    name, colon, threads = text.partition(":")
    if name not in CONTENDERS or (colon and not threads.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME or NAME:THREADS of {', '.join(CONTENDERS)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
