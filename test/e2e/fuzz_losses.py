"""Runs many random losses and tells which results are wrong. fuzz_verdict.py says what that means.

    test/e2e/fuzz_losses.py --seeds 0:20000 --jobs 2 --out results.jsonl   # can be resumed
    test/e2e/fuzz_losses.py --seeds 10000000:10002000 --backend emu:sm_80  # factored gradients
    test/e2e/fuzz_losses.py --show 1234     # one case, with its errors
    test/e2e/fuzz_losses.py --reduce 1234   # the smallest text that is wrong

Blocks of seeds run in processes of their own, so that a crash or a hang is one of the results.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import faulthandler
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import conftest  # noqa: F401 - makes the package importable

BLOCK = 100  # seeds of one process
SECONDS = 120  # of one seed, on the processor; more is a hang
WAIT = 3600  # seconds of one seed by the clock; more is a process that waits for ever
BAD = ("wrong", "failed", "crashed")


def result_of(seed):
    """What became of a seed, ready for JSON."""
    import fuzz_verdict

    start = time.process_time()
    case = fuzz_verdict.case(seed)
    try:
        made = fuzz_verdict.verdict(case)
    except Exception:  # whatever it is belongs to this seed
        made = fuzz_verdict.Verdict("failed", detail=traceback.format_exc(limit=-6))
    return {"seed": seed, "kind": made.kind, "errors": made.errors, "detail": made.detail,
            "seconds": round(time.process_time() - start, 3)}  # fmt: skip


def run_block(seeds, backend):
    """In a child: prints a line of JSON for each seed."""
    import backends
    import fuzz_verdict  # noqa: F401 - its imports may take longer than a seed

    backends.current = backend
    faulthandler.register(signal.SIGPROF, chain=True)  # which then ends the process
    for seed in seeds:
        limit(SECONDS, WAIT)
        print(json.dumps(result_of(seed)), flush=True)
    limit(0, WAIT)


def limit(seconds, wait):
    """Ends this process, with its stacks, after so many seconds of the processor from now,
    or of the clock.

    How long a seed takes by the clock depends on what else the machine does.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(wait, exit=True)


# ---- many of them --------------------------------------------------------------------------------


def results_of(seeds, backend, tell):
    """Tells the results of a block; a child that dies is a result of the seed that it died of."""
    env = dict(os.environ, LOGITILE_NUM_THREADS="1", LOGITILE_CACHE_DIR="off")
    while seeds:
        command = [sys.executable, __file__, "--backend", backend, "--block", *map(str, seeds)]
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            pipe = subprocess.PIPE
            with subprocess.Popen(command, stdout=pipe, stderr=errors, text=True, env=env) as child:
                for line in child.stdout:
                    if line.startswith("{"):
                        tell(json.loads(line))
                        seeds = seeds[1:]
            if seeds:
                errors.seek(0)
                tell({"seed": seeds[0], "kind": "crashed", "errors": {}, "seconds": SECONDS,
                      "detail": f"exit status {child.returncode}: {errors.read()[-2000:]}"})  # fmt: skip
                seeds = seeds[1:]


def known_results(path):
    """What an earlier run has written, by seed. Its last line may be cut off."""
    results = {}
    for line in path.read_text().splitlines() if path and path.exists() else []:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        results[result["seed"]] = result
    return results


def run_all(seeds, backend, jobs, path):
    """Results by seed; each is written to a file as soon as it is there."""
    results = {seed: result for seed, result in known_results(path).items() if seed in seeds}
    missing = [seed for seed in seeds if seed not in results]
    blocks = [missing[start : start + BLOCK] for start in range(0, len(missing), BLOCK)]
    file = path.open("a") if path else open(os.devnull, "w")
    file.write("\n")  # after a line that was cut off

    def tell(result):
        results[result["seed"]] = result
        file.write(json.dumps(result) + "\n")
        file.flush()
        if result["kind"] in BAD:
            print(line_of(result), flush=True)

    with file, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for task in [pool.submit(results_of, block, backend, tell) for block in blocks]:
            task.result()
    return results


def line_of(result):
    notable = {name: pair for name, pair in result["errors"].items() if not pair[0] <= 1e-4}
    errors = ", ".join(f"{name} {error:.2g} / {torch:.2g}" for name, (error, torch) in notable.items())
    detail = result["detail"].strip().splitlines()
    return f"{result['seed']}: {result['kind']} {errors}{detail[-1][:200] if detail else ''}"


def summary(results):
    """Two lines: what became of all seeds, and how long they took."""
    kinds = collections.Counter(result["kind"] for result in results.values())
    seconds = sorted(result["seconds"] for result in results.values()) or [0]
    bad = sorted(seed for seed, result in results.items() if result["kind"] in BAD)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return (
        f"{len(results)} seeds: {counts}; seconds of a seed: mean {sum(seconds) / len(seconds):.3f}, "
        f"median {seconds[len(seconds) // 2]:.3f}, most {seconds[-1]:.1f}\nbad: {bad}"
    )


# ---- one of them ---------------------------------------------------------------------------------


def show(seed):
    import fuzz_verdict

    case = fuzz_verdict.case(seed)
    print(f"seed {seed}: {case}\n{case.loss.source}")
    print(line_of(result_of(seed)))


def reduce(seed, backend):
    import fuzz_reduce
    import fuzz_verdict

    case = fuzz_reduce.reduced(fuzz_verdict.case(seed))
    made = fuzz_verdict.verdict(case)
    print(f"# seed {seed} on {backend}: {case}\n# {made.kind} {made.errors} {made.detail[-300:]}")
    print(case.loss.source, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0:1000", help="FIRST:END")
    parser.add_argument("--backend", default="cpu", help="of lt.jit: cpu, emu:sm_80, ...")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=pathlib.Path, help="results by line; those it has are not run again")
    parser.add_argument("--show", type=int, nargs="+", metavar="SEED", default=[])
    parser.add_argument("--reduce", type=int, nargs="+", metavar="SEED", default=[])
    parser.add_argument("--block", type=int, nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    import backends

    backends.current = given.backend
    for seed in given.show:
        show(seed)
    for seed in given.reduce:
        reduce(seed, given.backend)
    if given.show or given.reduce:
        return 0
    if given.block:
        run_block(given.block, given.backend)
        return 0
    first, end = map(int, given.seeds.split(":"))
    results = run_all(range(first, end), given.backend, given.jobs, given.out)
    print(summary(results))
    return int(any(result["kind"] in BAD for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
