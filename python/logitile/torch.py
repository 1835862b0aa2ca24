"""PyTorch: heads under autograd, and as operators where torch watches (compile, export, torch.func, fake tensors).

Plain eager calls go through one autograd.Function straight to the program. Everything else goes through two
operators for all heads: `logitile::forward` and `logitile::backward`. They name a head by a digest of its content,
because graphs that hold them outlive the process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import execute
from .arrays import Array, ShapeDtype, described
from .binding import Call
from .errors import CallTypeError, CallValueError, LogitileError
from .gradients import differentiable_outputs, gradient_names, is_weight, reached_inputs, wanted_gradients
from .heads import head_of_token
from .memory import view
from .program import Program, Wanted, native_inputs
from .spec import LossSpec

if TYPE_CHECKING:
    from .head import Head

Mask = tuple[bool, ...]
_PLAIN = (
    Tensor,
    torch.nn.Parameter,
    torch.nn.Buffer,
)  # subclasses may have no memory, or memory of another meaning


# ---- eager calls ---------------------------------------------------------------------------------------------


def outputs(head: Head, call: Call) -> dict[str, Any]:
    """The outputs of an eager call, by name; differentiable where an input requires a gradient.

    Raises:
        CallError: see gradients.wanted_gradients and execute.check_buffers.
    """
    spec = head.spec(call)
    wanted = _wanted(head, spec, call)
    if not wanted.names:
        execute.check_buffers(call, ())
        return execute.values(head, call)
    arrays = {name: array for name, (_, array) in gradient_names(call).items()}
    results = Direct.apply(head, call, wanted, *(arrays[name].source for name in wanted.names))
    return dict(zip(spec.output_names, results, strict=True))


def _wanted(head: Head, spec: LossSpec, call: Call) -> Wanted:
    requiring = [name for name, (_, array) in gradient_names(call).items() if array.requires_grad]
    if not requiring or not torch.is_grad_enabled() or not _has_gradients(spec):
        return Wanted()
    wanted_gradients(spec, head.options, call, requiring)
    known = gradient_names(call)
    differentiable = execute.differentiable_names(spec)
    reached = reached_inputs(spec, differentiable)
    names = tuple(name for name in requiring if known[name][0] in reached)
    execute.check_buffers(call, names)
    of = execute.reaching_outputs(spec, call, names, differentiable)
    early = is_early(head, spec, names, {name: array.dtype for name, (_, array) in known.items()})
    mode = "early" if early and not call.weight_grad_out else "split"
    return Wanted(names, of, mode, None, bool(call.weight_grad_out))


def _has_gradients(spec: LossSpec) -> bool:
    """Losses without a gradient are refused; metrics, whose outputs carry none, are values only."""
    return bool(differentiable_outputs(spec)) or any(
        o.name == "loss" and o.type == "f32" for o in spec.outputs
    )


def is_early(head: Head, spec: LossSpec, names: Sequence[str], dtypes: Mapping[str, str]) -> bool:
    """Whether gradients may be made along with the outputs, before it is known what reaches the loss.

    That loss has to be one number and the only output with a gradient: then what reaches it is a factor. Dense
    gradients are too large to be kept, and in float16 a sum may overflow before it is divided.
    """
    dense = {given.name for given in spec.inputs if given.axis == "dense"}
    return (
        head.options.reduces != "none"
        and execute.differentiable_names(spec) == ("loss",)
        and not dense & set(names)
        and all(dtypes[name] != "float16" for name in names)
    )


class Direct(torch.autograd.Function):
    """An eager call. Gradients are made in forward if the program is early, else from what it saved."""

    @staticmethod
    def forward(
        ctx: Any, head: Head, call: Call, wanted: Wanted, *differentiable: Tensor
    ) -> tuple[Tensor, ...]:
        program = head.program(call, wanted)
        results = execute.new_outputs(head, call)
        gradients = execute.new_gradients(call, wanted) if wanted.mode == "early" else {}
        made = execute.gradient_views(call, head.options, gradients)
        ctx.state = program.forward(call, execute.views(results), made, {})
        ctx.program = program
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(array for name, array in results.items() if name not in wanted.of))
        if wanted.mode == "early":
            ctx.save_for_backward(
                *gradients.values(), *differentiable
            )  # these only to refuse second derivatives
        else:
            ctx.call, tensors = _emptied(call)
            ctx.save_for_backward(*tensors)
        return tuple(results.values())

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor | None) -> tuple[Tensor | None, ...]:
        wanted = ctx.program.wanted
        if all(upstream is None for upstream in upstreams):
            return (None,) * (3 + len(wanted.names))
        saved = ctx.saved_tensors  # torch's own error where a graph is used twice that was not kept
        keeps = torch._C._autograd._get_current_graph_task_keep_graph()
        if wanted.mode == "early":
            upstream = upstreams[ctx.program.spec.output_names.index("loss")]
            gradients = _scaled(saved[: len(wanted.names)], upstream, keeps)
            anchors = [upstream, *saved[len(wanted.names) :]]
        else:
            gradients = _adjoint(ctx.program, ctx.state, _filled(ctx.call, saved), upstreams)
            anchors = [*upstreams, *saved]
            if not keeps:
                ctx.state = None
        return (None, None, None, *final(gradients, anchors))


def _scaled(gradients: Sequence[Tensor], upstream: Tensor, keeps: bool) -> list[Tensor]:
    """Gradients made in forward, times what reaches the loss; in place unless they are needed again."""
    factor = upstream.item()
    if keeps:
        return [gradient * factor for gradient in gradients]
    return [gradient if factor == 1 else gradient.mul_(factor) for gradient in gradients]


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
    gradients = execute.new_gradients(call, wanted)
    made = execute.gradient_views(call, program.options, gradients)
    state.adjoint(native_inputs(call, program.options), list(made.values()), list(reaching.values()))
    gradients = execute.cast_back(call, gradients, None)
    buffered = {name for name in wanted.names if execute.has_buffer(call, name)}
    return [None if name in buffered else gradient for name, gradient in gradients.items()]


def _emptied(call: Call) -> tuple[Call, list[Tensor]]:
    """A call without its tensors, which autograd saves instead; `_filled` puts them back."""
    tensors: list[Tensor] = []

    def emptied(array: Array) -> Array:
        if array.framework != "torch":
            return array
        tensors.append(array.source)
        return replace(array, source=None)

    return _mapped(call, emptied), tensors


def _filled(call: Call, tensors: Sequence[Tensor]) -> Call:
    rest = iter(tensors)
    return _mapped(call, lambda array: described(next(rest), "input") if array.source is None else array)


def _mapped(call: Call, change: Any) -> Call:
    """A call with every input array changed, in one order."""
    pairs = tuple(replace(p, hidden=change(p.hidden), weight=change(p.weight)) for p in call.pairs)
    return replace(
        call, pairs=pairs, inputs={name: change(array) for name, array in call.inputs.items()}, divisor=None
    )


# ---- second derivatives ----------------------------------------------------------------------------------------


class Final(torch.autograd.Function):
    """A gradient that cannot be differentiated. torch.autograd.function.once_differentiable would drop terms silently."""

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


# ---- autocast --------------------------------------------------------------------------------------------------


def autocast(
    head: Head, args: tuple[Any, ...], inputs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Under autocast hidden and weights have its type; everything else stays as it is."""
    if not torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda"):
        return args, inputs
    pairs = {pair.name for pair in head.loss.signature.pairs}

    def cast(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(cast(part) for part in item)
        is_cast = (
            isinstance(item, Tensor)
            and torch.is_autocast_enabled(item.device.type)
            and item.is_floating_point()
        )
        return item.to(torch.get_autocast_dtype(item.device.type)) if is_cast else item

    return tuple(cast(item) for item in args), {k: cast(v) if k in pairs else v for k, v in inputs.items()}


# ---- where torch watches ----------------------------------------------------------------------------------------


def is_traced(args: tuple[Any, ...], inputs: dict[str, Any]) -> bool:
    """Whether the call has to go through the operators: torch compiles, transforms or dispatches it."""
    if torch.compiler.is_compiling():
        return True
    tensors = [t for item in (*args, *inputs.values()) for t in (item if isinstance(item, tuple) else (item,))
               if isinstance(t, Tensor)]  # fmt: skip
    if not tensors:
        return False
    watched = torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0
    return watched or any(type(tensor) not in _PLAIN for tensor in tensors)


def traced_call(head: Head, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
    """A call through the operators. Only shapes, types and names are looked at here: tensors may have no numbers.

    Raises:
        CallError: as for a call; `weight_grad_out` has no place in a graph.
    """
    if inputs.get("weight_grad_out") is not None:
        raise CallTypeError(
            "'weight_grad_out' is changed by a call, which a traced graph does not allow; call the head in plain "
            "eager mode, or leave it out"
        )
    args, inputs = autocast(head, args, inputs)
    slots, tensors = _flattened(args, inputs)
    axes = slot_axes(head.token, slots)
    leading = tensors[0].shape[:-1]
    facts = tuple(_facts(slot, axis, tensor, leading) for slot, axis, tensor in zip(slots, axes, tensors))
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
    tensors = [
        item if isinstance(item, Tensor) else torch.tensor(item, dtype=torch.float64) for _, item in given
    ]
    return tuple(slot for slot, _ in given), tensors


def _facts(slot: str, axis: str, tensor: Tensor, leading: Sequence[int]) -> tuple[Any, ...]:
    """What a specialisation needs of a tensor. Leading dimensions stay out: programs serve every number of tokens."""
    rank = len(leading)
    follows = axis in ("hidden", "token", "dense") and tuple(tensor.shape[:rank]) == tuple(leading)
    extents = tuple(int(extent) for extent in tensor.shape[rank if follows else 0 :])
    return (
        slot,
        rank if follows else 0,
        extents,
        str(tensor.dtype),
        tensor.requires_grad,
        str(tensor.device),
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
        need = [bool(n and d) for n, d in zip(ctx.needs_input_grad[4:], ctx.differentiable)]
        if any(ctx.early):
            upstream = next(u for u in reaching if u is not None)
            scaled = iter([gradient * upstream for gradient in made])
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
            return [t if d is None else t.select(d, i) for t, d in zip(inputs, in_dims[4:])]

        slices = [
            Around.apply(key, differentiable, early, carries, *slice_of(i)) for i in range(info.batch_size)
        ]
        results = tuple(torch.stack(column) for column in zip(*slices))
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


# ---- heads by content -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Record:
    """A specialised head as operators find it.

    Args:
        head: itself; a record keeps it alive, because graphs hold nothing but its key.
        slots: names of the operators' inputs.
        gradient_names: the name of each input's gradient; "" where there is none.
        outputs: name, dtype and whether it has an axis for each token, of every output.
        carries: whether a gradient flows from each output.
    """

    head: Head
    slots: tuple[str, ...]
    gradient_names: tuple[str, ...]
    outputs: tuple[tuple[str, str, bool], ...]
    carries: Mask

    def call(self, inputs: Sequence[Tensor]) -> Call:
        """The call with these inputs."""
        return _bound(self.head, self.slots, [tensor.detach() for tensor in inputs])


_records: dict[str, Record] = {}


def _record(key: str) -> Record:
    if key not in _records:
        raise LogitileError(
            f"head {key} is not known in this process; build it with lt.jit and trace one call of the same kind "
            "before the graph runs"
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
        gradient flows; and the attribute of the head with the named tuple of its results, "" for a bare one. Graph
        capture follows attributes of objects, but no class that such a function returns.

    Raises:
        CallError: as for a call.
    """
    head = head_of_token(token)
    _check_devices(facts)
    slots = tuple(fact[0] for fact in facts)
    stand_ins = [
        ShapeDtype((*range(3, 3 + rank), *extents), dtype) for _, rank, extents, dtype, _, _ in facts
    ]
    call = _bound(head, slots, stand_ins)
    spec = head.spec(call)
    key = _register(head, spec, call, slots)
    required = tuple(fact[4] for fact in facts)
    names, carries = _records[key].gradient_names, _records[key].carries
    result_type = "" if spec.bare else f"results_{key.rpartition(':')[2]}"
    if result_type:
        setattr(head, result_type, spec.result_type)
    none = (False,) * len(slots)
    wanted = [name for name, needed in zip(names, required) if name and needed]
    if not wanted or not _has_gradients(spec):
        return key, none, none, carries, result_type
    wanted_gradients(spec, head.options, call, wanted)
    dtypes = {name: array.dtype for name, (_, array) in gradient_names(call).items()}
    differentiable = tuple(bool(name and needed) for name, needed in zip(names, required))
    early = differentiable if is_early(head, spec, wanted, dtypes) else none
    return key, differentiable, early, carries, result_type


def _check_devices(facts: tuple[Any, ...]) -> None:
    devices = {fact[5]: fact[0] for fact in reversed(facts) if fact[5] != "cpu" or fact[1] or fact[2]}
    if len(devices) > 1:
        (first, slot), (second, other) = list(devices.items())[:2]
        raise CallValueError(
            f"input '{slot}' is on {first} but input '{other}' is on {second}; move one of them"
        )


def _bound(head: Head, slots: tuple[str, ...], items: Sequence[Any]) -> Call:
    """A call from the operators' inputs."""
    args: list[Any] = []
    inputs: dict[str, Any] = {}
    for slot, item in zip(slots, items):
        name, _, part = slot.partition(".")
        if name.isdigit():
            args.append(item)
        elif part:
            inputs[name] = (*inputs.get(name, ()), item)
        else:
            inputs[name] = item
    return head.bind(*args, **inputs)


def _register(head: Head, spec: LossSpec, call: Call, slots: tuple[str, ...]) -> str:
    content = "\n".join([spec.text(locations=False), repr(head.options), *slots])
    key = "lt1:" + hashlib.sha256(content.encode()).hexdigest()
    if key not in _records:
        carrying = execute.differentiable_names(spec)
        reached = reached_inputs(spec, carrying)
        known = [
            (name if parameter in reached else "") for name, (parameter, _) in gradient_names(call).items()
        ]
        order = [name for name, (_, array) in gradient_names(call).items()]
        names = tuple(known[order.index(n)] if n in order else "" for n in _operand_names(call, slots))
        shapes = [(n, execute.output_dtype(spec, n), bool(execute.output_shape(spec, head.options, (1,), n)))
                  for n in spec.output_names]  # fmt: skip
        carries = tuple(name in carrying for name in spec.output_names)
        _records[key] = Record(head, slots, names, tuple(shapes), carries)
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


# ---- operators --------------------------------------------------------------------------------------------------

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
    names = [name for name, wanted in zip(record.gradient_names, early) if wanted]
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
    names = [name for name, wanted in zip(record.gradient_names, need) if wanted]
    outputs = [name for (name, _, _), present in zip(record.outputs, given) if present]
    reaching: Any = {name: upstream.detach() for name, upstream in zip(outputs, upstreams)}
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
    return [torch.empty_like(t, memory_format=torch.contiguous_format) for t, w in zip(inputs, wanted) if w]


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
    reaching = [u if c else None for u, c in zip(upstreams, record.carries)]
    need = [bool(n and name) for n, name in zip(ctx.needs_input_grad[1], record.gradient_names)]
    return None, final(_gradients(ctx.key, saved, reaching, need), [*reaching, *saved]), None


torch.library.register_autograd("logitile::forward", _bare_backward, setup_context=_setup, lib=_library)


def _slice_by_slice(operator: Any) -> Any:
    """The rule of an operator under vmap: one slice after the other, since a weight may be another one in each."""

    def rule(info: Any, in_dims: Any, *args: Any) -> Any:
        def slice_of(item: Any, dim: Any, i: int) -> Any:
            if isinstance(item, (list, tuple)) and item and isinstance(item[0], Tensor):
                return [slice_of(part, part_dim, i) for part, part_dim in zip(item, dim)]
            return item.select(dim, i) if isinstance(item, Tensor) and dim is not None else item

        slices = [
            operator(*[slice_of(a, d, i) for a, d in zip(args, in_dims)]) for i in range(info.batch_size)
        ]
        results = [torch.stack(column) for column in zip(*slices)]
        return results, [0] * len(results)

    return rule


for _name in ("forward", "backward"):
    torch.library.register_vmap(
        f"logitile::{_name}", _slice_by_slice(getattr(torch.ops.logitile, _name)), lib=_library
    )
