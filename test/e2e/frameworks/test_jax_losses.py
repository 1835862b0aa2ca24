"""Losses in use, the library and canaries as JAX compiles and differentiates them,
against the gate.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import logitile as lt
import numpy as np
import pytest
from cases import CASES
from gate import Sample
from inputs import arguments
from logitile.spec.gradient_flow import differentiable_outputs
from random_specs import numpy_dtype
from test_canaries import CANARIES, canary

jax = pytest.importorskip("jax")
jnp = jax.numpy

METRICS = ("accuracy", "prediction", "rank", "top_logprobs")  # without gradients
LIBRARY = [name for name in lt.losses.__all__ if name not in METRICS]
SHAPE = (256, 601, 40)  # tokens, vocabulary, hidden


class JaxSample(Sample):
    """A call inside of jax.jit, differentiated by jax.vjp."""

    def run(self):
        leaves = {name: jnp.asarray(self._operand(name)) for name in self.wrt}
        return self._named(*jax.jit(self._outputs_and_gradients)(leaves))

    def _outputs_and_gradients(self, leaves):
        outputs, pull = jax.vjp(self._outputs, leaves)
        if self.spec.bare:
            return outputs, pull(jnp.asarray(self.cotangent["loss"]))[0]
        reaching = [self._cotangent(name, value) for name, value in outputs._asdict().items()]
        return outputs, pull(type(outputs)(*reaching))[0]

    def _outputs(self, leaves):
        return self.head(
            **{name: self._with_leaves(name, item, leaves) for name, item in self.passed.items()}
        )

    def _with_leaves(self, name, item, leaves):
        if not isinstance(item, tuple):
            return leaves.get(name, item)
        several = len(self.pairs) > 1
        parts = (f"{name}.{part}" if several else part for part in ("hidden", "weight"))
        return tuple(leaves.get(part, given) for part, given in zip(parts, item, strict=True))

    def _operand(self, name):
        pair, _, part = name.rpartition(".")
        if part not in ("hidden", "weight"):
            return self.passed[name]
        return self.passed[pair or next(iter(self.pairs))][part == "weight"]

    def _cotangent(self, name, value):
        if name in self.cotangent:
            return jnp.asarray(self.cotangent[name])
        if jnp.issubdtype(value.dtype, jnp.floating):
            return jnp.zeros_like(value)
        return np.zeros(value.shape, jax.dtypes.float0)


def library_sample(name, dtype, shape=SHAPE):
    loss = getattr(lt.losses, name)
    tokens, vocab, hidden = shape
    given = arguments(loss, seed=7, tokens=tokens, vocab=vocab, hidden=hidden)
    rng, wrt = np.random.default_rng(8), []
    pairs = [key for key, item in given.items() if isinstance(item, tuple)]
    for key, item in given.items():
        if key in pairs:
            given[key] = tuple(operand.astype(numpy_dtype(dtype)) for operand in item)
            wrt += [f"{key}.{o}" if len(pairs) > 1 else o for o in ("hidden", "weight")]
    head = lt.jit(loss)
    outputs = differentiable_outputs(head._bind(**given).form.spec)
    options = {"reduction": "none"} if "loss" in outputs else {}
    cotangent = {output: rng.normal(size=tokens).astype(np.float32) for output in outputs}
    return JaxSample(loss, given, options, tuple(wrt), cotangent)


def in_jax(made):
    return JaxSample(made.loss, made.given, made.options, made.wrt, made.cotangent, made.call)


@pytest.mark.parametrize("name", sorted({*CASES, *CANARIES}))
def test_losses_in_use_and_canaries(name, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    in_jax(canary(name)).check()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", pytest.param("float16", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", LIBRARY)
def test_library(name, dtype, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    library_sample(name, dtype).check()


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name):
    loss = getattr(lt.losses, name)
    given = arguments(loss, seed=7, tokens=50, vocab=101, hidden=16)
    head = lt.jit(loss)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda: head(**given))()), np.asarray(head(**given)))
