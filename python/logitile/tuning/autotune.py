"""`lt.autotune`: the fastest tile sizes and number of threads for a head on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
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
from ..messages.names import counted
from ..runtime.engine import native
from ..runtime.platforms import platform_of
from ..spec.gradient_flow import differentiable_outputs
from ..tuned import lookup as tuned
from ..tuned import store as tuning_store
from ..tuned.store import TuneRecord
from .progress import Progress
from .results import Candidate, Tuning, in_order, judge, verdict
from .rounds import Contender, finalists, race

if TYPE_CHECKING:
    from .._native import Engine

_MOST = 6  # contenders that are measured
_HOPELESS = 2.0  # times the prediction of the best: not measured
_COMPILING = 0.5  # share of the time in which contenders are compiled


def autotune(
    head: Head, /, *args: object, budget_s: float = 30.0, grad: Iterable[str] | None = None, **inputs: object
) -> Tuning:
    """Measures which tile sizes and how many threads are fastest for such calls.
    Later calls use them, in this process and in others on the same machine.

        lt.autotune(head, hidden, weight, target=labels, budget_s=10)

    The cost model ranks the sizes in the table of the target. The best ones run in turns, in three
    rounds or more; sizes that are clearly slower drop out. Results are stored in tuning.sqlite in
    the folder of the disk cache. Their key is everything on which the program depends except the
    compiler, and the device with its driver or instruction set. Calls use the result of the nearest
    number of tokens, if it is within a factor of 4.

    Args:
        head: of lt.jit.
        args, inputs: as for a call, with data. The call is run, and its results are dropped.
        budget_s: seconds, roughly. The default sizes are always measured. If there is no time to
            measure other sizes three times, nothing is stored.
        grad: names of gradients, an empty sequence for none. By default the gradients that autograd
            would compute, if a tensor requires one, or else those of hidden and weight.

    Raises:
        CallError: the arguments do not fit, or the budget is not a positive number.
        TargetError: there is no such device.
    """
    if not isinstance(head, Head):
        raise CallTypeError(f"lt.autotune takes a head, not {head!r}; lt.jit makes one of a loss")
    if isinstance(budget_s, bool) or not isinstance(budget_s, Real) or not budget_s > 0:
        raise CallValueError(f"budget_s={budget_s!r} must be a positive number of seconds")
    if head.options.tiles:
        raise CallValueError(
            f"the head has tiles='{head.options.tiles}', which override tuned sizes; tune a head without"
        )
    call = head._bind(*args, **inputs)
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
    # losers are not worth a place in the caches of this process
    engine = native().Engine(disk_cache="")
    device, driver = tuned.model_of(key.target, call.pairs[0].hidden.device)
    search = _Search(call, key, engine, start + budget, start)
    task = search.program(Candidate("", key.threads)).task
    with Progress(f"tuning {name}") as progress:
        before = tuned.chosen(task, device, driver)
        candidates = search.ranked(table, before, progress)
        default = candidates[0]
        search.compile(candidates, progress)
        search.measure(candidates, progress)
    best = judge(candidates, default)
    records = _records(call, key, (task, device, driver), candidates, best)
    said = verdict(records, search.is_late, tuned.nearest(before, call.tokens))
    is_kept = _keep(records)
    for programs in living_programs():
        programs.forget_choices()
    return Tuning(
        name, key.target, device, call.tokens, _shape(call), in_order(candidates), default, best,
        1 / best.ratio, said, is_kept, time.perf_counter() - start, records,
    )  # fmt: skip


class _Search:
    """The candidates of one call.

    Args:
        key: of the program without tuning.
        engine: that compiles and runs them.
        deadline, start: by time.perf_counter.
        is_late: whether there was no time for some candidate.
    """

    def __init__(self, call: Call, key: ProgramKey, engine: Engine, deadline: float, start: float):
        self.call, self.key, self.engine = call, key, engine
        self.deadline, self.start = deadline, start
        self.is_late = False

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
        """The default, then all others by prediction: the sizes of the table, what was chosen
        before for as many tokens, and the best sizes with fewer threads.

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
        taken = {(one.tiles, one.threads) for one in before}
        for other in others:
            other.was_chosen = (other.tiles, other.threads) in taken
        known = {(default.tiles, default.threads): default}
        for other in _taken_first(others, lambda one: one.predicted):
            known.setdefault((other.tiles, other.threads), other)
        return list(known.values())

    def _predict(self, candidate: Candidate) -> None:
        try:
            candidate.predicted = self.program(candidate).predict(self.call.tokens)
        except LogitileError as error:
            candidate.refusal = _reason(error)

    def compile(self, candidates: Sequence[Candidate], progress: Progress) -> None:
        """Makes contenders of the default, what was chosen before and the best others, as many as
        there is time for, and runs each once. What was chosen before takes part however slow it
        seems: calls take it now, and a first run on a busy machine says little.

        Raises: as for a call with the default.
        """
        limit = _HOPELESS * min(one.predicted for one in candidates)
        quickest = float("inf")
        for candidate in candidates:
            is_default = candidate is candidates[0]
            full = sum(one.contender is not None for one in candidates) >= _MOST
            must = is_default or candidate.was_chosen
            if not must and (full or candidate.predicted > limit):
                continue
            if not is_default and self.share() > _COMPILING:
                self.is_late = True
                return
            threads = counted(candidate.threads, "thread")
            progress.show(self.share(), f"compiling {candidate.tiles}, {threads}")
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
            if must or took <= _HOPELESS * quickest:
                candidate.contender = contender

    def _run(self, program: Program) -> object:
        def run() -> None:
            execute.run(self.call, program, {})
            self.engine.check()  # calls on GPUs return before they are done

        return run

    def measure(self, candidates: Sequence[Candidate], progress: Progress) -> None:
        """Runs contenders in turns: the default, and the others that there is time for."""
        others = [one for one in candidates[1:] if one.contender is not None]
        others = _taken_first(others, lambda one: one.contender.expected / one.contender.calls)
        ready = [candidates[0].contender, *(one.contender for one in others)]
        contenders = finalists(ready, self.deadline - time.perf_counter())
        self.is_late = self.is_late or len(contenders) < len(ready)

        def told(number: int, left: int) -> None:
            progress.show(self.share(), f"round {number}, {left} of {len(contenders) - 1} left")

        race(contenders, self.deadline, told)
        for one in ready:
            one.run = _over  # it holds the arrays of the call


def _over() -> None:
    raise RuntimeError("this contender is measured already")


def _taken_first(candidates: Iterable[Candidate], seconds: Callable[[Candidate], float]) -> list[Candidate]:
    """In order of their times, but what calls take now comes first:
    it must not lose its place because it was not measured.
    """
    return sorted(candidates, key=lambda one: (not one.was_chosen, seconds(one)))


def _reason(error: Exception) -> str:
    """The first line, without the IR that may follow."""
    return str(error).partition("\n")[0]


def _records(
    call: Call,
    key: ProgramKey,
    place: tuple[str, str, str],
    candidates: Iterable[Candidate],
    best: Candidate,
) -> tuple[TuneRecord, ...]:
    """What was measured, as it is kept."""
    task, device, driver = place
    now = tuning_store.now()
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
            ratio=one.ratio,
            rounds=one.rounds,
            chosen=one is best,
            time=now,
        )
        for one in candidates
        if one.measured is not None
    )


def _keep(records: tuple[TuneRecord, ...]) -> bool:
    """On disk, or where that cannot be in memory.
    One configuration alone says nothing about others.
    """
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
