"""Draws calls and runs them in this process: the program of a fuzzing test.

Run as: call_fuzz.py (legal|wrong) EXAMPLES SEED LOG. Each case is written to LOG before it runs.
"""

from __future__ import annotations

import faulthandler
import pathlib
import sys
import warnings

import conftest  # noqa: F401 - makes the package importable
import logitile as lt
import numpy as np
from call_cases import Given, Object, everything, legal_cases, made, wrong_cases
from calls import numbers
from hypothesis import HealthCheck, given, seed, settings

SECONDS = 60  # of one case; more is a hang


class Refused(Exception):
    """A case cannot be made of its description: nothing of logitile is to blame."""


def run(case):
    """What the call returns, and what the reference returns for the same arguments."""
    head = lt.jit(everything, **{name: made(value, name, 0) for name, value in case.options.items()})
    try:
        arguments = {name: made(item, name, case.vocab) for name, item in case.arguments.items()}
        arguments |= {name: made(item, name, case.vocab) for name, item in case.keywords.items()}
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # of NumPy or torch
        raise Refused from error
    if case.method == "call":
        return head(**arguments), lambda: head.reference(**arguments)
    if case.method == "value_and_grad":
        like = {
            name: item for name, item in arguments.items() if name not in ("grad_dtype", "weight_grad_out")
        }
        return head.value_and_grad(**arguments), lambda: head.reference_grad(**like)
    if case.method == "ir":
        return head.ir("plan", **arguments), None
    return getattr(head, case.method)(**arguments), None


def precision(case):
    """The coarsest type of a case; None where its numbers are so large that float32 is far from
    float64, or a scalar is NaN, which leaks from a branch not taken (test_corners has that as a
    known failure).
    """
    parts = [p for item in case.arguments.values() for p in (item if isinstance(item, tuple) else (item,))]
    given = [part for part in parts if isinstance(part, Given)]
    if any(isinstance(part, Object) and part.text == "float('nan')" for part in parts):
        return None
    if not all(part.holds in ("usual", "-1", "-100") for part in given):
        return None
    return "bfloat16" if any(part.dtype == "bfloat16" for part in given) else "float16"


def check_near(got, wanted, dtype, what):
    """Few tokens may cancel, so a tolerance is of what an array of tenths would have.

    What float16 cannot hold is infinite in an array of it.
    """
    if str(got.dtype).removeprefix("torch.") == "float16":
        with np.errstate(over="ignore"):
            is_beyond = np.isinf(wanted.astype(np.float16))
        wanted = np.where(is_beyond, np.copysign(np.inf, wanted), wanted)
    got = numbers(got)
    assert np.array_equal(np.isfinite(got), np.isfinite(wanted)), what
    difference = np.linalg.norm(np.where(np.isfinite(wanted), got - wanted, 0))
    size = np.linalg.norm(np.where(np.isfinite(wanted), wanted, 0)) + 0.1 * np.sqrt(wanted.size)
    assert difference <= {"bfloat16": 2.0**-6, "float16": 2.0**-9}[dtype] * size, (what, difference / size)


def check_same(got, wanted, what, dtype):
    """Names and shapes, and numbers where they can be compared."""
    if isinstance(wanted, dict):
        assert list(got) == list(wanted), what
        for name in wanted:
            check_same(got[name], wanted[name], f"gradient of {name}", dtype)
    elif isinstance(wanted, tuple):
        for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
            check_same(one, other, f"{what}[{i}]", dtype)
    else:
        wanted = np.asarray(wanted)
        assert numbers(got).shape == wanted.shape, what
        if dtype and wanted.dtype.kind == "f":
            check_near(got, wanted, dtype, what)


def check(case, log):
    log.write_text(repr(case))
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        got, reference = run(case)
        if reference is not None:
            check_same(got, reference(), "outputs", precision(case))
    except Refused:
        assert not case.is_legal
    except lt.CompileError:
        raise  # ours
    except lt.LogitileError as error:
        if case.is_legal:
            raise
        text = str(error)
        assert text and (text[-1] != "." or text.endswith(" ...")), text
    finally:
        faulthandler.cancel_dump_traceback_later()


def main():
    kind, examples, number, log = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
    warnings.simplefilter("ignore")

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(legal_cases() if kind == "legal" else wrong_cases())
    def fuzz(case):
        check(case, log)

    fuzz()


if __name__ == "__main__":
    main()
