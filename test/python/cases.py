"""Losses in use, each written twice: in the language and by hand in torch.

The torch versions take the same names; logits come ready as [N, V], Token inputs as [N], Token[...,
K] as [N, K]. They return [N]. Constants are multiples of powers of two, so that both compute with
the same numbers in float64.
"""

from __future__ import annotations

import logitile as lt
import torch
import torch.nn.functional as F

CASES = {}


def case(torch_version, **constants):
    """Registers a loss with its torch version."""

    def register(loss):
        CASES[loss.name] = (loss, torch_version, constants)
        return loss

    return register


def pick(x, index):
    return x.gather(1, index[:, None])[:, 0]


def entropy_of(log_p):
    return -(log_p.exp() * log_p).sum(1)


# ---- with a target -------------------------------------------------------------------------------


@case(lambda z, target: F.cross_entropy(z, target, reduction="none"))
@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@case(lambda z, target: -torch.log(torch.softmax(z, 1).gather(1, target[:, None]))[:, 0])
@lt.loss
def log_of_softmax(z: lt.Logits, target: lt.Token[int]):
    return -lt.log(lt.softmax(z)[target])


def _smoothing(z, target):
    return F.cross_entropy(z, target, reduction="none", label_smoothing=0.125) + z.logsumexp(1) ** 2 / 1024


@case(_smoothing)
@lt.loss
def smoothing_and_z_loss(z: lt.Logits, target: lt.Token[int]):
    lse = lt.logsumexp(z)
    return 0.875 * (lse - z[target]) + 0.125 * (lse - lt.mean(z)) + lse**2 / 1024


@case(lambda z, target: F.cross_entropy(20 * torch.tanh(z / 20), target, reduction="none"))
@lt.loss
def softcap(z: lt.Logits, target: lt.Token[int]):
    z = 20.0 * lt.tanh(z / 20.0)
    return lt.logsumexp(z) - z[target]


@case(lambda z, target: F.cross_entropy(30 * torch.sigmoid((z + 5) / 7.5), target, reduction="none"))
@lt.loss
def sigmoid_cap(z: lt.Logits, target: lt.Token[int]):
    z = 30.0 * lt.sigmoid((z + 5.0) / 7.5)
    return lt.logsumexp(z) - z[target]


def _focal(z, target):
    log_p = pick(torch.log_softmax(z, 1), target)
    return -((1 - log_p.exp()) ** 2) * log_p


@case(_focal)
@lt.loss
def focal(z: lt.Logits, target: lt.Token[int], *, gamma: float = 2.0):
    log_p = lt.log_softmax(z)[target]
    return -((1 - lt.exp(log_p)) ** gamma) * log_p


@case(lambda z, target: -torch.softmax(z, 1).gather(1, target[:, None])[:, 0].detach() * _log_p(z, target))
@lt.loss
def dft(z: lt.Logits, target: lt.Token[int]):
    log_p = z[target] - lt.logsumexp(z)
    return -lt.stop_gradient(lt.exp(log_p)) * log_p


def _log_p(z, target):
    return pick(torch.log_softmax(z, 1), target)


def _hinge(z, target):
    margin = (z - pick(z, target)[:, None] + 1).clamp(min=0)
    return margin.scatter(1, target[:, None], 0.0).sum(1)


@case(_hinge)
@lt.loss
def hinge(z: lt.Logits, target: lt.Token[int]):
    return lt.sum(lt.where(lt.column() != target, lt.maximum(z - z[target] + 1, 0.0), 0.0))


@case(lambda z, target: (torch.softmax(z, 1) - F.one_hot(target, z.shape[1])).square().sum(1))
@lt.loss
def brier(z: lt.Logits, target: lt.Token[int]):
    return lt.sum(lt.square(lt.softmax(z) - lt.to_float(lt.column() == target)))


@case(lambda z, target: F.cross_entropy(z - 0.375 * F.one_hot(target, z.shape[1]), target, reduction="none"))
@lt.loss
def margin(z: lt.Logits, target: lt.Token[int]):
    x = lt.where(lt.column() == target, z - 0.375, z)
    return lt.logsumexp(x) - x[target]


@case(lambda z, target: z.scatter(1, target[:, None], -torch.inf).max(1).values - pick(z, target))
@lt.loss
def second_best(z: lt.Logits, target: lt.Token[int]):
    return lt.max(lt.where(lt.column() != target, z, float("-inf"))) - z[target]


@case(lambda z, target: F.cross_entropy(z, target, reduction="none") + z.max(1).values ** 2 / 1024)
@lt.loss
def max_penalty(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target] + lt.max(z) ** 2 / 1024


@case(lambda z, target: F.cross_entropy(z, (target + 1) % z.shape[1], reduction="none"))
@lt.loss
def next_column(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[lt.where(target == lt.vocab_size() - 1, 0, target + 1)]


@case(lambda z, target: torch.softmax(20 * torch.tanh(z / 20), 1).gather(1, target[:, None])[:, 0])
@lt.loss
def capped_probability(z: lt.Logits, target: lt.Token[int]):
    return lt.softmax(20 * lt.tanh(z / 20))[target]


def _two_temperatures(z, target):
    return F.cross_entropy(z, target, reduction="none") + 0.5 * F.cross_entropy(
        z / 4, target, reduction="none"
    )


@case(_two_temperatures)
@lt.loss
def two_temperatures(z: lt.Logits, target: lt.Token[int]):
    return -lt.log_softmax(z)[target] - 0.5 * lt.log_softmax(z / 4)[target]


def _variance(z, target):
    return z.var(1, unbiased=False) + F.cross_entropy(z, target, reduction="none")


@case(_variance)
@lt.loss
def variance(z: lt.Logits, target: lt.Token[int]):
    return lt.mean(lt.square(z - lt.mean(z))) + lt.logsumexp(z) - z[target]


# ---- without a target ----------------------------------------------------------------------------


@case(lambda z: entropy_of(torch.log_softmax(z, 1)))
@lt.loss
def entropy(z: lt.Logits):
    p = lt.softmax(z)
    return -lt.sum(p * lt.log(p))


@case(lambda z: (torch.softmax(z, 1) * (1 - torch.softmax(z, 1))).sum(1))
@lt.loss
def gini(z: lt.Logits):
    p = lt.softmax(z)
    return lt.sum(p * (1 - p))


@case(lambda z: z.logsumexp(1) ** 2 - z.mean(1))
@lt.loss
def no_target(z: lt.Logits):
    return lt.logsumexp(z) ** 2 - lt.mean(z)


# ---- two projections -----------------------------------------------------------------------------


@case(
    lambda z, t: F.kl_div(
        torch.log_softmax(z, 1), torch.log_softmax(t, 1), reduction="none", log_target=True
    ).sum(1)
)
@lt.loss
def forward_kl(z: lt.Logits, t: lt.Logits):
    return lt.sum(lt.softmax(t) * (lt.log_softmax(t) - lt.log_softmax(z)))


@case(
    lambda z, t: F.kl_div(
        torch.log_softmax(t, 1), torch.log_softmax(z, 1), reduction="none", log_target=True
    ).sum(1)
)
@lt.loss
def reverse_kl(z: lt.Logits, t: lt.Logits):
    return lt.sum(lt.softmax(z) * (lt.log_softmax(z) - lt.log_softmax(t)))


def _jsd(z, t, beta):
    p, q = torch.log_softmax(z, 1), torch.log_softmax(t, 1)
    m = torch.log(beta * q.exp() + (1 - beta) * p.exp())
    return beta * (q.exp() * (q - m)).sum(1) + (1 - beta) * (p.exp() * (p - m)).sum(1)


@case(_jsd)
@lt.loss
def jsd(z: lt.Logits, t: lt.Logits, beta: lt.Scalar):
    p, q = lt.softmax(z), lt.softmax(t)
    m = lt.log(beta * q + (1 - beta) * p)
    return beta * lt.sum(q * (lt.log(q) - m)) + (1 - beta) * lt.sum(p * (lt.log(p) - m))


@case(lambda z, t: 0.5 * (torch.softmax(z, 1) - torch.softmax(t, 1)).abs().sum(1))
@lt.loss
def tvd(z: lt.Logits, t: lt.Logits):
    return 0.5 * lt.sum(abs(lt.softmax(z) - lt.softmax(t)))


@case(lambda z, t: 1 - F.cosine_similarity(z, t))
@lt.loss
def cosine(z: lt.Logits, t: lt.Logits):
    return 1 - lt.sum(z * t) * lt.rsqrt(lt.sum(z * z)) / lt.sqrt(lt.sum(t * t))


def _standardised_kl(z, t):
    z, t = ((x - x.mean(1, keepdim=True)) / x.std(1, unbiased=False, keepdim=True) for x in (z, t))
    return F.kl_div(torch.log_softmax(z, 1), torch.log_softmax(t, 1), reduction="none", log_target=True).sum(
        1
    )


@case(_standardised_kl)
@lt.loss
def standardised_kl(z: lt.Logits, t: lt.Logits):
    def standardised(x):
        centred = x - lt.mean(x)
        return centred / lt.sqrt(lt.mean(centred**2))

    p, q = lt.log_softmax(standardised(z)), lt.log_softmax(standardised(t))
    return lt.sum(lt.exp(q) * (q - p))


@case(lambda z, t: -torch.log((torch.softmax(z, 1) * torch.softmax(t, 1)).sqrt().sum(1)))
@lt.loss
def bhattacharyya(z: lt.Logits, t: lt.Logits):
    return -lt.log(lt.sum(lt.sqrt(lt.softmax(z) * lt.softmax(t))))


def _alpha_divergence(z, t, a):
    return (1 - (torch.softmax(t, 1) ** a * torch.softmax(z, 1) ** (1 - a)).sum(1)) / (a * (1 - a))


@case(_alpha_divergence)
@lt.loss
def alpha_divergence(z: lt.Logits, t: lt.Logits, a: lt.Scalar):
    return (1 - lt.sum(lt.softmax(t) ** a * lt.softmax(z) ** (1 - a))) / (a * (1 - a))


@case(lambda z, t: pick(t, z.argmax(1)) - t.logsumexp(1))
@lt.loss
def teacher_at_argmax(z: lt.Logits, t: lt.Logits):
    return t[lt.argmax(z)] - lt.logsumexp(t)


@case(lambda z, t: (torch.softmax(t, 1) ** 2 / torch.softmax(z, 1)).sum(1) - 1)
@lt.loss
def chi_squared(z: lt.Logits, t: lt.Logits):
    q = lt.softmax(t)
    return lt.sum(q * (q / lt.softmax(z))) - 1


# ---- with other inputs ---------------------------------------------------------------------------


def _ppo(z, target, old, advantage):
    ratio = torch.exp(_log_p(z, target) - old)
    return -torch.minimum(ratio * advantage, ratio.clamp(0.75, 1.25) * advantage)


@case(_ppo)
@lt.loss
def ppo(z: lt.Logits, target: lt.Token[int], old: lt.Token[float], advantage: lt.Token[float]):
    ratio = lt.exp(lt.log_softmax(z)[target] - old)
    return -lt.minimum(ratio * advantage, lt.clamp(ratio, 0.75, 1.25) * advantage)


def _grpo(z, target, old, ref, advantage):
    k3 = torch.exp(ref - _log_p(z, target)) - (ref - _log_p(z, target)) - 1
    return _ppo(z, target, old, advantage) + k3 / 16


@case(_grpo)
@lt.loss
def grpo(
    z: lt.Logits,
    target: lt.Token[int],
    old: lt.Token[float],
    ref: lt.Token[float],
    advantage: lt.Token[float],
):
    log_p = lt.log_softmax(z)[target]
    ratio = lt.exp(log_p - old)
    k3 = lt.exp(ref - log_p) - (ref - log_p) - 1
    return k3 / 16 - lt.minimum(ratio * advantage, lt.clamp(ratio, 0.75, 1.25) * advantage)


def _topk_kl(z, index, logits):
    q = torch.log_softmax(logits, 1)
    return (q.exp() * (q - torch.log_softmax(z, 1).gather(1, index))).sum(1)


@case(_topk_kl)
@lt.loss
def topk_kl(z: lt.Logits, index: lt.Token[int, lt.K], logits: lt.Token[float, lt.K]):
    largest = logits[0]
    for k in range(1, len(logits)):
        largest = lt.maximum(largest, logits[k])
    normaliser = largest + lt.log(sum(lt.exp(x - largest) for x in logits))
    log_p = lt.log_softmax(z)
    return sum(
        lt.exp(x - normaliser) * (x - normaliser - log_p[k]) for x, k in zip(logits, index, strict=True)
    )


def _listed(z, index, logits):
    log_p = torch.log_softmax(z, 1).gather(1, index)
    return (torch.sigmoid(logits) * (log_p - log_p.mean(1, keepdim=True)) ** 2).sum(1)


@case(_listed)
@lt.loss
def listed(z: lt.Logits, index: lt.Token[int, lt.K], logits: lt.Token[float, lt.K]):
    log_p = lt.log_softmax(z)[index]
    return lt.sum(lt.sigmoid(logits) * lt.square(log_p - lt.mean(log_p)))


def _mtp(z, index, decay):
    losses = -torch.log_softmax(z, 1).gather(1, index)
    return sum(decay**k * losses[:, k] for k in range(index.shape[1]))


@case(_mtp)
@lt.loss
def mtp(z: lt.Logits, index: lt.Token[int, lt.K], decay: lt.Scalar):
    lse = lt.logsumexp(z)
    return sum(decay**k * (lse - z[entry]) for k, entry in enumerate(index))


def _unlikelihood(z, index):
    return -torch.log(1.0 - torch.softmax(z, 1).gather(1, index) + 2**-20).sum(1)


@case(_unlikelihood)
@lt.loss
def unlikelihood(z: lt.Logits, index: lt.Token[int, lt.K]):
    p = lt.softmax(z)
    return -sum(lt.log(1 - p[k] + 2**-20) for k in index)


@case(lambda z, q: F.cross_entropy(z, q, reduction="none"))
@lt.loss
def soft_targets(z: lt.Logits, q: lt.Dense[float]):
    return -lt.sum(q * lt.log_softmax(z))


@case(
    lambda z, target, mask: z.masked_fill(~_with(mask, target, z), -torch.inf).logsumexp(1) - pick(z, target)
)
@lt.loss
def kept_set(z: lt.Logits, target: lt.Token[int], mask: lt.Vocab[bool]):
    return lt.logsumexp(lt.where(mask | (lt.column() == target), z, float("-inf"))) - z[target]


def _with(mask, target, z):
    return mask | F.one_hot(target, z.shape[1]).bool()


def _masked_entropy(z, mask):
    return torch.stack([entropy_of(torch.log_softmax(row[mask], 0)[None, :])[0] for row in z])


@case(_masked_entropy)
@lt.loss
def masked_entropy(z: lt.Logits, mask: lt.Vocab[bool]):
    log_p = lt.log_softmax(lt.where(mask, z, float("-inf")))
    return -lt.sum(lt.exp(log_p) * log_p)


@case(
    lambda z, keep: torch.stack(
        [entropy_of(torch.log_softmax(r[k], 0)[None])[0] for r, k in zip(z, keep, strict=True)]
    )
)
@lt.loss
def entropy_per_token_set(z: lt.Logits, keep: lt.Dense[bool]):
    p = lt.softmax(lt.where(keep, z, float("-inf")))
    return -lt.sum(p * lt.log(p))


@case(lambda z, target, scale: F.cross_entropy(z * scale, target, reduction="none"))
@lt.loss
def vocab_scale(z: lt.Logits, target: lt.Token[int], scale: lt.Vocab[float]):
    z = z * scale
    return lt.logsumexp(z) - z[target]


@case(lambda z, target, temperature: F.cross_entropy(z / temperature, target, reduction="none"))
@lt.loss
def learned_temperature(z: lt.Logits, target: lt.Token[int], temperature: lt.Scalar):
    return -lt.log_softmax(z / temperature)[target]


@case(lambda z, alpha: torch.log((torch.softmax(z, 1) ** alpha[:, None]).sum(1)))
@lt.loss
def power_sum(z: lt.Logits, alpha: lt.Token[float]):
    return lt.log(lt.sum(lt.softmax(z) ** alpha))


def _pairwise(z, target, advantage):
    return F.softplus(z - pick(z, target)[:, None]).mean(1) * torch.tanh(advantage) + F.logsigmoid(advantage)


@case(_pairwise)
@lt.loss
def pairwise(z: lt.Logits, target: lt.Token[int], advantage: lt.Token[float]):
    return lt.mean(lt.softplus(z - z[target])) * lt.tanh(advantage) + lt.log_sigmoid(advantage)


# ---- a gradient of an input that no kernel reads -------------------------------------------------


@case(lambda z, target, cost: F.cross_entropy(z, target, reduction="none") + 3 * cost.sum(1))
@lt.loss
def added_cost(z: lt.Logits, target: lt.Token[int], cost: lt.Dense[float]):
    """On slices, the part that makes gradients does not read `cost`."""
    return lt.logsumexp(z) - z[target] + 3 * lt.sum(cost)


def _never_the_other(z, target, other):
    return pick(torch.where(F.one_hot(target, z.shape[1]).bool(), z, other) ** 2, target)


@case(_never_the_other)
@lt.loss
def never_the_other(z: lt.Logits, target: lt.Token[int], other: lt.Dense[float]):
    """The gradient of `other` is 0."""
    return lt.square(lt.where(lt.column() == target, z, other))[target]
