"""Adjoints of values during reverse mode, with the entries that no gradient reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(eq=False)
class Adjoint:
    """The gradient that reaches a value, and where it is blocked and 0;
    both have the value's shape.
    """

    value: np.ndarray
    blocked: np.ndarray

    def times(self, factor: np.ndarray | float) -> Adjoint:
        """Multiplied by a local derivative."""
        return _adjoint(
            self.value * factor,
            np.broadcast_to(self.blocked, np.broadcast_shapes(self.blocked.shape, np.shape(factor))),
        )

    def where(self, passes: np.ndarray) -> Adjoint:
        """Blocked wherever 'passes' is false."""
        value, blocked = np.broadcast_arrays(self.value, self.blocked | ~passes)
        return _adjoint(value, blocked)

    def weighed(self, weight: np.ndarray) -> Adjoint:
        """Multiplied by a weight; one of 0 blocks."""
        return self.times(weight).where(weight != 0)

    def plus(self, other: Adjoint) -> Adjoint:
        return Adjoint(self.value + other.value, self.blocked & other.blocked)

    def summed_to(self, shape: tuple[int, ...]) -> Adjoint:
        """Added up over the axes along which a value was repeated."""
        axes = tuple(axis for axis in (0, 1) if shape[axis] == 1 and self.value.shape[axis] != 1)
        if not axes:
            return self
        return Adjoint(self.value.sum(axis=axes, keepdims=True), self.blocked.all(axis=axes, keepdims=True))

    def spread_to(self, shape: tuple[int, ...]) -> Adjoint:
        """Repeated along the vocabulary."""
        shape = np.broadcast_shapes(self.value.shape, shape)
        return Adjoint(np.broadcast_to(self.value, shape), np.broadcast_to(self.blocked, shape))


def _adjoint(value: np.ndarray, blocked: np.ndarray) -> Adjoint:
    return Adjoint(np.where(blocked, 0.0, value), blocked)
