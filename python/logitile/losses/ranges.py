"""Checks of the ranges of constants while a loss is traced."""

from __future__ import annotations

import numbers

from ..errors import CallTypeError, CallValueError
from ..language.values import Value

_LARGEST = 3.4028234663852886e38  # of float32


def check(name: str, value: object, least: float = -_LARGEST, most: float = _LARGEST) -> None:
    """Refuses a constant that is no number from `least` to `most`.

    A value that is read at run time passes:
    a loss may hand one to another loss where that has a constant.

    Raises:
        CallTypeError: it is no number.
        CallValueError: it lies outside.
    """
    _check(name, value, _spelled(least, most), lambda number: least <= number <= most)


def check_positive(name: str, value: object) -> None:
    """As `check`, for numbers above 0."""
    _check(name, value, "a finite number above 0", lambda number: 0 < number <= _LARGEST)


def check_inside(name: str, value: object, low: float, high: float) -> None:
    """As `check`, for numbers between two that are excluded themselves."""
    _check(name, value, f"a number above {low} and below {high}", lambda number: low < number < high)


def check_integer(name: str, value: object, least: int, most: int, why: str = "") -> None:
    """Refuses a constant that is not an integer from `least` to `most`; `why` is the reason.

    Raises:
        CallTypeError: it is no integer.
        CallValueError: it lies outside.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise CallTypeError(f"{name}={value!r} must be an int that is known while the loss is traced")
    if not least <= value <= most:
        raise CallValueError(f"{name}={value} must be from {least} to {most}{why}")


def check_names(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuses a constant that is no tuple of names out of `known`, none of them twice.

    Raises:
        CallTypeError: it is no tuple of texts.
        CallValueError: a name is unknown or doubled.
    """
    choices = ", ".join(repr(choice) for choice in known)
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        raise CallTypeError(f"{name}={value!r} must be a tuple of names out of {choices}")
    if not set(value) <= set(known) or len(set(value)) < len(value):
        raise CallValueError(f"{name}={value!r} must have names out of {choices}, each once")


def check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuses a constant that is not one of some names.

    Raises:
        CallTypeError: it is no text.
        CallValueError: the name is unknown.
    """
    if not isinstance(value, str) or value not in known:
        kind = CallValueError if isinstance(value, str) else CallTypeError
        raise kind(f"{name}={value!r} must be one of {', '.join(repr(choice) for choice in known)}")


def is_zero(value: object) -> bool:
    """Whether a constant is 0, so that its term can be left out; False for run-time values."""
    return not isinstance(value, Value) and value == 0


def _check(name, value, wanted, fits):
    if isinstance(value, Value):
        return
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise CallTypeError(f"{name}={value!r} must be {wanted}")
    if not fits(value):
        raise CallValueError(f"{name}={value} must be {wanted}")


def _spelled(least: float, most: float) -> str:
    if most < _LARGEST:
        return f"a number from {least} to {most}"
    return "a finite number" if least == -_LARGEST else f"a finite number of {least} or more"
