"""Lists and their places on the emulated GPU: the same as on CPUs,
and samples of the largest entries.
"""

import logitile as lt
import numpy as np
import pytest
import torch

GPU = "emu:sm_80"
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@lt.loss
def best(z: lt.Logits, *, k: int = 3):
    values, indices = lt.topk(lt.log_softmax(z), k)
    return lt.Outputs(values=values, indices=indices)


def pair(tokens, hidden, vocab, dtype="float32", seed=0):
    """Numbers whose products are exact in float32,
    so that the order is that of float64 in every type.
    """
    generator = torch.Generator().manual_seed(seed)
    arrays = (torch.randint(-8, 9, (n, hidden), generator=generator) / 8 for n in (tokens, vocab))
    return [array.to(TYPES[dtype]) for array in arrays]


def check(found, hidden, weight, k):
    z = (hidden.double() @ weight.double().T).log_softmax(1).numpy()
    order = np.argsort(-(hidden.double() @ weight.double().T).numpy(), axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(np.asarray(found.indices), order)
    values = np.take_along_axis(z, order, 1)
    np.testing.assert_allclose(np.asarray(found.values), values, rtol=1e-5, atol=1e-5)


@pytest.mark.contract("1 lists")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("tokens, hidden, vocab, k", [
    (1, 8, 40, 1), (3, 5, 7, 7), (17, 24, 1000, 50), (130, 12, 333, 20), (65, 40, 100, 5),
])  # fmt: skip
def test_lists_are_those_of_torch(tokens, hidden, vocab, k, dtype):
    hidden, weight = pair(tokens, hidden, vocab, dtype)
    check(lt.jit(best, k=k, backend=GPU)(hidden, weight), hidden, weight, k)


def test_long_lists():
    hidden, weight = pair(5, 12, 1500)
    check(lt.jit(best, k=1024, backend=GPU)(hidden, weight), hidden, weight, 1024)


@pytest.mark.parametrize("tiles", ["TM=64,TN=64", "TM=32,TN=64"])
def test_tiles_give_the_same_lists(tiles):
    hidden, weight = pair(70, 16, 300)
    check(lt.jit(best, k=9, backend=GPU, tiles=tiles)(hidden, weight), hidden, weight, 9)


def test_two_lists_of_other_values_and_ignored_tokens():
    @lt.loss
    def two(z: lt.Logits, bias: lt.Vocab[float], target: lt.Token[int]):
        values, _ = lt.topk(z + bias, 4)
        _, lowest = lt.topk(-z, 2)
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], values=values, lowest=lowest)

    hidden, weight = pair(70, 16, 300)
    bias = torch.linspace(-2, 2, 300)
    target = torch.arange(70)
    target[::3] = -100
    results = [lt.jit(two, backend=b)(hidden, weight, bias=bias, target=target) for b in (GPU, "cpu")]
    for name in ("loss", "values", "lowest"):
        ours, theirs = (np.asarray(getattr(found, name)) for found in results)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert (results[0].lowest[::3] == -1).all() and (results[0].values[::3] == 0).all()


def test_a_list_beside_a_dense_input_and_logits_that_are_stored():
    """The update of lists reads tiles of inputs, as that of the row state does:
    before logits are written.
    """

    @lt.loss
    def masked(z: lt.Logits, target: lt.Token[int], allowed: lt.Dense[bool], least: lt.Token[float]):
        values, indices = lt.topk(lt.where(allowed, z, least), 4)
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], values=values, indices=indices)

    hidden, weight = pair(70, 16, 300, "bfloat16")
    allowed = torch.arange(70 * 300).view(70, 300) % 3 > 0
    named = {"target": torch.arange(70), "allowed": allowed, "least": -torch.ones(70)}
    results = []
    for backend in (GPU, "cpu"):
        given = [hidden.clone().requires_grad_(), weight.clone().requires_grad_()]
        out = lt.jit(masked, backend=backend, reduction="sum")(*given, **named)
        out.loss.backward()
        results.append([out.loss, out.values, out.indices, *(array.grad for array in given)])
    for ours, theirs in zip(*results, strict=True):
        ours, theirs = (item.detach().float().numpy() for item in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=2e-2, atol=2e-2 * np.abs(theirs).max())


def test_values_that_are_the_same_for_all_tokens():
    @lt.loss
    def of_bias(z: lt.Logits, bias: lt.Vocab[float]):
        values, indices = lt.topk(bias, 3)
        return lt.Outputs(lse=lt.logsumexp(z), values=values, indices=indices)

    hidden, weight = pair(90, 16, 300)
    bias = torch.linspace(-2, 2, 300)[torch.randperm(300, generator=torch.Generator().manual_seed(0))]
    found = lt.jit(of_bias, backend=GPU)(hidden, weight, bias=bias)
    np.testing.assert_array_equal(found.values, bias.topk(3).values.expand(90, 3))
    np.testing.assert_array_equal(found.indices, bias.topk(3).indices.expand(90, 3))


def test_as_many_entries_reach_a_place_as_it_counts():
    @lt.loss
    def counted(z: lt.Logits, bias: lt.Vocab[float]):
        kth = lt.topk(z + bias, 17)[0][16]
        return lt.Outputs(reach=lt.count(z + bias >= kth), above=lt.count(z + bias > kth))

    rng = np.random.default_rng(0)
    hidden, weight = (rng.standard_normal((n, 24)).astype(np.float32) for n in (100, 333))
    found = lt.jit(counted, backend=GPU)(hidden, weight, bias=rng.standard_normal(333).astype(np.float32))
    np.testing.assert_array_equal(found.reach, np.full(100, 17))
    np.testing.assert_array_equal(found.above, np.full(100, 16))


def test_the_gradient_of_a_place_is_that_of_the_cpu():
    @lt.loss
    def third(z: lt.Logits, target: lt.Token[int]):
        return lt.topk(z, 3)[0][2] - z[target]

    hidden, weight = pair(40, 16, 200)
    target = torch.arange(40)
    grads = [lt.jit(third, backend=b).value_and_grad(hidden, weight, target=target)[1] for b in (GPU, "cpu")]
    for name in ("hidden", "weight"):
        np.testing.assert_allclose(grads[0][name], grads[1][name], rtol=1e-5, atol=1e-6)


def test_sampling_draws_what_the_cpu_draws():
    hidden, weight = pair(60, 16, 400)
    draws = [lt.jit(lt.losses.sample, top_k=5, backend=backend) for backend in (GPU, "cpu")]
    found, expected = (draw(hidden, weight, seed=3) for draw in draws)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.processed_logprob, expected.processed_logprob, rtol=1e-4, atol=1e-5)


def test_sampling_with_limits_of_each_token_draws_what_the_cpu_draws():
    hidden, weight = pair(60, 16, 400)
    limits = {"k": torch.arange(60) % 9, "top_p": torch.linspace(0.2, 1, 60), "min_p": 0.01}
    draws = [lt.jit(lt.losses.sample, candidates=24, backend=backend) for backend in (GPU, "cpu")]
    found, expected = (draw(hidden, weight, seed=3, **limits) for draw in draws)
    assert (expected.index >= 0).any()
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.processed_logprob, expected.processed_logprob, rtol=1e-4, atol=1e-5)
