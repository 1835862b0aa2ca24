"""The losses of docs/guides/preferences.md against their formulas on dense logits, in float64."""

import functools

import pytest
import torch
from test_documents import ROOT, blocks


@functools.cache
def guide():
    """What the blocks of the guide define."""
    made = {}
    for block in blocks((ROOT / "docs/guides/preferences.md").read_text()):
        exec(compile(block.text, "preferences.md", "exec"), made)
    return made


def token_logps(x, w):
    """log p of each token, 0 for those that are ignored."""
    tokens = guide()["tokens"]
    picked = (x @ w.T).log_softmax(-1).gather(-1, tokens.clamp(min=0)[:, None])[:, 0]
    return torch.where(tokens == -100, 0.0, picked)


def answers_of(values):
    """The values of each answer's tokens that count."""
    lengths, counts = guide()["lengths"].tolist(), guide()["tokens"] != -100
    return [part[kept] for part, kept in zip(values.split(lengths), counts.split(lengths), strict=True)]


def sums(x, w):
    return torch.stack([part.sum() for part in answers_of(token_logps(x, w))])


def means(x, w):
    return torch.stack([part.mean() for part in answers_of(token_logps(x, w))])


def ratios(x, w):
    return sums(x, w) - guide()["reference"].double()


def dpo(x, w):
    r = ratios(x, w)
    return -torch.log(torch.sigmoid(0.1 * (r[:2] - r[2:]))).mean()


def orpo(x, w):
    p = means(x, w).exp()
    odds = p / (1 - p)
    return (-p[:2].log() - 0.1 * torch.log(torch.sigmoid(torch.log(odds[:2] / odds[2:])))).mean()


def simpo(x, w):
    p = means(x, w)
    return -torch.log(torch.sigmoid(2.0 * (p[:2] - p[2:]) - 1.0)).mean()


def cpo(x, w):
    p = sums(x, w)
    return -torch.log(torch.sigmoid(0.1 * (p[:2] - p[2:]))).mean() - p[:2].mean()


GOOD = torch.tensor([True, False, True, True])


def kto(x, w, is_good, divergence):
    gain = torch.sigmoid(0.1 * (ratios(x, w) - divergence))
    return torch.where(is_good, 1 - gain, gain).mean()


def token_losses(x, w, old, advantages):
    """The loss of GRPO for each token of each answer that counts."""
    made = []
    logps, before = answers_of(token_logps(x, w)), answers_of(old)
    for log_p, log_old, advantage in zip(logps, before, advantages, strict=True):
        ratio, distance = (log_p - log_old).exp(), log_old - log_p
        bounded = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        made.append(-bounded + 0.04 * (distance.exp() - distance - 1))
    return made


def grpo(*given):
    return torch.stack([part.mean() for part in token_losses(*given)]).mean()


def dapo(*given):
    return torch.cat(token_losses(*given)).mean()


def dr_grpo(*given):
    return torch.stack([part.sum() / 16 for part in token_losses(*given)]).mean()


def gspo(x, w, old, advantages):
    ratio = (means(x, w) - old).exp()
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - 3e-4, 1 + 3e-4) * advantages).mean()


def others(name):
    """The arguments of a loss after hidden states and weights."""
    if name == "kto":
        return GOOD, 0.3
    if name == "gspo":
        return means(guide()["hidden"].double(), guide()["weight"].double()).detach().float() + 1e-4, \
            guide()["advantages"]  # fmt: skip
    if name in ("grpo", "dapo", "dr_grpo"):
        torch.manual_seed(1)
        return guide()["sampled"] + 0.2 * torch.randn(40), guide()["advantages"]
    return ()


FORMULAS = (dpo, orpo, simpo, cpo, kto, grpo, dapo, dr_grpo, gspo)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_a_loss_of_the_guide(formula):
    given = guide()["hidden"], guide()["weight"]
    fused = [tensor.detach().clone().requires_grad_() for tensor in given]
    exact = [tensor.detach().double().requires_grad_() for tensor in given]
    rest = others(formula.__name__)
    wide = [item.double() if torch.is_tensor(item) and item.is_floating_point() else item for item in rest]
    found, wanted = guide()[formula.__name__](*fused, *rest), formula(*exact, *wide)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-6)
    found.backward()
    wanted.backward()
    for leaf, right in zip(fused, exact, strict=True):
        error = torch.linalg.norm(leaf.grad - right.grad) / torch.linalg.norm(right.grad)
        assert error < 2e-5, error
