"""Modules of PyTorch: `lt.nn.LinearLoss`, a projection and its loss in one."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from . import losses
from .errors import CallTypeError, CallValueError
from .jit import jit
from .language.definition import Loss

__all__ = ("LinearLoss",)


def __dir__() -> list[str]:
    """The public names; what this module imports for itself is left out."""
    return sorted(__all__)


class LinearLoss(Module):
    """A linear layer to the vocabulary together with a loss of its logits, which are not stored.

        head = lt.nn.LinearLoss(1024, 32000, label_smoothing=0.1)
        head(hidden, target=labels).backward()

    Args:
        hidden_size: D.
        vocab_size: V.
        loss: gets the logits for its first `lt.Logits`.
        bias: a bias [V] for the loss's input `bias`.
        tied: a module with a `weight` [V, D], such as the embedding: its weight is used, also after
            it has been replaced. Left out, the module has a weight of its own.
        device, dtype: of the parameters.
        options: of `lt.jit`, and constants of the loss.

    Attributes:
        weight: [V, D].
        bias: [V], or None.
        head: of `lt.jit`.

    Raises:
        CallTypeError: the loss has no input `bias`, `tied` has no weight,
            or an option is not possible.
        CallValueError: a size is not positive, or the tied weight has another shape.
    """

    def __init__(
        self,
        hidden_size: int,
        vocab_size: int,
        loss: Loss = losses.cross_entropy,
        bias: bool = False,
        *,
        tied: Module | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ):
        super().__init__()
        shape = (vocab_size, hidden_size)
        if not all(isinstance(size, int) and size > 0 for size in shape):
            raise CallValueError(f"hidden_size={hidden_size!r} and vocab_size={vocab_size!r} must be above 0")
        self.head = jit(loss, **options)
        if self.head.options.weight_layout != "vd":
            raise CallValueError(
                "weight_layout='dv': the weight of the module is [V, D]; leave the option out"
            )
        if bias and loss.signature.input("bias") is None:
            raise CallTypeError(f"bias=True: '{loss.name}' has no input 'bias', an lt.Vocab[float]")
        self.hidden_size, self.vocab_size = hidden_size, vocab_size
        if tied is None:
            self.weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
        else:
            _check_tied(tied, shape)
            # in a tuple, so that it is no submodule: its parameters are not ours
            self._tied = (tied,)
        self.bias = Parameter(torch.empty(vocab_size, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def __getattr__(self, name: str) -> Any:
        """The weight of the tied module, where there is one."""
        if name == "weight" and "_tied" in self.__dict__:
            return self._tied[0].weight
        return super().__getattr__(name)

    def reset_parameters(self) -> None:
        """Draws new values for the module's own parameters, like torch.nn.Linear."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, hidden: Tensor, **inputs: Any) -> Any:
        """What the head returns.

        Args:
            hidden: [..., D].
            inputs: those of the loss by name, such as `target`;
                further pairs as `teacher=(hidden, weight)`.

        Raises:
            CallError: the arguments do not fit.
        """
        first = self.head.loss.signature.pairs[0].name
        if self.bias is not None:
            inputs["bias"] = self.bias
        return self.head(**{first: (hidden, self.weight)}, **inputs)

    def logits(self, hidden: Tensor) -> Tensor:
        """The product [..., V] with the weight, with the bias: what the loss starts from.
        For inference.
        """
        return torch.nn.functional.linear(hidden, self.weight, self.bias)

    def extra_repr(self) -> str:
        """For `repr`."""
        tied = ", tied" if "_tied" in self.__dict__ else ""
        return f"{self.hidden_size}, {self.vocab_size}, {self.head!r}, bias={self.bias is not None}{tied}"


def _check_tied(tied: Module, shape: tuple[int, int]) -> None:
    weight = getattr(tied, "weight", None)
    if not isinstance(weight, Tensor):
        raise CallTypeError(f"tied={type(tied).__name__} has no weight; give the embedding module")
    if tuple(weight.shape) != shape:
        raise CallValueError(
            f"the tied weight is {list(weight.shape)}, but vocab_size and hidden_size say {list(shape)}"
        )
