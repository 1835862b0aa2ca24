"""Random losses, most of whose gradients are an early part times a factor of the token.

GPUs store such gradients in the sweep, relative to the logits of the first columns
(docs/design/plan.md, "Factored gradients"). So the first columns of some tokens are far below or
above the others, are masked, or are all that counts. Other tokens have no allowed entry, or a
weight of 0.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from random_specs import numpy_dtype
from wild_specs import WildLoss, defined

SHIFTS = (-3000.0, -120.0, -60.0, -40.0, -20.0, 20.0, 40.0, 60.0, 120.0, 3000.0)
SCALES = (0.3, 1.0, 1.0, 5.0, 20.0, 300.0)  # of logits with a standard deviation of about 3

# What makes other logits of logits {x}.
STEPS = (
    "({x} + u)", "({x} * 0.37)", "({x} / 1.7)", "({x} * 2.0)", "({x} * 0.01)", "({x} / b)", "({x} * b)",
    "({x} + a)", "({x} * w)", "({x} / s)", "({x} * r)", "({x} + n)", "({x} - u * a)", "(-{x})",
    "({x} - 60.0)", "({x} - z[y])", "({x} - lt.max({x}))", "({x} + lt.log(w))",
    "(8.0 * lt.tanh({x} / 8.0))", "lt.softplus({x})", "lt.maximum({x}, u)", "lt.clamp({x}, -2.0, 3.0)",
    "lt.where(m | (lt.column() == y), {x}, -float('inf'))", "lt.where(m, {x}, -1e9)",
    "lt.where(q | (lt.column() == y), {x}, -float('inf'))", "lt.where(q, {x}, -float('inf'))",
    "lt.where(lt.column() == y, {x} - 0.3, {x})", "lt.where(g > 1, {x}, {x} - 50.0)",
    "lt.where((lt.column() >= 128) | (lt.column() == y), {x}, -float('inf'))",
    "lt.where(f, {x}, 0.5 * {x})", "lt.where(lt.uniform(seed) < 0.8, {x}, 0.0)",
)  # fmt: skip
# Terms of logits x, their logsumexp, the log-probability of the target and the cross entropy.
USUAL = (
    "cost", "cost", "-log_p", "w[y] * cost", "a * cost", "s * cost", "1e-3 * lt.square(lse)",
    "(1.0 - lt.exp(log_p)) ** 2.0 * -log_p", "lt.exp(log_p - a) * b",
    "-lt.minimum(ratio * a, lt.clamp(ratio, 0.8, 1.2) * a)", "lt.where(f, cost, 0.0)",
    "lse - 0.25 * x[y] - 0.75 * x[lt.clamp(y + 3, 0, lt.vocab_size() - 1)]",
)  # fmt: skip
RARE = (
    "lt.softmax(x)[y]", "lt.sum(lt.softplus(x))", "lt.mean(lt.square(x))", "lt.sum(w * lt.tanh(x))",
    "lt.sum(lt.where(m, lt.sigmoid(x), 0.0))", "lt.sqrt(lt.sum(lt.square(x)) + 0.01)", "lt.mean(x)",
    "lt.log(lt.sum(w * lt.exp(x)))", "lt.log(lt.sum(d * lt.exp(x)))", "lt.logsumexp(2.0 * x)",
    "lt.logsumexp(0.5 * x)", "lt.logsumexp(-x)", "lt.tanh(lse / 50.0)", "lt.log(1.0 + lt.square(lse))",
    "sum(lt.where(lt.valid(k), lse - x[k], 0.0) for k in ys)", "lt.clamp(cost, 0.0, 5.0)",
    "sum(lt.where(lt.valid(k), e * (lse - z[k]), 0.0) for k, e in zip(ys, c, strict=True))",
    "lt.where(f, 0.0, cost)", "lt.where(f & (a > 0.0), 2.0 * cost, lse)", "lt.where(lt.any(q), cost, 0.0)",
    "lt.where(f, lt.exp(-a), 0.0) * cost", "lt.where(lt.argmax(x) == y, 0.0, cost)", "lt.exp(-cost)",
    "lt.stop_gradient(t[y]) * cost", "-lt.exp(log_p - lt.stop_gradient(t[y])) * a",
    "lt.stop_gradient(lt.softmax(x)[y]) * cost", "lt.where(lt.stop_gradient(t[y]) > 0.0, cost, 0.0)",
)  # fmt: skip


@dataclass
class FactoredLoss(WildLoss):
    """A loss, and how its first columns differ from the others.

    Args:
        first: how many they are.
        shift: what is added to their logits.
        signs: what it is multiplied with, drawn for each token.
    """

    first: int = 0
    shift: float = 0.0
    signs: tuple[int, ...] = (1,)

    def arrays(self, tokens, vocab, hidden, dtype="float32"):
        made = super().arrays(tokens, vocab, hidden)
        rng = np.random.default_rng([17, self.seed])
        rows, columns = made["z"]
        if self.shift:
            rows[:, 0] = rng.choice(self.signs, tokens)
            columns[: self.first, 0] += self.shift
        if "m" in made and rng.random() < 0.3:
            made["m"][: self.first] = False
        if "w" in made and rng.random() < 0.3:
            made["w"][rng.random(vocab) < 0.3] = 0
        if {"q", "f"} <= made.keys() and rng.random() < 0.5:
            made["q"][~made["f"]] = False  # tokens that a branch leaves out
        for name in made.keys() & {"z", "t"}:
            made[name] = tuple(operand.astype(numpy_dtype(dtype)) for operand in made[name])
        return made


def factored_loss(seed: int) -> FactoredLoss:
    """The loss of that seed; the same on every machine."""
    rng = random.Random(f"factored {seed}")
    x = "z"
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        x = rng.choice(STEPS).format(x=x)
    terms = [rng.choice(USUAL if rng.random() < 0.6 else RARE) for _ in range(rng.choice([1, 1, 2]))]
    lines = [f"x = {x}", "lse = lt.logsumexp(x)", "cost = lse - x[y]", "log_p = lt.log_softmax(x)[y]",
             "ratio = lt.exp(log_p - a)", f"return {' + '.join(terms)}"]  # fmt: skip
    source, used, loss = defined(seed, [f"    {line}" for line in lines])
    shift = rng.choice(SHIFTS) if rng.random() < 0.6 else 0.0
    first, signs = rng.choice([1, 7, 64, 128, 256]), rng.choice([(1,), (1,), (0, 1), (-1, 0, 1)])
    is_grid = rng.random() < 0.5
    return FactoredLoss(seed, source, used, is_grid, loss, rng.choice(SCALES), 1.0, first, shift, signs)
