"""Heads as operators of torch, for code that traces a call instead of running it: compile, export,
torch.func, fake tensors.

Two operators serve all heads: `logitile::forward` and `logitile::backward`. They name a head by a
digest of its content, because graphs that hold them outlive the process. Plain eager calls are in
autograd.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import CallTypeError
from .. import capture
from ..capture import Capturable, Mask, Slot
from ..slots import Place, given_slots, spelled, told
from .autograd import final
from .tensors import check_whole
from .watching import rounds_to


def traced_call(head: Capturable, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call through the operators. Only shapes, types and names are looked at here:
    tensors may have no numbers.

    Raises:
        CallError: as for a call; `weight_grad_out` has no place in a graph.
    """
    if inputs.get("weight_grad_out") is not None:
        raise CallTypeError(
            "'weight_grad_out' is changed by a call, which a traced graph does not allow; call the head in "
            "plain eager mode, or leave it out"
        )
    slots, tensors = flattened(args, inputs)
    axes = slot_axes(head.token, slots)
    for slot, axis, tensor in zip(slots, axes, tensors, strict=True):
        check_whole(tensor, spelled(slot, axis))
    leading = tensors[0].shape[:-1]
    given = zip(slots, axes, tensors, strict=True)
    facts = tuple(_facts(slot, axis, tensor, leading) for slot, axis, tensor in given)
    key, differentiable, early, carries, result_type = captured(head.token, facts)
    if not torch.is_grad_enabled() or not any(differentiable):
        results = torch.ops.logitile.forward(key, tensors, [False] * len(tensors))
    else:
        results = Around.apply(key, differentiable, early, carries, *distinct(tensors))
    return getattr(head, result_type)(*results[: len(carries)]) if result_type else results[0]


def distinct(tensors: Sequence[Tensor]) -> list[Tensor]:
    """A view in the place of each tensor that was given before: torch.compile takes none twice."""
    made: list[Tensor] = []
    for number, tensor in enumerate(tensors):
        repeats = any(tensor is other for other in tensors[:number])
        made.append(tensor.view_as(tensor) if repeats else tensor)
    return made


def flattened(args: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[tuple[Place, ...], list[Tensor]]:
    """Slots and their tensors; numbers become some."""
    given = list(given_slots(args, inputs))
    return tuple(slot for slot, _ in given), [tensor_of(told(slot), item) for slot, item in given]


def tensor_of(name: str, item: Any) -> Tensor:
    """An input as a tensor: arrays keep their type; numbers are what Python calculates with.

    Raises:
        CallTypeError: torch makes none of it.
    """
    if isinstance(item, Tensor):
        return item
    if isinstance(item, bool):
        raise CallTypeError(
            f"'{name}' is the bool {item}, but a graph takes tensors and numbers; pass a tensor"
        )
    try:
        # in a sum: with torch.tensor(item) there would be a new graph for each item
        if isinstance(item, float):
            return torch.zeros((), dtype=torch.float64, device="cpu") + item
        if isinstance(item, int):
            is_whole = -(2**63) <= item < 2**63
            return torch.tensor(item, dtype=torch.int64 if is_whole else torch.float64, device="cpu")
        return torch.as_tensor(item, device="cpu")
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise CallTypeError(
            f"'{name}' is no tensor, and torch makes none of it for a graph ({error}); pass a tensor"
        ) from None


def _facts(slot: Place, axis: str, tensor: Tensor, leading: Sequence[int]) -> tuple[Any, ...]:
    """The fields of a Slot; graph capture takes plain values alone for constants."""
    rank = len(leading)
    follows = axis in ("hidden", "token", "dense") and tuple(tensor.shape[:rank]) == tuple(leading)
    own = tensor.shape[rank if follows else 0 :]
    extents = tuple(operator.index(extent) for extent in own)  # symbols become numbers
    return (
        slot,
        rank if follows else 0,
        extents,
        str(tensor.dtype),
        tensor.requires_grad,
        str(tensor.device),
        rounds_to(tensor) if axis in ("hidden", "weight") else None,
    )


class Around(torch.autograd.Function):
    """The operators as one differentiable function."""

    @staticmethod
    def forward(
        key: str,
        differentiable: tuple[bool, ...],
        early: tuple[bool, ...],
        carries: tuple[bool, ...],
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        return tuple(torch.ops.logitile.forward(key, list(inputs), list(early)))

    @staticmethod
    def setup_context(ctx: Any, args: Any, results: tuple[Tensor, ...]) -> None:
        ctx.key, ctx.differentiable, ctx.early, carries, *inputs = args
        ctx.carries = carries
        ctx.save_for_backward(*inputs, *results[len(carries) :])
        ctx.mark_non_differentiable(
            *[r for i, r in enumerate(results) if i >= len(carries) or not carries[i]]
        )
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        # Where torch compiles, zeros arrive for outputs that carry no gradient.
        reaching = [u if carries else None for u, carries in zip(cotangents, ctx.carries, strict=False)]
        inputs, made = ctx.saved_tensors[: len(ctx.early)], ctx.saved_tensors[len(ctx.early) :]
        need = [bool(n and d) for n, d in zip(ctx.needs_input_grad[4:], ctx.differentiable, strict=True)]
        if any(ctx.early):
            cotangent = next(u for u in reaching if u is not None)
            factor = cotangent.reshape(1)  # with an axis it keeps its precision on GPUs too
            scaled = iter([(gradient * factor).to(gradient.dtype) for gradient in made])
            gradients = [next(scaled) if e else None for e in ctx.early]
        else:
            gradients = _gradients(ctx.key, list(inputs), reaching, need)
        return (None,) * 4 + tuple(final(gradients, [*reaching, *inputs]))

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, key: str, differentiable: Any, early: Any, carries: Any, *inputs: Tensor
    ) -> Any:
        """One slice after the other."""

        def slice_of(i: int) -> list[Tensor]:
            return [t if d is None else t.select(d, i) for t, d in zip(inputs, in_dims[4:], strict=True)]

        slices = [
            Around.apply(key, differentiable, early, carries, *slice_of(i)) for i in range(info.batch_size)
        ]
        results = tuple(torch.stack(column) for column in zip(*slices, strict=True))
        return results, (0,) * len(results)


def _gradients(
    key: str, inputs: list[Tensor], cotangents: Sequence[Tensor | None], need: list[bool]
) -> list[Tensor | None]:
    """Gradients through the operator, one for each input, None where none is needed."""
    given = [cotangent is not None for cotangent in cotangents]
    if not any(given) or not any(need):
        return [None] * len(inputs)
    present = [cotangent for cotangent in cotangents if cotangent is not None]
    made = iter(torch.ops.logitile.backward(key, inputs, present, given, need))
    return [next(made) if wanted else None for wanted in need]


# ---- heads by token ------------------------------------------------------------------------------


@torch.compiler.assume_constant_result
def slot_axes(token: str, places: tuple[Place, ...]) -> tuple[str, ...]:
    """What each slot has an axis for; see Capturable.slot_axes."""
    return capture.head_of_token(token).slot_axes(places)


@torch.compiler.assume_constant_result
def captured(token: str, facts: tuple[tuple[Any, ...], ...]) -> tuple[str, Mask, Mask, Mask, str]:
    """Makes the head known for calls with such inputs; see Capturable.captured."""
    return capture.head_of_token(token).captured(tuple(Slot(*fact) for fact in facts))


# ---- operators -----------------------------------------------------------------------------------

_library = torch.library.Library("logitile", "FRAGMENT")
_library.define(
    "forward(str head, Tensor[] inputs, bool[] early) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,)
)
_library.define(
    "backward(str head, Tensor[] inputs, Tensor[] cotangents, bool[] given, bool[] need) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _forward(key: str, inputs: Sequence[Tensor], early: Sequence[bool]) -> list[Tensor]:
    """Outputs, then the gradients of a loss for those inputs that `early` marks."""
    return capture.of_key(key).forward(_detached(inputs), early)


def _backward(
    key: str,
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    given: Sequence[bool],
    need: Sequence[bool],
) -> list[Tensor]:
    """Gradients of the inputs that `need` marks;
    `cotangents` are those that `given` marks, by output.
    """
    return capture.of_key(key).backward(_detached(inputs), _detached(cotangents), given, need)


def _detached(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor.detach() for tensor in tensors]


def _fake_forward(key: str, inputs: Sequence[Tensor], early: Sequence[bool]) -> list[Tensor]:
    head = capture.of_key(key)
    hidden = inputs[0]
    results = [
        hidden.new_empty(() if axes is None else (*hidden.shape[:-1], *axes), dtype=getattr(torch, dtype))
        for _, dtype, axes in head.outputs
    ]
    return results + _fake_gradients(inputs, early)


def _fake_gradients(inputs: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor]:
    return [
        torch.empty_like(t, memory_format=torch.contiguous_format)
        for t, w in zip(inputs, wanted, strict=True)
        if w
    ]


_library.impl("forward", _forward, "CompositeExplicitAutograd")
_library.impl("backward", _backward, "CompositeExplicitAutograd")
torch.library.register_fake("logitile::forward", _fake_forward, lib=_library)
torch.library.register_fake(
    "logitile::backward",
    lambda key, inputs, cotangents, given, need: _fake_gradients(inputs, need),
    lib=_library,
)


# Exported programs hold the bare operator, without Around.
def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.key, tensors, ctx.early = inputs
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)


def _bare_backward(ctx: Any, cotangents: Sequence[Tensor | None]) -> Any:
    saved = list(ctx.saved_tensors)
    head = capture.of_key(ctx.key)
    outputs = cotangents[: len(head.carries)]  # after them are early gradients
    reaching = [u if c else None for u, c in zip(outputs, head.carries, strict=True)]
    need = [bool(n and name) for n, name in zip(ctx.needs_input_grad[1], head.gradient_names, strict=True)]
    return None, final(_gradients(ctx.key, saved, reaching, need), [*reaching, *saved]), None


torch.library.register_autograd("logitile::forward", _bare_backward, setup_context=_setup, lib=_library)


def _slice_by_slice(operator: Any) -> Any:
    """The rule of an operator under vmap: one slice after the other,
    since a weight may be another one in each.
    """

    def rule(info: Any, in_dims: Any, *args: Any) -> Any:
        def slice_of(item: Any, dim: Any, i: int) -> Any:
            if isinstance(item, (list, tuple)) and item and isinstance(item[0], Tensor):
                return [slice_of(part, part_dim, i) for part, part_dim in zip(item, dim, strict=True)]
            return item.select(dim, i) if isinstance(item, Tensor) and dim is not None else item

        slices = [
            operator(*[slice_of(a, d, i) for a, d in zip(args, in_dims, strict=True)])
            for i in range(info.batch_size)
        ]
        results = [torch.stack(column) for column in zip(*slices, strict=True)]
        return results, [0] * len(results)

    return rule


for _name in ("forward", "backward"):
    torch.library.register_vmap(
        f"logitile::{_name}", _slice_by_slice(getattr(torch.ops.logitile, _name)), lib=_library
    )
