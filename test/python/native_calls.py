"""Compiles losses of the language for the CPU and runs them through the native
module alone, in NumPy.
"""

from __future__ import annotations

import logitile as lt
import numpy as np
from logitile import _native

FLOAT32 = _native.TYPES["float32"]
OUTPUTS = {"f32": np.float32, "i32": np.int64, "i1": np.bool_}


class NativeCall:
    """One call of a loss as the native module sees it.

    Args:
        engine: a native Engine.
        loss: of the language.
        given: arguments by name, pairs as tuples of float32 arrays.
        gradients: names of arrays: "z.hidden", "z.weight", "bias"; none without gradients.
        mode: "forward", "early" or "split".
        options: of lt.jit: reduction, ignore_index, ...
        request: workspace, chunks, threads, accumulate, target.
    """

    def __init__(
        self, engine, loss, given, gradients=(), mode="forward", options=None, constants=None, **request
    ):
        self.options = {"reduction": "mean", **(options or {})}
        self.head = lt.jit(loss, **self.options, **(constants or {}))
        self.given = given
        call = self.head._bind(**given)
        self.spec, self.leading, self.tokens = call.form.spec, call.leading, call.tokens
        self.pairs = {pair.name: given[pair.name] for pair in call.pairs}
        self.inputs = {name: np.asarray(array) for name, array in given.items() if name not in self.pairs}
        self.parts = {name: (name, "input") for name in self.inputs}
        for name, (hidden, weight) in self.pairs.items():
            self.inputs |= {f"{name}.hidden": hidden, f"{name}.weight": weight}
            self.parts |= {f"{name}.{part}": (name, part) for part in ("hidden", "weight")}
        self.gradients, self.mode = tuple(gradients), mode
        self.threads = request.get("threads", 2)
        self.program = _native.Program(engine, **self._request(request))

    def _request(self, request):
        wrt = {self.parts[name][0] for name in self.gradients}
        of = [o.name for o in self.spec.outputs if o.type == "f32" and o.name != "weight"] if wrt else None
        order = [given.name for given in self.spec.inputs if given.name in wrt] or None
        dense = [
            (i.name, FLOAT32 if i.type == "f32" else _native.TYPES["bool"])
            for i in self.spec.inputs
            if i.axis == "dense"
        ]
        budget = {} if "chunks" in request else {"workspace": 1 << 26}
        defaults = {"target": _native.host_target(), "threads": self.threads, **budget}
        return {
            "spec": self.spec.text(of, order, locations=False), "located_spec": self.spec.text(of, order),
            "projections": [(name, x.shape[-1], *[FLOAT32] * 3) for name, (x, _) in self.pairs.items()],
            "dense": dense, "gradients": [(*self.parts[name], FLOAT32) for name in self.gradients],
            "mode": self.mode, **defaults, **request,
        }  # fmt: skip

    def run(self, cotangents=None, divisor=None, buffers=None):
        """Outputs and gradients by name; 'buffers' are arrays that gradients go into."""
        options = self.head.options
        ignores = any(
            i.name == options.ignoring_input and (i.axis, i.type) == ("token", "i32")
            for i in self.spec.inputs
        )
        native = _native.CallOptions(
            reduction=options.reduces if "loss" in self.spec.output_names else "none",
            ignore=options.ignoring_input if ignores and options.ignore_index is not None else None,
            ignore_index=options.ignore_index, threads=self.threads,
            zero_if_all_ignored=options.all_ignored == "zero",
        )  # fmt: skip
        outputs = {}
        for output in self.spec.outputs:
            reduced = output.name == "loss" and options.reduces != "none"
            outputs[output.name] = np.zeros(() if reduced else self.leading, OUTPUTS[output.type])
        gradients = {
            name: np.full(self.inputs[name].shape, np.nan, np.float32) for name in self.gradients
        } | (buffers or {})
        inputs, cotangents = list(self.inputs.items()), list((cotangents or {}).items())
        made = list(gradients.items())
        plan = self.program.plan(self.tokens)
        early = made if self.mode == "early" else ()
        saved = plan.forward(
            native, inputs, list(outputs.items()), early, cotangents if early else (), divisor=divisor
        )
        if saved is not None:
            saved.backward(inputs, made, cotangents)
        return outputs, gradients

    def reference(self, grad_output=None, **extra):
        """What `run` should give, in float64."""
        several = len(self.pairs) > 1
        names = {
            name: name if several or "." not in name else name.partition(".")[2] for name in self.gradients
        }
        if not names:
            result = self.head.reference(**self.given, **extra)
            return result, {}
        result, gradients = self.head.reference_grad(
            wrt=tuple(names.values()), grad_output=grad_output, **self.given, **extra
        )
        return result, {name: gradients[known] for name, known in names.items()}
