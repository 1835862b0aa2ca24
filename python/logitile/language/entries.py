"""An lt.Token[..., K] input in a loss: a list, computed with as a whole, or single entries of it."""

from __future__ import annotations

from typing import NoReturn

from ..messages.locations import spec_error
from .annotations import MAX_UNROLLED
from .several import Several
from .trace import Trace, Traced
from .values import Value


class Entries(Several, Value):
    """An input, or a list that another loss was given for one.

    Args:
        trace, index: of the list.
        name: of the parameter.
        values: the single entries; None where they cannot be had.
    """

    __slots__ = ("name", "values")

    def __init__(self, trace: Trace, index: int, name: str, values: tuple[Traced, ...] | None):
        super().__init__(trace, index)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)

    __hash__ = Value.__hash__

    def __len__(self) -> int:
        return self.op.places  # type: ignore[return-value]

    def _refuse_singles(self) -> NoReturn:
        if self.op.name != "logitile.input":
            raise spec_error(
                f"{self.label} is a list that was computed as a whole, which has no single entries; compute "
                "with the whole list, as in lt.sum(x)"
            )
        raise spec_error(
            f"{self.label} has {len(self)} entries per token, and at most {MAX_UNROLLED} can be used one by "
            f"one; compute with the whole list, as in lt.sum({self.name})"
        )
