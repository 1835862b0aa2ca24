"""Binds the calls of one head. Checks and traces are done once for all calls of the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import CallValueError
from ..frameworks.choice import autocast
from ..language.definition import Loss, Specialisation
from ..spec.loss_spec import LossSpec
from .binding import named_arguments, specialised
from .call import Arguments, Call, Form
from .options import Options
from .outputs import output_dtype, output_shape

_MOST_FORMS = 1024  # a head that sees ever new shapes forgets them all from time to time


class Binder:
    """A loss with its options and constants, and what is known of its calls.

    Args:
        loss: that is traced.
        options: of the head.
        constants: values of the loss's keyword-only constants.
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self.loss = loss
        self.options = options
        self.constants = constants
        self.forms: dict[tuple[object, ...], Form] = {}
        self._specs: dict[Specialisation, LossSpec] = {}

    def bind(self, args: Sequence[object], inputs: Mapping[str, object]) -> Call:
        """Checks the arguments of a call, and traces the loss for calls that are new.

        Raises:
            CallError: the arguments do not fit.
            SpecError: the loss is wrong.
        """
        given = named_arguments(self.loss.signature, args, inputs)
        facts = given.facts()
        form = self.forms.get(facts)
        if form is None:
            if len(self.forms) >= _MOST_FORMS:
                self.forms.clear()
            specialisation = specialised(self.loss.signature, self.options, given)
            form = self.forms[facts] = self.form(given, specialisation)
        return Call(given.pairs, given.inputs, given.divisor, given.weight_grad_out, form)

    def bind_rounded(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> Call:
        """Binds the arguments of a user. Under autocast, hidden states and weights are rounded."""
        return self.bind(*autocast(self.loss.signature.pair_names, args, inputs))

    def rounded(
        self, args: Sequence[Any], inputs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments of a call, with what automatic casting makes of hidden and weights."""
        return autocast(self.loss.signature.pair_names, args, inputs)

    def traced(self, specialisation: Specialisation) -> LossSpec:
        """The loss, traced once for each specialisation."""
        if specialisation not in self._specs:
            self._specs[specialisation] = self.loss.trace(
                specialisation, self.constants, self.options.ignore_index, self.options.ignoring_input
            )
        return self._specs[specialisation]

    def form(self, given: Arguments, specialisation: Specialisation, vocab: int | None = None) -> Form:
        """The form of calls with these arguments, which have `vocab` of the entries if not all."""
        _check_given_once(self.constants, given)
        spec = self.traced(specialisation)
        _check_outputs(spec, self.options, given)
        leading = given.pairs[0].hidden.shape[:-1]
        outputs = tuple(
            (o.name, output_shape(self.options, leading, o.name, o.places), output_dtype(o.type))
            for o in spec.outputs
        )
        operands = [(name, operand.array) for name, operand in given.operands.items()]
        requiring = tuple(name for name, array in operands if array.requires_grad)
        missing = tuple(f"'{name}' ({array})" for name, array in operands if not array.has_data)
        vocab = specialisation.vocab if vocab is None else vocab
        return Form(leading, vocab, specialisation, self.options, spec, outputs, requiring, missing)


def _check_given_once(constants: Mapping[str, object], given: Arguments) -> None:
    """A coefficient is a constant of lt.jit or a number of the call."""
    for name in given.inputs:
        if constants.get(name) is not None:
            raise CallValueError(
                f"'{name}' is given to this call, but lt.jit bound it to {constants[name]}; give it in one "
                "place"
            )


def _check_outputs(spec: LossSpec, options: Options, given: Arguments) -> None:
    """`reduction` and `divisor` are about the loss."""
    if "loss" in spec.output_names or options.by_token:
        return
    for option, item in (("reduction", options.reduction), ("divisor", given.divisor)):
        if item is not None:
            raise CallValueError(
                f"'{option}' is given, but '{spec.name}' returns no loss that it could apply to"
            )
