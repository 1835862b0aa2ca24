"""The annotations of a loss for type checkers: classes, because a parameter is a traced value
inside a loss.

Nothing imports this module when a program runs. `lt.Logits` and `lt.Scalar` are the traced value
itself, so that a loss may assign what it computes to its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeAlias

from typing_extensions import TypeVar, TypeVarTuple, Unpack

from .values import Value

Element = TypeVar("Element")
Elements = TypeVarTuple("Elements")
FloatOrInt = TypeVar("FloatOrInt", default=float)


class K:
    """As many entries per token as the array has."""


Logits: TypeAlias = Value


class Number(Value, Generic[FloatOrInt]):
    """One number for the call."""


Scalar: TypeAlias = Value | Number[FloatOrInt]


class Token(Value, Generic[Unpack[Elements]]):
    """One number per token, or several: then `for entry in values` runs over them."""

    def __iter__(self) -> Iterator[Value]:  # type: ignore[override]
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class Vocab(Value, Generic[Element]):
    """One number per vocabulary entry."""


class Dense(Value, Generic[Element]):
    """One number per token and vocabulary entry."""
