"""The demands of each kind of call on its program: gradients, outputs and phase."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..arguments.call import Call
from ..arguments.gradients import named_gradients, wanted_gradients
from ..arguments.options import Options
from ..arguments.wanted import Wanted
from ..errors import CallTypeError, CallValueError
from ..messages.names import listed
from ..spec.gradient_flow import differentiable_outputs, has_gradients, reached_inputs
from ..spec.loss_spec import LossSpec
from .program import float_dtype


def in_one_call(
    call: Call, names: tuple[str, ...], outputs: Iterable[str], dtype: str | None = None
) -> Wanted:
    """Gradients are made along with the outputs wherever that is exact.

    The sum of the output `weight`, which divides a mean, is known only after the last token.
    Gradients can be divided then, except where they are a sum with something else or could overflow
    before.
    """
    spec, options = call.form.spec, call.form.options
    of = reaching_outputs(call, names, outputs)
    buffered = bool(call.weight_grad_out)
    late = (
        "weight" in spec.output_names and options.reduces == "mean" and call.divisor is None and "loss" in of
    )
    halves = any((dtype or float_dtype(call.operands[name].array)) == "float16" for name in names)
    mode = "split" if late and (buffered or halves or len(of) > 1) else "early"
    return Wanted(names, of, mode, dtype, buffered)


def by_autograd(call: Call) -> Wanted:
    """What an eager call asks for whose results are differentiated later:
    the same for all calls of a form.

    Raises:
        CallError: see wanted_gradients and check_buffers.
    """
    spec, options, requiring = call.form.spec, call.form.options, call.form.requiring
    if not has_gradients(spec):
        return Wanted()
    wanted_gradients(spec, options, call, requiring)
    known = call.operands
    differentiable = differentiable_outputs(spec)
    reached = reached_inputs(spec, differentiable)
    names = tuple(name for name in requiring if known[name].parameter in reached)
    check_buffers(call, names)
    of = reaching_outputs(call, names, differentiable)
    early = is_early(spec, options, names, {name: operand.array.dtype for name, operand in known.items()})
    mode = "early" if early and not call.weight_grad_out else "split"
    return Wanted(names, of, mode, None, bool(call.weight_grad_out))


def by_names(call: Call, grad: Iterable[str] | None) -> Wanted:
    """The gradients of `head.ir` and its like, made as `value_and_grad` makes them.

    Args:
        grad: names; an empty sequence for none; None for the arrays that require one,
            else hidden and weight.

    Raises:
        CallError: a name is unknown, or has no gradient.
    """
    if call.weight_grad_out:
        raise CallTypeError("'weight_grad_out' belongs to calls that run once; leave it out here")
    spec = call.form.spec
    if grad is not None:
        grad = named_gradients("grad", grad)
        if not grad:
            return Wanted()
    names = wanted_gradients(spec, call.form.options, call, grad, option="grad")
    return in_one_call(call, names, differentiable_outputs(spec))


def is_early(spec: LossSpec, options: Options, names: Collection[str], dtypes: Mapping[str, str]) -> bool:
    """Whether gradients may be made along with the outputs,
    before it is known what reaches the loss.

    That loss has to be one number and the only output with a gradient: then what reaches it is a
    factor. Dense gradients are too large to be kept, and in float16 a sum may overflow before it is
    divided.
    """
    dense = {given.name for given in spec.inputs if given.axis == "dense"}
    return (
        options.reduces != "none"
        and differentiable_outputs(spec) == ("loss",)
        and not dense & set(names)
        and all(dtypes[name] != "float16" for name in names)
    )


def reaching_outputs(call: Call, names: Iterable[str], outputs: Iterable[str]) -> tuple[str, ...]:
    """Those of the outputs that lead to one of the gradients."""
    known = call.operands
    parameters = {known[name].parameter for name in names}
    return tuple(name for name in outputs if parameters & reached_inputs(call.form.spec, (name,)))


def check_buffers(call: Call, names: tuple[str, ...]) -> None:
    """A buffer for a gradient that is not asked for would stay as it is."""
    if not call.weight_grad_out:
        return
    operands = [call.operands[name] for name in names]
    asked = {operand.parameter for operand in operands if operand.is_weight}
    unused = [pair for pair in call.weight_grad_out if pair not in asked]
    if unused:
        raise CallValueError(
            f"'weight_grad_out' is given for {listed(unused)}, but no gradient of that weight is asked for; "
            "leave it out, or add the weight to the gradients"
        )
