"""The accuracy gate: how far from float64 a result may be,
measured by torch's own float32 arithmetic.

A result may be 2 x torch's error + 4 u away, normwise. torch's error is the largest over
EVALUATIONS dense float32 evaluations of the same loss with permuted vocabulary and hidden axis: one
evaluation is a lottery. Where torch in float32 is not finite and float64 is, a result may be 4 u
away, as if torch were exact.
"""

from __future__ import annotations

import numpy as np
import torch
import torch_reference

EVALUATIONS = 8
UNIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def allowed(torch_error, unit):
    """The error that a result may have; an infinite error of torch excuses nothing."""
    return (2 * torch_error if np.isfinite(torch_error) else 0.0) + 4 * unit


def error(a, b, name=None):
    """Norm of a - b against that of b over the finite entries of b;
    infinite where a is finite elsewhere.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    finite = np.isfinite(b)
    if a.shape != b.shape or not np.array_equal(np.isfinite(a), finite):
        return np.inf
    difference = np.linalg.norm(np.where(finite, a - b, 0))
    return float(difference / max(np.linalg.norm(np.where(finite, b, 0)), 1e-30))


class Arguments:
    """Arguments of a loss as NumPy arrays, and what torch makes of them.

    Args:
        spec: the traced loss.
        given: arguments by name; pairs as (hidden [N, D], weight [V, D]).
        cotangent: {output: [N]} gradients of the outputs.
        wrt: names of pairs and inputs whose gradients are wanted.
    """

    def __init__(self, spec, given, cotangent, wrt):
        self.spec, self.cotangent, self.wrt = spec, cotangent, wrt
        self.pairs = {name: item for name, item in given.items() if isinstance(item, tuple)}
        self.inputs = {name: np.asarray(item) for name, item in given.items() if name not in self.pairs}

    def reference(self):
        """Outputs and gradients in float64."""
        return self._torch(torch.float64, None)

    def of_token(self, token, axes):
        """The arguments of one token.

        Args:
            axes: of the inputs by name.
        """
        one = slice(token, token + 1)
        pairs = {name: (hidden[one], weight) for name, (hidden, weight) in self.pairs.items()}
        inputs = {name: item[one] if axes.get(name) in ("token", "dense") else item
                  for name, item in self.inputs.items()}  # fmt: skip
        cotangent = {name: up[one] for name, up in self.cotangent.items()}
        return Arguments(self.spec, pairs | inputs, cotangent, self.wrt)

    def torch_errors(self, reference, rng, error=error):
        """torch's error by output and gradient;
        infinite where one of its evaluations is not finite.

        Args:
            error: takes a result, what it should be and its name.
        """
        errors = dict.fromkeys(reference, 0.0)
        for _ in range(EVALUATIONS):
            for name, value in self.single(rng).items():
                errors[name] = max(errors[name], error(value, reference[name], name))
        return errors

    def single(self, rng):
        """Outputs and gradients in float32, with axes permuted by 'rng' if there is one."""
        return self._torch(torch.float32, rng)

    def _torch(self, dtype, rng):
        pairs, inputs = dict(self.pairs), dict(self.inputs)
        vocab = hidden = None
        if rng is not None:
            hidden = {name: rng.permutation(h.shape[1]) for name, (h, _) in pairs.items()}
            pairs = {name: (h[:, hidden[name]], w[:, hidden[name]]) for name, (h, w) in pairs.items()}
            if self._columns_are_alike():
                vocab = rng.permutation(self.spec.vocab)
                pairs = {name: (h, w[vocab]) for name, (h, w) in pairs.items()}
                inputs = {name: self._permuted(name, item, vocab) for name, item in inputs.items()}
        leaves, tensors = {}, {}
        for name, (h, w) in pairs.items():
            tensors[name] = tuple(torch.tensor(np.ascontiguousarray(x), dtype=dtype) for x in (h, w))
            if name in self.wrt:
                leaves.update(zip((f"{name}.hidden", f"{name}.weight"), tensors[name], strict=True))
        arguments = {}
        for name, item in inputs.items():
            arguments[name] = torch.tensor(item)
            if arguments[name].is_floating_point():
                arguments[name] = arguments[name].to(dtype)
            if name in self.wrt:
                leaves[name] = arguments[name]
        for leaf in leaves.values():
            leaf.requires_grad_()
        outputs = self.evaluated(tensors, arguments, dtype)
        total = sum(
            (outputs[name] * torch.tensor(up, dtype=dtype)).sum() for name, up in self.cotangent.items()
        )
        if total.requires_grad:
            total.backward()
        result = {name: value.detach().numpy() for name, value in outputs.items()}
        for name, leaf in leaves.items():
            gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            result[name] = self._restored(name, gradient.numpy(), hidden, vocab)
        return result

    def evaluated(self, pairs, inputs, dtype):
        """Outputs by name, [N] each."""
        return torch_reference.evaluate(self.spec, pairs, inputs, dtype)

    def _columns_are_alike(self):
        """Whether the vocabulary may be permuted: no loss may use the index of an entry."""
        ops = self.spec.ops
        by_number = any(op.name == "logitile.column" or op.attribute in ("argmax", "argmin") for op in ops)
        by_number |= any(output.places for output in self.spec.outputs)
        picks = (ops[op.operands[1]].name for op in ops if op.name == "logitile.gather")
        return not by_number and all(name == "logitile.input" for name in picks)

    def _permuted(self, name, item, order):
        axis = self.spec.input(name).axis
        if axis in ("vocab", "dense"):
            return item[..., order]
        if axis == "token" and item.dtype.kind == "i":
            return np.where(item < 0, item, np.argsort(order)[np.clip(item, 0, len(order) - 1)])
        return item

    def _restored(self, name, gradient, hidden, order):
        pair, _, operand = name.rpartition(".")
        if hidden is not None and pair in self.pairs:
            gradient = gradient[:, np.argsort(hidden[pair])]
        if order is None:
            return gradient
        axis = self.spec.input(name).axis if name in self.inputs else None
        if operand == "weight" or axis == "vocab":
            return gradient[np.argsort(order)]
        return gradient[..., np.argsort(order)] if axis == "dense" else gradient
