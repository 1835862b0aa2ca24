"""Calls of random losses, and whether what a head returns is wrong.

The losses are not well-conditioned, so there must first be a right answer. It is what dense torch
makes of the text of the loss in float64. A result is *decided* where torch in float32 finds it too,
within DECIDED: for several orders of the vocabulary and the hidden axis and, unless logits lie on a
grid, after changes of all inputs by a rounding. Elementary functions are then off by a unit in the
last place, as those of any library may be. So a comparison that a rounding could turn decides
nothing, while a value that is compared with itself does. A decided result is wrong if it is further
than WRONG from the answer, or not finite. Answers that are not finite decide nothing; neither do
gradients beside such outputs, nor the indices of a list of them.
What docs/language.md allows beyond that follows from the largest exponent and the parts of a
gradient. Losses with an exponent of plus infinity decide nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import dense_torch
import logitile as lt
import numpy as np
import torch
from accuracy import UNIT, Arguments
from factored_specs import factored_loss
from gate import LEAST, Sample, natural_sizes
from logitile.spec.gradient_flow import differentiable_outputs, reached_inputs
from schedules import gradients_apart, smallest_workspace
from wild_specs import WildLoss, wild_loss

DECIDED, WRONG = 1e-5, 1e-3
EVALUATIONS = 3  # of torch in float32; where a result is wrong MORE of them must decide it as well
MORE = 8
OF_PARTS, OF_EXPONENT = 2.0**-20, 2.0**-46
IN_RANGE = 2.0**29  # exponentials of larger exponents may be NaN in products
LARGEST = 1e10  # of more, a logsumexp in float64 is off by more than a tenth of what is wrong
TOKENS = (1, 2, 5, 16, 17, 33, 48, 64, 70, 130)
VOCABS = (1, 2, 3, 7, 16, 17, 33, 64, 65, 100, 129, 257, 1000)
HIDDENS = (1, 2, 3, 8, 17, 33, 64)
FIRST_FACTORED = 10**7  # seeds from here on are of losses whose gradient a GPU may store in a sweep


@dataclass
class Case:
    """A loss, and how it is called."""

    loss: WildLoss
    tokens: int
    vocab: int
    hidden: tuple[int, int]
    dtype: str
    options: dict  # of lt.jit; "workspace": "least" is the smallest that works
    ignored: float = 0.0  # the share of tokens that are ignored
    scaled: bool = False  # gradients are float32 whatever the type of hidden states
    apart: bool = False  # gradients are made in a phase of their own

    def __str__(self):
        shape = f"N={self.tokens} V={self.vocab} D={self.hidden} {self.dtype} {self.options}"
        numbers = f"grid={self.loss.grid} scale={self.loss.scale:g} bias={self.loss.bias:g}"
        return f"{shape} ignored={self.ignored} apart={self.apart} {numbers}"

    def sample(self):
        """The call; None where no output leads to a float input."""
        given = self.loss.arrays(self.tokens, self.vocab, self.hidden, self.dtype)
        rng = np.random.default_rng([3, self.loss.seed])
        options = {key: item for key, item in self.options.items() if item != "least"}
        if "ignore" in options:
            given["y"][rng.random(self.tokens) < self.ignored] = -100
        call = {"grad_dtype": "float32"} if self.scaled else {}
        made = Sample(self.loss.loss, given, options, self.loss.differentiable, {}, call)
        outputs = differentiable_outputs(made.spec)
        reached = reached_inputs(made.spec, outputs)
        if not reached:
            return None
        names = tuple(name for name in made.wrt if made._full(name).partition(".")[0] in reached)
        made = dataclasses.replace(made, wrt=names, cotangent=self._cotangent(outputs, rng))
        if "least" in self.options.values():
            made = dataclasses.replace(made, options=options | {"workspace": smallest_workspace(made)})
        return made

    def _cotangent(self, outputs, rng):
        reaching = {}
        for name in outputs:
            is_reduced = name == "loss" and self.options.get("reduction") != "none"
            reaching[name] = 1.0 if is_reduced else rng.normal(size=self.tokens).astype(np.float32)
        return reaching


def factored_case(seed):
    """A case of a loss whose gradient a GPU may store in the first sweep."""
    loss = factored_loss(seed)
    rng = np.random.default_rng([19, seed])
    options = {"reduction": str(rng.choice(["mean", "sum", "none", "none"]))}
    ignored = 0.0
    if "y" in loss.inputs and rng.random() < 0.3:
        options["ignore"], ignored = "y", float(rng.choice([0.1, 0.9]))
    is_apart = bool(rng.random() < 0.5)
    if not is_apart and rng.random() < 0.3:
        options["chunks"] = int(rng.choice([1, 2, 3]))
    tokens, vocab = int(rng.choice(TOKENS)), int(rng.choice(VOCABS))
    hidden = tuple(int(size) for size in rng.choice(HIDDENS, 2))
    return Case(loss, tokens, vocab, hidden, "bfloat16", options, ignored, bool(rng.random() < 0.5), is_apart)


def case(seed):
    """The case of that seed; the same on every machine."""
    if seed >= FIRST_FACTORED:
        return factored_case(seed)
    loss = wild_loss(seed)
    rng = np.random.default_rng([11, seed])
    options = {"reduction": str(rng.choice(["mean", "sum", "none"]))}
    ignored = 0.0
    if "y" in loss.inputs and rng.random() < 0.35:
        options["ignore"], ignored = "y", float(rng.choice([0.1, 0.5, 0.9]))
    budget = rng.choice(["auto", "least", "chunks"], p=[0.6, 0.15, 0.25])
    if budget == "least":
        options["workspace"] = "least"
    if budget == "chunks":
        options["chunks"] = int(rng.choice([2, 3]))
    if rng.random() < 0.3:
        options["weight_layout"] = "dv"
    tokens, vocab = int(rng.choice(TOKENS)), int(rng.choice(VOCABS))
    dtype = "bfloat16" if rng.random() < 0.25 else "float32"
    hidden = tuple(int(size) for size in rng.choice(HIDDENS, 2))
    return Case(loss, tokens, vocab, hidden, dtype, options, ignored, bool(rng.random() < 0.5))


class Text(Arguments):
    """Arguments of a loss, and what dense torch makes of its text."""

    def __init__(self, source, *arguments, left_out=(), roundings=None):
        super().__init__(*arguments)
        self.source, self.left_out, self.roundings = source, left_out, roundings

    def evaluated(self, pairs, inputs, dtype):
        return dense_torch.evaluate(self.source, pairs, inputs, dtype, self.left_out, self.roundings)

    def _like(self, given, **options):
        return Text(self.source, self.spec, given, self.cotangent, self.wrt, **options)

    def without(self, normalisers):
        """The same, with gradients that leave out what flows through these means and logsumexps."""
        return self._like(self.pairs | self.inputs, left_out=normalisers)

    def rounded(self, roundings):
        """The same, with elementary functions that round as 'roundings' says."""
        return self._like(self.pairs | self.inputs, roundings=roundings)

    def by_use(self, name, is_by_token):
        """The same with an input of its own for each use of 'name', and the names of these.

        Args:
            is_by_token: each has one for each token, too,
                so that gradients are not summed over tokens.
        """
        source, uses = dense_torch.with_uses_apart(self.source, name)
        given = self.pairs | self.inputs
        item = given.pop(name)
        if is_by_token:
            item = np.repeat(item[None], len(next(iter(self.pairs.values()))[0]), 0)
        given |= dict.fromkeys(uses, item)
        return Text(source, self.spec, given, self.cotangent, set(uses)), uses

    def what_was_seen(self):
        pairs = {name: tuple(torch.tensor(x).double() for x in pair) for name, pair in self.pairs.items()}
        inputs = {name: torch.tensor(item) for name, item in self.inputs.items()}
        inputs = {name: item.double() if item.is_floating_point() else item for name, item in inputs.items()}
        return dense_torch.what_was_seen(self.source, pairs, inputs)

    def of_logits(self):
        """The same text with logits in place of hidden states:
        the gradient of those is that of logits.
        """
        given = {name: (h @ w.T, np.eye(len(w))) for name, (h, w) in self.pairs.items()}
        return self._like(given | self.inputs)


@dataclass
class Verdict:
    """What became of a case.

    Args:
        kind: "right", "wrong", "undecided", "refused" (by the language),
            "failed" (by the compiler).
        errors: by result that is decided: how far it and the worst of torch's are from the answer.
        detail: a message.
    """

    kind: str
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    detail: str = ""


def verdict(made: Case) -> Verdict:
    """Runs the case."""
    with gradients_apart(made.apart):
        return _verdict(made)


def _verdict(made):
    try:
        sample = made.sample()
    except lt.SpecError as error:
        return Verdict("refused", detail=str(error))
    if sample is None:
        return Verdict("undecided", detail="nothing has a gradient")
    if not sample.counted().any():
        return Verdict("undecided", detail="no token counts")
    try:
        found = sample.run()
    except (lt.SpecError, lt.CallError) as error:
        return Verdict("refused", detail=str(error))
    except lt.LogitileError as error:
        return Verdict("failed", detail=str(error))
    judge = Judge(made, sample)
    if judge.seen.largest_summed > LARGEST:
        return Verdict("undecided", detail="float64 is not exact enough")
    if judge.seen.has_infinite_exponent:
        return Verdict("undecided", detail="an exponent is plus infinity")
    decided = judge.decided(EVALUATIONS)
    if not decided:
        return Verdict("undecided")
    errors = {name: judge.error(name, found[name]) for name in decided}
    wrong = {name for name in decided if not judge.is_right(name, errors[name], found[name])}
    if wrong:
        decided = judge.decided(MORE)
    errors = {name: (errors[name], worst) for name, worst in decided.items()}
    is_wrong = not wrong.isdisjoint(decided)
    return Verdict("wrong" if is_wrong else "right", errors)


class Judge:
    """The answer to a case, and how far results are from it."""

    def __init__(self, made, sample):
        self.made, self.sample, self.live = made, sample, sample.counted()
        self.axes = {given.name: given.axis for given in sample.spec.inputs}
        self.given = {name: self._counted(name, item) for name, item in sample.given.items()}
        if sample.spec.numbers_tokens:
            self.given[dense_torch.TOKEN_INDEX] = np.flatnonzero(self.live)
        self.scale = 1.0
        self.text = self._text(self.given, sample.cotangent)
        with np.errstate(all="ignore"):
            self._set_answer()
            self.seen = self.text.what_was_seen()

    def _set_answer(self):
        if self.sample.head.options.reduces == "mean":
            weights = self.text.reference().get("weight", np.ones(self.live.sum()))
            self.scale = 1 / weights.sum()
        cotangent = {name: self._per_token(name, up) for name, up in self.sample.cotangent.items()}
        self.sizes = self._sizes(cotangent)
        self.text = self._text(self.given, cotangent)
        exact = self.text.reference()
        tokens = self.live.sum()
        if "loss" in exact:
            self.magnitude = np.linalg.norm(exact["loss"]) * tokens**0.5 * self.scale
        self.answer = self._completed(exact)

    def _sizes(self, cotangent):
        """Natural sizes of gradients. LEAST of a sum over tokens for vocabulary and call."""
        total = LEAST * sum(np.abs(up).sum() for up in cotangent.values())
        natural = natural_sizes(self.given, cotangent)
        is_sum = {name: self.axes.get(name) not in ("token", "dense", "logits", None) for name in natural}
        return {name: total if is_sum[name] else size for name, size in natural.items()}

    def _text(self, given, cotangent):
        wrt = {name.removesuffix(".hidden").removesuffix(".weight") for name in
               map(self.sample._full, self.sample.wrt)}  # fmt: skip
        cotangent = {n: np.full(self.live.sum(), u, np.float32) if np.ndim(u) == 0 else u[: self.live.sum()]
                    for n, u in cotangent.items()}  # fmt: skip
        return Text(self.made.loss.source, self.sample.spec, given, cotangent, wrt)

    def _counted(self, name, item):
        if isinstance(item, tuple):
            return item[0][self.live].astype(np.float32), item[1].astype(np.float32)
        is_per_token = self.axes.get(name) in ("token", "dense") and np.ndim(item)
        return np.asarray(item)[self.live] if is_per_token else np.asarray(item)

    def _per_token(self, name, up):
        return np.full(self.live.sum(), up * self.scale, np.float32) if np.ndim(up) == 0 else up[self.live]

    def _completed(self, results):
        """What torch made of the tokens that count, as a call returns it."""
        named = {}
        is_reduced = self.sample.head.options.reduces in ("mean", "sum")
        for name, value in results.items():
            is_output = name in self.sample.cotangent or any(o.name == name for o in self.sample.spec.outputs)
            if name == "loss" and is_reduced:
                named[name] = np.float64(value.astype(np.float64).sum() * self.scale)
                continue
            pair, _, operand = name.rpartition(".")
            is_per_token = is_output or operand == "hidden" or self.axes.get(name) in ("token", "dense")
            named[name if is_output else f"grad {name}"] = self._spread(value) if is_per_token else value
        return named

    def _spread(self, value):
        """With the tokens that are ignored."""
        fill = {"f": 0, "i": -1, "b": False}[value.dtype.kind]
        whole = np.full((len(self.live), *value.shape[1:]), fill, value.dtype)
        whole[self.live] = value
        return whole

    def decided(self, evaluations):
        """The results that torch finds in float32, with its largest error."""
        finite = {name for name, value in self.answer.items() if np.isfinite(value).all()}
        lists = {output.name for output in self.sample.spec.outputs if output.places}
        if not lists <= finite:  # the order of what is not finite has no answer either
            finite -= lists
        has_meaning = all(name in finite for name in self.answer if not name.startswith("grad "))
        worst = {name: 0.0 for name in finite if has_meaning or not name.startswith("grad ")}
        rng = np.random.default_rng(0)
        for index in range(evaluations):
            given = self.given if self.made.loss.grid or index == 0 else self._disturbed(rng)
            with np.errstate(all="ignore"):
                text = self._text(given, self.text.cotangent).rounded(index or None)
                single = self._completed(text.single(rng))
            for name in list(worst):
                worst[name] = max(worst[name], self.error(name, single[name]))
                if not worst[name] < DECIDED:
                    del worst[name]
            if not worst:
                return {}
        return worst

    def _disturbed(self, rng):
        """All floats changed by up to a rounding; equal numbers of an input stay equal.

        Those of inputs change by that of 1 at least:
        values of which they are a small part round so.
        """
        given = dict(self.given)
        for name, item in given.items():
            if isinstance(item, tuple):
                given[name] = tuple(x + self._roundings(rng, np.abs(x)) for x in item)
            elif item.dtype.kind == "f":
                numbers, places = np.unique(item, return_inverse=True)
                numbers = numbers + self._roundings(rng, np.maximum(np.abs(numbers), 1))
                given[name] = numbers[places].reshape(item.shape)
        return given

    @staticmethod
    def _roundings(rng, size):
        return (2.0**-23 * size * rng.uniform(-1, 1, size.shape)).astype(np.float32)

    def error(self, name, found):
        """How far a result is from the answer, relative to the answer's norm or natural size."""
        wanted = self.answer[name]
        found = np.asarray(found)
        if wanted.dtype.kind in "ib":
            return 0.0 if np.array_equal(found, wanted) else np.inf
        found, wanted = found.astype(np.float64), np.asarray(wanted, np.float64)
        if not np.isfinite(found).all():
            return np.inf
        size = self.sizes.get(name.removeprefix("grad "), LEAST * wanted.size**0.5)
        if name == "loss" and not wanted.ndim:
            size = max(self.magnitude, LEAST * self.live.sum() * self.scale)
        return float(np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), size, 1e-30))

    def is_right(self, name, error, found):
        if error <= WRONG:
            return True
        if np.isnan(found).any():
            return self.seen.largest_exponent > IN_RANGE
        return name.startswith("grad ") and error <= WRONG + self._rounding_of_parts(name)

    def _rounding_of_parts(self, name):
        """What docs/language.md allows of a gradient whose parts cancel, in the unit of an error.

        That is OF_PARTS of the parts that flow through softmaxes and means and beside them, and
        OF_EXPONENT of them for each unit of the largest exponent. Where gradients of logits are
        kept in 16 bits for products with hidden states or weights, 4 roundings of these come on
        top.
        """
        name = name.removeprefix("grad ")
        exact = self.text.reference()[name]
        with np.errstate(all="ignore"):
            allowed = (OF_PARTS + OF_EXPONENT * self.seen.largest_exponent) * self._size_of_parts(name)
            if name.endswith((".hidden", ".weight")) and self.made.dtype != "float32":
                allowed += 4 * UNIT[self.made.dtype] * self._size_of_products(name)
        return float(allowed / max(np.linalg.norm(exact), self.sizes.get(name, 0.0), 1e-30))

    def _size_of_parts(self, name):
        """How large the parts of every use are that flow through softmaxes and
        means and beside them.
        """
        owner, _, operand = name.partition(".")
        is_sum = self.axes.get(name) in ("vocab", "scalar")
        text, uses = self.text.by_use(owner, is_sum)
        whole = text.reference()
        numbers = range(self.seen.normalisers)
        size = 0.0
        for left_out in [numbers, *({number} for number in numbers if len(numbers) > 1)]:
            direct = text.without(left_out).reference()
            for of in (f"{use}.{operand}" if operand else use for use in uses):
                for part in (direct[of], direct[of] - whole[of]):
                    size += np.linalg.norm(np.abs(part).sum(0) if is_sum else part)
        return size

    def _size_of_products(self, name):
        """How large the products are that the gradient of a pair is the sum of."""
        pair, _, operand = name.partition(".")
        hidden, weight = (np.abs(x.astype(np.float64)) for x in self.given[pair])
        logits = np.abs(self.text.of_logits().reference()[f"{pair}.hidden"])
        return np.linalg.norm(logits @ weight if operand == "hidden" else logits.T @ hidden)
