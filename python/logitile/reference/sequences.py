"""Sums and means over sequences in float64: one sequence after another, by the definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arguments.call import Call
from ..arguments.gradients import output_cotangents
from ..arguments.options import Options
from ..arguments.segments import Segments, checked_segments
from ..calls.segmented import check_loss, listed_output
from ..errors import CallValueError
from ..frameworks.arrays import to_numpy
from ..frameworks.choice import described
from ..frameworks.segment_checks import check_integers, check_lengths, check_range, check_shape
from ..messages.names import shape_text
from .forward import load


class Sequences:
    """What `segments` say of a call by a head per token.

    Args:
        options: of the head that is called. The reduction says what becomes of a sequence.
        segments: as the call got them.
        divisor: of the mean of the loss, or None.

    Raises:
        CallTypeError: those are no segments.
    """

    def __init__(self, options: Options, segments: object, divisor: object):
        self._options, self._told, self._divisor = options, checked_segments(segments), divisor

    def summed(self, call: Call, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of sequences from those of tokens, by name.

        Raises:
            CallError: the segments do not fit, an output is a list,
                or a divisor has no loss to divide.
        """
        self._check_outputs(call)
        tokens = _tokens_of_sequences(call, self._told)
        made = {}
        for name, values in outputs.items():
            kind = np.float64 if self._options.divides or values.dtype.kind == "f" else np.int64
            flat = values.reshape(-1)
            total = np.array([flat[chosen].sum(dtype=kind) for chosen in tokens], kind)
            if self._options.divides:
                with np.errstate(all="ignore"):
                    total = total / self._denominators(tokens, name, outputs)
            made[name] = total
        return made

    def reaching(self, call: Call, outputs: Mapping[str, np.ndarray], grad_output: object) -> Any:
        """What reaches the outputs of tokens, as grad_output of a call per token.

        Args:
            outputs: of tokens.
            grad_output: what reaches those of sequences.

        Raises:
            CallError: it does not fit the outputs.
        """
        count, tokens, made = self._told.count, _tokens_of_sequences(call, self._told), {}
        for name, item in output_cotangents(call.form.spec, grad_output).items():
            given = to_numpy(described(item, f"grad_output of '{name}'"), name).astype(np.float64)
            if given.shape not in ((), (count,)):
                raise CallValueError(
                    f"grad_output of '{name}' has shape {shape_text(given.shape)}; with 'segments' it is a "
                    f"number, or it has {shape_text((count,))}: one for each sequence"
                )
            given = np.broadcast_to(given, (count,))
            if self._options.divides:
                with np.errstate(all="ignore"):
                    given = given / self._denominators(tokens, name, outputs)
            flat = np.zeros(call.tokens)
            for chosen, number in zip(tokens, given, strict=True):
                flat[chosen] = number
            made[name] = flat.reshape(call.leading)
        return made["loss"] if call.form.spec.bare else made

    def _check_outputs(self, call: Call) -> None:
        spec = call.form.spec
        check_loss(spec.output_names, self._divisor)
        for output in spec.outputs:
            if output.places is not None:
                raise listed_output(output.name, output.places)

    def _denominators(
        self, tokens: list[np.ndarray], name: str, outputs: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """What the mean of each sequence divides by."""
        if name == "loss" and self._divisor is not None:
            return np.full(len(tokens), float(to_numpy(described(self._divisor, "divisor"), "divisor")))
        counts = np.array([len(chosen) for chosen in tokens], np.float64)
        over = counts
        if name == "loss" and "weight" in outputs:
            weights = outputs["weight"].reshape(-1)
            over = np.array([weights[chosen].sum() for chosen in tokens], np.float64)
        if self._options.all_ignored == "zero":
            over = np.where(counts == 0, 1.0, over)
        return over


def _tokens_of_sequences(call: Call, segments: Segments) -> list[np.ndarray]:
    """For each sequence the positions of its tokens that are not ignored."""
    given = segments.given
    array = (
        np.asarray(given) if isinstance(given, (list, tuple)) else to_numpy(described(given, "segments"), "")
    )
    check_integers(array.dtype.kind in "iu" or not array.size, array.dtype, segments.are_lengths)
    if segments.are_lengths:
        check_lengths(array, call.leading)
        ends = np.cumsum(array, dtype=np.int64)
        members = [np.arange(end - size, end) for end, size in zip(ends, array, strict=True)]
    else:
        check_shape(array.shape, call.leading)
        check_range(array, segments.count)
        members = [np.flatnonzero(array == number) for number in range(segments.count)]
    live = np.zeros(call.tokens, bool)
    live[load(call.form.spec, call.form.options, call).live] = True
    return [member[live[member]].astype(np.int64) for member in members]
