"""Slots of a call: what frameworks pass on in a row becomes the same arguments again."""

from __future__ import annotations

import pytest
from logitile.frameworks.slots import given_slots, operand_of, slot_arguments, spelled, told

ARGS, INPUTS = ("x", "w"), {"teacher": ("tx", "tw"), "target": "y", "bias": None}


def test_slots_become_the_same_arguments_again():
    places, items = zip(*given_slots(ARGS, INPUTS), strict=True)
    assert items == ("x", "w", "tx", "tw", "y")
    args, inputs = slot_arguments(places, items)
    assert (tuple(args), inputs) == (ARGS, {"teacher": ("tx", "tw"), "target": "y"})


def test_a_slot_says_which_part_of_which_input_it_is():
    parts = [operand_of(place) for place, _ in given_slots((*ARGS, "x2", "w2"), INPUTS)]
    first, second = [(0, "", "hidden"), (0, "", "weight")], [(1, "", "hidden"), (1, "", "weight")]
    named = [(None, "teacher", "hidden"), (None, "teacher", "weight"), (None, "target", "input")]
    assert parts == [*first, *second, *named]


@pytest.mark.parametrize("name", ["0", "teacher.1"])
def test_a_name_is_never_taken_apart(name):
    """Arguments of a call have names of Python, but what is given as a dictionary may have any."""
    ((place, item),) = given_slots((), {name: "y"})
    assert operand_of(place) == (None, name, "input")
    assert slot_arguments([place], [item]) == ([], {name: "y"})


def test_errors_call_slots_by_name_and_others_by_what_they_are():
    places = [place for place, _ in given_slots(ARGS, INPUTS)]
    axes = ("hidden", "weight", "hidden", "weight", "token")
    written = [spelled(place, axis) for place, axis in zip(places, axes, strict=True)]
    assert written == ["hidden", "weight", "teacher.0", "teacher.1", "target"]
    assert [told(place) for place in places] == ["0", "1", "teacher.0", "teacher.1", "target"]
