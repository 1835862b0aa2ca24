"""Random losses from the grammar of the language, with inputs for which they are well-conditioned.

`random_loss(seed)` writes the Python text of a loss and decorates it. The text is built from a few
kinds of values: logits-like varying values, probabilities, log-probabilities and one-per-token
numbers, each from a menu whose items nest. A loss that compares, rounds or takes absolute values is
a *grid* loss: its inputs must be multiples of a power of two, so that logits are exact at every
precision and no comparison depends on rounding.
"""

from __future__ import annotations

import linecache
import random
import re
from dataclasses import dataclass, field

import logitile as lt
import numpy as np

ENTRIES = 3  # K of the Token[int, K] and Token[float, K] inputs
# seeds from here on use these inputs as lists; earlier ones keep their losses
FIRST_WITH_LISTS = 310000

ANNOTATIONS = {
    "z": "lt.Logits", "t": "lt.Logits", "y": "lt.Token[int]", "ys": "lt.Token[int, lt.K]",
    "a": "lt.Token[float]", "b": "lt.Token[float]", "s": "lt.Scalar", "u": "lt.Vocab[float]",
    "w": "lt.Vocab[float]", "m": "lt.Vocab[bool]", "d": "lt.Dense[float]", "f": "lt.Token[bool]",
    "g": "lt.Vocab[int]", "q": "lt.Dense[bool]", "c": "lt.Token[float, lt.K]", "n": "lt.Dense[float]",
    "r": "lt.Scalar | lt.Token[float]", "seed": "lt.Scalar[int]",
}  # fmt: skip


@dataclass
class RandomLoss:
    """A loss with its text and the inputs that suit it.

    Args:
        inputs: names of its parameters; see `arrays` for what each of them holds.
        grid: logits and what is compared with them must be exact.
    """

    seed: int
    source: str
    inputs: tuple[str, ...]
    grid: bool
    loss: lt.Loss = field(repr=False)

    @property
    def differentiable(self) -> tuple[str, ...]:
        """Names of the gradients one can ask for."""
        pairs = [name for name in self.inputs if name in "zt"]
        several = len(pairs) > 1
        names = [f"{p}.{o}" if several else o for p in pairs for o in ("hidden", "weight")]
        return tuple(names + [name for name in self.inputs if name in "abcdnrsuw"])

    def arrays(self, tokens: int, vocab: int, hidden: int, dtype: str = "float32", seed: int = 0) -> dict:
        """Arguments of a call by name: pairs as (hidden [N, D], weight [V, D]) of 'dtype'."""
        rng = np.random.default_rng([seed, self.seed])
        made = {name: _MAKERS[name](rng, tokens, vocab, hidden, self.grid) for name in self.inputs}
        for name in made.keys() & {"z", "t"}:
            made[name] = tuple(operand.astype(numpy_dtype(dtype)) for operand in made[name])
        return made


def random_loss(seed: int, several: bool = False) -> RandomLoss:
    """The loss of that seed; the same on every machine.

    Args:
        several: it returns lt.Outputs with a weight, further numbers,
            indices and conditions, each or not.
    """
    grammar = _Grammar(random.Random(seed), has_lists=seed >= FIRST_WITH_LISTS)
    result = grammar.outputs() if several else grammar.loss()
    lines = needed_lines([*grammar.lines, f"    return {result}"])
    used, parameters = parameters_of(lines)
    source = "\n".join(["@lt.loss", f"def random_loss({parameters}):", *lines, ""])
    return RandomLoss(seed, source, used, grammar.grid, compiled(source, f"<random loss {seed}>"))


def parameters_of(lines: list[str]) -> tuple[tuple[str, ...], str]:
    """The inputs whose names the lines have, and how the loss declares them."""
    words = set(re.findall(r"\w+", " ".join(lines)))
    used = tuple(name for name in ANNOTATIONS if name in words)
    return used, ", ".join(f"{name}: {ANNOTATIONS[name]}" for name in used)


def needed_lines(lines: list[str]) -> list[str]:
    """The last line, and those whose variables it needs."""
    kept, words = [], {"return"}
    for line in reversed(lines):
        if line.split()[0] in words:
            kept.append(line)
            words.update(re.findall(r"\w+", line))
    return kept[::-1]


def compiled(source: str, file: str) -> lt.Loss:
    """The loss that the text defines."""
    # tracebacks show the text
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {"lt": lt}
    exec(compile(source, file, "exec"), scope)
    return next(item for item in scope.values() if isinstance(item, lt.Loss))


# ---- inputs --------------------------------------------------------------------------------------


def numpy_dtype(name):
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def _pair(rng, tokens, vocab, hidden, grid):
    """Logits with a standard deviation of about 3;
    on a grid they are multiples of 1/4 and exact in 16 bits too.
    """
    if not grid:
        rows = rng.normal(size=(tokens, hidden))
        return rows.astype(np.float32), (rng.normal(size=(vocab, hidden)) * 3 / hidden**0.5).astype(
            np.float32
        )
    step = 2.0 ** np.round(np.log2(3 / (2 * hidden / 3) ** 0.5))
    rows = rng.integers(-1, 2, size=(tokens, hidden)).astype(np.float32)
    return rows, (rng.integers(-1, 2, size=(vocab, hidden)) * max(step, 0.25)).astype(np.float32)


def _quarters(values, grid):
    return (np.round(values * 4) / 4 if grid else values).astype(np.float32)


def _distribution(rng, tokens, vocab, hidden, grid):
    weights = np.exp(rng.normal(size=(tokens, vocab)))
    return (weights / weights.sum(1, keepdims=True)).astype(np.float32)


def _some_invalid(rng, tokens, vocab, hidden, grid):
    indices = rng.integers(0, vocab, size=(tokens, ENTRIES))
    return np.where(rng.random((tokens, ENTRIES)) < 0.2, -100, indices)


_MAKERS = {
    "z": _pair,
    "t": _pair,
    "y": lambda rng, tokens, vocab, hidden, grid: rng.integers(0, vocab, size=tokens),
    "ys": _some_invalid,
    "a": lambda rng, tokens, vocab, hidden, grid: _quarters(rng.normal(size=tokens), grid),
    "b": lambda rng, tokens, vocab, hidden, grid: rng.uniform(0.5, 1.5, tokens).astype(np.float32),
    "s": lambda rng, tokens, vocab, hidden, grid: np.float32(rng.uniform(0.75, 1.25)),
    "u": lambda rng, tokens, vocab, hidden, grid: _quarters(rng.normal(size=vocab), grid),
    "w": lambda rng, tokens, vocab, hidden, grid: rng.uniform(0.5, 1.5, vocab).astype(np.float32),
    "m": lambda rng, tokens, vocab, hidden, grid: rng.random(vocab) < 0.8,
    "c": lambda rng, tokens, vocab, hidden, grid: rng.uniform(0.5, 1.5, (tokens, ENTRIES)).astype(np.float32),
    "d": _distribution,
    "f": lambda rng, tokens, vocab, hidden, grid: rng.random(tokens) < 0.5,
    "g": lambda rng, tokens, vocab, hidden, grid: rng.integers(0, 4, size=vocab).astype(np.int32),
    "q": lambda rng, tokens, vocab, hidden, grid: rng.random((tokens, vocab)) < 0.7,
}


# ---- the grammar ---------------------------------------------------------------------------------


class _Grammar:
    """Writes expressions. Methods named after a kind of value return text;
    'depth' bounds how far they nest.
    """

    def __init__(self, rng: random.Random, has_lists: bool = False):
        self.rng = rng
        self.has_lists = has_lists
        self.lines: list[str] = []
        self.grid = False
        self.named: dict[str, list[str]] = {"logits": [], "log_probs": []}

    def choose(self, *menu):
        """The text of a random item; items are functions,
        so that only the chosen one leaves traces.
        """
        return self.rng.choice(menu)()

    def number(self, *numbers: float) -> str:
        return str(self.rng.choice(numbers))

    def name(self, kind: str, text: str) -> str:
        """Keeps a value in a variable, so that later items may share it."""
        variable = f"v{len(self.lines)}"
        self.lines.append(f"    {variable} = {text}")
        self.named[kind].append(variable)
        return variable

    def loss(self) -> str:
        """A sum of one to three terms; the first reads z in some common way."""
        terms = [self.first_term(2)]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            terms.append(f"{self.number(0.1, 0.25, 0.5)} * {self.term(2)}")
        if self.has_lists:
            terms.append(f"{self.number(0.1, 0.25, 0.5)} * {self.over_places(2)}")
        return " + ".join(terms)

    def outputs(self) -> str:
        fields = [f"loss={self.loss()}"] if self.rng.random() < 0.85 else []
        if fields and self.rng.random() < 0.5:
            fields.append(f"weight=lt.stop_gradient({self.rng.choice(['w[y]', 'b'])})")
        menu = [lambda: f"more={self.term(2)}", lambda: f"index=lt.argmax({self.exact()})",
                lambda: f"number=lt.count({self.condition()})", lambda: f"found=lt.any({self.exact()} > 5.0)",
                lambda: f"held=lt.stop_gradient({self.reduced(2)})"]  # fmt: skip
        for item in self.rng.sample(menu, self.rng.choice([1, 1, 2, 3])):
            fields.append(item())
        if not any(field.startswith(("loss", "more")) for field in fields):
            fields.append(f"more={self.first_term(2)}")
        return f"lt.Outputs({', '.join(fields)})"

    def first_term(self, depth):
        return self.choose(
            lambda: "(lt.logsumexp(z) - z[y])",
            lambda: f"-{self.log_probs(depth)}[y]",
            lambda: f"-lt.log({self.probs(depth)}[y] + 0.01)",
            lambda: f"lt.logsumexp({self.logits(depth)}) - z[y]",
        )

    # values that vary: unbounded, about as large as logits

    def logits(self, depth):
        if depth <= 0 or self.rng.random() < 0.15:
            return self.raw_logits()
        if self.named["logits"] and self.rng.random() < 0.25:
            return self.rng.choice(self.named["logits"])
        text = self.choose(
            lambda: f"({self.logits(depth - 1)} / {self.number(2.0, 1.5, 4.0)})",
            lambda: f"({self.logits(depth - 1)} * (s + 0.5))",
            lambda: f"({self.logits(depth - 1)} / s)",
            lambda: f"({self.logits(depth - 1)} / (b + 0.5))",
            lambda: f"({self.logits(depth - 1)} + u)",
            lambda: f"({self.logits(depth - 1)} * w)",
            lambda: f"({self.logits(depth - 1)} + a * w)",
            lambda: f"(5.0 * lt.tanh({self.logits(depth - 1)} / 5.0))",
            lambda: f"(6.0 * lt.sigmoid({self.logits(depth - 1)}))",
            lambda: f"lt.softplus({self.logits(depth - 1)})",
            lambda: f"(0.5 * ({self.logits(depth - 1)} + {self.raw_logits()}))",
            lambda: f"(-{self.logits(depth - 1)})",
            lambda: self.centred(depth - 1),
            lambda: self.standardised(depth - 1),
            lambda: f"lt.where(lt.column() == y, {self.logits(depth - 1)} - s, {self.raw_logits()})",
            lambda: self.kinked(),
        )
        return self.name("logits", text) if self.rng.random() < 0.5 else text

    def raw_logits(self):
        return self.rng.choice(["z", "z", "t"])

    def centred(self, depth):
        x = self.name("logits", self.logits(depth))
        return f"({x} - lt.mean({x}))"

    def standardised(self, depth):
        x = self.name("logits", self.logits(depth))
        variance = f"lt.mean(lt.square({x} - lt.mean({x})))"
        return self.choose(
            lambda: f"(2.0 * ({x} - lt.mean({x})) / lt.sqrt({variance} + 0.1))",
            lambda: f"(2.0 * ({x} - lt.mean({x})) * lt.rsqrt({variance} + 0.1))",
        )

    def kinked(self):
        x, other = self.exact(), f"({self.raw_logits()} + u)"
        return self.choose(
            lambda: f"lt.maximum({x}, {other})",
            lambda: f"lt.minimum({x}, {other})",
            lambda: f"lt.abs({x})",
            lambda: f"lt.clamp({x}, -2.0, 3.0)",
            lambda: f"({x} * lt.sign({other}))",
            lambda: f"lt.where({x} > {other}, {x}, 0.5 * {other})",
            lambda: f"({self.raw_logits()} - 0.5 * lt.floor({x}))",
        )

    def exact(self):
        """A varying value that is exact on a grid."""
        self.grid = True
        x = self.raw_logits()
        return self.choose(
            lambda: x,
            lambda: f"({x} + u)",
            lambda: f"({x} - {x}[y])",
            lambda: f"({x} - a)",
            lambda: f"({x} - lt.max({x}))",
        )

    # values that vary: masked, for exponentials only

    def exponents(self, depth):
        x = self.logits(depth)
        return self.choose(
            lambda: x,
            lambda: x,
            lambda: f"lt.where(m | (lt.column() == y), {x}, -float('inf'))",
        )

    def log_probs(self, depth):
        if self.named["log_probs"] and self.rng.random() < 0.3:
            return self.rng.choice(self.named["log_probs"])
        text = self.choose(
            lambda: f"lt.log_softmax({self.exponents(depth - 1)})",
            lambda: f"lt.log_softmax({self.exponents(depth - 1)})",
            lambda: f"lt.log(lt.softmax({self.exponents(depth - 1)}))",
        )
        return self.name("log_probs", text)

    def probs(self, depth):
        return self.choose(
            lambda: f"lt.softmax({self.exponents(depth - 1)})",
            lambda: f"lt.softmax({self.logits(depth - 1)})",
            lambda: f"lt.exp({self.log_probs(depth)})",
            lambda: f"(lt.softmax({self.logits(depth - 1)}) ** {self.number(2.0, 1.5)})",
            lambda: f"(lt.softmax({self.logits(depth - 1)}) ** b)",
            lambda: f"lt.sqrt(lt.softmax({self.logits(depth - 1)}) * lt.softmax({self.logits(depth - 1)}))",
            lambda: f"(lt.sigmoid({self.logits(depth - 1)} - 3.0) / {self.number(4.0, 8.0)})",
        )

    def bounded(self, depth):
        return self.choose(
            lambda: f"lt.tanh({self.logits(depth - 1)} / 3.0)",
            lambda: f"lt.sigmoid({self.logits(depth - 1)})",
            lambda: f"(1.0 - lt.softmax({self.logits(depth - 1)}))",
            lambda: "w",
            lambda: f"lt.to_float({self.condition()})",
            lambda: f"lt.exp2(-lt.softplus({self.logits(depth - 1)}))",
            lambda: f"lt.log1p(lt.square({self.logits(depth - 1)}) / 4.0)",
            lambda: f"lt.expm1(-lt.softplus({self.logits(depth - 1)}))",
            lambda: f"lt.log2(1.0 + lt.exp(-lt.softplus({self.logits(depth - 1)})))",
        )

    def condition(self):
        return self.choose(
            lambda: "m",
            lambda: "q",
            lambda: "(g == g[y])",
            lambda: "(f & (g > 1))",
            lambda: "(lt.column() != y)",
            lambda: f"({self.exact()} >= {self.exact()})",
            lambda: f"(({self.exact()} < 1.0) & m)",
            lambda: f"~({self.exact()} > 0.5)",
        )

    # one per token

    def term(self, depth):
        return self.choose(
            lambda: self.reduced(depth),
            lambda: self.reduced(depth),
            lambda: self.picked(depth),
            lambda: f"lt.square({self.number(0.25, 0.5)} * {self.reduced(depth)})",
            lambda: f"a * {self.reduced(depth)}",
            lambda: f"lt.tanh({self.reduced(depth)} / 4.0) * {self.picked(depth)}",
            lambda: f"lt.stop_gradient(lt.exp(-lt.softplus({self.picked(depth)}))) * {self.reduced(depth)}",
            lambda: f"lt.log_sigmoid(b * {self.picked(depth)} - a)",
            lambda: f"lt.sqrt(1.0 + lt.square({self.reduced(depth)}))",
            lambda: f"lt.where(a > 0.25, {self.reduced(depth)}, {self.picked(depth)})",
            lambda: f"lt.where(f, {self.reduced(depth)}, lt.to_float(y) / lt.vocab_size())",
            lambda: self.over_entries(depth),
        )

    def reduced(self, depth):
        def p():
            return self.probs(depth)

        return self.choose(
            lambda: f"lt.logsumexp({self.logits(depth)})",
            lambda: f"-lt.sum({p()} * lt.log_softmax({self.logits(depth)}))",
            lambda: self.entropy(depth),
            lambda: self.divergence(depth),
            lambda: f"lt.mean({self.logits(depth)} * w)",
            lambda: f"lt.sum({p()} * {self.bounded(depth)})",
            lambda: f"lt.mean({self.bounded(depth)} * {self.bounded(depth)})",
            lambda: f"-lt.sum(d * lt.log_softmax({self.logits(depth)}))",
            lambda: f"lt.sum(d * {self.bounded(depth)})",
            lambda: f"-lt.log(lt.sum({p()} * {p()}) + 0.001)",
            lambda: f"lt.log(lt.sum(lt.exp({self.logits(depth)})))",
            lambda: f"lt.log(lt.sum(w * lt.exp({self.logits(depth)} - lt.logsumexp(z))) + 1.0)",
            lambda: f"lt.sum({p()} * lt.square({self.logits(depth - 1)} / 4.0))",
            lambda: self.extreme(),
            lambda: self.counted(),
        )

    def entropy(self, depth):
        x = self.log_probs(depth)
        return f"-lt.sum(lt.exp({x}) * {x})"

    def divergence(self, depth):
        x, y = f"lt.log_softmax({self.logits(depth)})", f"lt.log_softmax({self.logits(depth)} / 3.0 + u)"
        x, y = self.name("log_probs", x), self.name("log_probs", y)
        mixed = f"lt.log(0.5 * lt.exp({x}) + 0.5 * lt.exp({y}))"
        return self.choose(
            lambda: f"lt.sum(lt.exp({x}) * ({x} - {y}))",
            lambda: f"lt.sum(lt.exp({x}) * ({x} - {mixed}))",
            lambda: f"-lt.log(lt.sum(lt.sqrt(lt.exp({x}) * lt.exp({y}))))",
            lambda: f"lt.sum(lt.square(lt.exp({x}) - lt.exp({y})))",
        )

    def extreme(self):
        x = self.exact()
        return self.choose(
            lambda: f"lt.max({x})",
            lambda: f"lt.min({x})",
            lambda: f"lt.max(lt.where(lt.column() != y, {x}, -float('inf')))",
            lambda: f"({self.raw_logits()}[lt.argmax({x})] - lt.mean(z))",
            lambda: f"lt.log_softmax({self.raw_logits()})[lt.argmin({x})]",
        )

    def counted(self):
        return self.choose(
            lambda: f"0.1 * lt.to_float(lt.count({self.condition()})) * lt.tanh(lt.logsumexp(z) / 8.0)",
            lambda: f"lt.where(lt.any({self.exact()} > 6.0), lt.logsumexp(z), lt.mean(z))",
            lambda: f"lt.where(lt.all({self.exact()} < 4.0), lt.mean(z), lt.logsumexp({self.raw_logits()}))",
        )

    def picked(self, depth):
        return self.choose(
            lambda: f"{self.log_probs(depth)}[y]",
            lambda: f"{self.logits(depth)}[y]",
            lambda: f"{self.probs(depth)}[y]",
            lambda: f"lt.log_softmax({self.logits(depth)})[{self.index()}]",
            lambda: f"{self.logits(depth)}[{self.index()}]",
            lambda: f"w[y] * lt.logsumexp({self.logits(depth)})",
        )

    def index(self):
        return self.choose(
            lambda: "lt.where(y + 1 < lt.vocab_size(), y + 1, 0)",
            lambda: "lt.maximum(y - 2, 0)",
            lambda: f"lt.argmax({self.exact()})",
            lambda: "0",
        )

    def over_entries(self, depth):
        if self.has_lists:
            return self.over_places(depth)
        x = self.name("log_probs", f"lt.log_softmax({self.logits(depth)})")
        return self.choose(
            lambda: f"-sum(lt.where(lt.valid(k), {x}[k], 0.0) for k in ys)",
            lambda: f"sum(lt.where(lt.valid(k), -lt.log(1.1 - lt.exp({x}[k])), 0.0) for k in ys)",
            lambda: f"-sum(0.5**i * lt.where(lt.valid(k), {x}[k], 0.0) for i, k in enumerate(ys))",
            lambda: f"-sum(lt.where(lt.valid(k), e * {x}[k], 0.0) for k, e in zip(ys, c, strict=True))",
        )

    def over_places(self, depth):
        """A sum over a list, with what a place that is ignored picks kept out."""
        term = self.listed(depth)
        total = self.choose(
            lambda: f"lt.sum(lt.where(lt.valid(ys), {term}, 0.0))",
            lambda: f"lt.mean(lt.where(lt.valid(ys), {term}, 0.0))",
            lambda: f"lt.sum(lt.where(lt.valid(ys) & (c < 1.2), {term}, 0.0)) / (lt.sum(c) + 1.0)",
        )
        return self.choose(lambda: total, lambda: f"(a * {total})", lambda: f"lt.tanh({total} / 8.0)")

    def listed(self, depth):
        """A float for each place of ys, finite where the index is valid."""
        x = self.choose(
            lambda: f"lt.log_softmax({self.logits(depth)})[ys]",
            lambda: f"lt.log_softmax({self.logits(depth)})[ys]",
            lambda: f"{self.logits(depth)}[ys]",
            lambda: f"{self.probs(depth)}[ys]",
            lambda: f"({self.logits(depth)}[ys] - lt.logsumexp({self.logits(depth)}))",
        )
        return self.choose(
            lambda: x,
            lambda: f"c * {x}",
            lambda: f"lt.log(1.1 + lt.square({x}))",
            lambda: f"lt.square({x} - c) / 8.0",
            lambda: f"lt.sigmoid({x}) * ({x} + a)",
            lambda: f"lt.exp(-c) * ({x} - lt.sum(c) / b)",
            lambda: f"lt.where(ys != y, {x}, c)",
            lambda: f"w[ys] * {x}",
            lambda: f"lt.stop_gradient(lt.sigmoid({x})) * {x}",
        )
