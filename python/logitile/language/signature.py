"""Reads the signature of a loss function, its inputs and its constants, and refuses wrong ones."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..messages.locations import Location, definition_of, spec_error
from ..messages.names import listed
from .annotations import Annotation, Kind, Subscripted

# Keywords of lt.jit and of the calls of a head:
# an input or constant of the same name could not be given.
JIT_OPTIONS = (
    "reduction",
    "ignore_index",
    "ignore",
    "all_ignored",
    "workspace",
    "chunks",
    "backend",
    "weight_layout",
    "output_dtype",
    "tiles",
)
HEAD_KEYWORDS = (
    "divisor", "weight_grad_out", "wrt", "grad_output", "grad_dtype", "grad_out", "grad", "kernel", "timing",
    "stage", "column_offset", "vocab_size", "state", "part", "budget_s", "segments",
)  # fmt: skip
_RESERVED = {
    **dict.fromkeys(JIT_OPTIONS, "an option of lt.jit"),
    **dict.fromkeys(HEAD_KEYWORDS, "a keyword of a head's calls"),
    "hidden": "the name of a head's first operand",
    "weight": "the name of a head's second operand",
    "self": "what Python calls the head",
}


@dataclass(frozen=True)
class Parameter:
    """An input of a loss.

    Args:
        name: its name.
        kinds: its alternatives.
        optional: whether it may be absent.
        constant: whether lt.jit may give it as a constant of the same name.
    """

    name: str
    kinds: tuple[Kind, ...]
    optional: bool
    constant: bool = False

    @property
    def annotation(self) -> str:
        """The annotation, as errors write it."""
        return str(Annotation(self.kinds, self.optional and not self.constant, self.constant))


@dataclass(frozen=True)
class Constant:
    """A compile-time parameter of a loss. Without a default, 'default' is Parameter.empty."""

    name: str
    default: object

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Signature:
    """The parameters of a loss. One that is annotated `lt.Scalar | float` is an
    input and a constant.
    """

    name: str
    inputs: tuple[Parameter, ...]
    constants: tuple[Constant, ...]

    @cached_property
    def pairs(self) -> tuple[Parameter, ...]:
        """The lt.Logits parameters, each a pair of hidden states and weights at a call."""
        return tuple(p for p in self.inputs if p.kinds[0].axis == "logits")

    @cached_property
    def pair_names(self) -> frozenset[str]:
        """The names of the lt.Logits parameters."""
        return frozenset(p.name for p in self.pairs)

    @cached_property
    def others(self) -> tuple[Parameter, ...]:
        """The parameters that are no lt.Logits."""
        return tuple(p for p in self.inputs if p.kinds[0].axis != "logits")

    def input(self, name: str) -> Parameter | None:
        """The input of that name, if there is one."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Parameter]:
        return {p.name: p for p in self.inputs}


def read_signature(function: Callable) -> Signature:
    """The signature of a loss function.

    Raises:
        SpecError: an annotation, a default or a name is not what a loss may have.
    """
    place = definition_of(function.__code__)
    inputs, constants = [], []
    for parameter in inspect.signature(function).parameters.values():
        try:
            read = _read(parameter, _evaluated(parameter.annotation, function))
        except (TypeError, NameError, AttributeError, SyntaxError, _Refused) as error:
            raise spec_error(f"'{function.__name__}': {_explained(parameter, error)}", place) from None
        if isinstance(read, Parameter):
            inputs.append(read)
        if isinstance(read, Constant) or read.constant:
            constants.append(Constant(parameter.name, parameter.default))
    signature = Signature(function.__name__, tuple(inputs), tuple(constants))
    _check_logits(signature, place)
    return signature


class _Refused(Exception):
    """Why a parameter cannot be one of a loss."""


def _read(parameter: inspect.Parameter, annotation: object) -> Parameter | Constant:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise _Refused("collects arguments; a loss names every input and constant")
    if name in _RESERVED:
        raise _Refused(f"is {_RESERVED[name]}; choose another name")
    if isinstance(annotation, Annotation):
        return _input(parameter, annotation)
    if isinstance(annotation, Subscripted):
        raise _Refused(
            f"is annotated {annotation} without an element type; write it in brackets, such as "
            f"lt.{annotation.axis.capitalize()}[float]"
        )
    if parameter.kind is not parameter.KEYWORD_ONLY:
        raise _Refused(
            "has no annotation of logitile; annotate an input lt.Logits, lt.Token[int], lt.Vocab[float], "
            "lt.Dense[float] or lt.Scalar, and put constants after a '*'"
        )
    return Constant(name, parameter.default)


def _input(parameter: inspect.Parameter, annotation: Annotation) -> Parameter:
    kinds = annotation.kinds
    if annotation.constant:
        _check_scalar_or_constant(parameter, annotation)
        return Parameter(parameter.name, kinds, optional=True, constant=True)
    pair = {kind.axis for kind in kinds} == {"scalar", "token"} and kinds[0] != kinds[1]
    if len(kinds) > 1 and not (
        len(kinds) == 2 and pair and all(k.element == "float" and k.entries is None for k in kinds)
    ):
        raise _Refused(
            f"is annotated {annotation}; the only alternatives are lt.Scalar | lt.Token[float], and None"
        )
    if annotation.optional and parameter.default is not None:
        raise _Refused(
            f"may be None, so its default must be None: write '{parameter.name}: {annotation} = None'"
        )
    if not annotation.optional and parameter.default is not parameter.empty:
        raise _Refused(
            f"is an input with the default {parameter.default!r}; only '| None = None' is possible, since "
            "the value of an input is not known while tracing"
        )
    return Parameter(parameter.name, kinds, annotation.optional)


def _check_scalar_or_constant(parameter: inspect.Parameter, annotation: Annotation) -> None:
    """`lt.Scalar | float`: a constant that a call may give instead."""
    if annotation.kinds != (Kind("scalar"),):
        raise _Refused(f"is annotated {annotation}; of inputs only lt.Scalar may be a float constant as well")
    if parameter.kind is not parameter.KEYWORD_ONLY:
        raise _Refused(f"is annotated {annotation}, so it may be a constant; put it after a '*'")
    default = parameter.default
    if default is None and annotation.optional:
        return
    if not isinstance(default, (int, float)) or isinstance(default, bool):
        raise _Refused(f"is annotated {annotation}, so it needs a number as its default")


def _evaluated(annotation: object, function: Callable) -> object:
    """An annotation that is text (from __future__ import annotations) as an object."""
    if not isinstance(annotation, str):
        return annotation
    closure = inspect.getclosurevars(function).nonlocals
    return eval(annotation, {**vars(builtins), **function.__globals__}, closure)


def _explained(parameter: inspect.Parameter, error: Exception) -> str:
    if isinstance(error, _Refused):
        return f"parameter '{parameter.name}' {error}"
    # of logitile's own, without a place inside of the annotation
    reason = getattr(error, "reason", error)
    return f"the annotation '{parameter.annotation}' of parameter '{parameter.name}' cannot be read: {reason}"


def _check_logits(signature: Signature, place: Location) -> None:
    if not signature.pairs:
        raise spec_error(
            f"'{signature.name}' has no lt.Logits parameter, so there is nothing to project", place
        )
    optional = [p.name for p in signature.pairs if p.optional]
    if len(optional) == len(signature.pairs):
        raise spec_error(
            f"'{signature.name}': every lt.Logits parameter ({listed(optional)}) may be absent; one must "
            "stay",
            place,
        )
