"""The compiled part of logitile: programs are compiled or loaded, and run on arrays.

Arrays of calls are tuples `(name, pointer, type, shape, strides)` with a code of `TYPES` and
strides in elements, or `(name, object)` with a buffer (NumPy arrays, except bfloat16), and for
arrays that are only read also with a number or a capsule of DLPack; a third element True exchanges
the axes of a matrix. Errors are those of logitile.errors: CallTypeError, CallValueError,
CallIndexError, TargetError and CompileError; LogitileError itself for a failure of the runtime.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

if sys.version_info >= (3, 12):  # noqa: UP036 - users check their programs with older ones too
    from collections.abc import Buffer
else:
    from typing_extensions import Buffer  # noqa: UP035
from typing_extensions import Unpack  # noqa: UP035 - likewise

from ._request import Request

TYPES: dict[str, int]
"""Codes of element types by name: "float16", "bfloat16", ..., "int8", ..., "uint64", "bool"."""

type Array = (
    tuple[str, int, int, tuple[int, ...], tuple[int, ...]] | tuple[str, object] | tuple[str, object, bool]
)
type Stream = tuple[int, int, Callable[[int], tuple[int, object]]]
"""Where calls on a GPU run: number of the device, handle of the stream, and what allocates
workspace there (bytes in, its address and the object that owns it out)."""
type Number = float | tuple[int, int, tuple[int, ...], tuple[int, ...]] | Buffer

def build_id() -> str:
    """Version and digest of the native code; a part of every key."""

def operations() -> list[dict[str, str]]:
    """The operations on single numbers that the text of stage "spec" may have: name, operands,
    result, flows.

    Operands and result are letters: f is f32, i is i32, b is i1. Flows are the positions of the
    operands that a gradient flows to: "12" for the two branches of "arith.select".
    """

def host_target() -> str:
    """The target of this machine, "cpu:avx512". LOGITILE_CPU_TIER may lower it.

    Raises:
        TargetError: the environment asks for a tier that the machine lacks.
    """

def device_target(platform: str, device: int = 0) -> str:
    """The target of a device of this machine, "cuda:sm_80",
    by its number among those that the driver shows.

    Raises:
        TargetError: there is no such platform, no driver, no such device,
            or none that code is made for.
    """

def device_model(target: str, device: int = 0) -> tuple[str, str]:
    """What results of a device depend on: its name, "NVIDIA H200", and the version of its driver,
    "12040" for 12.4, or the instruction set of a CPU.

    Raises:
        TargetError: there is no such platform, no driver, or no such device.
    """

def describe_target(target: str) -> dict[str, Any]:
    """Of a target, or of a platform alone ("cuda"): platform, memory ("cpu" or "cuda": where arrays
    of calls lie), host_memory, host_threads (whether kernels run on threads of the host); of a
    target also stages, the names of those that it has.

    Raises:
        TargetError: there is no such platform or target.
    """

def thread_count(wanted: int = 0) -> int:
    """LOGITILE_NUM_THREADS if set, else `wanted` if positive,
    else the cores that this process may use.

    Raises:
        CallValueError: the environment variable is no number of threads.
    """

def disk_cache_settings() -> tuple[str, int]:
    """The folder of the disk cache, "" where it is off, and the most bytes that it may hold.

    Raises:
        CallValueError: LOGITILE_CACHE_DIR or LOGITILE_CACHE_BYTES is impossible.
    """

def disk_cache_list(folder: str, key_prefix: str = "", details: bool = False) -> list[dict[str, Any]]:
    """The entries whose keys start so, the last used first: key, path, bytes, last_use (seconds
    since 1970), and damage, or build, name, target, interval. With `details` also plan, as
    `Plan.describe` tells it.

    Raises:
        CallValueError, LogitileError: the folder is not the user's alone, or cannot be read.
    """

def disk_cache_clear(folder: str) -> tuple[int, int]:
    """Removes all entries; returns their number and bytes.

    Raises: as `disk_cache_list`.
    """

def stage_from_text(text: str, source: str, to: str, kernel: str = "") -> str | bytes:
    """The text of stage `to`, made from text of the earlier stage `source`;
    of one kernel if that is named. Stage "obj" is bytes.

    Raises:
        CallValueError: there is no such stage.
        CompileError: the text cannot be compiled.
    """

class Engine:
    """Compiler, caches and threads; one for a process. What is left out has a default.

    Args:
        cache_plans: plans that are kept in memory.
        cache_code_bytes: bytes of their code.
        workspace_keep_bytes: free workspace that is kept for later calls.
        history_records: records that `history` shows.
        times_kernels: time every kernel; `history` shows it.
        disk_cache: folder of plans that outlive the process;
            None: that of `disk_cache_settings`; "": none.
        disk_cache_bytes: the most that it may hold.

    Raises:
        CallValueError: LOGITILE_CACHE_DIR or LOGITILE_CACHE_BYTES is impossible.
    """

    def __init__(
        self,
        *,
        cache_plans: int = -1,
        cache_code_bytes: int = -1,
        workspace_keep_bytes: int = -1,
        history_records: int = -1,
        times_kernels: bool = False,
        disk_cache: str | None = None,
        disk_cache_bytes: int = -1,
    ) -> None: ...
    def load(self, data: bytes) -> Plan:
        """A plan from bytes of `Plan.save`. They hold machine code: load only what you would run.

        Raises:
            CallValueError: the bytes are damaged or of another version.
            TargetError: they are for another machine.
        """

    def compile_text(self, text: str, stage: str, target: str = "") -> Plan:
        """A plan from the text of stage "spec", "plan", "tiles" or "device", which holds its
        request. `target` takes the place of the target in the text.

        Raises:
            CompileError: the text is wrong, or belongs to another kind of target.
            TargetError: this machine has no such device.
        """

    def history(self) -> list[dict[str, Any]]:
        """What ran lately, oldest first: number, key, program, event ("hit", "compile", "load",
        "disk"), phase, tokens, counted, chunks, predicted_bytes, measured_bytes, stage_ms, load_ms,
        run_ms, kernels.

        Kernels are listed where they are timed ("ms") or the device counts what they do: then
        "counters" has matrix_instructions (of one warp), global_read_bytes, global_write_bytes,
        global_sectors (32 bytes), shared_read_bytes, shared_write_bytes, shared_wavefronts,
        bank_conflicts and barriers, and "predicted" matrix_instructions and global_bytes.
        """

    def clear_history(self) -> None: ...
    def check(self) -> None:
        """Waits for GPUs.

        Raises:
            CallIndexError: a call on one has met an index outside the vocabulary.
        """

    def trim(self) -> None:
        """Gives free workspace back to the system and forgets cached plans."""

    def usage(self) -> dict[str, int]:
        """plans, code_bytes, workspace_taken, workspace_free, workspace_peak."""

class Program:
    """What is compiled for, without a number of tokens. Nothing is compiled before `plan`.

    Args:
        engine: compiles and keeps the plans.
        request: see `Request`, which the build makes of dialect/types/Request.td. What is left out
            is 0, None or empty; the mode is then "forward".

    Raises:
        CallValueError, CallTypeError: these do not go together.
        TargetError: the target is not here.
    """

    def __init__(self, engine: Engine, **request: Unpack[Request]) -> None: ...
    @property
    def key(self) -> str:
        """64 hexadecimal digits: the same for the same program and compiler."""

    @property
    def task(self) -> str:
        """64 hexadecimal digits: the same for programs that differ in nothing but tiles,
        and for every compiler.
        """

    def tiles(self) -> list[str]:
        """Sizes that `tiles` may have, from the target's table;
        the first are those of a program without.
        """

    def predict(self, tokens: int) -> float:
        """Seconds of a call by the cost model,
        for comparing programs that differ in tiles or threads.

        Raises: as `plan`.
        """

    def plan(self, tokens: int) -> Plan:
        """The plan for calls with this many tokens: from memory, from disk, or compiled. Trouble
        with the disk cache is a CacheWarning.

        Raises:
            CallValueError: the budget is too small; its `minimum_workspace` says what is needed.
            CompileError: the compiler failed.
        """

    def stage(self, tokens: int, stage: str, kernel: str = "") -> str | bytes:
        """The text of a stage for calls with this many tokens; of one kernel if that is named.
        Stage "obj" is bytes.
        """

    def trace(self, tokens: int) -> list[dict[str, Any]]:
        """All stages for calls with this many tokens, and which line comes from which: a list of
        {"stage", "text", "origins", "symbols", "tiles", "passes"}. Origins are [file, line] by line
        of the text, symbols [name, first line], passes [name, text after a pass that changed it].
        Lines count from 1. Stage "plan" has tiles: [kernel, its tile sizes as "TM=64,TN=128"].
        Stage "asm" is the assembly of what stage "obj" holds.
        """

class CallOptions:
    """What the calls of a head have in common.

    Args:
        reduction: "none", "sum" or "mean" of the output `loss`.
        ignore: the integer input that tells ignored tokens; None: no token is ignored.
        ignore_index: a token is ignored where all its entries are this; single entries of other
        inputs may be it as well. None: no number is special.
        zero_if_all_ignored: a mean over no token is 0 rather than NaN.
        threads: as for programs.
    """

    def __init__(
        self,
        *,
        reduction: str,
        ignore: str | None = None,
        ignore_index: int | None = None,
        zero_if_all_ignored: bool = False,
        threads: int,
    ) -> None: ...

class Plan:
    """Compiled code and how to run it, for an interval of numbers of tokens."""

    @property
    def interval(self) -> tuple[int, int]:
        """Numbers of tokens that it serves: the first, and the end (exclusive)."""

    def save(self, options: CallOptions) -> bytes:
        """Bytes for `Engine.load`. With them goes how calls reduce the loss and tell ignored
        tokens: a loaded plan shows it as "rules" of `describe`, and refuses another ignore_index.
        """

    def describe(self, tokens: int, threads: int) -> dict[str, Any]:
        """Schedule, kernels, and the buffers with their bytes for a call with this many
        tokens that count.
        """

    def forward(
        self,
        options: CallOptions,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        gradients: Sequence[Array] = (),
        cotangents: Sequence[Array] = (),
        divisor: Number | None = None,
        stream: Stream | None = None,
    ) -> Saved | None:
        """Runs the forward phase; in mode "early" it makes the gradients as well.

        Args:
            options: reduction and ignored tokens.
            inputs: "<pair>.hidden" [..., D], "<pair>.weight" [V, D], and the other inputs by name.
            outputs: float32, int64 or bool in the leading dimensions of hidden;
                a reduced loss has no axis.
            gradients: shaped like their inputs.
            cotangents: what reaches outputs, by output: a number (rank 0) or one per token. Others
                are 0; with none at all that of the loss is 1.
            divisor: what a mean divides by; None: the sum of the output `weight`,
                else the tokens that count.
            stream: of arrays on a GPU; None: its default stream, and memory of the driver.
        Returns: what the backward phase needs, in mode "split".

        Raises:
            CallTypeError, CallValueError: an array is missing or wrong.
            CallIndexError: an index lies outside the vocabulary.
            KeyboardInterrupt: Ctrl-C; any exception of a signal handler.
        """

class Saved:
    """What the backward phase needs of a forward call."""

    @property
    def nbytes(self) -> int: ...
    def backward(
        self,
        inputs: Sequence[Array],
        gradients: Sequence[Array],
        cotangents: Sequence[Array] = (),
        stream: Stream | None = None,
    ) -> None:
        """Makes the gradients of the forward call from the same inputs on the same stream,
        as often as asked.

        Raises: as `Plan.forward`.
        """

class XlaCall:
    """A call that XLA makes with its own buffers.

    Args:
        plan, options, is_early: see Plan.forward; early gradients are made along with the outputs.
        arguments, results: for each buffer: "input", "cotangent" or "divisor", "output", "gradient"
            or "workspace"; its name for the plan; the code of the type of an output; whether it is
            a weight [D, V]. An int64 may be two int32 on one more axis.
        picks: lines of the loss that pick by a computed index.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        options: CallOptions,
        is_early: bool,
        arguments: Sequence[tuple[str, str, int, bool]],
        results: Sequence[tuple[str, str, int, bool]],
        picks: str,
    ) -> None: ...

def xla_handler(platform: str) -> object:
    """The handler for "cpu" or "CUDA", as a capsule that jax.ffi.register_ffi_target takes."""

def xla_resolver(resolver: Callable[[str, str, int], XlaCall]) -> None:
    """Sets what handlers ask for calls that they have not met: with a key, "cpu" or "cuda:0",
    and the number of tokens.
    """

def xla_forget() -> None:
    """Handlers ask again for every call: plans that nothing else uses are freed."""
