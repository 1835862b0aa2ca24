"""What can be seen of a head: its stages, how its calls run, and both on a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments.binder import Binder
from .arguments.segments import Segments
from .calls.programs import Programs
from .inspection import stages
from .inspection.explanation import Explanation
from .inspection.slices import SliceParts, check_untimed

if TYPE_CHECKING:
    from .calls.segmented import SegmentedCalls


class InspectedHead:
    """The part of Head that compiles calls without running them, to show what they become."""

    _binder: Binder
    _programs: Programs
    _in_segments: SegmentedCalls

    def _of_given(
        self, args: tuple[Any, ...], inputs: dict[str, Any], grad: Iterable[str] | None
    ) -> tuple[InspectedHead, dict[str, Any], Iterable[str] | None]:
        """The head of a call that gives logits, its inputs, and the gradients under their names there."""
        raise NotImplementedError

    def with_options(self, **options: object) -> InspectedHead:
        """This head with other options or constants."""
        raise NotImplementedError

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
        """The text of a stage of the program of a call, which need not have data.

        Args:
            stage: "spec", "plan", "tiles", "device", "llvm", and "ptx" for a GPU or "obj", which is
                bytes, for a CPU.
            args, inputs: as for a call; arrays may be lt.ShapeDtype(shape, dtype) or tensors of the meta
                device.
            grad: names of gradients; an empty sequence for none. Left out: those of arrays that require one,
                else hidden and weight.
            kernel: the name of one kernel; left out, all of them.
            part: of a slice of the vocabulary, whose arguments are as for `partial`: "forward0",
                "merge forward0", ..., "backward0", "merge backward0", ..., "finish" or "gradient".
            vocab_size: of all slices together, with `part`.
            segments: as for a call, whose program makes numbers per token.

        Raises:
            CallError: the arguments do not fit, or there is no such stage, kernel or part.
        """
        if segments is not None:
            head = self._in_segments.head(inputs)
            return head.ir(stage, *args, grad=grad, kernel=kernel, part=part, vocab_size=vocab_size, **inputs)
        if part is not None or vocab_size is not None:
            return SliceParts(self._binder, args, inputs, vocab_size, grad).text(part, stage, kernel)
        head, inputs, grad = self._of_given(args, inputs, grad)
        call = head._binder.bind_rounded(args, inputs)
        return stages.stage_text(head._programs, call, stage, grad, kernel)

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
        """How a call runs: schedule, sweeps, kernels, workspace by purpose, work, and times of compiling.

        Args:
            args, grad, inputs, part, vocab_size, segments: as for `ir`.
            timing: run the call and measure its kernels, which needs arrays with data.

        Returns: an object with fields; `str()` of it is a table.

        Raises:
            CallError: the arguments do not fit, there is no such part, or 'timing' is no bool or is asked for
                a part, which needs states.
        """
        if segments is not None:
            head = self._in_segments.head(inputs)
            return head.explain(*args, grad=grad, timing=timing, part=part, vocab_size=vocab_size, **inputs)
        if part is not None or vocab_size is not None:
            check_untimed(timing)
            return SliceParts(self._binder, args, inputs, vocab_size, grad).explained(part)
        head, inputs, grad = self._of_given(args, inputs, grad)
        call = head._binder.bind_rounded(args, inputs)
        return stages.explained(head._programs, call, grad, timing)

    def view(
        self,
        *args: object,
        path: str | os.PathLike[str] = "loss.html",
        compare: InspectedHead | Mapping[str, object] | None = None,
        timing: bool = False,
        grad: Iterable[str] | None = None,
        **inputs: object,
    ) -> Path:
        """Writes one page of HTML that shows how a call becomes kernels: the loss and every stage, line by
        line with what each line was made of, the passes, and the schedule. It needs no network.

        Args:
            args, grad, inputs: as for `ir`.
            path: of the page.
            compare: another head, or options of `lt.jit` that take the place of this head's; the page shows
                both and where they differ.
            timing: run the calls and measure their kernels, which needs arrays with data.

        Returns: the path.

        Raises:
            CallError: the arguments or options do not fit, or Pygments is not installed.
            OSError: the page cannot be written.
        """
        from .view.view import viewed, write

        heads = [self]
        if compare is not None:
            heads.append(compare if isinstance(compare, InspectedHead) else self.with_options(**compare))
        programs = []
        for head in heads:
            label = repr(head).strip("<>")
            own, given, wanted = head._of_given(args, inputs, grad)
            call = own._binder.bind_rounded(args, given)
            programs.append(viewed(own._programs, call, wanted, timing, label))
        return write(path, *programs)
