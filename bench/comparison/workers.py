"""Processes of contenders, and rounds in which they take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from .building import BENCH, Missing

MALLOCS = ("stock", "keep", "huge")  # see Worker
SETTLE_SECONDS = 0.03  # threads of the contender before spin for a while after their last work
TURN_SECONDS = 0.1  # short calls are repeated for so long


class Failed(Exception):
    """A contender broke; the text is what it said."""


class Unsupported(Exception):
    """A contender does not do a case; the text says why."""


class Worker:
    """A contender in a process of its own, which lives until `close`.

    Args:
        name: of the contender.
        threads: that it computes with.
        malloc: "stock"; "keep", where malloc keeps what is freed, once memory is measured; "huge",
            where it asks for huge pages.

    Raises:
        Missing: something that the contender needs is not installed.
        Failed: it did not start.
    """

    def __init__(self, name: str, threads: int, malloc: str = "stock") -> None:
        self.name, self.threads = name, threads
        command = [sys.executable, "-m", "comparison.worker", name, malloc]
        self._process = subprocess.Popen(
            command, env=environment(name, threads, malloc), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        greeting = self._answer()
        if "missing" in greeting:
            self.close()
            raise Missing(greeting["missing"])
        self.versions: dict[str, str] = greeting["versions"]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """What the process answers to a request, a method of worker.Session.

        Raises:
            Unsupported, Failed: it cannot, or it broke.
        """
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # there is no answer then
        found = self._answer()
        if "unsupported" in found:
            raise Unsupported(found["unsupported"])
        if "error" in found:
            raise Failed(found["error"])
        return found

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"the process of {self.name} ended with exit code {self._process.wait()}")
        return json.loads(line)


def environment(name: str, threads: int, malloc: str) -> dict[str, str]:
    """The environment of a contender: the same threads for all,
    and no left-over settings of libraries.
    """
    unset = ("OPENBLAS_CORETYPE", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES")
    env = {key: item for key, item in os.environ.items() if key not in unset}
    counts = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOGITILE_NUM_THREADS")
    env |= dict.fromkeys(counts, str(threads))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BENCH), env.get("PYTHONPATH")]))
    env["NUMPY_MADVISE_HUGEPAGE"] = "0"  # else gradients of the baselines alone were in huge pages
    if name == "openblas":
        env["OMP_WAIT_POLICY"] = "passive"  # its GEMMs have threads of their own
    if malloc == "huge":
        env["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    return env


def rounds(
    workers: Mapping[str, Worker], count: int, each_round: Callable[[int], None]
) -> dict[str, list[float]]:
    """Lets workers that are prepared for a case take turns. Who begins changes from round to round.

    Args:
        each_round: called with the number of each round, before its turns.

    Returns: for each worker the median seconds of a call, round by round.
    """
    names = list(workers)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(count):
        each_round(number)
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            time.sleep(SETTLE_SECONDS)
            times = sorted(workers[name].ask("turn", seconds=TURN_SECONDS)["seconds"])
            found[name].append(times[len(times) // 2])
    return found
