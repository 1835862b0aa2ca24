"""lt.topk beside torch.topk of float64 logits: types, sizes, masks, chunks, threads,
gradients beside it.
"""

import logitile as lt
import numpy as np
import pytest
import torch

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@lt.loss
def best(z: lt.Logits, *, k: int = 3):
    values, indices = lt.topk(z, k)
    return lt.Outputs(values=values, indices=indices)


def pair(tokens, hidden, vocab, dtype="float32", seed=0):
    """Numbers whose products are exact in float32,
    so that the order is that of float64 in every type.
    """
    generator = torch.Generator().manual_seed(seed)
    arrays = (torch.randint(-8, 9, (n, hidden), generator=generator) / 8 for n in (tokens, vocab))
    return [array.to(TYPES[dtype]) for array in arrays]


def logits(hidden, weight):
    return hidden.double() @ weight.double().T


def by_index(x, k):
    """The order of lt.topk: of equals the lowest index first."""
    order = np.argsort(-x.numpy(), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(x.numpy(), order, 1), order


def check(found, z, k):
    values, indices = by_index(z, k)
    np.testing.assert_array_equal(np.asarray(found.indices), indices)
    np.testing.assert_allclose(np.asarray(found.values), values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(values, z.topk(k).values, rtol=1e-12)  # it is torch's, but for ties


@pytest.mark.contract("1 lists")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("tokens, hidden, vocab, k", [
    (1, 8, 40, 1), (3, 5, 7, 7), (17, 24, 1000, 50), (49, 16, 333, 333), (130, 12, 2500, 1024),
    (65, 40, 100, 5),
])  # fmt: skip
def test_lists_are_those_of_torch(tokens, hidden, vocab, k, dtype):
    hidden, weight = pair(tokens, hidden, vocab, dtype)
    check(lt.jit(best, k=k)(hidden, weight), logits(hidden, weight), k)


def test_chunks_and_budgets_give_the_same_lists():
    hidden, weight = pair(300, 16, 1500)
    whole = lt.jit(best, k=20)(hidden, weight)
    check(whole, logits(hidden, weight), 20)
    for options in ({"chunks": 3}, {"chunks": 7}, {"workspace": "2MiB"}):
        found = lt.jit(best, k=20, **options)(hidden, weight)
        assert torch.equal(found.values, whole.values) and torch.equal(found.indices, whole.indices)


@pytest.mark.parametrize("tier", ["portable", "avx2", "avx512", "avx512_bf16", "amx_bf16_emulated"])
def test_tiers(tier):
    target = lt.jit(best, backend=f"cpu:{tier}", k=9)
    hidden, weight = pair(70, 24, 600)
    try:
        found = target(hidden, weight)
    except lt.TargetError:
        pytest.skip(f"this machine has no {tier}")
    check(found, logits(hidden, weight), 9)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_give_the_same_lists(threads, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", threads)
    hidden, weight = pair(60, 16, 3000)
    check(lt.jit(best, k=33)(hidden, weight), logits(hidden, weight), 33)


def test_masked_entries_come_last():
    @lt.loss
    def masked(z: lt.Logits, keep: lt.Vocab[bool], seen: lt.Dense[bool]):
        values, indices = lt.topk(lt.where(keep & ~seen, z, float("-inf")), 12)
        return lt.Outputs(values=values, indices=indices)

    hidden, weight = pair(64, 16, 200)
    generator = torch.Generator().manual_seed(3)
    keep = torch.rand(200, generator=generator) < 0.1
    seen = torch.rand(64, 200, generator=generator) < 0.5
    found = lt.jit(masked)(hidden, weight, keep=keep, seen=seen)
    z = logits(hidden, weight).masked_fill(~keep | seen, -torch.inf)
    assert (torch.isinf(found.values)).any() and not torch.isinf(found.values).all()
    check(found, z, 12)


def test_nan_comes_first_as_in_torch():
    hidden, weight = pair(64, 16, 200)
    weight[[150, 30]] = torch.nan
    found = lt.jit(best, k=4)(hidden, weight)
    assert torch.isnan(found.values[:, :2]).all() and not torch.isnan(found.values[:, 2:]).any()
    assert (found.indices[:, :2] == torch.tensor([30, 150])).all()
    expected = torch.topk((hidden @ weight.T), 4).values
    torch.testing.assert_close(found.values[:, 2:], expected[:, 2:])


def test_log_probabilities_and_other_projections_beside_a_loss_with_gradients():
    @lt.loss
    def training(z: lt.Logits, t: lt.Logits, target: lt.Token[int], scale: lt.Token[float]):
        logprobs, indices = lt.topk(lt.log_softmax(z), 10)
        _, others = lt.topk(t * scale, 3)
        loss, rank = lt.logsumexp(z) - z[target], lt.argmax(t)
        return lt.Outputs(loss=loss, logprobs=logprobs, indices=indices, others=others, rank=rank)

    hidden, weight = pair(100, 24, 700)
    other, head = pair(100, 8, 700, seed=5)
    target = torch.randint(0, 700, (100,), generator=torch.Generator().manual_seed(1))
    scale = torch.where(torch.arange(100) % 2 == 0, 1.0, -0.5)
    hidden.requires_grad_(), weight.requires_grad_()
    found = lt.jit(training)(hidden, weight, other, head, target=target, scale=scale)
    found.loss.backward()
    z, t = logits(hidden.detach(), weight.detach()), logits(other, head)
    _, indices = by_index(z, 10)
    np.testing.assert_array_equal(found.indices, indices)
    expected = z.log_softmax(1).numpy()
    np.testing.assert_allclose(found.logprobs, np.take_along_axis(expected, indices, 1), rtol=2e-6, atol=2e-6)
    np.testing.assert_array_equal(found.others, by_index(t * scale[:, None].double(), 3)[1])
    np.testing.assert_array_equal(found.rank, t.argmax(1))
    assert not found.logprobs.requires_grad
    exact = torch.nn.functional.cross_entropy(
        hidden.detach().double().requires_grad_() @ weight.detach().double().T, target
    )
    assert abs(found.loss.item() - exact.item()) < 1e-5
    assert hidden.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_beside_gradients_in_16_bits(dtype):
    @lt.loss
    def training(z: lt.Logits, target: lt.Token[int]):
        values, indices = lt.topk(z, 10)
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], values=values, indices=indices)

    hidden, weight = pair(200, 24, 900, dtype)
    target = torch.randint(0, 900, (200,), generator=torch.Generator().manual_seed(1))
    hidden.requires_grad_(), weight.requires_grad_()
    found = lt.jit(training)(hidden, weight, target=target)
    found.loss.backward()
    z = logits(hidden.detach(), weight.detach())
    check(type(found)(*(value.detach() for value in found)), z, 10)
    dense = z.clone().requires_grad_()
    torch.nn.functional.cross_entropy(dense, target).backward()
    expected = dense.grad @ weight.detach().double()
    torch.testing.assert_close(hidden.grad.double(), expected, rtol=0.05, atol=2e-4)


def test_a_saved_plan_gives_lists(tmp_path):
    hidden, weight = pair(70, 16, 500)
    plan = lt.jit(best, k=6).compile(hidden, weight, grad=[])
    plan.save(tmp_path / "best.plan")
    outputs, _ = lt.load_plan(tmp_path / "best.plan").run(hidden, weight)
    check(outputs, logits(hidden, weight), 6)


def test_outputs_of_any_leading_shape_and_ignored_tokens():
    @lt.loss
    def with_target(z: lt.Logits, target: lt.Token[int]):
        values, indices = lt.topk(z, 4)
        return lt.Outputs(right=lt.to_float(lt.argmax(z) == target), values=values, indices=indices)

    hidden, weight = pair(120, 16, 300)
    target = torch.randint(0, 300, (120,), generator=torch.Generator().manual_seed(1))
    target[::3] = -100
    found = lt.jit(with_target)(hidden.reshape(4, 30, 16), weight, target=target.reshape(4, 30))
    assert found.values.shape == (4, 30, 4)
    values, indices = by_index(logits(hidden, weight), 4)
    values[::3], indices[::3] = 0, -1
    np.testing.assert_array_equal(found.indices.reshape(120, 4), indices)
    np.testing.assert_allclose(found.values.reshape(120, 4), values, rtol=1e-6)
