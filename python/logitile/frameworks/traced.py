"""Calls of heads in programs that a framework compiles itself: what its tracer has to know of them.

The compiled program holds a key and no Python. A native handler finds the call of that key when the program
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Mask = tuple[bool, ...]


@dataclass(frozen=True)
class TracedResult:
    """The shape and type of a result.

    Args:
        dtype: its name.
        like: the operand that has the same shape, for a gradient; None for an output.
        is_per_token: of an output: whether it has the leading dimensions of hidden, or no axis.
    """

    dtype: str
    like: int | None = None
    is_per_token: bool = True


@dataclass(frozen=True)
class KeyedCall:
    """A call that a compiled program makes by its key. Two calls of one key compute the same.

    Args:
        key: digest of all that the call does, "lt1:" and 64 hexadecimal digits.
        rest: how many axes of the first operand, the last ones, count no tokens.
        has_tokens: which operands begin with the leading dimensions of hidden.
        results: outputs, then gradients.
        makes_gradients: whether there are gradients among the results; then it has no derivatives.
        head: of the call.
    """

    key: str
    rest: int = field(compare=False)
    has_tokens: Mask = field(compare=False, repr=False)
    results: tuple[TracedResult, ...] = field(compare=False, repr=False)
    makes_gradients: bool = field(compare=False, repr=False)
    head: TracedHead = field(compare=False, repr=False)


class TracedHead(Protocol):
    """A head for calls with arrays of some shapes and types.

    Attributes:
        forward: the call without gradients.
        differentiable: which operands can have a gradient.
        carrying: the positions of the outputs that a gradient flows from.
    """

    forward: KeyedCall
    differentiable: Mask
    carrying: tuple[int, ...]

    def is_early(self, asked: Mask) -> bool:
        """Whether gradients of the operands that `asked` marks, as far as they can have one, are made along
        with the outputs, and scaled by what reaches the loss.

        Raises:
            CallError: none of them can, or one may not.
        """

    def gradients(self, need: Mask, given: Mask) -> KeyedCall | None:
        """The call that makes outputs and gradients of the operands that `need` marks. Behind its operands
        are the gradients that reach those of `carrying` that `given` marks; none at all means 1 for the loss.

        Returns: None where no gradient is reached.
        """

    def value_and_gradients(
        self, wrt: Iterable[str] | None, grad_output: object, dtype: str | None
    ) -> tuple[KeyedCall, tuple[str, ...], list[Any]]:
        """What `Head.value_and_grad` computes: a call, the names of its gradients, and what reaches its
        outputs, which it takes behind its operands.

        Raises:
            CallError: a gradient does not exist, or nothing reaches it.
        """

    def result(self, outputs: Sequence[Any]) -> Any:
        """Outputs as the head returns them."""

    def workspace(self, call: KeyedCall, tokens: int) -> int:
        """Bytes that a call on a GPU needs for itself."""


class Traceable(Protocol):
    """A head, as a framework's tracer asks it."""

    name: str
    compiled: Any  # the framework's compiled function of the head, or None before the first call

    def traced(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> tuple[TracedHead, list[Any]]:
        """Binds the arguments of a call, which need no numbers.

        Returns: the head for such calls, and the operands in its order.

        Raises:
            CallError: as for a call.
        """

    def check(self, args: Sequence[Any], inputs: Mapping[str, Any]) -> None:
        """Checks arguments that the framework did not take.

        Raises:
            CallError: they do not fit, or have no numbers.
        """
