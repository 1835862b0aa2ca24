"""Corners that the drop-ins share: layouts of operands, batches without tokens,
and gradients taken again.
"""

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import close
from logitile.integrations import cut_cross_entropy, megatron, pytorch, torchtune
from logitile.integrations.liger import transformers as liger
from torch.utils.checkpoint import checkpoint

HIDDEN, VOCAB = 16, 61


def of_torchtune(hidden, weight, target, reduction):
    loss = torchtune.LinearCrossEntropyLoss(num_output_chunks=3)
    model = torch.nn.Module()
    model.output = torch.nn.Linear(HIDDEN, VOCAB, bias=False)
    del model.output.weight
    model.output.weight = weight
    loss.set_model_output(model)
    return loss.compute_cross_entropy(hidden, target) if reduction == "sum" else loss(hidden, target)


def of_liger(hidden, weight, target, reduction):
    return liger.liger_fused_linear_cross_entropy(hidden, weight, target, reduction=reduction)


def of_pytorch(hidden, weight, target, reduction):
    return pytorch.linear_cross_entropy(hidden, weight, target, reduction=reduction)


def of_cut_cross_entropy(hidden, weight, target, reduction):
    return cut_cross_entropy.linear_cross_entropy(hidden, weight, target, reduction=reduction)


def of_megatron(hidden, weight, target, reduction):
    return megatron.linear_cross_entropy(hidden, weight, target, reduction=reduction)


ZERO = (of_torchtune, of_liger)  # of the mean where no token counts; others give NaN
ANY_AXES = (of_torchtune, of_cut_cross_entropy, of_megatron)
ALL = (of_pytorch, of_torchtune, of_liger, of_cut_cross_entropy, of_megatron)


def named(function):
    return function.__name__.removeprefix("of_")


every = pytest.mark.parametrize("mine", ALL, ids=named)


def operands(*leading, ignored=0.25, layout="whole"):
    torch.manual_seed(0)
    target = torch.where(torch.rand(leading) < ignored, -100, torch.randint(VOCAB, leading))
    made = [laid_out(layout, *leading, HIDDEN), laid_out(layout, VOCAB, HIDDEN)]
    return [*(tensor.requires_grad_() for tensor in made), target]


def laid_out(layout, *shape):
    if layout == "transposed":
        return torch.randn(shape[::-1]).permute(*reversed(range(len(shape))))
    if layout == "every other":
        return torch.randn([2 * length for length in shape])[tuple(slice(None, None, 2) for _ in shape)]
    return torch.randn(shape)


def dense(hidden, weight, target, reduction):
    z = (hidden.double() @ weight.double().T).reshape(-1, VOCAB)
    return F.cross_entropy(z, target.reshape(-1), reduction=reduction)


def check_gradients(loss, wanted, leaves):
    found = torch.autograd.grad(loss, leaves, retain_graph=True)
    expected = torch.autograd.grad(wanted, leaves)
    assert all(close(mine, right, 1e-5) for mine, right in zip(found, expected, strict=True))


@pytest.mark.contract("8 corners")
@every
@pytest.mark.parametrize("layout", ["transposed", "every other"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_operands_need_not_be_contiguous(mine, layout, reduction):
    hidden, weight, target = operands(14, layout=layout)
    assert not (hidden.is_contiguous() or weight.is_contiguous())
    spread = torch.stack([target, torch.full_like(target, 10**6)], 1)[:, 0]
    loss, wanted = mine(hidden, weight, spread, reduction), dense(hidden, weight, target, reduction)
    assert close(loss, wanted, 1e-5)
    check_gradients(loss, wanted, [hidden, weight])


@pytest.mark.parametrize("mine", ANY_AXES, ids=named)
@pytest.mark.parametrize("layout", ["whole", "transposed"])
def test_batches_of_sequences(mine, layout):
    hidden, weight, target = operands(2, 7, layout=layout)
    loss, wanted = mine(hidden, weight, target, "mean"), dense(hidden, weight, target, "mean")
    assert close(loss, wanted, 1e-5)
    check_gradients(loss, wanted, [hidden, weight])


@pytest.mark.contract("8 corners")
@every
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("tokens", [0, 5])
def test_no_token_counts(mine, reduction, tokens):
    hidden, weight, target = operands(tokens, ignored=2)
    loss = mine(hidden, weight, target, reduction)
    assert loss.shape == ()
    assert loss == 0 if reduction == "sum" or mine in ZERO else loss.isnan()
    found = torch.autograd.grad(loss, [hidden, weight])
    assert [gradient.shape for gradient in found] == [hidden.shape, weight.shape]
    assert not any(gradient.any() for gradient in found)


@pytest.mark.contract("8 corners")
@every
def test_gradients_taken_again(mine):
    """Where the graph is kept, each backward pass has the gradients of its own upstream number."""
    hidden, weight, target = leaves = operands(14)
    loss = mine(*leaves, "mean")
    wanted = torch.autograd.grad(dense(*leaves, "mean"), leaves[:2])
    for factor in (1.0, 3.0, 1.0, -0.5):
        found = torch.autograd.grad(factor * loss, leaves[:2], retain_graph=True)
        assert all(close(mine, factor * right, 1e-5) for mine, right in zip(found, wanted, strict=True))
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()


@every
def test_gradients_add_up_over_steps(mine):
    hidden, weight, target = operands(14)
    for rows in (slice(0, 6), slice(6, 14)):
        (mine(hidden[rows], weight, target[rows], "sum") / 4).backward()
    wanted = torch.autograd.grad(dense(hidden, weight, target, "sum") / 4, [hidden, weight])
    assert all(close(leaf.grad, right, 1e-5) for leaf, right in zip((hidden, weight), wanted, strict=True))


@every
def test_a_checkpointed_loss(mine):
    hidden, weight, target = operands(14)
    loss = checkpoint(mine, hidden, weight, target, "mean", use_reentrant=False)
    check_gradients(loss, dense(hidden, weight, target, "mean"), [hidden, weight])


@every
def test_no_graph_is_made_where_none_is_wanted(mine):
    hidden, weight, target = operands(14)
    with torch.no_grad():
        assert not mine(hidden, weight, target, "mean").requires_grad
    with torch.inference_mode():
        assert close(mine(hidden, weight, target, "mean"), dense(hidden, weight, target, "mean"), 1e-5)


@every
def test_second_derivatives_are_refused(mine):
    hidden, weight, target = operands(14)
    loss = mine(hidden, weight, target, "mean")
    (gradient,) = torch.autograd.grad(loss, hidden, create_graph=True)
    with pytest.raises(lt.LogitileError, match="a head has no second derivatives; differentiate once"):
        torch.autograd.grad(gradient.sum(), hidden)
