"""The functions of the language. Each takes traced values or Python numbers;
operators are in arithmetic.py.

"Varying" is a value that differs along the vocabulary, "uniform" one per token. Elementwise
functions keep what their operands are, reductions turn varying into uniform. What -inf, NaN and
ties mean follows PyTorch.
"""

from __future__ import annotations

import math

from ..messages.locations import spec_error
from ..spec.operations import TOKEN_INDEX
from . import arithmetic
from .accepted import refusing
from .arithmetic import bool_operand, float_operand, lifted, operands
from .trace import current_trace, described
from .values import Value

__all__ = (
    "abs", "all", "any", "argmax", "argmin", "clamp", "column", "cos", "count", "erf", "exp", "exp2", "expm1",
    "floor", "gelu", "isfinite", "isnan", "log", "log1p", "log2", "log_sigmoid", "log_softmax", "logsumexp",
    "max", "maximum", "mean", "min", "minimum", "pow", "rsqrt", "sigmoid", "sign", "sin", "softmax",
    "softplus", "sqrt", "square", "stop_gradient", "sum", "tanh", "to_float", "topk", "uniform", "valid",
    "vocab_size", "where",
)  # fmt: skip

MOST_PLACES = 1024  # kMostPlaces in dialect/types/Limits.h

# ---- selection -----------------------------------------------------------------------------------


def where(condition: object, a: object, b: object) -> Value:
    """'a' if the condition is true, otherwise 'b'.
    The branch that is not taken contributes neither values nor gradients.
    """
    chosen = bool_operand(condition, "lt.where")
    a, b = operands(a, b, "lt.where")
    return a.trace.emit("arith.select", (chosen, a, b))


def minimum(a: object, b: object) -> Value:
    """The smaller of two numbers, NaN if one is; the gradient is split in halves between equals."""
    return _extremum("lt.minimum", a, b, "arith.minimumf", "arith.minsi")


def maximum(a: object, b: object) -> Value:
    """The larger of two numbers, NaN if one is; the gradient is split in halves between equals."""
    return _extremum("lt.maximum", a, b, "arith.maximumf", "arith.maxsi")


def clamp(x: object, low: object, high: object) -> Value:
    """'x' limited to [low, high]; its gradient passes inside and at the bounds."""
    x, low = operands(x, low, "lt.clamp")
    x, high = operands(x, high, "lt.clamp")
    if x.type == "i32":
        return minimum(maximum(x, low), high)
    return x.trace.emit("math.clampf", (float_operand(x, "lt.clamp"), low, high))


def _extremum(what: str, a: object, b: object, of_floats: str, of_integers: str) -> Value:
    a, b = operands(a, b, what)
    if a.type == "i1":
        raise spec_error(f"'{what}' takes numbers, got {described(a)}; use & and | for bools")
    return a.trace.emit(of_floats if a.type == "f32" else of_integers, (a, b))


# ---- elementwise maths ---------------------------------------------------------------------------


def abs(x: object) -> Value:
    """|x|; its gradient at 0 is 0."""
    return arithmetic.absolute(x)


def sign(x: object) -> Value:
    """-1, 0 or 1 (0 for NaN); carries no gradient."""
    x = float_operand(x, "lt.sign")
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


def exp(x: object) -> Value:
    """e**x."""
    return _unary("lt.exp", "math.exp", x)


def exp2(x: object) -> Value:
    """2**x."""
    return _unary("lt.exp2", "math.exp2", x)


def log(x: object) -> Value:
    """Natural logarithm. log(exp(x)) is x, and log(sum(exp(x))) is lt.logsumexp(x)."""
    return _unary("lt.log", "math.log", x)


def log2(x: object) -> Value:
    """Logarithm to base 2. For an exponential it is the exponent."""
    return _unary("lt.log2", "math.log2", x)


def log1p(x: object) -> Value:
    """log(1 + x), accurate for small x."""
    return _unary("lt.log1p", "math.log1p", x)


def expm1(x: object) -> Value:
    """e**x - 1, accurate for small x."""
    return _unary("lt.expm1", "math.expm1", x)


def tanh(x: object) -> Value:
    """Hyperbolic tangent."""
    return _unary("lt.tanh", "math.tanh", x)


def erf(x: object) -> Value:
    """The error function: 2 / sqrt(pi) times the integral of e**(-t * t) from 0 to x."""
    return _unary("lt.erf", "math.erf", x)


def gelu(x: object, approximate: str = "none") -> Value:
    """x times the probability that a standard normal variable is below x.

    Args:
        approximate: "none" for the definition with lt.erf, "tanh" for 0.5 * x * (1 + tanh(sqrt(2 /
            pi) * (x + 0.044715 * x**3))), as in torch.nn.functional.gelu.

    Raises:
        SpecError: another word for 'approximate'.
    """
    x = float_operand(x, "lt.gelu")
    if approximate == "none":
        return 0.5 * x * (1.0 + erf(math.sqrt(0.5) * x))
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
    raise spec_error(f"'lt.gelu' got approximate={approximate!r}; it takes \"none\" or \"tanh\"")


def sin(x: object) -> Value:
    """Sine of an angle in radians, accurate for large angles too; NaN of infinities."""
    return _unary("lt.sin", "math.sin", x)


def cos(x: object) -> Value:
    """Cosine of an angle in radians, accurate for large angles too; NaN of infinities."""
    return _unary("lt.cos", "math.cos", x)


def pow(x: object, y: object) -> Value:
    """x ** y of two floats; a root of a negative number is NaN."""
    return arithmetic.power(x, y, "lt.pow")


def sigmoid(x: object) -> Value:
    """1 / (1 + e**-x)."""
    return _unary("lt.sigmoid", "logitile.sigmoid", x)


def softplus(x: object) -> Value:
    """log(1 + e**x), without overflow."""
    return _unary("lt.softplus", "logitile.softplus", x)


def log_sigmoid(x: object) -> Value:
    """log(sigmoid(x)), without underflow."""
    return -softplus(-float_operand(x, "lt.log_sigmoid"))


def sqrt(x: object) -> Value:
    """Square root. For an exponential it is another exponential."""
    return _unary("lt.sqrt", "math.sqrt", x)


def rsqrt(x: object) -> Value:
    """1 / sqrt(x). For an exponential it is another exponential."""
    return _unary("lt.rsqrt", "math.rsqrt", x)


def square(x: object) -> Value:
    """x * x."""
    x = float_operand(x, "lt.square")
    return x * x


def floor(x: object) -> Value:
    """The largest integer that is not above x, as a float; carries no gradient."""
    return _unary("lt.floor", "math.floor", x)


def isfinite(x: object) -> Value:
    """Whether x is neither infinite nor NaN."""
    x = float_operand(x, "lt.isfinite")
    return x.trace.emit("math.isfinite", (x,))


def isnan(x: object) -> Value:
    """Whether x is NaN."""
    x = float_operand(x, "lt.isnan")
    return x.trace.emit("math.isnan", (x,))


def to_float(x: object) -> Value:
    """An integer or bool as a float (True is 1.0)."""
    x = lifted(x, "lt.to_float")
    if not isinstance(x, Value):
        return current_trace("'lt.to_float'").constant(float(x), "f32")
    if x.type == "f32":
        return x
    return x.trace.emit("arith.sitofp" if x.type == "i32" else "arith.uitofp", (x,))


def stop_gradient(x: object) -> Value:
    """'x', taken as a constant by differentiation."""
    x = float_operand(x, "lt.stop_gradient")
    return x.trace.emit("logitile.stop_gradient", (x,))


def valid(t: object) -> Value:
    """Whether an integer input, or an entry of one, differs from ignore_index.

    Args:
        t: an lt.Token[int] input, an entry of an lt.Token[int, lt.K] input, or all of them: then
            the result is a list. Of the indices of lt.topk, all are valid.
    """
    t = lifted(t, "lt.valid")
    is_given = isinstance(t, Value) and (t.op.name == "logitile.input" or t.is_ranked)
    if not is_given or t.type != "i32" or t.varying:
        raise spec_error(
            f"'lt.valid' takes an lt.Token[int] input or one of its entries, got {described(t)}"
        )
    return arithmetic.is_valid(t)


def _unary(what: str, name: str, x: object) -> Value:
    x = float_operand(x, what)
    return x.trace.emit(name, (x,))


# ---- over the vocabulary -------------------------------------------------------------------------


def sum(x: object) -> Value:
    """Sum over the vocabulary, or over the places of a list."""
    return _reduce("sum", x)


def mean(x: object) -> Value:
    """Mean over the vocabulary, or over the places of a list."""
    return _reduce("mean", x)


def max(x: object) -> Value:
    """Largest entry, NaN if there is one; its gradient goes to the entry that lt.argmax names."""
    return _reduce("max", x)


def min(x: object) -> Value:
    """Smallest entry, NaN if there is one; its gradient goes to the entry that lt.argmin names."""
    return _reduce("min", x)


def argmax(x: object) -> Value:
    """Index of the largest entry: of the first NaN, or else the lowest index among equals."""
    return _reduce("argmax", x)


def argmin(x: object) -> Value:
    """Index of the smallest entry: of the first NaN, or else the lowest index among equals."""
    return _reduce("argmin", x)


def topk(x: object, k: int) -> tuple[Value, Value]:
    """The k largest entries and their indices, the best first; the lowest index first among equals.

    NaN counts as larger than every number, as in torch.topk. Both results are lists, as a whole
    lt.Token[..., lt.K] input is one: elementwise functions, lt.sum and lt.mean take them, and
    y[indices] has the entries of another value. The gradient of the values goes to their entries of
    x; indices have none. An output of the loss that is a list has k numbers per token, in an axis
    after those of the tokens, and takes no gradient. The entries are found in one pass over the
    vocabulary, whatever k is, and no array of the size of the logits is made.

    Args:
        x: a varying float.
        k: a Python integer from 1 to 1024, and not more than the vocabulary has entries.

    Returns: (values, indices), floats and integers.

    Raises:
        SpecError: another k, or an x that does not vary.
    """
    x = float_operand(x, "lt.topk")
    if not isinstance(k, int) or isinstance(k, bool):
        raise spec_error(f"'lt.topk' got k={k!r}; it takes a Python integer, known while tracing")
    if not 1 <= k <= MOST_PLACES:
        raise spec_error(f"'lt.topk' got k={k}; it takes 1 to {MOST_PLACES}")
    if k > x.trace.vocab:
        raise spec_error(f"'lt.topk' got k={k}, but the vocabulary has {x.trace.vocab} entries; take no more")
    if x.places is not None:
        raise spec_error(
            f"'lt.topk' of {x.label} goes over the vocabulary, but this is a list of {x.places} numbers per "
            "token"
        )
    if not x.varying:
        raise spec_error(
            f"'lt.topk' of {x.label} has nothing to put in order: it is the same for every vocabulary entry"
        )
    values, indices = (
        x.trace.emit("logitile.reduce", (x,), type, combiner, varying=False, places=k)
        for combiner, type in (("top", "f32"), ("argtop", "i32"))
    )
    return values, indices


def logsumexp(x: object) -> Value:
    """log(sum(exp(x))) over the vocabulary, without overflow."""
    return _reduce("logsumexp", x)


def count(x: object) -> Value:
    """Number of entries that are true."""
    return _reduce("count", x)


def any(x: object) -> Value:
    """Whether some entry is true."""
    return _reduce("any", x)


def all(x: object) -> Value:
    """Whether every entry is true."""
    return _reduce("all", x)


def softmax(x: object) -> Value:
    """exp(x) / sum(exp(x)), varying."""
    return exp(log_softmax(float_operand(x, "lt.softmax")))


def log_softmax(x: object) -> Value:
    """log(softmax(x)), varying."""
    x = float_operand(x, "lt.log_softmax")
    return x - logsumexp(x)


def column() -> Value:
    """The index of the vocabulary entry: a varying integer from 0 to lt.vocab_size() - 1."""
    return current_trace("'lt.column'").emit("logitile.column", type="i32", varying=True)


def uniform(seed: object, stream: object = 0) -> Value:
    """A random number between 0 and 1, both excluded, for every token and vocabulary entry:
    a varying float.

    It depends on four integers only: seed, stream, the index of the token and that of the
    vocabulary entry. The same four give the same bits in every call, on every target, and however
    tokens and the vocabulary are cut. The index of a token is its position among all tokens of the
    call, those that are ignored included, in row-major order of the leading dimensions. So two
    calls with one seed draw the same numbers for their tokens number 0; give each call another
    seed. No gradient flows through the number.

    Args:
        seed: an integer, the same for all tokens or one for each: usually a parameter that is
            annotated `lt.Scalar[int]`, so that a new seed compiles nothing.
        stream: another integer. Numbers of several streams are independent, also under one seed:
            for several draws in one loss, or for the upper half of a seed of 64 bits.

    Numbers are multiples of 2**-33 in float32, from 2**-33 to 1 - 2**-24. Both `lt.log(u)` and
    `lt.log1p(-u)` are finite and negative. Near 0 the steps are finest: so `-lt.log(u)` is an
    exponential variable, and `-lt.log(-lt.log1p(-u))` a Gumbel variable, whose large values are
    fine.

    Source: Philox 4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    The key is (seed, stream). Entries e, e + 8, e + 16 and e + 24, where bits 3 and 4 of e are 0,
    have the four words for the counter (e, token, 0, 0).
    """
    trace = current_trace("'lt.uniform'")
    words = (_drawn_from("seed", seed), _drawn_from("stream", stream))
    token = trace.input(TOKEN_INDEX.axis, TOKEN_INDEX.name, "i32")
    return trace.emit("logitile.uniform", (*words, token, column()))


def _drawn_from(name: str, word: object) -> Value:
    """An integer that is one per token, or the same for all."""
    word = lifted(word, "lt.uniform")
    if not isinstance(word, Value) and isinstance(word, int) and not isinstance(word, bool):
        return current_trace("'lt.uniform'").constant(word, "i32")
    if not isinstance(word, Value) or word.type != "i32":
        raise spec_error(
            f"'lt.uniform' takes an integer as '{name}', got {described(word)}; annotate a parameter "
            "lt.Scalar[int] or lt.Token[int]"
        )
    if word.places is not None:
        raise spec_error(
            f"'lt.uniform' takes one integer per token as '{name}', but {word.label} is a list of "
            f"{word.places}"
        )
    if word.varying:
        raise spec_error(
            f"'lt.uniform' takes one integer per token as '{name}', but {word.label} varies along the "
            "vocabulary, whose entries have different numbers anyway"
        )
    return word


def vocab_size() -> int:
    """The number of entries of the vocabulary, a Python int."""
    return current_trace("'lt.vocab_size'").vocab


_RESULTS = {"argmax": "i32", "argmin": "i32", "count": "i32", "any": "i1", "all": "i1"}


def _reduce(combiner: str, x: object) -> Value:
    what = f"lt.{combiner}"
    x = (
        _counted(combiner, x)
        if combiner in ("count", "any", "all")
        else float_operand(_summed(combiner, x), what)
    )
    if x.places is not None:
        return _over_places(combiner, x)
    if not x.varying:
        raise spec_error(
            f"'{what}' of {x.label} reduces nothing: it is the same for every vocabulary entry; "
            f"{_uniform_remedy(combiner)}"
        )
    return x.trace.emit("logitile.reduce", (x,), _RESULTS.get(combiner, "f32"), combiner, varying=False)


def _over_places(combiner: str, x: Value) -> Value:
    """Reduces a list over its places."""
    if combiner not in ("sum", "mean"):
        raise spec_error(
            f"'lt.{combiner}' of {x.label} goes over the vocabulary, but this is a list of {x.places} "
            "numbers per token; lt.sum and lt.mean go over its places"
        )
    total = x.trace.emit("logitile.sum_list", (x,), "f32", varying=False)
    return total if combiner == "sum" else total / float(x.places)  # 1 / K would be rounded


def _counted(combiner: str, x: object) -> Value:
    x = lifted(x, f"lt.{combiner}")
    if isinstance(x, Value) and x.places is not None:
        raise spec_error(
            f"'lt.{combiner}' of {x.label} goes over the vocabulary, but this is a list of {x.places} "
            "numbers per token; add it up with lt.sum(lt.to_float(x))"
        )
    if isinstance(x, Value) and x.type == "i1":
        return x
    raise spec_error(
        f"'lt.{combiner}' takes bools, got {described(x)}; compare it first, for example x > 0"
    )


def _summed(combiner: str, x: object) -> object:
    x = lifted(x, f"lt.{combiner}")
    if isinstance(x, Value) and x.type == "i1":
        counts = "count it with lt.count, or use lt.any, lt.all"
        remedy = counts if x.places is None else "convert it with lt.to_float"
        raise spec_error(f"'lt.{combiner}' takes floats, got {described(x)}; {remedy}")
    return x


def _uniform_remedy(combiner: str) -> str:
    return "multiply it by lt.vocab_size() if that is meant" if combiner == "sum" else "use it as it is"


for _name in __all__:
    globals()[_name] = refusing(globals()[_name])
