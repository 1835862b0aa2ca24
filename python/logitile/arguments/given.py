"""Given logits: a call may pass an array [..., V] to an lt.Logits parameter, by its name.

Such logits are an lt.Dense[float] for the compiler. Programs have a projection, so if all logits
are given, zeros [..., 1] and [V, 1] are projected and added to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import CallTypeError, CallValueError
from ..frameworks.choice import has_shards, zeros_beside
from ..language.annotations import Kind
from ..language.definition import Loss
from ..language.signature import Parameter, Signature
from ..messages.names import shape_text

_GIVEN = (Kind("dense"),)


class GivenLogits(Loss):
    """A loss to which logits are given.

    Args:
        loss: as it was written.
        names: its lt.Logits parameters whose logits are given.
    """

    def __init__(self, loss: Loss, names: frozenset[str]):
        vars(self).update(vars(loss))
        self.whole, self.names = loss, names
        inputs = tuple(replace(p, kinds=_GIVEN) if p.name in names else p for p in loss.signature.inputs)
        self.zeros = ""  # the parameter that is no one's, if nothing is projected
        if not any(p.kinds[0].axis == "logits" for p in inputs):
            self.zeros = "zeros"
            while loss.signature.input(self.zeros):
                self.zeros += "_"
            inputs = (Parameter(self.zeros, (Kind("logits"),), optional=False), *inputs)
        self.signature = Signature(self.name, inputs, loss.signature.constants)
        self._order = [p.name for p in inputs if p.name in names]

    def __reduce__(self) -> Any:
        return GivenLogits, (self.whole, self.names)

    def _run(self, arguments: Mapping[str, Any]) -> object:
        if not self.zeros:
            return super()._run(arguments)
        name = self.first(arguments)
        return super()._run({**arguments, name: arguments[name] + arguments[self.zeros]})

    def first(self, given: Mapping[str, Any]) -> str:
        """The first parameter that logits are given to: an optional one may be left out."""
        return next(name for name in self._order if given.get(name) is not None)

    def gradients(self, inputs: Mapping[str, Any]) -> list[str] | None:
        """The gradients that a call makes which names none:
        None leaves it to the arrays that require one.
        """
        logits = [name for name in self.names if inputs.get(name) is not None]
        if any(getattr(item, "requires_grad", False) is True for item in inputs.values()):
            return None
        return sorted(logits) if self.zeros else None


def given_names(signature: Signature, args: Sequence[object], inputs: Mapping[str, Any]) -> frozenset[str]:
    """The lt.Logits parameters of a call that get logits,
    with those that are left out where nothing is projected.

    Raises:
        CallTypeError: one has hidden states and weight by position too, or its logits are DTensors.
    """
    names = {name for name in signature.pair_names if _is_array(inputs.get(name))}
    if not names:
        return frozenset()
    for parameter in signature.pairs[: (len(args) + 1) // 2]:
        if parameter.name in names:
            raise CallTypeError(f"'{parameter.name}' is given twice: by position and by name")
    if has_shards((), inputs):
        raise CallTypeError("logits that are given are plain arrays, but this call has DTensors")
    rest = [parameter for parameter in signature.pairs if parameter.name not in names]
    if not args and all(parameter.optional and inputs.get(parameter.name) is None for parameter in rest):
        return signature.pair_names
    return frozenset(names)


def with_zeros(loss: GivenLogits, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, with what is projected where all logits are given.

    Raises:
        CallValueError: logits have no axis.
    """
    inputs = dict(inputs)
    if not loss.zeros:
        return inputs
    name = loss.first(inputs)
    logits = inputs[name]
    shape = tuple(logits.shape)
    if not shape:
        raise CallValueError(f"'{name}' has shape {shape_text(shape)}; logits are [..., V]")
    inputs[loss.zeros] = tuple(zeros_beside(logits, s) for s in ((*shape[:-1], 1), (shape[-1], 1)))
    return inputs


def _is_array(item: object) -> bool:
    return hasattr(item, "shape") and hasattr(item, "dtype")
