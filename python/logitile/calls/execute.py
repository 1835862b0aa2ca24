"""Calls: results are allocated in the caller's framework and the program of the call writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..arguments.binding import Call
from ..arguments.gradients import (
    is_weight,
    native_name,
    reached_inputs,
    upstream_gradients,
    wanted_gradients,
)
from ..arguments.options import Options
from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device, described
from ..frameworks.memory import brought_home, empty, given_back, result, stream, view, zeros
from ..messages.names import listed
from ..spec.loss_spec import LossSpec
from .program import Gradient, Program, Wanted, float_dtype, native_inputs, weight_view

if TYPE_CHECKING:
    from .._native import Array as NativeArray
    from ..head import Head

_OUTPUT_DTYPES = {"f32": "float32", "i32": "int64", "i1": "bool"}


def values(head: Head, call: Call) -> dict[str, Any]:
    """The outputs of a call, by name.

    Raises:
        CallError: see check_buffers and Program.
    """
    check_buffers(call, ())
    return finished(call, run(head, call, head.program(call, Wanted()), {})[0])


def run(
    head: Head, call: Call, program: Program, upstreams: Mapping[str, NativeArray]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs and gradients of a program, unfinished, by name; `upstreams` reach the outputs."""
    outputs, written = new_outputs(call)
    gradients, made = new_gradients(call, program.options, program.wanted, program.gradients)
    reaching = list(upstreams.values())
    is_early = program.wanted.mode == "early"
    saved = program.forward(call, written, made if is_early else (), reaching if is_early else ())
    if saved is not None:
        saved.adjoint(native_inputs(call, head.options), made, reaching, stream(call.pairs[0].hidden))
    return outputs, gradients


def values_and_gradients(
    head: Head, call: Call, wrt: Iterable[str] | None, grad_output: object, grad_dtype: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of a call and its gradients, both by name.

    Args:
        wrt, grad_output, grad_dtype: see Head.value_and_grad.

    Raises:
        CallError: see gradients.py and Program.
    """
    spec = head.spec(call)
    names = wanted_gradients(spec, head.options, call, wrt)
    check_buffers(call, names)
    upstreams, given = {}, given_upstreams(spec, call, grad_output)
    for name in given:
        upstreams[name] = view(given[name], name)
    wanted = wanted_in_one_call(spec, head.options, call, names, tuple(upstreams), grad_dtype)
    if not wanted.of:  # nothing reaches the outputs that lead to these inputs
        gradients = {name: zeros(array, array.shape, grad_dtype or float_dtype(array)) for name, (_, array) in
                     call.operands.items() if name in names}  # fmt: skip
        return values(head, call), finished(call, gradients)
    reaching = {name: upstream for name, upstream in upstreams.items() if name in wanted.of}
    outputs, gradients = run(head, call, head.program(call, wanted), reaching)
    return finished(call, outputs), finished(call, cast_back(call, gradients, grad_dtype))


# ---- which gradients, and when ----------------------------------------------------------------------------


def check_buffers(call: Call, names: tuple[str, ...]) -> None:
    """A buffer for a gradient that is not asked for would stay as it is."""
    asked = {native_name(call, name).rpartition(".")[0] for name in names if is_weight(call, name)}
    unused = [pair for pair in call.weight_grad_out if pair not in asked]
    if unused:
        raise CallValueError(
            f"'weight_grad_out' is given for {listed(unused)}, but no gradient of that weight is asked for; "
            "leave it out, or add the weight to the gradients"
        )


def given_upstreams(spec: LossSpec, call: Call, grad_output: object) -> dict[str, Array]:
    """What reaches the outputs of a call, by name.

    Raises:
        CallError: see upstream_gradients; CallValueError too where an array is on another device than hidden.
    """
    hidden, arrays = call.pairs[0].hidden, {}
    for name, item in upstream_gradients(spec, grad_output).items():
        array = described(item, f"grad_output of '{name}'")
        if array.framework == "number" and array.dtype == "int64":
            array = described(float(array.source), name)  # a float, as the output is
        arrays[name] = array
        if array.device not in (None, hidden.device):  # warm calls count their functions
            check_same_device([("hidden", hidden), (f"grad_output of {name}", array)])
    return arrays


def reaching_outputs(
    spec: LossSpec, call: Call, names: Iterable[str], outputs: Iterable[str]
) -> tuple[str, ...]:
    """Those of the outputs that lead to one of the gradients."""
    known = call.operands
    parameters = {known[name][0] for name in names}
    return tuple(name for name in outputs if parameters & reached_inputs(spec, (name,)))


def wanted_in_one_call(
    spec: LossSpec,
    options: Options,
    call: Call,
    names: tuple[str, ...],
    outputs: tuple[str, ...],
    dtype: str | None,
) -> Wanted:
    """Gradients are made along with the outputs wherever that is exact.

    The sum of the output `weight`, which divides a mean, is known only behind the last token. Gradients can
    be divided then, except where they are a sum with something else or could overflow before.
    """
    of = reaching_outputs(spec, call, names, outputs)
    buffered = bool(call.weight_grad_out)
    late = (
        "weight" in spec.output_names and options.reduces == "mean" and call.divisor is None and "loss" in of
    )
    halves = any((dtype or float_dtype(call.operands[name][1])) == "float16" for name in names)
    mode = "split" if late and (buffered or halves or len(of) > 1) else "early"
    return Wanted(names, of, mode, dtype, buffered)


# ---- results ----------------------------------------------------------------------------------------------


def output_shape(spec: LossSpec, options: Options, leading: tuple[int, ...], name: str) -> tuple[int, ...]:
    """A reduced loss has no axis; everything else is per token."""
    return () if name == "loss" and options.reduces != "none" else leading


def output_dtype(spec: LossSpec, name: str) -> str:
    """Floats are float32, integers int64."""
    return _OUTPUT_DTYPES[spec.output(name).type]


def new_outputs(call: Call) -> tuple[dict[str, Any], list[NativeArray]]:
    """Unfilled arrays for every output by name, and as the native module writes them."""
    like = call.pairs[0].hidden
    made = [(name, *result(like, shape, dtype, name)) for name, shape, dtype in call.form.outputs]
    return {name: array for name, array, _ in made}, [native for _, _, native in made]


def new_gradients(
    call: Call, options: Options, wanted: Wanted, made_for: Iterable[Gradient]
) -> tuple[dict[str, Any], list[NativeArray]]:
    """Unfilled arrays for gradients or the caller's buffers, by name and as the native module writes them."""
    gradients, natives = {}, []
    for gradient in made_for:
        array, native = _new_gradient(call, options, wanted, gradient)
        gradients[gradient.name] = array
        natives.append(native)
    return gradients, natives


def _new_gradient(
    call: Call, options: Options, wanted: Wanted, gradient: Gradient
) -> tuple[Any, NativeArray]:
    array, native = call.operands[gradient.name][1], gradient.native
    hidden = call.pairs[0].hidden
    like = array if array.device == hidden.device else hidden  # kernels write beside hidden: see brought_home
    if not gradient.is_weight:
        return result(like, array.shape, gradient.dtype, native)
    buffer = call.weight_grad_out.get(native.rpartition(".")[0])
    if buffer is not None:
        return buffer.source, weight_view(buffer, native, options)
    if not wanted.accumulate and options.weight_layout == "vd":
        return result(like, array.shape, gradient.dtype, native)
    made = (zeros if wanted.accumulate else empty)(like, array.shape, gradient.dtype)
    return made, weight_view(described(made, gradient.name), native, options)


def has_buffer(call: Call, name: str) -> bool:
    """Whether a gradient goes into a buffer of the caller."""
    return is_weight(call, name) and native_name(call, name).rpartition(".")[0] in call.weight_grad_out


def cast_back(call: Call, gradients: dict[str, Any], dtype: str | None) -> dict[str, Any]:
    """Gradients as their inputs are: of their type, also where others have a buffer of float32, and in host
    memory where the input lies there beside a GPU.
    """
    return {name: _in_dtype(call, name, array, dtype) for name, array in gradients.items()}


def finished(call: Call, arrays: dict[str, Any]) -> dict[str, Any]:
    """Results in the framework of the call."""
    return {name: given_back(call.pairs[0].hidden, array) for name, array in arrays.items()}


def _in_dtype(call: Call, name: str, array: Any, dtype: str | None) -> Any:
    operand = call.operands[name][1]
    wanted = dtype or float_dtype(operand)
    if operand.device != call.pairs[0].hidden.device:
        array = brought_home(array, operand)
    have = described(array, name)
    if has_buffer(call, name) or have.dtype == wanted:
        return array
    result = empty(have, have.shape, wanted)
    result[...] = array
    return result


def checked_dtype(dtype: object) -> str | None:
    """The name of `grad_dtype`.

    Raises:
        CallTypeError: it is another type than that of inputs or float32.
    """
    from ..frameworks.arrays import dtype_name

    if dtype is None:
        return None
    name = dtype_name(dtype)
    if name != "float32":
        raise CallTypeError(f"grad_dtype={dtype!r} must be 'float32', or None for that of each input")
    return name
