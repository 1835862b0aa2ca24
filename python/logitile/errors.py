"""The exceptions of logitile, grouped by who must act. They are raised by the other modules."""

from __future__ import annotations


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
    """A name that logitile or a traced value does not have; hasattr() takes it for an AttributeError."""


class CallError(LogitileError):
    """The call is wrong: a name, a type, a shape, a value or an option."""


class CallTypeError(CallError, TypeError):
    """A name or a type of the call is wrong."""


class CallValueError(CallError, ValueError):
    """A shape, a device or a value of the call is wrong."""


class CallIndexError(CallError, IndexError):
    """An index of the call lies outside the vocabulary; `is_computed` where the loss computes it."""

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


class CacheWarning(UserWarning):
    """Something is wrong with the disk cache; the program is built again and everything works."""
