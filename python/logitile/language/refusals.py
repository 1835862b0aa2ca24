"""Operations that traced values refuse, because Python and array libraries need their number; the
errors name a replacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..errors import SpecAttributeError
from ..messages.locations import spec_error
from ..messages.names import did_you_mean

# NumPy's and torch's names of what the language calls otherwise.
_OTHER_NAMES = {
    "amax": "max", "amin": "min", "fmax": "maximum", "fmin": "minimum", "absolute": "abs", "fabs": "abs",
    "clip": "clamp", "power": "**", "reciprocal": "1 / x", "multiply": "*", "mul": "*", "add": "+",
    "subtract": "-", "sub": "-", "true_divide": "/", "divide": "/", "div": "/", "negative": "-", "neg": "-",
    "greater": ">", "less": "<", "pow": "**", "gt": ">", "lt": "<", "equal": "==", "eq": "==",
    "not_equal": "!=", "ne": "!=", "gather": "value[index]", "greater_equal": ">=", "ge": ">=",
    "less_equal": "<=", "le": "<=", "take_along_axis": "value[index]", "take": "value[index]",
    "detach": "stop_gradient", "expit": "sigmoid", "count_nonzero": "count", "invert": "~",
    "logical_not": "~", "logical_and": "&", "logical_or": "|",
}  # fmt: skip


class Refusals:
    """Python's and the array libraries' hooks of a traced value: each says what to use instead."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self._refuse(
            "has no truth value while the loss is traced: 'if', 'while', 'and', 'or', 'not', 'in', chained "
            "comparisons, max() and min() cannot look at it; use lt.where(condition, a, b), '&', '|', '~', "
            "lt.maximum and lt.minimum"
        )

    def __float__(self) -> float:
        return self._refuse(
            "is no number while the loss is traced, so float() and the functions of 'math' cannot take it; "
            "use the functions of logitile, such as lt.exp"
        )

    def __int__(self) -> int:
        return self._refuse(
            "is no number while the loss is traced, so int() cannot take it; use lt.floor to round, or an "
            "lt.Token[int] input for integers"
        )

    def __index__(self) -> int:
        return self._refuse(
            "is no Python int while the loss is traced, so range() and the indexing of lists cannot take "
            "it; pick an entry of the vocabulary with value[index], unroll over Python ints otherwise"
        )

    def __complex__(self) -> complex:
        return self._refuse(
            "is no number while the loss is traced, so complex() cannot take it; a loss is real"
        )

    def __round__(self, digits: int | None = None) -> NoReturn:
        self._refuse("cannot be rounded with round(); use lt.floor(x + 0.5)")

    def __floor__(self) -> NoReturn:
        self._refuse("cannot be taken by math.floor; use lt.floor")

    def __ceil__(self) -> NoReturn:
        self._refuse("cannot be taken by math.ceil; use -lt.floor(-x)")

    def __trunc__(self) -> NoReturn:
        self._refuse("cannot be taken by math.trunc; use lt.floor")

    def __floordiv__(self, other: object) -> NoReturn:
        self._refuse("has no '//'; use lt.floor(a / b)")

    def __mod__(self, other: object) -> NoReturn:
        self._refuse("has no '%'; use a - b * lt.floor(a / b)")

    def __matmul__(self, other: object) -> NoReturn:
        self._refuse(
            "has no '@': a loss sees one token, and the projection is done already; use lt.sum(a * b)"
        )

    def __xor__(self, other: object) -> NoReturn:
        self._refuse("has no '^'; use a != b for bools")

    def __divmod__(self, other: object) -> NoReturn:
        self._refuse("has no divmod(); use lt.floor(a / b) and a - b * lt.floor(a / b)")

    def __lshift__(self, other: object) -> NoReturn:
        self._refuse("has no '<<'; multiply it by a power of two")

    def __rshift__(self, other: object) -> NoReturn:
        self._refuse("has no '>>'; use lt.floor(lt.to_float(a) / 2**b)")

    __rfloordiv__, __rmod__, __rmatmul__, __rxor__ = __floordiv__, __mod__, __matmul__, __xor__
    __rdivmod__, __rlshift__, __rrshift__ = __divmod__, __lshift__, __rshift__

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        return self._refuse(
            f"is no number while the loss is traced, so it cannot be formatted with '{specification}'; print "
            "the value itself, which shows what it is"
        )

    def __iter__(self) -> Iterator[NoReturn]:
        return self._refuse(
            "cannot be iterated: the vocabulary axis is implicit; use lt.sum, lt.max, lt.any and the other "
            "reductions instead of loops, sum(), max() and any()"
        )

    def __len__(self) -> int:
        return self._refuse("has no len(): the vocabulary axis is implicit; lt.vocab_size() is its size")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._refuse(f"has no attributes that can be set, such as '{name}'; keep it in a variable instead")

    def __delattr__(self, name: str) -> NoReturn:
        self._refuse(f"has no attributes that can be deleted, such as '{name}'")

    def __delitem__(self, index: object) -> NoReturn:
        self._refuse("has no entries that can be deleted; use lt.where(lt.column() == index, new, old)")

    def __setitem__(self, index: object, value: object) -> NoReturn:
        self._refuse("cannot be changed in place; use lt.where(lt.column() == index, new, old)")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        self._refuse("is no array, so NumPy cannot take it; use the functions of logitile")

    def __array_ufunc__(self, function: object, method: str, *inputs: object, **_: object) -> object:
        import numpy  # it is NumPy that calls

        operator = _OPERATORS.get(function.__name__)
        if (
            operator is not None
            and method == "__call__"
            and all(isinstance(x, (Refusals, numpy.generic)) for x in inputs)
        ):
            first, second = (x.item() if isinstance(x, numpy.generic) else x for x in inputs)
            return operator(first, second)  # a NumPy scalar is a constant like any other
        arrays = [x for x in inputs if isinstance(x, numpy.ndarray)]
        if arrays and operator is not None:
            raise spec_error(
                foreign_operand(arrays[0], _OTHER_NAMES.get(function.__name__, function.__name__))
            )
        self._refuse_function("numpy", function.__name__)

    def __array_function__(self, function: object, *_: object) -> NoReturn:
        self._refuse_function("numpy", function.__name__)

    @classmethod
    def __torch_function__(
        cls, function: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> NoReturn:
        value = _first_traced([*args, *(kwargs or {}).values()])
        tensors = [x for x in args if not isinstance(x, Refusals) and type(x).__module__.startswith("torch")]
        name = getattr(function, "__name__", str(function)).strip("_")
        if tensors and name in _OTHER_NAMES:
            raise spec_error(foreign_operand(tensors[0], _OTHER_NAMES[name]))
        value._refuse_function("torch", name)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # protocols that somebody probes for
            raise AttributeError(name)
        language = self.trace.functions
        remedy = f"; use lt.{name}(x)" if name in language else did_you_mean(name, language)
        message = f"{self.label} is a traced value, which has no attribute '{name}'{remedy}"
        raise spec_error(message, kind=SpecAttributeError)

    def _refuse(self, why: str) -> NoReturn:
        raise spec_error(f"{self.label} {why}")

    def _refuse_function(self, library: str, name: str) -> NoReturn:
        language = self.trace.functions
        known = _OTHER_NAMES.get(name, name)
        if known in language:
            remedy = f"use lt.{known}"
        else:
            remedy = f"use {known}" if name in _OTHER_NAMES else "use the functions of logitile"
        raise spec_error(f"'{library}.{name}' cannot take the traced {self.label}; {remedy}")


def foreign_operand(item: object, what: str) -> str:
    """Why 'item' cannot be an operand of 'what' in a loss, and where it belongs."""
    if item is None:
        return (
            f"'{what}' got None; an optional input that is absent is None: test it with 'is None' before "
            "using it"
        )
    if hasattr(item, "shape") and hasattr(item, "dtype"):
        library = type(item).__module__.partition(".")[0]
        return (
            f"'{what}' got an array of {library} with shape {list(item.shape)}; a loss reads arrays "
            "through its parameters only: add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"
        )
    return f"'{what}' got {item!r} of type {type(item).__name__}; it takes traced values and Python numbers"


_OPERATORS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "power": lambda a, b: a**b, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "equal": lambda a, b: a == b, "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b, "not_equal": lambda a, b: a != b,
}  # fmt: skip


def _first_traced(items: list[object]) -> Refusals:
    """The traced value among the arguments of a torch function; it may sit in a list,
    as in torch.stack.
    """
    for item in items:
        if isinstance(item, Refusals):
            return item
        if isinstance(item, (list, tuple)):
            found = [x for x in item if isinstance(x, Refusals)]
            if found:
                return found[0]
    raise AssertionError("torch asked a traced value about a call without one")
