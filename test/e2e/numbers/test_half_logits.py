"""Logits stored in 16 bits, relative to the one that weighs most,
on data where another would be wrong.
"""

import logitile as lt
import numpy as np
import pytest
from backends import CPU, jit
from gate import Sample
from logitile import _native
from random_specs import numpy_dtype
from schedules import plans, scheduled

TOKENS, VOCAB, HIDDEN = 150, 1201, 96
TYPE = numpy_dtype("bfloat16")


@lt.loss
def plain(z: lt.Logits, y: lt.Token[int]):
    return lt.logsumexp(z) - z[y]


@lt.loss
def entropy(z: lt.Logits):
    return -lt.sum(lt.softmax(z) * lt.log_softmax(z))


@lt.loss
def masked(z: lt.Logits, y: lt.Token[int], keep: lt.Vocab[bool]):
    x = lt.where(keep, z, float("-inf"))
    return lt.logsumexp(x) - z[y]


@lt.loss
def biased(z: lt.Logits, y: lt.Token[int], bias: lt.Vocab[float]):
    x = z + bias
    return lt.logsumexp(x) - x[y]


@lt.loss
def scaled(z: lt.Logits, y: lt.Token[int], scale: lt.Token[float]):
    x = z * scale
    return lt.logsumexp(x) - x[y]


@lt.loss
def smoothed(z: lt.Logits, y: lt.Token[int]):
    x = 30 * lt.tanh(z / 30)
    return lt.logsumexp(x) - 0.9 * x[y] - 0.1 * lt.mean(x)


@lt.loss
def signed(z: lt.Logits, y: lt.Token[int], sign: lt.Vocab[float]):
    x = z * sign
    return lt.logsumexp(x) - x[y]


@lt.loss
def squared(z: lt.Logits, y: lt.Token[int]):
    x = z * z / 2
    return lt.logsumexp(x) - x[y]


@lt.loss
def tempered(z: lt.Logits, y: lt.Token[int], t: lt.Token[float]):
    return -t * lt.log_softmax(z / t)[y]


def operands(std=3.0, offset=0.0):
    """Hidden states and a head; all logits are `offset` larger."""
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(TOKENS, HIDDEN)), rng.normal(size=(VOCAB, HIDDEN)) * std / HIDDEN**0.5
    if offset:
        x[:, 0], w[:, 0] = offset, 1.0
    return x.astype(TYPE), w.astype(TYPE)


def spoilt(factor):
    """A head some of whose rows make logits far beyond the others, and which rows do not."""
    x, w = operands()
    keep = np.arange(VOCAB) % 7 != 3
    w[~keep] *= np.asarray(factor, TYPE)
    return (x, w), keep


def sample(loss, z, **inputs):
    rng = np.random.default_rng(3)
    if "y" in (parameter.name for parameter in loss.signature.inputs):
        inputs.setdefault("y", rng.integers(0, VOCAB, TOKENS))
    cotangent = {"loss": rng.normal(size=TOKENS).astype(np.float32)}
    return Sample(loss, {"z": z} | inputs, {"reduction": "none"}, ("hidden", "weight"), cotangent)


def check(made):
    for kind in ("kept", "chunks", "split kept", "split hybrid"):
        with scheduled(made, kind) as one:
            one.check()


def targets_kept(keep):
    kept = np.flatnonzero(keep)
    return kept[np.random.default_rng(4).integers(0, len(kept), TOKENS)]


pytestmark = [pytest.mark.contract("5 stored format"), pytest.mark.emulated("full")]


@pytest.fixture(autouse=True)
def keeps_half_logits(backend):
    if backend == CPU and "avx512_bf16" not in _native.host_target():
        pytest.skip("logits are kept in 32 bits here")


@pytest.mark.emulated
def test_they_are():
    z = operands()
    text = jit(entropy).ir("plan", *z)
    assert f'chunk stored of "z" : !logitile.view<?x{VOCAB}xf16' in text
    assert "centre" not in jit(entropy).ir("plan", *(operand.astype(np.float32) for operand in z))


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["split kept", "split hybrid"])
def test_they_are_where_the_backward_pass_is_apart(kind):
    with scheduled(sample(entropy, operands()), kind) as one:
        one.check()
        buffers = {buffer["role"]: buffer for plan in plans(one) for buffer in plan["buffers"]}
        launches = {step["launch"] for plan in plans(one) for step in plan["forward"] if "launch" in step}
    assert buffers["stored"]["element"] == "float16"
    assert ("forward0_stored" in launches) == (kind == "split hybrid")


@pytest.mark.parametrize("loss", [plain, entropy, smoothed])
@pytest.mark.parametrize(
    "spread", [{"std": 12.0}, {"offset": 300.0}, {"std": 0.01}, {"std": 12.0, "offset": -300.0}]
)
def test_spread_and_offset(loss, spread):
    check(sample(loss, operands(**spread)))


@pytest.mark.parametrize("factor", [1e3, -1e5, 1e30])
def test_masked_entries_are_no_centre(factor):
    z, keep = spoilt(factor)
    targets = targets_kept(keep)
    check(sample(masked, z, y=targets, keep=keep))
    check(sample(biased, z, y=targets, bias=np.where(keep, 0.5, -np.inf).astype(np.float32)))


def test_a_scale_may_have_either_sign():
    scale = np.where(np.arange(TOKENS) % 2, -1.5, 0.7).astype(np.float32)
    check(sample(scaled, operands(std=12.0), scale=scale))


def test_one_entry_far_above_the_others():
    x, w = operands()
    w[77] = (np.sign(w[77].astype(np.float32)) * 3e3).astype(TYPE)
    check(sample(plain, (x, w)))
    check(sample(entropy, (x, w)))
    for loss in (smoothed, biased):
        more = {"bias": np.zeros(VOCAB, np.float32)} if loss is biased else {}
        check(sample(loss, (x, (w.astype(np.float32) * 100).astype(TYPE)), **more))


@pytest.mark.parametrize("factor", [1, 30])
def test_entries_at_the_other_end_weigh_as_much(factor):
    x, w = operands()
    w = w.astype(np.float32) * factor
    w[1::2] = -w[:-1:2] * 1.03
    sign = np.where(np.arange(VOCAB) % 2, -1, 1).astype(np.float32)
    check(sample(signed, (x, w.astype(TYPE)), sign=sign))
    check(sample(squared, (x, w.astype(TYPE))))


def test_a_bias_takes_back_what_is_far_apart():
    x, w = operands()
    far = np.arange(VOCAB) % 2 == 0
    x[:, 0], w[:, 0] = 1, np.where(far, 3008, 0)
    check(sample(biased, (x, w), bias=np.where(far, -3008, 0).astype(np.float32)))


@pytest.mark.parametrize("temperature", [1e-8, 3e4])
def test_temperatures_beyond_the_range_of_sixteen_bits(temperature):
    t = np.full(TOKENS, temperature, np.float32)
    check(sample(tempered, operands(std=3 * temperature), t=t))


@lt.loss
def weighed(z: lt.Logits, y: lt.Token[int], bias: lt.Vocab[float], a: lt.Token[float]):
    x = 20 * lt.tanh((z + bias) / 20)
    return a * (lt.logsumexp(x) - x[y])


@pytest.mark.emulated
def test_gradients_of_other_inputs():
    """Vocab and Token gradients come from what was kept as well."""
    x, w = operands(std=12.0)
    bias = np.linspace(-2, 2, VOCAB, dtype=np.float32)
    made = sample(weighed, (x, w), bias=bias, a=np.linspace(0.5, 2, TOKENS, dtype=np.float32))
    made.wrt += ("bias", "a")
    check(made)
