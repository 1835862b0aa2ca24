"""Warnings that name the user's line."""

from __future__ import annotations

import sys
import warnings

from ..errors import CacheWarning
from .locations import user_frame


def cache_warning(text: str) -> None:
    """Says that something is wrong with the disk cache, at the user's line that is being executed.

    The native module calls it too.
    """
    warnings.warn(text, CacheWarning, stacklevel=_levels())


def _levels() -> int:
    """How many frames above `cache_warning` the user's is, as `warnings.warn` counts them."""
    user, frame, levels = user_frame(), sys._getframe(1), 1
    while frame is not None and frame is not user:
        frame, levels = frame.f_back, levels + 1
    return levels
