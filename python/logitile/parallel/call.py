"""One process's part of a call: its computation on its slice of the vocabulary, and the points
where it waits for others.

A sweep ends in one gathering of row states, which all processes merge in the order of ranks: so
their results have the same bits. Gradients of hidden states are sums over slices, which are added
up in float32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from ..arguments.binder import Binder
from ..arguments.binding import named_arguments, specialised
from ..arguments.call import Arguments, Call, operand_name
from ..arguments.outputs import output_shape
from ..arguments.wanted import Wanted
from ..calls.captured import rounded_items
from ..errors import CallValueError
from ..frameworks.arrays import Array
from ..frameworks.choice import described
from ..frameworks.slots import slot_arguments
from ..language.definition import Specialisation
from ..slices.parts import Made, part_of
from ..slices.states import SliceState, Source
from ..slices.sweeps import (
    begun_source,
    bound_slice,
    common_call,
    finished_outputs,
    merge,
    slice_gradients,
    swept,
)
from .processes import Processes
from .rows import packed, unpacked
from .slots import Layout, Slots, check_alike, split_length, told


@dataclass(frozen=True)
class _Bound:
    """A call of this process, with its slice of the vocabulary.

    Args:
        call: with all tokens.
        offset: the first column of the slice.
        spans: the columns of every process, [first, end).
        lengths: how many tokens of the first axis every process has, where they are split.
    """

    call: Call
    offset: int
    spans: tuple[tuple[int, int], ...]
    lengths: tuple[int, ...]


class SlicedCall:
    """Calls of a head whose slots are alike.

    Args:
        binder: of the head.
        slots: of the calls.
        layout: where their tokens are.
        wrt: names of the gradients that a backward pass makes.
        of: the outputs that they are gradients of.
        buffers: the pairs whose weight gradients are added into buffers.
    """

    def __init__(
        self,
        binder: Binder,
        slots: Slots,
        layout: Layout,
        wrt: tuple[str, ...],
        of: tuple[str, ...],
        buffers: tuple[str, ...],
    ):
        self._binder, self._slots, self._layout = binder, slots, layout
        self._wrt, self._of, self._buffers = wrt, of, buffers
        self._sources: dict[Specialisation, Source] = {}

    def forward(
        self, processes: Processes, arrays: Sequence[Tensor], buffers: Sequence[Tensor], is_even: bool
    ) -> list[Tensor]:
        """Outputs, then what the forward sweeps left of each token, in the order of `rows`.

        Args:
            arrays: this process's, of the slots.
            buffers: that weight gradients will be added into; they are only checked here.
            is_even: whether tokens have to be split in equal parts,
                because a graph says so already.

        Raises:
            Exception: that of the first process that failed, on all of them.
        """
        bound = self._bound(processes, arrays, buffers, is_even)
        state = self._merged(processes, bound, lambda: self._swept(bound, 0, {}, {}))
        while state.next == "forward":
            state = self._next(processes, bound, state, {})
        made = finished_outputs(state.source, state)
        outputs = [
            self._given_out(processes, bound, made[name]) for name in bound.call.form.spec.output_names
        ]
        return outputs + list(state.complete.values())

    def backward(
        self,
        processes: Processes,
        arrays: Sequence[Tensor],
        rows: Sequence[Tensor],
        cotangents: Mapping[str, Tensor],
        buffers: Sequence[Tensor],
    ) -> list[Tensor]:
        """The gradients of slots, in their order; none for a weight that has a buffer,
        which it is added to.

        Args:
            arrays, rows: of `forward`.
            cotangents: what reaches the outputs, by name.
            buffers: that weight gradients are added into.

        Raises:
            Exception: see `forward`.
        """
        bound = self._bound(processes, arrays, buffers, False)
        reaching = self._reaching(processes, bound, cotangents)
        state = self._restored(bound, rows)
        while state.next:
            state = self._next(processes, bound, state, reaching)
        state, wanted = replace(state, cotangents=reaching), self._wanted()
        made = processes.together(lambda: slice_gradients(state, bound.call, bound.offset, wanted))
        slots = zip(self._slots.operands, self._slots.axes, arrays, strict=True)
        return [
            self._completed(processes, bound, axis, made[name], array)
            for name, axis, array in slots
            if name in self.returned
        ]

    @property
    def returned(self) -> tuple[str, ...]:
        """The names of the gradients that `backward` returns."""
        several = len(self._binder.loss.signature.pairs) > 1
        added = {operand_name(pair, "weight", several) for pair in self._buffers}
        return tuple(name for name in self._wrt if name not in added)

    def rows(self, call: Call) -> list[list[Made]]:
        """What each forward sweep leaves of each token."""
        source, hidden = self._source(call), call.pairs[0].hidden
        forward, _ = part_of("sweep", source, call, hidden).sweeps(call.tokens)
        parts = [part_of("sweep", source, call, hidden, number) for number in range(forward)]
        return [part.states(call.tokens) for part in parts]

    def bound(self, arrays: Sequence[Any], buffers: Sequence[Any], offset: int, vocab: int) -> Call:
        """The call with a slice of the vocabulary, whose arrays have all tokens.

        Raises:
            CallError: they do not fit.
        """
        return bound_slice(self._binder, self._given(arrays, buffers), (offset, vocab))[1]

    # ---- binding ---------------------------------------------------------------------------------

    def _given(self, arrays: Sequence[Any], buffers: Sequence[Any]) -> Arguments:
        args, inputs = slot_arguments(self._slots.places, rounded_items(self._slots.rounding, arrays))
        if buffers:
            inputs["weight_grad_out"] = dict(zip(self._buffers, buffers, strict=True))
        return named_arguments(self._binder.loss.signature, args, inputs)

    def _bound(
        self, processes: Processes, arrays: Sequence[Tensor], buffers: Sequence[Tensor], is_even: bool
    ) -> _Bound:
        """The call of this process, once it is known which slice it has."""
        arrays = [array.detach() for array in arrays]
        facts, error, text = (0, 0, 0), None, ""
        try:
            text, width, length = self._facts(arrays, buffers)
            facts = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"), width, length)
        except Exception as caught:  # the others are told first
            error = caught
        every = processes.agree(facts, error)
        check_alike(processes, text, [digest for digest, _, _ in every])
        lengths = tuple(length for _, _, length in every)
        if is_even and len(set(lengths)) > 1:
            raise CallValueError(
                f"the processes have {list(lengths)} tokens of the first axis, but a traced graph has "
                "outputs for equal parts; pad the tokens, or ask for outputs='local'"
            )
        ends = list(accumulate(width for _, width, _ in every))
        spans = tuple(zip([0, *ends[:-1]], ends, strict=True))
        if self._layout.is_split:
            split = ("hidden", "token")
            arrays = [
                processes.joined(array, lengths) if axis in split and array.ndim else array
                for axis, array in zip(self._slots.axes, arrays, strict=True)
            ]
        offset = spans[processes.rank][0]
        call = processes.together(lambda: self.bound(arrays, buffers, offset, ends[-1]))
        return _Bound(call, offset, spans, lengths)

    def _facts(self, arrays: Sequence[Tensor], buffers: Sequence[Tensor]) -> tuple[str, int, int]:
        """What all processes must have in common, as errors write it; the width of this process's
        slice; how many tokens it has, where they are split.

        Raises:
            CallError: the arguments do not fit.
        """
        slots, options = self._slots, self._binder.options
        given = self._given(arrays, buffers)
        if self._layout.is_split:
            length = split_length(slots, arrays)
        else:
            specialised(self._binder.loss.signature, options, given)
            length = 0
        axis = 0 if options.weight_layout == "vd" else 1
        weight = arrays[slots.axes.index("weight")]
        text = told(self._binder, slots, self._layout, self._wrt, arrays)
        return text, weight.shape[axis] if weight.ndim == 2 else 0, length

    # ---- sweeps ----------------------------------------------------------------------------------

    def _source(self, call: Call) -> Source:
        source = self._sources.get(call.specialisation)
        if source is None:
            reaching = 1.0 if call.form.spec.bare else dict.fromkeys(self._of, 1.0)
            source = begun_source(self._binder, call, self._wrt, reaching)
            self._sources[call.specialisation] = source
        return source

    def _swept(
        self, bound: _Bound, number: int, earlier: Mapping[str, Any], reaching: Mapping[str, Array]
    ) -> SliceState:
        return swept(self._source(bound.call), bound.call, bound.offset, number, earlier, reaching)

    def _next(
        self, processes: Processes, bound: _Bound, state: SliceState, reaching: Mapping[str, Array]
    ) -> SliceState:
        """The merged state of the sweep after that of `state`."""
        return self._merged(
            processes, bound, lambda: self._swept(bound, state.sweep + 1, state.complete, reaching)
        )

    def _merged(self, processes: Processes, bound: _Bound, sweep: Callable[[], SliceState]) -> SliceState:
        """What a sweep leaves on all processes together."""
        mine = processes.together(sweep)
        if processes.count == 1:
            return mine
        of_all = processes.gathered(packed(mine.rows))
        slices = zip(of_all, bound.spans, strict=True)
        return merge(mine.with_arrays(unpacked(part, mine.rows), (span,)) for part, span in slices)

    def _restored(self, bound: _Bound, rows: Sequence[Tensor]) -> SliceState:
        """The merged state of all forward sweeps."""
        call, source = bound.call, self._source(bound.call)
        groups, rest, hidden = self.rows(call), iter(rows), call.pairs[0].hidden
        found = [{name: next(rest).detach() for name, *_ in group} for group in groups] or [{}]
        earlier = {name: row for group in found[:-1] for name, row in group.items()}
        sweeps = part_of("sweep", source, call, hidden).sweeps(call.tokens)
        columns = ((0, bound.spans[-1][1]),)
        common = common_call(source, call)
        source = replace(source, sweeps=sweeps)
        return SliceState(source, len(found) - 1, columns, found[-1], earlier, common, {}, hidden)

    # ---- results ---------------------------------------------------------------------------------

    def _wanted(self) -> Wanted:
        slots = zip(self._slots.operands, self._slots.axes, strict=True)
        partial = frozenset(name for name, axis in slots if axis == "hidden" and name in self._wrt)
        return Wanted(self._wrt, self._of, "early", None, bool(self._buffers), partial)

    def _given_out(self, processes: Processes, bound: _Bound, output: Tensor) -> Tensor:
        """An output of all tokens, or this process's part of it."""
        if not self._layout.gives_part or not output.ndim:
            return output
        return processes.own(output, bound.lengths)

    def _reaching(
        self, processes: Processes, bound: _Bound, cotangents: Mapping[str, Tensor]
    ) -> dict[str, Array]:
        """What reaches every output that leads to a gradient: zeros where nothing does."""
        found, hidden = {}, bound.call.pairs[0].hidden.source
        for name in self._source(bound.call).of:
            shape = output_shape(bound.call.form.options, bound.call.leading, name)
            cotangent = cotangents.get(name)
            if cotangent is None:
                cotangent = hidden.new_zeros(shape, dtype=torch.float32)
            elif self._layout.gives_part and shape:
                cotangent = processes.joined(cotangent, bound.lengths)
            found[name] = described(cotangent.detach(), f"grad_output of '{name}'")
        return found

    def _completed(
        self, processes: Processes, bound: _Bound, axis: str, gradient: Tensor, array: Tensor
    ) -> Tensor:
        """A gradient of this process's array from that of its slice."""
        is_split = self._layout.is_split
        if axis == "hidden":
            total = processes.summed_part(gradient, bound.lengths) if is_split else processes.summed(gradient)
            return total.to(array.dtype)
        if axis == "token" and array.ndim and is_split:
            return processes.own(gradient, bound.lengths)
        return gradient
