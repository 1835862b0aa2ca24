"""The grammar of the losses of wild_specs: text by the kind of each value. Those are floats that
vary, probabilities and their logarithms, conditions, floats of one token, positive ones of them,
and indices.
"""

from __future__ import annotations

import random
import re


class Grammar:
    """Writes expressions. Methods are named after kinds of values and return text;
    'depth' bounds how far the text nests.

    Args:
        is_large: terms are those that have a right answer for large logits.
    """

    def __init__(self, rng: random.Random, is_large: bool = False):
        self.rng, self.is_large = rng, is_large
        self.lines: list[str] = []
        self.named: dict[str, list[str]] = {}
        self.has_two = rng.random() < 0.35
        self.has_target = rng.random() < 0.85
        self.of_vocab = False  # what is written may read vocabulary inputs and constants only

    # ---- drawing ---------------------------------------------------------------------------------

    def choose(self, *menu):
        """The text of a random item. Items that write lines are functions:
        only the chosen one does so.
        """
        item = self.rng.choice(menu)
        return item() if callable(item) else item

    def chance(self, share):
        return self.rng.random() < share

    def number(self, *numbers):
        return str(self.rng.choice(numbers))

    def kept(self, kind, text, share=0.35):
        """The text, or a variable that later items of the kind may share."""
        if text.isidentifier() or not self.chance(share):
            return text
        variable = f"v{len(self.lines)}"
        self.lines.append(f"    {variable} = {text}")
        self.named.setdefault(self._pool(kind), []).append(variable)
        return variable

    def variable(self, kind, share=0.25):
        """A variable of the kind, or None."""
        known = self.named.get(self._pool(kind))
        return self.rng.choice(known) if known and self.chance(share) else None

    def _pool(self, kind):
        return f"{kind} of the vocabulary" if self.of_vocab else kind

    def over_vocab(self, write):
        """What 'write' makes of vocabulary inputs alone."""
        outside, self.of_vocab = self.of_vocab, True
        text = write()
        self.of_vocab = outside
        return text

    # ---- the result ------------------------------------------------------------------------------

    def loss(self):
        terms = [self.term() for _ in range(self.rng.choice([1, 1, 1, 2]))]
        terms = [term if self.chance(0.4) else f"{self.number(0.5, -0.3, 1.7)} * {term}" for term in terms]
        if self.chance(0.5):
            terms.append(self.choose(f"lt.logsumexp(z) - z[{self.target()}]", "0.1 * lt.mean(z)",
                                     f"-lt.log_softmax(z)[{self.target()}]", "lt.logsumexp(z)"))  # fmt: skip
        return " + ".join(terms)

    def late_loss(self):
        """Logits are read together with a sweep over vocabulary inputs, or fold away."""
        x = self.choose(
            lambda: f"lt.where({self.over_vocab(lambda: self.compared(2))}, z, -1.0)",
            lambda: f"lt.where(u {self.choose('>', '<=')} {self.over_vocab(lambda: self.reduced(1))}, z, u)",
            lambda: f"(z / {self.over_vocab(lambda: self.positive(2))})",
            lambda: f"(z * {self.over_vocab(lambda: self.reduced(1))})",
            lambda: f"(z * {self.over_vocab(lambda: self.probability(1))})",
            lambda: f"(z + {self.over_vocab(lambda: self.log_probability(1))})",
            lambda: f"lt.where(lt.column() <= lt.argmax({self.over_vocab(lambda: self.varying(1))}), z, u)",
            self.folded,
            self.folded,
        )
        x = self.kept("varying", x, 1.0)
        return self.choose(
            f"lt.logsumexp({x})", f"lt.mean(lt.tanh({x}))", f"lt.sum(lt.softmax({x}) * w)", f"lt.max({x})",
            f"-lt.log_softmax({x})[{self.target()}]", f"lt.sum(lt.softmax({x}) * {x})",
        )  # fmt: skip

    def folded(self):
        """Of logits this keeps nothing, or a constant factor of 0."""
        known = self.choose("(z > 1.0)", "(z >= z)", lambda: f"(z <= {self.uniform(0)})")
        return self.choose(
            f"(lt.where({known} == {known}, u, -1.0) * {self.positive(1)})",
            f"(u + 0.0 * z * {self.positive(1)})",
            f"(w * (z - z) + u * {self.positive(1)})",
            f"(lt.to_float({known} | m) * u * {self.positive(1)})",
        )

    def outputs(self):
        fields = [f"loss={self.loss()}"]
        if self.chance(0.3):
            fields.append(f"weight=lt.stop_gradient({self.choose('b', f'w[{self.target()}]')})")
        menu = [lambda: f"more={self.uniform(2)}", lambda: f"index={self.traced_index()}",
                lambda: f"number=lt.count({self.condition(1)})", lambda: f"found={self.decision(1)}",
                lambda: f"held=lt.stop_gradient({self.uniform(2)})"]  # fmt: skip
        fields += [item() for item in self.rng.sample(menu, self.rng.choice([1, 2, 3]))]
        return f"lt.Outputs({', '.join(fields)})"

    def best(self, depth):
        """A variable for the two lists of the largest entries."""
        write = self.rng.choice([self.varying, self.varying, self.log_probability, self.probability])
        most = self.number(1, 2, 5, 16, 50)
        return self.kept("list", f"lt.topk({write(depth)}, min({most}, lt.vocab_size()))", 1.0)

    def term(self):
        depth = self.rng.choice([1, 2, 2, 2, 3])
        return self.sharp(depth) if self.is_large else self.reduced(depth)

    def target(self):
        return "y" if self.has_target else "0"

    # ---- floats that vary ------------------------------------------------------------------------

    def leaf(self):
        if self.of_vocab:
            return self.choose("u", "w", "u", "w", "lt.to_float(g)", "lt.to_float(m)",
                               "(lt.to_float(lt.column()) * 0.01)")  # fmt: skip
        if self.chance(0.6):
            return self.choose("z", "z", "t") if self.has_two else "z"
        return self.choose(
            "u", "w", "d", "n", "u", "lt.to_float(q)",
            lambda: f"(lt.to_float(lt.column() - {self.target()}) * 0.01)",
            lambda: f"(lt.to_float(lt.minimum(lt.column(), {self.index(0)})) * 0.01)",
        )  # fmt: skip

    def varying(self, depth):
        if depth <= 0 or self.chance(0.1):
            return self.leaf()
        known = self.variable("varying")
        if known:
            return known
        kinds = (self.affine, self.affine, self.product, self.smooth, self.kinked, self.centred,
                 self.probability, self.log_probability, self.chosen)  # fmt: skip
        return self.kept("varying", self.rng.choice(kinds)(depth))

    def affine(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            f"({x} * {self.number(0.5, -1.0, 2.0, 0.37)})",
            f"(-{x})",
            lambda: f"({x} / {self.positive(depth - 1)})",
            lambda: f"({x} * {self.positive(depth - 1)})",
            lambda: f"({x} + {self.varying(depth - 1)})",
            lambda: f"({x} - {self.varying(depth - 1)})",
            lambda: f"({x} + {self.uniform(depth - 2)})",
            lambda: f"({self.uniform(depth - 2)} - {x})",
        )

    def product(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            lambda: f"({x} * {self.varying(depth - 1)})",
            f"lt.square({x})",
            f"({x} ** 2.0)",
            lambda: f"({x} * {self.uniform(depth - 2)})",
            lambda: f"({x} * {self.probability(depth - 1)})",
            lambda: f"({x} / lt.exp(lt.tanh({self.varying(depth - 1)})))",
            lambda: f"({x} / (1.0 + lt.exp(-lt.abs({self.varying(depth - 1)}))))",
            lambda: f"({x} / ({self.probability(depth - 1)} * {self.probability(depth - 1)} + 0.01))",
            lambda: f"({x} * lt.exp(lt.minimum({self.varying(depth - 1)}, 1.0)))",
        )

    def smooth(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            f"lt.tanh({x})", f"lt.sigmoid({x})", f"lt.softplus({x})", f"lt.log_sigmoid({x})",
            f"lt.log1p(lt.square({x}))", f"lt.expm1(-lt.abs({x}))", f"lt.exp2(-lt.softplus({x}))",
            f"lt.sqrt(1.0 + lt.square({x}))", f"lt.log(lt.softplus({x}) + 0.05)", f"lt.stop_gradient({x})",
            f"lt.rsqrt(lt.softplus({x}) + 0.3)", f"lt.log2(1.0 + lt.square({x}))",
            f"(5.0 * lt.tanh({x} / 5.0))", f"((lt.abs({x}) + 0.1) ** 1.5)",
        )  # fmt: skip

    def kinked(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            f"lt.abs({x})", f"lt.floor({x})", f"lt.sign({x})",
            f"lt.clamp({x}, -1.0, 2.0)",
            lambda: f"lt.clamp({x}, -2.0, {self.positive(depth - 2)})",
            lambda: f"lt.maximum({x}, {self.varying(depth - 1)})",
            lambda: f"lt.minimum({x}, {self.varying(depth - 1)})",
            lambda: f"(lt.sign({x}) * {self.varying(depth - 1)})",
        )  # fmt: skip

    def chosen(self, depth):
        condition, x = self.condition(depth - 1), self.varying(depth - 1)
        return self.choose(
            lambda: f"lt.where({condition}, {x}, {self.varying(depth - 1)})",
            lambda: f"lt.where({condition}, {x}, {self.number(0.0, -1.0, -2.5)})",
            lambda: f"lt.where({condition}, {x}, {self.uniform(depth - 2)})",
            lambda: f"lt.to_float({condition})",
            lambda: f"(lt.to_float({condition}) * {x})",
        )

    def centred(self, depth):
        x = self.kept("varying", self.varying(depth - 1), 1.0)
        return self.choose(
            f"({x} - lt.max({x}))",
            f"({x} - lt.mean({x}))",
            f"({x} - lt.logsumexp({x}))",
            lambda: f"({x} - {x}[{self.index(depth - 2)}])",
            f"(({x} - lt.mean({x})) * lt.rsqrt(lt.mean(lt.square({x} - lt.mean({x}))) + 0.1))",
        )

    # ---- exponents, probabilities and their logarithms -------------------------------------------

    def exponent(self, depth):
        """What an exponential may be taken of: anything, perhaps masked."""
        write = self.rng.choice([*[self.varying] * 3, self.centred, self.log_probability])
        return self.masked(write(max(depth, 1)), depth)

    def masked(self, x, depth):
        if self.chance(0.6):
            return x
        mask = self.condition(depth - 1)
        if self.chance(0.8):
            mask = f"({mask} | (lt.column() == {self.target() if not self.of_vocab else '0'}))"
        return f"lt.where({mask}, {x}, -float('inf'))"

    def probability(self, depth):
        known = self.variable("probability")
        if known:
            return known
        x = self.exponent(depth - 1)
        return self.kept("probability", self.choose(
            f"lt.softmax({x})", f"lt.softmax({x})",
            lambda: f"lt.exp({self.log_probability(depth)})",
            lambda: self.shifted(x),
            lambda: f"(lt.softmax({x}) * lt.softmax({self.exponent(depth - 1)}))",
            lambda: f"(lt.softmax({x}) ** {self.choose('2.0', '1.5', lambda: self.positive(depth - 2))})",
            lambda: f"(0.5 * lt.softmax({x}) + 0.5 * {self.probability(depth - 1)})" if depth > 0 else "w",
            lambda: f"lt.sqrt(lt.softmax({x}) * lt.softmax({self.exponent(depth - 1)}))",
            self.normalised,
        ))  # fmt: skip

    def shifted(self, x):
        x = self.kept("varying", x, 1.0)
        return f"lt.exp({x} - lt.logsumexp({x}))"

    def normalised(self):
        x = f"lt.exp({self.leaf()} * {self.number(0.5, -0.5, 1.0)})"
        return f"({x} / lt.sum({x}))"

    def log_probability(self, depth):
        known = self.variable("log_probability")
        if known:
            return known
        x = self.exponent(depth - 1)
        return self.kept("log_probability", self.choose(
            f"lt.log_softmax({x})", f"lt.log_softmax({x})", f"lt.log_softmax({x})",
            f"lt.log(lt.softmax({x}))", f"lt.log2(lt.softmax({x}) + 0.01)",
            lambda: f"lt.log({self.probability(depth - 1)} + 0.01)" if depth > 0 else "lt.log(w)",
            lambda: f"lt.log_softmax({x} / {self.positive(depth - 2)})",
        ), 0.6)  # fmt: skip

    # ---- conditions ------------------------------------------------------------------------------

    def condition(self, depth):
        if depth > 0 and self.chance(0.25):
            return self.choose(
                lambda: f"(~{self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} & {self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} | {self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} == {self.condition(depth - 1)})",
            )
        if depth > 0 and self.chance(0.5):
            return self.compared(depth)
        at = "0" if self.of_vocab else self.target()
        menu = ["m", f"(g == g[{at}])", "(g > 1)", "(lt.column() <= 7)", f"(lt.column() != {at})",
                "(lt.column() != lt.vocab_size() // 2)",
                lambda: f"(lt.column() < {self.index(0)})"]  # fmt: skip
        if not self.of_vocab:
            menu += ["q", f"(lt.column() == {at})", "(f & m)", f"(lt.minimum(lt.column(), {at}) >= {at})"]
        return self.choose(*menu)

    def compared(self, depth):
        """A comparison, often of a value with one of its own entries."""
        if self.chance(0.5):
            return self.own_entry(depth)
        x, sign = self.varying(depth - 1), self.rng.choice(["<", "<=", ">", ">="])
        return self.choose(
            f"({x} {sign} {self.number(0.5, -1.0, 0.02)})",
            lambda: f"({x} {sign} {self.varying(depth - 1)})",
            lambda: f"({x} {sign} {self.uniform(depth - 2)})",
            f"lt.isfinite({x})",
        )

    def own_entry(self, depth):
        """A comparison of a value with one of its own entries."""
        x = self.kept("varying", self.varying(max(depth - 1, 1)), 1.0)
        sign = self.rng.choice(["<", "<=", ">", ">="])
        return self.choose(
            f"({x} >= lt.max({x}))", f"({x} - lt.max({x}) == 0.0)", f"({x} <= lt.min({x}))",
            lambda: f"({x} {sign} {x}[{self.index(depth - 1)}])",
            lambda: f"({x} - {x}[{self.index(0)}] {sign} 0.0)",
            f"({x} {sign} lt.mean({x}))",
        )  # fmt: skip

    def decision(self, depth):
        """A condition of one token."""
        if self.of_vocab:
            return self.choose("lt.any(m)", "(lt.count(g > 1) > 3)")
        return self.choose(
            "f", "(a > 0.1)",
            lambda: f"({self.target()} < 5)" if self.has_target else "f",
            lambda: f"lt.any({self.condition(depth - 1)})",
            lambda: f"lt.all({self.condition(depth - 1)})",
            lambda: f"(lt.count({self.condition(depth - 1)}) > 3)",
            lambda: f"(lt.argmax({self.varying(depth - 1)}) == {self.index(0)})",
        )  # fmt: skip

    # ---- one per token ---------------------------------------------------------------------------

    def uniform(self, depth):
        """A float of one token."""
        known = self.variable("uniform")
        if known:
            return known
        if depth <= 0:
            if self.of_vocab:
                return self.choose("s", "lt.mean(w)", "lt.max(u)", "lt.logsumexp(u)", "lt.sum(w * u)", "1.3")
            return self.choose("a", "b", "s", "r", "lt.mean(w)", "lt.max(z)", "lt.logsumexp(z)", "lt.mean(z)",
                               f"z[{self.target()}]", f"u[{self.target()}]", "lt.logsumexp(u)")  # fmt: skip
        if self.chance(0.6):
            return self.kept("uniform", self.reduced(depth))
        x = self.uniform(depth - 1)
        return self.kept("uniform", self.choose(
            f"lt.tanh({x})", f"lt.exp(-lt.softplus({x}))", f"lt.sqrt(1.0 + lt.square({x}))",
            f"lt.log(lt.softplus({x}) + 0.3)", f"lt.clamp({x}, -1.0, 2.0)", f"lt.stop_gradient({x})",
            f"lt.expm1(-lt.abs({x}))",
            lambda: f"({x} * {self.uniform(depth - 1)})", lambda: f"({x} / {self.positive(depth - 1)})",
            lambda: f"lt.maximum({x}, {self.uniform(depth - 1)})",
            lambda: f"lt.where({self.decision(depth)}, {x}, {self.uniform(depth - 1)})",
        ))  # fmt: skip

    def positive(self, depth):
        """A float of one token that is at least 0.1."""
        inputs = ["(lt.abs(s) + 0.5)", self.number(0.7, 3.0)]
        inputs += [] if self.of_vocab else ["b", "(lt.abs(r) + 0.5)", "(a * a + 1.0)"]
        if depth <= 0 or self.chance(0.4):
            return self.choose(*inputs)
        return self.choose(
            lambda: f"(lt.softplus({self.uniform(depth - 1)}) + 0.3)",
            lambda: f"lt.exp(lt.tanh({self.uniform(depth - 1)}))",
            lambda: f"(lt.to_float(lt.count({self.condition(depth - 1)})) + 1.0)",
            lambda: f"(lt.max({self.probability(depth - 1)}) + 0.2)",
            lambda: f"lt.sqrt(lt.sum(lt.square({self.probability(depth - 1)})) + 0.01)",
        )

    def reduced(self, depth):
        """A reduction over the vocabulary, or an entry. Some read vocabulary inputs only."""
        if not self.of_vocab and self.chance(0.12):
            return self.over_vocab(lambda: self.reduced(depth))
        kinds = (self.average, self.average, self.log_sum, self.information, self.divergence, self.extreme,
                 self.entry, self.entry)  # fmt: skip
        if self.has_target and not self.of_vocab and self.chance(0.06):
            return self.over_entries(depth)
        return self.rng.choice(kinds)(depth)

    def average(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            lambda: f"lt.sum({self.probability(depth)} * {x})",
            lambda: f"lt.sum({self.probability(depth)} * {self.log_probability(depth)})",
            f"lt.mean({x})",
            f"lt.mean({x} * w)",
            f"(lt.sum({x}) / 50.0)",
            lambda: f"lt.sum(d * {x})" if not self.of_vocab else f"lt.sum({x} * w)",
            lambda: f"lt.sqrt(lt.sum(lt.square({x})) + 0.01)",
            lambda: f"(0.1 * lt.to_float(lt.count({self.condition(depth)})))",
            lambda: f"(0.1 * lt.to_float(lt.count({self.own_entry(depth)})))",
            lambda: f"(lt.to_float(lt.count({self.rank(depth)})) / lt.vocab_size())",
        )

    def rank(self, depth):
        """A condition whose count is the rank of a probability."""
        p = self.kept("probability", self.probability(depth), 1.0)
        return f"{p} {self.choose('>', '>=')} {p}[{self.target() if not self.of_vocab else '0'}]"

    def log_sum(self, depth):
        x = self.exponent(depth - 1)
        return self.choose(
            f"lt.logsumexp({x})",
            f"lt.logsumexp({x})",
            lambda: f"lt.logsumexp({x} * {self.positive(depth - 1)})",
            lambda: f"lt.log(lt.sum({self.probability(depth)} * {self.probability(depth)}) + 0.01)",
            lambda: f"lt.log(lt.sum(w * lt.exp({self.leaf()} * 0.5)))",
        )

    def information(self, depth):
        x = self.kept("log_probability", self.log_probability(depth), 1.0)
        return self.choose(
            f"-lt.sum(lt.exp({x}) * {x})",
            f"lt.sum(lt.exp({x}) * lt.log(lt.exp({x})))",
            f"lt.sum(lt.square(lt.exp({x})))",
        )

    def divergence(self, depth):
        """Of two distributions; the first may be masked and normalised again."""
        x = self.kept("log_probability", self.log_probability(depth), 1.0)
        y = self.kept("log_probability", self.log_probability(depth), 1.0)
        return self.choose(
            f"lt.sum(lt.exp({x}) * ({x} - {y}))",
            f"lt.sum(lt.exp({y}) * ({y} - lt.log_softmax({self.masked(x, depth)})))",
            f"-lt.sum(lt.exp({x}) * {y})",
            f"lt.sum(lt.exp({x} - {y}) * lt.exp({y}) * lt.tanh({self.leaf()}))",
            f"lt.sum(lt.maximum(lt.exp({x}), lt.exp({y})))",
            f"lt.mean(lt.exp({x}) / (lt.exp({x}) + lt.exp({y}) + 0.01))",
            f"-lt.log(lt.sum(lt.sqrt(lt.exp({x}) * lt.exp({y}))) + 0.01)",
            f"lt.sum(lt.exp({x}) * ({x} - lt.log(0.5 * lt.exp({x}) + 0.5 * lt.exp({y}))))",
        )

    def extreme(self, depth):
        x = self.varying(depth - 1)
        return self.choose(
            f"lt.max({x})", f"lt.min({x})",
            lambda: f"lt.max({self.probability(depth)})",
            lambda: f"(0.1 * lt.to_float(lt.argmax({x})))",
            lambda: f"lt.max(lt.where({self.condition(depth - 1)}, {x}, -5.0))",
        )  # fmt: skip

    def entry(self, depth):
        write = self.rng.choice([self.varying, self.probability, self.log_probability, self.log_probability])
        return f"{write(depth)}[{self.index(depth - 1)}]"

    def index(self, depth):
        """An entry of the vocabulary."""
        y = "0" if self.of_vocab or not self.has_target else "y"
        if depth > 0 and self.chance(0.4):
            return self.choose(
                lambda: f"lt.argmax({self.varying(depth - 1)})",
                lambda: f"lt.argmin({self.varying(depth - 1)})",
                lambda: f"lt.where({self.decision(depth - 1)}, {y}, lt.argmax({self.varying(depth - 1)}))",
            )
        if y == "0":
            return self.choose("0", "(lt.vocab_size() - 1)", "(lt.vocab_size() // 2)", "lt.argmax(w)")
        return self.choose("y", "y", "y", "lt.clamp(y + 3, 0, lt.vocab_size() - 1)", "lt.maximum(y - 1, 0)",
                           "lt.minimum(y + 1, lt.vocab_size() - 1)", "lt.argmax(z)",
                           "lt.clamp(g[y] * 2, 0, lt.vocab_size() - 1)", "0")  # fmt: skip

    def traced_index(self):
        """An entry as an output wants it: of the trace, not a number of Python."""
        while True:
            text = self.index(1)
            if re.search("[a-z]", text.replace("lt.vocab_size()", "")):
                return text

    def over_entries(self, depth):
        """Several targets of a token, some of them not valid."""
        x = self.kept("log_probability", self.log_probability(depth), 1.0)
        return self.choose(
            f"sum(lt.where(lt.valid(k), {x}[k], 0.0) for k in ys)",
            f"sum(lt.where(lt.valid(k), e * {x}[k], 0.0) for k, e in zip(ys, c, strict=True))",
            f"sum(e * {x}[{self.index(0)}] for e in c)",
        )

    # ---- terms that have a right answer for large logits -----------------------------------------

    def steep(self, depth):
        """Logits after some arithmetic."""
        if depth <= 0:
            return self.choose("z", "z", "z", "t") if self.has_two else "z"
        x = self.steep(depth - 1)
        return self.choose(
            f"({x} * {self.number(0.37, 2.7, -1.0)})", f"({x} / {self.number(0.37, 3.0)})",
            lambda: f"({x} * {self.positive(0)})", lambda: f"({x} / {self.positive(0)})",
            f"({x} * w)", f"({x} + u)", f"({x} - u * s)", "(z * z)", f"lt.square({x})", f"({x} * z * s)",
            lambda: f"({x} - {self.steep(depth - 1)} * s)", lambda: f"({x} + {self.steep(depth - 1)})",
            f"({x} - z[{self.target()}])", f"({x} - lt.mean({x}))",
            f"lt.where(m | (lt.column() == {self.target()}), {x}, -float('inf'))",
            f"lt.maximum({x}, u)", f"lt.softplus({x})", f"lt.abs({x})",
        )  # fmt: skip

    def sharp(self, depth):
        x = self.kept("steep", self.variable("steep", 0.4) or self.steep(depth), 0.6)
        return self.choose(
            f"lt.max(lt.softmax({x}))",
            f"-lt.log_softmax({x})[{self.target()}]",
            f"lt.softmax({x})[{self.target()}]",
            f"(lt.logsumexp({x}) - lt.max({x}))",
            f"lt.sum(lt.softmax({x}) * w)",
            f"-lt.sum(lt.exp(lt.log_softmax({x})) * lt.log_softmax({x}))",
            f"(0.1 * lt.to_float(lt.count(lt.softmax({x}) >= lt.max(lt.softmax({x})))))",
            f"lt.sum(lt.softmax({x}) * lt.tanh({self.steep(1)}))",
            f"lt.sum(lt.exp(lt.log_softmax({x}) - lt.log_softmax(z)) * lt.softmax(z) * lt.tanh(z))",
            f"lt.logsumexp({x} - {self.steep(1)}[lt.argmax({x})])",
        )
