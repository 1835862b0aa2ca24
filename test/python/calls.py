"""Calls of heads, compared with the reference interpreter in float64."""

from __future__ import annotations

import logitile as lt
import numpy as np
from logitile.frameworks.arrays import to_numpy
from logitile.frameworks.choice import described

# Norms of differences: accumulation in float32, and one rounding of gradients to 16 bits.
TOLERANCE = {"float32": 2e-6, "bfloat16": 2.0**-8, "float16": 2.0**-10}


def records(run):
    """What the history tells of the programs that a function runs."""
    before = max((record["number"] for record in lt.history()), default=-1)
    run()
    return [record for record in lt.history() if record["number"] > before]


def numbers(array):
    """Any array as float64."""
    return np.asarray(to_numpy(described(array, "result"), "result"), np.float64)


def check_close(got, wanted, dtype="float32", what=""):
    """Asserts that two arrays agree within their type, at best float32. NaN equals NaN."""
    got, wanted = numbers(got), numbers(wanted)
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    assert np.array_equal(np.isfinite(got), np.isfinite(wanted)), what
    finite = np.isfinite(wanted)
    difference = np.linalg.norm(np.where(finite, got - wanted, 0))
    norm = np.linalg.norm(np.where(finite, wanted, 0))
    assert difference <= TOLERANCE.get(dtype, TOLERANCE["float32"]) * norm + 1e-7, (
        what,
        difference / max(norm, 1e-30),
    )


def check_outputs(head, got, *args, **inputs):
    """Asserts that outputs are those of the reference: names, types, shapes and numbers."""
    wanted = head.reference(*args, **inputs)
    if not isinstance(wanted, tuple):
        return check_close(got, wanted, what="loss")
    assert got._fields == wanted._fields
    for name, value, expected in zip(wanted._fields, got, wanted, strict=True):
        kind = np.asarray(expected).dtype.kind
        assert described(value, name).dtype == {"f": "float32", "i": "int64", "b": "bool"}[kind], name
        if kind == "f":
            check_close(value, expected, what=name)
        else:
            assert np.array_equal(numbers(value), expected), name


def check_call(head, *args, wrt=None, grad_output=None, grad_dtype=None, **inputs):
    """Asserts that a call and value_and_grad give what the reference gives.

    Returns: what value_and_grad returns.
    """
    check_outputs(head, head(*args, **inputs), *args, **inputs)
    out, gradients = head.value_and_grad(
        *args, wrt=wrt, grad_output=grad_output, grad_dtype=grad_dtype, **inputs
    )
    check_outputs(head, out, *args, **inputs)
    _, wanted = head.reference_grad(*args, wrt=wrt, grad_output=grad_output, **inputs)
    assert list(gradients) == list(wanted)
    for name, gradient in gradients.items():
        check_close(gradient, wanted[name], coarser(gradient, first_hidden(args, inputs)), name)
    return out, gradients


def first_hidden(args, inputs):
    """The first hidden array of a call."""
    return args[0] if args else next(item for item in inputs.values() if isinstance(item, tuple))[0]


def coarser(*arrays):
    """The coarsest type of arrays: products with 16-bit operands have 16-bit factors,
    whatever the sum is.
    """
    return max((described(array, "array").dtype for array in arrays), key=lambda name: TOLERANCE.get(name, 0))
