"""Every function of the language against torch, value and gradient,
on ordinary and on special numbers.
"""

import math

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F

INF, NAN = math.inf, math.nan
NUMBERS = np.array([-INF, -3.0, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 2.5, 40.0, INF, NAN], np.float32)


def by_column(function, x):
    """function(x) entry by entry: values [V] and derivatives [V],
    of an x [V] that is a Dense input.
    """

    @lt.loss
    def loss(z: lt.Logits, x: lt.Dense[float], target: lt.Token[int]):
        return lt.mean(z) + function(x)[target]

    count = len(x)
    pair = np.zeros((count, 2), np.float32), np.zeros((count, 2), np.float32)
    head = lt.jit(loss, reduction="none")
    rows = np.broadcast_to(np.asarray(x, np.float32), (count, count)).copy()
    value, gradients = head.reference_grad(*pair, x=rows, target=np.arange(count), wrt=["hidden", "x"])
    assert (gradients["x"] == np.diag(np.diag(gradients["x"]))).sum() >= count * count - np.isnan(
        gradients["x"]
    ).sum()
    return value, np.diag(gradients["x"])


def torch_by_column(function, x):
    x = torch.tensor(np.asarray(x), dtype=torch.float64, requires_grad=True)
    value = function(x)
    if not value.requires_grad:
        return value.numpy(), np.zeros(len(x))
    (gradient,) = torch.autograd.grad(value.sum(), x)
    return value.detach().numpy(), gradient.numpy()


ELEMENTWISE = {
    "abs": (lt.abs, torch.abs), "sign": (lt.sign, torch.sign), "exp": (lt.exp, torch.exp),
    "exp2": (lt.exp2, torch.exp2), "log": (lt.log, torch.log), "log2": (lt.log2, torch.log2),
    "log1p": (lt.log1p, torch.log1p), "expm1": (lt.expm1, torch.expm1), "tanh": (lt.tanh, torch.tanh),
    "sigmoid": (lt.sigmoid, torch.sigmoid), "softplus": (lt.softplus, lambda x: F.softplus(x, threshold=1e9)),
    "log_sigmoid": (lt.log_sigmoid, F.logsigmoid), "sqrt": (lt.sqrt, torch.sqrt),
    "rsqrt": (lt.rsqrt, torch.rsqrt), "square": (lt.square, torch.square), "floor": (lt.floor, torch.floor),
    "negation": (lambda x: -x, torch.neg), "plus": (lambda x: x + 1, lambda x: x + 1),
    "minus": (lambda x: 1 - x, lambda x: 1 - x), "times": (lambda x: 3 * x, lambda x: 3 * x),
    "divided": (lambda x: x / 4, lambda x: x / 4), "divides": (lambda x: 2 / x, lambda x: 2 / x),
    "cube": (lambda x: x**3, lambda x: x**3), "root": (lambda x: x**0.5, lambda x: x**0.5),
    "inverse": (lambda x: x**-1, lambda x: x**-1), "zeroth": (lambda x: x**0, lambda x: x**0),
    "power": (lambda x: 2**x, lambda x: 2**x), "pow": (lambda x: lt.pow(x, 3.0), lambda x: torch.pow(x, 3.0)),
    "erf": (lt.erf, torch.erf), "sin": (lt.sin, torch.sin), "cos": (lt.cos, torch.cos),
    "maximum": (lambda x: lt.maximum(x, 0), lambda x: torch.maximum(x, 0 * x.detach())),
    "clamp": (lambda x: lt.clamp(x, -1, 1), lambda x: torch.clamp(x, -1, 1)),
    "isfinite": (lambda x: lt.to_float(lt.isfinite(x)), lambda x: torch.isfinite(x).double()),
    "isnan": (lambda x: lt.to_float(lt.isnan(x)), lambda x: torch.isnan(x).double()),
    "stop_gradient": (lt.stop_gradient, torch.Tensor.detach),
    "equal": (lambda x: lt.to_float(x == 1), lambda x: (x == 1).double()),
    "differs": (lambda x: lt.to_float(x != 1), lambda x: (x != 1).double()),
    "less": (lambda x: lt.to_float(x < 0), lambda x: (x < 0).double()),
    "where": (lambda x: lt.where(x > 0, x, 2 * x), lambda x: torch.where(x > 0, x, 2 * x)),
}  # fmt: skip


@pytest.mark.contract("1 elementwise", "3 kinks")
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    ours, theirs = ELEMENTWISE[name]
    x = NUMBERS
    if name in (
        "maximum",
        "root",
    ):  # where the torch version multiplies 0 by infinity, or takes another way at -0
        x = x[np.isfinite(x) & ~((x == 0) & np.signbit(x))]
    value, derivative = by_column(ours, x)
    expected, expected_derivative = torch_by_column(theirs, x)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    if name in (
        "log_sigmoid",
        "softplus",
        "tanh",
        "exp",
        "exp2",
        "expm1",
    ):  # where torch multiplies 0 by infinity
        known = np.isfinite(expected_derivative)
        derivative, expected_derivative = derivative[known], expected_derivative[known]
    # torch's 1 - y**2 and y * (1 - y) cancel
    rounding = 1e-16 if name in ("tanh", "sigmoid") else 0.0
    np.testing.assert_allclose(derivative, expected_derivative, rtol=1e-13, atol=rounding)


@pytest.mark.contract("1 elementwise", "3 kinks")
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate):
    x = NUMBERS
    value, derivative = by_column(lambda x: lt.gelu(x, approximate=approximate), x)
    expected, expected_derivative = torch_by_column(lambda x: F.gelu(x, approximate=approximate), x)
    rounding = 4e-7  # of its constants, which are float32 as all constants of a loss are
    np.testing.assert_allclose(value, expected, rtol=rounding)
    known = np.isfinite(expected_derivative)  # elsewhere torch multiplies 0 by infinity
    np.testing.assert_allclose(derivative[known], expected_derivative[known], rtol=rounding, atol=rounding)


def test_derivatives_that_would_cancel_are_accurate():
    x = np.array([-30.0, 30.0, 36.0], np.float32)
    _, derivative = by_column(lt.sigmoid, x)
    np.testing.assert_allclose(derivative, np.exp(-np.abs(x, dtype=np.float64)), rtol=1e-10)
    _, derivative = by_column(lt.tanh, x[1:] / 2)
    np.testing.assert_allclose(derivative, 4 * np.exp(-x[1:].astype(np.float64)), rtol=1e-10)


@pytest.mark.contract("3 kinks")
@pytest.mark.parametrize("seed", range(3))
def test_clamp_with_bounds_that_have_gradients(seed):
    @lt.loss
    def loss(z: lt.Logits, x: lt.Dense[float], low: lt.Vocab[float], high: lt.Vocab[float]):
        return lt.mean(z) + lt.sum(lt.clamp(x, low, high) * lt.to_float(lt.column()))

    rng = np.random.default_rng(seed)
    x, low, high = (rng.integers(-3, 4, size=n).astype(np.float32) for n in [(6, 9), 9, 9])
    pair = np.zeros((6, 2), np.float32), np.zeros((9, 2), np.float32)
    _, gradients = lt.jit(loss, reduction="sum").reference_grad(
        *pair, x=x, low=low, high=high, wrt=["x", "low", "high"]
    )
    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, low, high)]
    (torch.clamp(*leaves) * torch.arange(9)).sum().backward()
    for name, leaf in zip(("x", "low", "high"), leaves, strict=True):
        np.testing.assert_array_equal(gradients[name], leaf.grad.numpy())


def test_power_with_a_gradient_of_the_exponent():
    @lt.loss
    def loss(z: lt.Logits, x: lt.Dense[float], p: lt.Vocab[float]):
        return lt.mean(z) + lt.sum(x**p)

    x = np.array([[0.0, 0.0, 0.0, 2.0, 3.0, 0.5]], np.float32)
    p = np.array([0.0, 1.0, 2.0, 0.0, -1.5, 2.5], np.float32)
    pair = np.zeros((1, 2), np.float32), np.zeros((6, 2), np.float32)
    value, gradients = lt.jit(loss, reduction="sum").reference_grad(*pair, x=x, p=p, wrt=["x", "p"])
    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, p)]
    total = (leaves[0] ** leaves[1]).sum()
    total.backward()
    assert abs(value - total.item()) < 1e-14
    np.testing.assert_allclose(gradients["x"], leaves[0].grad.numpy(), rtol=1e-14)
    np.testing.assert_allclose(gradients["p"], leaves[1].grad.numpy(), rtol=1e-14)


# ---- over the vocabulary -------------------------------------------------------------------------

ROWS = np.array([
    [1.0, 3.0, -2.0, 3.0, 0.5],
    [2.0, 2.0, 2.0, 2.0, 2.0],
    [-INF, 1.0, -INF, 2.0, 2.0],
    [0.0, NAN, 5.0, NAN, 1.0],
    [-7.0, -7.0, -8.0, 300.0, 300.0],
], np.float32)  # fmt: skip


def over_rows(function, rows=ROWS):
    """function(x) row by row: value [N] and gradient [N, V] of a Dense input."""

    @lt.loss
    def loss(z: lt.Logits, x: lt.Dense[float]):
        return lt.mean(z) + function(x)

    pair = np.zeros((len(rows), 2), np.float32), np.zeros((rows.shape[1], 2), np.float32)
    value, gradients = lt.jit(loss, reduction="none").reference_grad(*pair, x=rows, wrt=["hidden", "x"])
    return value, gradients["x"]


def torch_over_rows(function, rows=ROWS):
    x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    value = function(x)
    (gradient,) = torch.autograd.grad(value.sum(), x) if value.requires_grad else (torch.zeros_like(x),)
    return value.detach().numpy(), gradient.numpy()


REDUCTIONS = {
    "sum": (lt.sum, lambda x: x.sum(1)), "mean": (lt.mean, lambda x: x.mean(1)),
    "max": (lt.max, lambda x: x.max(1).values), "min": (lt.min, lambda x: x.min(1).values),
    "logsumexp": (lt.logsumexp, lambda x: x.logsumexp(1)),
    "argmax": (lambda x: lt.to_float(lt.argmax(x)), lambda x: x.argmax(1).double()),
    "argmin": (lambda x: lt.to_float(lt.argmin(x)), lambda x: x.argmin(1).double()),
    "count": (lambda x: lt.to_float(lt.count(x > 1)), lambda x: (x > 1).sum(1).double()),
    "any": (lambda x: lt.to_float(lt.any(x > 2)), lambda x: (x > 2).any(1).double()),
    "all": (lambda x: lt.to_float(lt.all(x < 4)), lambda x: (x < 4).all(1).double()),
    "softmax": (lambda x: lt.softmax(x)[1], lambda x: x.softmax(1)[:, 1]),
    "log_softmax": (lambda x: lt.log_softmax(x)[3], lambda x: x.log_softmax(1)[:, 3]),
    "pick": (lambda x: x[4], lambda x: x[:, 4]),
}  # fmt: skip


@pytest.mark.contract("1 reductions", "3 kinks")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    ours, theirs = REDUCTIONS[name]
    value, gradient = over_rows(ours)
    expected, expected_gradient = torch_over_rows(theirs)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-13, atol=1e-15)


@pytest.mark.contract("3 first nan")
def test_the_first_nan_wins():
    value, gradient = over_rows(lambda x: lt.max(x))
    assert np.isnan(value[3])
    assert gradient[3].tolist() == [0, 1, 0, 0, 0]
    assert over_rows(lambda x: lt.to_float(lt.argmin(x)))[0][3] == 1


@pytest.mark.contract("3 masked row")
def test_a_row_of_minus_infinity():
    rows = np.full((1, 4), -INF, np.float32)
    assert over_rows(lt.logsumexp, rows)[0] == -INF
    assert np.isnan(over_rows(lambda x: lt.softmax(x)[0], rows)[0])
    assert over_rows(lt.max, rows)[0] == -INF


@pytest.mark.contract("3 not a number")
def test_plus_infinity_under_an_exponential_is_nan():
    rows = np.array([[0.0, INF, 1.0]], np.float32)
    value, gradient = over_rows(lambda x: lt.logsumexp(x) - x[0], rows)
    assert np.isnan(value).all() and np.isnan(gradient).all()


@pytest.mark.contract("3 first nan")
def test_argmax_of_probabilities_is_argmax_of_logits():
    # the first ones underflow in a softmax
    rows = np.array([[-2000.0, -1000.0, 0.0, -1000.5]], np.float32)
    assert over_rows(lambda x: lt.to_float(lt.argmin(lt.softmax(x))), rows)[0] == 0
    assert over_rows(lambda x: lt.log(lt.min(lt.softmax(x))), rows)[0] == -2000
