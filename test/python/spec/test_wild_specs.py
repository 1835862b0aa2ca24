"""Losses that nobody would choose: what they are made of, and torch's reading of their text."""

import re

import logitile as lt
import numpy as np
import pytest
import torch
from dense_torch import evaluate
from logitile.language import functions
from wild_specs import wild_loss

LOSSES = [wild_loss(seed) for seed in range(500)]

# What the texts must have, and how many of them at least.
FAMILIES = {
    "two projections": (r"t: lt\.Logits", 50),
    "a mask of -inf": (r"lt\.where\(.*-float\('inf'\)\)", 100),
    "masked log-probabilities": (r"(v\d+) = lt\.log(.*\n)+.*lt\.where\(.*, \1, -float", 10),
    "a value and its own maximum": (r"\((v\d+|z) >= lt\.max\(\1\)\)", 5),
    "a value less its own maximum": (r"\((v\d+|z) - lt\.max\(\1\)", 15),
    "a value less its own mean": (r"\((v\d+|z) - lt\.mean\(\1\)\)", 15),
    "a value less one of its entries": (r"\((v\d+|z) - \1\[", 10),
    "products of softmaxes": (r"lt\.softmax\(.*\) \* lt\.softmax\(", 15),
    "an index that is computed": (r"\[lt\.(clamp|maximum|minimum|where|argmax|argmin)\(", 100),
    "a Dense mask": (r"q: lt\.Dense\[bool\]", 50),
    "several targets": (r"lt\.valid\(k\)", 10),
    "a stopped gradient": (r"lt\.stop_gradient\(", 50),
    "a weight": (r"weight=", 10),
    "a Scalar or a Token": (r"r: lt\.Scalar \| lt\.Token\[float\]", 30),
    "equal conditions": (r"\) == \(lt\.|\) == m\)|\(m == ", 3),
    "a difference of logarithms under an exponential": (r"lt\.exp\(\w+ - \w+\) \* lt\.exp", 5),
    "a list": (r"best=v\d+\[0\], places=v\d+\[1\]", 40),
    "a list of log-probabilities": (r"lt\.topk\((lt\.log_softmax|v\d+)", 5),
    "random numbers": (r"lt\.uniform\(", 20),
    "products of logits under an exponential": (r"lt\.(log_)?softmax\(\(?z \* z|softmax\(v\d+\)", 10),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_losses_have_what_went_wrong_before(family):
    pattern, least = FAMILIES[family]
    assert sum(re.search(pattern, loss.source) is not None for loss in LOSSES) >= least


def test_losses_are_distinct_and_use_all_functions():
    assert len({loss.source for loss in LOSSES}) >= 480
    words = set(re.findall(r"lt\.(\w+)\(", " ".join(loss.source for loss in LOSSES)))
    assert set(functions.__all__) - {"isnan", "pow"} <= words  # lt.pow is the operator **
    assert {loss.scale for loss in LOSSES} >= {1.0, 1e2, 1e4, 1e9}
    assert 80 <= sum(loss.grid for loss in LOSSES) <= 180


def test_some_sweeps_read_vocabulary_inputs_only():
    """A reduction that comes before all that is read of logits and tokens,
    and something varying after it.
    """
    count = 0
    for loss in LOSSES[:200]:
        given = loss.arrays(2, 5, (3, 4))
        try:
            head = lt.jit(loss.loss, reduction="none")
            spec = head._bind(**given).form.spec
        except lt.LogitileError:
            continue
        count += any(op.name == "logitile.reduce" and _is_of_vocab(spec, i) for i, op in enumerate(spec.ops))
    assert count >= 15


def _is_of_vocab(spec, index):
    op = spec.ops[index]
    if op.name == "logitile.input":
        return op.attribute.axis in ("vocab", "scalar")
    return all(_is_of_vocab(spec, i) for i in op.operands)


def test_inputs_do_not_depend_on_each_other():
    loss = next(loss for loss in LOSSES if {"z", "u", "a"} <= set(loss.inputs))
    whole = loss.arrays(3, 5, (4, 2))
    loss = type(loss)(**vars(loss) | {"inputs": ("u",)})
    assert np.array_equal(loss.arrays(3, 5, (4, 2))["u"], whole["u"])


# ---- torch's reading of a text -------------------------------------------------------------------


def evaluated(body, vocab=4, dtype=torch.float64):
    """The loss and its gradient for logits 0, 1, ... of two tokens."""
    hidden = torch.ones(2, 1, dtype=dtype)
    weight = torch.arange(vocab, dtype=dtype)[:, None].requires_grad_()
    inputs = {"m": torch.tensor([True, False] * (vocab // 2)), "y": torch.tensor([1, 2])}
    used = ", ".join(f"{name}: lt.{kind}" for name, kind in (("m", "Vocab[bool]"), ("y", "Token[int]")))
    loss = evaluate(f"@lt.loss\ndef f(z: lt.Logits, {used}):\n    return {body}\n", {"z": (hidden, weight)},
                    inputs, dtype)["loss"]  # fmt: skip
    loss.sum().backward()
    return loss.detach().numpy(), weight.grad.numpy()[:, 0]


MASKED = "lt.log_softmax(lt.where(m, z, -float('inf')))"
ENTROPY = -sum(p * np.log(p) for p in (1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))))


@pytest.mark.parametrize("body", [
    f"-lt.sum(lt.exp({MASKED}) * {MASKED})",
    f"-lt.sum({MASKED} * lt.exp({MASKED}) * 1.0)",
    f"-lt.sum(lt.exp({MASKED}) * lt.log(lt.exp({MASKED})))",
    f"lt.sum(-(lt.exp({MASKED}) * {MASKED}))",
    f"-lt.sum(lt.exp({MASKED}) ** 0.5 * {MASKED} * lt.sqrt(lt.exp({MASKED})))",
])  # fmt: skip
def test_a_weight_of_0_wins(body):
    loss, gradient = evaluated(body)
    np.testing.assert_allclose(loss, ENTROPY)
    assert np.isfinite(gradient).all() and gradient[1] == gradient[3] == 0


def test_logarithms_of_exponentials_are_finite():
    assert evaluated("lt.log(lt.softmax(1e5 * z))[0]")[0][0] == -3e5
    assert evaluated("lt.log2(lt.exp2(2000.0 * z))[1]")[0][0] == pytest.approx(2000)
    assert evaluated("lt.log(lt.sum(2.0 * lt.exp(1000.0 * z)))")[0][0] == pytest.approx(3000 + np.log(2))


@pytest.mark.parametrize("k", [1, 3])
def test_lists_are_in_the_order_of_the_language(k):
    source = f"""@lt.loss
def f(z: lt.Logits, x: lt.Dense[float]):
    best = lt.topk(0 * z + x, {k})
    return lt.Outputs(loss=lt.max(z), values=best[0], indices=best[1])
"""
    x = np.array([[1, 2, 2, 0], [0, np.nan, 3, -np.inf], [-np.inf] * 4], np.float32)
    pair = torch.zeros(3, 2), torch.zeros(4, 2)
    found = evaluate(source, {"z": pair}, {"x": torch.tensor(x)}, torch.float32)
    order = np.array([[1, 2, 0], [1, 2, 0], [0, 1, 2]])[:, :k]
    np.testing.assert_array_equal(found["indices"], order)
    np.testing.assert_array_equal(found["values"], np.take_along_axis(x, order, 1))


def test_entries_outside_the_vocabulary_are_0():
    np.testing.assert_array_equal(evaluated("lt.where(y > 1, 0.0, z[y + 2])")[0], [3, 0])


@pytest.mark.parametrize("name", [
    "abs", "exp", "exp2", "expm1", "floor", "gelu", "log", "log1p", "log2", "log_sigmoid", "rsqrt", "sigmoid",
    "sign", "softplus", "sqrt", "square", "stop_gradient", "tanh", "to_float",
])  # fmt: skip
def test_functions_take_plain_numbers(name):
    """As those of the language do: a value that is the same for every token may be
    a number of Python.
    """
    body = f"lt.mean(z) + lt.{name}(1.3)"
    lines = {}
    exec(f"def f(z: lt.Logits):\n    return {body}\n", {"lt": lt}, lines)
    ones = np.ones((2, 1), np.float32), np.zeros((4, 1), np.float32)
    wanted = lt.jit(lt.loss(lines["f"]), reduction="none").reference(*ones)
    np.testing.assert_allclose(evaluated(f"{body} - lt.mean(z)")[0], wanted, rtol=1e-6)
