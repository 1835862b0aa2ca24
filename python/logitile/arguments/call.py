"""The records of a call: its arrays by name, and its form, which it shares with other calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

from ..frameworks.arrays import Array, Framework
from ..language.definition import Specialisation
from ..spec.loss_spec import LossSpec
from .options import Options
from .wanted import Wanted


@cache
def native_name(owner: str, part: str) -> str:
    """What calls of the native module name an array: "student.hidden" that of a pair, by its own
    name that of another input, whose part is "input".
    """
    return owner if part == "input" else f"{owner}.{part}"


@cache
def operand_name(pair: str, part: str, several: bool) -> str:
    """What users call an operand of a pair: "hidden",
    or "student.hidden" where there are several pairs.
    """
    return native_name(pair, part) if several else part


@dataclass(eq=False, slots=True)
class Operand:
    """What a gradient could be asked of: hidden states or the weight of a pair, or another input.

    Args:
        parameter: of the loss.
        part: "hidden" or "weight" of a pair, else "input".
    """

    parameter: str
    array: Array
    part: str = "input"

    @property
    def native(self) -> str:
        """See native_name."""
        return native_name(self.parameter, self.part)

    @property
    def is_weight(self) -> bool:
        """Whether it is the weight of a pair."""
        return self.part == "weight"


@dataclass(eq=False, slots=True)
class Pair:
    """One projection: hidden [..., D] and weight [V, D] ([D, V] with weight_layout="dv")."""

    name: str
    hidden: Array
    weight: Array

    @property
    def hidden_size(self) -> int:
        return self.hidden.shape[-1]


@dataclass(eq=False)
class Form:
    """What all calls have in common whose arguments agree in names, shapes, types and devices.

    Args:
        leading: leading dimensions of every hidden array; per-token outputs have them.
        vocab: vocabulary size V.
        specialisation: what a trace needs to know.
        options: of the head.
        spec: the traced loss.
        outputs: name, shape and type of every output.
        requiring: the names of gradients that torch wants.
        missing: what has a shape but no numbers, as errors call it.
        recorded: what an eager call under autograd asks for; None before the first one.
    """

    leading: tuple[int, ...]
    vocab: int
    specialisation: Specialisation
    options: Options
    spec: LossSpec
    outputs: tuple[tuple[str, tuple[int, ...], str], ...]
    requiring: tuple[str, ...]
    missing: tuple[str, ...]
    recorded: Wanted | None = None


@dataclass(eq=False)
class Arguments:
    """The arguments of a call under their names.

    Args:
        pairs: the projections that are given, in the order of the lt.Logits parameters.
        inputs: the other inputs that are given, in the order of the parameters.
        divisor: what replaces the denominator of a mean.
        weight_grad_out: fp32 buffers that weight gradients are added into, by name of the pair.
    """

    pairs: tuple[Pair, ...]
    inputs: Mapping[str, Array]
    divisor: Array | None
    weight_grad_out: Mapping[str, Array]

    @cached_property
    def operands(self) -> dict[str, Operand]:
        """Everything a gradient could be asked of, by name."""
        several = len(self.pairs) > 1
        named = {}
        for pair in self.pairs:
            for part, array in (("hidden", pair.hidden), ("weight", pair.weight)):
                named[operand_name(pair.name, part, several)] = Operand(pair.name, array, part)
        return {**named, **{name: Operand(name, array) for name, array in self.inputs.items()}}

    def facts(self) -> tuple[object, ...]:
        """All that is checked without looking at numbers: what agrees in this has the same form."""
        arrays = [(pair.name, array) for pair in self.pairs for array in (pair.hidden, pair.weight)]
        arrays += self.inputs.items()
        arrays += self.weight_grad_out.items()
        if self.divisor is not None:
            arrays.append(("divisor", self.divisor))
        facts = [
            (name, a.framework, a.shape, a.dtype, a.rounded_to, a.device, a.requires_grad)
            for name, a in arrays
        ]
        return (len(self.pairs), len(self.weight_grad_out), *facts)


@dataclass(eq=False)
class Call(Arguments):
    """The checked arguments of a call."""

    form: Form

    @property
    def leading(self) -> tuple[int, ...]:
        """Leading dimensions of every hidden array; per-token outputs have them."""
        return self.form.leading

    @property
    def vocab(self) -> int:
        """Vocabulary size V."""
        return self.form.vocab

    @property
    def specialisation(self) -> Specialisation:
        """What a trace needs to know."""
        return self.form.specialisation

    @property
    def tokens(self) -> int:
        """Number of tokens N."""
        return prod(self.form.leading)

    @property
    def framework(self) -> Framework:
        """The framework of the outputs: that of the first hidden array."""
        return self.pairs[0].hidden.framework
