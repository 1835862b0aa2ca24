"""The gradients that a call asks for, and their outputs. Gradients that do not exist are refused.

Gradients have names: `hidden` and `weight` (`student.hidden` ... with several pairs),
and the inputs' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import CallTypeError, CallValueError
from ..frameworks.choice import is_recording
from ..language.entries import MOST_UNROLLED
from ..messages.names import did_you_mean, listed
from ..spec.gradient_flow import differentiable_outputs, reached_inputs
from ..spec.loss_spec import LossSpec
from .call import Call
from .options import Options


class GradientOptions(NamedTuple):
    """What `Head.value_and_grad` was asked for beside the arguments of the call; see there."""

    wrt: Iterable[str] | None = None
    grad_output: object = None
    grad_dtype: object = None
    grad_out: Mapping[str, object] | None = None


def named_gradients(option: str, names: Any) -> tuple[str, ...]:
    """Names as an option lists them, each once; one string is one name.

    Raises:
        CallTypeError: it is no list of names.
    """
    try:
        found = (names,) if isinstance(names, str) else tuple(names)
    except TypeError:
        found = (names,)
    if not all(isinstance(name, str) for name in found):
        raise CallTypeError(f"{option}={names!r} must list names of gradients, such as 'hidden'")
    return tuple(dict.fromkeys(found))


def wanted_gradients(
    spec: LossSpec, options: Options, call: Call, given: Iterable[str] | None, option: str = "wrt"
) -> tuple[str, ...]:
    """The names of the gradients to make.

    Args:
        given: names; None means every array that requires a gradient,
            else hidden and weight of every pair.
        option: as what the caller gave them.

    Raises:
        CallTypeError: a name is unknown.
        CallValueError: an input has no gradient, or none of them can be reached.
    """
    known = call.operands
    if given is None:
        given = call.form.requiring or [name for name, operand in known.items() if name != operand.parameter]
    wanted = named_gradients(option, given)
    if not wanted:
        raise CallValueError(f"{option} names no gradient; this call has {listed(known)}")
    for name in wanted:
        if name not in known:
            raise CallTypeError(
                f"{option} names '{name}', which is no input of this call{did_you_mean(name, known)}"
            )
        parameter = spec.input(known[name].parameter)
        if parameter.type != "f32":
            raise CallValueError(
                f"'{name}' holds {'integers' if parameter.type == 'i32' else 'bools'}, which have no gradient"
            )
    _check_weight(spec, options, call, wanted)
    _check_tables(spec, {known[name].parameter for name in wanted})
    reached = reached_inputs(spec, differentiable_outputs(spec))
    if not any(known[name].parameter in reached for name in wanted):
        raise CallValueError(
            f"no gradient flows from '{spec.name}' to {listed(wanted)}: indices, comparisons and "
            f"stop_gradient carry none{_nor_lists(spec)}"
        )
    return wanted


def output_cotangents(spec: LossSpec, grad_output: object) -> dict[str, object]:
    """The gradients that reach the outputs, by name; outputs that are left out get none.

    Args:
        grad_output: an array for a bare result, a dictionary by output else;
            None means 1 for the loss.

    Raises:
        CallTypeError, CallValueError: a name is unknown or an output takes no gradient.
    """
    differentiable = differentiable_outputs(spec)
    if grad_output is None:
        if "loss" not in differentiable:
            raise CallTypeError(
                f"'{spec.name}' has no loss that carries a gradient, so grad_output must say what reaches "
                f"{listed(differentiable)}"
            )
        return {"loss": 1.0}
    if spec.bare:
        if isinstance(grad_output, Mapping):
            raise CallTypeError(
                f"'{spec.name}' returns one value: grad_output is an array or a number, not a dictionary"
            )
        return {"loss": grad_output}
    if not isinstance(grad_output, Mapping):
        raise CallTypeError(
            f"'{spec.name}' returns {listed(spec.output_names)}: grad_output is a dictionary by output"
        )
    for name in grad_output:
        if name not in spec.output_names:
            raise CallTypeError(
                f"grad_output names '{name}', which is no output of '{spec.name}'"
                + did_you_mean(name, spec.output_names)
            )
        if name not in differentiable:
            raise CallValueError(_takes_none(spec, name, differentiable))
    return {name: given for name, given in grad_output.items() if given is not None}


def _takes_none(spec: LossSpec, name: str, differentiable: Sequence[str]) -> str:
    output = next(output for output in spec.outputs if output.name == name)
    if output.places is not None and output.type == "f32":
        return (
            f"output '{name}' of '{spec.name}' is a list, which takes no gradient as an output; compute the "
            "loss from it in the loss itself, for example with lt.sum"
        )
    verb = "does" if len(differentiable) == 1 else "do"
    return f"output '{name}' of '{spec.name}' takes no gradient; {listed(differentiable)} {verb}"


def _nor_lists(spec: LossSpec) -> str:
    if not spec.ranked_lists:
        return ""
    place = spec.ranked_lists[0].location
    return f", nor do lists that are returned ({place}); compute the loss from them, for example with lt.sum"


def _check_tables(spec: LossSpec, wanted: set[str]) -> None:
    """A gradient of a Dense input at a list of indices has code for each place: that has limits."""
    outputs = [o.name for o in spec.outputs if o.places and not spec.ops[o.value].is_ranked]
    most = max((op.places or 0 for op in spec.ops if not op.is_ranked), default=0)
    if most <= MOST_UNROLLED and not outputs:
        return
    if most > MOST_UNROLLED:
        why = f"the loss has a list of {most} places; that gradient supports at most {MOST_UNROLLED}"
        remedy = "give shorter lists"
    else:
        why = f"the loss returns the list {listed(outputs)}; that gradient supports no lists as outputs"
        remedy = "return numbers"
    for name, place in spec.listed_tables.items():
        if name in wanted:
            raise CallValueError(
                f"{place}: the gradient of the lt.Dense input '{name}' is wanted, but '{name}' is indexed "
                f"with a list, and {why}; {remedy}, wrap '{name}' in lt.stop_gradient, or detach the array"
            )


def _check_weight(spec: LossSpec, options: Options, call: Call, wanted: tuple[str, ...]) -> None:
    """A mean takes the sum of the weights as a constant: no gradient may be lost there."""
    if "weight" not in spec.output_names or not options.divides or call.divisor is not None:
        return
    known = call.operands
    lost = [name for name in wanted if known[name].parameter in reached_inputs(spec, ("weight",))]
    if lost:
        raise CallValueError(
            f"the output 'weight' of '{spec.name}' depends on {listed(lost)}, but the denominator of a mean "
            f"takes no gradient; wrap it in lt.stop_gradient, give a divisor, or leave {listed(lost)} out "
            "of wrt"
        )


def check_no_gradient_is_lost(call: Call) -> None:
    """Results of other frameworks carry no gradient,
    so no tensor that requires one may go with them.

    Raises:
        CallTypeError: one does.
    """
    if call.form.requiring and is_recording():
        requires = "requires" if len(call.form.requiring) == 1 else "require"
        raise CallTypeError(
            f"{listed(call.form.requiring)} {requires} a gradient, but hidden is an array of "
            f"{call.framework.name}, whose results carry none; give hidden as a tensor, or detach the others"
        )
