"""Refuses arguments that NumPy's and torch's functions have but the functions of the language do
not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from ..messages.locations import spec_error
from ..messages.names import did_you_mean, listed

_AXIS = "the vocabulary is the only axis, so leave it out"
_REMEDIES = {
    "axis": _AXIS, "dim": _AXIS,
    "keepdim": "a value per token meets one per entry as it is, so leave it out",
    "keepdims": "a value per token meets one per entry as it is, so leave it out",
    "dtype": "a loss computes in float32, so leave it out",
    "out": "a loss makes new values, so leave it out",
    "temperature": "divide first, as in {name}(x / temperature)",
    "weight": "multiply first, as in {name}(weight * x)",
    "mask": "choose first, as in {name}(lt.where(mask, x, 0.0))",
    "where": "choose first, as in {name}(lt.where(condition, x, 0.0))",
}  # fmt: skip
_OF_TWO = {"max": "of two values, take lt.maximum", "min": "of two values, take lt.minimum"}


def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which answers a call with other arguments than its own by a SpecError."""

    @wraps(function)
    def call(*args: object, **named: object) -> Any:
        try:
            return function(*args, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # the function was entered
            _refuse(function, args, named)

    return call


def _refuse(function: Callable[..., Any], args: tuple[object, ...], named: dict[str, object]) -> NoReturn:
    name, parameters = f"lt.{function.__name__}", inspect.signature(function).parameters
    takes = f"it takes {listed(parameters)}" if parameters else "it takes none"
    unknown = [one for one in named if one not in parameters]
    if unknown:
        remedy = _REMEDIES.get(unknown[0], "").format(name=name)
        remedy = f"; {remedy}" if remedy else did_you_mean(unknown[0], parameters)
        raise spec_error(f"'{name}' has no argument '{unknown[0]}'; {takes}{remedy}")
    if len(args) > len(parameters):
        remedy = _OF_TWO.get(function.__name__) if len(args) == 2 else None
        if remedy is None and list(parameters) == ["x"]:
            remedy = _AXIS.replace("it", "the others")
        raise spec_error(f"'{name}' got {len(args)} arguments; {takes}{f'; {remedy}' if remedy else ''}")
    twice = [one for one in list(parameters)[: len(args)] if one in named]
    if twice:
        raise spec_error(f"'{name}' got {listed(twice)} twice, by position and by name; {takes}")
    required = [p.name for p in list(parameters.values())[len(args) :] if p.default is p.empty]
    missing = [one for one in required if one not in named]
    raise spec_error(f"'{name}' needs {listed(missing)} as well; {takes}")
