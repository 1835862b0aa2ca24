"""LossSpec: a traced loss as a flat list of scalar operations."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..messages.locations import Location
from .operations import TOKEN_INDEX, InputKey, Op, Output, SpecInput
from .text import spec_text


@dataclass(frozen=True, eq=False)
class LossSpec:
    """A loss, traced for one vocabulary size,
    one choice of optional inputs and one set of constants.

    Args:
        name: name of the loss function.
        vocab: vocabulary size V.
        inputs: every input that a call binds, in the order of the parameters.
        ops: operations, operands before users; all of them are needed by an output.
        outputs: in the order in which the user named them.
        bare: whether the loss returned one value instead of lt.Outputs.
        ignore_index: the constant that lt.valid compares with.
        constants: the compile-time values of the trace.
        location: where the loss is defined.
    """

    name: str
    vocab: int
    inputs: tuple[SpecInput, ...]
    ops: tuple[Op, ...]
    outputs: tuple[Output, ...]
    bare: bool
    ignore_index: int | None = None
    constants: Mapping[str, object] = field(default_factory=dict)
    location: Location | None = None

    @cached_property
    def direct_indices(self) -> frozenset[InputKey]:
        """Token inputs that are used as they are to index the vocabulary;
        they are checked before anything runs.
        """
        picked = (self.ops[op.operands[1]] for op in self.ops if op.name == "logitile.gather")
        return frozenset(op.attribute for op in picked if op.name == "logitile.input")

    @cached_property
    def numbers_tokens(self) -> bool:
        """Whether a token's result depends on the index of the token in the call,
        as random numbers do.
        """
        return any(op.name == "logitile.input" and op.attribute == TOKEN_INDEX for op in self.ops)

    @cached_property
    def computed_picks(self) -> tuple[Location, ...]:
        """The lines that pick an entry by an index which the loss computes."""
        computed = (
            op.location
            for op in self.ops
            if op.name == "logitile.gather"
            and self.ops[op.operands[1]].name != "logitile.input"
            and self.ops[op.operands[0]].places is None
        )
        lines = {str(place): place for place in computed if place is not None}
        return tuple(lines.values())

    @cached_property
    def ranked_lists(self) -> tuple[Op, ...]:
        """The operations that make lists of largest entries."""
        return tuple(op for op in self.ops if op.is_ranked)

    @cached_property
    def listed_tables(self) -> dict[str, Location | None]:
        """The Dense inputs that are picked from at a list of indices, and where."""
        picks = (op for op in self.ops if op.name == "logitile.gather" and op.places is not None)
        return {name: op.location for op in picks for name in self._dense_below(op.operands[0])}

    def _dense_below(self, position: int) -> set[str]:
        """The float Dense inputs that a varying value depends on."""
        todo, seen = [position], set()
        while todo:
            here = todo.pop()
            op = self.ops[here]
            if here not in seen and op.varying and op.name != "logitile.stop_gradient":
                seen.add(here)
                todo.extend(op.operands)
        inputs = (self.ops[i] for i in seen if self.ops[i].name == "logitile.input")
        return {op.attribute.name for op in inputs if op.attribute.axis == "dense" and op.type == "f32"}

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    @cached_property
    def result_type(self) -> type:
        """The named tuple of the outputs."""
        made = namedtuple(f"{self.name}_outputs", self.output_names)
        made.__reduce__ = lambda result: (_result, (made.__name__, made._fields, tuple(result)))
        return made

    def __getstate__(self) -> dict[str, object]:
        """Pickles have no named tuple; it is created again when needed."""
        return {name: item for name, item in self.__dict__.items() if name != "result_type"}

    def result(self, outputs: Mapping[str, object]) -> Any:
        """What a call returns: one value, or a named tuple in the order of lt.Outputs."""
        if self.bare:
            return outputs["loss"]
        return self.result_type(*(outputs[name] for name in self.output_names))

    def input(self, name: str) -> SpecInput:
        """The input of that name."""
        return next(given for given in self.inputs if given.name == name)

    def output(self, name: str) -> Output:
        """The output of that name."""
        return next(output for output in self.outputs if output.name == name)

    def text(
        self, of: Iterable[str] | None = None, wrt: Iterable[str] | None = None, locations: bool = True
    ) -> str:
        """The `spec` stage as text.

        Args:
            of: outputs whose gradients are wanted, together with 'wrt'.
            wrt: names of the inputs whose gradients are wanted.
            locations: print the user's variable names and lines. Without them the text is
                canonical: the same loss gives the same bytes, wherever it was written.
        """
        if (of is None) != (wrt is None):
            raise ValueError("'of' and 'wrt' belong together: give both or none")
        gradients = None if of is None or wrt is None else (of, wrt)
        return spec_text(self.name, self.vocab, self.ops, self.outputs, gradients, self.location, locations)


def _result(name: str, fields: tuple[str, ...], values: tuple[object, ...]) -> object:
    """A result that was pickled: its class lives with a head."""
    return namedtuple(name, fields)(*values)
