"""Per-token outputs and losses for reinforcement learning and preference training.

Sums over sequences, and computations with them, are a few operations of the framework on these
outputs: every output has its own gradient.
"""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..language.outputs import Outputs
from .ranges import check


@loss
def logprob(
    z: Logits,
    target: Token[int],
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """log p[y] per token; there is no loss field.

    Args:
        target: y, one per token.
        bias: added to the logits of every token.
        temperature: the logits are divided by it.

    Returns: `Outputs(logprob)`.
    """
    return Outputs(logprob=_log_softmax(z, bias, temperature)[target])


@loss
def entropy(
    z: Logits,
    target: Token[int] | None = None,
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """Entropy of the prediction, -sum(p log p).

    Args:
        target: one per token. It is not read: where it is given,
            tokens whose target is `ignore_index` count nowhere.
        bias: added to the logits of every token.
        temperature: the logits are divided by it.

    Source: Shannon 1948. Its negative is the usual bonus of policy gradients.
    """
    log_p = _log_softmax(z, bias, temperature)
    return -lt.sum(lt.exp(log_p) * log_p)


@loss
def logprob_entropy(
    z: Logits,
    target: Token[int],
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
):
    """log p[y] and the entropy of the prediction, per token and differentiable; no loss.

    Args:
        target: y, one per token.
        bias: added to the logits of every token.
        temperature: the logits are divided by it.

    Returns: `Outputs(logprob, entropy)`.

    Source: what policy-gradient losses read of a model, such as PPO (arXiv:1707.06347).
    """
    log_p = _log_softmax(z, bias, temperature)
    return Outputs(logprob=log_p[target], entropy=-lt.sum(lt.exp(log_p) * log_p))


@loss
def ppo_clip(
    z: Logits,
    target: Token[int],
    old_logprob: Token[float],
    advantage: Token[float],
    *,
    epsilon_low: Scalar | float = 0.2,
    epsilon_high: Scalar | float = 0.2,
    temperature: Scalar | Token[float] | None = None,
):
    """The clipped surrogate loss of PPO.
    It is -min(r A, clamp(r, 1 - epsilon_low, 1 + epsilon_high) A), r = p[y] / p_old[y].

    Args:
        target: y, the tokens that were sampled.
        old_logprob: log p_old[y], of the policy that sampled them.
        advantage: A. It gets a gradient if it requires one, and so does old_logprob;
            detach them otherwise.
        epsilon_low, epsilon_high: how far r may move, 0 or more.
        temperature: the logits are divided by it.

    Source: PPO, Schulman et al. 2017, arXiv:1707.06347; two bounds as in DAPO, arXiv:2503.14476.
    """
    log_p = lt.log_softmax(z if temperature is None else z / temperature)[target]
    return _surrogate(log_p, old_logprob, advantage, epsilon_low, epsilon_high)


@loss
def grpo(
    z: Logits,
    target: Token[int],
    old_logprob: Token[float],
    advantage: Token[float],
    reference_logprob: Token[float] | None = None,
    *,
    beta: Scalar | float = 0.04,
    epsilon_low: Scalar | float = 0.2,
    epsilon_high: Scalar | float = 0.2,
    temperature: Scalar | Token[float] | None = None,
):
    """The clipped surrogate of `ppo_clip` with a penalty of the distance to a reference.

    Formula: -min(r A, clamp(r, 1 - epsilon_low, 1 + epsilon_high) A) + beta (exp(d) - d - 1), with
    r = p[y] / p_old[y] and d = log p_ref[y] - log p[y].

    Args:
        target: y, the tokens that were sampled.
        old_logprob: log p_old[y], of the policy that sampled them.
        advantage: A, of each token's answer within its group. It gets a gradient if it requires
            one, and so do old_logprob and reference_logprob; detach them otherwise.
        reference_logprob: log p_ref[y]; absent: no penalty.
        beta: the weight of the penalty, an estimate of KL(p || p_ref); 0 or more.
        epsilon_low, epsilon_high: how far p[y] / p_old[y] may move, 0 or more.
        temperature: the logits are divided by it.

    Source: DeepSeekMath, Shao et al. 2024, arXiv:2402.03300.
    """
    check("beta", beta, 0)
    log_p = lt.log_softmax(z if temperature is None else z / temperature)[target]
    value = _surrogate(log_p, old_logprob, advantage, epsilon_low, epsilon_high)
    if reference_logprob is None:
        return value
    distance = reference_logprob - log_p
    return value + beta * (lt.expm1(distance) - distance)


@loss
def dpo_reward(z: Logits, target: Token[int], reference_logprob: Token[float], *, beta: Scalar | float = 0.1):
    """The implicit reward of a token, beta (log p[y] - log p_ref[y]); there is no loss field.

    The loss of a pair of answers is -log_sigmoid(R_chosen - R_rejected) with R the sum of
    rewards of an answer.

    Args:
        target: y, the tokens of an answer.
        reference_logprob: log p_ref[y].
        beta: how much leaving the reference costs, 0 or more.

    Returns: `Outputs(reward)`.

    Source: DPO, Rafailov et al. 2023, arXiv:2305.18290.
    """
    check("beta", beta, 0)
    return Outputs(reward=beta * (lt.log_softmax(z)[target] - reference_logprob))


@loss
def simpo_reward(z: Logits, target: Token[int], length: Token[float], *, beta: Scalar | float = 2.0):
    """The reward of a token without a reference, beta log p[y] / length; there is no loss field.

    The loss of a pair of answers is -log_sigmoid(R_chosen - R_rejected - margin) with R
    the sum of rewards.

    Args:
        target: y, the tokens of an answer.
        length: how many tokens its answer has.
        beta: the scale of rewards, 0 or more.

    Returns: `Outputs(reward)`.

    Source: SimPO, Meng et al. 2024, arXiv:2405.14734.
    """
    check("beta", beta, 0)
    return Outputs(reward=beta * lt.log_softmax(z)[target] / length)


def _log_softmax(z, bias, temperature):
    if bias is not None:
        z = z + bias
    return lt.log_softmax(z if temperature is None else z / temperature)


def _surrogate(log_p, old_logprob, advantage, epsilon_low, epsilon_high):
    check("epsilon_low", epsilon_low, 0)
    check("epsilon_high", epsilon_high, 0)
    ratio = lt.exp(log_p - old_logprob)
    return -lt.minimum(ratio * advantage, lt.clamp(ratio, 1 - epsilon_low, 1 + epsilon_high) * advantage)
