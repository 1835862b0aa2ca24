"""Calls of heads in programs that a framework compiles itself: the interface of a head for a
tracer.

The compiled program holds a key and no Python.
A native handler finds the call of that key when the program runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .slots import Place

Mask = tuple[bool, ...]


@dataclass(frozen=True)
class TracedResult:
    """The shape and type of a result.

    Args:
        dtype: its name.
        like: the operand that has the same shape, for a gradient; None for an output.
        is_per_token: of an output: whether it has the leading dimensions of hidden, or no axis.
        trailing: the axes after those.
    """

    dtype: str
    like: int | None = None
    is_per_token: bool = True
    trailing: tuple[int, ...] = ()


@dataclass(frozen=True)
class KeyedCall:
    """A call that a compiled program makes by its key. Two calls of one key compute the same.

    Args:
        key: digest of all that the call does, "lt1:" and 64 hexadecimal digits.
        rest: how many axes of the first operand, the last ones, count no tokens.
        kinds: what each operand has an axis for: "hidden", "weight", "token", "vocab",
            "dense" or "scalar".
        results: outputs, then gradients.
        need: the operands that get a gradient.
        given: for each output, whether the last operands have a gradient that reaches it.
        head: of the call.
        is_part: whether it is a part of a sliced call.
    """

    key: str
    rest: int = field(compare=False)
    kinds: tuple[str, ...] = field(compare=False, repr=False)
    results: tuple[TracedResult, ...] = field(compare=False, repr=False)
    need: Mask = field(compare=False, repr=False)
    given: Mask = field(compare=False, repr=False)
    head: Any = field(compare=False, repr=False)
    is_part: bool = field(default=False, compare=False, repr=False)

    @property
    def has_tokens(self) -> Mask:
        """Which operands begin with the leading dimensions of hidden."""
        return tuple(kind in ("hidden", "token", "dense") for kind in self.kinds)

    @property
    def is_derivable(self) -> bool:
        """Whether it has derivatives: gradients and parts have none."""
        return not self.is_part and not any(self.need)


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
        """Whether gradients of the operands that `asked` marks, as far as they can have one, are
        made along with the outputs, and scaled by what reaches the loss.

        Raises:
            CallError: none of them can, or one may not.
        """

    def gradients(self, need: Mask, given: Mask, dtype: str | None = None) -> KeyedCall | None:
        """The call that makes outputs and gradients of the operands that `need` marks. After its
        operands are the gradients that reach those outputs that `given` marks; none at all means 1
        for the loss.

        Args:
            dtype: of all gradients; None means that of each operand.

        Returns: None where no gradient is reached.
        """

    is_transposed: bool
    """Whether weights are [D, V]."""
    numbers_tokens: bool
    """Whether a result depends on the token's index: then one call has all tokens."""

    @property
    def mean(self) -> Mean:
        """How the loss is reduced."""

    def on_shard(self, shapes: Sequence[tuple[int, ...]]) -> TracedHead:
        """The head for a part of the tokens, whose loss is a sum where that of this one is a mean.

        Args:
            shapes: of the operands on one device. There is no divisor among them.
        """

    def sliced(self, shapes: Sequence[tuple[int, ...]], need: Mask, given: Mask) -> SlicedCall:
        """The same where the device has a slice of the vocabulary too; see `gradients`."""

    def value_and_gradients(
        self, wrt: Iterable[str] | None, grad_output: object, dtype: str | None
    ) -> tuple[KeyedCall, tuple[str, ...], list[Any]]:
        """What `Head.value_and_grad` computes: a call, the names of its gradients, and what reaches
        its outputs, which it takes after its operands.

        Raises:
            CallError: a gradient does not exist, or nothing reaches it.
        """

    def result(self, outputs: Sequence[Any]) -> Any:
        """Outputs as the head returns them."""

    def workspace(self, call: KeyedCall, device: str, tokens: int) -> int:
        """Bytes that a call needs for itself on a device with memory of its own, "cuda:0"."""


@dataclass(frozen=True)
class Mean:
    """How a loss is reduced, where its tokens are on several devices.

    Args:
        reduction: "mean", "sum", "none", or "" where there is no loss.
        loss, weight: the positions of these outputs, or None.
        divisor: the position of the operand that replaces the denominator, or None.
        ignoring: the position of the operand that tells ignored tokens, or None.
        ignore_index: what tells them.
        is_zero_if_all_ignored: what a mean over no token is: 0 or NaN.
    """

    reduction: str
    loss: int | None
    weight: int | None
    divisor: int | None
    ignoring: int | None
    ignore_index: int | None
    is_zero_if_all_ignored: bool


class SliceArray(NamedTuple):
    """An array of a part of a sliced call.

    Args:
        kind: "input" and "gradient" of an operand of the whole call; "cotangent" of what reaches an
            output; "output"; "offset", the slice's first column; "state", what a sweep left of each
            token; "first" and "second", the two states that a merge joins.
        position: of the operand or the output.
        state: the name of its state.
    """

    kind: str
    position: int = 0
    state: str = ""


@dataclass(frozen=True)
class SlicedPart:
    """One part of a call whose vocabulary is in slices.

    Args:
        call: by key.
        operands: what it takes.
        results: what it makes: the state of a sweep or a merge, outputs, gradients.
    """

    call: KeyedCall
    operands: tuple[SliceArray, ...]
    results: tuple[SliceArray, ...]


class SlicedCall(Protocol):
    """The parts of a call whose vocabulary is in slices.

    Attributes:
        forward, backward: how many sweeps there are.
    """

    forward: int
    backward: int

    def sweep(self, number: int) -> SlicedPart:
        """A sweep over the slice; forward ones first, from 0."""

    def merge(self, number: int) -> SlicedPart:
        """Joins what a sweep left on two slices."""

    def finish(self) -> SlicedPart:
        """The outputs, from merged states."""

    def gradient(self) -> SlicedPart:
        """The gradients, from merged states. Those of hidden states are partial sums."""


class Traceable(Protocol):
    """A head, as a framework's tracer asks it."""

    name: str
    is_transposed: bool  # whether weights are [D, V]
    compiled: Any  # the framework's compiled function of the head, or None before the first call

    def slot_axes(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """What each slot has an axis for; see frameworks.capture."""

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
