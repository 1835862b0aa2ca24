"""Writes a list of operations, with each operation on the same operands only once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..messages.locations import Location
from ..spec.float32 import round_to_f32
from ..spec.operations import Op, result_type


class Rewriting:
    """The operations so far, and what the rules have found out about their values.

    Args:
        vocab: vocabulary size.
    """

    def __init__(self, vocab: int):
        self.vocab = vocab
        self.ops: list[Op] = []
        self.location: Location | None = None  # of what is written next
        self.exponentials: dict[int, Any] = {}  # see exponentials.py
        self.weights: list[bool] = []  # see exponentials.py
        self.limits: dict[int, tuple[int, int]] = {}  # see integers.py
        self.wrapped: dict[int, int] = {}  # see integers.py
        self._index_of: dict[tuple, int] = {}

    def emit(
        self,
        name: str,
        operands: tuple[Written, ...] = (),
        type: str | None = None,
        attribute: object = None,
        varying: bool | None = None,
    ) -> Written:
        """Writes an operation, unless the same one is there already.

        Args:
            type: of the result; by default what the table of scalar operations says.
            varying: whether the result differs along the vocabulary;
                by default as soon as an operand does.
        """
        if type is None:
            type = result_type(name, [operand.type for operand in operands])
        if varying is None:
            varying = any(operand.varying for operand in operands)
        read = operands[1:] if name == "logitile.gather" else operands
        lists = [operand.op.places for operand in read if operand.op.places]
        places = lists[0] if lists and name != "logitile.sum_list" else None
        return self.copy(Op(name, (), type, varying, attribute, self.location, places=places), operands)

    def copy(self, op: Op, operands: Sequence[Written]) -> Written:
        """Writes an operation as it is, on other operands."""
        indices = tuple(operand.index for operand in operands)
        bits = struct.pack("<d", op.attribute) if isinstance(op.attribute, float) else op.attribute
        key = (op.name, op.type, indices, bits, op.places)
        if key not in self._index_of:
            self._index_of[key] = len(self.ops)
            self.ops.append(replace(op, operands=indices))
        return Written(self, self._index_of[key])

    def value(self, index: int) -> Written:
        """The value of an operation, by its position."""
        return Written(self, index)

    def constant(self, number: float | int | bool, type: str) -> Written:
        """A number."""
        if type == "f32":
            number = round_to_f32(number)
        return self.emit("arith.constant", type=type, attribute=number, varying=False)


class Written:
    """One operation of a rewriting, as other operations refer to it.

    Args:
        trace: the rewriting.
        index: its position there.
    """

    __slots__ = ("trace", "index")

    def __init__(self, trace: Rewriting, index: int):
        self.trace = trace
        self.index = index

    @property
    def op(self) -> Op:
        return self.trace.ops[self.index]

    @property
    def type(self) -> str:
        return self.op.type

    @property
    def varying(self) -> bool:
        return self.op.varying

    def operand(self, position: int) -> Written:
        """An operand of the operation that made this value."""
        return self.trace.value(self.op.operands[position])
