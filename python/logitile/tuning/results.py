"""Results of tuning: the configurations, their figures, and the one that calls use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..tuned.store import TuneRecord
from .rounds import Contender, is_quicker, median, ratio
from .table import Row, compared, note, table


@dataclass(eq=False)
class Candidate:
    """One configuration, and what is known of it.

    Args:
        tiles: all sizes, "TM=64,TN=128,...".
        threads: of the host.
        predicted: seconds by the cost model; they only rank.
        refusal: why it cannot be; "" where it can.
        was_chosen: whether calls take it, by an earlier tuning.
        contender: where it was measured.
        ratio: its time as a share of the default's,
            the median of the rounds in which both were measured; None where it was not.
        measured: seconds of a call: the default's median times the ratio, so that a machine whose
            speed drifted between rounds shows in neither; None where it was not measured.
    """

    tiles: str
    threads: int
    predicted: float = float("inf")
    refusal: str = ""
    was_chosen: bool = False
    contender: Contender | None = None
    ratio: float | None = None
    measured: float | None = None

    @property
    def rounds(self) -> int:
        """How often it was measured."""
        return self.contender.rounds if self.contender else 0


@dataclass(frozen=True)
class Tuning:
    """What `lt.autotune` found. `str()` of it is a table for people.

    Args:
        loss, target, device, tokens, shape: what was tuned, and where.
        candidates: all configurations: those that were measured to the end come first, the best of
            them first; those that were not measured come last, by prediction.
        default: what calls take that were not tuned.
        best: the default unless another one is quicker beyond noise.
        ratio: the default's time by the best one's: 1.1 is a tenth quicker.
        verdict: what calls take from now on, and why, in words.
        is_kept: whether other processes see it too; false as well where nothing was compared.
        seconds: that tuning took.
    """

    loss: str
    target: str
    device: str
    tokens: int
    shape: str
    candidates: tuple[Candidate, ...]
    default: Candidate
    best: Candidate
    ratio: float
    verdict: str
    is_kept: bool
    seconds: float
    records: tuple[TuneRecord, ...] = field(repr=False, default=())

    def __str__(self) -> str:
        count = f"{len(self.records)} of {len(self.candidates)} measured in {self.seconds:.1f} s"
        lines = [
            f"{self.loss} on {self.target} ({self.device}), {self.shape}",
            f"  {count}; {self._kept()}",
            *table([self._row(one) for one in self.candidates]),
            f"  {self.verdict}",
        ]
        return "\n".join(lines)

    def _row(self, one: Candidate) -> Row:
        is_chosen = one is self.best and len(self.records) > 1
        said = one.refusal
        if one.rounds:
            said = note(one.rounds, self.default.rounds, one is self.default)
        return Row(
            is_chosen, one.tiles, one.threads, one.predicted, one.measured, one.ratio, one.rounds, said
        )

    def _kept(self) -> str:
        if len(self.records) < 2:
            return "nothing kept"
        return "kept for later processes" if self.is_kept else "kept in this process alone"


def judge(candidates: Iterable[Candidate], default: Candidate) -> Candidate:
    """Fills in ratios and times after the race, and gives the candidate to take: of those that were
    measured to the end, the one with the lowest ratio, where it is quicker than the default beyond
    noise.
    """
    measured = [one for one in candidates if one.rounds]
    its_median = median(default.contender.seconds)
    for one in measured:
        one.ratio = ratio(one.contender, default.contender)
        one.measured = its_median * one.ratio
    quicker = [
        one
        for one in measured
        if one.rounds == default.rounds and is_quicker(one.contender, default.contender)
    ]
    return min(quicker, key=lambda one: one.ratio, default=default)


def in_order(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Those that were measured most often first, by ratio; then by prediction."""
    return tuple(sorted(candidates, key=lambda one: (-one.rounds, one.ratio or one.predicted)))


def verdict(records: Sequence[TuneRecord], is_late: bool, before: TuneRecord | None) -> str:
    """What calls take from now on, and why.

    Args:
        records: of what was measured.
        is_late: whether there was no time for some candidate.
        before: what such calls took so far; None for the default.
    """
    if len(records) > 1:
        return compared(records)
    stays = "the default stays"
    if before is not None:
        stays = f"{before.tiles} with {before.threads} threads stays, as tuned before"
    if is_late:
        return f"too little time: {stays}; raise the budget"
    return f"{stays}: no other configuration came near the default"
