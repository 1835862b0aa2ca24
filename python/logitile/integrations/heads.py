"""Heads for functions that take their options at each call. Nothing here depends on a project."""

from __future__ import annotations

from ..jit import kept_head as head

__all__ = ("head",)
