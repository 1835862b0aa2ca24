"""Calls of heads against float64, with the gate of the language: a result may be twice as far away
as torch's own float32 arithmetic, and four units of its precision.

An error is the norm of a difference against the norm of the reference. Where a reference cancels (a
single vocabulary entry, say) its norm says nothing: it is then taken for LEAST of what it would be
if every token had a gradient of 1 for one logit. The gradient of a scalar is a sum over tokens, so
its error is held against the sum of the magnitudes.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field

import logitile as lt
import numpy as np
from accuracy import UNIT, Arguments, allowed
from backends import brought_back, jit, moved

LEAST = 0.01


@dataclass
class Sample:
    """A call of a head, and what it is compared with.

    Args:
        loss: of the language.
        given: arguments by name; pairs as (hidden [N, D], weight [V, D]).
        options: of lt.jit, with constants; the backend is that of the test.
        wrt: names of gradients.
        cotangent: what reaches outputs, by name: a number for a reduced loss, [N] else.
        call: further keywords of the call: divisor, grad_dtype.
    """

    loss: lt.Loss
    given: dict
    options: dict
    wrt: tuple[str, ...]
    cotangent: dict
    call: dict = field(default_factory=dict)

    def __post_init__(self):
        self.head = jit(self.loss, **self.options)
        self.pairs = {name: item for name, item in self.given.items() if isinstance(item, tuple)}
        self.transposes = self.options.get("weight_layout") == "dv"
        self.passed = dict(self.given)
        if self.transposes:
            self.passed |= {name: (h, np.ascontiguousarray(w.T)) for name, (h, w) in self.pairs.items()}
        self.spec = self.head._bind(**self.passed).form.spec

    def __str__(self):
        """Everything that a failure needs to be seen again."""
        shapes = {
            name: [
                f"{x.dtype}{list(np.shape(x))}"
                for x in (item if isinstance(item, tuple) else (np.asarray(item),))
            ]
            for name, item in self.given.items()
        }
        source = inspect.getsource(self.loss.function)
        return f"\n{source}\n{shapes}\noptions {self.options} wrt {self.wrt} call {self.call}"

    @property
    def tokens(self):
        return next(iter(self.pairs.values()))[0].shape[0]

    @property
    def unit(self):
        return UNIT[next(iter(self.pairs.values()))[0].dtype.name]

    # ---- the two sides ---------------------------------------------------------------------------

    def run(self):
        """Outputs and gradients of the head, by name: "loss", "grad z.hidden"."""
        here = self.head.options.backend
        given = {name: moved(item, here) for name, item in self.passed.items()}
        if not self.wrt:
            return self._named(self.head(**given, **self.call), {})
        arguments = self.arguments() | given
        up = arguments["grad_output"]
        reaching = {n: moved(u, here) for n, u in up.items()} if isinstance(up, dict) else moved(up, here)
        return self._named(*self.head.value_and_grad(**arguments | {"grad_output": reaching}, **self.call))

    def reference(self):
        """The same in float64."""
        divisor = {name: item for name, item in self.call.items() if name == "divisor"}
        if not self.wrt:
            return self._named(self.head.reference(**self.passed, **divisor), {})
        return self._named(*self.head.reference_grad(**self.arguments(), **divisor))

    def arguments(self):
        grad_output = self.cotangent["loss"] if self.spec.bare else self.cotangent
        return {**self.passed, "wrt": self.wrt, "grad_output": grad_output}

    def _named(self, outputs, gradients):
        named = {"loss": outputs} if self.spec.bare else outputs._asdict()
        for name, gradient in gradients.items():
            is_transposed = self.transposes and name.rpartition(".")[2] == "weight"
            named["grad " + self._full(name)] = gradient.T if is_transposed else gradient
        return {name: brought_back(value) for name, value in named.items()}

    def _full(self, name):
        return f"{next(iter(self.pairs))}.{name}" if name in ("hidden", "weight") else name

    def counted(self):
        """Which tokens are not ignored, [N]."""
        options = self.head.options
        if options.ignore_index is None or options.ignoring_input not in self.given:
            return np.ones(self.tokens, bool)
        ignored = np.asarray(self.given[options.ignoring_input]) == options.ignore_index
        return ~(ignored.all(-1) if ignored.ndim > 1 else ignored)

    # ---- errors ----------------------------------------------------------------------------------

    def check(self):
        """What the head gives, by name; fails where it misses the gate."""
        gates = Gates(self, self.reference())
        found = self.run()
        gates.check(found, str(self))
        return found


class Gates:
    """What errors of a sample may be.

    Args:
        wanted: the reference's results.
    """

    def __init__(self, sample, wanted):
        self.sample, self.wanted, self.live = sample, wanted, sample.counted()
        self.axes = {given.name: given.axis for given in sample.spec.inputs}
        given = {name: self._counted(name, item) for name, item in sample.given.items()}
        scale = self._loss_scale(wanted)
        cotangent = {name: self._per_token(up, scale) for name, up in sample.cotangent.items()}
        self.sizes = natural_sizes(given, cotangent)
        self.exact = {}
        if self.live.any():
            wrt = {name.removesuffix(".hidden").removesuffix(".weight")
                   for name in map(sample._full, sample.wrt)}  # fmt: skip
            self.torch = Arguments(sample.spec, given, cotangent, wrt or set(sample.pairs))
            self.exact = self.torch.reference()

    def check(self, found, what):
        """Fails where a result misses the gate; 'what' tells what was called."""
        missed = {name: self.ratio(name, found[name]) for name in self.wanted}
        worst = max(missed, key=missed.get)
        message = f"{worst} misses the gate {missed[worst]:.3g} times"
        assert missed[worst] <= 1, message + self._beyond_torch() + what

    def _beyond_torch(self):
        """How many results are not finite in torch's float32, and which. They excuse nothing."""
        single = self.torch.single(None) if self.exact else {}
        finite = [name for name, value in self.wanted.items() if np.isfinite(value).all()]
        beyond = [name for name in finite if not np.isfinite(single.get(name.removeprefix("grad "), 0)).all()]
        return f"; torch is not finite for {len(beyond)} of them: {', '.join(beyond)}" if beyond else ""

    def _counted(self, name, item):
        if isinstance(item, tuple):
            return item[0][self.live].astype(np.float32), item[1].astype(np.float32)
        return np.asarray(item)[self.live] if self.axes.get(name) in ("token", "dense") else np.asarray(item)

    def _loss_scale(self, wanted):
        """What a token's loss is multiplied with in the reduced one."""
        if self.sample.head.options.reduces != "mean" or not self.live.any():
            return 1.0
        divisor = self.sample.call.get("divisor")
        if divisor is None:
            divisor = wanted["weight"].sum() if "weight" in wanted else self.live.sum()
        return 1 / float(divisor)

    def _per_token(self, up, scale):
        if np.ndim(up):
            return np.asarray(up, np.float32)[self.live]
        return np.full(self.live.sum(), up * scale, np.float32)

    @functools.cached_property
    def torch_errors(self):
        """By result. Most results need none of it: they are within what every result may be off."""

        def error(found, wanted, name):
            return self._error(name, found, wanted)

        return self.torch.torch_errors(self.exact, np.random.default_rng(0), error)

    @functools.cached_property
    def magnitudes(self):
        """For each scalar with a gradient, the sum of the magnitudes of all tokens' terms."""
        scalars = [name for name, axis in self.axes.items() if axis == "scalar" and name in self.exact]
        parts = dict.fromkeys(scalars, 0.0)
        for token in range(self.live.sum()):
            exact = self.torch.of_token(token, self.axes).reference()
            for name in scalars:
                parts[name] += float(np.abs(exact[name]))
        return parts

    def _error(self, name, a, b):
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite):
            return np.inf
        difference = a[finite].astype(np.float64) - b[finite]
        return float(
            np.linalg.norm(difference) / max(np.linalg.norm(b[finite]), self.sizes.get(name, 0), 1e-30)
        )

    def ratio(self, name, found):
        """How many times a result is as far away as it may be;
        infinite where it must be exact and is not.
        """
        wanted = self.wanted[name]
        if found.shape != wanted.shape:
            return np.inf
        is_exact = wanted.dtype.kind in "ib" or not self.live.any()
        if is_exact:
            return 0.0 if np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f") else np.inf
        error, plain = self._error_of(name, found, wanted), name.removeprefix("grad ")
        least = allowed(0.0, self.sample.unit)
        if error > least and self.axes.get(plain) == "scalar":
            self.sizes[plain] = max(self.sizes.get(plain, 0), self.magnitudes[plain])
            error = self._error_of(name, found, wanted)
        if error <= least:
            return error / least
        return error / allowed(self.torch_errors[plain], self.sample.unit)

    def _error_of(self, name, found, wanted):
        plain = name.removeprefix("grad ")
        with np.errstate(over="ignore"):  # what 16 bits cannot hold is infinite there
            wanted = np.where(np.isfinite(wanted.astype(found.dtype)), wanted, wanted.astype(found.dtype))
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
        if name == "loss" and not wanted.ndim:
            return self._reduced(found, wanted)
        if plain == name or plain.endswith(".hidden") or self.axes.get(plain) in ("token", "dense"):
            if found[~self.live].any():  # ignored tokens: 0
                return np.inf
        return self._error(plain, found, wanted)

    def _reduced(self, found, wanted):
        """Against the sum of magnitudes: what the errors of the tokens may add up to."""
        scale = self._loss_scale({"weight": self.exact["weight"]} if "weight" in self.exact else {})
        magnitude = np.linalg.norm(self.exact["loss"]) * self.live.sum() ** 0.5 * scale
        return float(abs(found - wanted) / max(abs(wanted), magnitude, 1e-30))


def natural_sizes(given, cotangent):
    """LEAST of what gradients would be with one logit of gradient 1 for every token, by name."""
    up = LEAST * np.sqrt(sum(np.square(u, dtype=np.float64).sum() for u in cotangent.values()))
    sizes = {}
    for name, item in given.items():
        if isinstance(item, tuple):
            hidden, weight = (np.linalg.norm(x.astype(np.float64)) / max(len(x), 1) ** 0.5 for x in item)
            sizes |= {f"{name}.hidden": up * weight, f"{name}.weight": up * hidden}
        else:
            sizes[name] = up
    return sizes
