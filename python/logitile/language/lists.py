"""Values with several numbers for each token: how they meet other values, and what is refused.

A list is an lt.Token[..., K] input as a whole, or what elementwise functions and picks make of one. Lists of
lt.topk are something else: they meet nothing (arithmetic.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages.locations import spec_error


class Operand(Protocol):
    """A traced value, as far as this file looks at it."""

    @property
    def varying(self) -> bool: ...
    @property
    def places(self) -> int | None: ...
    @property
    def label(self) -> str: ...


def common_places(what: str, operands: Sequence[Operand]) -> int | None:
    """How many places the result of an elementwise operation has: those of the lists among its operands.

    Args:
        what: the operation, as errors call it.

    Raises:
        SpecError: lists of several lengths meet, or a list meets what varies along the vocabulary.
    """
    lists = [operand for operand in operands if operand.places is not None]
    if not lists:
        return None
    first = lists[0]
    for other in lists:
        if other.places != first.places:
            raise spec_error(
                f"{what} got {first.label}, a list of {first.places} places, and {other.label}, one of "
                f"{other.places}; lists meet place by place, so they must have the same length"
            )
    for operand in operands:
        if operand.varying:
            raise spec_error(
                f"{what} got {first.label}, a list of {first.places} places, and {operand.label}, which "
                "varies along the vocabulary; pick first, as in x[ids], which is a list of entries"
            )
    return first.places


def check_one_number(value: Operand, what: str, remedy: str) -> None:
    """Refuses a list where one number per token is needed.

    Raises:
        SpecError: it is a list.
    """
    if value.places is not None:
        raise spec_error(f"{what} got {value.label}, a list of {value.places} places; {remedy}")
