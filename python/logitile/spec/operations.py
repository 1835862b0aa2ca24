"""The parts of a LossSpec: operations, inputs and outputs, as plain records."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..messages.locations import Location
from ..runtime.engine import native

_TYPES = {"f": "f32", "i": "i32", "b": "i1"}


@dataclass(frozen=True, slots=True, order=True)
class InputKey:
    """What an input op reads: the input's axis, its name, and which entry of a Token[..., K]; or
    how many entries it has, if all of them are read as a list.
    """

    axis: str
    name: str
    index: int | None = None
    places: int | None = None

    @property
    def variable(self) -> str:
        """The value's name in text."""
        return (self.name or self.axis) if self.index is None else f"{self.name}{self.index}"


TOKEN_INDEX = InputKey("token_index", "")  # which token of the call this is: no call gives it


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a loss, in static single assignment form.

    Args:
        name: the name in IR, for example "arith.addf".
        operands: positions of the operands in the list of ops.
        type: "f32", "i32" or "i1".
        varying: whether the value differs along the vocabulary.
        attribute: InputKey of an input, number of a constant, predicate of a comparison,
            combiner of a reduction.
        location: the user's line that made it.
        label: the user's variable that holds it, if there is one.
        places: of a list, how many values it has for each token; None for one value.
    """

    name: str
    operands: tuple[int, ...]
    type: str
    varying: bool
    attribute: object = None
    location: Location | None = field(default=None, compare=False)
    label: str | None = field(default=None, compare=False)
    places: int | None = None

    @property
    def is_ranked(self) -> bool:
        """Whether it makes a list of largest entries. Other lists are inputs, or computed."""
        return self.places is not None and self.name == "logitile.reduce"


@dataclass(frozen=True, slots=True)
class ScalarOperation:
    """An operation on single numbers, as the table of the compiler has it.

    Args:
        name: the name in IR, for example "arith.select".
        operands: their types.
        result: its type.
        flows: positions of the operands that a gradient flows to.
    """

    name: str
    operands: tuple[str, ...]
    result: str
    flows: tuple[int, ...]


@functools.cache
def scalar_operations() -> Mapping[tuple[str, tuple[str, ...]], ScalarOperation]:
    """Every operation on single numbers that a loss may have,
    by its name and the types of its operands.
    """
    rows = (
        ScalarOperation(
            row["name"],
            tuple(_TYPES[letter] for letter in row["operands"]),
            _TYPES[row["result"]],
            tuple(int(position) for position in row["flows"]),
        )
        for row in native().operations()
    )
    return {(row.name, row.operands): row for row in rows}


@functools.cache
def flows(name: str, result: str) -> tuple[int, ...]:
    """The positions of the operands of a scalar operation that a gradient flows to.

    Args:
        result: the type of its result.
    """
    return next(
        row.flows for row in scalar_operations().values() if row.name == name and row.result == result
    )


def result_type(name: str, operands: Sequence[str]) -> str:
    """The type of the result of a scalar operation on operands of certain types."""
    return scalar_operations()[name, tuple(operands)].result


@dataclass(frozen=True, slots=True)
class SpecInput:
    """An input of a specialised loss; 'entries' is the number of values per token
    of a Token[..., K].
    """

    axis: str
    name: str
    type: str
    entries: int | None = None

    @property
    def tells_ignored(self) -> bool:
        """Whether it may name ignored tokens."""
        return self.axis == "token" and self.type == "i32"


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a loss: its name, type and the position of its value in the list of ops;
    of a list, how many places it has.
    """

    name: str
    type: str
    value: int
    places: int | None = None


def reachable(ops: Sequence[Op], outputs: Sequence[Output]) -> tuple[tuple[Op, ...], tuple[Output, ...]]:
    """The operations that outputs need, renumbered, in their order."""
    needed = {output.value for output in outputs}
    for index in range(len(ops) - 1, -1, -1):
        if index in needed:
            needed.update(ops[index].operands)
    position = {old: new for new, old in enumerate(sorted(needed))}
    kept = (replace(ops[old], operands=tuple(position[i] for i in ops[old].operands)) for old in position)
    return tuple(kept), tuple(replace(output, value=position[output.value]) for output in outputs)
