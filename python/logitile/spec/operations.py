"""What a LossSpec is made of: operations, inputs and outputs, as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..messages.locations import Location


@dataclass(frozen=True, slots=True, order=True)
class InputKey:
    """What an input op reads: the input's axis, its name, and which entry of a Token[..., K]."""

    axis: str
    name: str
    index: int | None = None

    @property
    def variable(self) -> str:
        """The value's name in text."""
        return self.name if self.index is None else f"{self.name}{self.index}"


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a loss, in static single assignment form.

    Args:
        name: the name in IR, for example "arith.addf".
        operands: positions of the operands in the list of ops.
        type: "f32", "i32" or "i1".
        varying: whether the value differs along the vocabulary.
        attribute: InputKey of an input, number of a constant, predicate of a comparison, combiner of a
            reduction.
        location: the user's line that made it.
        label: the user's variable that holds it, if there is one.
    """

    name: str
    operands: tuple[int, ...]
    type: str
    varying: bool
    attribute: object = None
    location: Location | None = field(default=None, compare=False)
    label: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SpecInput:
    """An input of a specialised loss; 'entries' is the number of values per token of a Token[..., K]."""

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
    """An output of a loss: its name, type and the position of its value in the list of ops."""

    name: str
    type: str
    value: int
