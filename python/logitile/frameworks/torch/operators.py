"""Heads as operators of torch, for everything that looks at a call instead of running it: compile, export,
torch.func, fake tensors.

Two operators serve all heads: `logitile::forward` and `logitile::backward`. They name a head by a digest of
its content, because graphs that hold them outlive the process. Plain eager calls are in torch.py.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...arguments.binding import Call
from ...arguments.gradients import differentiable_outputs, reached_inputs, wanted_gradients
from ...calls import execute
from ...errors import CallTypeError, CallValueError, LogitileError
from ...spec.loss_spec import LossSpec
from ..arrays import Rounded, ShapeDtype, check_whole
from ..tokens import head_of_token
from .autograd import final, has_gradients, is_early, rounds_to

if TYPE_CHECKING:
    from ...head import Head

Mask = tuple[bool, ...]


def traced_call(head: Head, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call through the operators. Only shapes, types and names are looked at here: tensors may have no
    numbers.

    Raises:
        CallError: as for a call; `weight_grad_out` has no place in a graph.
    """
    if inputs.get("weight_grad_out") is not None:
        raise CallTypeError(
            "'weight_grad_out' is changed by a call, which a traced graph does not allow; call the head in "
            "plain eager mode, or leave it out"
        )
    slots, tensors = _flattened(args, inputs)
    axes = slot_axes(head.token, slots)
    for slot, axis, tensor in zip(slots, axes, tensors, strict=True):
        check_whole(tensor, _spelled(slot, axis))
    leading = tensors[0].shape[:-1]
    given = zip(slots, axes, tensors, strict=True)
    facts = tuple(_facts(slot, axis, tensor, leading) for slot, axis, tensor in given)
    key, differentiable, early, carries, result_type = specialised(head.token, facts)
    if not torch.is_grad_enabled() or not any(differentiable):
        results = torch.ops.logitile.forward(key, tensors, [False] * len(tensors))
    else:
        results = Around.apply(key, differentiable, early, carries, *tensors)
    return getattr(head, result_type)(*results[: len(carries)]) if result_type else results[0]


def _flattened(args: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[tuple[str, ...], list[Tensor]]:
    """Names of slots and their tensors: "0", "1", ... by position, "teacher.0" in a tuple, else the name."""
    given = [(str(i), item) for i, item in enumerate(args)]
    for name, item in inputs.items():
        if isinstance(item, (tuple, list)):
            given += [(f"{name}.{i}", part) for i, part in enumerate(item)]
        elif item is not None:
            given.append((name, item))
    return tuple(slot for slot, _ in given), [_tensor_of(slot, item) for slot, item in given]


def _tensor_of(slot: str, item: Any) -> Tensor:
    """Arrays keep their type; numbers are what Python calculates with."""
    if isinstance(item, Tensor):
        return item
    if isinstance(item, bool):
        raise CallTypeError(
            f"'{slot}' is the bool {item}, but a graph takes tensors and numbers; pass a tensor"
        )
    try:
        if isinstance(item, (int, float)):
            is_whole = isinstance(item, int) and -(2**63) <= item < 2**63
            return torch.tensor(item, dtype=torch.int64 if is_whole else torch.float64, device="cpu")
        return torch.as_tensor(item, device="cpu")
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise CallTypeError(
            f"'{slot}' is no tensor, and torch makes none of it for a graph ({error}); pass a tensor"
        ) from None


def _facts(slot: str, axis: str, tensor: Tensor, leading: Sequence[int]) -> tuple[Any, ...]:
    """What a specialisation needs of a tensor. Leading dimensions stay out: programs serve every number of
    tokens.
    """
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
        ctx.output_count = len(carries)
        ctx.save_for_backward(*inputs, *results[ctx.output_count :])
        ctx.mark_non_differentiable(
            *[r for i, r in enumerate(results) if i >= len(carries) or not carries[i]]
        )
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor | None) -> tuple[Tensor | None, ...]:
        reaching = upstreams[: ctx.output_count]
        inputs, made = ctx.saved_tensors[: len(ctx.early)], ctx.saved_tensors[len(ctx.early) :]
        need = [bool(n and d) for n, d in zip(ctx.needs_input_grad[4:], ctx.differentiable, strict=True)]
        if any(ctx.early):
            upstream = next(u for u in reaching if u is not None)
            factor = upstream.reshape(1)  # with an axis it keeps its precision on GPUs too
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
    key: str, inputs: list[Tensor], upstreams: Sequence[Tensor | None], need: list[bool]
) -> list[Tensor | None]:
    """Gradients through the operator, one for each input, None where none is needed."""
    given = [upstream is not None for upstream in upstreams]
    if not any(given) or not any(need):
        return [None] * len(inputs)
    present = [upstream for upstream in upstreams if upstream is not None]
    made = iter(torch.ops.logitile.backward(key, inputs, present, given, need))
    return [next(made) if wanted else None for wanted in need]


# ---- heads by content
# -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Record:
    """A specialised head as operators find it.

    Args:
        head: itself; a record keeps it alive, because graphs hold nothing but its key.
        slots: names of the operators' inputs.
        rounding: for each of them the type that it is rounded to, or None.
        gradient_names: the name of each input's gradient; "" where there is none.
        outputs: name, dtype and whether it has an axis for each token, of every output.
        carries: whether a gradient flows from each output.
    """

    head: Head
    slots: tuple[str, ...]
    rounding: tuple[str | None, ...]
    gradient_names: tuple[str, ...]
    outputs: tuple[tuple[str, str, bool], ...]
    carries: Mask

    def call(self, inputs: Sequence[Tensor]) -> Call:
        """The call with these inputs."""
        return _bound(self.head, self.slots, self.rounding, [tensor.detach() for tensor in inputs])


_records: dict[str, Record] = {}


def _record(key: str) -> Record:
    if key not in _records:
        raise LogitileError(
            f"head {key} is not known in this process; build it with lt.jit and trace one call of the same "
            "kind before the graph runs"
        )
    return _records[key]


@torch.compiler.assume_constant_result
def slot_axes(token: str, slots: tuple[str, ...]) -> tuple[str, ...]:
    """What each slot has an axis for: "hidden", "weight", "token", "vocab", "dense" or "scalar".

    Raises:
        CallTypeError: a name is unknown.
    """
    head = head_of_token(token)
    signature = head.loss.signature
    axes = []
    for slot in slots:
        name, _, part = slot.partition(".")
        if name.isdigit() or part:
            axes.append("weight" if int(part or name) % 2 else "hidden")
            continue
        parameter = signature.input(name)
        axes.append("scalar" if parameter is None else parameter.kinds[-1].axis)
    return tuple(axes)


@torch.compiler.assume_constant_result
def specialised(token: str, facts: tuple[Any, ...]) -> tuple[str, Mask, Mask, Mask, str]:
    """Registers the head for calls with such inputs.

    Returns: its key; which inputs get a gradient; which of them along with the outputs; from which outputs a
        gradient flows; and the attribute of the head with the named tuple of its results, "" for a bare one.
        Graph capture follows attributes of objects, but no class that such a function returns.

    Raises:
        CallError: as for a call.
    """
    head = head_of_token(token)
    slots, rounding = tuple(fact[0] for fact in facts), tuple(fact[6] for fact in facts)
    _check_devices(facts, slot_axes(token, slots))
    stand_ins = [
        ShapeDtype((*(_Leading(axis) for axis in range(rank)), *extents), dtype)
        for _, rank, extents, dtype, _, _, _ in facts
    ]
    call = _bound(head, slots, rounding, stand_ins)
    spec = head.spec(call)
    key = _register(head, spec, call, slots, rounding)
    required = tuple(fact[4] for fact in facts)
    names, carries = _records[key].gradient_names, _records[key].carries
    result_type = "" if spec.bare else f"results_{key.rpartition(':')[2]}"
    if result_type:
        setattr(head, result_type, spec.result_type)
    none = (False,) * len(slots)
    wanted = [name for name, needed in zip(names, required, strict=True) if name and needed]
    if not wanted or not has_gradients(spec):
        return key, none, none, carries, result_type
    wanted_gradients(spec, head.options, call, wanted)
    dtypes = {name: array.dtype for name, (_, array) in call.operands.items()}
    differentiable = tuple(bool(name and needed) for name, needed in zip(names, required, strict=True))
    early = differentiable if is_early(head, spec, wanted, dtypes) else none
    return key, differentiable, early, carries, result_type


class _Leading(int):
    """Stands for a leading extent of hidden, which the graph leaves open; errors write what it stands for."""

    def __new__(cls, axis: int) -> _Leading:
        made = super().__new__(cls, 3 + axis)  # one for each axis, so that they are told apart
        made.axis = axis
        return made

    def __str__(self) -> str:
        return f"hidden.shape[{self.axis}]"


def _check_devices(facts: tuple[Any, ...], axes: tuple[str, ...]) -> None:
    devices: dict[str, str] = {}
    for (slot, rank, extents, _, _, device, _), axis in zip(facts, axes, strict=True):
        if device != "cpu" or rank or extents:
            devices.setdefault(device, _spelled(slot, axis))
    if len(devices) > 1:
        (first, slot), (second, other) = list(devices.items())[:2]
        raise CallValueError(f"'{slot}' is on {first} but '{other}' is on {second}; move one of them")


def _spelled(slot: str, axis: str) -> str:
    """How errors call a slot: operands that are given by position have no name."""
    return axis if slot.isdigit() else slot


def _bound(
    head: Head, slots: tuple[str, ...], rounding: tuple[str | None, ...], items: Sequence[Any]
) -> Call:
    """A call from the operators' inputs."""
    args: list[Any] = []
    inputs: dict[str, Any] = {}
    for slot, dtype, item in zip(slots, rounding, items, strict=True):
        item = item if dtype is None else Rounded(item, dtype)
        name, _, part = slot.partition(".")
        if name.isdigit():
            args.append(item)
        elif part:
            inputs[name] = (*inputs.get(name, ()), item)
        else:
            inputs[name] = item
    return head.bind(*args, **inputs)


def _register(
    head: Head, spec: LossSpec, call: Call, slots: tuple[str, ...], rounding: tuple[str | None, ...]
) -> str:
    content = "\n".join([spec.text(locations=False), repr(head.options), repr(rounding), *slots])
    key = "lt1:" + hashlib.sha256(content.encode()).hexdigest()
    if key not in _records:
        carrying = differentiable_outputs(spec)
        reached = reached_inputs(spec, carrying)
        known = [(name if parameter in reached else "") for name, (parameter, _) in call.operands.items()]
        order = [name for name, (_, array) in call.operands.items()]
        names = tuple(known[order.index(n)] if n in order else "" for n in _operand_names(call, slots))
        shapes = [(n, execute.output_dtype(spec, n), bool(execute.output_shape(spec, head.options, (1,), n)))
                  for n in spec.output_names]  # fmt: skip
        carries = tuple(name in carrying for name in spec.output_names)
        _records[key] = Record(head, slots, rounding, names, tuple(shapes), carries)
    return key


def _operand_names(call: Call, slots: tuple[str, ...]) -> list[str]:
    """The name that the gradient of each slot has."""
    several = len(call.pairs) > 1
    names = []
    for slot in slots:
        name, _, part = slot.partition(".")
        if name.isdigit():
            name, part = call.pairs[int(name) // 2].name, str(int(name) % 2)
        operand = "weight" if part == "1" else "hidden"
        names.append(slot if not part else f"{name}.{operand}" if several else operand)
    return names


# ---- operators
# --------------------------------------------------------------------------------------------------

_library = torch.library.Library("logitile", "FRAGMENT")
_library.define(
    "forward(str head, Tensor[] inputs, bool[] early) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,)
)
_library.define(
    "backward(str head, Tensor[] inputs, Tensor[] upstreams, bool[] given, bool[] need) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _forward(key: str, inputs: Sequence[Tensor], early: Sequence[bool]) -> list[Tensor]:
    """Outputs, then the gradients of a loss for those inputs that `early` marks."""
    record = _record(key)
    call = record.call(inputs)
    names = [name for name, wanted in zip(record.gradient_names, early, strict=True) if wanted]
    if not names:
        return list(execute.values(record.head, call).values())
    outputs, gradients = execute.values_and_gradients(record.head, call, names, None, None)
    return [*outputs.values(), *(gradients[name] for name in names)]


def _backward(
    key: str,
    inputs: Sequence[Tensor],
    upstreams: Sequence[Tensor],
    given: Sequence[bool],
    need: Sequence[bool],
) -> list[Tensor]:
    """Gradients of the inputs that `need` marks; `upstreams` are those that `given` marks, by output."""
    record = _record(key)
    call = record.call(inputs)
    names = [name for name, wanted in zip(record.gradient_names, need, strict=True) if wanted]
    outputs = [name for (name, _, _), present in zip(record.outputs, given, strict=True) if present]
    reaching: Any = {name: upstream.detach() for name, upstream in zip(outputs, upstreams, strict=True)}
    if record.head.spec(call).bare:
        reaching = reaching["loss"]
    _, gradients = execute.values_and_gradients(record.head, call, names, reaching, None)
    return [gradients[name] for name in names]


def _fake_forward(key: str, inputs: Sequence[Tensor], early: Sequence[bool]) -> list[Tensor]:
    record = _record(key)
    hidden = inputs[0]
    results = [
        hidden.new_empty(hidden.shape[:-1] if per_token else (), dtype=getattr(torch, dtype))
        for _, dtype, per_token in record.outputs
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
    lambda key, inputs, upstreams, given, need: _fake_gradients(inputs, need),
    lib=_library,
)


# Exported programs hold the bare operator, without Around.
def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.key, tensors, ctx.early = inputs
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)


def _bare_backward(ctx: Any, upstreams: Sequence[Tensor | None]) -> Any:
    saved = list(ctx.saved_tensors)
    record = _record(ctx.key)
    outputs = upstreams[: len(record.carries)]  # behind them are gradients that were made early
    reaching = [u if c else None for u, c in zip(outputs, record.carries, strict=True)]
    need = [bool(n and name) for n, name in zip(ctx.needs_input_grad[1], record.gradient_names, strict=True)]
    return None, final(_gradients(ctx.key, saved, reaching, need), [*reaching, *saved]), None


torch.library.register_autograd("logitile::forward", _bare_backward, setup_context=_setup, lib=_library)


def _slice_by_slice(operator: Any) -> Any:
    """The rule of an operator under vmap: one slice after the other, since a weight may be another one in
    each.
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
