"""States of slices of the vocabulary, and checks of which belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..arguments.call import Arguments, Call, Pair
from ..arguments.options import Options
from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device
from ..frameworks.choice import described
from ..messages.names import listed, shape_text

Columns = tuple[tuple[int, int], ...]  # [first, end), ascending, apart


@dataclass(frozen=True)
class Source:
    """The program of a state, the same for every slice.

    Args:
        name: of the loss.
        vocab: vocabulary size V of all slices together.
        text: the loss's spec stage, with the gradients that are wanted.
        options: of the head.
        ignore: the input that tells ignored tokens, if there is one.
        wrt: names of the gradients that are made at the end.
        parameters: the inputs of the loss that they are gradients of, pairs by their own name.
        of: the outputs whose gradients they are.
        axes: of every input that is there: "logits", "token", "vocab", "dense" or "scalar".
        has_divisor: whether a divisor was given.
        rounding: of each pair, its name and the types that hidden and weight are rounded to;
            None where they are not.
        sweeps: how many there are, forward and backward; (0, 0) as long as nothing has run.
    """

    name: str
    vocab: int
    text: str
    options: Options
    ignore: str | None
    wrt: tuple[str, ...]
    parameters: frozenset[str]
    of: tuple[str, ...]
    axes: tuple[tuple[str, str], ...]
    has_divisor: bool
    rounding: tuple[tuple[str, str | None, str | None], ...] = ()
    sweeps: tuple[int, int] = (0, 0)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits: of everything that all slices must agree in."""
        options = self.options
        told = (options.reduces, options.ignore_index, self.ignore, options.all_ignored)
        content = (self.text, told, self.wrt, self.has_divisor, self.rounding)
        return hashlib.sha256(repr(content).encode()).hexdigest()[:16]

    def rounded(self, given: Arguments) -> Arguments:
        """Rounds operands of a call like those of the state, with or without autocast."""
        types = {name: rest for name, *rest in self.rounding}

        def rounded(array: Array, dtype: str | None) -> Array:
            return array if array.rounded_to == dtype else replace(array, rounded_to=dtype)

        pairs = tuple(
            Pair(pair.name, *map(rounded, (pair.hidden, pair.weight), types.get(pair.name, (None, None))))
            for pair in given.pairs
        )
        return Arguments(pairs, given.inputs, given.divisor, given.weight_grad_out)


@dataclass(frozen=True, eq=False)
class SliceState:
    """What slices of the vocabulary know of each token after a sweep.
    Made by `head.partial` and `lt.merge`.

    It is plain data and can be pickled: numbers per token, in the framework of hidden.

    Args:
        source: which program it is of.
        sweep: number of the sweep that left it; forward ones come first.
        columns: the parts [first, end) of the vocabulary that it covers, ascending.
        rows: what the sweep left, by name: arrays of float32 or int64 in the leading dimensions of
            hidden. Those of lists have one more axis: "forward0.list0.values" and
            "forward0.list0.indices" are the entries of the slice in order and their indices in the
            vocabulary, -1 where the slice has no more.
        earlier: the same of the sweeps before, of the whole vocabulary.
        call: the inputs that all slices have in common: those per token,
            the scalars and the divisor.
        cotangents: the gradients that reach the outputs, from the first backward sweep on.
        beside: an array of the framework and on the device of results, for states without rows.
    """

    source: Source
    sweep: int
    columns: Columns
    rows: Mapping[str, Any]
    earlier: Mapping[str, Any]
    call: Call
    cotangents: Mapping[str, Array]
    beside: Array

    @property
    def head(self) -> str:
        """Digest of the loss, its constants, the head's options and the wanted gradients."""
        return self.source.digest

    @property
    def vocab_size(self) -> int:
        """Vocabulary size V of all slices together."""
        return self.source.vocab

    @property
    def next(self) -> str | None:
        """The kind of the next sweep: "forward", "backward", which needs cotangents, or None."""
        forward, backward = self.source.sweeps
        if self.sweep + 1 < forward:
            return "forward"
        return "backward" if self.sweep + 1 < forward + backward else None

    @property
    def like(self) -> Array:
        """What tells the framework and the device of results."""
        return described(next(iter(self.rows.values())), "state") if self.rows else self.beside

    @property
    def complete(self) -> dict[str, Any]:
        """What all sweeps left so far, by name."""
        return {**self.earlier, **self.rows}

    def arrays(self) -> dict[str, Any]:
        """What the last sweep left, by name: what slices send each other.
        What sweeps before it left is the same everywhere.
        """
        return dict(self.rows)

    def with_arrays(self, arrays: Mapping[str, Any], columns: Columns) -> SliceState:
        """The state of another slice, from what it sent.

        Args:
            arrays: its `arrays()`.
            columns: its `columns`.

        Raises:
            CallTypeError: the names are not those of this state.
            CallValueError: a shape or the device is another one.
        """
        if set(arrays) != set(self.rows):
            raise CallTypeError(
                f"the arrays are {listed(sorted(arrays))}, but a state of this sweep has "
                f"{listed(self.rows)}; "
                "give what arrays() returned there"
            )
        given = {name: described(array, name) for name, array in arrays.items()}
        check_same_device([("state", self.like), *given.items()])
        for name, array in given.items():
            known = described(self.rows[name], name).shape
            if array.shape != known:
                trailing = known[len(self.call.leading) :]
                places = f" and its list has {trailing[0]} places" if trailing else ""
                raise CallValueError(
                    f"'{name}' has shape {shape_text(array.shape)}, but the leading dimensions of hidden are "
                    f"{shape_text(self.call.leading)}{places}; give the arrays of the same tokens"
                )
        spans = tuple((int(first), int(end)) for first, end in columns)
        return replace(self, rows={name: arrays[name] for name in self.rows}, columns=spans)

    def __repr__(self) -> str:
        total = sum(self.source.sweeps)
        when = f"after sweep {self.sweep + 1} of {total}" if total else "of no sweep"
        return f"<state of '{self.source.name}' {when}, columns {spans(self.columns)} of {self.vocab_size}>"


# ---- checks of states ----------------------------------------------------------------------------


def check_pair(a: SliceState, b: SliceState) -> None:
    """Two states that are to be merged."""
    if a.head != b.head:
        raise CallValueError(
            f"states of {told(a.source)} and {told(b.source)} do not merge; all slices need the same head, "
            "gradients and kinds of inputs"
        )
    check_same_device([("first state", a.like), ("second state", b.like)])
    if a.sweep != b.sweep:
        raise CallValueError(
            f"states of sweep {a.sweep + 1} and sweep {b.sweep + 1} do not merge; merge those of one sweep, "
            f"then "
            "run the next with the result"
        )
    if a.call.leading != b.call.leading:
        raise CallValueError(
            f"states of tokens {shape_text(a.call.leading)} and {shape_text(b.call.leading)} do not merge; "
            f"all "
            "slices see the same tokens"
        )
    for first, end in a.columns:
        for other, other_end in b.columns:
            if first < other_end and other < end:
                raise CallValueError(
                    f"columns [{first}, {end}) and [{other}, {other_end}) overlap; every column belongs to "
                    "one slice, so check column_offset"
                )


def check_complete(state: SliceState, what: str) -> None:
    """All of the vocabulary is there."""
    missing, covered = [], 0
    for first, end in (*state.columns, (state.vocab_size, state.vocab_size)):
        if first > covered:
            missing.append((covered, first))
        covered = end
    if missing:
        raise CallValueError(
            f"the state covers columns {spans(state.columns)} of a vocabulary of {state.vocab_size}, so "
            f"{spans(tuple(missing))} is missing; lt.merge the states of all slices before {what}"
        )


def joined(columns: Columns) -> Columns:
    spans: list[tuple[int, int]] = []
    for first, end in sorted(columns):
        if spans and spans[-1][1] == first:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((first, end))
    return tuple(spans)


def spans(columns: Columns) -> str:
    return " and ".join(f"[{first}, {end})" for first, end in columns)


def told(source: Source) -> str:
    """What errors say where two sources differ."""
    divisor = "with" if source.has_divisor else "without"
    return f"'{source.name}' (vocabulary {source.vocab}, {divisor} divisor, digest {source.digest})"
