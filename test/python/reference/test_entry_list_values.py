"""Losses with lists in the reference: values and gradients against NumPy and torch."""

import logitile as lt
import numpy as np
import pytest
import torch
import torch_reference
from inputs import relative

SHAPES = pytest.mark.parametrize(("tokens", "vocab", "k"), [
    (7, 23, 1), (6, 5, 3), (5, 40, 50), (4, 300, 200), (2, 61, 4096),
])  # fmt: skip


@lt.loss
def sparse(z: lt.Logits, ids: lt.Token[int, lt.K], teacher: lt.Token[float, lt.K]):
    log_p = lt.log_softmax(z)[ids]
    return lt.sum(lt.where(lt.valid(ids), lt.exp(teacher) * (teacher - log_p), 0.0))


def dense_sparse(z, ids, teacher):
    valid = ids != -100
    log_p = z.log_softmax(1).gather(1, ids.where(valid, 0))
    return (teacher.exp() * (teacher - log_p)).where(valid, 0).sum(1)


@lt.loss
def mixed(
    z: lt.Logits, ids: lt.Token[int, lt.K], teacher: lt.Token[float, lt.K], scale: lt.Scalar,
    prior: lt.Vocab[float], w: lt.Token[float],
):  # fmt: skip
    """Lists of several origins, with values of tokens and of the call."""
    x = lt.tanh(z * scale) * prior
    picked = lt.where(lt.valid(ids), x[ids], 0.0)
    near = lt.clamp(picked - w, -0.5, 0.5) * lt.maximum(teacher, picked)
    return lt.mean(near * lt.sigmoid(w)) + lt.sum(lt.square(picked)) * lt.logsumexp(x)


def dense_mixed(z, ids, teacher, scale, prior, w):
    valid, w = ids != -100, w[:, None]
    x = torch.tanh(z * scale) * prior
    picked = x.gather(1, ids.where(valid, 0)).where(valid, 0)
    near = (picked - w).clamp(-0.5, 0.5) * torch.maximum(teacher, picked)
    return (near * torch.sigmoid(w)).mean(1) + picked.square().sum(1) * x.logsumexp(1)


def numbers(tokens, vocab, k, seed=0):
    """Arguments whose ids repeat, with entries that are ignored."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, vocab, (tokens, k))
    ids[:, k // 2 :] = np.where(rng.random((tokens, k - k // 2)) < 0.3, ids[:, :1], ids[:, k // 2 :])
    ids[rng.random((tokens, k)) < 0.2] = -100
    ids[0] = -100
    return rng.normal(size=(tokens, 6)), rng.normal(size=(vocab, 6)), {
        "ids": ids, "teacher": rng.normal(size=(tokens, k)) - 2, "scale": np.array(0.75),
        "prior": rng.random(vocab), "w": rng.normal(size=tokens),
    }  # fmt: skip


def given_to(loss, inputs):
    return {p.name: inputs[p.name] for p in loss.signature.others}


@SHAPES
@pytest.mark.contract("1 entries", "3 gradient kinds")
@pytest.mark.parametrize(("loss", "dense"), [(sparse, dense_sparse), (mixed, dense_mixed)])
def test_the_reference_is_what_autograd_computes(loss, dense, tokens, vocab, k):
    hidden, weight, inputs = numbers(tokens, vocab, k)
    given = given_to(loss, inputs)
    wrt = ["hidden", "weight", *(name for name in given if name != "ids")]
    up = np.random.default_rng(1).normal(size=tokens)
    head = lt.jit(loss, reduction="none", backend="reference")
    value, gradients = head.value_and_grad(hidden, weight, **given, wrt=wrt, grad_output=up)
    leaves = {"hidden": torch.tensor(hidden), "weight": torch.tensor(weight)}
    leaves |= {name: torch.tensor(item) for name, item in given.items()}
    for name in wrt:
        leaves[name].requires_grad_()
    rest = {name: leaf for name, leaf in leaves.items() if name not in ("hidden", "weight")}
    expected = dense(leaves["hidden"] @ leaves["weight"].T, **rest)
    assert relative(value, expected.detach(), floor=1e-9) < 1e-12
    expected.backward(torch.tensor(up))
    for name in wrt:
        assert relative(gradients[name], leaves[name].grad, floor=1e-9) < 1e-10, name


@SHAPES
@pytest.mark.parametrize("loss", [sparse, mixed])
def test_torch_reads_the_spec_in_the_same_way(loss, tokens, vocab, k):
    hidden, weight, inputs = numbers(tokens, vocab, k)
    given = given_to(loss, inputs)
    head = lt.jit(loss, reduction="none", backend="reference")
    spec = head._bind(hidden, weight, **given).form.spec
    tensors = {name: torch.as_tensor(item, dtype=None) for name, item in given.items()}
    tensors = {name: t.double() if t.is_floating_point() else t for name, t in tensors.items()}
    pairs = {"z": (torch.tensor(hidden), torch.tensor(weight))}
    found = torch_reference.evaluate(spec, pairs, tensors, torch.float64)["loss"]
    live = (given["ids"] != -100).any(1) if head.options.ignore in given else np.ones(tokens, bool)
    assert relative(head(hidden, weight, **given)[live], found[torch.tensor(live)], floor=1e-9) < 1e-12


def test_heads_on_torch_are_differentiated():
    hidden, weight, inputs = numbers(6, 30, 9)
    tensors = [torch.tensor(array, requires_grad=True) for array in (hidden, weight)]
    given = {name: torch.tensor(item) for name, item in given_to(sparse, inputs).items()}
    lt.jit(sparse, backend="reference", ignore="ids")(*tensors, **given).backward()
    found = [tensor.grad.clone() for tensor in tensors]
    for tensor in tensors:
        tensor.grad = None
    live = (given["ids"] != -100).any(1)
    dense_sparse(tensors[0] @ tensors[1].T, **given)[live].mean().backward()
    for mine, tensor in zip(found, tensors, strict=True):
        assert relative(mine, tensor.grad) < 1e-10


def test_places_with_one_entry_add_up():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K], w: lt.Token[float, lt.K]):
        return lt.sum(w * z[ids])

    hidden, weight = np.zeros((1, 2)), np.zeros((4, 2))
    hidden[0, 0] = 1
    given = {"ids": np.array([[2, 1, 2, 2]]), "w": np.array([[1.0, 10.0, 100.0, 1000.0]])}
    head = lt.jit(loss, reduction="sum", backend="reference")
    _, found = head.value_and_grad(hidden, weight, **given, wrt=["weight"])
    np.testing.assert_array_equal(found["weight"][:, 0], [0, 10, 1101, 0])


def test_ignored_entries_are_nan_and_carry_nothing():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K], of: lt.Vocab[int], on: lt.Vocab[bool]):
        return lt.Outputs(logit=z[ids], integer=of[ids], bool=on[ids], valid=lt.valid(ids))

    hidden, weight, _ = numbers(3, 5, 1)
    ids = np.array([[4, -100], [0, 1], [-100, -100]])
    given = {"of": np.arange(5) * 10, "on": np.arange(5) > 2}
    found = lt.jit(loss, backend="reference")(hidden, weight, ids=ids, **given)
    z = hidden @ weight.T
    np.testing.assert_allclose(found.logit, [[z[0, 4], np.nan], [z[1, 0], z[1, 1]], [np.nan, np.nan]])
    np.testing.assert_array_equal(found.integer, [[40, -1], [0, 10], [-1, -1]])
    np.testing.assert_array_equal(found.bool, [[True, False], [False, False], [False, False]])
    np.testing.assert_array_equal(found.valid, ids != -100)


@pytest.mark.contract("2 ignored entries")
def test_a_token_is_ignored_where_all_entries_are():
    hidden, weight, inputs = numbers(6, 30, 4)
    given = given_to(sparse, inputs)
    head = lt.jit(sparse, backend="reference", ignore="ids", reduction="none")
    live = (given["ids"] != -100).any(1)
    assert not live[0] and live[1:].any()
    values = head(hidden, weight, **given)
    np.testing.assert_array_equal(values == 0, ~live)
    mean = lt.jit(sparse, backend="reference", ignore="ids")(hidden, weight, **given)
    np.testing.assert_allclose(mean, values[live].mean())


def test_an_exponential_keeps_its_exponent():
    """lt.log of a picked softmax is the log-probability,
    also where the probability is 0 in float64.
    """

    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K]):
        return lt.Outputs(log=lt.log(lt.softmax(z)[ids]))

    hidden, weight = np.array([[1.0]]), np.array([[0.0], [-5000.0], [3.0]])
    found = lt.jit(loss, backend="reference")(hidden, weight, ids=np.array([[1, 2, 1]]))
    expected = torch.tensor([0.0, -5000.0, 3.0]).double().log_softmax(0)[[1, 2, 1]]
    np.testing.assert_allclose(found.log[0], expected)


def test_a_masked_entry_weighs_nothing():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K], allowed: lt.Vocab[bool]):
        log_p = lt.log_softmax(lt.where(allowed, z, float("-inf")))
        return -lt.sum(lt.exp(log_p[ids]) * log_p[ids])

    hidden, weight, _ = numbers(4, 6, 1)
    allowed = np.array([True, False, True, True, False, True])
    given = {"ids": np.tile(np.arange(6), (4, 1)), "allowed": allowed}
    head = lt.jit(loss, reduction="none", backend="reference")
    value, gradients = head.value_and_grad(hidden, weight, **given, grad_output=np.ones(4))
    log_p = torch.tensor(hidden @ weight[allowed].T).log_softmax(1)
    np.testing.assert_allclose(value, -(log_p.exp() * log_p).sum(1))
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())
