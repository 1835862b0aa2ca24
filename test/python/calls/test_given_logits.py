"""Logits that exist already: a call gives an array in the place of hidden states and weight."""

import copy
import pickle

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import arguments, relative

losses = lt.losses
SHAPE, VOCAB = (3, 5), 23


def drawn(seed, *shape, std=3.0):
    return torch.tensor(std * np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def labels():
    made = torch.tensor(np.random.default_rng(1).integers(0, VOCAB, SHAPE))
    made[0, 1] = -100
    return made


def same(logits, exact_logits, value, wanted, bound=1e-5):
    """Values and gradients of logits agree with float64."""
    assert relative(value.detach(), wanted.detach()) < bound
    value.backward()
    wanted.backward()
    assert logits.grad.dtype == logits.dtype
    assert relative(logits.grad.float(), exact_logits.grad) < bound


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_loss_of_logits(dtype):
    z = drawn(0, *SHAPE, VOCAB).to(dtype).requires_grad_()
    exact = z.detach().double().requires_grad_()
    target = labels()
    wanted = F.cross_entropy(exact.flatten(0, 1), target.flatten(), label_smoothing=0.1)
    head = lt.jit(losses.cross_entropy, label_smoothing=0.1)
    same(z, exact, head(z=z, target=target), wanted, 1e-5 if dtype == torch.float32 else 1e-2)


def test_logits_of_a_teacher_beside_a_projection():
    hidden, weight = (
        drawn(k, *shape, std=1.0).requires_grad_() for k, shape in ((0, (*SHAPE, 8)), (1, (VOCAB, 8)))
    )
    teacher = drawn(2, *SHAPE, VOCAB)
    lt.jit(losses.forward_kl)(hidden, weight, teacher=teacher, temperature=2.0).backward()
    x, w = (leaf.detach().double().requires_grad_() for leaf in (hidden, weight))
    q, p = ((z / 2).log_softmax(-1) for z in (teacher.double(), x @ w.T))
    (q.exp() * (q - p)).sum(-1).mean().backward()
    assert relative(hidden.grad, x.grad) < 1e-5 and relative(weight.grad, w.grad) < 1e-5


def test_two_arrays_of_logits():
    z, other = drawn(0, *SHAPE, VOCAB).requires_grad_(), drawn(1, *SHAPE, VOCAB)
    exact = z.detach().double().requires_grad_()
    q, p = other.double().log_softmax(-1), exact.log_softmax(-1)
    wanted = (p.exp() * (p - q)).sum(-1).mean()
    same(z, exact, lt.jit(losses.reverse_kl)(student=z, teacher=other), wanted)


def test_logits_that_are_masked_by_minus_infinity():
    z, target = drawn(0, *SHAPE, VOCAB), labels() % 19
    z[..., 19:] = float("-inf")
    z.requires_grad_()
    exact = z.detach().double().requires_grad_()
    wanted = F.cross_entropy(exact.flatten(0, 1), target.flatten())
    same(z, exact, lt.jit(losses.cross_entropy)(z=z, target=target), wanted)


def test_numpy_arrays_and_the_reference():
    given = {"z": drawn(0, *SHAPE, VOCAB).numpy(), "target": labels().numpy()}
    head = lt.jit(losses.cross_entropy)
    value, gradients = head.value_and_grad(**given)
    wanted, exact = head.reference_grad(**given)
    assert isinstance(gradients["z"], np.ndarray) and list(gradients) == list(exact) == ["z"]
    assert relative(value, wanted) < 1e-6 and relative(gradients["z"], exact["z"]) < 1e-5
    assert relative(head(**given), head.reference(**given)) < 1e-6


def test_other_callers():
    z, target = drawn(0, *SHAPE, VOCAB), labels()
    head = lt.jit(losses.cross_entropy)
    wanted = head(z=z, target=target)
    compiled = torch.compile(
        lambda logits: head(z=logits, target=target), backend="aot_eager", fullgraph=True
    )
    assert torch.equal(compiled(z), wanted)
    leaf = z.clone().requires_grad_()
    head(z=leaf, target=target).backward()
    assert torch.equal(torch.func.grad(lambda logits: head(z=logits, target=target))(z), leaf.grad)
    for other in (copy.deepcopy(head), pickle.loads(pickle.dumps(head))):
        assert torch.equal(other(z=z, target=target), wanted)


def test_jax_arrays_under_jit():
    jax = pytest.importorskip("jax")
    z, target = drawn(0, *SHAPE, VOCAB).numpy(), labels().numpy()
    head = lt.jit(losses.cross_entropy)
    loss = jax.jit(jax.value_and_grad(lambda logits: head(z=logits, target=target)))
    value, gradient = loss(jax.numpy.asarray(z))
    wanted, exact = head.reference_grad(z=z, target=target)
    assert relative(value, wanted) < 1e-6 and relative(gradient, exact["z"]) < 1e-5


def test_no_copy_of_logits_is_made():
    """One pass for the loss and one for gradients,
    in a workspace that is far smaller than the logits.
    """
    shapes = {"z": lt.ShapeDtype((2048, 32000), "float32"), "target": lt.ShapeDtype((2048,), "int64")}
    plan = lt.jit(losses.cross_entropy).explain(**shapes)
    assert plan.forward_sweeps == 1 and plan.workspace_bytes < 2**23


@pytest.mark.parametrize(("given", "told"), [
    ({"z": np.zeros((6, 23), np.float64)}, "'z' is float64; lt.Dense[float] takes float32"),
    ({"z": np.zeros(())}, "'z' has shape []; logits are [..., V]"),
    ({"z": np.zeros((6, 23), np.float32), "target": np.zeros(5, int)}, "'target' has shape [5]"),
])  # fmt: skip
def test_logits_that_do_not_fit(given, told):
    with pytest.raises(lt.CallError) as caught:
        lt.jit(losses.cross_entropy)(**{"target": np.zeros(6, int)} | given)
    assert told in str(caught.value)


def test_logits_beside_hidden_states_of_the_same_parameter():
    given = arguments(losses.cross_entropy)
    hidden, weight = given.pop("z")
    with pytest.raises(lt.CallTypeError, match="'z' is given twice: by position and by name"):
        lt.jit(losses.cross_entropy)(hidden, weight, z=hidden @ weight.T, **given)


@lt.loss
def beside_another(z: lt.Logits, t: lt.Logits | None = None):
    return lt.logsumexp(z) if t is None else lt.logsumexp(z) + lt.mean(t * z)


@pytest.mark.parametrize("left_out", [{}, {"t": None}])
def test_a_projection_that_is_left_out_beside_logits(left_out):
    z = drawn(0, 5, VOCAB).numpy()
    head = lt.jit(beside_another)
    wanted = torch.logsumexp(torch.tensor(z).double(), -1)
    assert relative(head(z=z, **left_out), wanted.mean()) < 1e-6
    loss, gradients = head.value_and_grad(z=z, **left_out)
    assert relative(gradients["z"], torch.softmax(torch.tensor(z).double(), -1) / 5) < 1e-5
    np.testing.assert_allclose(loss, head.reference(z=z, **left_out), rtol=1e-6)


def test_logits_of_one_token_and_of_no_axis():
    z = np.arange(3, dtype=np.float32)
    head = lt.jit(beside_another)
    np.testing.assert_allclose(head(z=z), np.log(np.exp(z).sum()), rtol=1e-6)
    with pytest.raises(lt.CallValueError, match=r"'z' has shape \[\]; logits are \[\.\.\., V\]"):
        head(z=np.float32(1))
    with pytest.raises(lt.CallTypeError, match="'z' is missing: a pair of hidden and weight"):
        head(t=np.zeros((2, 3), np.float32))
