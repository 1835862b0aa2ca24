"""A Token[..., K] input: a list of K numbers per token. Single entries can be taken, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from ..messages.locations import spec_error
from ..spec.operations import SpecInput
from .refusals import Refusals
from .trace import Trace, Traced, Whole
from .values import Operators

MOST_UNROLLED = 128  # entries that a loss may take one by one: its code grows with them


class Entries(Operators, Refusals, Whole):
    """As an operand it is the list of all entries. `t[k]`, `len(t)` and iteration take single
    entries, with k known while tracing.

    Args:
        name: of the parameter.
        trace: that records it.
        type: of each entry.
        count: how many entries there are.
        entry: gives the value of one of them; None where there is only the list.
        whole: gives the list; None where there are only single values.
    """

    __slots__ = ("name", "trace", "type", "_count", "_entry", "_whole")

    def __init__(
        self,
        name: str,
        trace: Trace,
        type: str,
        count: int,
        entry: Callable[[int], Traced] | None,
        whole: Callable[[], Traced] | None,
    ):
        parts = (name, trace, type, count, entry, whole)
        for slot, part in zip(Entries.__slots__, parts, strict=True):
            object.__setattr__(self, slot, part)

    @classmethod
    def of_input(cls, trace: Trace, given: SpecInput) -> Entries:
        """Those of an input: an operation reads them where they are used."""
        assert given.entries is not None

        def entry(k: int) -> Traced:
            return trace.input(given.axis, given.name, given.type, k)

        def whole() -> Traced:
            return trace.input(given.axis, given.name, given.type, places=given.entries)

        return cls(given.name, trace, given.type, given.entries, entry, whole)

    @classmethod
    def of_values(cls, name: str, trace: Trace, type: str, values: Sequence[Traced]) -> Entries:
        """Single values that a loss gives to another one."""
        return cls(name, trace, type, len(values), values.__getitem__, None)

    @classmethod
    def of_list(cls, name: str, value: Traced) -> Entries:
        """A list that a loss gives to another one."""
        assert value.places is not None
        return cls(name, value.trace, value.type, value.places, None, lambda: value)

    def named(self, name: str) -> Entries:
        """The same under the name of another parameter."""
        return Entries(name, self.trace, self.type, self._count, self._entry, self._whole)

    @property
    def label(self) -> str:
        return f"'{self.name}'"

    def whole(self) -> Traced:
        if self._whole is None:
            raise spec_error(
                f"{self.label} stands for {len(self)} values that a loss computed one by one, which are no "
                f"list; use them one by one, for example [f(x) for x in {self.name}]"
            )
        return self._whole()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Traced]:
        return iter([self[k] for k in range(len(self))])

    def __getitem__(self, k: object) -> Traced:
        if not isinstance(k, int) or isinstance(k, bool):
            raise spec_error(
                f"an entry of {self.label} is chosen with a Python int, known while tracing, not with {k!r}"
            )
        if not -len(self) <= k < len(self):
            raise spec_error(f"{self.label}[{k}] does not exist: the input has {len(self)} entries per token")
        if self._entry is None or len(self) > MOST_UNROLLED:
            why = "was computed as a list" if self._entry is None else f"has {len(self)} entries per token"
            raise spec_error(
                f"{self.label} {why}, and only up to {MOST_UNROLLED} entries of an input are taken one by "
                f"one; compute with the whole list, for example lt.sum(f({self.name}))"
            )
        return self._entry(k % len(self))

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise spec_error(
            f"{self.label} is an input, whose entries cannot be changed; make a list of it: list({self.name})"
        )

    def __repr__(self) -> str:
        return f"<{self.label}: {len(self)} entries per token>"

    __hash__ = object.__hash__
