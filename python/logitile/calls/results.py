"""The arrays that a call writes: outputs and gradients, in the caller's framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arguments.call import Call
from ..arguments.options import Options
from ..arguments.wanted import Wanted
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from .native_call import weight_view
from .program import Gradient, float_dtype

if TYPE_CHECKING:
    from .._native import Array as NativeArray


def new_outputs(call: Call) -> tuple[dict[str, Any], list[NativeArray]]:
    """Unfilled arrays for every output by name, and as the native module writes them."""
    like = call.pairs[0].hidden
    result = like.framework.result
    made = [(name, *result(like, shape, dtype, name)) for name, shape, dtype in call.form.outputs]
    return {name: array for name, array, _ in made}, [native for _, _, native in made]


def new_gradients(
    call: Call,
    options: Options,
    wanted: Wanted,
    made_for: Iterable[Gradient],
    given: Mapping[str, Array] = MappingProxyType({}),
) -> tuple[dict[str, Any], list[NativeArray]]:
    """Unfilled arrays for gradients or the caller's buffers,
    by name and as the native module writes them.

    Args:
        given: arrays of the caller for gradients, by name.
    """
    gradients, natives = {}, []
    for gradient in made_for:
        own = given.get(gradient.name)
        if own is not None and own.dtype == gradient.dtype and not wanted.accumulate:
            own.framework.announce_write(own)
            array, native = own.source, _written(own, options, gradient)
        else:
            array, native = _new_gradient(call, options, wanted, gradient)
        gradients[gradient.name] = array
        natives.append(native)
    return gradients, natives


def _written(array: Array, options: Options, gradient: Gradient) -> NativeArray:
    if gradient.is_weight:
        return weight_view(array, gradient.native, options)
    return array.framework.view(array, gradient.native)


def _new_gradient(
    call: Call, options: Options, wanted: Wanted, gradient: Gradient
) -> tuple[Any, NativeArray]:
    operand, native = call.operands[gradient.name], gradient.native
    array = operand.array
    hidden = call.pairs[0].hidden
    like = array if array.device == hidden.device else hidden  # kernels write beside hidden
    framework = like.framework
    if not gradient.is_weight:
        return framework.result(like, array.shape, gradient.dtype, native)
    buffer = call.weight_grad_out.get(operand.parameter)
    if buffer is not None:
        buffer.framework.announce_write(buffer)
        return buffer.source, weight_view(buffer, native, options)
    if not wanted.accumulate and options.weight_layout == "vd":
        return framework.result(like, array.shape, gradient.dtype, native)
    made = (framework.zeros if wanted.accumulate else framework.empty)(like, array.shape, gradient.dtype)
    return made, weight_view(described(made, gradient.name), native, options)


def has_buffer(call: Call, name: str) -> bool:
    """Whether a gradient goes into a buffer of the caller."""
    operand = call.operands[name]
    return operand.is_weight and operand.parameter in call.weight_grad_out


def cast_back(
    call: Call,
    made_for: Iterable[Gradient],
    gradients: dict[str, Any],
    dtype: str | None,
    given: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Any]:
    """Gradients as their inputs are: of their type, also where others have a buffer of float32, and
    in host memory where the input lies there beside a GPU.

    Args:
        made_for: what `gradients` were made for.
        dtype: of all of them; None means that of each input.
        given: arrays of the caller that they end in, by name.
    """
    finished = {made.name: _in_dtype(call, made, gradients[made.name], dtype) for made in made_for}
    for name, array in given.items():
        if finished[name] is not array.source:  # it was made in another type
            array.source[...] = finished[name]
            finished[name] = array.source
    return finished


def finished(call: Call, arrays: dict[str, Any]) -> dict[str, Any]:
    """Results in the framework of the call."""
    hidden = call.pairs[0].hidden
    to_framework = hidden.framework.to_framework
    return {name: to_framework(hidden, array) for name, array in arrays.items()}


def _in_dtype(call: Call, gradient: Gradient, array: Any, dtype: str | None) -> Any:
    operand, hidden = call.operands[gradient.name].array, call.pairs[0].hidden
    wanted = dtype or float_dtype(operand)
    if operand.device != hidden.device:
        array = hidden.framework.on_device_of(operand, array)
    elif gradient.dtype == wanted:
        return array
    have = described(array, gradient.name)
    if has_buffer(call, gradient.name) or have.dtype == wanted:
        return array
    result = have.framework.empty(have, have.shape, wanted)
    result[...] = array
    return result
