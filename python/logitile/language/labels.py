"""How errors call a traced value: by the user's variable if there is one, else by what made it."""

from __future__ import annotations

from ..messages.locations import user_frame
from ..messages.names import with_article
from . import trace as tracing

_PYTHON = {float: "f32", int: "i32", bool: "i1"}
_WORDS = {"f32": "float", "i32": "integer", "i1": "bool"}
_SYMBOLS = {
    "arith.addf": "+", "arith.addi": "+", "arith.subf": "-", "arith.subi": "-", "arith.mulf": "*",
    "arith.muli": "*", "logitile.weigh": "*", "arith.divf": "/", "math.powf": "**", "arith.negf": "-",
    "arith.andi": "&", "arith.ori": "|", "arith.xori": "~", "arith.select": "lt.where",
    "logitile.pick": "[...]", "arith.maximumf": "lt.maximum", "arith.minimumf": "lt.minimum",
    "arith.maxsi": "lt.maximum", "arith.minsi": "lt.minimum", "math.absf": "lt.abs",
    "math.clampf": "lt.clamp", "arith.sitofp": "lt.to_float", "arith.uitofp": "lt.to_float",
}  # fmt: skip


def label(value: tracing.Value) -> str:
    """Such as "'temperature'", or "the result of 'lt.exp' (train.py:38)"."""
    op = value.op
    if op.name == "logitile.input":
        index = "" if op.attribute.index is None else f"[{op.attribute.index}]"
        return f"'{op.attribute.name}{index}'"
    if op.name == "arith.constant":
        return str(op.attribute)
    variable = _variable(value)
    if variable is not None:
        return f"'{variable}'"
    op = value.trace.ops[value.trace.wrapped.get(value.index, value.index)]  # what the user wrote
    place = "" if op.location is None else f" ({op.location})"
    return f"the result of {_function(op)}{place}"


def described(value: object) -> str:
    """A value with its type: "the integer 'target'", "the result of '+' (train.py:38), a float"."""
    if not isinstance(value, tracing.Value):
        return f"the {_WORDS[_PYTHON[type(value)]]} {value}"
    name, word = label(value), _WORDS[value.type]
    if name.startswith("'"):
        return f"the {word} {name}"
    return f"{name}, {with_article(word)}"


def _variable(value: tracing.Value) -> str | None:
    """The user's name for a value: of the line that is being executed first."""
    frame = user_frame()
    for name, held in frame.f_locals.items() if frame is not None else ():
        if isinstance(held, tracing.Value) and held.trace is value.trace and held.index == value.index:
            return name
    return value.trace.variables().get(value.index)


def _function(op: tracing.Op) -> str:
    if op.name in ("arith.cmpf", "arith.cmpi"):
        return "a comparison"
    word = op.attribute if op.name == "logitile.reduce" else op.name.partition(".")[2]
    return f"'{_SYMBOLS.get(op.name, f'lt.{word}')}'"
