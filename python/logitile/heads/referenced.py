"""The part of Head that computes in float64, for comparison."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..arguments.gradients import GradientOptions
from ..arguments.segments import Segments
from ..routes.reference import ReferenceRoute
from .bound import BoundLoss

if TYPE_CHECKING:
    import numpy


class ReferencedHead(BoundLoss):
    """The outputs and gradients of a head by its reference."""

    def reference(self, *args: object, segments: Segments | None = None, **inputs: object) -> Any:
        """The outputs in float64 NumPy, by an interpreter that is independent of the compiler.

        Args: as for a call.
        Returns: an array for a bare result, a named tuple for lt.Outputs.

        Raises:
            CallError: the arguments do not fit, or an index lies outside the vocabulary.
            SpecError: the loss is wrong.
        """
        return ReferenceRoute(self._code).numbers(args, inputs, segments)

    def reference_grad(
        self,
        *args: object,
        wrt: Iterable[str] | None = None,
        grad_output: object = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> tuple[Any, dict[str, numpy.ndarray]]:
        """The outputs and gradients in float64 NumPy, independent of the compiler.

        Args:
            wrt: names of gradients: `hidden`, `weight` (`student.hidden`, ... with several pairs)
                and inputs. The default is the arrays that require one, or else hidden and weight.
            grad_output: the gradient that arrives at the outputs: an array or number for a bare
                result, otherwise a dictionary by output. The default is 1 for the loss.
            segments: as for `value_and_grad`.
        Returns: the outputs as from `reference`, and the gradients by name.

        Raises:
            CallError: the arguments do not fit, or a gradient does not exist.
            SpecError: the loss is wrong.
        """
        asked = GradientOptions(wrt, grad_output)
        return ReferenceRoute(self._code).numbers_and_gradients(args, inputs, segments, asked)
