"""Heads for functions that take their options at each call: made once for each choice, kept for the process.

Nothing here knows a project.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from ..head import Head, jit
from ..language.definition import Loss


class Heads:
    """Heads as attributes: torch.compile guards the one that a graph uses, not all.

    The name of an attribute says all that its head was made of, so that it does not matter who makes it.
    """


_HEADS = Heads()  # of the process


def head(loss: Loss, **bound: Any) -> Head:
    """The head of a loss with these options and constants, which must be told apart by their repr."""
    made: Head = getattr(_HEADS, _name(loss, **bound))
    return made


@torch.compiler.assume_constant_result  # torch.compile shall not look into how a head is made
def _name(loss: Loss, **bound: Any) -> str:
    content = f"{loss.function.__module__}.{loss.name} {sorted(bound.items())}"
    name = attribute(content)
    if not hasattr(_HEADS, name):
        setattr(_HEADS, name, jit(loss, **bound))
    return name


def attribute(content: str) -> str:
    """The name in Heads of the head that `content` describes: a plain word, as torch.compile wants it."""
    return "head" + hashlib.sha256(content.encode()).hexdigest()


def given(**numbers: float) -> dict[str, Any]:
    """The coefficients of a call that are not 0: a term whose coefficient is left out costs nothing."""
    return {name: number for name, number in numbers.items() if number != 0}
