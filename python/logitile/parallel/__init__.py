"""PyTorch on several processes: heads whose vocabulary is in slices,
one on each process of a group.

`vocab_parallel` takes plain tensors, each process its own. DTensors go to the head itself. Nothing
of it is imported before `lt.parallel` is named: it needs torch.

Sweeps over a slice are in `slices`; the devices of a mesh of JAX are in `frameworks/jax`.
"""

from .tokens import token_count
from .vocab_parallel import VocabParallel, vocab_parallel

__all__ = ("VocabParallel", "token_count", "vocab_parallel")


def __dir__() -> list[str]:
    """The public names; what this module imports for itself is left out."""
    return sorted(__all__)
