"""The programs of a head: one for each key. The form of a call finds it again without a key."""

from __future__ import annotations

import weakref
from typing import Protocol

from ..arguments.call import Call, Form
from ..arguments.wanted import Wanted
from .place import place
from .program import Program, ProgramKey, default_key

_MOST_FOUND = 4096  # kept for forms that a head may have forgotten already

_living: weakref.WeakSet[Programs] = weakref.WeakSet()


class Choices(Protocol):
    """Tiles and threads that calls take instead of the default ones."""

    def key(self, call: Call, key: ProgramKey) -> ProgramKey:
        """The key of a call, from the one without a choice."""

    def forget(self) -> None:
        """Drops what was asked already."""


class Programs:
    """The programs that calls of a head run.

    Args:
        choices: what tuning chose for the calls of the head.
    """

    def __init__(self, choices: Choices):
        self.made: dict[ProgramKey, Program] = {}
        self.choices = choices
        self._found: dict[tuple[Form, Wanted, str, int], Program] = {}
        _living.add(self)

    def program(self, call: Call, wanted: Wanted) -> Program:
        """The program of a call.

        Raises:
            CallValueError, TargetError: see place.
        """
        form = call.form
        known = (form, wanted, *place(form.options.backend, call.pairs[0].hidden.device))
        found = self._found.get(known)
        if found is None:
            key = self.key(call, wanted)
            if key not in self.made:
                self.made[key] = Program(call, key)
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            found = self._found[known] = self.made[key]
        return found

    def key(self, call: Call, wanted: Wanted) -> ProgramKey:
        """The key of the program of a call, with the tiles and threads that tuning found."""
        return self.choices.key(call, default_key(call, wanted))

    def forget_choices(self) -> None:
        """Has the next calls ask again what tuning chose."""
        self.choices.forget()
        self._found.clear()


def living_programs() -> list[Programs]:
    """Those of all heads that something uses."""
    return list(_living)
