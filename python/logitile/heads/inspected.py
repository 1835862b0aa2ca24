"""The part of Head that shows how calls are compiled: stages, schedules, and a page of both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..arguments.segments import Segments
from ..inspection import stages
from ..inspection.explanation import Explanation
from ..inspection.slices import SliceParts, check_untimed
from ..routes.code import CodeRoute
from .bound import BoundLoss


class InspectedHead(BoundLoss):
    """Calls of a head that are compiled without running them."""

    def ir(
        self,
        stage: str,
        *args: object,
        grad: Iterable[str] | None = None,
        kernel: str | None = None,
        part: str | None = None,
        vocab_size: int | None = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> str | bytes:
        """The text of a stage of a call's program. The arrays need no data.

        Args:
            stage: "spec", "plan", "tiles", "device", "llvm", and "ptx" for a GPU or "obj", which is
                bytes, for a CPU.
            args, inputs: as for a call; arrays may be lt.ShapeDtype(shape, dtype) or tensors
                of the meta device.
            grad: names of gradients; an empty sequence for none. The default is the arrays that
                require one, or else hidden and weight.
            kernel: the name of one kernel; by default all kernels.
            part: of a slice of the vocabulary, whose arguments are as for `partial`: "forward0",
                "merge forward0", ..., "backward0", "merge backward0", ..., "finish" or "gradient".
            vocab_size: of all slices together, with `part`.
            segments: as for a call; the program has outputs per token.

        Raises:
            CallError: the arguments do not fit, or there is no such stage, kernel or part.
        """
        code = self._code_of(segments, inputs)
        if part is not None or vocab_size is not None:
            return SliceParts(code.written.binder, args, inputs, vocab_size, grad).text(part, stage, kernel)
        calls, inputs, grad = code.of_given(args, inputs, grad)
        call = calls.binder.bind_rounded(args, inputs)
        return stages.stage_text(calls.programs, call, stage, grad, kernel)

    def explain(
        self,
        *args: object,
        grad: Iterable[str] | None = None,
        timing: bool = False,
        part: str | None = None,
        vocab_size: int | None = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> Explanation:
        """How a call runs: schedule, sweeps, kernels, workspace by purpose, work, compile times.

        Args:
            args, grad, inputs, part, vocab_size, segments: as for `ir`.
            timing: run the call and measure its kernels, which needs arrays with data.

        Returns: an object with fields; `str()` of it is a table.

        Raises:
            CallError: the arguments do not fit, there is no such part, 'timing' is not a bool, or
                it is given for a part, which needs states.
        """
        code = self._code_of(segments, inputs)
        if part is not None or vocab_size is not None:
            check_untimed(timing)
            return SliceParts(code.written.binder, args, inputs, vocab_size, grad).explained(part)
        calls, inputs, grad = code.of_given(args, inputs, grad)
        call = calls.binder.bind_rounded(args, inputs)
        return stages.explained(calls.programs, call, grad, timing)

    def view(
        self,
        *args: object,
        path: str | os.PathLike[str] = "loss.html",
        compare: InspectedHead | Mapping[str, object] | None = None,
        timing: bool = False,
        grad: Iterable[str] | None = None,
        **inputs: object,
    ) -> Path:
        """Writes one page of HTML that shows how a call becomes kernels.
        The page has the loss and every stage, the origin of each line, the passes, and the
        schedule. It needs no network.

        Args:
            args, grad, inputs: as for `ir`.
            path: of the page.
            compare: another head, or options of `lt.jit` that replace this head's; the page shows
                both and their differences.
            timing: run the calls and measure their kernels, which needs arrays with data.

        Returns: the path.

        Raises:
            CallError: the arguments or options do not fit, or Pygments is not installed.
            OSError: the page cannot be written.
        """
        from ..view.view import viewed, write

        heads = [self]
        if compare is not None:
            heads.append(compare if isinstance(compare, InspectedHead) else self.with_options(**compare))
        programs = []
        for head in heads:
            label = repr(head).strip("<>")
            calls, given, wanted = head._code.of_given(args, inputs, grad)
            call = calls.binder.bind_rounded(args, given)
            programs.append(viewed(calls.programs, call, wanted, timing, label))
        return write(path, *programs)

    def _code_of(self, segments: Segments | None, inputs: dict[str, Any]) -> CodeRoute:
        """What computes a call: with `segments`, code per token."""
        code: CodeRoute = self._code if segments is None else self._code.in_segments.per_token(inputs)
        return code
