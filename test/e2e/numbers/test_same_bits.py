"""Losses whose every product and sum is a small integer: the emulator makes the numbers of float64,
and the GPU makes the bits of the emulator.

Logits show as the gradient of a Dense input that they are multiplied with; hidden and weight
gradients are exact sums, rounded once at the end. So nothing is compared within an error. The GPU's
part runs with LOGITILE_TEST_GPU=1, on the plan that the emulator has run.
"""

import dataclasses
import os

import logitile as lt
import numpy as np
import pytest
from gate import Sample
from logitile import _native
from random_specs import numpy_dtype
from schedules import KINDS, scheduled

TOKENS, VOCAB, HIDDEN = 150, 180, 24
HAS_GPU = os.environ.get("LOGITILE_TEST_GPU") == "1"


@lt.loss
def dotted(z: lt.Logits, d: lt.Dense[float], y: lt.Token[int]):
    return lt.sum(d * z) + 2.0 * z[y]


@lt.loss
def extremes(z: lt.Logits, d: lt.Dense[float], y: lt.Token[int]):
    above = lt.where(z > z[y], z * d, 0.0)
    return lt.Outputs(
        loss=lt.sum(above) + lt.max(z), best=lt.argmax(z), least=lt.min(z), wins=lt.count(z > z[y])
    )


@lt.loss
def two_pairs(z: lt.Logits, t: lt.Logits, d: lt.Dense[float], y: lt.Token[int]):
    return lt.sum(d * lt.maximum(z, t)) - t[y]


def whole(rng, shape, most):
    return rng.integers(-most, most + 1, shape).astype(np.float32)


def sample(loss, dtype, backend):
    """A call on integers: logits up to 96, which 16 bits hold,
    and gradients of logits that they hold too.
    """
    rng = np.random.default_rng(3)
    given = {}
    for parameter in loss.signature.inputs:
        if parameter.kinds[0].axis == "logits":
            pair = whole(rng, (TOKENS, HIDDEN), 2), whole(rng, (VOCAB, HIDDEN), 2)
            given[parameter.name] = tuple(x.astype(numpy_dtype(dtype)) for x in pair)
    given |= {"d": whole(rng, (TOKENS, VOCAB), 2), "y": rng.integers(0, VOCAB, TOKENS)}
    several = len(loss.signature.pairs) > 1
    wrt = [f"{name}.{operand}" if several else operand
           for name in given if name in "zt" for operand in ("hidden", "weight")]  # fmt: skip
    cotangent = {"loss": whole(rng, TOKENS, 2)}
    return Sample(loss, given, {"reduction": "none", "backend": backend}, (*wrt, "d"), cotangent)


def on(made, backend):
    return dataclasses.replace(made, options=made.options | {"backend": backend})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss, dtype", [
    (dotted, "bfloat16"), (extremes, "float16"), (two_pairs, "float32"),
])  # fmt: skip
def test_the_bits_are_the_same(loss, dtype, kind):
    target = _native.device_target("cuda").partition(":")[2] if HAS_GPU else "sm_80"
    with scheduled(sample(loss, dtype, f"emu:{target}"), kind) as made:
        emulated = made.run()
        for name, exact in made.reference().items():
            np.testing.assert_array_equal(emulated[name], exact.astype(emulated[name].dtype), err_msg=name)
        if not HAS_GPU:
            return
        found = on(made, f"cuda:{target}").run()
        for name, value in emulated.items():
            np.testing.assert_array_equal(found[name].view(np.uint8), value.view(np.uint8), err_msg=name)
