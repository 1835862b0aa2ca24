"""Base of all parts of a head: its loss, options and constants, and how its calls are made."""

from __future__ import annotations

from typing import TypeVar

from ..arguments.call import Call
from ..arguments.kept import forget, kept
from ..arguments.options import Options
from ..language.definition import Loss
from ..messages.names import budget_text
from ..routes.choice import chosen_route
from ..routes.code import CodeRoute

Own = TypeVar("Own", bound="BoundLoss")


class BoundLoss:
    """A loss bound to its options and constants.

    Args:
        loss: the loss.
        options: of lt.jit, checked.
        constants: values of the loss's keyword-only constants.
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self._code = CodeRoute(loss, options, constants)
        self._route = chosen_route(loss, options, constants, self._code)
        written = self._code.written
        self._binder, self._programs, self._capture = written.binder, written.programs, written.capture
        self._bound = {**constants, **options.chosen}

    @property
    def loss(self) -> Loss:
        """The loss of this head."""
        return self._binder.loss

    @property
    def options(self) -> Options:
        """The options of lt.jit."""
        return self._binder.options

    @options.setter
    def options(self, options: Options) -> None:
        """Binds the loss again; compiled programs are forgotten."""
        forget(self.loss, self)
        BoundLoss.__init__(self, self.loss, options, self.constants)

    @property
    def constants(self) -> dict[str, object]:
        """Values of the loss's keyword-only constants."""
        return self._binder.constants

    def with_options(self: Own, **options: object) -> Own:
        """The head of the same loss, with some options of `lt.jit` or constants changed.

        The same choice returns the same head, so you can write this at each call:

            head.with_options(reduction="sum")(hidden, weight, target=target)

        Raises:
            CallTypeError, CallValueError, TargetError: as for `lt.jit`.
        """
        head: Own = kept(type(self), self.loss, {**self._bound, **options})
        return head

    def _bind(self, *args: object, **inputs: object) -> Call:
        """Checks the arguments of a call: hidden and weight by position, everything else by name.

        Raises:
            CallTypeError: a name is unknown, missing or doubled, or a type is wrong.
            CallValueError: shapes, devices or options do not agree.
        """
        return self._binder.bind_rounded(args, inputs)

    def __repr__(self) -> str:
        """The loss, its constants, and the options that are not the defaults."""
        bound = dict(self._bound)
        if self.options.workspace is not None:
            bound["workspace"] = budget_text(self.options.workspace)
        told = "".join(f", {name}={value!r}" for name, value in bound.items())
        return f"<head of '{self.loss.name}'{told}>"

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles have no compiled programs."""
        return type(self), (self.loss, self.options, self.constants)
