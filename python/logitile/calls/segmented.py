"""Calls whose outputs are sums or means over sequences: a call per token, and sums of its outputs.

What is written here is the same for every framework; see frameworks.segments for what it asks of
one. The gradients of the tokens are those of their sequence's sum, so that the call needs no
kernels of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..arguments.binder import Binder
from ..arguments.gradients import GradientOptions, output_cotangents
from ..arguments.options import Options
from ..arguments.segments import Segments, checked_segments
from ..errors import CallTypeError, CallValueError
from ..frameworks.choice import has_shards
from ..frameworks.segments import SegmentSums, segment_sums
from ..language.signature import Signature
from ..messages.names import shape_text


class TokenCode(Protocol):
    """What computes a call whose outputs are all per token, also its loss."""

    @property
    def binder(self) -> Binder:
        """Checks the arguments of the call."""

    def outputs(self, args: Any, inputs: Any) -> Any:
        """The outputs; see Head.__call__."""

    def value_and_grad(self, args: Any, inputs: Any, asked: GradientOptions) -> tuple[Any, dict[str, Any]]:
        """The outputs, and gradients by name; see Head.value_and_grad."""


class TokenCalls(Protocol):
    """Calls whose outputs are all per token."""

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """The outputs; see Head.__call__."""

    def of_given(
        self, args: Any, inputs: Any, wrt: Iterable[str] | None
    ) -> tuple[TokenCode, dict[str, Any], Iterable[str] | None]:
        """What computes a call to which logits may be given,
        its inputs and the names of its gradients.
        """


NOT_JOINED = (
    "'segments' makes sums or means of sequences, but the reduction is 'none'; give lt.jit reduction='sum' "
    "or 'mean'"
)


def ignoring_name(signature: Signature, options: Options) -> str:
    """The name of the input of a loss that marks ignored tokens; "" if there is none."""
    given = signature.input(options.ignoring_input)
    kind = None if given is None else given.kinds[0]
    is_told = kind is not None and kind.axis == "token" and kind.element == "int"
    return options.ignoring_input if is_told and options.ignore_index is not None else ""


class SegmentedCalls:
    """Calls of one head with `segments`.

    Args:
        options: of the head. The reduction says what becomes of a sequence.
        ignoring: the name of the input that marks ignored tokens; "" if there is none.
        weighted: calls per token, for those whose mean divides by the output
            `weight` if there is one.
        divided: the same for calls with a divisor, through whose `weight` no gradient is lost.
    """

    def __init__(self, options: Options, ignoring: str, weighted: TokenCalls, divided: TokenCalls):
        self._options, self._ignoring, self._weighted, self._divided = options, ignoring, weighted, divided

    def through(self, made: Callable[[Any], Any]) -> SegmentedCalls:
        """The same calls by a function of the calls per token, which gives outputs only."""
        return SegmentedCalls(self._options, self._ignoring, made(self._weighted), made(self._divided))

    def per_token(self, inputs: Mapping[str, Any]) -> Any:
        """The calls per token that compute such a call."""
        return self._weighted if inputs.get("divisor") is None else self._divided

    def check(self, segments: object, args: Sequence[Any], inputs: Mapping[str, Any]) -> None:
        """Checks the segments of a call before it is made.

        Raises:
            CallError: they do not fit.
        """
        told = checked_segments(segments)
        hidden = _hidden(args, inputs)
        self._sums(told, inputs, hidden.shape[:-1], hidden)

    def outputs(self, segments: object, args: Sequence[Any], inputs: Mapping[str, Any]) -> Any:
        """The outputs of a call, summed or averaged over sequences: [S] each.

        Args:
            segments, args, inputs: as for Head.__call__.

        Raises:
            CallError: as for a call, or the segments do not fit.
        """
        told = checked_segments(segments)
        _check_whole(args, inputs)
        given, divisor = without_divisor(self._options, inputs)
        result = self.per_token(inputs)(*args, **given)
        check_loss(_names(result), divisor)
        _refuse_lists(result, _hidden(args, inputs))
        first = result[0] if isinstance(result, tuple) else result
        return self._sums(told, given, first.shape, first).of_all(result, divisor)

    def value_and_grad(
        self,
        segments: object,
        args: Sequence[Any],
        inputs: Mapping[str, Any],
        asked: GradientOptions,
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs as of `outputs`, and gradients by name.

        A mean over the output `weight` takes one more forward pass:
        the gradients of tokens depend on the sums of the weights.

        Args:
            asked: without `grad_out`; its `grad_output` has a number, or one for each sequence.

        Raises:
            CallError: as for a call, or the segments do not fit.
        """
        told = checked_segments(segments)
        _check_whole(args, inputs)
        given, divisor = without_divisor(self._options, inputs)
        code, given, wrt = self.per_token(inputs).of_given(args, given, asked.wrt)
        plain = {name: item for name, item in given.items() if name != "weight_grad_out"}
        call = code.binder.bind_rounded(args, plain)
        spec, names = call.form.spec, set(call.form.spec.output_names)
        sums = self._sums(told, given, call.leading, call.pairs[0].hidden.source)
        is_weighted = {"loss", "weight"} <= names and self._options.divides and divisor is None
        weights = code.outputs(args, plain).weight if is_weighted else None
        reaching: Any = {
            name: sums.reaching(name, item, weights, divisor)
            for name, item in output_cotangents(spec, asked.grad_output).items()
        }
        reaching = reaching["loss"] if spec.bare else reaching
        per_token = asked._replace(wrt=wrt, grad_output=reaching)
        result, gradients = code.value_and_grad(args, given, per_token)
        check_loss(_names(result), divisor)
        _refuse_lists(result, _hidden(args, inputs))
        return sums.of_all(result, divisor), gradients

    def _sums(self, told: Segments, inputs: Mapping[str, Any], leading: Sequence[int], like: Any) -> _Sums:
        maths = segment_sums(like)
        ids = maths.ids(told.given, told.are_lengths, told.count, leading, like)
        target = inputs.get(self._ignoring)
        if target is not None:
            ids = maths.without(ids, target, self._options.ignore_index)
        return _Sums(self._options, maths, ids, told.count, like)


def _hidden(args: Sequence[Any], inputs: Mapping[str, Any]) -> Any:
    """The hidden states of the first pair; None where the call gives logits instead."""
    pairs = (item[0] for item in inputs.values() if isinstance(item, tuple))
    return args[0] if args else next(pairs, None)


def _refuse_lists(result: Any, hidden: Any) -> None:
    """A list has an axis more than a token has."""
    if not isinstance(result, tuple) or hidden is None:
        return
    for name, values in zip(result._fields, result, strict=True):  # type: ignore[attr-defined]
        if len(values.shape) >= len(hidden.shape):
            raise listed_output(name, values.shape[-1])


def listed_output(name: str, places: int) -> CallValueError:
    """That an output is a list, which is not summed over sequences."""
    return CallValueError(
        f"output '{name}' is a list with {places} numbers per token, which 'segments' does not "
        "sum; leave it out of lt.Outputs, or call the head without 'segments'"
    )


class _Sums:
    """How the numbers of tokens become those of sequences.

    Args:
        options: of the head.
        maths: of the framework.
        ids: the sequence of each token that counts.
        count: the number of sequences.
        like: an array of the framework.
    """

    def __init__(self, options: Options, maths: SegmentSums, ids: Any, count: int, like: Any):
        self._options, self._maths, self._ids, self._count, self._like = options, maths, ids, count, like
        self._counted = maths.sums(ids >= 0, ids, count) if options.divides else None

    def of_all(self, result: Any, divisor: Any) -> Any:
        """What a call per token returned, with one number per sequence in each output."""
        if not isinstance(result, tuple):
            return self._of("loss", result, None, divisor)
        names: tuple[str, ...] = result._fields  # type: ignore[attr-defined]
        weights = result[names.index("weight")] if "weight" in names else None
        given = zip(names, result, strict=True)
        return type(result)(*[self._of(name, values, weights, divisor) for name, values in given])

    def reaching(self, name: str, cotangent: Any, weights: Any, divisor: Any) -> Any:
        """What reaches an output of each token, from what reaches that of its sequence."""
        maths = self._maths
        numbers = maths.numbers(cotangent, self._like)
        if tuple(numbers.shape) not in ((), (self._count,)):
            raise CallValueError(
                f"grad_output of '{name}' has shape {shape_text(numbers.shape)}; with 'segments' it is a "
                f"number, or it has {shape_text((self._count,))}: one for each sequence"
            )
        if numbers.shape == ():
            numbers = maths.repeated(numbers, self._count)
        if self._options.divides:
            numbers = maths.quotients(numbers, self._denominator(name, weights, divisor))
        return maths.spread(numbers, self._ids)

    def _of(self, name: str, values: Any, weights: Any, divisor: Any) -> Any:
        made = self._maths.sums(values, self._ids, self._count)
        if self._options.divides:
            made = self._maths.quotients(made, self._denominator(name, weights, divisor))
        return self._maths.result(made, values)

    def _denominator(self, name: str, weights: Any, divisor: Any) -> Any:
        """What the mean of an output divides by: one number per sequence, or one for all."""
        maths = self._maths
        if name == "loss" and divisor is not None:
            return maths.numbers(divisor, self._like)
        counted = self._counted
        over = counted if name != "loss" or weights is None else maths.sums(weights, self._ids, self._count)
        return maths.where(counted > 0, over, 1) if self._options.all_ignored == "zero" else over


def without_divisor(options: Options, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The inputs of a call per token, which has no divisor, and the divisor.

    Raises:
        CallTypeError, CallValueError: the divisor is not possible.
    """
    given = dict(inputs)
    divisor = given.pop("divisor", None)
    if divisor is None:
        return given, None
    if isinstance(divisor, bool):
        raise CallTypeError(f"'divisor' is the bool {divisor}, but it must be a number")
    if not options.divides:
        raise CallValueError("'divisor' replaces the denominator of a mean, but the reduction is 'sum'")
    if tuple(getattr(divisor, "shape", ())) != ():
        raise CallValueError(
            f"'divisor' has shape {shape_text(divisor.shape)}; it must be a number or an array without axes"
        )
    return given, divisor


def _names(result: Any) -> Sequence[str]:
    """The names of the outputs that a call returned."""
    return result._fields if isinstance(result, tuple) else ("loss",)  # type: ignore[attr-defined]


def check_loss(names: Sequence[str], divisor: Any) -> None:
    """That a divisor has a loss to divide.

    Args:
        names: of the outputs.

    Raises:
        CallValueError: it has none.
    """
    if divisor is not None and "loss" not in names:
        raise CallValueError("'divisor' is given, but there is no output 'loss' that it could apply to")


def _check_whole(args: Sequence[Any], inputs: Mapping[str, Any]) -> None:
    """Sums over sequences are made where all tokens are.

    Raises:
        CallTypeError: a DTensor is among the arguments.
    """
    if has_shards(args, inputs):
        raise CallTypeError(
            "'segments' takes no DTensors, whose tokens may be on several processes; take outputs per token "
            "(reduction='none') and sum those of full_tensor(), or give plain tensors"
        )
