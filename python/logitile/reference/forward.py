"""An interpreter of LossSpec in float64, on dense NumPy arrays.

It is independent of the compiler and there to compare with. Values of one token have shape [n, 1],
varying ones [n, V]; what is the same for every token has 1 in place of n. Tokens are handled in
chunks, so that memory stays moderate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arguments.call import Call, operand_name
from ..arguments.indices import check_integers, computed_index_error, ignored_tokens, unravelled
from ..arguments.options import Options
from ..frameworks.arrays import rounded, to_numpy
from ..spec.loss_spec import LossSpec
from ..spec.operations import TOKEN_INDEX, Op
from .canonical import canonical
from .operations import OPERATIONS

CHUNK_BYTES = 128 * 2**20  # for the varying values of one chunk of tokens
_FILLS = {"f32": 0.0, "i32": -1, "i1": False}  # outputs of ignored tokens
_NOTHING = {"f32": np.nan, "i32": -1, "i1": False}  # entries outside the vocabulary


@dataclass(eq=False)
class Data:
    """The numbers of a call, flattened over the leading dimensions.

    Args:
        hidden: by pair, [N, D] in its own dtype.
        weight: by pair, [V, D] in float64.
        inputs: by name, Token [N] or [N, K], Vocab [V], Dense [N, V], Scalar [].
            Floats passed through fp32, as on load.
        live: positions of the tokens that are not ignored.
    """

    hidden: dict[str, np.ndarray]
    weight: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]
    live: np.ndarray


def load(spec: LossSpec, options: Options, call: Call) -> Data:
    """Copies a call's arrays to NumPy and checks their integers.

    Raises:
        CallIndexError, CallValueError: an integer is out of range.
        CallTypeError: an array has no data.
    """
    several = len(call.pairs) > 1
    hidden, weight = {}, {}
    for pair in call.pairs:
        rows, matrix = (
            to_numpy(rounded(array), operand_name(pair.name, operand, several))
            for operand, array in (("hidden", pair.hidden), ("weight", pair.weight))
        )
        hidden[pair.name] = rows.reshape(call.tokens, pair.hidden_size)
        matrix = matrix.astype(np.float64)
        weight[pair.name] = matrix if options.weight_layout == "vd" else matrix.T
    inputs = {}
    for name, array in call.inputs.items():
        numbers = to_numpy(array, name)
        if spec.input(name).type == "f32" and array.dtype == "float64" and not options.is_reference:
            numbers = numbers.astype(np.float32)  # as kernels read it
        inputs[name] = _flattened(spec, name, numbers, call)
    ignored = ignored_tokens(spec, options, inputs, call.tokens)
    check_integers(spec, options, call, inputs, ignored)
    return Data(hidden, weight, inputs, np.flatnonzero(~ignored))


def _flattened(spec: LossSpec, name: str, array: np.ndarray, call: Call) -> np.ndarray:
    given = spec.input(name)
    if given.type == "f32" and not np.issubdtype(array.dtype, np.floating):
        array = array.astype(np.float32)  # a whole number for an lt.Scalar
    if given.axis == "token":
        return array.reshape(call.tokens if given.entries is None else (call.tokens, given.entries))
    return array.reshape(call.tokens, call.vocab) if given.axis == "dense" else array


# ---- one chunk of tokens -------------------------------------------------------------------------


@dataclass(eq=False)
class Chunk:
    """Some tokens, and the values of the loss's operations for them as far as they are known.

    Args:
        tokens: positions of the tokens.
        values: by position of the operation.
        wrong_picks: (operation, row, index) of picks outside the vocabulary.
    """

    spec: LossSpec
    data: Data
    tokens: np.ndarray
    values: dict[int, np.ndarray] = field(default_factory=dict)
    wrong_picks: list[tuple[int, int, int]] = field(default_factory=list)

    def operands(self, op: Op) -> list[np.ndarray]:
        return [self.values[i] for i in op.operands]


def chunks(spec: LossSpec, data: Data) -> Iterator[Chunk]:
    """The live tokens, some at a time."""
    varying = max(1, sum(op.varying for op in spec.ops))
    step = max(1, CHUNK_BYTES // (8 * spec.vocab * varying))
    for start in range(0, len(data.live), step):
        yield Chunk(spec, data, data.live[start : start + step])


def run(chunk: Chunk) -> None:
    """Computes every operation of a chunk."""
    with np.errstate(all="ignore"):
        for index, op in enumerate(chunk.spec.ops):
            chunk.values[index] = _computed(chunk, index, op)


def _computed(chunk: Chunk, index: int, op: Op) -> np.ndarray:
    match op.name:
        case "logitile.input":
            return _input(chunk, op)
        case "arith.constant":
            return np.full((1, 1), op.attribute, _dtype(op.type))
        case "logitile.column":
            return np.arange(chunk.spec.vocab, dtype=np.int32)[None, :]
        case "arith.cmpf" | "arith.cmpi":
            return COMPARISONS[op.attribute[-2:]](*chunk.operands(op))
        case "logitile.reduce":
            if op.places is not None:
                return LISTS[op.attribute](*chunk.operands(op), op.places)
            return REDUCTIONS[op.attribute](*chunk.operands(op))
        case "logitile.gather":
            return _picked(chunk, index, op)
        case "logitile.sum_list":
            listed, (x,) = chunk.spec.ops[op.operands[0]].places, chunk.operands(op)
            return np.broadcast_to(x, (len(x), listed or 1)).sum(axis=1, keepdims=True)
    return OPERATIONS[op.name].value(*chunk.operands(op))


def _dtype(type: str) -> type:
    return {"f32": np.float64, "i32": np.int32, "i1": np.bool_}[type]


def _input(chunk: Chunk, op: Op) -> np.ndarray:
    key, data = op.attribute, chunk.data
    if key == TOKEN_INDEX:
        return chunk.tokens[:, None].astype(np.int32)
    if key.axis == "logits":
        return data.hidden[key.name][chunk.tokens].astype(np.float64) @ data.weight[key.name].T
    values = data.inputs[key.name]
    if key.axis == "vocab":
        values = values[None, :]
    elif key.axis == "dense":
        values = values[chunk.tokens]
    elif key.axis == "scalar":
        values = values.reshape(1, 1)
    elif key.places is not None:
        values = values[chunk.tokens]
    else:
        values = values[chunk.tokens] if key.index is None else values[chunk.tokens, key.index]
        values = values[:, None]
    return values.astype(_dtype(op.type))


def picked_columns(chunk: Chunk, op: Op) -> tuple[np.ndarray, np.ndarray]:
    """The index of a pick and whether it lies inside the vocabulary: [n or 1, 1],
    or [n, K] of a list.
    """
    index = chunk.values[op.operands[1]]
    return index, (index >= 0) & (index < chunk.spec.vocab)


def _picked(chunk: Chunk, position: int, op: Op) -> np.ndarray:
    value = chunk.values[op.operands[0]]
    if chunk.spec.ops[op.operands[0]].is_ranked:
        place = int(chunk.values[op.operands[1]][0, 0])
        return value[:, place : place + 1]
    index, inside = picked_columns(chunk, op)
    rows = max(len(value), len(index))
    shape = (rows, index.shape[1])
    index, inside = np.broadcast_to(index, shape), np.broadcast_to(inside, shape)
    if chunk.spec.ops[op.operands[1]].name != "logitile.input":  # inputs were checked on load
        chunk.wrong_picks += [(position, int(row), int(index[row, 0])) for row in np.flatnonzero(~inside)]
    value = np.broadcast_to(value, (rows, chunk.spec.vocab))
    return np.where(
        inside, np.take_along_axis(value, np.where(inside, index, 0), axis=1), _NOTHING[op.type]
    ).astype(value.dtype)


# ---- comparisons and reductions ------------------------------------------------------------------


def logsumexp(x: np.ndarray) -> np.ndarray:
    """log(sum(exp(x))) of each row; NaN where an entry is +inf, -inf where all are -inf."""
    largest = x.max(axis=1, keepdims=True)
    shift = np.where(largest == -np.inf, 0.0, largest)
    return np.log(np.exp(x - shift).sum(axis=1, keepdims=True)) + shift


# By the last two letters of a predicate; all but "ne" are false for NaN.
COMPARISONS: Mapping[str, Callable[..., np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip

REDUCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": lambda x: x.sum(axis=1, keepdims=True),
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "max": lambda x: x.max(axis=1, keepdims=True),
    "min": lambda x: x.min(axis=1, keepdims=True),
    "argmax": lambda x: x.argmax(axis=1, keepdims=True).astype(np.int32),
    "argmin": lambda x: x.argmin(axis=1, keepdims=True).astype(np.int32),
    "logsumexp": logsumexp,
    "count": lambda x: x.sum(axis=1, keepdims=True, dtype=np.int32),
    "any": lambda x: x.any(axis=1, keepdims=True),
    "all": lambda x: x.all(axis=1, keepdims=True),
}


def _argtop(x: np.ndarray, places: int) -> np.ndarray:
    """The indices of the largest entries, NaN before all numbers,
    the lowest index first among equals.
    """
    order = np.argsort(np.where(np.isnan(x), -np.inf, -x), axis=1, kind="stable")
    numbers = np.take_along_axis(np.isnan(x), order, axis=1)
    order = np.take_along_axis(order, np.argsort(~numbers, axis=1, kind="stable"), axis=1)
    return order[:, :places].astype(np.int32)


LISTS: Mapping[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "top": lambda x, places: np.take_along_axis(x, _argtop(x, places), axis=1),
    "argtop": _argtop,
}


# ---- a whole call --------------------------------------------------------------------------------


def evaluate(spec: LossSpec, options: Options, call: Call) -> dict[str, np.ndarray]:
    """The outputs of a call in its leading dimensions, float64, int64 or bool; `loss` is reduced.

    Raises:
        CallIndexError: an index lies outside the vocabulary.
    """
    spec = canonical(spec)
    data = load(spec, options, call)
    results = {
        o.name: np.full(
            (call.tokens, o.places or 1), _FILLS[o.type], {"i32": np.int64}.get(o.type, _dtype(o.type))
        )
        for o in spec.outputs
    }
    wrong = []
    for chunk in chunks(spec, data):
        run(chunk)
        for output in spec.outputs:  # a list may be the same at all places
            results[output.name][chunk.tokens] = chunk.values[output.value]
        wrong += [(int(chunk.tokens[row]), position, index) for position, row, index in chunk.wrong_picks]
    check_picks(spec, call, wrong)
    outputs = {
        o.name: results[o.name].reshape(call.leading if o.places is None else (*call.leading, o.places))
        for o in spec.outputs
    }
    if "loss" in results and options.reduces != "none":
        outputs["loss"] = _reduced(
            results["loss"],
            denominator(spec, options, call, data, results),
            options,
            call.divisor is None and len(data.live) == 0,
        )
    return outputs


def check_picks(spec: LossSpec, call: Call, wrong: list[tuple[int, int, int]]) -> None:
    """Raises for the first token with a computed index outside;
    'wrong' is (token, operation, index).
    """
    if wrong:
        token, position, index = min(wrong)
        raise computed_index_error(
            spec.ops[position].location, unravelled(token, call.leading), index, spec.vocab
        )


def denominator(
    spec: LossSpec, options: Options, call: Call, data: Data, results: Mapping[str, np.ndarray]
) -> float:
    """What the sum of the loss is divided by."""
    if options.reduces == "sum":
        return 1.0
    if call.divisor is not None:
        return float(to_numpy(call.divisor, "divisor"))
    return float(results["weight"].sum()) if "weight" in results else float(len(data.live))


def _reduced(loss: np.ndarray, divisor: float, options: Options, nothing_counts: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        if nothing_counts and options.reduces == "mean":
            return np.float64(0.0 if options.all_ignored == "zero" else np.nan)
        return np.float64(loss.sum()) / np.float64(divisor)
