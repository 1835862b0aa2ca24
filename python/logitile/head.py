"""Head: a loss bound to its options and constants, and all of its methods."""

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
    """A loss with its options. A call returns the outputs; see `lt.jit` for the options.

    A call takes hidden states [..., D] and weights [V, D] of each lt.Logits parameter by position,
    or by its name as a tuple, and every other input by name:

        head(hidden, weight, target=target)
        head(student=(hidden, weight), teacher=(hidden2, weight2), divisor=None)
        head(student=(hidden, weight), teacher=logits)

    Existing logits [..., V] may be given by name instead of a pair.

    Arrays are those of NumPy, PyTorch, JAX, or of anything else with `__dlpack__`. A call has three
    more arguments: `divisor`, a number or array without axes, replaces the denominator of a mean.
    Weight gradients are added to `weight_grad_out`, float32 buffers. `segments`, an lt.Segments,
    says which tokens are one sequence: every output is then the sum or the mean of each sequence's
    tokens, [S].
    """

    def __call__(self, *args: object, segments: Segments | None = None, **inputs: object) -> Any:
        """The outputs: one array, or a named tuple in the order of lt.Outputs.

        Args:
            args, inputs: see Head.
            segments: which sequence each token belongs to. With reduction="mean" each output is the
                mean over a sequence's tokens that are not ignored; a mean of the loss divides by
                the output `weight` or the divisor. With "sum" it is their sum. Means are float32,
                sums of integers and bools int64. Without segments only the loss is reduced, over
                all tokens.

        Floats are float32, or have the type `output_dtype`; indices are int64, bools bool. Outputs
        belong to the framework of hidden and have its leading dimensions; the loss has no axis
        unless reduction="none". Under torch they are differentiable.

        Raises:
            CallError: the arguments do not fit, an index lies outside the vocabulary,
                or the workspace is too small.
            SpecError: the loss is wrong.
            TargetError: the arrays are on a device for which no code can be compiled.
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
                and inputs. The default is the arrays that require one, or else hidden and weight.
            grad_output: the gradient that arrives at the outputs: an array or number for a bare
                result, otherwise a dictionary by output. The default is 1 for the loss.
            grad_dtype: "float32" for gradients in that type. By default each gradient has the type
                of its input.
            grad_out: arrays of NumPy or torch, by gradient, which are overwritten with gradients.
                Each has the shape and the type of its gradient, is contiguous, and shares memory
                with no other array of the call. Other gradients get new arrays.
            segments: as for a call; `grad_output` is a number, or one number for each sequence.

        Returns: the outputs as from a call, and the gradients, each in the shape of its input.

        Raises:
            CallError: the arguments do not fit, or a gradient does not exist.
            SpecError: the loss is wrong.
        """
        asked = GradientOptions(wrt, grad_output, grad_dtype, grad_out)
        return self._route.value_and_grad(args, inputs, segments, asked)
