"""The route of heads with `output_dtype`: a call without it, and a conversion of its floats."""

from __future__ import annotations

from typing import Any

from ..arguments.gradients import GradientOptions
from ..arguments.outputs import with_dtype
from ..frameworks.dtypes import dtype_name
from ..language.signature import Signature
from .route import Route


class ConvertedRoute:
    """See Route.

    Args:
        plain: the route of the same head without `output_dtype`.
        dtype: the option: a type, or "hidden" for that of the first hidden states or logits.
        signature: of the loss.
    """

    def __init__(self, plain: Route, dtype: str, signature: Signature):
        self._plain, self._dtype = plain, dtype
        self._pairs = [pair.name for pair in signature.pairs]

    def outputs(self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object = None) -> Any:
        """See Route."""
        result = self._plain.outputs(args, inputs, segments)
        return with_dtype(result, self._of(args, inputs))

    def value_and_grad(
        self, args: tuple[Any, ...], inputs: dict[str, Any], segments: object, asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """See Route."""
        result, gradients = self._plain.value_and_grad(args, inputs, segments, asked)
        return with_dtype(result, self._of(args, inputs)), gradients

    def _of(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> str:
        """The type of the float outputs of a call."""
        if self._dtype != "hidden":
            return self._dtype
        first = args or next(inputs[name] for name in self._pairs if name in inputs)
        return dtype_name((first[0] if isinstance(first, (tuple, list)) else first).dtype)
