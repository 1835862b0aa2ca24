"""The library of losses: every option, against torch."""

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import TOKENS, VOCAB, TorchCall, arguments, relative

losses = lt.losses
RNG = np.random.default_rng(4)
BIAS = RNG.normal(size=VOCAB).astype(np.float32)
TEMPERATURES = RNG.uniform(0.5, 2, TOKENS).astype(np.float32)


def check(loss, torch_version, given, constants=None, reduction="sum"):
    """Value and all gradients of a loss and of its torch version."""
    call = TorchCall(loss, given)
    expected = torch_version(**call.values()).sum()
    wanted = call.gradients(expected)
    value, gradients = lt.jit(loss, reduction=reduction, **(constants or {})).reference_grad(
        **given, wrt=wanted
    )
    assert relative(value, expected.item()) < 1e-12
    for name in wanted:
        assert relative(gradients[name], wanted[name], floor=1e-9) < 1e-9, name


@pytest.mark.parametrize("temperature", [None, np.float32(0.75), TEMPERATURES])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"label_smoothing": 0.125},
        {"z_loss": 0.0625},
        {"softcap": 16.0},
        {"label_smoothing": 0.5, "z_loss": 0.25, "softcap": 8.0},
    ],
)
def test_cross_entropy(temperature, bias, constants):
    given = arguments(losses.cross_entropy)
    if temperature is not None:
        given["temperature"] = temperature
    if bias is not None:
        given["bias"] = bias

    def in_torch(z, target, bias=0.0, temperature=None):
        z = z + bias
        if "softcap" in constants:
            z = constants["softcap"] * torch.tanh(z / constants["softcap"])
        if temperature is not None:
            z = z / (temperature[:, None] if temperature.ndim else temperature)
        smoothing = constants.get("label_smoothing", 0.0)
        loss = F.cross_entropy(z, target, reduction="none", label_smoothing=smoothing)
        return loss + constants.get("z_loss", 0.0) * z.logsumexp(1) ** 2

    check(losses.cross_entropy, in_torch, given, constants)


def test_options_that_are_off_leave_no_trace():
    texts = []
    for constants in ({}, {"label_smoothing": 0.0, "z_loss": 0.0, "softcap": None}):
        head = lt.jit(losses.cross_entropy, **constants)
        texts.append(head._bind(**arguments(losses.cross_entropy)).form.spec.text(locations=False))
    assert texts[0] == texts[1]
    lt.testing.filecheck(
        texts[0],
        """
        CHECK: logitile.reduce logsumexp
        CHECK-NEXT: logitile.gather
        CHECK-NEXT: arith.subf
        CHECK-NEXT: logitile.yield
    """,
    )


@pytest.mark.parametrize("temperature", [None, 2.0, TEMPERATURES])
def test_entropy(temperature):
    given = arguments(losses.entropy) | ({} if temperature is None else {"temperature": temperature})

    def in_torch(z, temperature=None):
        if temperature is not None:
            z = z / (temperature[:, None] if temperature.ndim else temperature)
        return -(z.softmax(1) * z.log_softmax(1)).sum(1)

    check(losses.entropy, in_torch, given)


def test_logprob_entropy():
    given = arguments(losses.logprob_entropy)
    call = TorchCall(losses.logprob_entropy, given)
    z = call.values()["z"]
    log_p = z.log_softmax(1)
    expected = {
        "logprob": log_p.gather(1, call.inputs["target"][:, None])[:, 0],
        "entropy": -(log_p.exp() * log_p).sum(1),
    }
    up = {"logprob": RNG.normal(size=TOKENS), "entropy": RNG.normal(size=TOKENS)}
    out, gradients = lt.jit(losses.logprob_entropy).reference_grad(**given, grad_output=up)
    assert out._fields == ("logprob", "entropy")
    for name in up:
        assert relative(getattr(out, name), expected[name].detach()) < 1e-12
    wanted = call.gradients(sum((expected[name] * torch.tensor(up[name])).sum() for name in up))
    for name in ("hidden", "weight"):
        assert relative(gradients[name], wanted[name]) < 1e-10


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("temperature", [None, np.float32(2), TEMPERATURES])
def test_divergences(direction, temperature):
    loss = getattr(losses, f"{direction}_kl")
    given = arguments(loss) | ({} if temperature is None else {"temperature": temperature})

    def in_torch(student, teacher, temperature=None):
        if temperature is not None:
            temperature = temperature[:, None] if temperature.ndim else temperature
            student, teacher = student / temperature, teacher / temperature
        p, q = student.log_softmax(1), teacher.log_softmax(1)
        if direction == "reverse":
            p, q = q, p
        return F.kl_div(p, q, reduction="none", log_target=True).sum(1)

    check(loss, in_torch, given)


def test_every_loss_says_what_it_is_and_where_it_comes_from():
    """Metrics and log-probabilities have no source but what they return."""
    for name in losses.__all__:
        text = getattr(losses, name).__doc__
        assert text.strip().splitlines()[0].endswith("."), name
        assert "Source:" in text or "Returns:" in text, name
