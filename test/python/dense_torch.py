"""Runs the text of a loss in torch, on dense logits, at any float type.

Nothing of the tracer or of a spec takes part: the names of `lt` are functions on tensors here, and
gradients are autograd's. So the results are a second opinion on the tracer as well, and on the
rules of the language that torch's own functions lack: a weight of 0 wins in a product, and the
logarithm of an exponential is its exponent. Values of one token are [N, 1], varying ones [N, V];
what is the same for every token has 1 in place of N.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable

import logitile
import torch
from logitile.reference import philox
from torch_reference import MultiplyNoNan

TOKEN_INDEX = "index of the token"  # the key of a tensor beside those of parameters


def _operator(function):
    return lambda self, other: Value(function(self.tensor, self.lifted(other).tensor))


class Value:
    """A tensor with what the rules of products need to know of it.

    Args:
        weight: the factor that is made of exponentials, if there is one.
        rest: the other factor; None where the value is a weight as a whole.
        log: makes the logarithm without the rounded exponential, where that is possible.
    """

    def __init__(self, tensor, weight=None, rest=None, log: Callable | None = None):
        self.tensor, self.weight, self.rest, self.log = tensor, weight, rest, log

    @property
    def is_weight(self):
        return self.weight is not None and self.rest is None

    def like(self, tensor, log=None):
        """A value that is a weight if this one is."""
        return Value(tensor, tensor if self.is_weight else None, None, log)

    def lifted(self, other):
        """The other operand, as a value of this one's type if it is a plain number."""
        return other if isinstance(other, Value) else Value(self.tensor.new_tensor(other)[None, None])

    def __mul__(self, other):
        if not self.tensor.is_floating_point():
            return Value(self.tensor * self.lifted(other).tensor)
        return _scaled(self, other) if not isinstance(other, Value) else _product(self, other)

    def __truediv__(self, other):
        if not isinstance(other, Value):
            return _divided(self, self.lifted(other))
        if other.is_weight and other.log is not None:
            return _product(self, exponential(-other.log()))
        return _divided(self, other)

    def __pow__(self, other):
        if self.is_weight and self.log is not None and not isinstance(other, Value) and other > 0:
            return exponential(other * self.log())
        return self.like(torch.pow(self.tensor, self.lifted(other).tensor))

    def __getitem__(self, index):
        return self.like(_picked(self.tensor, self.lifted(index).tensor.long()))

    def __rsub__(self, other):
        return self.lifted(other) - self

    def __rtruediv__(self, other):
        return self.lifted(other) / self

    def __neg__(self):
        return _scaled(self, -1.0) if self.tensor.is_floating_point() else Value(-self.tensor)

    def __invert__(self):
        return Value(~self.tensor)

    __add__ = __radd__ = _operator(torch.add)
    __sub__, __rmul__ = _operator(torch.sub), __mul__
    __lt__, __le__, __gt__, __ge__ = (_operator(f) for f in (torch.lt, torch.le, torch.gt, torch.ge))
    __eq__, __ne__ = _operator(torch.eq), _operator(torch.ne)
    __and__, __or__ = _operator(torch.logical_and), _operator(torch.logical_or)
    __hash__ = None


class List(Value):
    """Several numbers of each token, [N, k]."""


def _largest(x):
    """The largest size of the finite numbers in a tensor."""
    sizes = x.detach().abs()
    return float(sizes.where(sizes.isfinite(), 0.0).max())


def exponential(exponent):
    """e ** exponent, which is a weight."""
    result = torch.exp(exponent)
    return Value(result, result, None, lambda: exponent)


def _scaled(value, number):
    """A value times a plain number; a positive multiple of an exponential is one, too."""
    if value.rest is None:
        has_log = value.log is not None and number > 0
        log = (lambda: value.log() + math.log(number)) if has_log else None
        return value.like(value.tensor * number, log)
    return Value(value.tensor * number, value.weight, value.rest * number)


def _joined(a, b, join):
    return a if b is None else b if a is None else join(a, b)


def _product(a, b):
    """Weights come first, so that one of 0 wins over every other factor."""
    if a.weight is None and b.weight is None:
        return Value(a.tensor * b.tensor)
    weight = _joined(a.weight, b.weight, MultiplyNoNan.apply)
    rest = _joined(*(x.tensor if x.weight is None else x.rest for x in (a, b)), torch.mul)
    if rest is not None:
        return Value(MultiplyNoNan.apply(weight, rest), weight, rest)
    has_log = a.log is not None and b.log is not None
    return Value(weight, weight, None, (lambda: a.log() + b.log()) if has_log else None)


def _divided(a, b):
    if a.rest is None:
        return a.like(a.tensor / b.tensor)
    return Value(a.tensor / b.tensor, a.weight, a.rest / b.tensor)


def _picked(value, index):
    """0, -1 or False outside the vocabulary: losses guard such entries."""
    rows, vocab = max(len(value), len(index)), value.shape[1]
    value, index = value.expand(rows, -1), index.expand(rows, 1)
    inside = (index >= 0) & (index < vocab)
    picked = value.gather(1, torch.where(inside, index, 0))
    nothing = 0.0 if value.is_floating_point() else -1 if value.dtype != torch.bool else False
    return torch.where(inside, picked, torch.tensor(nothing, dtype=value.dtype))


def _unary(function):
    return lambda self, x: Value(function(self.value(x).tensor))


def _elementary(function):
    """One whose results no library rounds correctly."""
    return lambda self, x: Value(self.rounded(function(x := self.value(x).tensor), x))


class Language:
    """What a loss sees as `lt`: annotations are logitile's, functions are torch's.

    Args:
        vocab: the number of entries.
        tokens: the numbers that tokens have in the call, [N].
        dtype: of floats.
        ignore_index: the integer that is not valid.
        left_out: gradients leave out what flows through these means and logsumexps, also those of
            softmaxes, by their numbers in the order in which the loss makes them.
        roundings: a seed; elementary functions are off by a unit in the last place then,
            to either side. Equal results stay equal.
    """

    def __init__(self, vocab, tokens, dtype, ignore_index=-100, left_out=(), roundings=None):
        self.vocab, self.tokens, self.dtype, self.ignore_index = vocab, tokens, dtype, ignore_index
        self.left_out, self.roundings = left_out, roundings
        self.normalisers = 0  # how many means and logsumexps were made
        self.largest_summed = 0.0  # of the finite numbers that a logsumexp has seen
        self.largest_exponent = 0.0  # of those that a softmax has seen, too
        self.has_infinite_exponent = False  # of an exponential: plus infinity

    Logits, Token, Vocab, Dense = logitile.Logits, logitile.Token, logitile.Vocab, logitile.Dense
    Scalar, K, Outputs = logitile.Scalar, logitile.K, staticmethod(lambda **fields: fields)
    loss = staticmethod(lambda function: function)

    abs, sign, floor = _unary(torch.abs), _unary(torch.sign), _unary(torch.floor)
    log1p, expm1, tanh = _elementary(torch.log1p), _elementary(torch.expm1), _elementary(torch.tanh)
    erf, sin, cos = _elementary(torch.erf), _elementary(torch.sin), _elementary(torch.cos)
    gelu = _elementary(torch.nn.functional.gelu)
    softplus = _elementary(lambda x: torch.logaddexp(x, torch.zeros_like(x)))
    log_sigmoid = _elementary(torch.nn.functional.logsigmoid)
    rsqrt, square = _elementary(torch.rsqrt), _unary(torch.square)
    isfinite, isnan = _unary(torch.isfinite), _unary(torch.isnan)

    argmax = _unary(lambda x: x.argmax(1, keepdim=True))
    argmin = _unary(lambda x: x.argmin(1, keepdim=True))
    count = _unary(lambda x: x.sum(1, keepdim=True))
    any = _unary(lambda x: x.any(1, keepdim=True))
    all = _unary(lambda x: x.all(1, keepdim=True))

    def rounded(self, result, x):
        """A result for 'x', disturbed unless it is exact,
        as e^0 and the softplus of a large number are.
        """
        if self.roundings is None:
            return result
        bits = result.detach().to(torch.float32).view(torch.int32).long()
        side = ((bits * 2654435761 + self.roundings * 40503) >> 15) % 2 * 2 - 1
        is_exact = (result == x) | (result.abs() == 1) | (result == 0) | ~result.isfinite()
        return result * torch.where(is_exact, 1.0, 1 + side * 2.0**-23).to(result.dtype)

    def log_softmax(self, x):
        return Value(self._log_softmax(x.tensor))

    def _is_left_out(self):
        """Whether gradients leave out what flows through the mean or logsumexp that is made now."""
        self.normalisers += 1
        return self.normalisers - 1 in self.left_out

    def _log_softmax(self, x):
        self.largest_exponent = max(self.largest_exponent, _largest(x))
        if self._is_left_out():
            return x - x.logsumexp(1, keepdim=True).detach()
        return torch.log_softmax(x, 1) - self._rounding_of_log_sum(x)

    def _rounding_of_log_sum(self, x):
        """How the logarithm of a sum of exponentials less the largest is disturbed."""
        if self.roundings is None:
            return 0.0
        x = x.detach()
        log_sum = torch.log(torch.exp(x - x.amax(1, keepdim=True)).sum(1, keepdim=True))
        return torch.where(log_sum.isfinite(), self.rounded(log_sum, log_sum.new_zeros(())) - log_sum, 0.0)

    def stop_gradient(self, x):
        x = self.value(x)
        return x.like(x.tensor.detach(), None if x.log is None else lambda: x.log().detach())

    def logsumexp(self, x):
        self.largest_summed = max(self.largest_summed, _largest(x.tensor))
        self.largest_exponent = max(self.largest_exponent, self.largest_summed)
        result = x.tensor.logsumexp(1, keepdim=True) + self._rounding_of_log_sum(x.tensor)
        return Value(result.detach() if self._is_left_out() else result)

    def mean(self, x):
        result = x.tensor.mean(1, keepdim=True)
        return Value(result.detach() if self._is_left_out() else result)

    def max(self, x):
        return x.like(x.tensor.max(1, keepdim=True).values)

    def min(self, x):
        return x.like(x.tensor.min(1, keepdim=True).values)

    def topk(self, x, k):
        """Two lists, [N, k]; of equal entries the one with the lowest index comes first."""
        values, indices = torch.sort(x.tensor.detach(), dim=1, descending=True, stable=True)
        return List(values[:, :k]), List(indices[:, :k])

    def sum(self, x):
        has_log = x.log is not None
        log = (lambda: x.log().logsumexp(1, keepdim=True)) if has_log else None
        return Value(x.tensor.sum(1, keepdim=True), log=log)

    def softmax(self, x):
        log = self._log_softmax(x.tensor)
        result = log.exp() if self.left_out else torch.softmax(x.tensor, 1)
        result = self.rounded(result, x.tensor)
        return Value(result, result, None, lambda: log)

    def value(self, x):
        """A plain number as a value; values as they are."""
        return x if isinstance(x, Value) else Value(torch.full((1, 1), x, dtype=self.dtype))

    def exp(self, x):
        exponent = self.value(x).tensor
        self.has_infinite_exponent |= bool((exponent == math.inf).any())
        result = self.rounded(torch.exp(exponent), exponent)
        return Value(result, result, None, lambda: exponent)

    def exp2(self, x):
        x = self.value(x)
        self.has_infinite_exponent |= bool((x.tensor == math.inf).any())
        result = self.rounded(torch.exp2(x.tensor), x.tensor)
        return Value(result, result, None, lambda: x.tensor * math.log(2))

    def sigmoid(self, x):
        x = self.value(x)
        result = self.rounded(torch.sigmoid(x.tensor), x.tensor)
        return Value(result, result)

    def log(self, x):
        x = self.value(x)
        return Value(self.rounded(torch.log(x.tensor), x.tensor) if x.log is None else x.log())

    def log2(self, x):
        x = self.value(x)
        result = self.rounded(torch.log2(x.tensor), x.tensor) if x.log is None else x.log() / math.log(2)
        return Value(result)

    def sqrt(self, x):
        x = self.value(x)
        if x.is_weight and x.log is not None:
            return exponential(0.5 * x.log())
        return x.like(torch.sqrt(x.tensor))

    def to_float(self, x):
        return Value(self.value(x).tensor.to(self.dtype))

    def where(self, condition, a, b):
        a, b = self._both(a, b)
        result = torch.where(condition.tensor, a.tensor, b.tensor)
        return Value(result, result if a.is_weight and b.is_weight else None)

    def maximum(self, a, b):
        return Value(torch.maximum(*(x.tensor for x in self._both(a, b))))

    def minimum(self, a, b):
        return Value(torch.minimum(*(x.tensor for x in self._both(a, b))))

    def clamp(self, x, low, high):
        x = self.value(x)
        # of other shapes, torch has no gradients
        bounds = (x.lifted(low).tensor, x.lifted(high).tensor)
        return Value(torch.clamp(*torch.broadcast_tensors(x.tensor, *bounds)))

    def _both(self, a, b):
        """Two operands as values; a number has the shape and dtype of the other one."""
        if not isinstance(a, Value) and not isinstance(b, Value):
            return self.value(a), self.value(b)
        return (a, a.lifted(b)) if isinstance(a, Value) else (b.lifted(a), b)

    def column(self):
        return Value(torch.arange(self.vocab)[None, :])

    def uniform(self, seed, stream=0):
        words = [word.tensor if isinstance(word, Value) else torch.tensor(word) for word in (seed, stream)]
        numbers = philox.uniform(*words, self.tokens[:, None], torch.arange(self.vocab)[None, :])
        return Value(torch.from_numpy(numbers).to(self.dtype))

    def vocab_size(self):
        return self.vocab

    def valid(self, index):
        return Value(index.tensor != self.ignore_index)


def evaluate(source, pairs, inputs, dtype, left_out=(), roundings=None):
    """The outputs of a loss by name, [N] each, [N, k] for a list; a bare result is "loss". They are
    differentiable in whatever leaf requires a gradient.

    Args:
        source: the text, with one function that `lt.loss` decorates.
        pairs: {name: (hidden [N, D], weight [V, D])} in 'dtype'.
        inputs: {name: tensor}: Token [N] or [N, K], Vocab [V], Dense [N, V], Scalar []; floats in
            'dtype'. A Vocab or Scalar input may have a first axis of tokens. TOKEN_INDEX, if it is
            there, has the number of each token in the call; else they are 0, 1, ...
        left_out, roundings: see Language.
    """
    outputs, _ = _run(source, pairs, inputs, dtype, left_out, roundings)
    tokens = len(next(iter(pairs.values()))[0])
    whole = {name: value.tensor.expand(tokens, -1) for name, value in outputs.items()}
    return {name: value if isinstance(outputs[name], List) else value[:, 0] for name, value in whole.items()}


def with_uses_apart(source, name):
    """The text with a parameter of its own for each use of the parameter 'name',
    and the names of these.
    """
    tree, uses = ast.parse(source), []

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node):
            if node.id != name:
                return node
            uses.append(f"{name}_{len(uses)}")
            return ast.Name(uses[-1], ast.Load())

    function = tree.body[0]
    function.body = [Renamed().visit(line) for line in function.body]
    parameters = function.args.args
    place = next(i for i, parameter in enumerate(parameters) if parameter.arg == name)
    annotation = parameters[place].annotation
    parameters[place : place + 1] = [ast.arg(use, annotation) for use in uses]
    return ast.unparse(tree), uses


def what_was_seen(source, pairs, inputs):
    """The Language after a run of the text in float64: it has noted the largest exponents."""
    with torch.no_grad():
        return _run(source, pairs, inputs, torch.float64)[1]


def _run(source, pairs, inputs, dtype, left_out=(), roundings=None):
    """What the text returns, by name, and the language that it has seen."""
    hidden, weight = next(iter(pairs.values()))
    tokens = inputs.get(TOKEN_INDEX, torch.arange(len(hidden)))
    scope = {"lt": Language(len(weight), tokens, dtype, left_out=left_out, roundings=roundings)}
    exec(compile(source, "<loss>", "exec", dont_inherit=True), scope)
    function = next(item for item in scope.values() if isinstance(item, types.FunctionType))
    arguments = {name: Value(h @ w.T) for name, (h, w) in pairs.items()}
    for name, annotation in function.__annotations__.items():
        if name not in arguments:
            arguments[name] = _input(inputs[name], annotation.kinds)
    result = function(**arguments)
    return result if isinstance(result, dict) else {"loss": result}, scope["lt"]


def _input(value, kinds):
    axes = [kind.axis for kind in kinds if kind.axis != "scalar"]
    axis = "scalar" if value.ndim == 0 else axes[0] if axes else "token"
    if axis == "token" and value.ndim > 1:
        return tuple(Value(column[:, None]) for column in value.unbind(1))
    if axis == "scalar":
        return Value(value.reshape(1, 1))
    return Value(value.reshape((-1, 1) if axis == "token" else (-1, value.shape[-1])))
