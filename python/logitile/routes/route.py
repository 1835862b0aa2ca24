"""The interface of all routes: the two questions that a head passes on."""

from __future__ import annotations

from typing import Any, Protocol

from ..arguments.gradients import GradientOptions


class Route(Protocol):
    """How the calls of a head are made."""

    def outputs(self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object = None) -> Any:
        """The outputs of a call; see Head.__call__."""

    def value_and_grad(
        self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object, asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs of a call, and its gradients by name; see Head.value_and_grad."""
