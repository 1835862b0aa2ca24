"""The options of lt.jit, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..errors import CallTypeError, CallValueError, TargetError
from ..frameworks.choice import python_number
from ..frameworks.dtypes import FLOATS, dtype_name
from ..language.signature import JIT_OPTIONS, Signature
from ..messages.names import did_you_mean, listed
from ..runtime.platforms import platform_of, stages_of

REDUCTIONS = ("mean", "sum", "none")
REFERENCE = "reference"  # the backend that compiles nothing
_POWERS = {None: 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Options:
    """What a head is bound to, beside its loss and constants.

    Args:
        reduction: "mean", "sum" or "none";
            None where it was left to the loss ("mean" if it has a `loss`).
        ignore_index: value of the ignoring input that switches a token off; None ignores nothing.
        ignore: name of that input; None where it was left to the loss ("target" if it has one).
        all_ignored: what a mean over no token is: "nan" or "zero".
        workspace: byte budget; None means the default of the backend.
        chunks: number of token chunks; None where the budget decides.
        backend: "auto", "cpu", "cuda", "cuda:sm_90", "emu:sm_90", ...
        weight_layout: "vd" for weights [V, D], "dv" for [D, V].
        output_dtype: of float outputs; None means float32,
            "hidden" that of the first hidden states.
        tiles: tile sizes such as "TM=64,TN=64",
            in the place of those that the table of the target has.
        by_token: the loss stays per token, and `reduction` says what becomes of the tokens of a
            sequence (calls.segmented). No option of lt.jit.
    """

    reduction: str | None = None
    ignore_index: int | None = -100
    ignore: str | None = None
    all_ignored: str = "nan"
    workspace: int | None = None
    chunks: int | None = None
    backend: str = "auto"
    weight_layout: str = "vd"
    output_dtype: str | None = None
    tiles: str = ""
    by_token: bool = False

    @property
    def chosen(self) -> dict[str, object]:
        """Those that are not the defaults, by name."""
        given = ((field, getattr(self, field.name)) for field in fields(self))
        return {field.name: value for field, value in given if value != field.default}

    @property
    def reduces(self) -> str:
        """The reduction of `loss` over all tokens."""
        return "none" if self.by_token else self.reduction or "mean"

    @property
    def divides(self) -> bool:
        """Whether sums are divided by the number of tokens, or by their weights."""
        return self.reduction in ("mean", None)

    @property
    def is_reference(self) -> bool:
        """Whether the interpreter of the spec runs calls, in float64."""
        return self.backend == REFERENCE

    @property
    def ignoring_input(self) -> str:
        """The name of the input that tells ignored tokens; a loss without it ignores nothing."""
        return self.ignore or "target"


def checked_options(signature: Signature, *, workspace: object = "auto", **given: object) -> Options:
    """Options as lt.jit takes them.

    Raises:
        CallTypeError, CallValueError: a value is not possible,
            or 'ignore' names no lt.Token[int] input.
        TargetError: 'backend' names a target that there is not.
    """
    is_auto = isinstance(workspace, str) and workspace == "auto"
    budget = None if is_auto else _byte_count(python_number(workspace))
    plain = {name: python_number(value) for name, value in given.items()}
    plain["output_dtype"] = _output_dtype(given.get("output_dtype"))
    options = Options(workspace=budget, **plain)  # type: ignore[arg-type]
    _choice("reduction", options.reduction, (*REDUCTIONS, None))
    _choice("all_ignored", options.all_ignored, ("nan", "zero"))
    _choice("weight_layout", options.weight_layout, ("vd", "dv"))
    _check_ignored(signature, options)
    if options.chunks is not None:
        if type(options.chunks) is not int or options.chunks < 1:
            raise CallValueError(f"chunks={options.chunks!r} must be a positive int")
        _bounded("chunks", options.chunks, 2**31 - 1)
        if options.workspace is not None:
            raise CallValueError(
                "'chunks' and 'workspace' exclude each other: one fixes the number of chunks, the other "
                "their size"
            )
    _check_backend(options.backend)
    _check_tiles(options)
    return options


def checked_constants(signature: Signature, given: Mapping[str, object]) -> dict[str, object]:
    """The constants of a loss, NumPy scalars as Python numbers.

    Raises:
        CallTypeError: a name is unknown or a constant without a default is missing.
    """
    names = {constant.name for constant in signature.constants}
    for name in given:
        if name in names:
            continue
        if signature.input(name):
            raise CallTypeError(
                f"'{name}' is an input of '{signature.name}', not a constant: give it to the head, not to "
                "lt.jit"
            )
        raise CallTypeError(
            f"lt.jit has no option and '{signature.name}' no constant '{name}'"
            + did_you_mean(name, [*names, *JIT_OPTIONS])
        )
    missing = [c.name for c in signature.constants if c.required and c.name not in given]
    if missing:
        raise CallTypeError(f"lt.jit({signature.name}) needs {listed(missing)}: constants without a default")
    return {name: python_number(value) for name, value in given.items()}


def _check_ignore_index(index: object) -> None:
    if index is not None and (type(index) is not int or not -(2**31) <= index < 2**31):
        raise CallValueError(f"ignore_index={index!r} must be an int that fits in 32 bits, or None")


def _check_ignored(signature: Signature, options: Options) -> None:
    _check_ignore_index(options.ignore_index)
    if options.ignore is None:
        return
    integers = [
        p.name for p in signature.inputs if p.kinds[0].axis == "token" and p.kinds[0].element == "int"
    ]
    if not isinstance(options.ignore, str) or options.ignore not in integers:
        have = f"it has {listed(integers)}" if integers else "it has none"
        raise CallValueError(
            f"ignore='{options.ignore}' names no lt.Token[int] input of '{signature.name}'; {have}"
        )


def _check_backend(backend: object) -> None:
    """Checks that there is such a platform or target.

    Raises:
        CallValueError: there is no such platform.
        TargetError: the platform has no such target.
    """
    if not isinstance(backend, str):
        raise CallValueError(f"backend={backend!r} must be a str, such as 'auto' or 'cpu'")
    if backend in ("auto", REFERENCE):
        return
    try:
        platform_of(backend)
    except TargetError as error:
        raise CallValueError(f"backend={backend!r} is unknown: {error}, 'auto' and 'reference'") from None
    if ":" in backend:
        stages_of(backend)


def _check_tiles(options: Options) -> None:
    """Checks what needs no target. The compiler knows which sizes exist, and which of them fit."""
    if not isinstance(options.tiles, str):
        raise CallValueError(f"tiles={options.tiles!r} must be a str, such as 'TM=64,TN=128'")
    if options.tiles and options.is_reference:
        raise CallValueError(
            f"tiles='{options.tiles}' has no effect with backend='reference', which has none; leave it out"
        )


def _choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not isinstance(value, (str, type(None))) or value not in choices:  # arrays compare to arrays
        words = [choice for choice in choices if isinstance(choice, str)]
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        raise CallValueError(f"{name}={value!r} is none of {listed(words)}{hint}")


def _output_dtype(dtype: object) -> str | None:
    if dtype is None:
        return None
    name = dtype_name(dtype)
    if name not in (*FLOATS, "hidden"):
        raise CallValueError(f"output_dtype={dtype!r} is none of {listed((*FLOATS, 'hidden'))}")
    return name


def _byte_count(workspace: object) -> int:
    if isinstance(workspace, int) and not isinstance(workspace, bool) and workspace > 0:
        return _bounded("workspace", workspace, 2**62)
    text = workspace.lower() if isinstance(workspace, str) else ""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(i?))?b\s*", text)
    if match is None or float(match[1]) == 0:
        raise CallValueError(
            f"workspace={workspace!r} is not a byte budget; give 'auto', a positive int or text such as "
            "'512MiB'"
        )
    unit = (1024 if match[3] else 1000) ** _POWERS[match[2]]
    return _bounded("workspace", int(float(match[1]) * unit), 2**62)


def _bounded(name: str, value: int, most: int) -> int:
    if value > most:
        raise CallValueError(f"{name}={value} is more than any machine has; {most} is the most that is taken")
    return value
