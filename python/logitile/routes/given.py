"""Chooses the code of a call: that of the loss as it was written, or of the loss with some logits
given.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from ..arguments.given import GivenLogits, given_names, with_zeros
from ..arguments.options import Options
from ..language.definition import Loss
from .compiled import CompiledCalls


class GivenCode:
    """The code of a head, with that for each choice of lt.Logits parameters whose
    logits a call may give.

    All of it is made with the head, since torch.compile makes none while it traces.

    Args:
        loss, options, constants: of the head.

    Attributes:
        written: that of calls to which no logits are given.
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self.written = CompiledCalls(loss, options, constants)
        self._signature, names = loss.signature, loss.signature.pair_names
        choices = [frozenset(some) for count in range(len(names)) for some in combinations(names, count + 1)]
        self._given = {some: CompiledCalls(GivenLogits(loss, some), options, constants) for some in choices}

    def of(
        self, args: tuple[Any, ...], inputs: dict[str, Any], wrt: Iterable[str] | None = None
    ) -> tuple[CompiledCalls, dict[str, Any], Iterable[str] | None]:
        """The code that computes a call, its inputs there, and the names of its gradients there.

        Raises:
            CallError: logits are given that do not fit.
        """
        names = given_names(self._signature, args, inputs)
        if not names:
            return self.written, inputs, wrt
        calls = self._given[names]
        loss: Any = calls.binder.loss
        return calls, with_zeros(loss, inputs), loss.gradients(inputs) if wrt is None else wrt
