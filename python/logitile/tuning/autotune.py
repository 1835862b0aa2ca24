"""`lt.autotune`: the tile sizes and threads with which the calls of a head are quickest on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING

from ..arguments.call import Call
from ..arguments.gradients import named_gradients, wanted_gradients
from ..arguments.wanted import Wanted
from ..calls import execute
from ..calls.demands import by_autograd, in_one_call
from ..calls.program import Program, ProgramKey, default_key
from ..calls.programs import living_programs
from ..errors import CallTypeError, CallValueError, LogitileError
from ..frameworks.choice import memory_errors
from ..head import Head
from ..runtime.engine import native
from ..runtime.platforms import platform_of
from ..spec.gradient_flow import differentiable_outputs
from ..tuned import lookup as tuned
from ..tuned import store as tuning_store
from ..tuned.store import TuneRecord
from .progress import Progress
from .rounds import Contender, at_best, is_quicker, median, race, ratio

if TYPE_CHECKING:
    from .._native import Engine

_MOST = 6  # contenders that are measured
_HOPELESS = 2.0  # times the prediction of the best: not measured
_COMPILING = 0.5  # share of the time in which contenders are compiled


@dataclass
class Candidate:
    """One configuration, and what is known of it.

    Args:
        tiles: all sizes, "TM=64,TN=128,...".
        threads: of the host.
        predicted: seconds by the cost model.
        refusal: why it cannot be; "" where it can.
        contender: where it was measured.
    """

    tiles: str
    threads: int
    predicted: float = float("inf")
    refusal: str = ""
    contender: Contender | None = None

    @property
    def measured(self) -> float | None:
        """The median of the seconds that a call took."""
        return median(self.contender.seconds) if self.contender and self.contender.seconds else None


@dataclass(frozen=True)
class Tuning:
    """What `lt.autotune` found. `str()` of it is a table for people.

    Args:
        loss, target, device, tokens, shape: what was tuned, and where.
        candidates: all configurations, the best first; those that were not measured come last, by prediction.
        default: what calls take that were not tuned.
        best: what calls take from now on: the default unless another one is quicker beyond noise.
        ratio: the default's time by the best one's: 1.1 is a tenth quicker. Of the rounds' ratios the median,
            or where a busy machine makes that say nothing, that of the best rounds.
        is_kept: whether other processes see it too; false as well where there was no time to compare.
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
    is_kept: bool
    seconds: float
    records: tuple[TuneRecord, ...] = field(repr=False, default=())

    def __str__(self) -> str:
        width = max(len(one.tiles) for one in self.candidates)
        lines = [
            f"{self.loss} on {self.target} ({self.device}), {self.shape}",
            f"  {self._counts()} measured in {self.seconds:.1f} s; {self._kept()}",
            f"    {'tiles':<{width}}{'threads':>8}{'predicted':>12}{'measured':>12}{'rounds':>8}",
        ]
        for one in self.candidates:
            mark = "*" if one is self.best else "d" if one is self.default else ""
            rounds = one.contender.rounds if one.contender else 0
            took = "" if one.measured is None else milliseconds(one.measured)
            lines.append(
                f"  {mark:<2}{one.tiles:<{width}}{one.threads:>8}{milliseconds(one.predicted):>12}{took:>12}"
                f"{rounds or '':>8}  {one.refusal}".rstrip()
            )
        if len(self.records) < 2:
            return "\n".join([*lines, "  raise the budget: there was no time for a second configuration"])
        if self.best is self.default:
            return "\n".join([*lines, "  * what calls take: the default, which nothing beats"])
        return "\n".join([*lines, f"  * what calls take: {self.ratio:.2f} x as fast as the default (d)"])

    def _counts(self) -> str:
        return f"{len(self.records)} of {len(self.candidates)}"

    def _kept(self) -> str:
        if len(self.records) < 2:
            return "nothing kept"
        return "kept for later processes" if self.is_kept else "kept in this process alone"


def milliseconds(seconds: float) -> str:
    """A time for people."""
    return "" if seconds == float("inf") else f"{seconds * 1e3:.4g} ms"


def autotune(
    head: Head, /, *args: object, budget_s: float = 30.0, grad: Iterable[str] | None = None, **inputs: object
) -> Tuning:
    """Finds the tiles and threads with which such calls are quickest, by measuring, and has later calls
    take them: those of this process, and of others on the same machine.

        lt.autotune(head, hidden, weight, target=labels, budget_s=10)

    The cost model ranks the sizes in the table of the target; the best are run in turns until one is left.
    Results are in tuning.sqlite in the folder of the disk cache, under all that the program depends on but
    the compiler, with the device and its driver or instruction set. Calls take them where the number of
    tokens is within a factor of 4, of the nearest one that was tuned.

    Args:
        head: of lt.jit.
        args, inputs: as for a call, with data: it is run, and what it returns is dropped.
        budget_s: seconds, roughly. The default is measured whatever they are; where there is no time for
            another one nothing is kept.
        grad: names of gradients, an empty sequence for none. Left out: what autograd would ask for where a
            tensor requires a gradient, else hidden and weight, as `value_and_grad` without arguments.

    Raises:
        CallError: the arguments do not fit, or the budget is none.
        TargetError: there is no such device.
    """
    if not isinstance(head, Head):
        raise CallTypeError(f"lt.autotune takes a head, not {head!r}; lt.jit makes one of a loss")
    if isinstance(budget_s, bool) or not isinstance(budget_s, Real) or not budget_s > 0:
        raise CallValueError(f"budget_s={budget_s!r} must be a positive number of seconds")
    if head.options.tiles:
        raise CallValueError(
            f"the head has tiles='{head.options.tiles}', which win over what tuning finds; tune one without"
        )
    call = head.bind(*args, **inputs)
    return tune(call, wanted_of_call(call, grad), budget_s)


def wanted_of_call(call: Call, grad: Iterable[str] | None) -> Wanted:
    """The gradients of a call, as the calls ask for them that shall find what was tuned."""
    if call.weight_grad_out:
        raise CallTypeError("'weight_grad_out' would be added into; tune without it")
    spec = call.form.spec
    if grad is None and call.framework.records_gradients and call.form.requiring:
        return by_autograd(call)
    if grad is not None:
        grad = named_gradients("grad", grad)
        if not grad:
            return Wanted()
    names = wanted_gradients(spec, call.form.options, call, grad, option="grad")
    outputs = differentiable_outputs(spec)
    return in_one_call(call, names, ("loss",) if "loss" in outputs else outputs)


def tune(call: Call, wanted: Wanted, budget: float, table: Sequence[str] | None = None) -> Tuning:
    """As `autotune`, for a call that is bound.

    Args:
        wanted: the gradients.
        budget: seconds.
        table: tile sizes in the place of those of the target's table, the default first.
    """
    start = time.perf_counter()
    key, name = default_key(call, wanted), call.form.spec.name
    engine = native().Engine(disk_cache="")  # losers are not worth a place in the caches of this process
    device, driver = tuned.model_of(key.target, call.pairs[0].hidden.device)
    search = _Search(call, key, engine, start + budget, start)
    task = search.program(Candidate("", key.threads)).task
    with Progress(f"tuning {name}") as progress:
        candidates = search.ranked(table, tuned.chosen(task, device, driver), progress)
        default = candidates[0]
        search.compile(candidates, progress)
        search.measure(candidates, progress)
    best, gain = _best(candidates, default)
    records = _records(call, key, (task, device, driver), candidates, default, best)
    is_kept = _keep(records)
    for programs in living_programs():
        programs.forget_choices()
    order = sorted(candidates, key=lambda one: (one.measured is None, one.measured or one.predicted))
    return Tuning(
        name, key.target, device, call.tokens, _shape(call), tuple(order), default, best, gain,
        is_kept, time.perf_counter() - start, records,
    )  # fmt: skip


class _Search:
    """The candidates of one call.

    Args:
        key: of the program without tuning.
        engine: that compiles and runs them.
        deadline, start: by time.perf_counter.
    """

    def __init__(self, call: Call, key: ProgramKey, engine: Engine, deadline: float, start: float):
        self.call, self.key, self.engine = call, key, engine
        self.deadline, self.start = deadline, start

    def program(self, candidate: Candidate) -> Program:
        """The program of a candidate; one without tiles has those of the table."""
        key = replace(self.key, tiles=candidate.tiles, threads=candidate.threads)
        return Program(self.call, key, self.engine)

    def share(self) -> float:
        """Of the time, that is over."""
        return (time.perf_counter() - self.start) / max(self.deadline - self.start, 1e-9)

    def ranked(
        self, table: Sequence[str] | None, before: Iterable[TuneRecord], progress: Progress
    ) -> list[Candidate]:
        """The default, then all others by prediction: the sizes of the table, what was chosen before for as
        many tokens, and the best sizes with fewer threads.

        Raises:
            CallValueError, CompileError, TargetError: there is no program with the default.
        """
        progress.show(self.share(), "predicting")
        threads = self.key.threads
        sizes = list(table) if table is not None else self.program(Candidate("", threads)).tiles()
        default = Candidate(sizes[0], threads)
        default.predicted = self.program(default).predict(self.call.tokens)
        others = [Candidate(tiles, threads) for tiles in dict.fromkeys(sizes[1:])]
        before = [one for one in before if one.tokens == self.call.tokens]
        others += [Candidate(one.tiles, one.threads) for one in before]
        for other in others:
            self._predict(other)
        best = min([default, *others], key=lambda one: one.predicted)
        if platform_of(self.key.target).host_threads:
            while (threads := threads // 2) >= 1:
                others.append(Candidate(best.tiles, threads))
                self._predict(others[-1])
        # What calls take now comes first: it must not lose its place because it was not measured.
        taken = {(one.tiles, one.threads) for one in before}
        known = {(default.tiles, default.threads): default}
        for other in sorted(others, key=lambda one: ((one.tiles, one.threads) not in taken, one.predicted)):
            known.setdefault((other.tiles, other.threads), other)
        return list(known.values())

    def _predict(self, candidate: Candidate) -> None:
        try:
            candidate.predicted = self.program(candidate).predict(self.call.tokens)
        except LogitileError as error:
            candidate.refusal = _reason(error)

    def compile(self, candidates: Sequence[Candidate], progress: Progress) -> None:
        """Makes contenders of the default and the best others, as many as there is time for, and runs each
        once.

        Raises: as for a call with the default.
        """
        limit = _HOPELESS * min(one.predicted for one in candidates)
        quickest = float("inf")
        for candidate in candidates:
            is_default = candidate is candidates[0]
            full = sum(one.contender is not None for one in candidates) >= _MOST
            if not is_default and (full or candidate.predicted > limit or self.share() > _COMPILING):
                continue
            progress.show(self.share(), f"compiling {candidate.tiles}, {candidate.threads} threads")
            try:
                program = self.program(candidate)
                program.plan(self.call.tokens)
                contender = Contender(self._run(program))
                took = contender.warm_up()
            except (LogitileError, *memory_errors()) as error:
                if is_default:
                    raise
                candidate.refusal = _reason(error)
                continue
            quickest = min(quickest, took)
            if is_default or took <= _HOPELESS * quickest:
                candidate.contender = contender

    def _run(self, program: Program) -> object:
        def run() -> None:
            execute.run(self.call, program, {})
            self.engine.check()  # calls on GPUs return before they are done

        return run

    def measure(self, candidates: Sequence[Candidate], progress: Progress) -> None:
        """Runs all contenders in turns."""
        contenders = [one.contender for one in candidates if one.contender is not None]

        def told(number: int, left: int) -> None:
            progress.show(self.share(), f"round {number}, {left} of {len(contenders)} left")

        race(contenders, self.deadline, told)
        for one in contenders:
            one.run = _over  # it holds the arrays of the call


def _over() -> None:
    raise RuntimeError("this contender is measured already")


def _reason(error: Exception) -> str:
    """The first line: the IR that may follow helps nobody here."""
    return str(error).partition("\n")[0]


def _best(candidates: Sequence[Candidate], default: Candidate) -> tuple[Candidate, float]:
    """The candidate to take, and the default's time by its. Those that dropped out were slower than one
    that did not.
    """
    measured = [one for one in candidates if one.measured is not None]
    most = max(one.contender.rounds for one in measured)
    last = [one for one in measured if one.contender.rounds == most]
    best = min(last, key=lambda one: ratio(one.contender, default.contender) * min(one.contender.seconds))
    if best is default or not is_quicker(best.contender, default.contender):
        return default, 1.0
    share = ratio(best.contender, default.contender)
    return best, 1 / (share if share < 1 else at_best(best.contender, default.contender))


def _records(
    call: Call,
    key: ProgramKey,
    place: tuple[str, str, str],
    candidates: Iterable[Candidate],
    default: Candidate,
    best: Candidate,
) -> tuple[TuneRecord, ...]:
    """What was measured, as it is kept."""
    task, device, driver = place
    return tuple(
        TuneRecord(
            task=task,
            device=device,
            driver=driver,
            tokens=call.tokens,
            tiles=one.tiles,
            threads=one.threads,
            loss=call.form.spec.name,
            target=key.target,
            shape=f"{_shape(call)}, {key.wanted.mode}",
            predicted=one.predicted,
            measured=one.measured,
            ratio=ratio(one.contender, default.contender),
            rounds=one.contender.rounds,
            chosen=one is best,
            time=tuning_store.now(),
        )
        for one in candidates
        if one.measured is not None
    )


def _keep(records: tuple[TuneRecord, ...]) -> bool:
    """On disk, or where that cannot be in memory. One configuration alone says nothing about others."""
    if len(records) < 2:
        return False
    (record,) = [one for one in records if one.chosen]
    if tuning_store.keep(records):
        tuned.forget(record)
        return True
    tuned.remember(record)
    return False


def _shape(call: Call) -> str:
    pairs = ", ".join(
        f"{pair.hidden_size} -> {call.form.vocab} {pair.hidden.operand_dtype}" for pair in call.pairs
    )
    return f"{call.tokens} x {pairs}"
