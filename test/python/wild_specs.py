"""Random losses that nobody would choose: deep, with masks of -inf, kinks, sweeps over vocabulary
inputs alone, two projections, computed indices, logits that are products and large.

`random_specs` draws losses that are well-conditioned, so that a tight gate can be asked of them.
The losses here need not be: whoever compares must first find out whether there is a right answer,
as test/e2e/fuzz_verdict.py does.
"""

from __future__ import annotations

import random
import re
import zlib
from dataclasses import dataclass

import logitile as lt
import numpy as np
from random_specs import RandomLoss, compiled, needed_lines, numpy_dtype, parameters_of
from wild_grammar import Grammar

ENTRIES = 3  # K of the Token[int, K] and Token[float, K] inputs
LARGE = (1e2, 1e3, 1e4, 1e4, 1e6, 1e9)  # what large logits are multiplied with


@dataclass
class WildLoss(RandomLoss):
    """A loss with its text and the kind of numbers that its inputs hold.

    Args:
        scale: what the logits are multiplied with.
        bias: what the first Vocab input is multiplied with.
    """

    scale: float = 1.0
    bias: float = 1.0

    def arrays(self, tokens: int, vocab: int, hidden: tuple[int, int], dtype: str = "float32") -> dict:
        """Arguments of a call by name. What one of them holds does not depend on
        which others there are.

        Args:
            hidden: the hidden size of each of two projections.
        """
        made = {}
        for name in self.inputs:
            rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
            size = hidden[name == "t"]
            made[name] = self._pair(rng, tokens, vocab, size) if name in "zt" else self._input(
                name, rng, tokens, vocab
            )  # fmt: skip
        for name in made.keys() & {"z", "t"}:
            made[name] = tuple(operand.astype(numpy_dtype(dtype)) for operand in made[name])
        return made

    def _pair(self, rng, tokens, vocab, size):
        """Logits with a standard deviation of about 3 times the scale.
        On a grid many of them are equal.
        """
        if self.grid:
            step = 2.0 ** round(np.log2(self.scale * 4 / size**0.5))
            rows, columns = (rng.integers(-1, 2, (n, size)) for n in (tokens, vocab))
            return rows.astype(np.float32), (columns * step).astype(np.float32)
        columns = rng.normal(size=(vocab, size)) * 3 * self.scale / size**0.5
        return rng.normal(size=(tokens, size)).astype(np.float32), columns.astype(np.float32)

    def _input(self, name, rng, tokens, vocab):
        values = _MAKERS[name](rng, tokens, vocab)
        if self.grid and name in ("a", "u", "n"):
            values = np.round(values * 4) / 4
        if name == "u":
            values = values * self.bias
        return values.astype(np.float32) if values.dtype == np.float64 else values


def _distribution(rng, tokens, vocab):
    weights = np.exp(rng.normal(size=(tokens, vocab)))
    return weights / weights.sum(1, keepdims=True)


def _some_invalid(rng, tokens, vocab):
    indices = rng.integers(0, vocab, size=(tokens, ENTRIES))
    return np.where(rng.random((tokens, ENTRIES)) < 0.2, -100, indices)


_MAKERS = {
    "y": lambda rng, tokens, vocab: rng.integers(0, vocab, size=tokens),
    "ys": _some_invalid,
    "a": lambda rng, tokens, vocab: rng.normal(size=tokens),
    "b": lambda rng, tokens, vocab: rng.uniform(0.5, 1.5, tokens),
    "c": lambda rng, tokens, vocab: rng.uniform(0.5, 1.5, (tokens, ENTRIES)),
    "f": lambda rng, tokens, vocab: rng.random(tokens) < 0.5,
    "s": lambda rng, tokens, vocab: np.asarray(rng.uniform(0.75, 1.25)),
    "r": lambda rng, tokens, vocab: rng.normal(size=() if rng.random() < 0.5 else tokens),
    "u": lambda rng, tokens, vocab: rng.normal(size=vocab),
    "w": lambda rng, tokens, vocab: rng.uniform(0.5, 1.5, vocab),
    "m": lambda rng, tokens, vocab: rng.random(vocab) < rng.choice([0.2, 0.8, 1.0], p=[0.3, 0.6, 0.1]),
    "g": lambda rng, tokens, vocab: rng.integers(0, 4, size=vocab).astype(np.int32),
    "d": _distribution,
    "n": lambda rng, tokens, vocab: rng.normal(size=(tokens, vocab)),
    "q": lambda rng, tokens, vocab: rng.random((tokens, vocab)) < 0.7,
    "seed": lambda rng, tokens, vocab: rng.integers(-(2**31), 2**31, dtype=np.int32, size=()),
}


def wild_loss(seed: int, has_lists: bool = True) -> WildLoss:
    """The loss of that seed; the same on every machine.

    Args:
        has_lists: some seeds return a list beside what they return without it.
    """
    rng = random.Random(f"wild {seed}")
    kind = rng.choices(["usual", "grid", "large", "large grid"], [66, 20, 9, 5])[0]
    grammar = Grammar(rng, is_large="large" in kind)
    write = grammar.outputs if rng.random() < 0.2 else grammar.loss
    result = grammar.late_loss() if seed % 12 == 11 else write()
    if has_lists and seed % 11 == 4:
        result = with_list(seed, grammar, result)
    lines = [*grammar.lines, f"    return {result}"]
    younger = {3: with_younger_functions, 5: with_random_numbers}.get(seed % 7)
    source, used, loss = defined(seed, younger(seed, lines) if younger else lines)
    scale = rng.choice(LARGE) if "large" in kind else 1.0
    bias = rng.choice([1.0, 1.0, scale]) if "large" in kind else 1.0
    return WildLoss(seed, source, used, "grid" in kind, loss, scale, bias)


def with_list(seed: int, grammar: Grammar, result: str) -> str:
    """The same outputs and a list, which may be made of the same variables; what it is,
    is drawn apart.
    """
    others, grammar.rng = grammar.rng, random.Random(f"list {seed}")
    made = grammar.best(grammar.rng.choice([1, 2, 3]))
    grammar.rng = others
    has_names = result.startswith("lt.Outputs(")
    outputs = result.removeprefix("lt.Outputs(")[:-1] if has_names else f"loss={result}"
    return f"lt.Outputs({outputs}, best={made}[0], places={made}[1])"


# Functions that came after the seeds, by the ones whose places they take in some losses.
# The other losses stay.
YOUNGER = {"lt.tanh(": ("lt.erf(", "lt.sin(", "lt.cos("), "lt.softplus(": ("lt.gelu(",)}


def with_younger_functions(seed: int, lines: list[str]) -> list[str]:
    """The same lines with younger functions."""
    for old, new in YOUNGER.items():
        lines = [line.replace(old, new[seed // 7 % len(new)]) for line in lines]
    return lines


DRAWS = (
    "lt.uniform(seed)", "(lt.uniform(seed) - lt.uniform(seed, stream=7))", "lt.uniform(-5, stream=seed)",
    "(-lt.log(-lt.log1p(-lt.uniform(seed))))", "lt.to_float(lt.uniform(seed) < 0.8)",
    "lt.uniform(y, stream=seed)",
)  # fmt: skip


def with_random_numbers(seed: int, lines: list[str]) -> list[str]:
    """The same lines with random numbers: for the Dense input n,
    and for the last use of one input more.
    """
    draw = DRAWS[seed // 7 % len(DRAWS)]
    lines = [re.sub(r"\bn\b", draw, line) for line in lines]
    for name, of_its_kind in (("u", draw), ("a", f"{draw}[0]")):
        for index in reversed(range(len(lines))):
            changed = re.sub(rf"(?<![.\w]){name}\b", of_its_kind, lines[index], count=1)
            if changed != lines[index]:
                return [*lines[:index], changed, *lines[index + 1 :]]
    return lines


def defined(seed: int, lines: list[str]) -> tuple[str, tuple[str, ...], lt.Loss]:
    """The text of a loss with these lines, the names of its inputs, and what it defines."""
    lines = needed_lines(lines)
    if "z" not in parameters_of(lines)[0]:  # a loss without logits is refused
        start, mark, end = lines[-1].rpartition("loss=" if "loss=" in lines[-1] else "return ")
        lines[-1] = f"{start}{mark}0.1 * lt.mean(z) + {end}"
    used, parameters = parameters_of(lines)
    source = "\n".join(["@lt.loss", f"def wild_loss({parameters}):", *lines, ""])
    return source, used, compiled(source, f"<wild loss {seed}>")
