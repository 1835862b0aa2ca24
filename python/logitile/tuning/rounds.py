"""Contenders that take turns, so that a machine whose speed drifts spoils none alone. What is measured, and
what the times are good for, is in autotune.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_ROUNDS = 15  # with so many a median is steady, whatever time is left
_SAMPLE_SECONDS = 2e-3  # quicker calls are measured several at a time: a clock and a scheduler are behind it
_FEW = 5  # with fewer rounds only what is clearly quicker is
_LITTLE, _LITTLE_OF_FEW, _A_LOT = 0.99, 0.95, 0.8
# After so many rounds a contender whose ratio to the best is above this has lost, in the median and at best.
_LIMITS = ((3, 1.10), (5, 1.03), (9, 1.015))


@dataclass
class Contender:
    """Something that is run again and again.

    Args:
        run: makes one call and waits for it.
        seconds: of a call, round by round.
    """

    run: Callable[[], object]
    seconds: list[float] = field(default_factory=list)
    calls: int = 1

    @property
    def rounds(self) -> int:
        """How often it was measured."""
        return len(self.seconds)

    def warm_up(self) -> float:
        """Seconds of a first call, or of a second one where calls are short; decides how many calls one
        measurement takes.
        """
        taken = self._measured()
        if taken < 10 * _SAMPLE_SECONDS:
            taken = self._measured()
        self.calls = max(1, round(_SAMPLE_SECONDS / max(taken, 1e-9)))
        return taken

    def measure(self) -> None:
        self.seconds.append(self._measured())

    def _measured(self) -> float:
        start = time.perf_counter()
        for _ in range(self.calls):
            self.run()
        return (time.perf_counter() - start) / self.calls


def race(
    contenders: Sequence[Contender], deadline: float, after_round: Callable[[int, int], None] | None = None
) -> None:
    """Measures all contenders in turn, round by round. One that is clearly behind takes no further part.

    The first round is always made. It ends when one is left, after enough rounds, or where no time is left
    for the next one.

    Args:
        deadline: by time.perf_counter.
        after_round: told the number of the round and how many are left.
    """
    running = list(contenders)
    for number in range(1, _ROUNDS + 1):
        start = time.perf_counter()
        first = number % len(
            running
        )  # who comes first differs: caches and clocks are as the one before left them
        for contender in (*running[first:], *running[:first]):
            contender.measure()
        running = _still_good(running, number)
        if after_round is not None:
            after_round(number, len(running))
        now = time.perf_counter()
        if len(running) == 1 or now + (now - start) > deadline:
            return


def _still_good(running: list[Contender], number: int) -> list[Contender]:
    limits = [limit for rounds, limit in _LIMITS if number >= rounds]
    if not limits:
        return running
    best = min(running, key=lambda contender: median(contender.seconds) * min(contender.seconds))
    return [one for one in running if min(ratio(one, best), at_best(one, best)) <= limits[-1]]


def ratios(contender: Contender, other: Contender) -> list[float]:
    """The times of one as shares of those of another, in the rounds that both took part in."""
    pairs = zip(contender.seconds, other.seconds, strict=False)  # all begin with the first round
    return [own / its for own, its in pairs]


def ratio(contender: Contender, other: Contender) -> float:
    """The median of these."""
    return median(ratios(contender, other))


def at_best(contender: Contender, other: Contender) -> float:
    """The ratio of the best rounds of both. Where a machine is so busy that most rounds are mostly waiting,
    medians say nothing, and this still does.
    """
    return min(contender.seconds) / min(other.seconds)


def is_quicker(contender: Contender, other: Contender) -> bool:
    """Whether one is quicker than another beyond noise: mostly, and by more than a little, or at its best by
    a lot.
    """
    shares = sorted(ratios(contender, other))
    is_few = len(shares) < _FEW
    mostly = shares[(3 * len(shares) - 1) // 4] < 1
    if mostly and median(shares) < (_LITTLE_OF_FEW if is_few else _LITTLE):
        return True
    return not is_few and at_best(contender, other) < _A_LOT


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
