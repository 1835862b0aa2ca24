"""`@lt.loss`, `lt.Outputs` and the step from a Python function to a LossSpec. Operations are recorded by
trace.py.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from . import labels
from .annotations import Kind
from .entries import Entries
from .errors import CallTypeError
from .locations import Location, definition_of, spec_error
from .names import did_you_mean, listed
from .signature import Parameter, Signature, read_signature
from .spec import LossSpec, Op, Output, SpecInput
from .trace import Trace, Value, active_trace

_NO_GRADIENT_TYPES = {"i32": "an integer", "i1": "a bool"}


class Outputs:
    """What a loss returns when it has more to say than one number per token.

    Args:
        fields: values that are one per token. `loss` is reduced, `weight` weighs tokens in a mean, every
            other name is returned per token. `loss` may be left out.
    """

    def __init__(self, **fields: object):
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"this lt.Outputs has no field '{name}'{did_you_mean(name, vars(self))}")

    def __repr__(self) -> str:
        return f"lt.Outputs({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


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


class Loss:
    """A loss function: the text of a loss for one token. `lt.jit` binds it to options; inside another loss it
    can be called.

    Args:
        function: the Python function; it is run once for every specialisation.
    """

    def __init__(self, function: Callable):
        if not inspect.isfunction(function):
            raise CallTypeError(f"lt.loss decorates a function, not {function!r}")
        self.function = function
        self.name = function.__name__
        self.signature: Signature = read_signature(function)
        functools.update_wrapper(self, function)

    @property
    def location(self) -> Location:
        """Where the loss is defined."""
        return definition_of(self.function.__code__)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Runs the function inside the trace of another loss; anywhere else it says how losses are used."""
        if active_trace() is None:
            pairs = ", ".join(
                "hidden, weight" if i == 0 else f"hidden{i + 1}, weight{i + 1}"
                for i in range(len(self.signature.pairs))
            )
            others = "".join(
                f", {p.name}=..."
                for p in self.signature.inputs
                if p.kinds[0].axis != "logits" and not p.optional
            )
            raise CallTypeError(
                f"'{self.name}' is a loss: it is traced, not called with arrays; "
                f"write head = lt.jit({self.name}) and call head({pairs}{others})"
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
            ignore: name of the Token[int] input that tells ignored tokens; it need not be read by the loss
                itself.

        Raises:
            SpecError: the loss is not one; the text starts with the file and line of the user.
        """
        trace = Trace(self.name, self.function.__code__, specialisation.vocab, ignore_index)
        with trace:
            inputs = self._inputs(specialisation)
            arguments = {p.name: None for p in self.signature.inputs}
            arguments.update({given.name: _traced_input(trace, given) for given in inputs})
            arguments.update({c.name: c.default for c in self.signature.constants if not c.required})
            arguments.update(constants or {})
            result = self._run(arguments)
            outputs, bare = _outputs(self, result, trace)
            if ignore_index is not None and any(
                g.name == ignore and g.type == "i32" and g.axis == "token" for g in inputs
            ):
                trace.needed_inputs.add(ignore)
            ops, outputs = _reachable(trace, outputs)
            _check_used(self, inputs, ops, trace.needed_inputs)
        used_constants = {c.name: arguments[c.name] for c in self.signature.constants}
        return LossSpec(
            self.name,
            specialisation.vocab,
            inputs,
            ops,
            outputs,
            bare,
            ignore_index,
            used_constants,
            self.location,
        )

    def _run(self, arguments: Mapping[str, object]) -> object:
        """Calls the function with its own kinds of parameters."""
        parameters = inspect.signature(self.function).parameters.values()
        positional = [arguments[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY]
        return self.function(
            *positional, **{p.name: arguments[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
        )

    def _inputs(self, specialisation: Specialisation) -> tuple[SpecInput, ...]:
        """The inputs that are present, with what the specialisation says of them."""
        entries = dict(specialisation.entries)
        inputs = []
        for parameter in self.signature.inputs:
            if parameter.optional and parameter.name not in specialisation.present:
                continue
            wanted = "token" if parameter.name in specialisation.per_token else parameter.kinds[0].axis
            if len(parameter.kinds) > 1 and parameter.name not in specialisation.per_token:
                wanted = "scalar"
            kind = next(kind for kind in parameter.kinds if kind.axis == wanted)
            inputs.append(
                SpecInput(
                    kind.axis, parameter.name, kind.type, entries[parameter.name] if kind.entries else None
                )
            )
        return tuple(inputs)


def loss(function: Callable) -> Loss:
    """Makes a loss of a function that is written for one token (decorator).

    Args:
        function: its parameters are annotated lt.Logits, lt.Token[...], lt.Vocab[...], lt.Dense[...] or
            lt.Scalar; keyword-only parameters with any other annotation are compile-time constants. It
            returns one value per token, or lt.Outputs.

    Raises:
        SpecError: an annotation, a default or a name of a parameter is not possible.
    """
    return Loss(function)


def _traced_input(trace: Trace, given: SpecInput) -> Value | Entries:
    if given.entries is None:
        return trace.input(given.axis, given.name, given.type)
    return Entries(
        given.name, tuple(trace.input(given.axis, given.name, given.type, k) for k in range(given.entries))
    )


# ---- what a loss returns -----------------------------------------------------------------------------------


def _outputs(loss: Loss, result: object, trace: Trace) -> tuple[list[tuple[str, Value]], bool]:
    """The named values of a result, checked, and whether it is a bare one."""
    if not isinstance(result, Outputs):
        return [("loss", _output(loss, "the loss", "loss", result, trace))], True
    fields = [
        (name, _output(loss, f"output '{name}'", name, value, trace)) for name, value in vars(result).items()
    ]
    names = [name for name, _ in fields]
    hidden = [name for name in names if name.startswith("_")]
    if not fields:
        raise spec_error(
            f"'{loss.name}' returns lt.Outputs without a field; name at least one value, such as loss=...",
            loss.location,
        )
    if hidden:
        raise spec_error(
            f"'{loss.name}' names an output {listed(hidden)}; names of outputs start with a letter",
            loss.location,
        )
    if "weight" in names and "loss" not in names:
        raise spec_error(
            f"'{loss.name}' returns a weight but no loss; 'weight' weighs the tokens in the mean of 'loss', "
            "so "
            f"call it something else or add loss=...",
            loss.location,
        )
    return fields, False


def _output(loss: Loss, what: str, name: str, value: object, trace: Trace) -> Value:
    """One value that is returned."""
    if not isinstance(value, Value):
        raise spec_error(
            f"{what} of '{loss.name}' is {_returned(value)}; {_return_remedy(value)}", loss.location
        )
    if value.trace is not trace:
        raise spec_error(
            f"{what} of '{loss.name}' comes from another trace (of '{value.trace.name}'); a traced value "
            "lives only "
            f"while its loss runs",
            loss.location,
        )
    place = value.op.location
    if value.varying:
        raise spec_error(
            f"{what} of '{loss.name}' varies along the vocabulary, but it must be one number per token; "
            "reduce "
            f"{labels.label(value)} with lt.sum, lt.mean or lt.logsumexp, or pick an entry with [index]",
            place,
        )
    if name in ("loss", "weight") and value.type != "f32":
        raise spec_error(
            f"{what} of '{loss.name}' is {_NO_GRADIENT_TYPES[value.type]}, but it must be a float; convert "
            "it with "
            f"lt.to_float",
            place,
        )
    return value


def _returned(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float)):
        return f"the Python number {value!r}"
    if isinstance(value, Entries):
        return f"{value.label} with {len(value)} entries per token"
    return f"a {type(value).__name__}"


def _return_remedy(value: object) -> str:
    if value is None:
        return "end the function with 'return' and the value"
    if isinstance(value, (bool, int, float)):
        return "it depends on no input; return a value that is computed from the logits"
    if isinstance(value, (tuple, list, dict)):
        return "return several values by name: lt.Outputs(loss=..., entropy=...)"
    return "return one traced value, or lt.Outputs(loss=...)"


# ---- finishing a trace -------------------------------------------------------------------------------------


def _reachable(trace: Trace, outputs: list[tuple[str, Value]]) -> tuple[tuple[Op, ...], tuple[Output, ...]]:
    """The operations that outputs need, renumbered, in the order in which they were recorded."""
    needed = {value.index for _, value in outputs}
    for index in range(len(trace.ops) - 1, -1, -1):
        if index in needed:
            needed.update(trace.ops[index].operands)
    position = {old: new for new, old in enumerate(sorted(needed))}
    named = trace.named_ops()
    ops = tuple(_renumbered(named[old], position) for old in sorted(needed))
    return ops, tuple(Output(name, value.type, position[value.index]) for name, value in outputs)


def _renumbered(op: Op, position: Mapping[int, int]) -> Op:
    return replace(op, operands=tuple(position[i] for i in op.operands))


def _check_used(loss: Loss, inputs: tuple[SpecInput, ...], ops: tuple[Op, ...], needed: set[str]) -> None:
    """Every input that a call has to give must matter."""
    read = {op.attribute.name for op in ops if op.name == "logitile.input"} | needed
    unused = [given.name for given in inputs if given.name not in read]
    if unused:
        one = len(unused) == 1
        raise spec_error(
            f"{'parameter' if one else 'parameters'} {listed(unused)} of '{loss.name}' "
            f"{'does' if one else 'do'} not reach any "
            f"output; use {'it' if one else 'them'}, or remove {'it' if one else 'them'}",
            loss.location,
        )


# ---- calls from other losses -------------------------------------------------------------------------------


def _argument(loss_name: str, parameter: Parameter, item: object) -> object:
    """An argument of a loss that is called inside another one."""
    if item is None and parameter.optional:
        return None
    for kind in parameter.kinds:
        if kind.entries is not None:
            values = item.values if isinstance(item, Entries) else item
            if isinstance(values, (tuple, list)) and all(_fits(value, kind) for value in values):
                return item if isinstance(item, Entries) else Entries(parameter.name, tuple(values))
        elif _fits(item, kind):
            return item
    got = repr(item) if isinstance(item, (Value, Entries)) else f"{item!r} of type {type(item).__name__}"
    raise spec_error(f"'{loss_name}' takes '{parameter.name}' as {parameter.annotation}, got {got}")


def _fits(item: object, kind: Kind) -> bool:
    if isinstance(item, Value):
        return item.type == kind.type and kind.varying == item.varying
    plain = {"f32": (int, float), "i32": (int,), "i1": (bool,)}[kind.type]
    return not kind.varying and isinstance(item, plain) and (kind.type == "i1" or not isinstance(item, bool))
