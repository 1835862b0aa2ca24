"""PyTorch: eager calls of heads under autograd, through one autograd.Function straight to the program.

Calls that torch only looks at are in torch_operators.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ...arguments.binding import Call
from ...arguments.gradients import differentiable_outputs, reached_inputs, wanted_gradients
from ...calls import execute
from ...calls.program import Program, Wanted, native_inputs
from ...errors import CallTypeError, LogitileError
from ...spec.loss_spec import LossSpec
from ..arrays import Array, Rounded, described
from ..memory import stream, view

if TYPE_CHECKING:
    from ...head import Head
    from ...language.signature import Signature

_CASTS = (torch.float32, torch.bfloat16, torch.float16)  # float64 is left alone, as by torch
_PLAIN = (
    Tensor,
    torch.nn.Parameter,
    torch.nn.Buffer,
)  # subclasses may have no memory, or memory of another meaning


# ---- eager calls
# ---------------------------------------------------------------------------------------------


def outputs(head: Head, call: Call) -> dict[str, Any]:
    """The outputs of an eager call, by name; differentiable where an input requires a gradient.

    Raises:
        CallError: see gradients.wanted_gradients and execute.check_buffers.
    """
    if not call.form.requiring or not torch.is_grad_enabled():
        return execute.values(head, call)
    if call.form.recorded is None:
        call.form.recorded = wanted_by_autograd(head, call)
    wanted = call.form.recorded
    if not wanted.names:
        return execute.values(head, call)
    differentiable = [call.operands[name][1].source for name in wanted.names]
    results = Direct.apply((call, head.program(call, wanted)), *differentiable)
    return dict(zip(head.spec(call).output_names, results, strict=True))


def wanted_by_autograd(head: Head, call: Call) -> Wanted:
    """What an eager call asks for. It depends on the form of the call alone."""
    spec, requiring = head.spec(call), call.form.requiring
    if not has_gradients(spec):
        return Wanted()
    wanted_gradients(spec, head.options, call, requiring)
    known = call.operands
    differentiable = differentiable_outputs(spec)
    reached = reached_inputs(spec, differentiable)
    names = tuple(name for name in requiring if known[name][0] in reached)
    execute.check_buffers(call, names)
    of = execute.reaching_outputs(spec, call, names, differentiable)
    early = is_early(head, spec, names, {name: array.dtype for name, (_, array) in known.items()})
    mode = "early" if early and not call.weight_grad_out else "split"
    return Wanted(names, of, mode, None, bool(call.weight_grad_out))


def has_gradients(spec: LossSpec) -> bool:
    """Losses without a gradient are refused; metrics, whose outputs carry none, are values only."""
    return bool(differentiable_outputs(spec)) or any(
        o.name == "loss" and o.type == "f32" for o in spec.outputs
    )


def is_early(head: Head, spec: LossSpec, names: Sequence[str], dtypes: Mapping[str, str]) -> bool:
    """Whether gradients may be made along with the outputs, before it is known what reaches the loss.

    That loss has to be one number and the only output with a gradient: then what reaches it is a factor.
    Dense gradients are too large to be kept, and in float16 a sum may overflow before it is divided.
    """
    dense = {given.name for given in spec.inputs if given.axis == "dense"}
    return (
        head.options.reduces != "none"
        and differentiable_outputs(spec) == ("loss",)
        and not dense & set(names)
        and all(dtypes[name] != "float16" for name in names)
    )


class Direct(torch.autograd.Function):
    """An eager call. Gradients are made in forward if the program is early, else from what it saved."""

    @staticmethod
    def forward(ctx: Any, job: tuple[Call, Program], *differentiable: Tensor) -> tuple[Tensor, ...]:
        call, program = job
        wanted = program.wanted
        is_early = wanted.mode == "early"
        results, written = execute.new_outputs(call)
        gradients, made = (
            execute.new_gradients(call, program.options, program.wanted, program.gradients)
            if is_early
            else ({}, ())
        )
        ctx.state = program.forward(call, written, made, ())
        ctx.program = program
        ctx.set_materialize_grads(False)
        if len(results) > len(wanted.of):
            ctx.mark_non_differentiable(*(array for name, array in results.items() if name not in wanted.of))
        if is_early:
            ctx.anchors = differentiable  # no numbers of them are read again
            ctx.is_hooked = torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
            if ctx.is_hooked:
                ctx.save_for_backward(*gradients.values())
            else:
                ctx.made = tuple(gradients.values())
        else:
            ctx.call, tensors = _emptied(call)
            ctx.save_for_backward(*tensors)
        return tuple(results.values())

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor | None) -> tuple[Tensor | None, ...]:
        wanted = ctx.program.wanted
        if all(upstream is None for upstream in upstreams):
            return (None,) * (1 + len(wanted.names))
        saved = ctx.saved_tensors  # torch's own error where a graph is used twice that was not kept
        keeps = torch._C._autograd._get_current_graph_task_keep_graph()
        if wanted.mode == "early":
            upstream = upstreams[ctx.program.spec.output_names.index("loss")]
            # Whoever hooks saved tensors may have kept them: only what nobody else knows is scaled in place.
            gradients = _scaled(saved if ctx.is_hooked else ctx.made, upstream, keeps or ctx.is_hooked)
            anchors = [upstream, *ctx.anchors]
        else:
            gradients = _adjoint(ctx.program, ctx.state, _filled(ctx.call, saved), upstreams)
            anchors = [*upstreams, *saved]
        if not keeps:
            ctx.state, ctx.anchors, ctx.made = None, (), ()
        return (None, *final(gradients, anchors))


def _scaled(gradients: Sequence[Tensor], upstream: Tensor, keeps: bool) -> list[Tensor]:
    """Gradients made in forward, times what reaches the loss; in place unless they are needed again."""
    if upstream.is_cuda:
        return [_multiplied(gradient, upstream, keeps) for gradient in gradients]
    factor = upstream.item()
    if keeps:
        return [gradient * factor for gradient in gradients]
    return [gradient if factor == 1 else gradient.mul_(factor) for gradient in gradients]


def _multiplied(gradient: Tensor, factor: Tensor, keeps: bool) -> Tensor:
    """The product by a number that the host does not know; a factor with an axis keeps its precision."""
    factor = factor.detach().reshape((1,) * min(gradient.ndim, 1))
    return torch.mul(gradient, factor, out=torch.empty_like(gradient) if keeps else gradient)


def _adjoint(
    program: Program, state: Any, call: Call, upstreams: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Runs the adjoint phase. What goes into a buffer is no gradient for torch."""
    wanted, spec = program.wanted, program.spec
    reaching = {
        name: view(described(upstream, name), name)
        for name, upstream in zip(spec.output_names, upstreams, strict=True)
        if upstream is not None and name in wanted.of
    }
    gradients, made = execute.new_gradients(call, program.options, program.wanted, program.gradients)
    where = stream(call.pairs[0].hidden)
    state.adjoint(native_inputs(call, program.options), made, list(reaching.values()), where)
    gradients = execute.cast_back(call, gradients, None)
    buffered = {name for name in wanted.names if execute.has_buffer(call, name)}
    return [None if name in buffered else gradient for name, gradient in gradients.items()]


def _emptied(call: Call) -> tuple[Call, list[Tensor]]:
    """A call without its tensors, which autograd saves instead; `_filled` puts them back."""
    tensors: list[Tensor] = []

    def emptied(array: Array) -> Array:
        if array.framework == "numpy":  # nobody would notice if it changed before the backward pass
            return described(array.source.copy(), "input")
        if array.framework != "torch":
            return array
        tensors.append(array.source)
        return replace(array, source=None)

    return _mapped(call, emptied), tensors


def _filled(call: Call, tensors: Sequence[Tensor]) -> Call:
    rest = iter(tensors)

    def filled(array: Array) -> Array:
        if array.source is not None:
            return array
        tensor = next(rest)
        return described(tensor if array.rounded_to is None else Rounded(tensor, array.rounded_to), "input")

    return _mapped(call, filled)


def _mapped(call: Call, change: Any) -> Call:
    """A call with every input array changed, in one order."""
    pairs = tuple(replace(p, hidden=change(p.hidden), weight=change(p.weight)) for p in call.pairs)
    inputs = {name: change(array) for name, array in call.inputs.items()}
    return replace(call, pairs=pairs, inputs=inputs, divisor=None)


# ---- second derivatives
# ----------------------------------------------------------------------------------------


class Final(torch.autograd.Function):
    """A gradient that cannot be differentiated. torch.autograd.function.once_differentiable would drop terms
    silently.
    """

    @staticmethod
    def forward(gradient: Tensor, *anchors: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor) -> Any:
        raise LogitileError(
            "a head has no second derivatives; differentiate once, or write the loss with torch for this step"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, gradient: Tensor, *anchors: Tensor) -> tuple[Tensor, int | None]:
        return Final.apply(gradient, *anchors), in_dims[0]


def final(gradients: Sequence[Tensor | None], anchors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Gradients that refuse to be differentiated, where torch records how they are made."""
    anchored = [anchor for anchor in anchors if anchor is not None and anchor.requires_grad]
    if not torch.is_grad_enabled() or not anchored:
        return list(gradients)
    return [gradient if gradient is None else Final.apply(gradient, *anchored) for gradient in gradients]


# ---- autocast
# --------------------------------------------------------------------------------------------------


def rounds_to(item: Any) -> str | None:
    """The type that autocast has an operand multiplied in, if it has a say in that."""
    if not isinstance(item, Tensor) or item.dtype not in _CASTS:
        return None
    kind = item.device.type
    if kind == "meta":  # lies nowhere, so it follows whichever autocast is on
        kind = "cpu" if torch.is_autocast_enabled("cpu") else "cuda"
    if not torch.is_autocast_enabled(kind):
        return None
    return str(torch.get_autocast_dtype(kind)).removeprefix("torch.")


def autocast(
    signature: Signature, args: Sequence[Any], inputs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Under autocast hidden and weights are rounded to its type; everything else stays as it is."""
    if not torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda"):
        return args, inputs
    pairs = {pair.name for pair in signature.pairs}

    def marked(item: Any) -> Any:
        if isinstance(item, (tuple, list)):
            return tuple(marked(part) for part in item)
        dtype = rounds_to(item)
        return item if dtype is None else Rounded(item, dtype)

    return tuple(marked(i) for i in args), {k: marked(v) if k in pairs else v for k, v in inputs.items()}


# ---- where torch watches
# ----------------------------------------------------------------------------------------


def is_traced(args: tuple[Any, ...], inputs: dict[str, Any]) -> bool:
    """Whether the call has to go through the operators: torch compiles, transforms or dispatches it."""
    if torch.compiler.is_compiling():
        return True
    tensors = []
    for item in (*args, *inputs.values()):
        parts = item if isinstance(item, (tuple, list)) else (item,)
        tensors += [part for part in parts if isinstance(part, Tensor)]
    if not tensors:
        return False
    if forward_ad._current_level >= 0:
        _check_reverse(tensors)
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0:
        return True
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.is_meta:
            return True
    return False


def _check_reverse(tensors: Sequence[Tensor]) -> None:
    """Tangents would be lost without a word: operators of torch that have no rule for them give zeros."""
    if any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise CallTypeError(
            "an input carries a tangent of forward-mode differentiation (torch.func.jvp, jacfwd), for "
            "which heads have no rule; use reverse mode (torch.func.vjp, jacrev)"
        )
