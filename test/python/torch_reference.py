"""Evaluates a LossSpec in torch, at any float dtype and with torch's own autograd.

It is a second opinion on the meaning of a spec, and tells how accurate torch itself is in a dtype.
Values of one token are [N, 1], varying ones [N, V]; whatever is the same for every token has 1 in
place of N.
"""

from __future__ import annotations

import math

import torch
from logitile.reference import philox
from logitile.reference.canonical import canonical
from logitile.spec.operations import TOKEN_INDEX


class MultiplyNoNan(torch.autograd.Function):
    """weight * value, where a weight of 0 wins: forward and backward."""

    @staticmethod
    def forward(ctx, weight, value):
        ctx.save_for_backward(weight, value)
        return torch.where(weight == 0, torch.zeros((), dtype=weight.dtype), weight * value)

    @staticmethod
    def backward(ctx, cotangent):
        weight, value = ctx.saved_tensors
        dead = weight == 0
        of_weight = torch.where(dead & ~torch.isfinite(value), 0.0, cotangent * value)
        of_value = torch.where(dead, 0.0, cotangent * weight)
        return _summed_to(of_weight, weight.shape), _summed_to(of_value, value.shape)


def _summed_to(x, shape):
    axes = [axis for axis in (0, 1) if shape[axis] == 1 and x.shape[axis] != 1]
    return x.sum(axes, keepdim=True) if axes else x


def _uniform(*words):
    return torch.from_numpy(philox.uniform(*(word.numpy() for word in words)))


ELEMENTWISE = {
    "arith.addf": torch.add, "arith.addi": torch.add, "arith.subf": torch.sub, "arith.subi": torch.sub,
    "arith.mulf": torch.mul, "arith.muli": torch.mul, "arith.divf": torch.div, "arith.negf": torch.neg,
    "arith.maximumf": torch.maximum, "arith.minimumf": torch.minimum, "arith.maxsi": torch.maximum,
    "arith.minsi": torch.minimum, "arith.andi": torch.logical_and, "arith.ori": torch.logical_or,
    "arith.xori": torch.logical_xor, "arith.select": torch.where,
    "logitile.multiply_no_nan": MultiplyNoNan.apply,
    "logitile.sigmoid": torch.sigmoid, "logitile.softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "logitile.stop_gradient": torch.Tensor.detach, "math.absf": torch.abs, "math.floor": torch.floor,
    "math.exp": torch.exp, "math.exp2": torch.exp2, "math.log": torch.log, "math.log2": torch.log2,
    "math.log1p": torch.log1p, "math.expm1": torch.expm1, "math.tanh": torch.tanh, "math.sqrt": torch.sqrt,
    "math.rsqrt": torch.rsqrt, "math.powf": torch.pow, "math.isfinite": torch.isfinite,
    "math.isnan": torch.isnan, "math.clampf": torch.clamp, "math.erf": torch.erf, "math.sin": torch.sin,
    "math.cos": torch.cos, "logitile.uniform": _uniform,
}  # fmt: skip

COMPARISONS = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}

REDUCTIONS = {
    "sum": lambda x: x.sum(1, keepdim=True),
    "mean": lambda x: x.mean(1, keepdim=True),
    "max": lambda x: x.max(1, keepdim=True).values,
    "min": lambda x: x.min(1, keepdim=True).values,
    "argmax": lambda x: x.argmax(1, keepdim=True),
    "argmin": lambda x: x.argmin(1, keepdim=True),
    "logsumexp": lambda x: x.logsumexp(1, keepdim=True),
    "count": lambda x: x.sum(1, keepdim=True),
    "any": lambda x: x.any(1, keepdim=True),
    "all": lambda x: x.all(1, keepdim=True),
}


def evaluate(spec, pairs, inputs, dtype):
    """The per-token outputs of a spec, {name: [N] tensor};
    differentiable in whatever leaf requires a gradient.

    Args:
        pairs: {name: (hidden [N, D], weight [V, D])} in 'dtype'.
        inputs: {name: tensor}: Token [N] or [N, K], Vocab [V], Dense [N, V], Scalar [];
            floats in 'dtype'.
    """
    spec = canonical(spec)
    tokens = next(iter(pairs.values()))[0].shape[0]
    values = []
    for index, op in enumerate(spec.ops):
        values.append(_computed(spec, index, op, values, pairs, inputs, dtype))
    shaped = {o.name: values[o.value].expand(tokens, o.places or 1) for o in spec.outputs}
    return {o.name: shaped[o.name][:, 0] if o.places is None else shaped[o.name] for o in spec.outputs}


def _computed(spec, index, op, values, pairs, inputs, dtype):
    operands = [values[i] for i in op.operands]
    if op.name == "logitile.input":
        return _input(op.attribute, pairs, inputs)
    if op.name == "logitile.uniform":
        return ELEMENTWISE[op.name](*operands).to(dtype)
    if op.name == "arith.constant":
        # as in _picked
        value = 0.0 if op.type == "f32" and math.isnan(op.attribute) else op.attribute
        return torch.full((1, 1), value, dtype={"f32": dtype, "i32": torch.int64, "i1": torch.bool}[op.type])
    if op.name == "logitile.column":
        return torch.arange(spec.vocab)[None, :]
    if op.name in ("arith.cmpf", "arith.cmpi"):
        return COMPARISONS[op.attribute[-2:]](*operands)
    if op.name in ("arith.sitofp", "arith.uitofp"):
        return operands[0].to(dtype)
    if op.name == "logitile.reduce":
        return REDUCTIONS[op.attribute](operands[0])
    if op.name == "logitile.gather":
        return _picked(spec, *operands)
    if op.name == "logitile.sum_list":
        return operands[0].expand(-1, spec.ops[op.operands[0]].places or 1).sum(1, keepdim=True)
    if _is_log_softmax(spec, op):  # torch's own, which is what one would write there
        return torch.log_softmax(operands[0], 1)
    return ELEMENTWISE[op.name](*operands)


def _input(key, pairs, inputs):
    if key.axis == "logits":
        hidden, weight = pairs[key.name]
        return hidden @ weight.T
    if key == TOKEN_INDEX:
        return torch.arange(len(next(iter(pairs.values()))[0]))[:, None]
    value = inputs[key.name]
    if key.axis == "token":
        return value if key.places else (value if key.index is None else value[:, key.index])[:, None]
    return value[None, :] if key.axis == "vocab" else value.reshape(1, 1) if key.axis == "scalar" else value


def _picked(spec, value, index):
    """0, -1 or False outside the vocabulary. Losses guard such entries,
    and torch would multiply a NaN by the 0 that reaches it.
    """
    rows = max(value.shape[0], index.shape[0])
    value, index = value.expand(rows, -1), index.expand(rows, -1)
    inside = (index >= 0) & (index < spec.vocab)
    picked = value.gather(1, torch.where(inside, index, 0))
    nothing = 0.0 if value.is_floating_point() else -1 if value.dtype != torch.bool else False
    return torch.where(inside, picked, torch.tensor(nothing, dtype=value.dtype))


def _is_log_softmax(spec, op):
    if op.name != "arith.subf":
        return False
    other = spec.ops[op.operands[1]]
    return (
        other.name == "logitile.reduce"
        and other.attribute == "logsumexp"
        and other.operands == (op.operands[0],)
    )
