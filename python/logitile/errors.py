"""The exceptions of logitile, grouped by who must act. They are raised by the other modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


class LogitileError(Exception):
    """Base of every error that logitile raises."""


class SpecError(LogitileError):
    """The loss is wrong: its text, its annotations or what it returns.

    Args:
        reason: what is wrong.
        place: the user's file and line, which the text starts with.
    """

    def __init__(self, reason: str, place: object = None):
        super().__init__(reason if place is None else f"{place}: {reason}")
        self.reason = reason


class SpecAttributeError(SpecError, AttributeError):
    """An unknown name of logitile or of a traced value; an AttributeError, for hasattr()."""


class CallError(LogitileError):
    """The call is wrong: a name, a type, a shape, a value or an option."""


class CallTypeError(CallError, TypeError):
    """A name or a type of the call is wrong."""


class CallValueError(CallError, ValueError):
    """A shape, a device or a value of the call is wrong."""


class CallIndexError(CallError, IndexError):
    """An index of the call lies outside the vocabulary. `is_computed`: the loss computed it."""

    is_computed = False


class TargetError(LogitileError):
    """The device or its driver cannot do what is asked."""


class CompileError(LogitileError):
    """The compiler failed on a loss that it had accepted: a bug of logitile.

    Args:
        message: what failed.
        stage: the stage that could not be made.
        reproducer: command line or file that shows the failure again, if one could be written.
    """

    def __init__(self, message: str, stage: str, reproducer: str | None = None):
        text = f"stage '{stage}' failed: {message}"
        super().__init__(text if reproducer is None else f"{text}; reproducer: {reproducer}")
        self.message = message
        self.stage = stage
        self.reproducer = reproducer

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.stage, self.reproducer)


@dataclass(frozen=True)
class FaultParty:
    """One of those that are involved in a fault.

    Args:
        who: "thread 33 (warp 1, lane 1)", "copy engine of thread 33", ...
        action: "earlier write", "later read", "waits", ...
        instruction: as LLVM IR calls it: "load shared", "llvm.nvvm.cp.async...".
        operation: of stage `tiles`, from which the instruction comes: "logitile.project";
            "" if there is none.
        places: where that was written: the line of the skeleton or of the text,
            then the launch or the loss.
    """

    who: str
    action: str
    instruction: str
    operation: str
    places: tuple[str, ...]


@dataclass(frozen=True)
class FaultReport:
    """One fault that the emulator found in a kernel; `str()` of it is for people.

    Args:
        kind: "race", "in-flight", "uninitialised", "out-of-bounds", "misaligned", "divergence",
            "barrier-divergence", "barrier-misuse", "proxy-fence", "misuse", "deadlock", "endless"
            or "trap"; docs/design/emulator.md says what they mean.
        kernel: its name.
        block: the block of the grid, [x, y, z].
        space: "shared", "global" or "no memory".
        object: the name of the buffer in global memory.
        address: offset in bytes into the buffer, or into shared memory.
        detail: what is wrong.
        count: how often it was seen.
        parties: the instructions, the earlier one first.
    """

    kind: str
    kernel: str
    block: tuple[int, int, int]
    space: str
    object: str
    address: int
    detail: str
    count: int
    parties: tuple[FaultParty, ...]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text


class EmulatorFault(LogitileError):
    """The emulator found faults in a kernel.
    They are bugs of logitile, or of the text from which the kernel was compiled.

    Args:
        message: the kernel and all reports, for people.
        kernel: its name.
        found: the reports, as the native module describes them.

    Attributes:
        reports: the faults as FaultReport, races first, each pair of instructions once.
    """

    def __init__(self, message: str, kernel: str, found: Sequence[Mapping[str, Any]] = ()):
        super().__init__(message)
        self.message, self.kernel, self._found = message, kernel, found
        self.reports = tuple(_report(kernel, one) for one in found)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kernel, self._found)


def _report(kernel: str, one: Mapping[str, Any]) -> FaultReport:
    parties = tuple(FaultParty(**{**party, "places": tuple(party["places"])}) for party in one["parties"])
    return FaultReport(**{**one, "kernel": kernel, "block": tuple(one["block"]), "parties": parties})


class CacheWarning(UserWarning):
    """Something is wrong with the disk cache; the program is built again and everything works."""
