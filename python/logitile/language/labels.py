"""Names in errors for traced values that are in no variable of the user."""

from __future__ import annotations

from ..messages.names import with_article
from ..spec.operations import Op

_PYTHON = {float: "f32", int: "i32", bool: "i1"}
_WORDS = {"f32": "float", "i32": "integer", "i1": "bool"}
_SYMBOLS = {
    "arith.addf": "+", "arith.addi": "+", "arith.subf": "-", "arith.subi": "-", "arith.mulf": "*",
    "arith.muli": "*", "logitile.multiply_no_nan": "*", "arith.divf": "/", "math.powf": "**",
    "arith.negf": "-",
    "arith.andi": "&", "arith.ori": "|", "arith.xori": "~", "arith.select": "lt.where",
    "logitile.gather": "[...]", "arith.maximumf": "lt.maximum", "arith.minimumf": "lt.minimum",
    "arith.maxsi": "lt.maximum", "arith.minsi": "lt.minimum", "math.absf": "lt.abs",
    "math.clampf": "lt.clamp", "arith.sitofp": "lt.to_float", "arith.uitofp": "lt.to_float",
}  # fmt: skip


def of_leaf(op: Op) -> str:
    """An input by its name, a constant by its number."""
    if op.name == "arith.constant":
        return str(op.attribute)
    index = "" if op.attribute.index is None else f"[{op.attribute.index}]"
    return f"'{op.attribute.name}{index}'"


def of_result(op: Op) -> str:
    """Such as "the result of 'lt.exp' (train.py:38)"."""
    place = "" if op.location is None else f" ({op.location})"
    return f"the result of {_function(op)}{place}"


def with_type(label: str, type: str) -> str:
    """A label with a type: "the integer 'target'", "the result of '+' (train.py:38), a float"."""
    word = _WORDS[type]
    return f"the {word} {label}" if label.startswith("'") else f"{label}, {with_article(word)}"


def number(number: object) -> str:
    """A Python number with its type: "the float 2.5"."""
    return f"the {_WORDS[_PYTHON[type(number)]]} {number}"


def _function(op: Op) -> str:
    if op.name in ("arith.cmpf", "arith.cmpi"):
        return "a comparison"
    if op.is_ranked:
        return "'lt.topk'"
    if op.name == "logitile.sum_list":
        return "'lt.sum'"
    word = op.attribute if op.name == "logitile.reduce" else op.name.partition(".")[2]
    return f"'{_SYMBOLS.get(op.name, f'lt.{word}')}'"
