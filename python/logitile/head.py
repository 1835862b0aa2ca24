"""Head: a loss bound to its options and constants, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .arguments.gradients import GradientOptions
from .arguments.segments import Segments
from .heads.inspected import InspectedHead
from .heads.planned import PlannedHead
from .heads.referenced import ReferencedHead
from .heads.sliced import SlicedHead


class Head(InspectedHead, SlicedHead, PlannedHead, ReferencedHead):
    """A loss with its options. Calling it gives the outputs; see `lt.jit` for the options.

    A call takes hidden states [..., D] and weights [V, D] of each lt.Logits parameter by position,
    or by its name as a tuple, and every other input by name:

        head(hidden, weight, target=target)
        head(student=(hidden, weight), teacher=(hidden2, weight2), divisor=None)
        head(student=(hidden, weight), teacher=logits)

    Logits [..., V] that exist already may be given by name in the place of a pair.

    Arrays are those of NumPy, PyTorch, JAX, or of anything else with `__dlpack__`. Beside inputs
    there are `divisor`, a number or array without axes that replaces the denominator of a mean,
    `weight_grad_out`, float32 buffers that weight gradients are added into, and `segments`, an
    lt.Segments that says which tokens are one sequence: every output is then the sum or the mean of
    each sequence's tokens, [S].
    """

    def __call__(self, *args: object, segments: Segments | None = None, **inputs: object) -> Any:
        """The outputs: one array, or a named tuple in the order of lt.Outputs.

        Args:
            args, inputs: see Head.
            segments: which sequence each token belongs to. With reduction="mean" each output is the
                mean over a sequence's tokens that are not ignored, of the loss by the output
                `weight` or the divisor; with "sum" it is their sum. Means are float32, sums of
                integers and bools int64. Left out: the loss alone is reduced, over all tokens.

        Floats are float32, or what `output_dtype` says; indices int64, bools bool. They are in the
        framework and the leading dimensions of hidden; the loss has no axis unless
        reduction="none". Under torch they are differentiable.

        Raises:
            CallError: the arguments do not fit, an index lies outside the vocabulary,
                or the workspace is too small.
            SpecError: the loss is wrong.
            TargetError: the arrays are on a device that no code is made for.
        """
        return self._route.outputs(args, inputs, segments)

    def value_and_grad(
        self,
        *args: object,
        wrt: Iterable[str] | None = None,
        grad_output: object = None,
        grad_dtype: object = None,
        grad_out: Mapping[str, object] | None = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs of a call, and gradients by name.

        Args:
            wrt: names of gradients: `hidden`, `weight` (`student.hidden`, ... with several pairs)
                and inputs. Left out: the arrays that require one, else hidden and weight.
            grad_output: what reaches the outputs: an array or number for a bare result, a
                dictionary by output else. Left out: 1 for the loss.
            grad_dtype: "float32" for gradients in that type; left out,
                each has the type of its input.
            grad_out: arrays of NumPy or torch, by gradient, that gradients are written to, whatever
                was in them. Each has the shape and the type of its gradient, is contiguous, and
                shares memory with no other array of the call. Gradients that are not named get
                arrays of their own.
            segments: as for a call; what reaches an output is a number, or one for each sequence.

        Returns: the outputs as from a call, and the gradients, each in the shape of its input.

        Raises:
            CallError: the arguments do not fit, or a gradient does not exist.
            SpecError: the loss is wrong.
        """
        asked = GradientOptions(wrt, grad_output, grad_dtype, grad_out)
        return self._route.value_and_grad(args, inputs, segments, asked)
