"""Tensor parallel plans of an output layer: the placements of its hidden states and of its slice of
the vocabulary.

A plan wraps the layer: Transformers replaces its forward, PyTorch's parallelize_module registers
hooks. Both make DTensors of what goes in, and gather the logits that come out. A head needs no
logits, so what wraps the layer is set aside, and hidden states become DTensors here. Nothing here
imports Transformers.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..errors import CallTypeError, CallValueError

_BY_TRANSFORMERS = "TensorParallelLayer.install_forward."  # qualified names of what wraps a layer
_BY_TORCH = "distribute_module."
_WHOLE = "TensorParallelLayer"  # the style 'replicate' of Transformers, which does nothing
_REMEDY = (
    "use 'colwise_gather_output' in a plan of Transformers, or ColwiseParallel(output_layouts=Replicate()) "
    "of torch.distributed.tensor.parallel"
)

# A hook that is set aside: the attribute of a layer with its hooks,
# the number in them, and the hook.
_Hook = tuple[str, int, Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a tensor parallel plan does around a linear layer.

    Args:
        mesh: of one axis, whose processes have the slices;
            None where the plan leaves the layer whole.
        incoming: the placement of hidden states that are plain tensors.
        outgoing: the placement of the logits.
        is_local: whether the logits become plain tensors.
        own: the forward that Transformers gave the layer; None where hooks do the same.
        hooks: of PyTorch: one before the layer's forward and one after it;
            none where `own` is there.
    """

    mesh: Any
    incoming: Any
    outgoing: Any
    is_local: bool
    own: Callable[..., Any] | None
    hooks: tuple[_Hook, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        return self

    def placed(self, hidden: Tensor) -> Any:
        """Hidden states [..., D] as a DTensor; a DTensor is returned unchanged.
        The gradient of a plain tensor is plain, and complete for this process's tokens.
        """
        from torch.distributed.tensor import DTensor

        if self.mesh is None or isinstance(hidden, DTensor):
            return hidden
        return DTensor.from_local(hidden, self.mesh, [self.incoming], run_check=False)

    def leading(self, hidden: Tensor) -> tuple[int, ...]:
        """The axes of tokens of hidden states, with those of all processes."""
        found = list(hidden.shape[:-1])
        if self.mesh is not None and self.incoming.is_shard() and not hasattr(hidden, "placements"):
            found[self.incoming.dim] *= self.mesh.size()
        return tuple(found)

    def logits(self, layer: nn.Linear, hidden: Tensor) -> Any:
        """The logits as the layer under its plan gives them."""
        if self.own is not None:
            return self.own(hidden)
        (_, _, before), (_, _, after) = self.hooks
        entered = before(layer, (hidden,))
        return after(layer, (hidden,), nn.Linear.forward(layer, entered))

    def set_aside(self, layer: nn.Linear) -> None:
        """Takes from the layer what wraps it. Hooks keep their places among others."""
        if self.own is not None:
            del layer.__dict__["forward"]
        for attribute, number, _ in self.hooks:
            getattr(layer, attribute)[number] = _nothing

    def put_back(self, layer: nn.Linear) -> None:
        """Undoes `set_aside`; a hook that was removed in between stays so."""
        if self.own is not None:
            layer.__dict__["forward"] = self.own
        for attribute, number, hook in self.hooks:
            if number in getattr(layer, attribute):
                getattr(layer, attribute)[number] = hook

    @contextlib.contextmanager
    def aside(self, layer: nn.Linear) -> Iterator[None]:
        """The layer without what wraps it."""
        self.set_aside(layer)
        try:
            yield
        finally:
            self.put_back(layer)


def plan_of(layer: nn.Linear, owner: str) -> Plan | None:
    """The plan that a linear layer is under; None if there is none.

    Args:
        layer: that makes the logits.
        owner: the name of the model, for errors.

    Raises:
        CallTypeError: the plan belongs to another layer.
        CallValueError: the plan does not cut the vocabulary, or cuts hidden states.
    """
    found = _of_forward(layer, owner) or _of_hooks(layer, owner)
    if found is not None and found.mesh is not None:
        _check_incoming(found.incoming, owner)
    return found


def check_logits(plan: Plan, owner: str) -> None:
    """Checks that logits are those of the whole vocabulary, for code that uses them without a loss.

    Raises:
        CallValueError: each process gets a part, and cannot tell.
    """
    logits = plan.outgoing
    if plan.mesh is None or logits.is_replicate() or (logits.is_shard(-1) and not plan.is_local):
        return
    kind = "plain tensors" if plan.is_local else "DTensors"
    raise CallValueError(
        f"the tensor parallel plan of {owner} gives the logits of its output layer as {kind} placed as "
        f"{logits}, but evaluation takes those of the whole vocabulary and of all tokens; {_REMEDY}"
    )


def check_weight(layer: nn.Linear, plan: Plan, owner: str) -> None:
    """That every process has rows of the weight, on the mesh of the plan.

    Raises:
        CallValueError: it has not.
    """
    if plan.mesh is None:
        return
    weight: Any = layer.weight
    placements = getattr(weight, "placements", None)
    if placements is None:
        raise CallValueError(
            f"the output layer of {owner} is under a tensor parallel plan, but its weight is a plain tensor; "
            "give the weight a rule in the plan, too"
        )
    if weight.device_mesh != plan.mesh:
        raise CallValueError(
            f"the weight of the output layer of {owner} is on {weight.device_mesh}, but its tensor parallel "
            f"plan is on {plan.mesh}; patch the model before FSDP shards it"
        )
    if len(placements) != 1 or not placements[0].is_shard(0):
        raise CallValueError(
            f"the weight of the output layer of {owner} is placed as {list(placements)}, but a head takes "
            f"slices of the vocabulary, [Shard(dim=0)]; {_REMEDY}; for a tied embedding use "
            "'embedding_rowwise', or RowwiseParallel"
        )
    count = plan.mesh.size()
    if weight.shape[0] <= (count - 1) * -(-weight.shape[0] // count):
        raise CallValueError(
            f"the output layer of {owner} has {weight.shape[0]} vocabulary entries, of which the last of "
            f"{count} processes gets none; use fewer processes for the slices"
        )


# ---- reading -------------------------------------------------------------------------------------


def _of_forward(layer: nn.Linear, owner: str) -> Plan | None:
    """The plan of a forward that Transformers has replaced."""
    own = vars(layer).get("forward")
    if not getattr(own, "__qualname__", "").startswith(_BY_TRANSFORMERS):
        return None
    known = inspect.getclosurevars(own).nonlocals
    style, mesh = known.get("self"), known.get("mesh")
    if known.get("module") is not layer:
        raise CallTypeError(
            f"the output layer of {owner} was copied under its tensor parallel plan, and its forward is "
            "still that of the other layer; leave it out of what is copied, such as modules_to_save"
        )
    if type(style).__name__ == _WHOLE:
        return Plan(None, None, None, True, own, ())
    _check_style(type(style).__name__, owner)
    return Plan(mesh, style.input_layouts, style.output_layouts, style.use_local_output, own, ())


def _of_hooks(layer: nn.Linear, owner: str) -> Plan | None:
    """The plan of hooks that PyTorch has registered."""
    before, after = _hook(layer, "_forward_pre_hooks"), _hook(layer, "_forward_hooks")
    if before is None and after is None:
        return None
    entry, mesh = _bound(before, "input_fn")
    exit_, _ = _bound(after, "output_fn")
    names = {getattr(one, "func", one) for one in (entry, exit_)}
    style = " and ".join(sorted({getattr(name, "__qualname__", "None").split(".")[0] for name in names}))
    _check_style(style, owner)
    (placement,), _ = entry.args
    (logits,), is_local = exit_.args
    return Plan(mesh, placement, logits, is_local, None, (before, after))


def _hook(layer: nn.Linear, attribute: str) -> _Hook | None:
    """The first hook of distribute_module."""
    for number, hook in getattr(layer, attribute).items():
        if getattr(hook, "__qualname__", "").startswith(_BY_TORCH):
            return attribute, number, hook
    return None


def _bound(hook: _Hook | None, name: str) -> tuple[Any, Any]:
    """The function that a hook of distribute_module calls, and its mesh."""
    known = {} if hook is None else inspect.getclosurevars(hook[2]).nonlocals
    return known.get(name), known.get("device_mesh")


def _nothing(*args: Any) -> None:
    """Stands for a hook that is set aside."""


# ---- what a head can take ------------------------------------------------------------------------


def _check_style(style: str, owner: str) -> None:
    if style != "ColwiseParallel":
        raise CallValueError(
            f"the tensor parallel plan of {owner} has the style {style} for its output layer, but a head "
            f"takes slices of the vocabulary, which ColwiseParallel makes; {_REMEDY}"
        )


def _check_incoming(incoming: Any, owner: str) -> None:
    if incoming.is_replicate() or (incoming.is_shard() and incoming.dim >= 0):
        return
    raise CallValueError(
        f"the tensor parallel plan of {owner} gives its output layer hidden states placed as {incoming}, but "
        "a head takes Replicate(), or Shard of an axis of tokens; set input_layouts of the layer so"
    )
