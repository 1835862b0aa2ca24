"""Functions of single numbers in losses:
values and gradients on all tiers of this machine and emulated.
"""

import logitile as lt
import numpy as np
import pytest
from backends import jit
from gate import Sample
from test_tiers import TIERS, tier  # noqa: F401 - a fixture

TOKENS, VOCAB, HIDDEN = 7, 45, 16


@lt.loss
def errors(z: lt.Logits, target: lt.Token[int]):
    return lt.sum(lt.erf(z - z[target])) + lt.erf(lt.logsumexp(z) - 3.0) * z[target]


@lt.loss
def gated(z: lt.Logits, target: lt.Token[int]):
    return lt.mean(lt.gelu(z)) + lt.gelu(z[target], approximate="tanh") + lt.logsumexp(lt.gelu(z))


@lt.loss
def waves(z: lt.Logits, target: lt.Token[int], phase: lt.Token[float]):
    return lt.sum(lt.sin(z + phase) * lt.cos(z[target])) + lt.cos(phase) * lt.logsumexp(z)


@lt.loss
def powers(z: lt.Logits, target: lt.Token[int], exponent: lt.Vocab[float]):
    return lt.sum(lt.pow(lt.abs(z) + 0.25, exponent)) + lt.pow(lt.softmax(z), exponent)[target]


LOSSES = {"errors": errors, "gated": gated, "waves": waves, "powers": powers}


def sample(name):
    rng = np.random.default_rng(list(LOSSES).index(name))
    hidden = rng.normal(size=(TOKENS, HIDDEN)).astype(np.float32)
    weight = (rng.normal(size=(VOCAB, HIDDEN)) / 3).astype(np.float32)
    given = {"z": (hidden, weight), "target": rng.integers(0, VOCAB, TOKENS)}
    wrt = ["hidden", "weight"]
    if name == "waves":
        given["phase"] = rng.uniform(-40, 40, TOKENS).astype(np.float32)
        wrt.append("phase")
    if name == "powers":
        given["exponent"] = rng.uniform(-1, 2, VOCAB).astype(np.float32)
        wrt.append("exponent")
    return Sample(LOSSES[name], given, {"reduction": "mean"}, tuple(wrt), {"loss": 1.0})


@pytest.mark.emulated
@pytest.mark.contract("1 elementwise")
@pytest.mark.parametrize("name", LOSSES)
def test_values_and_gradients(name):
    sample(name).check()


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("name", LOSSES)
def test_values_and_gradients_on_every_tier(tier, name):  # noqa: F811
    sample(name).check()


# ---- angles of every size ------------------------------------------------------------------------


@lt.loss
def angles(z: lt.Logits, angle: lt.Token[float]):
    zero = 0.0 * lt.mean(z)
    return lt.Outputs(loss=lt.sin(angle) + zero, cosine=lt.cos(angle) + zero, error=lt.erf(angle) + zero)


@pytest.mark.emulated
@pytest.mark.contract("1 elementwise", "3 not a number")
def test_angles_of_every_size_and_special_numbers():
    rng = np.random.default_rng(0)
    sizes = np.ldexp(rng.uniform(1, 2, 400), rng.integers(-40, 127, 400)) * rng.choice([-1, 1], 400)
    special = [0.0, -0.0, np.pi / 2, -np.pi, 3.4e38, 1e-45, 16367173.0, np.inf, -np.inf, np.nan]
    angle = np.concatenate([sizes, special]).astype(np.float32)
    hidden, weight = np.zeros((len(angle), 2), np.float32), np.zeros((5, 2), np.float32)
    found = jit(angles, reduction="none")(hidden, weight, angle=angle)
    exact = angle.astype(np.float64)
    with np.errstate(invalid="ignore"):
        wanted = {"loss": np.sin(exact), "cosine": np.cos(exact)}
    for name, values in wanted.items():
        np.testing.assert_allclose(np.asarray(getattr(found, name)), values, rtol=2**-22, atol=1e-44)
    ends = np.asarray(found.error)[-3:]
    assert ends[0] == 1 and ends[1] == -1 and np.isnan(ends[2])


# ---- exponentials of every size ------------------------------------------------------------------


@lt.loss
def exponentials(z: lt.Logits, exponent: lt.Token[float]):
    return lt.exp(exponent) + 0.0 * lt.mean(z)


@pytest.mark.emulated
@pytest.mark.contract("1 elementwise", "3 not a number")
@pytest.mark.parametrize("dtype, off", [(np.float32, 1.3e-7), (np.float16, 7e-7)])
def test_exponentials_of_every_size_and_special_numbers(dtype, off):
    """GPUs make those beside operands of 16 bits of an instruction that is less exact
    (docs/language.md).
    """
    beyond = [*np.linspace(-3e38, -200), *np.linspace(100, 3e38)]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.9, -110.0, *beyond]
    exponent = np.concatenate([special, np.linspace(-103, 88.7, 3000), [-1e-9, 1e-9]]).astype(np.float32)
    hidden, weight = np.zeros((len(exponent), 2), dtype), np.zeros((3, 2), dtype)
    found = np.asarray(jit(exponentials, reduction="none")(hidden, weight, exponent=exponent))
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.exp(exponent.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found[: len(special)], wanted[: len(special)])
    np.testing.assert_allclose(found, wanted, rtol=off, atol=3e-45)
    assert found[-2] <= 1 <= found[-1]


@lt.loss
def logarithm_of_the_sum(z: lt.Logits):
    return lt.logsumexp(z)


@pytest.mark.emulated
@pytest.mark.contract("1 elementwise")
@pytest.mark.parametrize("dtype, off", [(np.float32, 2e-7), (np.float16, 2e-6)])
def test_sums_of_many_small_exponentials(dtype, off):
    """A term of 1 and many alike, whose roundings all have one sign (docs/language.md)."""
    exponents = np.concatenate([np.linspace(0.25, 14, 40), [30, 100, 1000]]).astype(np.float16)
    hidden = np.zeros((len(exponents), 2), dtype)
    hidden[:, 0] = exponents
    weight = np.zeros((4099, 2), dtype)
    weight[1:, 0] = -1
    found = np.asarray(jit(logarithm_of_the_sum, reduction="none")(hidden, weight))
    wanted = np.log1p(4098 * np.exp(-exponents.astype(np.float64)))
    np.testing.assert_allclose(found, wanted, rtol=6e-8, atol=off)
