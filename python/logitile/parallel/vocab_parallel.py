"""`lt.parallel.vocab_parallel`: a head on plain tensors,
with a slice of the vocabulary on each process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..arguments.outputs import check_default_dtype
from ..arguments.segments import Segments
from ..calls.captured import HeadCapture
from ..calls.segmented import NOT_JOINED, SegmentedCalls
from ..errors import CallTypeError, CallValueError
from ..frameworks.slots import by_name, spelled
from ..frameworks.torch.operators import flattened, slot_axes
from ..frameworks.torch.tensors import check_whole
from .heads import Facts, HeadProcesses, captured, slot_facts
from .operators import together
from .processes import Processes, named_group
from .slots import Layout


def vocab_parallel(
    head: Any, group: object = None, *, sequence_parallel: bool = False, outputs: str = "all"
) -> VocabParallel:
    """A head for processes that have a slice of the vocabulary each.

        parallel = lt.parallel.vocab_parallel(head, group)
        loss = parallel(hidden, my_rows, target=target)  # my_rows: [V_local, D]
        loss.backward()                                  # my_rows.grad is this slice's

    Args:
        head: of lt.jit, with any loss.
        group: of torch.distributed; None is the group of all processes.
            Slices lie in the order of its ranks.
        sequence_parallel: hidden states and Token inputs are this process's part of their first
            axis. They are gathered in each pass, and their gradients are those of the part.
        outputs: with sequence_parallel, outputs per token are those of "all" tokens, or "local",
            those of this process's part.

    Returns: a function with the arguments and results of the head. Weights, Vocab and Dense inputs
        are this process's slice; widths may differ. All else is the same on every process. A loss
        that is reduced is that of all tokens.

    Raises:
        CallTypeError, CallValueError: an option is not possible.
    """
    whole = getattr(head, "_capture", None)
    if not isinstance(whole, HeadCapture):
        raise CallTypeError(f"vocab_parallel takes a head of lt.jit, not {type(head).__name__}")
    check_default_dtype(head.options, "calls on several processes")
    if not isinstance(sequence_parallel, bool):
        raise CallTypeError(f"sequence_parallel={sequence_parallel!r} must be True or False")
    if outputs not in ("all", "local"):
        raise CallValueError(f"outputs={outputs!r} is none of 'all' and 'local'")
    if outputs == "local" and not sequence_parallel:
        raise CallValueError(
            "outputs='local' is for sequence_parallel=True: else every process has all tokens"
        )
    layout = Layout(sequence_parallel, outputs == "local")
    name, by_token = named_group(group), head._code.segmented
    if by_token is not None:
        by_token = by_token.through(lambda code: VocabParallel(code.written.capture, name, layout, None))
    return VocabParallel(whole, name, layout, by_token)


class VocabParallel:
    """What `vocab_parallel` returns.

    Args:
        whole: the head, as graph capture asks it.
        group: the name of the processes' group.
        layout: where tokens are.
        segmented: how calls with `segments` are made; None if there are none.
    """

    def __init__(self, whole: HeadCapture, group: str, layout: Layout, segmented: SegmentedCalls | None):
        self._group, self._layout, self._whole = group, layout, whole
        self._segmented = segmented
        self._processes = HeadProcesses(whole, group, layout)
        self._token = self._processes.token

    def __call__(
        self, *args: Any, weight_grad_out: Any = None, segments: Segments | None = None, **inputs: Any
    ) -> Any:
        """The outputs, as a call of the head returns them; differentiable.

        Args:
            args, inputs: as for the head; see vocab_parallel for what is a slice.
            weight_grad_out: float32 buffers that the backward pass adds this slice's weight
                gradients into; a tensor for one pair, or a dictionary by pair.
            segments: as for the head, the same on every process.

        Raises:
            CallError: the arguments do not fit, or an index lies outside the vocabulary,
                on this process or on another one.
        """
        if segments is not None:
            calls = self._in_segments()
            if not torch.compiler.is_compiling():
                Processes(self._group).told(lambda: calls.check(segments, args, inputs))
            return calls.outputs(segments, args, {**inputs, "weight_grad_out": weight_grad_out})
        if torch.compiler.is_compiling():
            tensors, buffers, facts, added = self._given(args, inputs, weight_grad_out)
        else:
            tensors, buffers, facts, added = Processes(self._group).told(
                lambda: self._given(args, inputs, weight_grad_out)
            )
        key, carries, returned, _, result_type, _ = captured(self._token, facts, added)
        is_even = torch.compiler.is_compiling() and self._layout.is_split and not self._layout.gives_part
        results = together(key, self._group, is_even, (carries, returned), buffers, tensors)
        return getattr(self._whole, result_type)(*results) if result_type else results[0]

    def _in_segments(self) -> SegmentedCalls:
        """How calls with `segments` are made.

        Raises:
            CallValueError: the tokens of a sequence may be on several processes, or are not joined.
        """
        if self._layout.is_split:
            raise CallValueError(
                "'segments' cannot be given with sequence_parallel=True, since a process knows the targets "
                "of only its own tokens; take outputs per token (reduction='none') and sum them with torch"
            )
        if self._segmented is None:
            raise CallValueError(NOT_JOINED)
        return self._segmented

    def _given(
        self, args: tuple[Any, ...], inputs: dict[str, Any], weight_grad_out: Any
    ) -> tuple[list[Tensor], tuple[Tensor, ...], Facts, Facts]:
        """The tensors of a call, its buffers, and what is to be known of both."""
        slots, tensors = flattened(args, inputs)
        axes = slot_axes(self._token, slots)
        for slot, axis, tensor in zip(slots, axes, tensors, strict=True):
            check_whole(tensor, spelled(slot, axis))
        names, buffers = self._buffers(weight_grad_out)
        rank = tensors[0].ndim - 1
        given = zip(slots, axes, tensors, strict=True)
        facts = tuple(slot_facts(slot, axis, tensor, rank) for slot, axis, tensor in given)
        added = tuple(
            slot_facts(by_name(name), "", buffer, 0) for name, buffer in zip(names, buffers, strict=True)
        )
        return tensors, buffers, facts, added

    def _buffers(self, given: Any) -> tuple[tuple[str, ...], tuple[Tensor, ...]]:
        """The pairs that have buffers, and these."""
        if given is None:
            return (), ()
        if torch.compiler.is_compiling():
            raise CallTypeError(
                "'weight_grad_out' is changed by a call, which a traced graph does not allow; call the head "
                "in plain eager mode, or leave it out"
            )
        named = given if isinstance(given, Mapping) else {self._processes.only_pair(): given}
        for name, buffer in named.items():
            if not isinstance(buffer, Tensor):
                raise CallTypeError(f"'weight_grad_out' of '{name}' is {type(buffer).__name__}, not a tensor")
        return tuple(named), tuple(named.values())
