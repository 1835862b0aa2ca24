"""`lt.Outputs`, and checks of the value that a loss returns."""

from __future__ import annotations

import keyword

from ..messages.locations import Location, spec_error
from ..messages.names import did_you_mean, listed, with_article
from .trace import Trace, Whole
from .values import Value

_TYPES = {"i32": "an integer", "i1": "a bool"}


class Outputs:
    """What a loss returns when it has more to say than one number per token.

    Args:
        fields: values that are one per token. `loss` is reduced, `weight` weighs tokens in a mean,
            every other name is returned per token. `loss` may be left out.
    """

    def __init__(self, **fields: object):
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"this lt.Outputs has no field '{name}'{did_you_mean(name, vars(self))}")

    def __repr__(self) -> str:
        return f"lt.Outputs({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def checked_outputs(trace: Trace, result: object, place: Location) -> tuple[list[tuple[str, Value]], bool]:
    """The named values of what a loss returned, and whether it was one value instead of lt.Outputs.

    Args:
        place: where the loss is defined, for errors about the result as a whole.

    Raises:
        SpecError: something else was returned, or a value is not one per token.
    """
    if not isinstance(result, Outputs):
        return [("loss", _checked(trace, "the loss", "loss", result, place))], True
    fields = vars(result)
    if not fields:
        why = "returns lt.Outputs without a field; name at least one value, such as loss=..."
        raise spec_error(f"'{trace.name}' {why}", place)
    hidden = [n for n in fields if n.startswith("_") or not n.isidentifier() or keyword.iskeyword(n)]
    if hidden:
        why = "names of outputs are those of Python's variables and start with a letter"
        raise spec_error(f"'{trace.name}' names an output {listed(hidden)}; {why}", place)
    if "weight" in fields and "loss" not in fields:
        why = "'weight' weighs the tokens in the mean of 'loss', so call it something else or add loss=..."
        raise spec_error(f"'{trace.name}' returns a weight but no loss; {why}", place)
    return [
        (name, _checked(trace, f"output '{name}'", name, value, place)) for name, value in fields.items()
    ], False


def _checked(trace: Trace, what: str, name: str, value: object, place: Location) -> Value:
    """One value that was returned; 'what' is how errors call it."""
    what = f"{what} of '{trace.name}'"
    if isinstance(value, Whole):
        value = value.whole()
    if not isinstance(value, Value):
        raise spec_error(f"{what} is {_returned(value)}; {_remedy(value)}", place)
    if value.trace is not trace:
        why = "a traced value lives only while its loss runs"
        raise spec_error(f"{what} comes from another trace (of '{value.trace.name}'); {why}", place)
    if value.varying:
        raise spec_error(
            f"{what} varies along the vocabulary, but it must be one number per token; reduce "
            f"{value.label} with lt.sum, lt.mean or lt.logsumexp, or pick an entry with [index]",
            value.op.location,
        )
    if name in ("loss", "weight") and value.places is not None:
        why = "but it must be one number per token; add it up with lt.sum, or give a list another name"
        raise spec_error(f"{what} is a list of {value.places} numbers per token, {why}", value.op.location)
    if name in ("loss", "weight") and value.type != "f32":
        why = "but it must be a float; convert it with lt.to_float"
        raise spec_error(f"{what} is {_TYPES[value.type]}, {why}", value.op.location)
    return value


def _returned(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float)):
        return f"the Python number {value!r}"
    return with_article(type(value).__name__)


def _remedy(value: object) -> str:
    if value is None:
        return "end the function with 'return' and the value"
    if isinstance(value, (bool, int, float)):
        return "it depends on no input; return a value that is computed from the logits"
    if isinstance(value, (tuple, list, dict)):
        return "return several values by name: lt.Outputs(loss=..., entropy=...)"
    return "return one traced value, or lt.Outputs(loss=...)"
