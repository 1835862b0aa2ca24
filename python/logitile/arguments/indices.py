"""Rules about the values of integer inputs: which tokens are ignored,
and which indices are out of range.

The texts are the same wherever a wrong index is found: before a call, in the reference,
or in a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import CallIndexError, CallValueError
from ..messages.locations import Location
from ..spec.loss_spec import LossSpec
from ..spec.operations import SpecInput
from .call import Call
from .options import Options

if TYPE_CHECKING:
    import numpy


def index_error(
    name: str, position: tuple[int, ...], value: int, vocab: int, ignore_index: int | None
) -> CallIndexError:
    """A token input that is used as an index holds a number outside the vocabulary."""
    allowed = "" if ignore_index is None else f" or ignore_index {ignore_index}"
    return CallIndexError(
        f"'{name}'{_position(position)} is {value}, outside the vocabulary of {vocab} entries: it must be 0 "
        f"to {vocab - 1}{allowed}"
    )


def computed_index_error(
    location: Location | None, position: tuple[int, ...], value: int, vocab: int
) -> CallIndexError:
    """An index that the loss computes lies outside the vocabulary."""
    place = "" if location is None else f"{location}: "
    return CallIndexError(
        f"{place}the index that is computed for token {_position(position) or '[]'} is {value}, outside the "
        f"vocabulary of {vocab} entries: it must be 0 to {vocab - 1}"
    )


def narrow_error(name: str, position: tuple[int, ...], value: int) -> CallValueError:
    """An integer input does not fit into the 32 bits in which losses compute."""
    return CallValueError(f"'{name}'{_position(position)} is {value}, which does not fit in 32 bits")


def ignored_tokens(
    spec: LossSpec, options: Options, inputs: Mapping[str, numpy.ndarray], tokens: int
) -> numpy.ndarray:
    """Which tokens are ignored, [N] bool.

    Args:
        inputs: integer inputs [N] or [N, K], in their own width.
    """
    import numpy

    name = options.ignoring_input
    is_given = any(given.tells_ignored and given.name == name for given in spec.inputs)
    if options.ignore_index is None or not is_given:
        return numpy.zeros(tokens, bool)
    matches = inputs[name] == options.ignore_index
    return matches if matches.ndim == 1 else matches.all(axis=1)


def check_integers(
    spec: LossSpec, options: Options, call: Call, inputs: Mapping[str, numpy.ndarray], ignored: numpy.ndarray
) -> None:
    """Checks integer inputs in their own width, before they are narrowed.

    Args:
        inputs: integer inputs [N], [N, K], [V] or [].
        ignored: tokens that are exempt, [N].

    Raises:
        CallIndexError: an input that is used as an index lies outside the vocabulary.
        CallValueError: another integer does not fit in 32 bits.
    """
    for given in spec.inputs:
        if given.type != "i32":
            continue
        values, exempt = inputs[given.name], None
        if given.axis == "scalar":
            _check_number(given.name, int(values))
            continue
        leading: tuple[int, ...] = (call.vocab,)
        if given.axis == "token":
            leading, exempt = call.leading, ignored
        for index in sorted(_entries_used(spec, given)):
            entry = values if index < 0 else values[:, index]
            _check_index(given.name, None if index < 0 else index, call, options, entry, ignored)
        _check_range(given.name, leading, values, exempt)


def _entries_used(spec: LossSpec, given: SpecInput) -> set[int]:
    """The entries of an input that are indices; -1 stands for an input that has none."""
    used: set[int] = set()
    for key in spec.direct_indices:
        if key.name == given.name and key.places is not None:
            used.update(range(key.places))
        elif key.name == given.name:
            used.add(-1 if key.index is None else key.index)
    return used


def _check_number(name: str, value: int) -> None:
    if not -(2**31) <= value < 2**31:
        raise narrow_error(name, (), value)


def _check_range(
    name: str, leading: tuple[int, ...], values: numpy.ndarray, exempt: numpy.ndarray | None
) -> None:
    wrong = (values < -(2**31)) | (values >= 2**31)
    if exempt is not None:
        wrong &= ~(exempt if values.ndim == 1 else exempt[:, None])
    if wrong.any():
        flat, *entry = (int(i) for i in _first(wrong))
        raise narrow_error(name, (*unravelled(flat, leading), *entry), int(values[(flat, *entry)]))


def _check_index(
    name: str, entry: int | None, call: Call, options: Options, values: numpy.ndarray, ignored: numpy.ndarray
) -> None:
    wrong = ((values < 0) | (values >= call.vocab)) & ~ignored
    if entry is not None and options.ignore_index is not None:
        wrong &= values != options.ignore_index  # such an entry picks NaN: lt.valid
    if wrong.any():
        flat = int(_first(wrong)[0])
        position = unravelled(flat, call.leading) + (() if entry is None else (entry,))
        may_be_ignored = entry is not None or name == options.ignoring_input
        ignore_index = options.ignore_index if may_be_ignored else None
        raise index_error(name, position, int(values[flat]), call.vocab, ignore_index)


def unravelled(flat: int, leading: tuple[int, ...]) -> tuple[int, ...]:
    """The position of a token in the leading dimensions."""
    position = []
    for extent in reversed(leading):
        flat, rest = divmod(flat, extent)
        position.append(rest)
    return tuple(reversed(position))


def _first(mask: numpy.ndarray) -> tuple[int, ...]:
    import numpy

    return tuple(numpy.argwhere(mask)[0])


def _position(position: tuple[int, ...]) -> str:
    return f"[{', '.join(str(i) for i in position)}]" if position else ""
