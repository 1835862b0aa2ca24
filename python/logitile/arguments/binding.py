"""Binds the arguments of a call to the parameters of a loss, and checks names, shapes,
dtypes and devices.

What arrays hold (indices in range, ignored tokens) is the business of indices.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device
from ..frameworks.choice import described
from ..frameworks.dtypes import FLOATS, INTEGERS
from ..language.annotations import MAX_ENTRIES, Kind
from ..language.definition import Specialisation
from ..language.signature import Parameter, Signature
from ..messages.names import did_you_mean, listed, shape_text
from .buffers import check_apart, checked_buffers
from .call import Arguments, Pair, operand_name
from .options import Options

_MOST_TOKENS = 2**31 - 1
_MOST_ENTRIES = 2**31 - 2**16  # numbers of entries have 32 bits, also after the last tile
_MOST_HIDDEN = 2**31 - 2**16  # the native module takes no more

_OPERAND_DTYPES = ("float32", "bfloat16", "float16")
_DENSE_DTYPES = ("float32", "bfloat16", "float16")


def named_arguments(signature: Signature, args: Sequence[object], named: Mapping[str, object]) -> Arguments:
    """The arguments of a call by their names, each described alone.

    Args:
        signature: of the loss.
        args: hidden and weight of one pair after the other.
        named: other inputs by name, pairs as tuples, `divisor` and `weight_grad_out`.

    Raises:
        CallTypeError: a name is unknown, missing or doubled, or something is no array.
        CallValueError: a buffer does not fit its weight.
    """
    named = dict(named)
    divisor, buffers = named.pop("divisor", None), named.pop("weight_grad_out", None)
    _check_names(signature, args, named)
    pairs = _pairs(signature, args, named)
    inputs = _inputs(signature, named)
    if divisor is True or divisor is False:
        raise CallTypeError(f"'divisor' is the bool {divisor}, but it must be a number")
    factor = None if divisor is None else described(divisor, "divisor")
    given = Arguments(pairs, inputs, factor, checked_buffers(buffers, pairs))
    if given.weight_grad_out:
        check_apart(given.weight_grad_out, _named(given))
    return given


def specialised(signature: Signature, options: Options, given: Arguments) -> Specialisation:
    """Checks arguments against the loss and each other.

    Raises:
        CallTypeError: a type is wrong.
        CallValueError: shapes or devices do not agree.
    """
    several = len(signature.pairs) > 1
    for pair in given.pairs:
        _check_pair(pair, options, several)
    vocab, leading = _common_extents(given.pairs, options)
    specialisation = _specialisation(signature, options, given, vocab, leading)
    _check_divisor(given.divisor, options)
    _check_devices(given)
    return specialisation


# ---- names ---------------------------------------------------------------------------------------


def _check_names(signature: Signature, args: Sequence[object], named: Mapping[str, object]) -> None:
    for name in named:
        if signature.input(name):
            continue
        if any(constant.name == name for constant in signature.constants):
            raise CallTypeError(
                f"'{name}' is a constant of '{signature.name}': give it to lt.jit, not to the head"
            )
        if name == "segments":
            raise CallTypeError(
                "'segments' belongs to calls of a head, value_and_grad, reference, reference_grad, ir and "
                "explain; here give reduction='none' to lt.jit, and sum the results of the tokens"
            )
        known = [p.name for p in signature.inputs] + ["divisor", "weight_grad_out"]
        hint = _pair_hint(signature, args, named, name) or did_you_mean(name, known)
        raise CallTypeError(f"'{signature.name}' has no input '{name}'{hint}")


def _pair_hint(
    signature: Signature, args: Sequence[object], named: Mapping[str, object], name: str
) -> str:
    """How to give a pair, if `name` is the name of one array of a pair that is missing; else ""."""
    stem, _, part = name.rpartition("_")
    missing = [p.name for p in signature.pairs[len(args) // 2 :] if p.name not in named]
    if part not in ("hidden", "weight") or not missing or stem not in ("", *missing):
        return ""
    pair = stem or missing[0]
    return f"; give hidden states and weight of '{pair}' by position, or as {pair}=(hidden, weight)"


def _pairs(signature: Signature, args: Sequence[object], named: dict[str, object]) -> tuple[Pair, ...]:
    parameters = signature.pairs
    if len(args) > 2 * len(parameters):
        others = listed(p.name for p in signature.others)
        remedy = f"; pass {others} by name" if others else ""
        raise CallTypeError(
            f"'{signature.name}' takes {2 * len(parameters)} arrays by position (hidden and weight of "
            f"{listed(p.name for p in parameters)}), got {len(args)}{remedy}"
        )
    if len(args) % 2:
        raise CallTypeError(
            f"the hidden array of '{parameters[len(args) // 2].name}' is given without its weight"
        )
    given = {p.name: (args[2 * i], args[2 * i + 1]) for i, p in enumerate(parameters[: len(args) // 2])}
    pairs = []
    for parameter in parameters:
        item = named.pop(parameter.name, None)
        if item is not None and parameter.name in given:
            raise CallTypeError(f"'{parameter.name}' is given twice: by position and by name")
        item = given.get(parameter.name, item)
        if item is None and not parameter.optional:
            raise CallTypeError(
                f"'{parameter.name}' is missing: a pair of hidden and weight, by position or as "
                f"{parameter.name}=(...)"
            )
        if item is not None:
            pairs.append(_pair(parameter.name, item, len(parameters) > 1))
    return tuple(pairs)


def _inputs(signature: Signature, named: Mapping[str, object]) -> dict[str, Array]:
    inputs = {}
    for parameter in signature.others:
        item = named.get(parameter.name)
        if item is True or item is False:  # warm calls count their functions
            raise CallTypeError(_not_a_bool(parameter, item))
        if item is not None:
            inputs[parameter.name] = array = described(item, parameter.name)
            if array.framework.is_number and parameter.kinds[0].element == "int":
                _check_whole(parameter, item, array)
        elif not parameter.optional:
            raise CallTypeError(f"'{parameter.name}' is missing: {parameter.annotation}, {_what(parameter)}")
    return inputs


def _check_whole(parameter: Parameter, item: object, array: Array) -> None:
    if isinstance(item, int) and (array.dtype not in INTEGERS or not -(2**31) <= item < 2**31):
        raise CallValueError(
            f"'{parameter.name}' is {item}, but {parameter.annotation} takes integers that fit in 32 bits"
        )


def _not_a_bool(parameter: Parameter, item: bool) -> str:
    """Why Python's True is no input: for a number it would be a guess, and arrays have a shape."""
    start = f"'{parameter.name}' is the bool {item}, but {parameter.annotation} takes {_what(parameter)}"
    if parameter.kinds[0].axis == "scalar":
        number = int(item) if parameter.kinds[0].element == "int" else float(item)
        return f"{start}; pass {number} if that is meant"
    return f"{start}, as an array"


def _what(parameter: Parameter) -> str:
    """What an input has one value for, for errors."""
    words = {
        "token": "one value per token",
        "vocab": "one value per vocabulary entry",
        "scalar": "a number",
        "dense": "one value per token and vocabulary entry",
    }
    return " or ".join(words[kind.axis] for kind in parameter.kinds)


# ---- projections ---------------------------------------------------------------------------------


def _pair(name: str, item: object, several: bool) -> Pair:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise CallTypeError(f"'{name}' must be a tuple of hidden and weight, not {type(item).__name__}")
    hidden = described(item[0], operand_name(name, "hidden", several))
    return Pair(name, hidden, described(item[1], operand_name(name, "weight", several)))


def _check_pair(pair: Pair, options: Options, several: bool) -> None:
    hidden_name, weight_name = (operand_name(pair.name, part, several) for part in ("hidden", "weight"))
    hidden, weight = pair.hidden, pair.weight
    allowed = FLOATS if options.is_reference else _OPERAND_DTYPES
    for operand, array in ((hidden_name, hidden), (weight_name, weight)):
        if array.dtype not in allowed or array.framework.is_number:
            raise CallTypeError(
                f"'{operand}' is {array.dtype}; hidden and weight are float32, bfloat16 or float16"
                f"{_cast_remedy(array, 'float32')}{_reference_remedy(array)}"
            )
    if hidden.operand_dtype != weight.operand_dtype:
        raise CallTypeError(
            f"'{hidden_name}' is {hidden.operand_dtype} but '{weight_name}' is {weight.operand_dtype}; both "
            f"must be the same; convert one of them{_autocast_remedy(weight)}"
        )
    if not hidden.shape:
        raise CallValueError(
            f"'{hidden_name}' has no axis; its shape is leading dimensions and the hidden size"
        )
    if len(weight.shape) != 2:
        raise CallValueError(
            f"'{weight_name}' has shape {shape_text(weight.shape)}; it must be {_weight_axes(options)}"
        )
    hidden_size = weight.shape[1] if options.weight_layout == "vd" else weight.shape[0]
    if hidden.shape[-1] != hidden_size:
        raise CallValueError(
            f"hidden size {hidden.shape[-1]} of '{hidden_name}' {shape_text(hidden.shape)} must equal "
            f"hidden size {hidden_size} of '{weight_name}' {shape_text(weight.shape)}, which is "
            f"{_weight_axes(options)}{_other_layout(hidden, weight, options)}"
        )
    if hidden_size == 0:
        raise CallValueError(
            f"'{hidden_name}' {shape_text(hidden.shape)} has hidden size 0; there is nothing to project"
        )


def _cast_remedy(array: Array, dtype: str) -> str:
    """How an array comes to be of another type."""
    return "" if array.framework.is_number else f"; convert it {array.framework.conversion(dtype)}"


def _reference_remedy(array: Array) -> str:
    is_double = array.dtype == "float64" and not array.framework.is_number
    return ", or give lt.jit backend='reference', which computes in float64" if is_double else ""


def _autocast_remedy(weight: Array) -> str:
    autocast = weight.framework.autocast
    return f", or call the head under {autocast}" if autocast else ""


def _weight_axes(options: Options) -> str:
    return "[vocabulary, hidden]" if options.weight_layout == "vd" else "[hidden, vocabulary]"


def _other_layout(hidden: Array, weight: Array, options: Options) -> str:
    """A remedy where the other layout would fit."""
    other = "dv" if options.weight_layout == "vd" else "vd"
    fits = hidden.shape[-1] == weight.shape[0 if other == "dv" else 1]
    return f"; lt.jit(..., weight_layout='{other}') takes the other order" if fits else ""


def _common_extents(pairs: tuple[Pair, ...], options: Options) -> tuple[int, tuple[int, ...]]:
    """Vocabulary size and leading dimensions, the same for every pair."""
    axis = 0 if options.weight_layout == "vd" else 1
    first = pairs[0]
    vocab, leading = first.weight.shape[axis], first.hidden.shape[:-1]
    for pair in pairs:
        if pair.hidden.shape[-1] > _MOST_HIDDEN:
            raise CallValueError(
                f"'{pair.name}.hidden' has a hidden size of {pair.hidden.shape[-1]}; "
                f"{_MOST_HIDDEN} is the most"
            )
    for pair in pairs[1:]:
        if pair.weight.shape[axis] != vocab:
            raise CallValueError(
                f"vocabulary size {pair.weight.shape[axis]} of '{pair.name}' must equal vocabulary size "
                f"{vocab} of '{first.name}'; slice rows of padding off: "
                f"weight[{':, ' * axis}:{min(vocab, pair.weight.shape[axis])}]"
            )
        if pair.hidden.shape[:-1] != leading:
            raise CallValueError(
                f"leading dimensions {shape_text(pair.hidden.shape[:-1])} of '{pair.name}.hidden' must "
                f"equal {shape_text(leading)} of '{first.name}.hidden'"
            )
    if vocab == 0:
        raise CallValueError(
            f"the weight of '{first.name}' has a vocabulary of 0 entries; a loss needs at least one"
        )
    if vocab > _MOST_ENTRIES:
        raise CallValueError(
            f"the weight of '{first.name}' has a vocabulary of {vocab} entries; {_MOST_ENTRIES} are the most"
        )
    if prod(leading) > _MOST_TOKENS:
        raise CallValueError(
            f"a call has at most {_MOST_TOKENS} tokens; '{first.name}.hidden' has {prod(leading)}"
        )
    return vocab, leading


# ---- other inputs --------------------------------------------------------------------------------


def _specialisation(
    signature: Signature, options: Options, given: Arguments, vocab: int, leading: tuple[int, ...]
) -> Specialisation:
    entries, per_token = [], set()
    for name, array in given.inputs.items():
        parameter = signature.input(name)
        kind = _chosen_kind(parameter, array)
        _check_shape(name, array, kind, vocab, leading)
        _check_dtype(name, array, kind, parameter, options)
        if kind.entries is not None:
            entries.append((name, array.shape[-1]))
        if len(parameter.kinds) > 1 and kind.axis == "token":
            per_token.add(name)
    present = {pair.name for pair in given.pairs} | set(given.inputs)
    optional = frozenset(p.name for p in signature.inputs if p.optional and p.name in present)
    return Specialisation(vocab, optional, tuple(entries), frozenset(per_token))


def _chosen_kind(parameter: Parameter, array: Array) -> Kind:
    """`lt.Scalar | lt.Token[float]`: an array without axes is a Scalar."""
    if len(parameter.kinds) == 1:
        return parameter.kinds[0]
    return next(kind for kind in parameter.kinds if (kind.axis == "scalar") == (array.shape == ()))


def _check_shape(name: str, array: Array, kind: Kind, vocab: int, leading: tuple[int, ...]) -> None:
    wanted = {"token": leading, "vocab": (vocab,), "dense": (*leading, vocab), "scalar": ()}[kind.axis]
    if kind.entries is None:
        if array.shape != wanted:
            raise CallValueError(
                f"'{name}' has shape {shape_text(array.shape)}; {kind} needs {shape_text(wanted)}: "
                f"{_axes_text(kind)}{_shape_remedy(kind, array, wanted)}"
            )
        return
    fixed = isinstance(kind.entries, int)
    count = array.shape[-1] if array.shape else 0
    if array.shape[:-1] != leading or not array.shape or (fixed and count != kind.entries):
        wanted = (*leading, kind.entries if fixed else "K")
        raise CallValueError(
            f"'{name}' has shape {shape_text(array.shape)}; {kind} needs {shape_text(wanted)}: the leading "
            "dimensions of hidden, then the entries per token"
        )
    if not 1 <= count <= MAX_ENTRIES:
        raise CallValueError(f"'{name}' has {count} entries per token; {kind} takes 1 to {MAX_ENTRIES}")


def _axes_text(kind: Kind) -> str:
    return {
        "token": "the leading dimensions of hidden",
        "vocab": "the vocabulary",
        "scalar": "a number or an array without axes",
        "dense": "the leading dimensions of hidden, then the vocabulary",
    }[kind.axis]


def _shape_remedy(kind: Kind, array: Array, wanted: tuple[int, ...]) -> str:
    if kind.axis == "token" and array.shape == () and wanted:
        return f"; annotate it lt.Scalar | {kind} to take a number too" if kind.element == "float" else ""
    return ""


def _check_dtype(name: str, array: Array, kind: Kind, parameter: Parameter, options: Options) -> None:
    if kind.axis == "scalar" and kind.element == "float":
        allowed: tuple[str, ...] = (*FLOATS, *INTEGERS)
    elif kind.element == "float":
        allowed = _DENSE_DTYPES if kind.axis == "dense" and not options.is_reference else FLOATS
    else:
        allowed = INTEGERS if kind.element == "int" else ("bool",)
    if array.dtype in allowed:
        return
    usual = {"float": "float32", "int": "int64", "bool": "bool"}[kind.element]
    remedy = "" if kind.axis == "scalar" else _cast_remedy(array, usual)
    raise CallTypeError(
        f"'{name}' is {array.dtype}; {parameter.annotation} takes {', '.join(allowed)}{remedy}"
    )


# ---- what goes with a call -----------------------------------------------------------------------


def _check_divisor(array: Array | None, options: Options) -> None:
    if array is None:
        return
    if options.reduces != "mean":
        raise CallValueError(
            f"'divisor' replaces the denominator of a mean, but the reduction is '{options.reduces}'"
        )
    if array.shape != () or array.dtype not in (*FLOATS, *INTEGERS):
        raise CallValueError(f"'divisor' is {array}; it must be a number or an array of numbers without axes")


def _check_devices(call: Arguments) -> None:
    arrays = _named(call) + [("weight_grad_out", buffer) for buffer in call.weight_grad_out.values()]
    check_same_device(arrays)


def _named(call: Arguments) -> list[tuple[str, Array]]:
    """Every array that the call reads, as errors call it."""
    arrays = [(name, operand.array) for name, operand in call.operands.items()]
    return arrays if call.divisor is None else [*arrays, ("divisor", call.divisor)]
