"""One loss with its options as compiled code, for calls whose arguments match the loss as it was
written. Given logits, and sums over sequences, are not here.
"""

from __future__ import annotations

from typing import Any

from ..arguments.binder import Binder
from ..arguments.given_gradients import refuse_given
from ..arguments.gradients import GradientOptions
from ..arguments.options import Options
from ..calls import execute
from ..calls.captured import HeadCapture
from ..calls.programs import Programs
from ..frameworks.choice import gradient_tracer, has_shards, tracer
from ..language.definition import Loss
from ..slices.traced import sliced_call
from ..tuned.lookup import TunedKeys


class CompiledCalls:
    """Calls of one loss by compiled code.

    Args:
        loss, options, constants: of the head.

    Attributes:
        binder: checks the arguments of its calls.
        programs: that its calls run.
        capture: the same for frameworks that trace its calls.
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self.binder = Binder(loss, options, constants)
        self.programs = Programs(TunedKeys())
        self.capture = HeadCapture(self.binder, self.programs, sliced_call)

    def outputs(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        """The outputs of a call.

        Raises:
            LogitileError: see Head.__call__.
        """
        traced = tracer(args, inputs)
        if traced is not None:
            if has_shards(args, inputs):
                from ..parallel.dtensors import distributed_call

                traced = distributed_call
            return traced(self.capture, args, inputs)
        call = self.binder.bind_rounded(args, inputs)
        return call.form.spec.result(execute.outputs(self.programs, call))

    def value_and_grad(
        self, args: tuple[Any, ...], inputs: dict[str, Any], asked: GradientOptions
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs of a call, and its gradients by name.

        Raises:
            LogitileError: see Head.value_and_grad.
        """
        wrt, grad_output, grad_dtype, grad_out = asked
        dtype = execute.checked_dtype(grad_dtype)
        traced = gradient_tracer(args, inputs)
        if traced is not None:
            refuse_given(grad_out, "traced arrays")
            return traced(self.capture, args, inputs, wrt, grad_output, dtype)
        call = self.binder.bind_rounded(args, inputs)
        outputs, gradients = execute.values_and_gradients(
            self.programs, call, wrt, grad_output, dtype, grad_out
        )
        return call.form.spec.result(outputs), gradients
