"""Random arguments for a loss, made from its signature; and the same call in torch."""

from __future__ import annotations

import numpy as np
import torch

ENTRIES = 4  # K of Token[..., K]
TOKENS, VOCAB, HIDDEN = 6, 23, 8


def arguments(loss, seed=0, tokens=TOKENS, vocab=VOCAB, hidden=HIDDEN, std=3.0):
    """Arguments of a call by name, NumPy, float32: pairs as tuples.
    Optional inputs are left out.
    """
    rng = np.random.default_rng(seed)
    made = {}
    for parameter in loss.signature.inputs:
        kind = parameter.kinds[0]
        if parameter.optional:
            continue
        shape = {"token": (tokens,), "vocab": (vocab,), "dense": (tokens, vocab), "scalar": (), "logits": ()}[
            kind.axis
        ]
        made[parameter.name] = _made(
            rng, kind, shape + ((ENTRIES,) if kind.entries else ()), tokens, vocab, hidden, std
        )
    return made


def _made(rng, kind, shape, tokens, vocab, hidden, std):
    if kind.axis == "logits":
        weight = rng.normal(size=(vocab, hidden)) * std / hidden**0.5
        return rng.normal(size=(tokens, hidden)).astype(np.float32), weight.astype(np.float32)
    if kind.element == "bool":
        return rng.random(shape) < 0.7
    if kind.element == "int":
        return rng.integers(0, vocab, size=shape)
    if kind.axis == "dense":
        weights = rng.random(shape) + 0.01
        return (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    if kind.axis in ("vocab", "scalar"):
        return (
            np.float32(rng.uniform(0.5, 0.9))
            if not shape
            else rng.uniform(0.5, 1.5, shape).astype(np.float32)
        )
    return rng.normal(size=shape).astype(np.float32)


class TorchCall:
    """The arguments of a call as float64 torch leaves, named like gradients.

    Args:
        given: what `arguments` returns.
    """

    def __init__(self, loss, given):
        several = len(loss.signature.pairs) > 1
        self.leaves, self.pairs, self.inputs = {}, {}, {}
        for name, item in given.items():
            if isinstance(item, tuple):
                operands = [f"{name}.{o}" if several else o for o in ("hidden", "weight")]
                self.pairs[name] = tuple(self._leaf(n, x) for n, x in zip(operands, item, strict=True))
            else:
                self.inputs[name] = self._leaf(name, item)

    def _leaf(self, name, item):
        tensor = torch.tensor(np.asarray(item))
        if tensor.is_floating_point():
            tensor = tensor.double().requires_grad_()
            self.leaves[name] = tensor
        return tensor

    def values(self):
        """Arguments of a hand-written torch version: logits in place of pairs."""
        return {**{name: h @ w.T for name, (h, w) in self.pairs.items()}, **self.inputs}

    def gradients(self, total):
        """Gradients of a scalar by name; zeros where there is no path."""
        found = torch.autograd.grad(total, list(self.leaves.values()), allow_unused=True)
        return {
            name: np.zeros(leaf.shape) if gradient is None else gradient.numpy()
            for (name, leaf), gradient in zip(self.leaves.items(), found, strict=True)
        }


def relative(a, b, floor=0.0):
    """Norm of a - b against the norm of b."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    assert a.shape == b.shape, (a.shape, b.shape)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), floor, 1e-300))
