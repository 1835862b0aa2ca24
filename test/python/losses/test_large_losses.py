"""Losses with very many operations: their results, and how fast compile time grows."""

import re
import sys
import time

import conftest
import logitile as lt
import numpy
import pytest

sys.path.append(str(conftest.ROOT / "bench"))

import large_losses  # noqa: E402

# Sizes at which code is cut into functions, and elementary functions are called.
CUT = {
    "chain": 260, "chain_of_tokens": 320, "mixed": 800, "nested": 8, "picks": 100, "entries": 60,
    "softmaxes": 24, "addends": 260, "outputs": 120,
}  # fmt: skip
SMALL = {
    "chain": 40, "chain_of_tokens": 40, "mixed": 40, "picks": 12, "entries": 12, "softmaxes": 6,
    "addends": 20, "choices": 20, "outputs": 10,
}  # fmt: skip
# Of a function: a part whose last op is the longest loop that is not cut,
# with its loads and stores.
MOST_LINES = 6000


def shapes(loss, n):
    """The arguments of a call without their numbers."""
    pairs, others = large_losses.inputs(loss, n)
    named = {name: lt.ShapeDtype(array.shape, array.dtype) for name, array in others.items()}
    return [lt.ShapeDtype(array.shape, array.dtype) for array in pairs], named


def stage(name, n, stage):
    loss = large_losses.find(name)
    pairs, others = shapes(loss, n)
    return lt.jit(loss, n=n).ir(stage, *pairs, grad=None, **others)


@pytest.mark.parametrize("name", CUT)
def test_results_of_cut_code_are_right(name):
    loss = large_losses.find(name)
    head = lt.jit(loss, n=CUT[name])
    pairs, others = large_losses.inputs(loss, CUT[name])
    found, gradients = head.value_and_grad(*pairs, **others)
    exact, wanted = head.reference_grad(*pairs, **others)
    if name == "outputs":
        found, exact = found.loss, exact.loss
    numpy.testing.assert_allclose(found, exact, rtol=1e-5)
    for operand in ("hidden", "weight"):
        scale = numpy.abs(wanted[operand]).max()
        assert numpy.abs(gradients[operand] - wanted[operand]).max() <= 1e-4 * scale


@pytest.mark.parametrize("name", ["chain", "mixed"])
def test_columns_that_share_long_code_on_gpus_are_right(name):
    """No tile of columns divides this vocabulary: the last one has columns that do not exist."""
    rng = numpy.random.default_rng(0)
    loss, n, vocab = large_losses.find(name), 400, 100
    hidden, weight = (rng.normal(size=(size, 16)).astype(numpy.float32) for size in (5, vocab))
    inputs = {"a": rng.random(5, numpy.float32), "v": rng.random(vocab, numpy.float32)}
    others = {given.name: inputs[given.name] for given in loss.signature.others}
    head = lt.jit(loss, n=n, reduction="none", backend="emu:sm_80")
    up = rng.normal(size=5).astype(numpy.float32)
    found, gradients = head.value_and_grad(hidden, weight, grad_output=up, **others)
    exact, wanted = head.reference_grad(hidden, weight, grad_output=up, **others)
    numpy.testing.assert_allclose(found, exact, rtol=1e-6)
    for operand in ("hidden", "weight"):
        scale = numpy.abs(wanted[operand]).max()
        assert numpy.abs(gradients[operand] - wanted[operand]).max() <= 1e-5 * scale


def test_columns_share_long_code_on_gpus():
    """A tanh has one division; the code of a column is there once in a sweep,
    and once in a gradient.
    """
    head = lt.jit(large_losses.find("chain"), n=400, backend="cuda:sm_80")
    pairs, _ = shapes(large_losses.find("chain"), 400)
    assert 800 <= head.ir("device", *pairs, grad=None).count("arith.divf") < 820


@pytest.mark.parametrize("name", CUT)
def test_no_function_is_long(name):
    text = stage(name, CUT[name], "device")
    functions = re.split(r"\n  (?=func\.func)", text)[1:]
    assert max(function.count("\n") for function in functions) < MOST_LINES
    assert re.search(r"func private @(\S*\$part\d+|math\.\w+\$)", text.replace('"', ""))


@pytest.mark.parametrize("at", ["plan", "tiles", "device"])
@pytest.mark.parametrize("name", SMALL)
def test_code_grows_with_the_loss(name, at):
    small, medium, large = (stage(name, factor * SMALL[name], at).count("\n") for factor in (1, 2, 4))
    assert large - medium < 2.6 * (medium - small)  # 4, if it grew with the square


def compile_seconds(name, n):
    """Of this process' threads, so that others on the machine count less."""
    loss = large_losses.find(name)
    pairs, others = shapes(loss, n)
    begin = time.process_time()
    lt.jit(loss, n=n).compile(*pairs, grad=None, **others)
    return time.process_time() - begin


@pytest.mark.parametrize("name", SMALL)
def test_time_grows_with_the_loss(name):
    small = compile_seconds(name, SMALL[name])
    assert compile_seconds(name, 4 * SMALL[name]) < 10 * 4 * small


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name, n", [("chain", 1900), ("nested", 60), ("picks", 1500), ("softmaxes", 120)])
def test_very_large_losses_compile(name, n):
    assert compile_seconds(name, n) < 120
