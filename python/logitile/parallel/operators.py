"""Calls on several processes as operators of torch, and as one differentiable function.

A graph that holds them names a head by a digest of its content,
and its processes by the name of the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..frameworks import capture
from ..frameworks.torch.autograd import final
from ..frameworks.torch.operators import distinct
from .processes import Processes

_library = torch.library.Library("logitile", "FRAGMENT")
_library.define(
    "parallel_forward(str head, str group, bool is_even, Tensor[] inputs, Tensor[] buffers) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_library.define(
    "parallel_backward(str head, str group, Tensor[] inputs, Tensor[] rows, Tensor[] cotangents, "
    "bool[] given) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _forward(
    key: str, group: str, is_even: bool, inputs: Sequence[Tensor], buffers: Sequence[Tensor]
) -> list[Tensor]:
    """Outputs, then rows of forward sweeps."""
    return capture.of_key(key).call.forward(Processes(group), inputs, buffers, is_even)


def _backward(
    key: str,
    group: str,
    inputs: Sequence[Tensor],
    rows: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    given: Sequence[bool],
    buffers: Sequence[Tensor] = (),
) -> list[Tensor]:
    """Gradients; `cotangents` are those of the outputs that `given` marks.
    What is added into buffers is no
    operator: graphs do not change what they are given.
    """
    head = capture.of_key(key)
    names = [name for name, present in zip(head.outputs, given, strict=True) if present]
    reaching = dict(zip(names, cotangents, strict=True))
    return head.call.backward(Processes(group), inputs, rows, reaching, buffers)


def _fake_forward(
    key: str, group: str, is_even: bool, inputs: Sequence[Tensor], buffers: Sequence[Tensor]
) -> list[Tensor]:
    return capture.of_key(key).shapes(inputs, Processes(group).count)


def _fake_backward(
    key: str,
    group: str,
    inputs: Sequence[Tensor],
    rows: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    given: Sequence[bool],
) -> list[Tensor]:
    marked = zip(inputs, capture.of_key(key).returned, strict=True)
    return [torch.empty_like(t, memory_format=torch.contiguous_format) for t, wanted in marked if wanted]


_library.impl("parallel_forward", _forward, "CompositeExplicitAutograd")
_library.impl("parallel_backward", _backward, "CompositeExplicitAutograd")
torch.library.register_fake("logitile::parallel_forward", _fake_forward, lib=_library)
torch.library.register_fake("logitile::parallel_backward", _fake_backward, lib=_library)


class Together(torch.autograd.Function):
    """The operators as one function. All processes run its passes in the same order."""

    @staticmethod
    def forward(
        key: str,
        group: str,
        is_even: bool,
        carries: tuple[bool, ...],
        returned: tuple[bool, ...],
        buffers: tuple[Tensor, ...],
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        return tuple(torch.ops.logitile.parallel_forward(key, group, is_even, list(inputs), list(buffers)))

    @staticmethod
    def setup_context(ctx: Any, args: Any, results: tuple[Tensor, ...]) -> None:
        ctx.key, ctx.group, _, carries, ctx.returned, ctx.buffers, *inputs = args
        ctx.carries, ctx.input_count = carries, len(inputs)
        ctx.save_for_backward(*inputs, *results[len(carries) :])
        data = [r for i, r in enumerate(results) if i >= len(carries) or not carries[i]]
        ctx.mark_non_differentiable(*data)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        # Where torch compiles, zeros arrive for outputs that carry no gradient.
        reaching = [u if carries else None for u, carries in zip(cotangents, ctx.carries, strict=False)]
        given = [cotangent is not None for cotangent in reaching]
        saved = ctx.saved_tensors  # once: checkpoints recompute these tensors
        inputs, rows = saved[: ctx.input_count], saved[ctx.input_count :]
        if not any(given):
            return (None,) * (6 + ctx.input_count)
        present = [cotangent for cotangent in reaching if cotangent is not None]
        args = (ctx.key, ctx.group, list(inputs), list(rows), present, given)
        rest = iter(
            _backward(*args, ctx.buffers) if ctx.buffers else torch.ops.logitile.parallel_backward(*args)
        )
        gradients = [next(rest) if wanted else None for wanted in ctx.returned]
        return (None,) * 6 + tuple(final(gradients, [*reaching, *inputs]))


def together(
    key: str,
    group: str,
    is_even: bool,
    masks: tuple[tuple[bool, ...], tuple[bool, ...]],
    buffers: tuple[Tensor, ...],
    inputs: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """The outputs of a call, differentiable where a gradient is wanted.

    Args:
        key: of the head.
        group: the name of the processes' group.
        is_even: whether tokens have to be split in equal parts.
        masks: which outputs carry a gradient, and which inputs get one.
        buffers: that weight gradients are added into.
    """
    carries, returned = masks
    if any(carries):
        given = distinct(inputs)
        return Together.apply(key, group, is_even, carries, returned, buffers, *given)[: len(carries)]
    results = torch.ops.logitile.parallel_forward(key, group, is_even, list(inputs), list(buffers))
    return tuple(results[: len(carries)])
