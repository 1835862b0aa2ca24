"""Calls under torch's autograd: one autograd.Function,
which runs a call and later its backward pass.

Calls that torch only looks at are in operators.py.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import LogitileError
from ..arrays import Recorded


def differentiable(job: Recorded) -> dict[str, Tensor]:
    """The outputs of a call by name; torch can differentiate those that carry a gradient."""
    return dict(zip(job.outputs, _named(job.name).apply(job, *job.sources), strict=True))


@functools.cache
def _named(loss: str) -> type[Direct]:
    """`Direct` under the name of a loss, which profilers and `grad_fn` show."""
    return type(f"logitile::{loss}", (Direct,), {})


class Direct(torch.autograd.Function):
    """An eager call. Gradients are made in forward if the program is early,
    else from what it saved.
    """

    @staticmethod
    def forward(ctx: Any, job: Recorded, *differentiable: Tensor) -> tuple[Tensor, ...]:
        results, gradients, ctx.state = job.forward()
        ctx.set_materialize_grads(False)
        ctx.is_early, ctx.outputs = job.is_early, job.outputs
        if len(results) > len(job.carrying):
            data = (array for name, array in results.items() if name not in job.carrying)
            ctx.mark_non_differentiable(*data)
        if job.is_early:
            ctx.anchors = differentiable  # no numbers of them are read again
            ctx.is_hooked = torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
            if ctx.is_hooked:
                ctx.save_for_backward(*gradients)
            else:
                ctx.made = tuple(gradients)
        else:
            ctx.job, tensors = job.emptied()
            ctx.save_for_backward(*tensors)
        return tuple(results.values())

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        if all(cotangent is None for cotangent in cotangents):
            return (None,) * len(ctx.needs_input_grad)
        saved = ctx.saved_tensors  # torch's own error where a graph is used twice that was not kept
        keeps = torch._C._autograd._get_current_graph_task_keep_graph()
        if ctx.is_early:
            cotangent = cotangents[ctx.outputs.index("loss")]
            # Whoever hooks saved tensors may have kept them:
            # only gradients that no hook can hold are scaled in place.
            gradients = _scaled(saved if ctx.is_hooked else ctx.made, cotangent, keeps or ctx.is_hooked)
            anchors = [cotangent, *ctx.anchors]
        else:
            gradients = ctx.job.backward(ctx.state, saved, cotangents)
            anchors = [*cotangents, *saved]
        if not keeps:
            ctx.state, ctx.anchors, ctx.made = None, (), ()
        return (None, *final(gradients, anchors))


def _scaled(gradients: Sequence[Tensor], cotangent: Tensor, keeps: bool) -> list[Tensor]:
    """Gradients made in forward, times what reaches the loss;
    in place unless they are needed again.
    """
    if cotangent.is_cuda:
        return [_multiplied(gradient, cotangent, keeps) for gradient in gradients]
    factor = cotangent.item()
    if keeps:
        return [gradient * factor for gradient in gradients]
    return [gradient if factor == 1 else gradient.mul_(factor) for gradient in gradients]


def _multiplied(gradient: Tensor, factor: Tensor, keeps: bool) -> Tensor:
    """The product by a number that the host does not know;
    a factor with an axis keeps its precision.
    """
    factor = factor.detach().reshape((1,) * min(gradient.ndim, 1))
    return torch.mul(gradient, factor, out=torch.empty_like(gradient) if keeps else gradient)


# ---- second derivatives --------------------------------------------------------------------------


class Final(torch.autograd.Function):
    """A gradient that cannot be differentiated.
    torch.autograd.function.once_differentiable would drop terms silently.
    """

    @staticmethod
    def forward(gradient: Tensor, *anchors: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
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
