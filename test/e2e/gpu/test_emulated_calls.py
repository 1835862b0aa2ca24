"""Ways to call a head, on the emulator of a GPU: slices, autograd, buffers of gradients,
strides and layouts.

The emulator fails calls whose kernels have faults, so numbers are all that is left to compare.
"""

from __future__ import annotations

import dataclasses

import logitile as lt
import numpy as np
import pytest
import torch
from backends import EMULATOR, SEEDS, is_on_gpu, jit
from schedules import records
from test_autocast import operands
from test_emulator import SMALL_TILES
from test_slices import CUTS, LOSSES
from test_slices import sample as sliced
from test_zoo import sample

pytestmark = [
    pytest.mark.skipif(is_on_gpu(EMULATOR), reason="the arrays are on the host"),
    pytest.mark.parametrize("backend", [EMULATOR], indirect=True),
]
LOSS = lt.losses.cross_entropy


@pytest.fixture(params=SEEDS)
def order(request, monkeypatch):
    """Of threads."""
    monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(request.param))


def on_both(call, **options):
    """What a call gives on the emulator, and on the CPU."""
    return call(jit(LOSS, **options)), call(lt.jit(LOSS, backend="cpu", **options))


def assert_close(found, wanted):
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=2e-5, atol=2e-6)


# ---- slices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["cross_entropy", "nested", *(pytest.param(n, marks=pytest.mark.full) for n in list(LOSSES)[1:-1:2])],
)
def test_slices(name):
    sliced(*LOSSES[name], "float32").check_all(CUTS[1:2])


@pytest.mark.parametrize("name", ["jensen_shannon", pytest.param("many_inputs", marks=pytest.mark.full)])
def test_slices_of_sixteen_bits(name):
    sliced(*LOSSES[name], "bfloat16").check_all(CUTS[1:2])


# ---- torch ---------------------------------------------------------------------------------------


# gradients early, and in a phase of their own
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_autograd(reduction, order):
    x, w, target = operands()
    cotangent = torch.randn(len(x), generator=torch.Generator().manual_seed(1))

    def call(head):
        hidden, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
        loss = head(hidden, weight, target=target)
        loss.backward(cotangent if reduction == "none" else None)
        return loss.detach(), hidden.grad, weight.grad

    assert_close(*on_both(call, reduction=reduction))


# The gradient of a row is written in runs of two numbers where each begins at a
# multiple of 8 bytes.
ROWS = {
    "all rows at multiples": (0, 0),
    "no row": (1, 1),
    "every second, from the first on": (0, 1),
    "every second, from the second on": (1, 0),
}


@pytest.mark.parametrize("before, after", list(ROWS.values()), ids=list(ROWS))
def test_buffers_of_gradients(before, after, order):
    """Rows of a larger array, with numbers before and after them that stay."""
    x, w, target = operands(hidden=38)

    def call(head):
        larger = torch.ones(len(w), before + w.shape[1] + after)
        buffer = larger[:, before : before + w.shape[1]]
        for _ in range(2):
            head.value_and_grad(x, w, target=target, weight_grad_out=buffer)
        return (larger,)

    assert_close(*on_both(call, chunks=3))


@pytest.mark.parametrize(("dtype", "vocab"), [(torch.bfloat16, 9300), (torch.float32, 3100)])
def test_parts_of_the_vocabulary(dtype, vocab, monkeypatch):
    """Few tokens, many entries: the gradient of hidden states is a sum of parts,
    and its bits never change.

    Tokens that count have one tile fewer than all.
    """
    x, w, target = operands(tokens=34, vocab=vocab, hidden=72)
    given = x.to(dtype), w.to(dtype)

    def gradient(head):
        return head.value_and_grad(*given, target=target)[1]["hidden"]

    found = []
    for seed, chunks in [*((seed, 1) for seed in SEEDS), (SEEDS[0], 2)]:
        monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(seed))
        head = jit(LOSS, chunks=chunks, tiles=SMALL_TILES)
        found.append(gradient(head))
        kernels = {kernel["name"] for record in records(head) for kernel in record["kernels"]}
        assert "join_z_hidden" in kernels
    assert all(torch.equal(one, found[0]) for one in found)
    rtol = 1e-2 if dtype == torch.bfloat16 else 2e-5
    wanted = gradient(lt.jit(LOSS, backend="cpu"))
    torch.testing.assert_close(found[0], wanted, rtol=rtol, atol=rtol / 100)


@pytest.mark.parametrize("depth", [16, 48])
def test_blocks_of_floats_of_any_depth(depth):
    """Lines of 48 floats are not a multiple of the chunks that trade places in shared memory."""
    x, w, target = operands(tokens=70, vocab=200, hidden=100)
    tiles = f"TM=64,TN=64,TD=64,TKproject={depth},TKhidden={depth},TKweight={depth}"

    def call(head):
        value, gradients = head.value_and_grad(x, w, target=target)
        return value.sum(), gradients["hidden"], gradients["weight"]

    assert_close(call(jit(LOSS, tiles=tiles)), call(lt.jit(LOSS, backend="cpu")))


@pytest.mark.parametrize("chunks", [1, 3])
def test_strides_and_layouts(chunks):
    """Hidden states whose neighbours lie apart, and a head that is turned."""
    x, w, target = operands()
    given = torch.stack([x, x], 2)[:, :, 1], w.T

    def call(head):
        loss, gradients = head.value_and_grad(*given, target=target)
        return loss, *gradients.values()

    assert_close(*on_both(call, weight_layout="dv", chunks=chunks))


# ---- NumPy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_layouts_against_the_gate(dtype):
    made = sample("plain", dtype, (70, 131, 37))
    dataclasses.replace(made, options=made.options | {"weight_layout": "dv"}).check()


@pytest.mark.parametrize("tokens", [513, 1100])
def test_more_tokens_than_a_warp_looks_at_together(tokens):
    """Rows of the head that many tokens name, in every turn of the search for them."""
    sample("plain", "bfloat16", (tokens, 140, 24)).check()


def test_leading_dimensions():
    x, w, target = (tensor.numpy() for tensor in operands())
    flat = jit(LOSS, reduction="none")(x, w, target=target)
    shaped = jit(LOSS, reduction="none")(x.reshape(7, 10, -1), w, target=target.reshape(7, 10))
    np.testing.assert_array_equal(shaped, flat.reshape(7, 10))
