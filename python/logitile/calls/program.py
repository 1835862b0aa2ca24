"""Programs: the request to the compiler for a call, and the compiled result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from ..arguments.call import Call, Pair
from ..arguments.options import Options
from ..arguments.wanted import Wanted
from ..errors import CallTypeError, CallValueError, CompileError
from ..frameworks.arrays import Array
from ..frameworks.dtypes import FLOATS
from ..language.definition import Specialisation
from ..runtime.engine import engine as process_engine
from ..runtime.engine import native
from ..runtime.platforms import platform_of
from ..spec.loss_spec import LossSpec
from .native_call import NativeCall, call_options, native_inputs
from .place import place

if TYPE_CHECKING:
    from .. import _native

_MIB, _GIB = 2**20, 2**30


@dataclass(frozen=True)
class ProgramKey:
    """What two calls of a head must have in common to run the same program."""

    specialisation: Specialisation
    projections: tuple[tuple[str, int, str, str, str], ...]
    dense: tuple[tuple[str, str], ...]
    gradients: tuple[tuple[str, str], ...]
    wanted: Wanted
    target: str
    threads: int
    tiles: str = ""  # from tuning; "" for those of the options or of the target's table


def default_key(call: Call, wanted: Wanted) -> ProgramKey:
    """The key of the program of a call, without what tuning found.

    Raises:
        CallValueError, TargetError: see place.
    """
    target, threads = place(call.form.options.backend, call.pairs[0].hidden.device)
    return program_key(call, wanted, target, threads)


def program_key(call: Call, wanted: Wanted, target: str, threads: int) -> ProgramKey:
    """The key of the program for a call."""
    projections = tuple(described_projection(pair) for pair in call.pairs)
    dense = tuple((i.name, call.inputs[i.name].dtype) for i in call.form.spec.inputs if i.axis == "dense")
    known = call.operands
    gradients = tuple((name, gradient_dtype(call, wanted, name)) for name in known if name in wanted.names)
    return ProgramKey(call.specialisation, projections, dense, gradients, wanted, target, threads)


def described_projection(pair: Pair) -> tuple[str, int, str, str, str]:
    """Name, hidden size and type of a projection, and the types of hidden and weight in memory."""
    return pair.name, pair.hidden_size, pair.hidden.operand_dtype, pair.hidden.dtype, pair.weight.dtype


def gradient_dtype(call: Call, wanted: Wanted, name: str) -> str:
    """The element type of a gradient."""
    operand = call.operands[name]
    if name in wanted.in_float32 or (wanted.accumulate and operand.is_weight):
        return "float32"
    return wanted.dtype or float_dtype(operand.array)


def float_dtype(array: Array) -> str:
    """The element type of an input's gradient: its own,
    or float32 for a number given as an integer.
    """
    return array.dtype if array.dtype in FLOATS else "float32"


@dataclass(frozen=True)
class Gradient:
    """A gradient of a program: its name, that of its array for the native module, its type,
    whether it is a weight's.
    """

    name: str
    native: str
    dtype: str
    is_weight: bool


def described_gradients(call: Call, wanted: Wanted) -> tuple[Gradient, ...]:
    """Each of the gradients once."""
    operands = {name: call.operands[name] for name in wanted.names}
    return tuple(
        Gradient(name, operand.native, gradient_dtype(call, wanted, name), operand.is_weight)
        for name, operand in operands.items()
    )


class Program:
    """The program of one key. Nothing is compiled before it is called.

    Args:
        call: one of the calls with this key.
        key: of the program.
        engine: another one than that of the process.
    """

    def __init__(
        self,
        call: Call,
        key: ProgramKey,
        engine: _native.Engine | None = None,
    ):
        spec, options = call.form.spec, call.form.options
        self.spec = spec
        self.options = options
        self.wanted = key.wanted
        self.threads = key.threads
        self.gradients = described_gradients(call, key.wanted)
        request, self._engine = _request(spec, options, call, key), engine or process_engine()
        self._native = native().Program(self._engine, **request)
        self._with_table = {**request, "tiles": ""} if options.tiles else {}
        ignore = ignoring_input(spec, options)
        self.call_options = call_options(options, spec.output_names, ignore, key.threads)
        self.picks = spec.computed_picks

    @property
    def key(self) -> str:
        """64 hexadecimal digits that name the program."""
        return self._native.key

    @property
    def task(self) -> str:
        """The same for programs that differ only in tiles, whichever version compiles them."""
        return self._native.task

    def tiles(self) -> list[str]:
        """The tile sizes of the target's table that this program may have, the default first."""
        return self._native.tiles()

    def predict(self, tokens: int) -> float:
        """Seconds of a call by the cost model.

        Raises: as `plan`.
        """
        return self._native.predict(tokens)

    def plan(self, tokens: int) -> _native.Plan:
        """The plan for a number of tokens, compiled if there is none.

        Raises:
            CallValueError: the workspace is too small,
                or kernels cannot have the tiles of the options.
            CompileError: the compiler failed.
        """
        try:
            return self._native.plan(tokens)
        except CompileError as error:
            self._check_tiles(error, lambda program: program.plan(tokens))
            raise

    def stage(self, tokens: int, stage: str, kernel: str) -> str | bytes:
        """The text of a stage.

        Raises: as `plan`.
        """
        try:
            return self._native.stage(tokens, stage, kernel)
        except CompileError as error:
            self._check_tiles(error, lambda program: program.stage(tokens, stage, kernel))
            raise

    def trace(self, tokens: int) -> list[dict[str, Any]]:
        """All stages, and which line comes from which; see the native module.

        Raises: as `plan`.
        """
        try:
            return self._native.trace(tokens)
        except CompileError as error:
            self._check_tiles(error, lambda program: program.trace(tokens))
            raise

    def _check_tiles(self, error: CompileError, compiled: Callable[[_native.Program], object]) -> None:
        """Tells apart who must act where compiling failed: what compiles with the tiles of the
        target's table fails for those of the options.

        Raises:
            CallValueError: it is them.
        """
        if not self._with_table:
            return
        program = native().Program(self._engine, **self._with_table)
        try:
            compiled(program)
        except CompileError:
            return
        raise CallValueError(
            f"tiles='{self.options.tiles}' do not fit the kernels of this call: {error.message}; take "
            f"smaller sizes, such as {program.tiles()[0]}, or leave 'tiles' out"
        ) from None

    def native_call(self, call: Call) -> NativeCall:
        """One of its calls, ready to run.

        Raises:
            CallTypeError: an array has a shape but no data.
            CallValueError, CompileError: see `plan`.
        """
        form = call.form
        if form.missing:
            raise CallTypeError(
                f"{form.missing[0]} has a shape but no data; a call needs the numbers, while head.ir and "
                "head.explain do not"
            )
        like = call.pairs[0].hidden
        inputs = native_inputs(call, self.options)
        return NativeCall(self.plan(call.tokens), self.call_options, inputs, like, call.divisor, self.picks)


def _request(spec: LossSpec, options: Options, call: Call, key: ProgramKey) -> dict[str, Any]:
    return {
        **unplaced_request(spec, options, call, key),
        **place_of_call(options, call, key.target, key.threads),
    }


def unplaced_request(spec: LossSpec, options: Options, call: Call, key: ProgramKey) -> dict[str, Any]:
    """The part of a request to the compiler that is the same on every machine."""
    parameters = {call.operands[name].parameter for name, _ in key.gradients}
    wrt = [given.name for given in spec.inputs if given.name in parameters] or None
    of = [name for name in spec.output_names if name in key.wanted.of] or None
    return {
        "spec": spec.text(of, wrt, locations=False),
        "located_spec": spec.text(of, wrt),
        "tiles": options.tiles or key.tiles,
        "mode": key.wanted.mode,
        "accumulate": key.wanted.accumulate,
        **types_of_arrays(call, key.dense, key.gradients),
    }


def types_of_arrays(
    call: Call, dense: Iterable[tuple[str, str]], gradients: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """The part of a request to the compiler that says of what types arrays are.

    Args:
        dense: names and element types of Dense inputs.
        gradients: the same of gradients.
    """
    types = native().TYPES
    operands = call.operands
    return {
        "projections": tuple(
            (name, size, *(types[dtype] for dtype in dtypes))
            for name, size, *dtypes in map(described_projection, call.pairs)
        ),
        "dense": tuple((name, types[dtype]) for name, dtype in dense),
        "gradients": tuple(
            (operands[name].parameter, operands[name].part, types[dtype]) for name, dtype in gradients
        ),
    }


def place_of_call(options: Options, call: Call, target: str, threads: int) -> dict[str, Any]:
    """The part of a request to the compiler that says where calls run, and in how much memory."""
    workspace = 0 if options.chunks else workspace_budget(options, call, target, threads)
    return {"target": target, "threads": threads, "workspace": workspace, "chunks": options.chunks or 0}


def workspace_budget(options: Options, call: Call, target: str, threads: int) -> int:
    """The budget in bytes; that of workspace="auto" on the CPU is 256 MiB, more for large weights
    and for more than 64 threads; on GPUs 4 GiB, more for large weights.
    """
    if options.workspace is not None:
        return options.workspace
    return automatic_budget(*weight_bytes(call), target, threads)


def weight_bytes(call: Call) -> tuple[int, int]:
    """The bytes of all weights in 16 bits, and of those in float32."""
    halves = sum(prod(p.weight.shape) * 2 for p in call.pairs if p.weight.dtype != "float32")
    singles = sum(prod(p.weight.shape) * 4 for p in call.pairs if p.weight.dtype == "float32")
    return halves, singles


def automatic_budget(halves: int, singles: int, target: str, threads: int) -> int:
    """What workspace="auto" stands for, in bytes.

    Args:
        halves, singles: see weight_bytes.
        target, threads: where the call runs.
    """
    if not platform_of(target).host_memory:
        return max(4 * _GIB, 2 * (halves + singles) + _GIB)
    return max(256 * _MIB, 4 * _MIB * threads, halves * 5 // 2, singles)


def ignoring_input(spec: LossSpec, options: Options) -> str | None:
    """The name of the input that tells ignored tokens, where the loss has it."""
    name = options.ignoring_input
    return name if any(given.name == name and given.tells_ignored for given in spec.inputs) else None
