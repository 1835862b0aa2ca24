"""`@lt.loss`: from a Python function to a LossSpec. trace.py records the operations."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..errors import CallTypeError
from ..frameworks.choice import is_read
from ..messages.locations import Location, definition_of, line_in, spec_error
from ..messages.names import listed
from ..spec.loss_spec import LossSpec
from ..spec.operations import Op, Output, SpecInput, reachable
from . import functions
from .annotations import K, Kind
from .entries import Entries
from .outputs import checked_outputs
from .signature import Parameter, Signature, read_signature
from .trace import Trace, active_trace
from .values import Value


@dataclass(frozen=True)
class Specialisation:
    """What a trace is made for, beside the constants.

    Args:
        vocab: vocabulary size V.
        present: the optional inputs that are given.
        entries: number of values per token of each Token[..., K] input.
        per_token: the `lt.Scalar | lt.Token[float]` inputs that are given per token.
    """

    vocab: int
    present: frozenset[str] = frozenset()
    entries: tuple[tuple[str, int], ...] = ()
    per_token: frozenset[str] = frozenset()


class Kept:
    """Heads of a loss, as attributes: torch.compile guards the one that a graph uses, not all."""


_numbers = itertools.count()


class Loss:
    """A loss function. `lt.jit` binds it to options; inside another loss it can be called.

    Args:
        function: the Python function; it is run once for every specialisation.

    Attributes:
        kept: heads that are kept with it (arguments.kept).
        token: a text that no other loss of this process has.
    """

    def __init__(self, function: Callable):
        if not inspect.isfunction(function):
            raise CallTypeError(f"lt.loss decorates a function, not {function!r}")
        self.function = function
        self.name = function.__name__
        self.signature: Signature = read_signature(function)
        self.kept, self.token = Kept(), f"loss{next(_numbers)}"
        functools.update_wrapper(self, function)

    @property
    def location(self) -> Location:
        """Where the loss is defined."""
        return definition_of(self.function.__code__)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Runs the function inside the trace of another loss;
        anywhere else it says how losses are used.
        """
        if active_trace() is None:
            raise CallTypeError(
                f"'{self.name}' is a loss: it is traced, not called with arrays; write {_usage(self)}"
            )
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError as error:
            raise spec_error(f"'{self.name}' cannot be called so: {error}") from None
        for name, item in bound.arguments.items():
            parameter = self.signature.input(name)
            if parameter is not None:
                bound.arguments[name] = _argument(self.name, parameter, item)
        return self.function(*bound.args, **bound.kwargs)

    def __repr__(self) -> str:
        return f"<loss '{self.name}' ({self.location})>"

    def __reduce__(self) -> str:
        """Pickled by its global name, like a function; a copy is the loss itself."""
        return self.function.__qualname__

    def trace(
        self,
        specialisation: Specialisation,
        constants: Mapping[str, object] | None = None,
        ignore_index: int | None = -100,
        ignore: str = "target",
    ) -> LossSpec:
        """Runs the function on traced values and returns what it recorded.

        Args:
            specialisation: vocabulary size and what is known of the inputs.
            constants: values of the keyword-only constants; those left out have their defaults.
            ignore_index: what lt.valid compares with; None switches ignoring off.
            ignore: name of the Token[int] input that tells ignored tokens;
                it need not be read by the loss itself.

        Raises:
            SpecError: the loss is not one; the text starts with the file and line of the user.
        """
        code, vocab = self.function.__code__, specialisation.vocab
        trace = Trace(self.name, code, vocab, ignore_index, Value, functions.__all__)
        inputs = self._inputs(specialisation)
        arguments: dict[str, object] = {p.name: None for p in self.signature.inputs}
        arguments |= {c.name: c.default for c in self.signature.constants if not c.required}
        arguments |= constants or {}
        with trace:
            arguments |= {given.name: _traced_input(trace, given) for given in inputs}
            outputs, bare = checked_outputs(trace, self._run(arguments), self.location)
            ops, outputs = _needed(trace, outputs)
        if ignore_index is not None:
            trace.needed_inputs |= {g.name for g in inputs if g.tells_ignored and g.name == ignore}
        _check_used(self, inputs, ops, trace.needed_inputs)
        _check_read_one_way(self, ops)
        given_names = {given.name for given in inputs}
        used = {c.name: arguments[c.name] for c in self.signature.constants if c.name not in given_names}
        return LossSpec(self.name, trace.vocab, inputs, ops, outputs, bare, ignore_index, used, self.location)

    def _run(self, arguments: Mapping[str, object]) -> object:
        """Calls the function with its own kinds of parameters."""
        parameters = inspect.signature(self.function).parameters.values()
        positional = [arguments[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY]
        named = {p.name: arguments[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
        try:
            return self.function(*positional, **named)
        except RecursionError as error:
            raise spec_error(
                f"'{self.name}' nests more deeply than Python's recursion limit of "
                f"{sys.getrecursionlimit()}; a function that calls itself needs an end that does not "
                "depend on values of tokens, and a product of hundreds of exponentials is better written as "
                "one of their sum",
                line_in(self.function.__code__, error.__traceback__),
            ) from None

    def _inputs(self, specialisation: Specialisation) -> tuple[SpecInput, ...]:
        """The inputs that are present, with what the specialisation says of them."""
        present = [p for p in self.signature.inputs if not p.optional or p.name in specialisation.present]
        return tuple(_specialised(parameter, specialisation) for parameter in present)


def loss(function: Callable) -> Loss:
    """Makes a loss of a function that is written for one token (decorator).

    Args:
        function: its parameters are annotated lt.Logits, lt.Token[...], lt.Vocab[...], or
            lt.Dense[...], or lt.Scalar. Keyword-only parameters with any other annotation are
            compile-time constants. `lt.Scalar | float` is a constant that a call may give instead.
            The function returns one value per token, or lt.Outputs.

    Raises:
        SpecError: an annotation, a default or a name of a parameter is not possible.
        CallTypeError: torch.compile reads the line; it finds no way through the signature.
    """
    if is_read():
        raise CallTypeError("torch.compile reads lt.loss; decorate the loss outside of the compiled function")
    return Loss(function)


def _specialised(parameter: Parameter, specialisation: Specialisation) -> SpecInput:
    kind = parameter.kinds[0]
    if len(parameter.kinds) > 1:
        axis = "token" if parameter.name in specialisation.per_token else "scalar"
        kind = next(kind for kind in parameter.kinds if kind.axis == axis)
    entries = dict(specialisation.entries)[parameter.name] if kind.entries is not None else None
    return SpecInput(kind.axis, parameter.name, kind.type, entries)


def _traced_input(trace: Trace, given: SpecInput) -> Value | Entries:
    if given.entries is None:
        return trace.input(given.axis, given.name, given.type)
    return Entries.of_input(trace, given)


# ---- finishing a trace ---------------------------------------------------------------------------


def _needed(trace: Trace, outputs: list[tuple[str, Value]]) -> tuple[tuple[Op, ...], tuple[Output, ...]]:
    """The operations that outputs need, with the user's names of their values."""
    names = trace.variables()
    named = [replace(op, label=names.get(index)) for index, op in enumerate(trace.ops)]
    return reachable(named, [Output(name, value.type, value.index, value.places) for name, value in outputs])


def _check_used(loss: Loss, inputs: tuple[SpecInput, ...], ops: tuple[Op, ...], needed: set[str]) -> None:
    """Every input that a call has to give must matter."""
    read = {op.attribute.name for op in ops if op.name == "logitile.input"} | needed
    unused = [given.name for given in inputs if given.name not in read]
    if not unused:
        return
    noun, verb, pronoun = ("parameter", "does", "it") if len(unused) == 1 else ("parameters", "do", "them")
    raise spec_error(
        f"{noun} {listed(unused)} of '{loss.name}' {verb} not reach any output; use {pronoun}, or remove "
        f"{pronoun}",
        loss.location,
    )


def _check_read_one_way(loss: Loss, ops: tuple[Op, ...]) -> None:
    """Entries of an input lie in memory one by one, or as a list."""
    keys = {op.attribute for op in ops if op.name == "logitile.input"}
    listed_names = {key.name for key in keys if key.places is not None}
    both = sorted({key.name for key in keys if key.index is not None and key.name in listed_names})
    if both:
        raise spec_error(
            f"'{loss.name}' takes single entries of '{both[0]}' and uses it as a list too; give it the array "
            "twice, as two parameters",
            loss.location,
        )


def _usage(loss: Loss) -> str:
    """How a loss is bound and called."""
    arguments = ["hidden", "weight"]
    for k in range(2, len(loss.signature.pairs) + 1):
        arguments += [f"hidden{k}", f"weight{k}"]
    needed = [p.name for p in loss.signature.inputs if p.kinds[0].axis != "logits" and not p.optional]
    arguments += [f"{name}=..." for name in needed]
    return f"head = lt.jit({loss.name}) and call head({', '.join(arguments)})"


# ---- calls from other losses ---------------------------------------------------------------------


def _argument(loss_name: str, parameter: Parameter, item: object) -> object:
    """An argument of a loss that is called inside another one."""
    if item is None and parameter.optional:
        return None
    for kind in parameter.kinds:
        if kind.entries is None and _fits(item, kind):
            return item
        if kind.entries is not None and (entries := _entries(parameter.name, item, kind)) is not None:
            return entries
    got = repr(item) if isinstance(item, (Value, Entries)) else f"{item!r} of type {type(item).__name__}"
    raise spec_error(f"'{loss_name}' takes '{parameter.name}' as {parameter.annotation}, got {got}")


def _entries(name: str, item: object, kind: Kind) -> Entries | None:
    """The entries that an lt.Token[..., K] parameter gets: of an input, of a list, or of single
    values. None where the argument is none of these.
    """
    if isinstance(item, Value) and item.places is not None:
        item = Entries.of_list(name, item)
    if isinstance(item, Entries):
        fits = item.type == kind.type
        entries = item.named(name)
    else:
        fits = isinstance(item, (tuple, list)) and all(_fits(value, kind) for value in item)
        trace = active_trace()
        if not fits or trace is None:
            return None
        entries = Entries.of_values(name, trace, kind.type, item)  # type: ignore[arg-type]
    return entries if fits and (kind.entries is K or len(entries) == kind.entries) else None


def _fits(item: object, kind: Kind) -> bool:
    if isinstance(item, Value):
        return item.type == kind.type and kind.varying == item.varying and item.places is None
    plain = {"f32": (int, float), "i32": (int,), "i1": (bool,)}[kind.type]
    return not kind.varying and isinstance(item, plain) and (kind.type == "i1" or not isinstance(item, bool))
