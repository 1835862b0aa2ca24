"""The values of a Token[..., K] input: a fixed number per token, over which a loss is unrolled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .locations import spec_error

if TYPE_CHECKING:
    from .trace import Value


class Entries:
    """`t[k]`, `len(t)` and iteration, with k known while tracing; all else is done entry by entry."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: tuple[Value, ...]):
        self.name = name
        self.values = values

    @property
    def label(self) -> str:
        return f"'{self.name}'"

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __getitem__(self, k: object) -> Value:
        if not isinstance(k, int) or isinstance(k, bool):
            raise spec_error(
                f"an entry of {self.label} is chosen with a Python int, known while tracing, not with {k!r}"
            )
        if not -len(self) <= k < len(self):
            raise spec_error(f"{self.label}[{k}] does not exist: the input has {len(self)} entries per token")
        return self.values[k]

    def __repr__(self) -> str:
        return f"<{self.label}: {len(self)} entries per token>"

    def _refuse(self, *others: object) -> None:
        raise spec_error(
            f"{self.label} stands for {len(self)} entries per token, which is no number; use them one by "
            f"one, for example [f(x) for x in {self.name}]"
        )

    __hash__ = object.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __rpow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
