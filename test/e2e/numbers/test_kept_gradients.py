"""Gradients of logits that are kept in 16 bits for all tokens, beside the logits of a chunk."""

import logitile as lt
import numpy as np
import pytest
from backends import CPU
from cases import CASES
from gate import Sample
from logitile import _native
from random_specs import numpy_dtype
from schedules import check_memory, plans, smallest_workspace
from test_zoo import sample

SHAPE = (256, 1201, 96)  # tokens, vocabulary, hidden
BFLOAT16 = numpy_dtype("bfloat16")

# Losses whose logits are stored in 32 bits, and whose gradients are of other inputs as well.
KEEPING = ("forward_kl", "reverse_kl", "jsd", "tvd", "soft_targets", "pairwise", "vocab_scale")

pytestmark = pytest.mark.contract("2 budgets agree", "5 stored format")


@pytest.fixture(autouse=True)
def multiplies_bfloat16(backend, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    if (
        "amx" in _native.host_target()
    ):  # products are so fast there that logits of small shapes are made again
        monkeypatch.setenv("LOGITILE_CPU_TIER", "avx512_bf16")
    if backend == CPU and "bf16" not in _native.host_target():
        pytest.skip("operands of bfloat16 are widened here, so gradients have as many bits as logits")


def budget(made, logits):
    """Bytes for the gradients of all logits, and for a share of the logits."""
    bytes_per_logit = 2 + 4 * logits
    return smallest_workspace(made) + int(bytes_per_logit * made.tokens * made.spec.vocab * len(made.pairs))


def is_kept(made):
    """Whether the program of the last call keeps gradients of logits, and cuts its tokens."""
    plan = plans(made)[-1]
    scopes = {buffer["scope"] for buffer in plan["buffers"] if buffer["role"] == "logit_gradient"}
    return scopes == {"call"} and plan["forward_chunk"] < made.tokens


def with_some_logits(name):
    return sample(name, "bfloat16", SHAPE, workspace=budget(sample(name, "bfloat16", SHAPE), 0.4))


@pytest.mark.parametrize("name", CASES)
def test_every_loss_with_memory_for_all_gradients_and_some_logits(name):
    made = with_some_logits(name)
    made.check()
    check_memory(made)
    assert is_kept(made) or name not in KEEPING


@pytest.mark.parametrize("name", KEEPING)
def test_bits_are_those_of_one_chunk(name):
    """But for gradients of Vocab inputs, which are sums over chunks."""
    whole, parts = sample(name, "bfloat16", SHAPE, chunks=1), with_some_logits(name)
    wanted, found = whole.run(), parts.run()
    assert is_kept(parts) and not is_kept(whole)
    operands = [name for name in wanted if name.rpartition(".")[2] in ("hidden", "weight")]
    for result in ["loss", *operands]:
        np.testing.assert_array_equal(found[result], wanted[result], err_msg=result)


@pytest.mark.contract("2 least workspace")
@pytest.mark.parametrize("vocab, hidden", [(61, 300), (127, 250)])
@pytest.mark.parametrize("tokens", [41, 49, 70, 130])
@pytest.mark.parametrize("name", ["jsd", "vocab_scale"])
def test_the_least_budget_that_a_refusal_names_is_enough(name, tokens, vocab, hidden):
    """Too few tokens are cut into no chunks whose gradients are kept."""
    shape = (tokens, vocab, hidden)
    made = sample(name, "bfloat16", shape, workspace=smallest_workspace(sample(name, "bfloat16", shape)))
    made.check()
    check_memory(made)


@lt.loss
def distilled(z: lt.Logits, t: lt.Logits, y: lt.Token[int], share: lt.Token[float], bias: lt.Vocab[float]):
    x = z + bias
    return share * lt.sum(lt.softmax(t) * (lt.log_softmax(t) - lt.log_softmax(x))) - lt.log_softmax(x)[y]


@pytest.mark.emulated
def test_targets_and_other_inputs():
    """Products after the last chunk read the targets of all tokens, and what is known of them."""
    tokens, vocab, hidden = 520, 2600, 128
    rng = np.random.default_rng(7)

    def pair():
        x, w = rng.normal(size=(tokens, hidden)), rng.normal(size=(vocab, hidden)) / hidden**0.5
        return x.astype(BFLOAT16), w.astype(BFLOAT16)

    given = {
        "z": pair(),
        "t": pair(),
        "y": rng.integers(0, vocab, tokens),
        "share": rng.uniform(0.5, 2, tokens).astype(np.float32),
        "bias": rng.normal(size=vocab).astype(np.float32),
    }
    given["y"][::9] = -100
    wrt = ("z.hidden", "z.weight", "t.hidden", "t.weight", "share", "bias")
    cotangent = {"loss": rng.normal(size=tokens).astype(np.float32)}
    options = {"reduction": "none", "ignore": "y"}
    roomy = Sample(distilled, given, options, wrt, cotangent)
    made = Sample(distilled, given, options | {"workspace": budget(roomy, 0.75)}, wrt, cotangent)
    made.check()
    assert is_kept(made)
