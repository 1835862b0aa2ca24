"""The part of Head that makes plans: of a call, or of the text of a stage."""

from __future__ import annotations

from collections.abc import Iterable

from ..arguments.outputs import check_default_dtype
from ..calls.demands import by_names
from ..calls.plans import Plan, plan_from_text
from ..errors import CallValueError
from .bound import BoundLoss


class PlannedHead(BoundLoss):
    """Plans of a head, which can be saved."""

    def compile(self, *args: object, grad: Iterable[str] | None = None, **inputs: object) -> Plan:
        """A plan for such calls. It can be saved, loaded with lt.load_plan, and run, also from C.

        Args:
            args, grad, inputs: as for `ir`.

        Raises:
            CallError: the arguments do not fit, or the workspace is too small.
        """
        check_default_dtype(self.options, "saved plans")
        call = self._binder.bind_rounded(args, inputs)
        if self.options.weight_layout != "vd":
            raise CallValueError(
                "a plan takes weights as [V, D]; give weight.T, of any strides, to weight_layout='vd'"
            )
        program = self._programs.program(call, by_names(call, grad))
        return Plan(program.plan(call.tokens), self.options)

    def compile_text(self, text: str, stage: str) -> Plan:
        """A plan from the text of a stage, as `ir` returns it without `kernel`, or edited.
        Its calls reduce the loss and ignore tokens as this head does.

        Args:
            text: with its request, which has the sizes, types and target.
            stage: the stage of the text: "spec", "plan", "tiles" or "device".

        A backend of the head replaces the target in the text: with backend="emu:sm_90" the emulator
        runs a text for "cuda:sm_90". From stage "plan" on, both must be of the same kind. A
        separate process compiles the text, with limits on memory and time. The resulting code runs
        in this process: compile only texts whose code you would run.

        Raises:
            CompileError: the text is wrong; its message has places in the text.
            TargetError: this machine has no such device.
        """
        return plan_from_text(text, stage, self.options)
