"""Prints a traced loss as text of the `spec` stage, for logitile-opt. It makes no decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..messages.locations import Location
from .float32 import f32_text
from .operations import InputKey, Op, Output

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def spec_text(
    name: str,
    vocab: int,
    ops: Sequence[Op],
    outputs: Sequence[Output],
    gradients: tuple[Iterable[str], Iterable[str]] | None,
    location: Location | None,
    locations: bool,
) -> str:
    """The text of a loss; see LossSpec for its parts.

    Args:
        gradients: outputs, and the inputs whose gradients of them are wanted.
        location: where the loss is defined.
        locations: print the user's variable names and lines.
    """
    names = _value_names(ops, locations)
    line = f"logitile.loss {_symbol(name)} vocab {vocab} outputs {_strings(o.name for o in outputs)}"
    if gradients is not None:
        of, wrt = gradients
        line += f" gradient of {_strings(of)} wrt {_strings(wrt)}"
    lines = [line + " {"]
    for index, op in enumerate(ops):
        place = _location(op.label, op.location) if locations else ""
        lines.append(f"  {names[index]} = {_operation(op, [names[i] for i in op.operands], ops)}{place}")
    results = ", ".join(names[output.value] for output in outputs)
    types = ", ".join(output.type for output in outputs)
    place = _location(name, location) if locations else ""
    lines += [f"  logitile.yield {results} : {types}", "}" + place, ""]
    return "\n".join(lines)


def _operation(op: Op, operands: list[str], ops: Sequence[Op]) -> str:
    """The text right of the equals sign."""
    listed = ", ".join(operands)
    match op.name:
        case "logitile.input":
            return f"logitile.input {_input(op.attribute)} : {op.type}"
        case "logitile.column":
            return f"logitile.column : {op.type}"
        case "arith.constant":
            return f"arith.constant {_constant(op)}"
        case "arith.cmpf" | "arith.cmpi":
            return f"{op.name} {op.attribute}, {listed} : {ops[op.operands[0]].type}"
        case "logitile.reduce":
            places = "" if op.places is None else f" places {op.places}"
            types = f"{ops[op.operands[0]].type} -> {op.type}"
            return f"logitile.reduce {op.attribute} {listed}{places} : {types}"
        case "logitile.gather":
            return f"logitile.gather {operands[0]}[{operands[1]}] : {op.type}"
        case "math.clampf":
            return f"math.clampf {operands[0]} to [{operands[1]}, {operands[2]}] : {op.type}"
        case "arith.sitofp" | "arith.uitofp":
            return f"{op.name} {listed} : {ops[op.operands[0]].type} to {op.type}"
        case "math.isfinite" | "math.isnan":
            return f"{op.name} {listed} : {ops[op.operands[0]].type}"
    return f"{op.name} {listed} : {op.type}"


def _input(key: InputKey) -> str:
    index = "" if key.index is None else f"[{key.index}]"
    places = "" if key.places is None else f" places {key.places}"
    name = f" {_quoted(key.name)}" if key.name else ""
    return f"{key.axis}{name}{index}{places}"


def _constant(op: Op) -> str:
    if op.type == "i1":
        return "true" if op.attribute else "false"
    return f"{f32_text(op.attribute) if op.type == 'f32' else op.attribute} : {op.type}"


# ---- names and places ----------------------------------------------------------------------------


def _value_names(ops: Sequence[Op], readable: bool) -> list[str]:
    """Numbers; or the user's variables where they are unique names in MLIR as well."""
    if not readable:
        return [f"%{index}" for index in range(len(ops))]
    used: set[str] = set()
    names = []
    for index, op in enumerate(ops):
        name = op.label if op.label and _BARE_NAME.fullmatch(op.label) else str(index)
        while name in used:
            name += f"_{index}"
        used.add(name)
        names.append("%" + name)
    return names


def _location(label: str | None, location: Location | None) -> str:
    if location is None:
        return f" loc({_quoted(label)})" if label else ""
    place = f"{_quoted(location.file)}:{location.line}:{location.column}"
    return f" loc({_quoted(label)}({place}))" if label else f" loc({place})"


def _symbol(name: str) -> str:
    return "@" + (name if _BARE_NAME.fullmatch(name) else _quoted(name))


def _strings(names: Iterable[str]) -> str:
    return "[" + ", ".join(_quoted(name) for name in names) + "]"


def _quoted(text: str) -> str:
    """A string literal of MLIR: bytes that are not printable ASCII become a two-digit
    escape of its bytes.

    Names of files may hold bytes that are no UTF-8; they are shown as Python shows them.
    """
    data = text.encode(errors="backslashreplace")
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
    return '"' + "".join(plain) + '"'
