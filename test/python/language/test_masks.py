"""Masked logits (-inf) are ordinary: they weigh nothing in values and gradients,
whatever they are multiplied by.
"""

import math

import logitile as lt
import numpy as np
import pytest
import torch
from inputs import relative

TOKENS, VOCAB, HIDDEN = 5, 17, 8
KEPT = np.arange(VOCAB) % 3 != 1
MASK = np.where(KEPT, 0.0, -math.inf).astype(np.float32)


def operands(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(TOKENS, HIDDEN)).astype(np.float32), rng.normal(size=(VOCAB, HIDDEN)).astype(
        np.float32
    )


def kept(x):
    return x[:, torch.tensor(KEPT)]


def entropy(z, t, a):
    p = lt.softmax(z)
    return -lt.sum(p * lt.log(p))


def torch_entropy(z, t, a):
    return -(z.softmax(1) * z.log_softmax(1)).sum(1)


def divergence(z, t, a):
    return lt.sum(lt.softmax(t) * (lt.log_softmax(t) - lt.log_softmax(z)))


def torch_divergence(z, t, a):
    return (t.softmax(1) * (t.log_softmax(1) - z.log_softmax(1))).sum(1)


CASES = {
    "entropy": (entropy, torch_entropy),
    "divergence": (divergence, torch_divergence),
    "factors in another order": (
        lambda z, t, a: -lt.sum(lt.log_softmax(z) * (a * lt.softmax(z))),
        lambda z, t, a: a * torch_entropy(z, t, a),
    ),
    "several factors": (
        lambda z, t, a: lt.sum((lt.log_softmax(z) * lt.softmax(z)) * (-a * lt.log_softmax(t))),
        lambda z, t, a: -a * (z.softmax(1) * z.log_softmax(1) * t.log_softmax(1)).sum(1),
    ),
    "quotient of probabilities": (
        lambda z, t, a: lt.sum(lt.softmax(t) * (lt.softmax(t) / lt.softmax(z))),
        lambda z, t, a: (t.softmax(1) ** 2 / z.softmax(1)).sum(1),
    ),
    "hand-written softmax": (
        lambda z, t, a: -lt.sum(lt.exp(z) / lt.sum(lt.exp(z)) * lt.log_softmax(z)),
        torch_entropy,
    ),
    "powers": (
        lambda z, t, a: lt.sum(lt.softmax(z) ** (1 + a * a)),
        lambda z, t, a: (z.softmax(1) ** (1 + a * a)[:, None]).sum(1),
    ),
    "roots of products": (
        lambda z, t, a: -lt.log(lt.sum(lt.sqrt(lt.softmax(z) * lt.softmax(t)))),
        lambda z, t, a: -(z.softmax(1) * t.softmax(1)).sqrt().sum(1).log(),
    ),
    "sigmoids": (
        lambda z, t, a: lt.sum(lt.sigmoid(z) * lt.where(lt.isfinite(z), lt.log(lt.sigmoid(z)), z)),
        lambda z, t, a: (z.sigmoid() * z.sigmoid().log()).sum(1),
    ),
    "softplus": (
        lambda z, t, a: lt.sum(lt.softplus(z)),
        lambda z, t, a: torch.nn.functional.softplus(z, threshold=99).sum(1),
    ),
    "squares": (
        lambda z, t, a: lt.sum(lt.square(lt.softmax(z) - lt.softmax(t))),
        lambda z, t, a: (z.softmax(1) - t.softmax(1)).square().sum(1),
    ),
}


@pytest.mark.contract("3 masks")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["bias", "where"])
def test_masked_columns_are_as_if_absent(name, how):
    """Values and gradients equal those of torch on the columns that are kept;
    gradients elsewhere are 0.
    """
    function, torch_function = CASES[name]

    @lt.loss
    def loss(student: lt.Logits, teacher: lt.Logits, a: lt.Token[float], bias: lt.Vocab[float]):
        nothing = 0 * (a + lt.mean(teacher))  # not every function reads them
        if how == "bias":
            return nothing + function(student + bias, teacher + bias, a)
        kept = lt.isfinite(bias)
        return nothing + function(lt.where(kept, student, -math.inf), lt.where(kept, teacher, -math.inf), a)

    student, teacher = operands(0), operands(1)
    a = np.linspace(-1, 1.5, TOKENS).astype(np.float32)
    names = ["student.hidden", "student.weight", "teacher.hidden", "teacher.weight", "a"]
    head = lt.jit(loss, reduction="sum")
    value, gradients = head.reference_grad(student=student, teacher=teacher, a=a, bias=MASK, wrt=names)

    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (*student, *teacher, a)]
    expected = torch_function(kept(leaves[0] @ leaves[1].T), kept(leaves[2] @ leaves[3].T), leaves[4]).sum()
    found = torch.autograd.grad(expected, leaves, allow_unused=True)
    assert relative(value, expected.detach()) < 1e-12
    for name, gradient in zip(names, found, strict=True):
        wanted = np.zeros_like(gradients[name]) if gradient is None else gradient.numpy()
        assert np.isfinite(gradients[name]).all(), name
        assert relative(gradients[name], wanted, floor=1e-9) < 1e-9, name
    assert (gradients["student.weight"][~KEPT] == 0).all()


@pytest.mark.contract("3 masks")
def test_the_mask_itself_may_have_a_gradient():
    @lt.loss
    def loss(z: lt.Logits, bias: lt.Vocab[float]):
        return entropy(z + bias, None, None)

    _, gradients = lt.jit(loss).reference_grad(*operands(0), bias=MASK, wrt=["bias"])
    assert np.isfinite(gradients["bias"]).all()
    assert (gradients["bias"][~KEPT] == 0).all() and (gradients["bias"][KEPT] != 0).all()


@pytest.mark.contract("3 zeroth power")
@pytest.mark.parametrize("constant", [True, False])
def test_the_zeroth_power_of_a_masked_probability_is_one(constant):
    @lt.loss
    def loss(z: lt.Logits, bias: lt.Vocab[float], a: lt.Token[float]):
        return lt.sum(lt.softmax(z + bias) ** (0 if constant else a)) + 0 * a

    value, gradients = lt.jit(loss, reduction="none").reference_grad(
        *operands(0), bias=MASK, a=np.zeros(TOKENS, np.float32), wrt=["hidden", "a"]
    )
    assert (value == VOCAB).all()
    assert (gradients["hidden"] == 0).all()
    assert np.isfinite(gradients["a"]).all()


@pytest.mark.contract("3 branch")
def test_where_leaks_no_nan_from_the_branch_not_taken():
    @lt.loss
    def loss(z: lt.Logits, x: lt.Dense[float]):
        return lt.mean(z) + lt.sum(lt.where(x > 0, lt.log(x) * lt.sqrt(x), 0.0))

    x = np.array([[1.0, 0.0, -1.0, 4.0]], np.float32)
    pair = np.zeros((1, 2), np.float32), np.zeros((4, 2), np.float32)
    value, gradients = lt.jit(loss).reference_grad(*pair, x=x, wrt=["x"])
    assert value == pytest.approx(2 * math.log(4))
    np.testing.assert_allclose(gradients["x"][0], [1.0, 0.0, 0.0, 0.5 + 0.25 * math.log(4)])


@pytest.mark.contract("3 not a number")
def test_a_nan_logit_stays_in_its_token():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int]):
        return lt.logsumexp(z) - z[target]

    hidden, weight = operands(2)
    clean, clean_gradients = lt.jit(loss, reduction="none").reference_grad(
        hidden, weight, target=np.arange(TOKENS)
    )
    hidden[1, 0] = math.nan
    value, gradients = lt.jit(loss, reduction="none").reference_grad(hidden, weight, target=np.arange(TOKENS))
    others = np.arange(TOKENS) != 1
    assert np.isnan(value[1]) and (value[others] == clean[others]).all()
    assert np.isnan(gradients["hidden"][1]).all()
    assert (gradients["hidden"][others] == clean_gradients["hidden"][others]).all()
    assert np.isnan(gradients["weight"]).all()
