"""The traced value with which a loss computes: its operators record operations. arithmetic.py
defines them.
"""

from __future__ import annotations

from . import arithmetic
from .refusals import Refusals
from .trace import Traced


class Operators:
    """Python's operators, for traced values and for what stands for one."""

    __slots__ = ()

    def __add__(self, other: object) -> Value:
        return arithmetic.add(self, other)

    def __radd__(self, other: object) -> Value:
        return arithmetic.add(other, self)

    def __sub__(self, other: object) -> Value:
        return arithmetic.subtract(self, other)

    def __rsub__(self, other: object) -> Value:
        return arithmetic.subtract(other, self)

    def __mul__(self, other: object) -> Value:
        return arithmetic.multiply(self, other)

    def __rmul__(self, other: object) -> Value:
        return arithmetic.multiply(other, self)

    def __truediv__(self, other: object) -> Value:
        return arithmetic.divide(self, other)

    def __rtruediv__(self, other: object) -> Value:
        return arithmetic.divide(other, self)

    def __pow__(self, other: object, modulus: object = None) -> Value:
        if modulus is not None:
            self._refuse("has no pow() with a modulus; use a ** b")  # type: ignore[attr-defined]
        return arithmetic.power(self, other)

    def __rpow__(self, other: object) -> Value:
        return arithmetic.power(other, self)

    def __neg__(self) -> Value:
        return arithmetic.negate(self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return arithmetic.absolute(self)

    def __lt__(self, other: object) -> Value:
        return arithmetic.compare("<", self, other)

    def __le__(self, other: object) -> Value:
        return arithmetic.compare("<=", self, other)

    def __gt__(self, other: object) -> Value:
        return arithmetic.compare(">", self, other)

    def __ge__(self, other: object) -> Value:
        return arithmetic.compare(">=", self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return arithmetic.compare("==", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return arithmetic.compare("!=", self, other)

    def __and__(self, other: object) -> Value:
        return arithmetic.logical("&", self, other)

    def __or__(self, other: object) -> Value:
        return arithmetic.logical("|", self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Value:
        return arithmetic.invert(self)

    def __getitem__(self, index: object) -> Value:
        return arithmetic.pick(self, index)


class Value(Operators, Refusals, Traced):
    """A scalar of the loss that is being traced: one number per token,
    or one per token and vocabulary entry.

    Operators record operations; everything that would need the number itself is refused
    (refusals.py).
    """

    __slots__ = ()

    def __repr__(self) -> str:
        axis = "varying along the vocabulary" if self.varying else f"{self.places or 'one'} per token"
        return f"<{self.label}: {self.type}, {axis}>"

    __hash__ = object.__hash__

    def __copy__(self) -> Value:
        return self

    def __deepcopy__(self, memo: object) -> Value:
        return self
