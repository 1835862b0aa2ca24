"""Arguments of commands about a loss: its name, constants, shapes and types."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterable

from ..errors import CallTypeError, CallValueError
from ..language.definition import Loss
from ..messages.names import did_you_mean, listed

DTYPES = {"f32": "float32", "fp32": "float32", "bf16": "bfloat16", "f16": "float16", "fp16": "float16"}


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """Adds the option --dtype."""
    types = [*DTYPES, *sorted(set(DTYPES.values()))]
    parser.add_argument("--dtype", default="bf16", choices=types, help="of hidden and weight (default: bf16)")


def add_constants(parser: argparse.ArgumentParser) -> None:
    """Adds the option --constant."""
    told = "a constant of the loss: a number, text, True, False or None; may be repeated"
    parser.add_argument("--constant", action="append", default=[], metavar="NAME=VALUE", help=told)


def loss_of(name: str) -> Loss:
    """A loss of the library, or of a module.

    Raises:
        CallValueError: no loss has that name.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        sys.path.insert(0, "")  # as `python -m` has it
        try:
            found = getattr(importlib.import_module(module), attribute, None)
        except (ImportError, ValueError) as error:
            raise CallValueError(f"module '{module}' cannot be imported: {error}") from None
        finally:
            sys.path.pop(0)
        if isinstance(found, Loss):
            return found
        raise CallValueError(f"'{attribute}' of module '{module}' is no loss; decorate it with lt.loss")
    from .. import losses

    names = [one for one in losses.__all__ if isinstance(getattr(losses, one), Loss)]
    if name not in names:
        raise CallValueError(
            f"there is no loss '{name}' in lt.losses{did_you_mean(name, names)}; it has {listed(names)}"
        )
    return getattr(losses, name)


def shape_of(text: str) -> tuple[int, int, int]:
    """N, D and V of "N,D,V".

    Raises:
        CallValueError: the text is something else.
    """
    if not re.fullmatch(r"[0-9]+,[0-9]+,[0-9]+", text):
        raise CallValueError(f"--shape is '{text}'; write N,D,V such as 1024,1024,32000")
    tokens, hidden, vocab = map(int, text.split(","))
    return tokens, hidden, vocab


def constants_of(loss: Loss, given: Iterable[str]) -> dict[str, object]:
    """Values by name.

    Raises:
        CallTypeError: one is not NAME=VALUE, or the loss has no such constant.
    """
    import ast

    known = [constant.name for constant in loss.signature.constants]
    constants: dict[str, object] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign:
            raise CallTypeError(f"--constant is '{one}'; write NAME=VALUE")
        if name not in known:
            raise CallTypeError(f"the loss has no constant '{name}'{did_you_mean(name, known)}")
        try:
            constants[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            constants[name] = value
    return constants
