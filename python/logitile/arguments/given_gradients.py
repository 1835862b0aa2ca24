"""Arrays of the caller to which a call writes its gradients: checks which arrays may be one."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from ..messages.names import did_you_mean, listed, shape_text
from .buffers import share_memory
from .call import Call


def checked_gradients(
    item: object, call: Call, dtypes: Mapping[str, str], reaching: Mapping[str, Array]
) -> dict[str, Array]:
    """The grad_out of a call: arrays by the name of the gradient.

    Args:
        dtypes: of the gradients of the call, by name.
        reaching: what reaches the outputs, by name.

    Raises:
        CallTypeError: it names no gradient, or is no array that can be written.
        CallValueError: an array does not fit its gradient,
            or shares memory with another array of the call.
    """
    if item is None:
        return {}
    if not isinstance(item, Mapping):
        raise CallTypeError(f"'grad_out' must be a dictionary of arrays by {listed(dtypes)}")
    given: dict[str, Array] = {}
    for name, array in item.items():
        if name not in dtypes:
            raise CallTypeError(
                f"'grad_out' names '{name}', which is no gradient of this call{did_you_mean(name, dtypes)}; "
                f"it has those of {listed(dtypes)}"
            )
        given[name] = _checked(array, name, call, dtypes[name])
    _check_apart(given, call, reaching)
    return given


def refuse_given(item: object, where: str) -> None:
    """For calls whose gradients are made in several steps, or by others.

    Raises:
        CallTypeError: there is a grad_out.
    """
    if item is not None:
        raise CallTypeError(f"'grad_out' is not for {where}; leave it out, and copy the gradients")


def _checked(item: object, name: str, call: Call, dtype: str) -> Array:
    title, operand, hidden = f"'grad_out' of '{name}'", call.operands[name].array, call.pairs[0].hidden
    array = described(item, title)
    if array.framework is not hidden.framework or not array.framework.is_writable:
        raise CallTypeError(
            f"{title} is of {array.framework.name} and hidden of {hidden.framework.name}; gradients are "
            "written to arrays of NumPy, or of torch, where hidden is one"
        )
    if array.dtype != dtype or array.shape != operand.shape:
        raise CallValueError(f"{title} is {array}; it must be {dtype}{shape_text(operand.shape)}")
    if array.device != hidden.device or operand.device != hidden.device:
        raise CallValueError(f"{title} must be on the device of hidden, like '{name}' itself")
    if array.source is not item or not _is_contiguous(array):
        raise CallValueError(
            f"{title} has strides {array.strides}; give an array without gaps, row after row"
        )
    if array.framework.is_read_only(array):
        raise CallValueError(f"{title} is read-only, but the gradient is written to it")
    if array.requires_grad:
        raise CallValueError(f"{title} requires a gradient; give an array that autograd does not follow")
    return array


def _is_contiguous(array: Array) -> bool:
    if array.strides is None or 0 in array.shape:
        return True
    step = 1
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


def _check_apart(given: Mapping[str, Array], call: Call, reaching: Mapping[str, Array]) -> None:
    """A call writes gradients while it reads its inputs and writes others."""
    others = [(other, operand.array) for other, operand in call.operands.items()]
    others += [("weight_grad_out", array) for array in call.weight_grad_out.values()]
    others += [("grad_output", array) for array in reaching.values()]
    if call.divisor is not None:
        others.append(("divisor", call.divisor))
    for name, array in given.items():
        shared = [f"'{other}'" for other, input in others if share_memory(array, input)]
        shared += [f"that of '{o}'" for o, a in given.items() if o != name and share_memory(array, a)]
        if shared:
            raise CallValueError(
                f"'grad_out' of '{name}' shares memory with {shared[0]}; give separate memory"
            )
