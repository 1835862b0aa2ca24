"""Random expressions: the entry of a value at an index is the number that a sweep has there.

Comparisons of the two show a single bit. Simplification is what makes them differ: it may leave out
a part of one entry, and not of the others.
"""

import random

import numpy as np
import pytest
import random_specs
from backends import jit
from test_consistency import run

BLOCK = 10
LEAVES = (
    "z", "z", "u", "d", "s", "1.5", "lt.mean(z)", "u[y]", "z[y]", "lt.to_float(lt.column()) * 0.1",
    "lt.to_float(lt.column() - y)", "lt.where(lt.column() == y, 0.0, 1.0)", "lt.where(m, z, u)",
    "lt.to_float(lt.column() == 0)",
)  # fmt: skip
INDICES = ("y", "0", "5", "lt.argmax(z)", "lt.vocab_size() - 1")
# {a} and {b} are expressions. Functions that round get an input beside a: where there is none, as
# in the exponential of a column, the entry at a constant index is computed while the loss is
# compiled.
FORMS = (
    "({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} * {b})", "(-{a})", "lt.abs({a})", "lt.square({a})",
    "lt.maximum({a}, {b})", "lt.minimum({a}, {b})", "lt.where({a} > 0.2, {b}, u)",
    "lt.where(lt.column() == y, {a}, {b})", "lt.where(lt.column() <= 5, {a}, {b})",
    "(lt.to_float(lt.column() - y) * {a})", "(lt.to_float(lt.column()) * {a})",
    "({a} / (1.0 + lt.exp({b} + u)))", "lt.exp(lt.minimum({a} + u, 1.0))", "lt.sigmoid({a} + u)",
    "(5.0 * lt.tanh(({a} + u) / 5.0))", "lt.log1p(lt.square({a} + u))", "lt.sqrt(0.5 + lt.square({a} + u))",
    "(0.3 * lt.exp2(lt.minimum({a} + u, 1.0)))",
    "lt.log_softmax({a} + u)", "lt.softmax({a} + u)", "({a} + u - lt.max({a} + u))",
)  # fmt: skip
SOURCE = """
@lt.loss
def entries(z: lt.Logits, y: lt.Token[int], s: lt.Scalar, u: lt.Vocab[float], m: lt.Vocab[bool],
            d: lt.Dense[float]):
    x, i = {expression} + 0.0 * u, {index}
    p, log_p = lt.softmax(x), lt.log_softmax(x)

    def own(a):
        return lt.count((lt.column() == i) & ((a == a[i]) | (lt.isnan(a) & lt.isnan(a[i]))))

    used = z[y] * s * u[y] * d[y] * lt.where(m[y], 1.0, 2.0)
    return lt.Outputs(x=own(x), p=own(p), log_p=own(log_p), used=used)
"""


def expression(rng, depth):
    if depth <= 0:
        return rng.choice(LEAVES)
    parts = {"a": expression(rng, depth - 1), "b": expression(rng, depth - rng.choice((1, 2)))}
    return rng.choice(FORMS).format(**parts)


def differing(seed):
    """A text for each value of the random loss whose entry differs."""
    rng = random.Random(seed)
    source = SOURCE.format(expression=expression(rng, rng.choice((2, 3, 4))), index=rng.choice(INDICES))
    tokens, vocab = rng.choice(((9, 33), (17, 70), (5, 300)))
    numbers = np.random.default_rng(seed)
    given = {
        "z": tuple(numbers.standard_normal((rows, 6)).astype(np.float32) for rows in (tokens, vocab)),
        "y": numbers.integers(0, vocab, tokens),
        "s": np.float32(0.7),
        "u": numbers.standard_normal(vocab).astype(np.float32),
        "m": numbers.random(vocab) < 0.5,
        "d": numbers.standard_normal((tokens, vocab)).astype(np.float32),
    }
    found = run(jit(random_specs.compiled(source, f"<one value {seed}>")), given)
    return [f"seed {seed}: {name}\n{source}" for name in ("x", "p", "log_p") if (found[name] != 1).any()]


@pytest.mark.contract("5 one value")
@pytest.mark.emulated("full")
@pytest.mark.parametrize("first", range(60, 120, BLOCK))
def test_entries_of_random_expressions(first):
    assert not "".join(text for seed in range(first, first + BLOCK) for text in differing(seed))


@pytest.mark.full
@pytest.mark.parametrize("first", [*range(0, 60, BLOCK), *range(120, 240, BLOCK)])
def test_entries_of_more_random_expressions(first):
    assert not "".join(text for seed in range(first, first + BLOCK) for text in differing(seed))
