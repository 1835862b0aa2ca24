"""What processes of a team do: each has a slice of the vocabulary,
and perhaps a part of the tokens.
"""

from __future__ import annotations

import logitile as lt
import numpy as np
import torch
from backends import brought_back


def cuts(extent, count):
    """Where parts begin, and the end: unequal ones."""
    return [0, *(extent * (i + 1) // count - 3 * i - 1 for i in range(count - 1)), extent]


def part(array, rank, count, axis=0):
    """A process's part of an array along an axis."""
    ends = cuts(array.shape[axis], count)
    return np.take(array, range(ends[rank], ends[rank + 1]), axis=axis)


def tensor(array):
    """A tensor of its own; those of 16 bits as well."""
    array = np.array(array, order="C")
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def parts(rank, count, head, given, is_split):
    """A process's arguments by name, as tensors."""
    axes = {parameter.name: parameter.kinds[-1].axis for parameter in head.loss.signature.inputs}

    def own(name, item):
        if isinstance(item, tuple):
            hidden = part(item[0], rank, count) if is_split else item[0]
            return tensor(hidden), tensor(part(item[1], rank, count))
        item = np.asarray(item)
        if axes[name] in ("vocab", "dense"):
            return tensor(part(item, rank, count, -1))
        return tensor(part(item, rank, count) if is_split and axes[name] == "token" and item.ndim else item)

    return {name: own(name, item) for name, item in given.items()}


def leaves(arguments):
    """Tensors by the names of their gradients."""
    pairs = [name for name, item in arguments.items() if isinstance(item, tuple)]
    found = {}
    for name, item in arguments.items():
        if name in pairs:
            prefix = f"{name}." if len(pairs) > 1 else ""
            found |= {f"{prefix}hidden": item[0], f"{prefix}weight": item[1]}
        else:
            found[name] = item
    return found


def call(rank, count, head, given, wrt, cotangent, is_split=False, gives_part=False):
    """Outputs by name and gradients by "grad ...", as this process has them."""
    outputs = "local" if gives_part else "all"
    parallel = lt.parallel.vocab_parallel(head, sequence_parallel=is_split, outputs=outputs)
    arguments = parts(rank, count, head, given, is_split)
    named = leaves(arguments)
    for name in wrt:
        named[name].requires_grad_()
    made = parallel(**arguments)
    made = made._asdict() if isinstance(made, tuple) else {"loss": made}
    reaching = {
        name: tensor(part(up, rank, count) if gives_part and np.ndim(up) else np.asarray(up, np.float32))
        for name, up in cotangent.items()
    }
    if wrt:
        torch.autograd.backward([made[name] for name in reaching], list(reaching.values()))
    results = {name: brought_back(output.detach()) for name, output in made.items()}
    return results | {f"grad {name}": brought_back(gradient_of(named[name])) for name in wrt}


def gradient_of(leaf):
    """Zeros where nothing reaches a leaf."""
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
