"""Subnormal numbers on CPUs: 0 in gradients of logits,
elsewhere what the caller's thread makes of them.
"""

import logitile as lt
import numpy as np
import pytest
import torch
from test_tiers import TIERS, tier  # noqa: F401 - a fixture

N, D, V = 700, 8, 40  # tokens for both threads


@lt.loss
def halves(z: lt.Logits, target: lt.Token[int]):
    return lt.Outputs(loss=0.5 * lt.sum(z), picked=z[target])


@pytest.fixture
def flushing():
    """Sets what this thread does with subnormal numbers: True, they count as 0."""
    yield torch.set_flush_denormal
    torch.set_flush_denormal(False)


def inputs(scale, dtype=np.float32):
    hidden, weight = np.ones((N, D), dtype), np.ones((V, D), dtype)
    return hidden * dtype(scale), weight, np.arange(N) % V


@pytest.mark.contract("3 subnormal")
@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("flushes", [False, True])
def test_a_gradient_of_logits_below_the_normal_range_is_0(tier, flushes, flushing):  # noqa: F811
    hidden, weight, target = (torch.from_numpy(array) for array in inputs(1e9))
    for cotangent, expected in ((3e-38, N * 1.5e-38 * 1e9), (2e-38, 0.0)):  # dZ is half of it
        hidden, weight = hidden.detach().requires_grad_(), weight.detach().requires_grad_()
        flushing(flushes)
        outputs = lt.jit(halves, reduction="sum")(hidden, weight, target=target)
        outputs.loss.backward(torch.tensor(cotangent))
        flushing(False)
        np.testing.assert_allclose(weight.grad, np.full((V, D), expected), rtol=1e-5)
        assert hidden.grad.max() == (pytest.approx(V * 1.5e-38, rel=1e-5) if expected else 0)


@pytest.mark.contract("3 subnormal")
@pytest.mark.parametrize("tier", TIERS, indirect=True)
def test_other_numbers_are_what_the_thread_of_the_caller_makes_of_them(tier, flushing):  # noqa: F811
    hidden, weight, target = inputs(2e-20)
    weight *= np.float32(1e-20)
    head = lt.jit(halves, reduction="none")
    for flushes in (False, True, False):
        flushing(flushes)
        picked = head(hidden, weight, target=target).picked
        still_flushes = torch.tensor(1e-39) * torch.tensor(0.5) == 0  # after the call
        flushing(False)
        assert bool(still_flushes) == flushes
        if flushes:
            assert not picked.any()
        else:
            np.testing.assert_allclose(picked, np.full(N, D * 2e-40), rtol=1e-4)


@pytest.mark.parametrize("tier", TIERS, indirect=True)
def test_float16_below_its_normal_range_are_numbers_of_float32(tier, flushing):  # noqa: F811
    hidden, weight, target = inputs(3e-7, np.float16)
    hidden, weight = torch.from_numpy(hidden).requires_grad_(), torch.from_numpy(weight)
    found = []
    for flushes in (False, True):
        hidden.grad = None
        flushing(flushes)
        head = lt.jit(halves, reduction="mean")
        result = head(hidden, weight * 3e-6, target=target)
        result.loss.backward()
        flushing(False)
        found.append((result.loss.item(), hidden.grad.clone()))
    (kept, kept_gradient), (flushed, flushed_gradient) = found
    exact = 0.5 * V * D * hidden[0, 0].item() * (weight[0, 0] * 3e-6).item()
    assert kept == flushed == pytest.approx(exact, rel=1e-3)
    assert torch.equal(kept_gradient, flushed_gradient)


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("deviation", [16, 24, 32])
def test_peaked_softmax(tier, dtype, deviation):  # noqa: F811
    """Logits far below the maximum of their token, whose probabilities are subnormal or nothing."""
    generator = torch.Generator().manual_seed(deviation)
    hidden = torch.randn(64, 32, generator=generator) * (deviation / 32**0.5)
    hidden = hidden.to(getattr(torch, dtype)).requires_grad_()
    weight = torch.randn(300, 32, generator=generator).to(getattr(torch, dtype)).requires_grad_()
    target = torch.randint(300, (64,), generator=generator)
    head = lt.jit(lt.losses.cross_entropy)
    loss = head(hidden, weight, target=target)
    loss.backward()
    exact, gradients = head.reference_grad(hidden, weight, target=target)
    assert loss.item() == pytest.approx(exact, rel=1e-5)
    for found, name in ((hidden.grad, "hidden"), (weight.grad, "weight")):
        right = gradients[name]
        bound = {"float32": 1e-5, "bfloat16": 1e-2, "float16": 2e-3}[dtype] * abs(right).max()
        assert abs(found.double().numpy() - right).max() <= bound
