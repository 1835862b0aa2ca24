"""The oldest supported version of each framework. Tests run with it."""

from __future__ import annotations

import re

from ..errors import TargetError

OLDEST = {"torch": (2, 13), "jax": (0, 8, 1)}
"""As the extras of pyproject.toml have them."""


def check_version(framework: str, version: str) -> None:
    """Refuses a framework that is too old.

    Args:
        framework: as it is imported.
        version: its own, such as "2.13.0+cpu".

    Raises:
        TargetError: it is older than the oldest that is tested.
    """
    oldest = OLDEST[framework]
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[: len(oldest)])
    if numbers < oldest:
        wanted = ".".join(map(str, oldest))
        raise TargetError(
            f"{framework} is version {version}, but logitile needs {wanted} or later; "
            f"pip install '{framework}>={wanted}', or pass NumPy arrays"
        )
