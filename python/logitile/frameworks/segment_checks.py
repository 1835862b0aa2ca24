"""Checks of the ids and lengths of sequences, the same for every framework."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ..errors import CallIndexError, CallTypeError, CallValueError
from ..messages.names import shape_text

if TYPE_CHECKING:
    import numpy


def check_integers(are_integers: bool, dtype: object, are_lengths: bool) -> None:
    """That ids or lengths are integers.

    Raises:
        CallTypeError: they are not.
    """
    if not are_integers:
        what = "lengths" if are_lengths else "ids"
        raise CallTypeError(f"the {what} of 'segments' are {dtype}; they must be integers")


def check_shape(shape: Sequence[int], leading: Sequence[int]) -> None:
    """That there is an id for each token.

    Raises:
        CallValueError: there is not.
    """
    if tuple(shape) != tuple(leading):
        raise CallValueError(
            f"the ids of 'segments' have shape {shape_text(shape)}, but the tokens have "
            f"{shape_text(leading)}: the leading dimensions of hidden; give one id for each token"
        )


def check_range(ids: numpy.ndarray, count: int) -> None:
    """That every id is one of a sequence, or negative.

    Raises:
        CallIndexError: one is too large.
    """
    import numpy

    wrong = ids >= count
    if not wrong.any():
        return
    position = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    raise CallIndexError(
        f"the id of 'segments' at {shape_text(position)} is {int(ids[position])}, but there are {count} "
        f"sequences: an id is less than {count}, and negative for a token of no sequence"
    )


def check_lengths(lengths: numpy.ndarray, leading: Sequence[int]) -> None:
    """Checks that the lengths of sequences add up to the number of tokens.

    Raises:
        CallValueError: one is negative, or their sum is not the number of tokens.
    """
    if (lengths < 0).any():
        position = int((lengths < 0).argmax())
        raise CallValueError(
            f"length {position} of 'segments' is {int(lengths[position])}; a sequence has 0 tokens or more"
        )
    tokens = prod(leading)
    if int(lengths.sum()) != tokens:
        raise CallValueError(
            f"the lengths of 'segments' add up to {int(lengths.sum())}, but hidden has {tokens} tokens "
            f"(leading dimensions {shape_text(leading)}); if some tokens belong to no sequence, give ids to "
            "lt.Segments, negative ones for these"
        )
