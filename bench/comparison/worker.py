"""The process of a contender: answers each request, a line of JSON, with a line of JSON.
See workers.py.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
import traceback
from typing import Any

import numpy

from . import cases
from .building import Missing
from .contenders import CONTENDERS, OTHERS, Contender, Results, Unsupported

# Source: mallopt(3) and glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


class Session:
    """What a process does for its contender.
    Methods are requests; their answers are dictionaries.
    """

    def __init__(self, contender: Contender, keeps_memory: bool) -> None:
        self._contender = contender
        self._keeps_memory = keeps_memory

    def prepare(self, case: dict[str, Any], arrays: dict[str, Any], results: str) -> dict[str, Any]:
        """Takes a case, runs it, and leaves the probes of its results in the file `results`."""
        malloc_keeps(False)
        self._inputs = {name: cases.mapped(description) for name, description in arrays.items()}
        self._contender.prepare(cases.Case(**case), self._inputs)
        with open(results, "wb") as file:
            numpy.savez(file, **probes(self._contender.call()))
        self._contender.checked()
        return {}

    def memory(self) -> dict[str, Any]:
        """Bytes by which a call raises the resident memory of this process,
        and those of its results.
        """
        self._contender.release()
        before = reset_peak()
        results = self._contender.call()
        return {"peak": status_bytes("VmHWM") - before, "results": sum(map(bytes_of, results.values()))}

    def turn(self, seconds: float) -> dict[str, Any]:
        """Seconds of each call, of as many as take so long; of one at least."""
        malloc_keeps(self._keeps_memory)
        times = [self._timed()]
        while sum(times) < seconds:
            times.append(self._timed())
        return {"seconds": times}

    def forget(self) -> dict[str, Any]:
        """Drops the case."""
        self._contender.forget()
        self._inputs = None
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return {}

    def _timed(self) -> float:
        self._contender.before()
        start = time.perf_counter()
        results = self._contender.call()
        seconds = time.perf_counter() - start
        del results  # not timed: who drops them is the caller
        return seconds


def probes(results: Results) -> dict[str, numpy.ndarray]:
    """Results in float32, small enough to be sent:
    of a gradient matrix [R, D] its product with noise [D].
    """
    found = {}
    for name, result in results.items():
        array = result if isinstance(result, (numpy.ndarray, numpy.generic)) else result.float().numpy()
        if array.ndim == 2:
            noise = numpy.random.default_rng(0).standard_normal(array.shape[1], numpy.float32)
            rows = numpy.array_split(array, max(1, array.size >> 24))
            array = numpy.concatenate([part.astype(numpy.float32) @ noise for part in rows])
        found[name] = array.astype(numpy.float32)
    return found


# ---- memory --------------------------------------------------------------------------------------


def malloc_keeps(keeps: bool) -> None:
    """Whether malloc keeps what is freed, or gives it back to the system as it does unasked."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1 if keeps else 128 * 1024)
    libc.mallopt(M_MMAP_MAX, 0 if keeps else 65536)


def reset_peak() -> int:
    """Sets the high-water mark of resident memory back to what is resident, and returns that.

    Source: proc(5): writing 5 to clear_refs resets VmHWM.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status_bytes("VmRSS")


def status_bytes(field: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def bytes_of(result: Any) -> int:
    return int(result.nbytes)


# ---- requests ------------------------------------------------------------------------------------


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return getattr(session, request.pop("do"))(**request)
    except Unsupported as error:
        return {"unsupported": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"}


def main(name: str, keeps_memory: bool) -> None:
    # Libraries print too: answers have a stream of their own.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=answers, flush=True)

    try:
        contender = {**CONTENDERS, **OTHERS}[name]()
    except Missing as error:
        return say({"missing": str(error)})
    say({"versions": contender.versions()})
    session = Session(contender, keeps_memory)
    for line in sys.stdin:
        say(answer(session, json.loads(line)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "keep")
