"""The values of a Token[..., K] input: a fixed number per token, over which a loss is unrolled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..messages.locations import spec_error
from .trace import Traced


class Entries:
    """`t[k]`, `len(t)` and iteration, with k known while tracing; all else is done entry by entry."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: tuple[Traced, ...]):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)

    @property
    def label(self) -> str:
        return f"'{self.name}'"

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Traced]:
        return iter(self.values)

    def __getitem__(self, k: object) -> Traced:
        if not isinstance(k, int) or isinstance(k, bool):
            raise spec_error(
                f"an entry of {self.label} is chosen with a Python int, known while tracing, not with {k!r}"
            )
        if not -len(self) <= k < len(self):
            raise spec_error(f"{self.label}[{k}] does not exist: the input has {len(self)} entries per token")
        return self.values[k]

    def __setitem__(self, k: object, value: object) -> NoReturn:
        raise spec_error(
            f"{self.label} is an input, whose entries cannot be changed; make a list of it: list({self.name})"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise spec_error(
            f"{self.label} is an input, which has no attributes that can be set, such as '{name}'; keep it "
            "in a variable instead"
        )

    def __format__(self, specification: str) -> str:
        return self._refuse() if specification else str(self)

    def __repr__(self) -> str:
        return f"<{self.label}: {len(self)} entries per token>"

    def _refuse(self, *others: object) -> NoReturn:
        raise spec_error(
            f"{self.label} stands for {len(self)} entries per token, which is no number; use them one by "
            f"one, for example [f(x) for x in {self.name}]"
        )

    __hash__ = object.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = (
        _refuse
    )
    __matmul__ = __rmatmul__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refuse
    __neg__ = __pos__ = __abs__ = __round__ = __floor__ = __ceil__ = __trunc__ = _refuse
    __float__ = __int__ = __index__ = __complex__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
