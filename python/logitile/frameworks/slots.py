"""Slots: the inputs of a call in a row, as frameworks pass them on. A slot is a text, which graphs can hold.

Slots are written and read here alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where an item of a slot stands among the arguments of a call.

    Args:
        position: among those without a name: hidden states and weights by turns; None for the others.
        name: of the argument; "" where it has none.
        part: 0 or 1 in a tuple of hidden states and weight; None for what is no tuple.
    """

    position: int | None
    name: str
    part: int | None

    @property
    def axis(self) -> str | None:
        """ "hidden" or "weight"; None for what is no operand of a projection."""
        part = self.part if self.position is None else self.position % 2
        return None if part is None else ("hidden", "weight")[part]


def place_of(slot: str) -> Place:
    """What a slot stands for."""
    if slot.isdigit():
        return Place(int(slot), "", None)
    name, _, part = slot.partition(".")
    return Place(None, name, int(part) if part else None)


def part_of(slot: str, part: int) -> str:
    """The slot of hidden states (0) or weights (1) that are given as a tuple."""
    return f"{slot}.{part}"


def given_slots(args: Sequence[Any], inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments of a call, each with its slot; tuples are split, and what is None is left out."""
    yield from ((str(position), item) for position, item in enumerate(args))
    for name, item in inputs.items():
        if isinstance(item, (tuple, list)):
            yield from ((part_of(name, number), part) for number, part in enumerate(item))
        elif item is not None:
            yield name, item


def spelled(slot: str, axis: str) -> str:
    """How errors call a slot: operands that are given by position have no name."""
    return slot if place_of(slot).position is None else axis
