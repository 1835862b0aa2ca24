"""Contenders that take turns, so that a drift of the machine's speed affects all of them.
autotune.py decides what is measured and what the times mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

LEAST_ROUNDS = 3  # with fewer nothing is decided
_ROUNDS = 15  # more rounds would not make the median steadier
# quicker calls are measured several at a time: one sample spans several time slices
_SAMPLE_SECONDS = 10e-3
_FEW = 5  # with fewer rounds only what is clearly quicker counts as quicker
_LITTLE, _LITTLE_OF_FEW = 0.99, 0.95
# After so many rounds a contender whose time is more than this multiple of the
# best one's drops out.
_LIMITS = ((LEAST_ROUNDS, 1.10), (5, 1.03), (9, 1.015))


@dataclass(eq=False)
class Contender:
    """Something that is run again and again.

    Args:
        run: makes one call and waits for it.
        seconds: of a call, round by round.
        calls: how many calls one measurement takes.
        expected: seconds of one measurement, by the first calls.
    """

    run: Callable[[], object]
    seconds: list[float] = field(default_factory=list)
    calls: int = 1
    expected: float = 0.0

    @property
    def rounds(self) -> int:
        """How often it was measured."""
        return len(self.seconds)

    def warm_up(self) -> float:
        """Seconds of a first call, or of a second one where calls are short;
        decides how many calls one measurement takes.
        """
        taken = self._measured()
        if taken < 10 * _SAMPLE_SECONDS:
            taken = self._measured()
        self.calls = max(1, round(_SAMPLE_SECONDS / max(taken, 1e-9)))
        self.expected = self.calls * taken
        return taken

    def measure(self) -> None:
        self.seconds.append(self._measured())

    def _measured(self) -> float:
        start = time.perf_counter()
        for _ in range(self.calls):
            self.run()
        return (time.perf_counter() - start) / self.calls


def finalists(contenders: Sequence[Contender], seconds: float) -> list[Contender]:
    """The first contender, and as many of the others, in their order,
    as LEAST_ROUNDS rounds leave time for.

    Args:
        seconds: that the race may take.
    """
    chosen = list(contenders[:1])
    for one in contenders[1:]:
        if LEAST_ROUNDS * sum(other.expected for other in (*chosen, one)) > seconds:
            break
        chosen.append(one)
    return chosen


def race(
    contenders: Sequence[Contender], deadline: float, after_round: Callable[[int, int], None] | None = None
) -> None:
    """Measures contenders in turn, round by round. The first is the yardstick, which the others are
    compared with in each round. One that is clearly slower than the best takes no further part.

    The race ends when only the yardstick is left, after enough rounds, or where no time is left for
    the next round. The first LEAST_ROUNDS rounds are made in any case, except of the yardstick
    alone.

    Args:
        deadline: by time.perf_counter.
        after_round: told the number of the round and how many are left beside the yardstick.
    """
    yardstick, others = contenders[0], list(contenders[1:])
    for number in range(1, _ROUNDS + 1):
        start = time.perf_counter()
        in_turn = [yardstick, *others]
        # who comes first differs: the one before leaves its caches and clocks
        first = number % len(in_turn)
        for contender in (*in_turn[first:], *in_turn[:first]):
            contender.measure()
        others = _still_good(others, yardstick)
        if after_round is not None:
            after_round(number, len(others))
        now = time.perf_counter()
        is_late = number >= LEAST_ROUNDS and now + (now - start) > deadline
        if not others or is_late:
            return


def _still_good(others: list[Contender], yardstick: Contender) -> list[Contender]:
    limits = [limit for rounds, limit in _LIMITS if yardstick.rounds >= rounds]
    if not limits or not others:
        return others
    shares = [ratio(one, yardstick) for one in others]
    most = limits[-1] * min(1.0, *shares)
    return [one for one, share in zip(others, shares, strict=True) if share <= most]


def ratios(contender: Contender, other: Contender) -> list[float]:
    """The times of one as shares of those of another, in the rounds that both took part in."""
    pairs = zip(contender.seconds, other.seconds, strict=False)  # all begin with the first round
    return [own / its for own, its in pairs]


def ratio(contender: Contender, other: Contender) -> float:
    """The median of these."""
    return median(ratios(contender, other))


def is_quicker(contender: Contender, other: Contender) -> bool:
    """Whether one is quicker than another beyond noise: in three rounds of four, and in the median
    by more than a little. Fewer rounds than LEAST_ROUNDS decide nothing.
    """
    shares = sorted(ratios(contender, other))
    if len(shares) < LEAST_ROUNDS:
        return False
    mostly = shares[(3 * len(shares) - 1) // 4] < 1
    return mostly and median(shares) < (_LITTLE_OF_FEW if len(shares) < _FEW else _LITTLE)


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
