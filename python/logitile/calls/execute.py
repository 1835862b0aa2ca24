"""Calls: the caller's framework allocates the results, and a compiled program writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arguments.call import Call
from ..arguments.given_gradients import checked_gradients
from ..arguments.gradients import check_no_gradient_is_lost, output_cotangents, wanted_gradients
from ..arguments.wanted import Wanted
from ..errors import CallTypeError
from ..frameworks.arrays import Array, check_same_device
from ..frameworks.choice import described
from ..frameworks.dtypes import dtype_name
from . import demands
from .program import Program, float_dtype
from .programs import Programs
from .recorded import RecordedCall
from .results import cast_back, finished, has_buffer, new_gradients, new_outputs

if TYPE_CHECKING:
    from .._native import Array as NativeArray


def outputs(programs: Programs, call: Call) -> dict[str, Any]:
    """The outputs of a call, by name; differentiable where its framework records gradients.

    Raises:
        CallError: see values and demands.by_autograd.
    """
    form, framework = call.form, call.framework
    if not framework.records_gradients:
        check_no_gradient_is_lost(call)
        return values(programs, call)
    if not form.requiring or not framework.is_recording():
        return values(programs, call)
    if form.recorded is None:
        form.recorded = demands.by_autograd(call)
    if not form.recorded.names:
        return values(programs, call)
    return framework.differentiable(RecordedCall(call, programs.program(call, form.recorded)))


def values(programs: Programs, call: Call) -> dict[str, Any]:
    """The outputs of a call, by name, as data.

    Raises:
        CallError: see check_buffers and Program.
    """
    demands.check_buffers(call, ())
    return finished(call, run(call, programs.program(call, Wanted()), {})[0])


def run(
    call: Call,
    program: Program,
    cotangents: Mapping[str, NativeArray],
    given: Mapping[str, Array] = MappingProxyType({}),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs and gradients of a program, unfinished, by name; `cotangents` reach the outputs,
    `given` arrays of the caller are written.
    """
    outputs, written = new_outputs(call)
    gradients, made = new_gradients(call, program.options, program.wanted, program.gradients, given)
    is_early = program.wanted.mode == "early"
    program.native_call(call).run(written, made, list(cotangents.values()), is_early)
    return outputs, gradients


def values_and_gradients(
    programs: Programs,
    call: Call,
    wrt: Iterable[str] | None,
    grad_output: object,
    grad_dtype: str | None,
    grad_out: object = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of a call and its gradients, both by name.

    Args:
        wrt, grad_output, grad_dtype, grad_out: see Head.value_and_grad.

    Raises:
        CallError: see wanted_gradients, output_cotangents and Program.
    """
    names = wanted_gradients(call.form.spec, call.form.options, call, wrt)
    demands.check_buffers(call, names)
    reaching = given_cotangents(call, grad_output)
    given = checked_gradients(grad_out, call, _dtypes(call, names, grad_dtype), reaching)
    cotangents = {name: array.framework.view(array, name) for name, array in reaching.items()}
    wanted = demands.in_one_call(call, names, cotangents, grad_dtype)
    if not wanted.of:  # nothing reaches the outputs that lead to these inputs
        return values(programs, call), finished(call, _zeros(call, names, grad_dtype, given))
    cotangents = {name: cotangent for name, cotangent in cotangents.items() if name in wanted.of}
    program = programs.program(call, wanted)
    outputs, gradients = run(call, program, cotangents, given)
    gradients = cast_back(call, program.gradients, gradients, grad_dtype, given)
    return finished(call, outputs), finished(call, gradients)


def _dtypes(call: Call, names: tuple[str, ...], dtype: str | None) -> dict[str, str]:
    """Of the gradients that a caller may give arrays for:
    all but those that are added into a buffer.
    """
    return {
        name: dtype or float_dtype(call.operands[name].array) for name in names if not has_buffer(call, name)
    }


def _zeros(
    call: Call, names: tuple[str, ...], dtype: str | None, given: Mapping[str, Array]
) -> dict[str, Any]:
    zeros = {}
    for name in names:
        array = call.operands[name].array
        if name not in given:
            zeros[name] = array.framework.zeros(array, array.shape, dtype or float_dtype(array))
            continue
        zeros[name] = given[name].source
        zeros[name][...] = 0
    return zeros


def given_cotangents(call: Call, grad_output: object) -> dict[str, Array]:
    """What reaches the outputs of a call, by name.

    Raises:
        CallError: see output_cotangents; CallValueError too where an array is on another
            device than hidden.
    """
    hidden, arrays = call.pairs[0].hidden, {}
    for name, item in output_cotangents(call.form.spec, grad_output).items():
        array = described(item, f"grad_output of '{name}'")
        if array.framework.is_number and array.dtype == "int64":
            array = described(float(array.source), name)  # a float, as the output is
        arrays[name] = array
        if array.device not in (None, hidden.device):  # warm calls count their functions
            check_same_device([("hidden", hidden), (f"grad_output of {name}", array)])
    return arrays


def checked_dtype(dtype: object) -> str | None:
    """The name of `grad_dtype`.

    Raises:
        CallTypeError: it is another type than that of inputs or float32.
    """
    if dtype is None:
        return None
    name = dtype_name(dtype)
    if name != "float32":
        raise CallTypeError(f"grad_dtype={dtype!r} must be 'float32', or None for that of each input")
    return name
