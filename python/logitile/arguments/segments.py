"""`lt.Segments`, the argument `segments=` of a call: the sequence of each token."""

from __future__ import annotations

from typing import Any

from ..errors import CallTypeError, CallValueError

_MOST = 2**31 - 1


class Segments:
    """Which sequence each token of a call belongs to. Outputs are then sums or means of sequences.

        lt.Segments(ids, count=3)               # an id from 0 to 2 for each token
        lt.Segments.from_lengths([5, 2, 9])     # three consecutive sequences: 16 tokens

    Args:
        ids: integers in the leading dimensions of hidden. Tokens of one id are one sequence,
            wherever they stand. A token of a negative id belongs to no sequence.
        count: the number of sequences, S. Some of them may have no token.

    Raises:
        CallTypeError: `ids` is not an array, or `count` not an int.
        CallValueError: `count` is negative.
    """

    def __init__(self, ids: Any, count: int):
        _check_array(ids, "ids", "one for each token, or lengths to lt.Segments.from_lengths")
        if not isinstance(count, int) or isinstance(count, bool):
            raise CallTypeError(f"count={count!r} of lt.Segments must be an int: the number of sequences")
        if not 0 <= count <= _MOST:
            raise CallValueError(f"count={count} of lt.Segments must be from 0 to {_MOST}")
        self.given, self.count, self.are_lengths = ids, count, False

    @classmethod
    def from_lengths(cls, lengths: Any) -> Segments:
        """Consecutive sequences, as in a packed batch. Every token belongs to one.

        Args:
            lengths: the number of tokens of each sequence, in their order: a list of ints, or
                integers [S]. Their sum is the number of tokens of the call, whose leading
                dimensions are read row by row.

        Raises:
            CallTypeError: `lengths` is neither a list nor an array.
            CallValueError: the array has more than one axis, or none.
        """
        _check_array(lengths, "lengths", "a list of ints or an array of integers")
        if hasattr(lengths, "shape") and len(lengths.shape) != 1:
            raise CallValueError(
                f"the lengths of lt.Segments have {len(lengths.shape)} axes; they must have one, in which "
                "each entry is the number of tokens of a sequence"
            )
        made = cls(lengths, len(lengths))
        made.are_lengths = True
        return made

    def __repr__(self) -> str:
        return f"<segments: {self.count} sequences by {'lengths' if self.are_lengths else 'ids'}>"


def checked_segments(segments: object) -> Segments:
    """What a call got as `segments`.

    Raises:
        CallTypeError: it is no Segments.
    """
    if isinstance(segments, Segments):
        return segments
    raise CallTypeError(
        f"'segments' is of type {type(segments).__name__}; give lt.Segments(ids, count), or "
        "lt.Segments.from_lengths(lengths)"
    )


def _check_array(item: object, what: str, remedy: str) -> None:
    if not isinstance(item, (list, tuple)) and not (hasattr(item, "shape") and hasattr(item, "dtype")):
        raise CallTypeError(
            f"the {what} of lt.Segments are of type {type(item).__name__}, which is not an array; give "
            f"{remedy}"
        )
