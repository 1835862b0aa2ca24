"""Shows what tuning is worth on this CPU, for a step of training with cross entropy.

Run it with the built package: `PYTHONPATH=build/python python bench/tune.py --out
bench/results/tune`. For each shape `lt.autotune` runs with a budget; then a head with the default
sizes and one that takes what was found are called in turns, in rounds that had no part in choosing.
At the last shape the table is a bad one: its first row is sizes that no table has, and tuning has
to get from there to where the real default is. Medians of the ratios of each round, and their
quartiles, are printed and written.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time
from dataclasses import replace

import logitile as lt
from logitile import _native
from logitile.tuned import lookup as tuned
from logitile.tuning import autotune as tuning
from logitile.tuning.samples import sample_arguments

LOSS = lt.losses.cross_entropy
SHAPES = (  # tokens, hidden, vocabulary, type
    (1024, 1024, 32000, "float32"),
    (1024, 1024, 32000, "bfloat16"),
    (256, 4096, 32000, "bfloat16"),
    (2048, 768, 50257, "float32"),
    (37, 999, 12347, "float32"),
)
QUICK = ((256, 256, 4000, "float32"), (37, 99, 1247, "bfloat16"))
BAD = "TM=64,TN=4,TD=64,TKproject=16,TKhidden=16,TKweight=16"


def sized(tiles: str) -> lt.Head:
    """A head that calls with these sizes; no tuning has a say in it."""
    head = lt.jit(LOSS)
    head.options = replace(head.options, tiles=tiles)
    return head


def compared(first: lt.Head, second: lt.Head, arrays: dict, rounds: int) -> dict[str, object]:
    """The times of one head as multiples of those of another, in turns."""
    times: list[tuple[float, float]] = []
    for number in range(rounds + 2):  # two to warm up
        taken = {}
        for head in (first, second) if number % 2 else (second, first):
            start = time.perf_counter()
            head.value_and_grad(**arrays)
            taken[head] = time.perf_counter() - start
        times.append((taken[first], taken[second]))
    ratios = sorted(one / other for one, other in times[2:])
    return {
        "seconds": [statistics.median(column) for column in zip(*times[2:], strict=True)],
        "ratio": statistics.median(ratios),
        "quartiles": [ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]],
    }


def tune(shape: tuple[int, int, int, str], budget: float, rounds: int, is_bad: bool) -> dict[str, object]:
    """Tunes one shape and compares."""
    tokens, hidden, vocab, dtype = shape
    arrays = sample_arguments(LOSS, tokens, hidden, vocab, dtype)
    head = lt.jit(LOSS)
    call = head._bind(**arrays)
    wanted = tuning.wanted_of_call(call, None)
    table = head._programs.program(call, wanted).tiles()
    found = tuning.tune(call, wanted, budget, [BAD, *table] if is_bad else None)
    print(found, flush=True)
    result = {"shape": shape, "bad_table": is_bad, "default": found.default.tiles, "best": found.best.tiles,
              "threads": found.best.threads, "predicted": [one.predicted for one in found.candidates],
              "measured": [one.measured for one in found.candidates]}  # fmt: skip
    result["against_default"] = compared(sized(found.default.tiles), head, arrays, rounds)
    if is_bad:
        result["against_real_default"] = compared(sized(table[0]), head, arrays, rounds)
    return result


def told(result: dict, name: str) -> str:
    """One line."""
    tokens, hidden, vocab, dtype = result["shape"]
    timed = result[name]
    low, high = timed["quartiles"]
    before, after = timed["seconds"]
    what = "bad default" if result["bad_table"] and name == "against_default" else "default"
    times = f"{what} {before * 1e3:.1f} ms, tuned {after * 1e3:.1f} ms"
    call = f"N={tokens} D={hidden} V={vocab} {dtype}"
    return f"{call}: {times}, {timed['ratio']:.3f} x as fast [{low:.3f} to {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each shape")
    parser.add_argument("--rounds", type=int, default=11, help="of each comparison")
    parser.add_argument("--quick", action="store_true", help="two small shapes, a few seconds")
    parser.add_argument("--out", help="where to write .json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:  # the user's own tuning is left alone
        os.environ["LOGITILE_CACHE_DIR"] = folder
        measure(given)


def measure(given: argparse.Namespace) -> None:
    """All shapes, printed and written."""
    shapes = QUICK if given.quick else SHAPES
    budget = 10.0 if given.quick else given.budget
    results = [tune(shape, budget, given.rounds, is_bad=False) for shape in shapes]
    results.append(tune((*shapes[0][:2], shapes[0][2] // 2, shapes[0][3]), budget, given.rounds, is_bad=True))
    device, tier = tuned.model_of(_native.host_target(), "cpu")
    print(f"\n{device}, {tier}, {_native.thread_count()} threads")
    for result in results:
        print(told(result, "against_default"))
    print("the same, against the real default:\n" + told(results[-1], "against_real_default"))
    if given.out:
        out = pathlib.Path(given.out).with_suffix(".json")
        facts = {"device": device, "tier": tier, "threads": _native.thread_count(), "budget": budget}
        out.write_text(json.dumps({**facts, "results": results}, indent=1) + "\n")
        print(f"wrote {out}")


if __name__ == "__main__":
    main()
