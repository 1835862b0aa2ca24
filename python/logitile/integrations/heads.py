"""Heads for functions that take their options at each call. Nothing here knows a project."""

from __future__ import annotations

from typing import Any

from ..jit import kept_head as head

__all__ = ("given", "head")


def given(**numbers: float) -> dict[str, Any]:
    """The coefficients of a call that are not 0: a term whose coefficient is left out costs nothing."""
    return {name: number for name, number in numbers.items() if number != 0}
