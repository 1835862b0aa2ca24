"""Heads in captured graphs: how a graph, which may outlive the process,
finds the head that it calls.

While a graph is captured, a head is known by a token, which is a constant of this process. The
graph itself holds a key: a digest of all that the head does.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import LogitileError
from .slots import Place

Mask = tuple[bool, ...]


@dataclass(frozen=True)
class Slot:
    """What a graph's call of a head needs to know of one input. Leading dimensions stay out:
    programs serve every number of tokens.

    Args:
        place: see frameworks.slots.
        rank: number of leading dimensions that it shares with hidden.
        extents: of its other dimensions.
        dtype, device: as text.
        requires_grad: whether a gradient is wanted.
        rounded_to: the type that it is rounded to while it is packed, or None.
    """

    place: Place
    rank: int
    extents: tuple[int, ...]
    dtype: str
    requires_grad: bool
    device: str
    rounded_to: str | None


class Captured(Protocol):
    """A head for calls whose slots are as in one graph.

    Attributes:
        gradient_names: the name of each slot's gradient; "" where there is none.
        outputs: name, dtype and shape of every output: the axes after those of the tokens,
            or None where it has no axis at all.
        carries: whether a gradient flows from each output.
    """

    gradient_names: tuple[str, ...]
    outputs: tuple[tuple[str, str, tuple[int, ...] | None], ...]
    carries: Mask

    def forward(self, inputs: Sequence[Any], early: Sequence[bool]) -> list[Any]:
        """Outputs, then the gradients of a loss for those inputs that `early` marks."""

    def backward(
        self, inputs: Sequence[Any], cotangents: Sequence[Any], given: Sequence[bool], need: Sequence[bool]
    ) -> list[Any]:
        """Gradients of the inputs that `need` marks;
        `cotangents` are those that `given` marks, by output.
        """


class Capturable(Protocol):
    """A head, as the capture of a graph asks it."""

    token: str

    def slot_axes(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """What each slot has an axis for: "hidden", "weight", "token", "vocab",
        "dense" or "scalar".
        """

    def captured(self, slots: tuple[Slot, ...]) -> tuple[str, Mask, Mask, Mask, str]:
        """Makes the head known for such calls.

        Returns: its key; which inputs get a gradient; which of them along with the outputs; from
            which outputs a gradient flows; and the attribute of this object with the named tuple of
            the results, "" for a bare one. Graph capture follows attributes of objects, but no
            class that a function returns.
        """


_numbers = itertools.count()
_heads: weakref.WeakValueDictionary[str, Capturable] = weakref.WeakValueDictionary()
_known: dict[str, Captured] = {}


def new_token(head: Capturable) -> str:
    """A name for a head that no other head of this process has."""
    token = f"head{next(_numbers)}"
    _heads[token] = head
    return token


def head_of_token(token: str) -> Capturable:
    """The head of a token; its user keeps it alive."""
    return _heads[token]


def is_known(key: str) -> bool:
    """Whether a key stands for a head in this process."""
    return key in _known


def remember(key: str, captured: Captured) -> None:
    """Keeps a head under its key: graphs hold nothing but the key."""
    _known[key] = captured


def of_key(key: str) -> Captured:
    """The head of a key.

    Raises:
        LogitileError: nothing in this process has made it known.
    """
    if key not in _known:
        raise LogitileError(
            f"head {key} is not known in this process; build it with lt.jit and trace one call of the same "
            "kind before the graph runs"
        )
    return _known[key]
