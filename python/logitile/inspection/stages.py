"""What `head.ir`, `head.explain` and `head.compile` do: programs of calls that need not run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..arguments.binding import Call
from ..arguments.gradients import differentiable_outputs, named_gradients, wanted_gradients
from ..calls import execute
from ..calls.program import Program, Wanted, workspace_budget
from ..errors import CallTypeError, CallValueError
from ..messages.names import did_you_mean, listed
from ..runtime.engine import place
from .explanation import STAGES, Explanation, explanation

if TYPE_CHECKING:
    from .._native import Engine
    from ..head import Head

_CODE = {"cpu": "obj", "cuda": "ptx"}  # what a kind of device runs; what the emulator runs has no text


def wanted_of(head: Head, call: Call, grad: Iterable[str] | None) -> Wanted:
    """The gradients of `head.ir` and its like, made as `value_and_grad` makes them.

    Args:
        grad: names; an empty sequence for none; None for the arrays that require one, else hidden and weight.

    Raises:
        CallError: a name is unknown, or has no gradient.
    """
    if call.weight_grad_out:
        raise CallTypeError("'weight_grad_out' belongs to calls that run once; leave it out here")
    spec = head.spec(call)
    if grad is not None:
        grad = named_gradients("grad", grad)
        if not grad:
            return Wanted()
    names = wanted_gradients(spec, head.options, call, grad, option="grad")
    return execute.wanted_in_one_call(spec, head.options, call, names, differentiable_outputs(spec), None)


def stage_text(head: Head, call: Call, stage: str, wanted: Wanted, kernel: str | None) -> str | bytes:
    """The text of a stage.

    Raises:
        CallValueError: there is no such stage or kernel.
    """
    if stage not in STAGES:
        raise CallValueError(
            f"there is no stage '{stage}'{did_you_mean(stage, STAGES)}; stages are {listed(STAGES)}"
        )
    target, _ = place(head.options.backend, call.pairs[0].hidden.device)
    code = _CODE.get(target.partition(":")[0])
    made = [name for name in STAGES if name not in _CODE.values() or name == code]
    if stage not in made:
        raise CallValueError(f"there is no stage '{stage}' for '{target}'; stages are {listed(made)}")
    program = head.program(call, wanted)
    if kernel is not None:
        _check_kernel(program, call, stage, kernel)
    return program.stage(call.tokens, stage, kernel or "")


def _check_kernel(program: Program, call: Call, stage: str, kernel: str) -> None:
    if stage in ("spec", "plan"):
        raise CallValueError(f"stage '{stage}' has no kernels; leave 'kernel' out, or ask for a later stage")
    names = re.findall(r"logitile\.kernel @(\w+)", str(program.stage(call.tokens, "tiles", "")))
    if kernel not in names:
        raise CallValueError(
            f"there is no kernel '{kernel}'{did_you_mean(kernel, names)}; it has {listed(names)}"
        )


def explained(head: Head, call: Call, wanted: Wanted, timing: bool) -> Explanation:
    """An explanation from a program of its own, so that compiling is always measured."""
    from .. import _native

    if not isinstance(timing, bool):
        raise CallValueError(f"timing={timing!r} must be True or False")
    engine = _native.Engine(times_kernels=timing, disk_cache="")
    key = head.key(call, wanted)
    program = Program(head.spec(call), head.options, call, key, engine)
    plan = program.plan(call.tokens)
    plan_text = program.stage(call.tokens, "plan", "")
    measured = _measured(head, call, program, engine) if timing else {}
    budget = None if head.options.chunks else workspace_budget(head.options, call, key.target, key.threads)
    described = plan.describe(call.tokens, key.threads)
    tiles = (head.options.tiles or key.tiles, bool(key.tiles))
    return explanation(described, str(plan_text), wanted.mode, budget, measured, tiles)


def _measured(head: Head, call: Call, program: Program, engine: Engine) -> dict[str, dict[str, Any]]:
    """What the engine tells of each kernel: in the quicker of two calls after a first one, which warms up."""
    runs = []
    for _ in range(3):
        engine.clear_history()
        execute.run(head, call, program, {})
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
