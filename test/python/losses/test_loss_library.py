"""The rest of the library of losses: its reference against formulas in torch,
and every loss compiled.
"""

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import ENTRIES, TorchCall, arguments, relative

losses = lt.losses


def log_p(z, index):
    chosen = index if index.ndim == 2 else index[:, None]
    picked = z.log_softmax(1).gather(1, chosen)
    return picked if index.ndim == 2 else picked[:, 0]


def surrogate(z, target, old, advantage, low=0.25, high=0.25):
    ratio = (log_p(z, target) - old).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)


def grpo(z, target, old_logprob, advantage, reference_logprob=None):
    value = surrogate(z, target, old_logprob, advantage)
    if reference_logprob is None:
        return value
    distance = reference_logprob - log_p(z, target)
    return value + 0.0625 * (distance.exp() - distance - 1)


def mixture(student, teacher, share):
    return share * teacher.softmax(1) + (1 - share) * student.softmax(1)


def jensen_shannon(student, teacher, beta=0.5):
    m = mixture(student, teacher, beta).log()
    q, p = teacher.log_softmax(1), student.log_softmax(1)
    return beta * (q.exp() * (q - m)).sum(1) + (1 - beta) * (p.exp() * (p - m)).sum(1)


def skewed_kl(student, teacher, alpha=0.125):
    q = teacher.log_softmax(1)
    return (q.exp() * (q - mixture(student, teacher, alpha).log())).sum(1)


def multi_token(z, target, depth_weight=1.0):
    return -(log_p(z, target) * depth_weight).sum(1)


DENSE = {
    "soft_cross_entropy": lambda z, target: F.cross_entropy(z, target, reduction="none"),
    "multi_token": multi_token,
    "focal": lambda z, target: -((1 - log_p(z, target).exp()) ** 2) * log_p(z, target),
    "poly1": lambda z, target: -log_p(z, target) + (1 - log_p(z, target).exp()),
    "unlikelihood": lambda z, negative: -torch.log(1 - log_p(z, negative).exp()).sum(1),
    "dynamic_fine_tuning": lambda z, target: -log_p(z, target).exp().detach() * log_p(z, target),
    "z_loss": lambda z: z.logsumexp(1) ** 2,
    "skewed_kl": skewed_kl,
    "jensen_shannon": jensen_shannon,
    "total_variation": lambda student, teacher: 0.5 * (student.softmax(1) - teacher.softmax(1)).abs().sum(1),
    "top_k_kl": lambda z, index, logprob: (logprob.exp() * (logprob - log_p(z, index))).sum(1),
    "ppo_clip": lambda z, target, old_logprob, advantage: surrogate(z, target, old_logprob, advantage),
    "grpo": grpo,
    "logprob": lambda z, target: log_p(z, target),
    "dpo_reward": lambda z, target, reference_logprob: 0.125 * (log_p(z, target) - reference_logprob),
    "simpo_reward": lambda z, target, length: 2.0 * log_p(z, target) / length,
}
# Powers of two: then float64 formulas compute with the same constants.
CLIPPED = {"epsilon_low": 0.25, "epsilon_high": 0.25}
CONSTANTS = {
    "skewed_kl": {"alpha": 0.125},
    "ppo_clip": CLIPPED,
    "grpo": {**CLIPPED, "beta": 0.0625},
    "dpo_reward": {"beta": 0.125},
}
OPTIONAL = {"multi_token": {"depth_weight": (6, ENTRIES)}, "grpo": {"reference_logprob": (6,)}}


def output_name(loss):
    head = lt.jit(loss)
    return head._bind(**arguments(loss)).form.spec.output_names[0]


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("optional", [False, True])
def test_the_reference_is_the_dense_formula(name, optional):
    loss = getattr(losses, name)
    given = arguments(loss)
    if optional:
        extra = OPTIONAL.get(name)
        if extra is None:
            pytest.skip("has no optional input")
        rng = np.random.default_rng(2)
        given |= {key: rng.normal(size=shape).astype(np.float32) for key, shape in extra.items()}
    call = TorchCall(loss, given)
    expected = DENSE[name](**call.values())
    wanted = {key: g for key, g in call.gradients(expected.sum()).items() if g.any()}
    output = output_name(loss)
    options = {"reduction": "none"} if output == "loss" else {}
    up = np.ones(expected.shape)
    value, gradients = lt.jit(loss, **options, **CONSTANTS.get(name, {})).reference_grad(
        **given, wrt=list(wanted), grad_output=up if output == "loss" else {output: up}
    )
    value = value if output == "loss" else getattr(value, output)
    assert relative(value, expected.detach()) < 1e-12
    for key, gradient in wanted.items():
        assert relative(gradients[key], gradient, floor=1e-9) < 1e-9, key


def test_entries_that_are_ignored_count_nothing():
    for name, index in (("multi_token", "target"), ("unlikelihood", "negative"), ("top_k_kl", "index")):
        loss = getattr(losses, name)
        given = arguments(loss)
        given[index][:, 2] = -100
        fewer = {
            key: item[:, [0, 1, 3]] if getattr(item, "ndim", 0) == 2 else item for key, item in given.items()
        }
        for reference in (True, False):
            head = lt.jit(loss, reduction="none", ignore=index)
            run = head.reference if reference else head
            np.testing.assert_allclose(run(**given), run(**fewer), rtol=1e-6)


@pytest.mark.contract("1 result", "5 ranks")
@pytest.mark.parametrize("method", ["reference", "__call__"])
def test_metrics(method):
    def run(loss, given, **constants):
        return getattr(lt.jit(loss, **constants), method)(**given)

    given = arguments(losses.rank)
    z = given["z"][0].astype(float) @ given["z"][1].T.astype(float)
    order = np.argsort(-z, axis=1)
    out = run(losses.rank, given)
    places = np.argmax(order == given["target"][:, None], axis=1) + 1
    np.testing.assert_array_equal(out.rank, places)
    np.testing.assert_allclose(out.reciprocal_rank, 1 / places, rtol=1e-6)
    np.testing.assert_array_equal(run(losses.accuracy, given).correct, order[:, 0] == given["target"])
    only = {"z": given["z"]}
    np.testing.assert_array_equal(run(losses.prediction, only).index, order[:, 0])
    top = run(losses.top_logprobs, only, k=3)
    log_softmax = z - np.log(np.exp(z).sum(1, keepdims=True))
    np.testing.assert_array_equal(top.index, order[:, :3])
    np.testing.assert_allclose(top.logprob, np.take_along_axis(log_softmax, order[:, :3], 1), rtol=1e-5)


@pytest.mark.parametrize(("tokens", "vocab", "k"), [((2, 3), 40, 40), ((7,), 1500, 1024), ((5,), 300, 50)])
def test_top_logprobs_are_the_largest(tokens, vocab, k):
    rng = np.random.default_rng(2)
    hidden = rng.integers(-8, 9, (*tokens, 12)).astype(np.float32) / 8  # so that logits are exact
    weight = rng.integers(-8, 9, (vocab, 12)).astype(np.float32) / 8
    head = lt.jit(losses.top_logprobs, k=k)
    found = head(hidden, weight)
    z = hidden.astype(float) @ weight.T.astype(float)
    order = np.argsort(-z, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(found.index, order)
    expected = z - np.log(np.exp(z).sum(-1, keepdims=True))
    np.testing.assert_allclose(found.logprob, np.take_along_axis(expected, order, -1), rtol=1e-5)
    assert head.explain(hidden, weight, grad=()).forward_sweeps == 1


def test_top_logprobs_are_at_most_1024():
    given = lt.ShapeDtype((4, 8), "float32"), lt.ShapeDtype((2000, 8), "float32")
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(losses.top_logprobs, k=1025).explain(*given, grad=())
    assert str(caught.value) == "k=1025 must be from 1 to 1024, the longest list"


@pytest.mark.parametrize("name", losses.__all__)
def test_every_loss_compiles_to_what_the_reference_says(name):
    loss = getattr(losses, name)
    given = arguments(loss, tokens=37, vocab=211, hidden=24)
    head = lt.jit(loss)
    spec = head._bind(**given).form.spec
    carrying = [o.name for o in spec.outputs if o.type == "f32" and o.name != "weight"]
    if name in ("accuracy", "prediction", "rank", "top_logprobs"):
        out, expected = head(**given), head.reference(**given)
        for mine, theirs in zip(out, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-5)
        return
    rng = np.random.default_rng(3)
    reaching = None if "loss" in carrying else {o: rng.normal(size=37).astype(np.float32) for o in carrying}
    out, gradients = head.value_and_grad(**given, grad_output=reaching)
    expected, wanted = head.reference_grad(**given, grad_output=reaching)
    pairs = [(out, expected)] if spec.bare else list(zip(out, expected, strict=True))
    for mine, theirs in pairs:
        assert relative(np.asarray(mine, float), theirs) < 2e-6
    for key, gradient in wanted.items():
        assert relative(gradients[key], gradient) < 2e-5, key


@pytest.mark.parametrize(("name", "constants", "error"), [
    ("cross_entropy", {"label_smoothing": 2}, "label_smoothing=2 must be a number from 0 to 1"),
    ("cross_entropy", {"label_smoothing": -1}, "label_smoothing=-1 must be a number from 0 to 1"),
    ("cross_entropy", {"label_smoothing": float("nan")}, "label_smoothing=nan must be a number from 0 to 1"),
    ("cross_entropy", {"label_smoothing": "0.1"}, "label_smoothing='0.1' must be a number from 0 to 1"),
    ("cross_entropy", {"z_loss": -1e-4}, "z_loss=-0.0001 must be a finite number of 0 or more"),
    ("cross_entropy", {"softcap": -5}, "softcap=-5 must be a finite number above 0"),
    ("cross_entropy", {"softcap": 0.0}, "softcap=0.0 must be a finite number above 0"),
    ("cross_entropy", {"softcap": float("inf")}, "softcap=inf must be a finite number above 0"),
    ("cross_entropy", {"softcap": True}, "softcap=True must be a finite number above 0"),
    ("focal", {"gamma": -0.5}, "gamma=-0.5 must be a finite number of 0 or more"),
    ("poly1", {"epsilon": float("inf")}, "epsilon=inf must be a finite number"),
    ("top_k_kl", {"rest": "zero"}, "rest='zero' must be one of 'drop', 'normalize', 'class'"),
    ("skewed_kl", {"alpha": 1.5}, "alpha=1.5 must be a number from 0 to 1"),
    ("jensen_shannon", {"beta": 1.0}, "beta=1.0 must be a number above 0 and below 1"),
    ("top_logprobs", {"k": 0}, "k=0 must be from 1 to 13, the number of vocabulary entries"),
    ("top_logprobs", {"k": 14}, "k=14 must be from 1 to 13, the number of vocabulary entries"),
    ("top_logprobs", {"k": 2.0}, "k=2.0 must be an int that is known while the loss is traced"),
    ("ppo_clip", {"epsilon_low": -0.2}, "epsilon_low=-0.2 must be a finite number of 0 or more"),
    ("grpo", {"epsilon_high": 10**400}, f"epsilon_high={10**400} must be a finite number of 0 or more"),
    ("grpo", {"beta": -0.04}, "beta=-0.04 must be a finite number of 0 or more"),
    ("dpo_reward", {"beta": float("nan")}, "beta=nan must be a finite number of 0 or more"),
    ("simpo_reward", {"beta": -2}, "beta=-2 must be a finite number of 0 or more"),
])  # fmt: skip
def test_constants_outside_of_their_range(name, constants, error):
    loss, (value,) = getattr(losses, name), constants.values()
    given = arguments(loss, vocab=13)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_type = "an int" in error or not (is_number or "one of" in error)
    kind = lt.CallTypeError if is_type else lt.CallValueError
    with pytest.raises(kind) as caught:
        lt.jit(loss, **constants)(**given)
    assert str(caught.value) == error


def test_every_numeric_constant_has_a_range():
    for name in losses.__all__:
        loss = getattr(losses, name)
        for constant in loss.signature.constants:
            with pytest.raises(lt.CallError, match=f"{constant.name}=nan must be"):
                lt.jit(loss, **{constant.name: float("nan")})(**arguments(loss))


def test_a_constant_may_be_a_value_of_another_loss():
    @lt.loss
    def annealed(z: lt.Logits, target: lt.Token[int], gamma: lt.Scalar):
        return losses.focal(z, target, gamma=gamma)

    given = arguments(losses.focal)
    value = lt.jit(annealed).reference(**given, gamma=2.0)
    np.testing.assert_allclose(value, lt.jit(losses.focal).reference(**given), rtol=1e-12)
