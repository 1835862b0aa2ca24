"""What lt.losses.cross_entropy returns beside its loss: numbers against float64,
and what they cost.
"""

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import relative

TOKENS, VOCAB, HIDDEN = 90, 211, 24
METRICS = ("cross_entropy", "z_loss", "correct", "index")
OPTIONS = [
    {},
    {"z_loss": 2.0**-10},
    {"label_smoothing": 0.125, "z_loss": 2.0**-10},
    {"softcap": 8.0, "z_loss": 2.0**-10},
]


def call_arguments(with_weights=True):
    """Hidden states, weight and inputs. Every fifth token is ignored, every third weighs 0."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(TOKENS, HIDDEN)).astype(np.float32)
    weight = (rng.normal(size=(VOCAB, HIDDEN)) / 2).astype(np.float32)
    target = np.where(np.arange(TOKENS) % 5 == 0, -100, (hidden @ weight.T).argmax(1))
    target[1::2] = np.where(target[1::2] < 0, -100, rng.integers(0, VOCAB, TOKENS // 2))
    inputs = {"target": target}
    if with_weights:
        live = np.where(np.arange(TOKENS) % 3 == 0, 0, rng.random(TOKENS))
        inputs["token_weight"] = live.astype(np.float32)
    return hidden, weight, inputs


def dense(hidden, weight, inputs, label_smoothing=0.0, z_loss=0.0, softcap=None):
    """The outputs by name in float64 torch, and gradients of the mean by name."""
    leaves = {"hidden": torch.tensor(hidden).double(), "weight": torch.tensor(weight).double()}
    if "token_weight" in inputs:
        leaves["token_weight"] = torch.tensor(inputs["token_weight"]).double()
    for leaf in leaves.values():
        leaf.requires_grad_()
    z = leaves["hidden"] @ leaves["weight"].T
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    target = torch.tensor(inputs["target"])
    counts = target != -100
    lse, index = z.logsumexp(1), z.argmax(1)
    ce = F.cross_entropy(z, target, reduction="none", label_smoothing=label_smoothing)
    live = leaves.get("token_weight", torch.ones(len(z), dtype=torch.float64)) * counts
    loss = (live * (ce + z_loss * lse**2)).sum() / live.detach().sum()
    outputs = {
        "loss": loss, "cross_entropy": ce * counts, "z_loss": lse**2 * counts,
        "correct": (index == target) & counts, "index": torch.where(counts, index, -1),
    }  # fmt: skip
    if "token_weight" in inputs:
        outputs["weight"] = live
    gradients = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
    return {name: value.detach().numpy() for name, value in outputs.items()}, gradients


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_numbers(options, with_weights):
    hidden, weight, inputs = call_arguments(with_weights)
    wanted, wanted_gradients = dense(hidden, weight, inputs, **options)
    head = lt.jit(lt.losses.cross_entropy, returns=METRICS, **options)
    # without it, no gradient of weights
    divisor = float(wanted["weight"].sum()) if with_weights else None
    for run, bound in ((head.reference_grad, 1e-6), (head.value_and_grad, 2e-6)):
        out, gradients = run(hidden, weight, **inputs, divisor=divisor, wrt=list(wanted_gradients))
        assert set(out._fields) == set(wanted)
        for name in ("correct", "index"):
            np.testing.assert_array_equal(getattr(out, name), wanted[name])
        for name in wanted.keys() - {"correct", "index"}:
            assert relative(getattr(out, name), wanted[name]) < bound, name
        for name, gradient in wanted_gradients.items():
            assert relative(gradients[name], gradient) < 10 * bound, name
    assert 0.2 < wanted["correct"].mean() < 0.8


def test_a_mean_divides_by_the_weights_of_tokens_that_count():
    hidden, weight, inputs = call_arguments()
    head = lt.jit(lt.losses.cross_entropy, returns=METRICS, z_loss=1e-3)
    live = inputs["token_weight"] * (inputs["target"] != -100)
    each = lt.jit(lt.losses.cross_entropy, returns=METRICS, z_loss=1e-3, reduction="none")(
        hidden, weight, **inputs
    )
    mean = head(hidden, weight, **inputs).loss
    np.testing.assert_allclose(mean, each.loss.sum() / live.sum(), rtol=1e-6)
    np.testing.assert_allclose(each.loss, live * (each.cross_entropy + 1e-3 * each.z_loss), rtol=1e-5)


def test_weights_that_need_a_gradient_need_a_divisor():
    hidden, weight, inputs = call_arguments()
    head = lt.jit(lt.losses.cross_entropy, returns=METRICS)
    with pytest.raises(lt.CallError, match="token_weight"):
        head.value_and_grad(hidden, weight, **inputs, wrt=["token_weight"])


def test_metrics_carry_no_gradient():
    hidden, weight, inputs = call_arguments()
    given = {name: torch.tensor(item) for name, item in inputs.items()}
    head = lt.jit(lt.losses.cross_entropy, returns=METRICS)
    out = head(torch.tensor(hidden).requires_grad_(), torch.tensor(weight), **given)
    assert [name for name, value in out._asdict().items() if value.requires_grad] == ["loss"]


@pytest.mark.contract("5 sweeps")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_metrics_take_no_pass_of_their_own(options):
    """As many passes and products of matrices as cross-entropy alone, gradients included."""
    hidden, weight, inputs = call_arguments()
    metrics = lt.jit(lt.losses.cross_entropy, returns=METRICS, **options).explain(hidden, weight, **inputs)
    alone = lt.jit(lt.losses.cross_entropy, **options).explain(hidden, weight, target=inputs["target"])
    assert (metrics.forward_sweeps, metrics.backward_sweeps) == (1, 0)
    assert (alone.forward_sweeps, alone.backward_sweeps) == (1, 0)
    work = [sum(kernel.flops > 0 for kernel in plan.kernels) for plan in (metrics, alone)]
    assert work[0] == work[1] <= 4  # 3, or 4 where logits are computed twice rather than stored
