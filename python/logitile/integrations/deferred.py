"""Logits that are not computed yet: the input of an output layer, and the steps of a model on the
logits.

A `DeferringLinear` returns `Deferred` in training. Models scale, cap or add such logits; that is
written down. A loss takes the projections and the steps from there, so that a kernel computes both
together. Any other use computes ordinary logits: slower, never wrong.
"""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..language import functions as lt
from .plans import Plan

# A step is a tuple: ("projection", number), ("scale", step, factor), ("tanh", step),
# ("add", step, step).
Step = tuple[Any, ...]
Fused = Callable[[Tensor, Tensor, Tensor | None], Any]


class DeferringLinear(nn.Linear):
    """A linear layer whose result in training is deferred.
    `fused` is called with the layer's input, weight and bias inside the layer's own forward, where
    hooks, such as those of FSDP, have gathered the weight. Under a tensor parallel plan all of them
    are DTensors.
    """

    def forward(self, input: Tensor, fused: Fused | None = None, now: bool = False) -> Any:
        """The logits [..., V] of hidden states [..., D]; in training a `Deferred`, if not `now`."""
        plan: Plan | None = self.__dict__.get("plan")
        if fused is not None:
            return fused(input if plan is None else plan.placed(input), self.weight, self.bias)
        if now or not ("defers" in self.__dict__ or (self.training and torch.is_grad_enabled())):
            return super().forward(input) if plan is None else plan.logits(self, input)
        return Deferred((Projection(self, input),), ("projection", 0), input.dtype)


class _Users(weakref.WeakSet[Any]):
    """Those that want a layer to defer."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Users:
        """That of a copy of the layer: the copies of its users."""
        return _Users(copy.deepcopy(list(self), memo))


def defer(layer: nn.Linear, user: object, plan: Plan | None = None) -> None:
    """Makes a linear layer a deferring one, which it is until `release` of its last user.

    Args:
        plan: the tensor parallel plan that the layer is under, which is set aside.
    """
    if plan is not None and "plan" not in layer.__dict__:
        plan.set_aside(layer)
        layer.__dict__["plan"] = plan
    layer.__dict__.setdefault("users", _Users()).add(user)
    layer.__class__ = DeferringLinear


def release(layer: DeferringLinear, user: object) -> None:
    """Undoes `defer` for a user."""
    users = layer.__dict__["users"]
    users.discard(user)
    if not users:
        del layer.__dict__["users"]
        layer.__class__ = nn.Linear  # type: ignore[assignment]
        plan = layer.__dict__.pop("plan", None)
        if plan is not None:
            plan.put_back(layer)


@contextlib.contextmanager
def deferring(module: nn.Module) -> Iterator[None]:
    """Layers inside of `module` defer, in every mode."""
    layers = [layer for layer in module.modules() if isinstance(layer, DeferringLinear)]
    for layer in layers:
        layer.__dict__["defers"] = True
    try:
        yield
    finally:
        for layer in layers:
            del layer.__dict__["defers"]


@dataclass(frozen=True)
class Projection:
    """An output layer and the hidden states [..., D] with which it was called.
    Under a tensor parallel plan they may be those of this process's tokens.
    """

    layer: DeferringLinear
    hidden: Tensor


class Deferred:
    """Logits [..., V] as projections and steps. It is no tensor, so that no code takes it for data.

    Args:
        projections: of the same leading dimensions and number of columns.
        step: what the logits are, of the projections.
        dtype: that the logits of the model would have.
    """

    def __init__(self, projections: Sequence[Projection], step: Step, dtype: torch.dtype):
        self.projections = tuple(projections)
        self.step = step
        self.dtype = dtype
        self._value: Tensor | None = None

    # ---- what needs no logits --------------------------------------------------------------------

    @property
    def shape(self) -> torch.Size:
        """That of the logits."""
        first = self.projections[0]
        plan: Plan | None = first.layer.__dict__.get("plan")
        leading = first.hidden.shape[:-1] if plan is None else plan.leading(first.hidden)
        return torch.Size((*leading, first.layer.out_features))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.projections[0].hidden.ndim

    @property
    def device(self) -> torch.device:
        """Where the logits would be."""
        return self.projections[0].hidden.device

    def size(self, dim: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """As of a tensor."""
        return self.ndim

    def contiguous(self) -> Deferred:
        """The same logits."""
        return self

    # ---- steps -----------------------------------------------------------------------------------

    def _with(self, *step: Any) -> Deferred:
        return Deferred(self.projections, step, self.dtype)

    def __mul__(self, other: object) -> Any:
        if _is_number(other):
            return self._with("scale", self.step, float(other))  # type: ignore[arg-type]
        return self.value * other  # type: ignore[operator]

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if _is_number(other) and other != 0:
            return self._with("scale", self.step, 1.0 / other)  # type: ignore[operator]
        return self.value / other  # type: ignore[operator]

    def __add__(self, other: object) -> Any:
        if not isinstance(other, Deferred) or other.shape != self.shape:
            return self.value + _plain(other)
        moved = _moved(other.step, len(self.projections))
        dtype = torch.promote_types(self.dtype, other.dtype)
        return Deferred(self.projections + other.projections, ("add", self.step, moved), dtype)

    def tanh(self) -> Deferred:
        """Their hyperbolic tangent."""
        return self._with("tanh", self.step)

    def float(self) -> Deferred:
        """In float32."""
        return Deferred(self.projections, self.step, torch.float32)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Another floating type is recorded, without rounding. Other types compute the logits."""
        given = [*args, *kwargs.values()]
        wanted = given[0] if len(given) == 1 else None
        if wanted == self.device:
            return self
        if isinstance(wanted, torch.dtype) and wanted.is_floating_point:
            return Deferred(self.projections, self.step, wanted)
        return self.value.to(*args, **kwargs)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Functions of torch: tanh is a step, the others get ordinary logits."""
        if func is torch.tanh and not kwargs:
            return args[0].tanh()
        return func(*_plain(args), **_plain(kwargs or {}))

    # ---- everything else -------------------------------------------------------------------------

    @property
    def value(self) -> Tensor:
        """The logits as a tensor, computed at the first use."""
        if self._value is None:
            warnings.warn(
                "logits of a training step were used beside the loss, so all of them were computed",
                stacklevel=3,
            )
            logits = [one.layer(one.hidden, now=True) for one in self.projections]
            self._value = _computed(self.step, logits).to(self.dtype)
        return self._value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(Tensor, name):
            raise AttributeError(f"logits have no attribute '{name}'")
        return getattr(self.value, name)

    def __getitem__(self, index: Any) -> Tensor:
        return self.value[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<logits {list(self.shape)} of {len(self.projections)} projections, not computed yet>"


def _computing(name: str) -> Callable[..., Any]:
    def operation(self: Deferred, *others: Any) -> Any:
        return getattr(self.value, name)(*_plain(others))

    operation.__name__ = name
    return operation


for _name in "sub rsub radd rtruediv neg pow abs matmul iter lt le gt ge".split():
    setattr(Deferred, f"__{_name}__", _computing(f"__{_name}__"))


def fused_call(projections: Sequence[Projection], call: Callable[[list[Any]], Any]) -> Any:
    """`call` with (hidden, weight, bias) of each projection, from inside all layers' forwards."""

    def inside(known: list[Any]) -> Any:
        if len(known) == len(projections):
            return call(known)
        one = projections[len(known)]
        return one.layer(one.hidden, fused=lambda *operands: inside([*known, operands]))

    return inside([])


def traced(step: Step, logits: Sequence[Any]) -> Any:
    """The logits inside of a loss, of the logits of the projections."""
    kind, *rest = step
    if kind == "projection":
        return logits[rest[0]]
    if kind == "scale":
        return traced(rest[0], logits) * rest[1]
    if kind == "tanh":
        return lt.tanh(traced(rest[0], logits))
    return traced(rest[0], logits) + traced(rest[1], logits)


def _computed(step: Step, logits: Sequence[Tensor]) -> Tensor:
    kind, *rest = step
    if kind == "projection":
        return logits[rest[0]]
    if kind == "scale":
        return _computed(rest[0], logits) * rest[1]
    if kind == "tanh":
        return torch.tanh(_computed(rest[0], logits))
    first, second = (_computed(one, logits) for one in rest)
    return first + second


def _moved(step: Step, count: int) -> Step:
    """A step of projections that come after `count` others."""
    kind, *rest = step
    if kind == "projection":
        return kind, rest[0] + count
    return kind, *(_moved(one, count) if isinstance(one, tuple) else one for one in rest)


def _is_number(item: object) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item)


def _plain(item: Any) -> Any:
    """Ordinary logits in the place of deferred ones, also inside of containers."""
    if isinstance(item, Deferred):
        return item.value
    if type(item) in (tuple, list):
        return type(item)(map(_plain, item))
    if type(item) is dict:
        return {name: _plain(one) for name, one in item.items()}
    return item
