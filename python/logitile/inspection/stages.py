"""Implements `head.ir`, `head.explain` and `head.compile`: programs of calls that need not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..arguments.call import Call
from ..calls import execute
from ..calls.demands import by_names
from ..calls.place import place
from ..calls.program import Program, workspace_budget
from ..calls.programs import Programs
from ..errors import CallValueError
from ..messages.names import did_you_mean, listed
from ..runtime.engine import native
from ..runtime.platforms import stages_of
from .explanation import STAGES, Explanation, explanation

if TYPE_CHECKING:
    from .._native import Engine


def stage_text(
    programs: Programs, call: Call, stage: str, grad: Iterable[str] | None, kernel: str | None
) -> str | bytes:
    """The text of a stage; see Head.ir.

    Raises:
        CallValueError: there is no such stage or kernel.
    """
    wanted = by_names(call, grad)
    target, _ = place(call.form.options.backend, call.pairs[0].hidden.device)
    check_stage(stage, target)
    program = programs.program(call, wanted)
    if kernel is not None:
        check_kernel(kernel, stage, lambda: program.plan(call.tokens).describe(call.tokens, program.threads))
    return program.stage(call.tokens, stage, kernel or "")


def check_stage(stage: str, target: str) -> None:
    """That programs for a target have a stage.

    Raises:
        CallValueError: they do not.
    """
    if stage not in STAGES:
        raise CallValueError(
            f"there is no stage '{stage}'{did_you_mean(stage, STAGES)}; stages are {listed(STAGES)}"
        )
    made = stages_of(target)
    if stage not in made:
        raise CallValueError(f"there is no stage '{stage}' for '{target}'; stages are {listed(made)}")


def check_kernel(kernel: str, stage: str, describe: Callable[[], Mapping[str, Any]]) -> None:
    """That a stage has a kernel of a plan.

    Args:
        describe: tells what is in the plan.

    Raises:
        CallValueError: it does not.
    """
    if stage in ("spec", "plan"):
        raise CallValueError(f"stage '{stage}' has no kernels; leave 'kernel' out, or ask for a later stage")
    names = [found["name"] for found in describe()["kernels"]]
    if kernel not in names:
        raise CallValueError(
            f"there is no kernel '{kernel}'{did_you_mean(kernel, names)}; it has {listed(names)}"
        )


def explained(programs: Programs, call: Call, grad: Iterable[str] | None, timing: bool) -> Explanation:
    """See Head.explain. The program is one of its own, so that compiling is always measured."""
    wanted, options = by_names(call, grad), call.form.options
    if not isinstance(timing, bool):
        raise CallValueError(f"timing={timing!r} must be True or False")
    engine = native().Engine(times_kernels=timing, disk_cache="")
    key = programs.key(call, wanted)
    program = Program(call, key, engine)
    plan = program.plan(call.tokens)
    measured = _measured(call, program, engine) if timing else {}
    budget = None if options.chunks else workspace_budget(options, call, key.target, key.threads)
    described = plan.describe(call.tokens, key.threads)
    tiles = (options.tiles or key.tiles, bool(key.tiles))
    return explanation(described, wanted.mode, budget, measured, tiles, program.predict(call.tokens))


def _measured(call: Call, program: Program, engine: Engine) -> dict[str, dict[str, Any]]:
    """What the engine tells of each kernel: in the quicker of two calls after a first one,
    which warms up.
    """
    runs = []
    for _ in range(3):
        engine.clear_history()
        execute.run(call, program, {})
        kernels: dict[str, dict[str, Any]] = {}
        for record in engine.history():
            for kernel in record["kernels"]:
                _add(kernels.setdefault(kernel["name"], {}), kernel)
        runs.append(kernels)
    return min(runs[1:], key=lambda kernels: sum(kernel["ms"] for kernel in kernels.values()))


def _add(total: dict[str, Any], more: dict[str, Any]) -> None:
    """Adds numbers, also those in groups, to those of the same names."""
    for name, value in more.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        elif not isinstance(value, str):
            total[name] = total.get(name, 0) + value
