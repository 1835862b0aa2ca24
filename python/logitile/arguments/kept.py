"""Heads that a loss keeps: one for each choice of options and constants."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ..frameworks.choice import is_read, python_number, read_constant
from ..frameworks.dtypes import dtype_name
from ..language.definition import Loss
from ..language.signature import JIT_OPTIONS
from .options import Options, checked_constants, checked_options

_MOST = 256  # heads of one loss; those that were made first go first
_PLAIN = (type(None), bool, int, float, str)
_numbers = itertools.count()

Make = Callable[[Loss, Options, dict[str, object]], Any]


def kept(make: Make, loss: Loss, given: Mapping[str, object]) -> Any:
    """The head of a loss with these options of lt.jit and constants.
    `make` creates it if there is none.

    Raises:
        CallTypeError, CallValueError, TargetError: as for lt.jit.
    """
    if is_read():
        return getattr(loss.kept, read_constant(name_of, make, loss, loss.token, given))
    return getattr(loss.kept, name_of(make, loss, given))


def name_of(make: Make, loss: Loss, given: Mapping[str, object]) -> str:
    """The attribute of `loss.kept` with the head, which is there then."""
    heads = vars(loss.kept)
    name = _name(given)
    if name not in heads:
        choice = {option: given[option] for option in JIT_OPTIONS if option in given}
        options = checked_options(loss.signature, **choice)
        constants = checked_constants(
            loss.signature, {constant: item for constant, item in given.items() if constant not in choice}
        )
        heads[name] = make(loss, options, constants)
        while len(heads) > _MOST:
            heads.pop(next(iter(heads)), None)
    return name


def forget(loss: Loss, head: object) -> None:
    """Forgets a head that becomes another one."""
    for name, made in list(vars(loss.kept).items()):
        if made is head:
            del vars(loss.kept)[name]


def _name(given: Mapping[str, object]) -> str:
    """The attribute of the head with a choice of options and constants."""
    dtype = given.get("output_dtype")
    plain = {**given, "output_dtype": dtype if dtype is None else dtype_name(dtype)}
    return word(repr([f"{name}={_text(item)}" for name, item in sorted(plain.items())]))


def word(content: str) -> str:
    """An attribute of Kept for what a text describes: a plain word, as torch.compile wants it."""
    return "head" + hashlib.sha256(content.encode()).hexdigest()


def _text(item: object) -> str:
    """What tells a value from others. Two objects of a kind that is not known here
    are never the same.
    """
    if type(item) in _PLAIN:
        return repr(item)
    if type(item) is tuple:
        return f"({', '.join(map(_text, item))})"
    number = python_number(item)
    return f"<object {next(_numbers)}>" if number is item else repr(number)
