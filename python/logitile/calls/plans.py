"""Compiled plans as files:
`head.compile` makes them; they are saved, loaded and run, here or from C (runtime/logitile.h).

A plan holds the program of a loss for an interval of numbers of tokens, and how its calls reduce
the loss and which tokens they ignore.
"""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..arguments.call import native_name
from ..arguments.options import Options
from ..arguments.outputs import output_dtype, output_shape
from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import Array, check_same_device
from ..frameworks.choice import described
from ..messages.names import did_you_mean, interval_text, listed
from ..runtime.engine import engine
from ..runtime.platforms import platform_of
from .native_call import NativeCall, call_options
from .place import check_memory, place, thread_count
from .program import float_dtype

if TYPE_CHECKING:
    from .. import _native


class Plan:
    """A compiled plan; see `head.compile` and `lt.load_plan`.

    Args:
        native: of the native module.
        options: reduction, ignore, ignore_index and all_ignored of its calls.
    """

    def __init__(self, native: _native.Plan, options: Options):
        self._native = native
        self._options = options
        self._described = native.describe(0, 1)

    def __repr__(self) -> str:
        made = self._described
        return f"<plan of '{made['name']}' for {made['target']}, {interval_text(self.interval)} tokens>"

    @property
    def interval(self) -> tuple[int, int]:
        """The numbers of tokens that it serves: first and end (exclusive)."""
        return self._native.interval

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file. It holds machine code: load only files that you would run."""
        with open(path, "wb") as file:
            file.write(self._native.save(self._rules(self._options.ignoring_input)))

    def run(
        self, *args: object, divisor: object = None, grad_output: object = None, **inputs: object
    ) -> tuple[Any, dict[str, Any]]:
        """Runs the plan.

        Args:
            args, inputs, divisor: as for a call of the head.
            grad_output: the gradient that arrives at the loss, or a dictionary by output. The
                default is 1 for the loss.

        Returns: the outputs as from a call, and the gradients of the plan, by name.

        Raises:
            CallError: the arguments do not fit the plan.
        """
        arrays = self._arrays(args, inputs)
        hidden = arrays[native_name(self._pairs[0], "hidden")]
        leading = hidden.shape[:-1]
        outputs = {o["name"]: self._empty_output(o, hidden, leading) for o in self._described["outputs"]}
        gradients = {
            native_name(g["name"], g["part"]): self._empty_gradient(g, arrays)
            for g in self._described["gradients"]
        }
        given = {name: described(item, f"grad_output of '{name}'") for name, item in
                 self._cotangents(grad_output).items()}  # fmt: skip
        divides = None if divisor is None else described(divisor, "divisor")
        others = {f"grad_output of {name}": array for name, array in given.items()}
        self._check_devices(hidden, arrays, others if divides is None else {**others, "divisor": divides})
        cotangents = [_view(array, name) for name, array in given.items()]
        read = [_view(array, name) for name, array in arrays.items()]
        made = [_view(described(array, name), name) for name, array in gradients.items()]
        written = [_view(described(array, name), name) for name, array in outputs.items()]
        call = NativeCall(self._native, self._call_options(arrays), read, hidden, divides)
        call.run(written, made, cotangents, is_early=not self._described["split"])
        return self._result(hidden, outputs), {
            self._public_name(name): self._finished(hidden, array, arrays[name])
            for name, array in gradients.items()
        }

    @property
    def _pairs(self) -> list[str]:
        return [pair["name"] for pair in self._described["projections"]]

    def _arrays(self, args: tuple[object, ...], inputs: Mapping[str, object]) -> dict[str, Array]:
        """The arrays of a call under the names that the plan has for them."""
        pairs, given = self._pairs, dict(inputs)
        known = [*pairs, *(i["name"] for i in self._described["inputs"])]
        if len(args) > 2 * len(pairs) or len(args) % 2:
            raise CallTypeError(
                f"the plan takes hidden and weight of {listed(pairs)} by position, {2 * len(pairs)} arrays; "
                f"got {len(args)}"
            )
        positional = {p: (args[2 * i], args[2 * i + 1]) for i, p in enumerate(pairs[: len(args) // 2])}
        doubled = [name for name in positional if name in given]
        if doubled:
            raise CallTypeError(f"{listed(doubled)} is given twice: by position and by name")
        given |= positional
        for name in given:
            if name not in known:
                raise CallTypeError(f"the plan reads no '{name}'{did_you_mean(name, known)}")
        missing = [name for name in known if given.get(name) is None]
        if missing:
            raise CallTypeError(f"the plan reads {listed(missing)}, which the call does not give")
        target = self._described["target"]
        arrays = {}
        for name, item in given.items():
            if name not in pairs:
                arrays[name] = described(item, name)
                continue
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise CallTypeError(f"'{name}' must be a tuple of hidden and weight")
            for part, array in zip(("hidden", "weight"), item, strict=True):
                arrays[native_name(name, part)] = described(array, native_name(name, part))
        for name, array in arrays.items():
            if not array.has_data:
                raise CallTypeError(
                    f"'{self._public_name(name)}' ({array}) has a shape but no data; a call needs the numbers"
                )
            if not array.is_host_number:
                check_memory(platform_of(target), target, array.device)
        return arrays

    def _check_devices(self, hidden: Array, arrays: Mapping[str, Array], others: Mapping[str, Array]) -> None:
        named = [(self._public_name(name), array) for name, array in arrays.items()]
        check_same_device([("hidden", hidden), *named, *others.items()])

    def _cotangents(self, grad_output: object) -> dict[str, object]:
        """What reaches the outputs, by name; nothing stands for 1 at the loss."""
        carrying = [output["name"] for output in self._described["outputs"] if output["cotangent"]]
        if grad_output is None:
            if carrying and "loss" not in carrying:
                raise CallTypeError(f"grad_output must say what reaches {listed(carrying)}: there is no loss")
            return {}
        given = grad_output if isinstance(grad_output, Mapping) else {"loss": grad_output}
        for name in given:
            if name not in carrying:
                have = f"gradients of {listed(carrying)}" if carrying else "no gradients"
                raise CallTypeError(f"grad_output names '{name}', but the plan makes {have}")
        return {name: item for name, item in given.items() if item is not None}

    def _empty_output(self, output: Mapping[str, Any], hidden: Array, leading: tuple[int, ...]) -> Any:
        shape = output_shape(self._options, leading, output["name"], output["places"] or None)
        return hidden.framework.empty(hidden, shape, output_dtype(output["element"]))

    def _empty_gradient(self, gradient: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
        array = arrays[native_name(gradient["name"], gradient["part"])]
        hidden = arrays[native_name(self._pairs[0], "hidden")]
        like = array if array.device == hidden.device else hidden
        dtype = gradient["element"] if gradient["kind"] == "direct" else float_dtype(array)
        return like.framework.empty(like, array.shape, dtype)

    def _call_options(self, arrays: Mapping[str, Array]) -> _native.CallOptions:
        name = self._options.ignoring_input
        return self._rules(name if name in arrays and self._options.ignore_index is not None else None)

    def _rules(self, ignore: str | None) -> _native.CallOptions:
        """How calls of the plan reduce their loss and tell ignored tokens."""
        outputs = [output["name"] for output in self._described["outputs"]]
        return call_options(self._options, outputs, ignore, thread_count())

    def _public_name(self, name: str) -> str:
        """What callers know an array of the plan as."""
        if len(self._pairs) != 1:
            return name
        return {native_name(self._pairs[0], part): part for part in ("hidden", "weight")}.get(name, name)

    def _finished(self, hidden: Array, gradient: Any, array: Array) -> Any:
        framework = hidden.framework
        return framework.to_framework(hidden, framework.on_device_of(array, gradient))

    def _result(self, hidden: Array, outputs: Mapping[str, Any]) -> Any:
        to_framework = hidden.framework.to_framework
        finished = {name: to_framework(hidden, array) for name, array in outputs.items()}
        if list(finished) == ["loss"]:
            return finished["loss"]
        return namedtuple(f"{self._described['name']}_outputs", finished)(**finished)


def _view(array: Array, name: str) -> Any:
    return array.framework.view(array, name)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """A plan that `save` wrote. Reduction and ignored tokens are those of its head.

    Args:
        path: of the file. It holds machine code: load only files that you would run.

    Raises:
        CallValueError: the file is damaged or of another version of logitile.
        TargetError: it is for another machine.
    """
    with open(path, "rb") as file:
        plan = engine().load(file.read())
    rules = plan.describe(0, 1).get("rules")
    if rules is None:
        raise CallValueError(
            f"{os.fspath(path)} does not say how its loss is reduced: it was saved from C without a call; "
            "give lt_plan_save one"
        )
    options = Options(
        reduction=rules["reduction"],
        ignore_index=rules["ignore_index"],
        ignore=rules["ignore"] or None,
        all_ignored="zero" if rules["zero_if_all_ignored"] else "nan",
    )
    return Plan(plan, options)


def plan_from_text(text: str, stage: str, options: Options) -> Plan:
    """A plan that is compiled from the text of a stage; see `Head.compile_text`."""
    target = "" if options.backend == "auto" else place(options.backend, None)[0]
    return Plan(engine().compile_text(text, stage, target), options)
