"""Slots: the inputs of a call as a flat list, as frameworks pass them.
Each has a place among the arguments.

Places are plain tuples, which graphs can hold. Only this module looks into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Where an item stands: its position among the arguments without a name, or None; its name, or ""
# without one; 0 or 1 in a tuple of hidden states and weight, else None. Without names, these take
# turns.
Place = tuple[int | None, str, int | None]


def by_position(position: int) -> Place:
    """The place of an argument that is given by position."""
    return position, "", None


def by_name(name: str) -> Place:
    """The place of an argument that is given by name."""
    return None, name, None


def part_of(place: Place, part: int) -> Place:
    """The place of hidden states (0) or weights (1) that are given as a tuple."""
    return place[0], place[1], part


def given_slots(args: Sequence[Any], inputs: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """The arguments of a call, each with its place. Tuples are split, and None is left out."""
    yield from ((by_position(position), item) for position, item in enumerate(args))
    for name, item in inputs.items():
        if isinstance(item, (tuple, list)):
            yield from ((part_of(by_name(name), number), part) for number, part in enumerate(item))
        elif item is not None:
            yield by_name(name), item


def slot_arguments(places: Sequence[Place], items: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call from the items of its slots: what `given_slots` was given."""
    args: list[Any] = []
    inputs: dict[str, Any] = {}
    for (position, name, part), item in zip(places, items, strict=True):
        if position is not None:
            args.append(item)
        else:
            inputs[name] = item if part is None else (*inputs.get(name, ()), item)
    return args, inputs


def operand_of(place: Place) -> tuple[int | None, str, str]:
    """Which input of a loss a slot is.

    Returns: the number of the pair that an argument without a name is of, or None; the name of the
        others; and the part of a pair, "hidden" or "weight", or "input".
    """
    position, name, part = place
    if position is not None:
        return position // 2, "", ("hidden", "weight")[position % 2]
    return None, name, "input" if part is None else ("hidden", "weight")[part]


def told(place: Place) -> str:
    """A slot as a text that tells it from the others."""
    position, name, part = place
    if position is not None:
        return str(position)
    return name if part is None else f"{name}.{part}"


def spelled(place: Place, axis: str) -> str:
    """How errors call a slot: operands that are given by position have no name."""
    return told(place) if place[0] is None else axis
