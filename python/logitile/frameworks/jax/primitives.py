"""Heads as primitives of JAX.
One primitive makes keyed calls; the other represents a derivative until it is transposed.

Primitives are what `jax.grad`, `jax.vmap` and XLA ask for rules, so a head works inside of all of
them, and refuses what it cannot do in its own words.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import numpy
from jax._src import dispatch
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from ...errors import LogitileError
from ...runtime.engine import native
from ..traced import KeyedCall, Mask, TracedResult
from .partition import partition, sharding_rule
from .varying import varying_alike

TARGET = "logitile_call_v1"
for _platform in ("cpu", "CUDA"):
    jax.ffi.register_ffi_target(TARGET, native().xla_handler(_platform), platform=_platform)

_NO_SECOND = (
    "a head has no second derivatives; differentiate once, or write the loss with jax.numpy for this step"
)
_NO_FORWARD = (
    "a head has no forward-mode derivative (jax.jvp, jax.jacfwd, jax.linearize); use reverse mode (jax.grad, "
    "jax.vjp, jax.jacrev)"
)

call_p = Primitive("logitile_call")
call_p.multiple_results = True
tangent_p = Primitive("logitile_tangent")  # linear in its last operands, for transposition alone
tangent_p.multiple_results = True


def run(call: KeyedCall, operands: Sequence[Any]) -> list[Any]:
    """The results of a call."""
    return call_p.bind(*varying_alike(operands), call=call)


# ---- shapes and types ----------------------------------------------------------------------------


def _shape_of(result: TracedResult, call: KeyedCall, operands: Sequence[Any]) -> tuple[Any, ...]:
    if result.like is not None:
        return operands[result.like].shape
    first = operands[0]
    return (*first.shape[: first.ndim - call.rest], *result.trailing) if result.is_per_token else ()


def _aval(like: Any, shape: Sequence[Any], dtype: Any) -> Any:
    """The type of a result that varies over the mesh as an operand does."""
    sharding = NamedSharding(like.sharding.mesh, PartitionSpec(*(None for _ in shape)))
    return like.update(shape=tuple(shape), dtype=numpy.dtype(dtype), weak_type=False, sharding=sharding)


def _result_dtype(name: str) -> Any:
    """Integers have 64 bits only where JAX was told so."""
    return jax.dtypes.canonicalize_dtype(jax.numpy.dtype(name))


@call_p.def_abstract_eval
def _call_results(*operands: Any, call: KeyedCall) -> list[Any]:
    return [_aval(operands[0], _shape_of(r, call, operands), _result_dtype(r.dtype)) for r in call.results]


# ---- running -------------------------------------------------------------------------------------


def _lowered(platform: str, *operands: Any, call: KeyedCall) -> list[Any]:
    """The call as XLA makes it."""
    like, types = jax.typeof(operands[0]), []
    for result in call.results:
        shape, dtype = _shape_of(result, call, operands), _result_dtype(result.dtype)
        if result.dtype == "int64" and dtype != numpy.int64:
            shape = (*shape, 2)  # the handler writes 64 bits: two numbers, the lower one first
        types.append(_aval(like, shape, dtype))
    if platform == "cuda":
        tokens = prod(like.shape[: like.ndim - call.rest])
        # it is lowered for all devices alike
        needed = call.head.workspace(call, f"{platform}:0", tokens)
        types.append(_aval(like, (_room(needed),), numpy.uint8))
    made = jax.ffi.ffi_call(TARGET, types)(*operands, head=call.key, rest=numpy.int64(call.rest))
    made = made[: len(call.results)]
    return [m[..., 0] if m.ndim > len(_shape_of(r, call, operands)) else m
            for m, r in zip(made, call.results, strict=True)]  # fmt: skip


def _room(size: int) -> int:
    """What pieces of a workspace need in sum, each of them at a multiple of 256 bytes."""
    return size + 16 * 256


def _partitioned(platform: str, *operands: Any, call: KeyedCall) -> list[Any]:
    """The call of all devices, of which each has a part where XLA has several."""
    if call.is_part:
        return _lowered(platform, *operands, call=call)

    def on_one_device(*operands: Any) -> list[Any]:
        return _lowered(platform, *operands, call=call)

    whole = custom_partitioning(on_one_device)
    whole.def_partition(
        functools.partial(partition, call, run),
        sharding_rule=sharding_rule(call, [operand.ndim for operand in operands]),
    )
    return whole(*operands)


dispatch.prim_requires_devices_during_lowering.add(call_p)  # as those that are partitioned
for _platform in ("cpu", "cuda"):
    mlir.register_lowering(
        call_p,
        mlir.lower_fun(functools.partial(_partitioned, _platform), multiple_results=True),
        platform=_platform,
    )


@call_p.def_impl
def _run_alone(*operands: Any, call: KeyedCall) -> list[Any]:
    """Outside of jax.jit, or where it is disabled."""
    with jax.disable_jit(False):
        return _jitted(call)(*operands)


@functools.lru_cache(maxsize=256)
def _jitted(call: KeyedCall) -> Any:
    return jax.jit(lambda *operands: call_p.bind(*operands, call=call))


# ---- jax.vmap ------------------------------------------------------------------------------------


def _batched(
    operands: Sequence[Any], axes: Sequence[int | None], *, call: KeyedCall
) -> tuple[list[Any], list[int]]:
    """One call with more tokens where its results are per token, else one call after the other."""
    operands = [o if a is None else jax.numpy.moveaxis(o, a, 0) for o, a in zip(operands, axes, strict=True)]
    is_batched = [axis is not None for axis in axes]
    if _is_one_call(call, is_batched):
        size = next(o.shape[0] for o, b in zip(operands, is_batched, strict=True) if b)
        spread = [
            jax.numpy.broadcast_to(o, (size, *o.shape)) if has and not batched else o
            for o, has, batched in zip(operands, call.has_tokens, is_batched, strict=True)
        ]
        results = run(call, spread)
    else:
        results = _one_by_one(call, operands, is_batched)
    return results, [0] * len(results)


def _is_one_call(call: KeyedCall, is_batched: Sequence[bool]) -> bool:
    own = any(batched and not has for batched, has in zip(is_batched, call.has_tokens, strict=True))
    per_token = all(r.is_per_token if r.like is None else call.has_tokens[r.like] for r in call.results)
    return per_token and not own and not call.head.numbers_tokens  # each has a token 0


def _one_by_one(call: KeyedCall, operands: Sequence[Any], is_batched: Sequence[bool]) -> list[Any]:
    def slice_of(batched: list[Any]) -> list[Any]:
        rest = iter(batched)
        return run(call, [next(rest) if b else o for o, b in zip(operands, is_batched, strict=True)])

    return jax.lax.map(slice_of, [o for o, b in zip(operands, is_batched, strict=True) if b])


batching.primitive_batchers[call_p] = _batched

# ---- derivatives ---------------------------------------------------------------------------------


def _derived(
    primals: Sequence[Any], tangents: Sequence[Any], *, call: KeyedCall
) -> tuple[list[Any], list[Any]]:
    """Outputs, and a stand-in for their tangents.
    Gradients are made for those operands alone that have a tangent.
    """
    if not call.is_derivable:
        raise LogitileError(_NO_SECOND)
    head = call.head
    asked = tuple(type(tangent) is not ad.Zero for tangent in tangents)
    is_early = any(asked) and head.is_early(asked)
    need = tuple(a and can for a, can in zip(asked, head.differentiable, strict=True))
    if not any(need) or not head.carrying:
        outputs = run(call, primals)
        return outputs, [_no_tangent(output) for output in outputs]
    wanted = [tangent for tangent, needed in zip(tangents, need, strict=True) if needed]
    early = head.gradients(need, (False,) * len(call.results)) if is_early else None
    if early is None:
        outputs, residuals = run(call, primals), list(primals)
    else:
        made = run(early, primals)
        outputs, residuals = made[: len(call.results)], made[len(call.results) :]
    carried = tangent_p.bind(
        *varying_alike([*residuals, *wanted]), call=call, need=need, is_early=early is not None
    )
    tangents_out = [_no_tangent(output) for output in outputs]
    for position, tangent in zip(head.carrying, carried, strict=True):
        tangents_out[position] = tangent
    return outputs, tangents_out


def _no_tangent(output: Any) -> Any:
    return ad.Zero(jax.typeof(output).to_tangent_aval())


ad.primitive_jvps[call_p] = _derived


@tangent_p.def_abstract_eval
def _tangent_results(*operands: Any, call: KeyedCall, need: Mask, is_early: bool) -> list[Any]:
    results = [call.results[position] for position in call.head.carrying]
    return [_aval(operands[0], _shape_of(r, call, operands), r.dtype) for r in results]


def _transposed(
    cotangents: Sequence[Any], *operands: Any, call: KeyedCall, need: Mask, is_early: bool
) -> list[Any]:
    """The gradients of those operands that have a tangent, from what reaches the outputs."""
    count = sum(need)
    residuals, tangents = list(operands[:-count]), operands[-count:]
    present = [type(cotangent) is not ad.Zero for cotangent in cotangents]
    reached = {at for at, there in zip(call.head.carrying, present, strict=True) if there}
    given = tuple(position in reached for position in range(len(call.results)))
    gradients: list[Any] = [ad.Zero(tangent.aval) for tangent in tangents]
    if is_early and any(given):
        gradients = [_scaled(gradient, cotangents[0]) for gradient in residuals]
    elif any(given):
        made = call.head.gradients(need, given)
        reaching = [cotangent for cotangent, there in zip(cotangents, present, strict=True) if there]
        if made is not None:
            gradients = run(made, [*residuals, *reaching])[len(call.results) :]
    return [None] * len(residuals) + gradients


def _scaled(gradient: Any, factor: Any) -> Any:
    return (gradient.astype(factor.dtype) * factor).astype(gradient.dtype)


ad.primitive_transposes[tangent_p] = _transposed


def _refused(text: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise LogitileError(text)

    return refuse


ad.primitive_jvps[tangent_p] = _refused(_NO_SECOND)
batching.primitive_batchers[tangent_p] = _refused(_NO_FORWARD)
mlir.register_lowering(tangent_p, _refused(_NO_FORWARD))
tangent_p.def_impl(_refused(_NO_FORWARD))
