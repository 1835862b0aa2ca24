"""Logits of a JAX function that are not computed yet: the operands of its output layer, and its
steps on the logits.

The function is traced. Everything up to its last product is done as it says; the product is left to
a head, with the steps that follow it: scales, tanh, casts between floats. What does anything else
with its logits is refused, so nothing here is ever wrong or silently slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from ..errors import CallTypeError

# A step is ("scale", factor) or ("tanh",).
Step = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class TracedLogits:
    """Logits of one projection. It is no array, so that no code takes it for data.

    Args:
        hidden: [..., D].
        weight: [V, D], or [D, V] where `layout` is "dv".
        layout: as the option weight_layout of a head.
        steps: what becomes of the products, in their order.
    """

    hidden: jax.Array
    weight: jax.Array
    layout: str = "vd"
    steps: tuple[Step, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the logits."""
        return (*self.hidden.shape[:-1], self.weight.shape[self.layout == "dv"])


def logits_of(function: Callable[[jax.Array], Any], hidden: jax.Array) -> TracedLogits:
    """The logits that `function` makes of hidden states [..., D], without computing them.

    Args:
        function: differentiable code of JAX; it may read parameters of its surroundings.

    Raises:
        CallTypeError: it does more with its logits than scaling, capping and casting them.
    """
    closed = jax.make_jaxpr(function)(hidden)
    if len(closed.out_avals) != 1:
        raise CallTypeError(f"the output layer gives {len(closed.out_avals)} arrays; logits are one")
    reader = _Reader(closed.out_avals[0].shape)
    (found,) = reader.run(closed.jaxpr, closed.consts, [_Value(hidden, is_hidden=True)])
    if not isinstance(found, _Product):
        raise CallTypeError(
            f"the output layer does '{reader.last}' with its logits, which no head can follow: after the "
            "product with its weight it may scale them by a number, apply tanh, cast and reshape; "
            "put anything else into your own loss (docs/language.md)"
        )
    return found.logits


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Value:
    """A known value; `is_hidden` says whether it depends on the hidden states."""

    value: Any
    is_hidden: bool = False


@dataclass(frozen=True, eq=False)
class _Product:
    """Logits that are left out. `is_vocab_first`: the vocabulary is the first axis."""

    logits: TracedLogits
    is_vocab_first: bool
    compute: Callable[[], Any]

    is_hidden = True


class _Reader:
    """Does what a trace says, apart from products that have the shape of the logits.

    Args:
        shape: of the logits.
    """

    def __init__(self, shape: Sequence[int]):
        self.shape = tuple(shape)
        self.last = "nothing"  # what was done last with logits that no head follows

    def run(self, jaxpr: Any, constants: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The results of a trace for these inputs."""
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_Value, constants), strict=True))
        known |= dict(zip(jaxpr.invars, given, strict=True))

        def read(atom: Any) -> Any:
            return _Value(atom.val) if isinstance(atom, core.Literal) else known[atom]

        for equation in jaxpr.eqns:
            made = self._do(equation, [read(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, made, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _do(self, equation: Any, given: list[Any]) -> list[Any]:
        inner = equation.params.get("jaxpr")
        if equation.primitive.name in ("jit", "pjit", "closed_call") and isinstance(inner, core.ClosedJaxpr):
            return self.run(inner.jaxpr, inner.consts, given)
        # a head recomputes what it needs anyway
        if equation.primitive.name in ("checkpoint", "remat2"):
            return self.run(inner, (), given)
        if equation.primitive.name == "dot_general" and (product := self._product(equation, given)):
            return [product]
        if any(isinstance(value, _Product) for value in given):
            if after := _step(equation, given):
                return [after]
            self.last = equation.primitive.name
        is_hidden = any(value.is_hidden for value in given)
        return [_Value(value, is_hidden) for value in _computed(equation, given)]

    def _product(self, equation: Any, given: list[Any]) -> _Product | None:
        """The product of hidden states and a weight, where it may be that of the logits."""
        (contracted, batched) = equation.params["dimension_numbers"]
        if any(isinstance(value, _Product) for value in given) or batched[0]:
            return None
        if [value.is_hidden for value in given] not in ([True, False], [False, True]):
            return None
        first = 0 if given[0].is_hidden else 1
        hidden, weight = given[first].value, given[1 - first].value
        if weight.ndim != 2 or contracted[first] != (hidden.ndim - 1,) or len(contracted[1 - first]) != 1:
            return None
        if not all(jnp.issubdtype(operand.dtype, jnp.floating) for operand in (hidden, weight)):
            return None
        both = jnp.promote_types(hidden.dtype, weight.dtype)
        layout = "dv" if contracted[1 - first] == (0,) else "vd"
        logits = TracedLogits(hidden.astype(both), weight.astype(both), layout)
        if logits.shape[-1] != self.shape[-1]:
            return None
        return _Product(logits, first == 1, lambda: _computed(equation, given)[0])


def _step(equation: Any, given: list[Any]) -> _Product | None:
    """The logits after a step, where a head can follow."""
    product = given[0] if isinstance(given[0], _Product) else given[-1]
    name, logits = equation.primitive.name, product.logits

    def after(*steps: Step, **changed: Any) -> _Product:
        logits = replace(product.logits, steps=(*product.logits.steps, *steps))
        return replace(product, logits=logits, compute=lambda: _computed(equation, given)[0], **changed)

    if name in ("sharding_constraint", "copy", "name"):
        return after()
    if name == "convert_element_type" and jnp.issubdtype(equation.params["new_dtype"], jnp.floating):
        return after()
    if name == "tanh":
        return after(("tanh",))
    if name == "transpose" and product.is_vocab_first:
        permutation, axes = equation.params["permutation"], len(logits.shape)
        return after(is_vocab_first=False) if permutation == (*range(1, axes), 0) else None
    if name == "reshape" and not product.is_vocab_first:
        shape = equation.params["new_sizes"]
        if shape[-1] != logits.shape[-1]:
            return None
        hidden = logits.hidden.reshape(*shape[:-1], logits.hidden.shape[-1])
        return replace(after(), logits=replace(logits, hidden=hidden))
    if name in ("mul", "div") and (factor := _number(given, product)) is not None:
        if name == "div" and (given[0] is not product or factor == 0):
            return None
        return after(("scale", factor if name == "mul" else 1 / factor))
    return None


def _number(given: list[Any], product: _Product) -> float | None:
    """The other operand, where it is a number that is known now."""
    others = [value for value in given if value is not product]
    if len(others) != 1 or isinstance(others[0], _Product):
        return None
    number = others[0].value
    return None if isinstance(number, jax.core.Tracer) or jnp.ndim(number) else float(number)


def _computed(equation: Any, given: Sequence[Any]) -> list[Any]:
    values = [value.compute() if isinstance(value, _Product) else value.value for value in given]
    params = equation.primitive.get_bind_params(equation.params)
    # before and since JAX 0.10
    functions, params = params if isinstance(params, tuple) else ((), params)

    def bind() -> Any:
        return equation.primitive.bind(*functions, *values, **params)

    if any(isinstance(value, jax.core.Tracer) for value in values):
        made = bind()
    else:  # numbers stay known inside of jit
        with jax.ensure_compile_time_eval():
            made = bind()
    return list(made) if equation.primitive.multiple_results else [made]
