"""Several values for each token, of which single ones are taken by a Python integer.

Whole inputs, with which a loss computes as lists, are in entries.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..messages.locations import spec_error
from .trace import Traced


class Several:
    """`t[k]`, `len(t)` and iteration, with k known while tracing."""

    __slots__ = ()

    name: str
    values: tuple[Traced, ...] | None

    @property
    def label(self) -> str:
        return f"'{self.name}'"

    def __iter__(self) -> Iterator[Traced]:
        return iter(self._singles())

    def __len__(self) -> int:
        return len(self._singles())

    def __getitem__(self, k: object) -> Traced:
        if not isinstance(k, int) or isinstance(k, bool):
            raise spec_error(
                f"an entry of {self.label} is chosen with a Python int, known while tracing, not with {k!r}"
            )
        if not -len(self) <= k < len(self):
            raise spec_error(f"{self.label}[{k}] does not exist: the input has {len(self)} entries per token")
        return self._singles()[k]

    def __setitem__(self, k: object, value: object) -> NoReturn:
        raise spec_error(
            f"{self.label} is an input, whose entries cannot be changed; make a list of it: list({self.name})"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise spec_error(
            f"{self.label} is an input, which has no attributes that can be set, such as '{name}'; keep it "
            "in a variable instead"
        )

    def __repr__(self) -> str:
        return f"<{self.label}: {len(self)} entries per token>"

    def _singles(self) -> tuple[Traced, ...]:
        if self.values is None:
            self._refuse_singles()
        return self.values

    def _refuse_singles(self) -> NoReturn:
        raise NotImplementedError


class SeveralValues(Several):
    """Values that another loss was given one by one for a Token[..., K] parameter: they make no list."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: tuple[Traced, ...]):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)

    def __format__(self, specification: str) -> str:
        return self._refuse() if specification else str(self)

    def _refuse(self, *others: object) -> NoReturn:
        raise spec_error(
            f"{self.label} was given as {len(self)} single values, which make no list to compute with; use "
            f"them one by one, as in [f(x) for x in {self.name}], or give an lt.Token[..., lt.K] input"
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
