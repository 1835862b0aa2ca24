"""Gradients of a loss in float64: reverse mode, operation by operation,
on the dense values of forward.py.

Straightforward and independent of the compiler. Beside its value an adjoint knows where it is
*blocked*: entries that no gradient reaches, because a select or a clamp took another value or
because a weight is 0. Nothing that is multiplied later, infinities included, brings a blocked entry
back: masks leak no NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..arguments.call import Call, operand_name
from ..arguments.gradients import output_cotangents, wanted_gradients
from ..arguments.options import Options
from ..errors import CallValueError
from ..frameworks.arrays import to_numpy
from ..frameworks.choice import described
from ..messages.names import shape_text
from ..spec.gradient_flow import active_ops
from ..spec.loss_spec import LossSpec
from ..spec.operations import InputKey, Op
from .adjoint import Adjoint
from .canonical import canonical
from .forward import (
    REDUCTIONS,
    Chunk,
    Data,
    check_picks,
    chunks,
    denominator,
    load,
    picked_columns,
    run,
)
from .operations import OPERATIONS


def evaluate_gradients(
    spec: LossSpec, options: Options, call: Call, wrt: Iterable[str] | None = None, grad_output: object = None
) -> dict[str, np.ndarray]:
    """Gradients by name, float64, each in the shape of its input.

    Args:
        wrt: names of the gradients; None means every array that requires one,
            else hidden and weight.
        grad_output: what reaches the outputs: an array for a bare result,
            a dictionary by output else.

    Raises:
        CallError: see wanted_gradients, output_cotangents and forward.load.
    """
    wanted = wanted_gradients(spec, options, call, wrt)
    cotangent = _cotangent(spec, options, call, output_cotangents(spec, grad_output))
    spec = canonical(spec)
    data = load(spec, options, call)
    scale = _loss_scale(spec, options, call, data)
    known = call.operands
    active = active_ops(spec, cotangent, {known[name].parameter for name in wanted})
    sums = _Sums(call, data, wanted)
    wrong = []
    with np.errstate(all="ignore"):
        for chunk in chunks(spec, data):
            run(chunk)
            wrong += [(int(chunk.tokens[row]), position, index) for position, row, index in chunk.wrong_picks]
            seeds = [
                (spec.output(name).value, given[chunk.tokens, None] * (scale if name == "loss" else 1.0))
                for name, given in cotangent.items()
            ]
            sums.add(chunk, _reversed(chunk, seeds, active))
    check_picks(spec, call, wrong)
    return sums.results(options)


def _cotangent(
    spec: LossSpec, options: Options, call: Call, given: Mapping[str, object]
) -> dict[str, np.ndarray]:
    """What reaches each output, [N]."""
    result = {}
    for name, item in given.items():
        array = described(item, f"grad_output of '{name}'")
        reduced = name == "loss" and options.reduces != "none"
        wanted = () if reduced else call.leading
        if array.shape not in ((), wanted):
            raise CallValueError(
                f"grad_output of '{name}' has shape {shape_text(array.shape)}; the output has "
                f"{shape_text(wanted)}"
            )
        values = to_numpy(array, f"grad_output of '{name}'").astype(np.float64)
        result[name] = np.broadcast_to(values.reshape(-1), (call.tokens,)) if call.tokens else np.zeros(0)
    return result


def _loss_scale(spec: LossSpec, options: Options, call: Call, data: Data) -> float:
    """What the reduction multiplies the gradient of every token's loss by."""
    if options.reduces != "mean" or not len(data.live):
        return 1.0
    results = {}
    if "weight" in spec.output_names:
        results["weight"] = np.zeros(call.tokens)
        for chunk in chunks(spec, data):
            run(chunk)
            results["weight"][chunk.tokens] = chunk.values[spec.output("weight").value][:, 0]
    with np.errstate(all="ignore"):
        return np.float64(1.0) / np.float64(denominator(spec, options, call, data, results))


def _reversed(chunk: Chunk, seeds: list[tuple[int, np.ndarray]], active: set[int]) -> dict[int, Adjoint]:
    """Adjoints of the active inputs of a chunk, by position of the operation."""
    adjoints: dict[int, Adjoint] = {}

    def accumulate(index: int, adjoint: Adjoint) -> None:
        adjoint = adjoint.summed_to(chunk.values[index].shape)
        adjoints[index] = adjoints[index].plus(adjoint) if index in adjoints else adjoint

    for index, value in seeds:
        if index in active:
            accumulate(index, Adjoint(value, np.zeros(value.shape, bool)))
    leaves = {}
    for index in sorted(active, reverse=True):
        op, adjoint = chunk.spec.ops[index], adjoints.pop(index, None)
        if adjoint is None:
            continue
        if op.name == "logitile.input":
            leaves[index] = adjoint
            continue
        flowing = [position for position, operand in enumerate(op.operands) if operand in active]
        for position in flowing:
            accumulate(op.operands[position], _flow(chunk, index, op, adjoint, position))
    return leaves


def _flow(chunk: Chunk, index: int, op: Op, adjoint: Adjoint, position: int) -> Adjoint:
    """What flows from an operation to one of its operands."""
    operands, result = chunk.operands(op), chunk.values[index]
    if op.name == "logitile.gather":
        column, inside = picked_columns(chunk, op)
        return _to_column(adjoint.where(inside), column, chunk.spec.vocab)
    if op.name == "logitile.sum_list":
        return adjoint.spread_to(operands[0].shape)
    if op.name == "logitile.reduce":
        return _through_reduction(op.attribute, adjoint, operands[0], result)
    return OPERATIONS[op.name].flows[position](adjoint, result, *operands)


def _to_column(adjoint: Adjoint, column: np.ndarray, vocab: int) -> Adjoint:
    """The gradient of one entry per token, or of those that a list names:
    one of them perhaps twice.
    """
    if column.shape[1] == 1:
        return adjoint.where(np.arange(vocab)[None, :] == column)
    value, blocked, column = np.broadcast_arrays(adjoint.value, adjoint.blocked, column)
    sums, passes = np.zeros((len(value), vocab)), np.zeros((len(value), vocab), bool)
    row, place = np.nonzero(~blocked)
    np.add.at(sums, (row, column[row, place]), value[row, place])
    passes[row, column[row, place]] = True
    return Adjoint(sums, ~passes)


def _through_reduction(combiner: str, adjoint: Adjoint, x: np.ndarray, result: np.ndarray) -> Adjoint:
    if combiner == "sum":
        return adjoint.spread_to(x.shape)
    if combiner == "mean":
        return adjoint.times(1 / x.shape[1]).spread_to(x.shape)
    if combiner == "logsumexp":
        return adjoint.weighed(np.exp(x - result))
    entry = REDUCTIONS["arg" + combiner](x)  # max(x) is x[argmax(x)], min likewise
    return _to_column(adjoint, entry, x.shape[1])


# ---- from adjoints to gradients ------------------------------------------------------------------


class _Sums:
    """The gradients of a call, added up chunk by chunk;
    leading dimensions are one axis until the end.
    """

    def __init__(self, call: Call, data: Data, wanted: tuple[str, ...]):
        self.call = call
        self.data = data
        self.sums = {name: np.zeros(self._flat_shape(name)) for name in wanted}

    def _flat_shape(self, name: str) -> tuple[int, ...]:
        if name in self.data.inputs:
            return self.data.inputs[name].shape
        operands = self.data.hidden if name.endswith("hidden") else self.data.weight
        return operands[self.call.operands[name].parameter].shape

    def add(self, chunk: Chunk, leaves: Mapping[int, Adjoint]) -> None:
        """Adds the gradients of one chunk of tokens."""
        for index, adjoint in leaves.items():
            key = chunk.spec.ops[index].attribute
            if key.axis == "logits":
                self._add_projection(chunk, key.name, adjoint.value)
            else:
                self._add_input(chunk, key, adjoint.value)

    def _add_projection(self, chunk: Chunk, pair: str, gradient: np.ndarray) -> None:
        several = len(self.call.pairs) > 1
        hidden, weight = operand_name(pair, "hidden", several), operand_name(pair, "weight", several)
        if hidden in self.sums:
            self.sums[hidden][chunk.tokens] += gradient @ self.data.weight[pair]
        if weight in self.sums:
            self.sums[weight] += gradient.T @ self.data.hidden[pair][chunk.tokens].astype(np.float64)

    def _add_input(self, chunk: Chunk, key: InputKey, gradient: np.ndarray) -> None:
        total = self.sums[key.name]
        if key.axis == "vocab":
            total += gradient[0]
        elif key.axis == "scalar":
            total += gradient[0, 0]
        elif key.axis == "dense":
            total[chunk.tokens] += gradient
        elif key.places is not None:
            total[chunk.tokens] += gradient
        else:
            total[chunk.tokens if key.index is None else (chunk.tokens, key.index)] += gradient[:, 0]

    def results(self, options: Options) -> dict[str, np.ndarray]:
        """Every gradient in the shape of its input."""
        known = self.call.operands
        shaped = {}
        for name, value in self.sums.items():
            transposed = (
                options.weight_layout == "dv" and name not in self.data.inputs and name.endswith("weight")
            )
            shaped[name] = (value.T if transposed else value).reshape(known[name].array.shape)
        return shaped
