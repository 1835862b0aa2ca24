"""Operators on traced values: how they combine types, and which operation each one records."""

from __future__ import annotations

from ..frameworks.choice import python_number
from ..messages.locations import spec_error
from ..messages.names import with_article
from . import refusals
from .trace import Traced, Whole, active_trace, current_trace, described

_PREDICATES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_PYTHON_TYPES = {"f32": float, "i32": int, "i1": bool}
_NUMBERS = (bool, int, float)
_MOST_BITS = 1023  # what is longer may be too large for a Python float, and too long to be printed

Number = float | int | bool


def lifted(item: object, what: str) -> Traced | Number:
    """A traced value or a plain number, or an error that says where arrays and tuples belong."""
    if isinstance(item, Whole):
        item = item.whole()
    if isinstance(item, Traced):
        if item.trace is not active_trace():
            raise spec_error(item.trace.leaked(item.label))
        return _entries_of(item) if item.is_ranked and item.type == "f32" else item
    if isinstance(item, _NUMBERS):
        return _known_number(item, what)
    number = python_number(item)
    if number is not item:
        return lifted(number, what)
    raise spec_error(refusals.foreign_operand(item, what))


def _known_number(item: Number, what: str) -> Number:
    """A number as one of Python's own types, without the subclass of somebody else."""
    if isinstance(item, int) and item.bit_length() > _MOST_BITS:
        raise spec_error(
            f"'{what}' got an integer of {item.bit_length()} bits, which neither a float nor an integer of a "
            "loss can hold; use float('inf') for infinity"
        )
    return next(kind(item) for kind in _NUMBERS if isinstance(item, kind))


def operands(a: object, b: object, what: str) -> tuple[Traced, Traced]:
    """Both operands of 'what' with one type; a plain number takes the type of the other operand."""
    a, b = lifted(a, what), lifted(b, what)
    type_a, type_b = _type_of(a), _type_of(b)
    if type_a != type_b:
        if isinstance(a, int) and type_a == "i32" and type_b == "f32":
            a, type_a = float(a), "f32"
        elif isinstance(b, int) and type_b == "i32" and type_a == "f32":
            b, type_b = float(b), "f32"
        else:
            raise spec_error(
                f"'{what}' mixes {described(a)} and {described(b)}; {_conversion(a, b)}"
            )
    trace = current_trace(f"'{what}'")
    lifted_pair = (x if isinstance(x, Traced) else trace.constant(x, type_a) for x in (a, b))
    return tuple(lifted_pair)  # type: ignore[return-value]


def float_operand(item: object, what: str) -> Traced:
    """The operand of a function of floats."""
    item = lifted(item, what)
    if not isinstance(item, Traced):
        return current_trace(f"'{what}'").constant(float(item), "f32")
    if item.type != "f32":
        raise spec_error(f"'{what}' takes floats, got {described(item)}; convert it with lt.to_float")
    return item


def bool_operand(item: object, what: str) -> Traced:
    """The operand of a function of bools."""
    item = lifted(item, what)
    if isinstance(item, bool):
        return current_trace(f"'{what}'").constant(item, "i1")
    if not isinstance(item, Traced) or item.type != "i1":
        raise spec_error(
            f"'{what}' takes bools, got {described(item)}; compare it first, for example x > 0"
        )
    return item


# ---- operators -----------------------------------------------------------------------------------


def add(a: object, b: object) -> Traced:
    return _binary("+", a, b, "arith.addf", "arith.addi")


def subtract(a: object, b: object) -> Traced:
    return _binary("-", a, b, "arith.subf", "arith.subi")


def multiply(a: object, b: object) -> Traced:
    return _binary("*", a, b, "arith.mulf", "arith.muli")


def divide(a: object, b: object) -> Traced:
    a, b = _floats("/", a, b)
    return a.trace.emit("arith.divf", (a, b))


def power(a: object, b: object, what: str = "**") -> Traced:
    a, b = _floats(what, a, b)
    return a.trace.emit("math.powf", (a, b))


def negate(a: object) -> Traced:
    value = lifted(a, "-")
    if isinstance(value, Traced) and value.type == "i32":
        return subtract(0, value)
    value = float_operand(value, "-")
    return value.trace.emit("arith.negf", (value,))


def absolute(a: object) -> Traced:
    value = float_operand(a, "lt.abs")
    return value.trace.emit("math.absf", (value,))


def compare(symbol: str, a: object, b: object) -> Traced:
    a, b = operands(a, b, symbol)
    predicate = _PREDICATES[symbol]
    if a.type == "f32":  # ordered: false for NaN, except for "differs"
        return a.trace.emit("arith.cmpf", (a, b), attribute="une" if predicate == "ne" else "o" + predicate)
    if a.type == "i1" and predicate not in ("eq", "ne"):
        raise spec_error(
            f"'{symbol}' has no meaning for bools such as {described(a)}; use ==, !=, &, | and ~"
        )
    return a.trace.emit(
        "arith.cmpi", (a, b), attribute=predicate if predicate in ("eq", "ne") else "s" + predicate
    )


def logical(symbol: str, a: object, b: object) -> Traced:
    a, b = bool_operand(a, symbol), bool_operand(b, symbol)
    return a.trace.emit({"&": "arith.andi", "|": "arith.ori"}[symbol], (a, b))


def invert(a: object) -> Traced:
    value = bool_operand(a, "~")
    return value.trace.emit("arith.xori", (value, value.trace.constant(True, "i1")))


def pick(value: Traced, index: object) -> Traced:
    """value[index]: the entry of a varying value at an integer per token, the entries at a list of
    integers, or a place of a list of 'lt.topk'.
    """
    if value.is_ranked:
        return _at_place(value, index)
    if value.places is not None:
        raise spec_error(
            f"{value.label} is a list of {value.places} numbers per token that was computed; '[...]' takes "
            "single entries of an input, and entries of values that vary along the vocabulary"
        )
    position = _index(value, index)
    if not value.varying:
        raise spec_error(
            f"{value.label} is one number per token and has no entries to pick with '[...]'; only "
            "values that vary along the vocabulary have, such as logits"
        )
    gathered = value.trace.emit("logitile.gather", (value, position), value.type, varying=False)
    return _guarded(gathered, position)


def _at_place(listed: Traced, place: object) -> Traced:
    """One place of a list that 'lt.topk' made. A value is what the entry at its index is."""
    if listed.trace is not active_trace():
        raise spec_error(listed.trace.leaked(listed.label))
    number = python_number(place)
    if not isinstance(number, int) or isinstance(number, bool):
        raise spec_error(
            f"'[...]' of {listed.label}, a list, got {_spelled_place(place)}; it takes a Python integer, "
            "known while tracing"
        )
    if not -listed.places <= number < listed.places:
        raise spec_error(
            f"'[...]' of {listed.label} got {number}, but the list has {listed.places} places; it takes "
            f"{-listed.places} to {listed.places - 1}"
        )
    trace, ordered = listed.trace, listed.operand(0)
    indices = trace.emit("logitile.reduce", (ordered,), "i32", "argtop", varying=False, places=listed.places)
    position = trace.constant(number % listed.places, "i32")
    index = trace.emit("logitile.gather", (indices, position), "i32", varying=False)
    if listed.type == "i32":
        return index
    return trace.emit("logitile.gather", (ordered, index), "f32", varying=False)


def _entries_of(listed: Traced) -> Traced:
    """The values of a list of 'lt.topk', as the entries at its indices:
    gradients flow to these entries.
    """
    trace, ordered, place = listed.trace, listed.operand(0), listed.op.location
    indices = trace.emit("logitile.reduce", (ordered,), "i32", "argtop", False, place, listed.places)
    return trace.emit("logitile.gather", (ordered, indices), "f32", varying=False, location=place)


# ---- their parts ---------------------------------------------------------------------------------


def _guarded(picked: Traced, index: Traced) -> Traced:
    """An entry of a Token[int, K] that equals ignore_index picks nothing: NaN, -1 or False."""
    trace, key = picked.trace, index.op.attribute
    is_entry = index.op.name == "logitile.input" and (key.index is not None or key.places is not None)
    if trace.ignore_index is None or not is_entry:
        return picked
    nothing = trace.constant({"f32": float("nan"), "i32": -1, "i1": False}[picked.type], picked.type)
    return trace.emit("arith.select", (is_valid(index), picked, nothing))


def is_valid(index: Traced) -> Traced:
    """index != ignore_index; true where no index is ignored.
    Of a list it is a list in either case.
    """
    trace = index.trace
    if not index.is_ranked:
        trace.needed_inputs.add(index.op.attribute.name)
    if index.is_ranked or (trace.ignore_index is None and index.places is not None):
        return trace.emit("arith.cmpi", (index, index), attribute="eq")
    if trace.ignore_index is None:
        return trace.constant(True, "i1")
    return trace.emit("arith.cmpi", (index, trace.constant(trace.ignore_index, "i32")), attribute="ne")


def _index(value: Traced, index: object) -> Traced:
    """The position of a pick: an integer that is one per token."""
    name = value.label
    if isinstance(index, (slice, tuple, list, float)) or index is None or index is Ellipsis:
        raise spec_error(
            f"'[...]' of {name} got {_spelled_index(index)}; it takes one integer per token, such as a "
            "target: the vocabulary axis is implicit and cannot be cut"
        )
    index = lifted(index, "[...]")
    if isinstance(index, Traced):
        return _checked_index(index, name)
    if isinstance(index, bool) or not 0 <= index < value.trace.vocab:
        raise spec_error(
            f"'[...]' of {name} got {index}; it takes 0 to {value.trace.vocab - 1} (lt.vocab_size() - 1)"
        )
    return value.trace.constant(index, "i32")


def _checked_index(index: Traced, name: str) -> Traced:
    if index.type != "i32":
        raise spec_error(
            f"'[...]' of {name} got {described(index)}; it takes one integer per token, such as a "
            "target"
        )
    if index.places is not None and index.op.name != "logitile.input" and not index.is_ranked:
        raise spec_error(
            f"'[...]' of {name} got {index.label}, a list that was computed; a list of indices is an input, "
            "or what 'lt.topk' gives: compute it before the call"
        )
    if index.op.name == "logitile.input" and index.op.attribute.axis == "scalar":
        raise spec_error(
            f"'[...]' of {name} got {described(index)}, which is one for the whole call; annotate it "
            "lt.Token[int]"
        )
    if index.varying:
        raise spec_error(
            f"{index.label} varies along the vocabulary but '[...]' of {name} needs one index per "
            "token; reduce it first, for example with lt.argmax"
        )
    return index


def _spelled_place(place: object) -> str:
    return described(place) if isinstance(place, (Traced, *_NUMBERS)) else with_article(type(place).__name__)


def _spelled_index(index: object) -> str:
    if isinstance(index, (slice, tuple, list)):
        return with_article(type(index).__name__)
    return f"{index}" if not isinstance(index, float) else f"the float {index}"


def _binary(symbol: str, a: object, b: object, of_floats: str, of_integers: str) -> Traced:
    a, b = _numbers(symbol, a, b)
    return a.trace.emit(of_floats if a.type == "f32" else of_integers, (a, b))


def _numbers(symbol: str, a: object, b: object) -> tuple[Traced, Traced]:
    a, b = operands(a, b, symbol)
    if a.type == "i1":
        raise spec_error(
            f"'{symbol}' has no meaning for bools such as {described(a)}; use &, | and ~, or "
            "lt.where, or convert with lt.to_float"
        )
    return a, b


def _floats(symbol: str, a: object, b: object) -> tuple[Traced, Traced]:
    a, b = _numbers(symbol, a, b)
    if a.type == "i32":
        raise spec_error(
            f"'{symbol}' of integers such as {described(a)} would round; convert with lt.to_float "
            "first"
        )
    return a, b


def _type_of(item: Traced | Number) -> str:
    if isinstance(item, Traced):
        return item.type
    return next(name for name, kind in _PYTHON_TYPES.items() if type(item) is kind)


def _conversion(a: Traced | Number, b: Traced | Number) -> str:
    """What to do about two types that do not meet."""
    for item in (a, b):
        if isinstance(item, Traced) and item.type != "f32":
            name = item.label
            return (
                f"convert with lt.to_float({name[1:-1]})"
                if name.startswith("'")
                else "convert the integer or bool with lt.to_float"
            )
    return "write the number as the other operand's type"
