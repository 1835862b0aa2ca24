"""Options of library losses that other libraries have: outputs beside the loss, biases, labels that
tell what is ignored, and coefficients that are read at each call.
"""

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import TorchCall, arguments, relative

losses = lt.losses
TOKENS, VOCAB = 6, 23
NAMES = "'cross_entropy', 'z_loss', 'lse', 'correct', 'index'"


def labelled(name="target"):
    """Labels of which the second is ignored."""
    labels = np.random.default_rng(5).integers(0, VOCAB, TOKENS)
    labels[1] = -100
    return {name: labels}


def vocab_values(*names):
    rng = np.random.default_rng(6)
    return {name: rng.uniform(0.2, 1.5, VOCAB).astype(np.float32) for name in names}


def check(loss, given, expected, ignore="target", reduction="mean", **constants):
    """The reference is the formula, and kernels compute it with its gradients."""
    head = lt.jit(loss, ignore=ignore, reduction=reduction, **constants)
    call = TorchCall(loss, given)
    total = expected(**call.values())
    wanted = {key: g for key, g in call.gradients(total).items() if g.any()}
    value, gradients = head.reference_grad(**given, wrt=list(wanted))
    assert relative(value, total.detach()) < 1e-12
    made, found = head.value_and_grad(**given, wrt=list(wanted))
    assert relative(made, value) < 1e-5
    for key, gradient in wanted.items():
        assert relative(gradients[key], gradient, floor=1e-9) < 1e-9, key
        assert relative(found[key], gradient, floor=1e-9) < 1e-5, key


# ---- outputs of cross_entropy beside its loss ----------------------------------------------------


@pytest.mark.parametrize("method", ["reference", "__call__"])
def test_outputs_beside_the_loss(method):
    given = arguments(losses.cross_entropy) | labelled() | vocab_values("bias")
    names = ("lse", "z_loss", "correct", "index")
    head = lt.jit(losses.cross_entropy, z_loss=0.25, softcap=4.0, returns=names)
    out = getattr(head, method)(**given)
    hidden, weight = (torch.tensor(array).double() for array in given["z"])
    z = 4 * torch.tanh((hidden @ weight.T + torch.tensor(given["bias"])) / 4)
    counts = torch.tensor(given["target"]) != -100
    lse = torch.where(counts, z.logsumexp(1), 0.0)
    index = torch.where(counts, z.argmax(1), -1)
    assert out._fields == ("loss", *names)
    assert relative(out.lse, lse) < 1e-6
    assert relative(out.z_loss, lse**2) < 1e-6
    np.testing.assert_array_equal(out.index, index)
    np.testing.assert_array_equal(out.correct, index == torch.tensor(given["target"]))
    picked = F.cross_entropy(z, torch.tensor(given["target"]))
    assert relative(out.loss, picked + 0.25 * (lse**2).sum() / counts.sum()) < 1e-6


def test_class_weights_come_before_the_other_outputs():
    given = arguments(losses.cross_entropy) | vocab_values("class_weight")
    out = lt.jit(losses.cross_entropy, returns=("correct", "lse"))(**given)
    assert out._fields == ("loss", "weight", "correct", "lse")


def test_lse_has_a_gradient_and_z_loss_has_none():
    given = arguments(losses.cross_entropy) | labelled()
    head = lt.jit(losses.cross_entropy, z_loss=0.5, reduction="none", returns=("lse", "z_loss"))
    up = np.arange(1, TOKENS + 1).astype(np.float32)
    _, found = head.value_and_grad(**given, grad_output={"lse": up})
    hidden, weight = (torch.tensor(array).double().requires_grad_() for array in given["z"])
    lse = (hidden @ weight.T).logsumexp(1)
    (lse * torch.tensor(up) * torch.tensor(given["target"] != -100)).sum().backward()
    assert relative(found["hidden"], hidden.grad) < 1e-6
    with pytest.raises(lt.CallError, match="z_loss"):
        head.value_and_grad(**given, grad_output={"z_loss": up})


@pytest.mark.parametrize(("given", "kind", "error"), [
    (["lse"], lt.CallTypeError,
     "returns=['lse'] must be a tuple of names out of " + NAMES),
    (("lsa",), lt.CallValueError,
     f"returns=('lsa',) must have names out of {NAMES}, each once"),
    (("lse", "lse"), lt.CallValueError,
     f"returns=('lse', 'lse') must have names out of {NAMES}, each once"),
])  # fmt: skip
def test_names_of_outputs_that_there_are_not(given, kind, error):
    with pytest.raises(kind) as caught:
        lt.jit(losses.cross_entropy, returns=given)(**arguments(losses.cross_entropy))
    assert str(caught.value) == error


# ---- coefficients that are read at each call -----------------------------------------------------


@pytest.mark.contract("1 scalar")
@pytest.mark.parametrize(("loss", "numbers"), [
    (losses.cross_entropy, {"label_smoothing": 0.125, "z_loss": 0.25}),
    (losses.cross_entropy, {"label_smoothing": 0.0, "z_loss": 0.0}),
    (losses.jensen_shannon, {"beta": 0.25}),
    (losses.skewed_kl, {"alpha": 0.25}),
    (losses.soft_cross_entropy, {"label_smoothing": 0.5}),
    (losses.focal, {"gamma": 1.5}),
    (losses.poly1, {"epsilon": 0.5}),
    (losses.ppo_clip, {"epsilon_low": 0.125, "epsilon_high": 0.25}),
    (losses.grpo, {"epsilon_high": 0.5}),
])  # fmt: skip
def test_a_coefficient_of_the_call_is_the_constant(loss, numbers):
    given = arguments(loss)
    value, gradients = lt.jit(loss).value_and_grad(**given, **numbers)
    wanted, exact = lt.jit(loss, **numbers).reference_grad(**given)
    assert relative(value, wanted) < 1e-6
    for name, gradient in exact.items():
        assert relative(gradients[name], gradient) < 1e-5, name


def test_annealing_compiles_once():
    head, given = lt.jit(losses.cross_entropy), arguments(losses.cross_entropy, vocab=29)
    for step in range(3):
        head(**given, label_smoothing=0.1 * step, z_loss=0.01 * step)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


def test_a_coefficient_has_one_place():
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(losses.focal, gamma=1.5)(**arguments(losses.focal), gamma=2.0)
    told = "'gamma' is given to this call, but lt.jit bound it to 1.5; give it in one place"
    assert str(caught.value) == told


def test_a_z_loss_that_is_averaged_over_tokens_beside_class_weights():
    given = arguments(losses.cross_entropy) | vocab_values("class_weight")
    given["class_weight"] = abs(given["class_weight"]) + 0.5
    share = given["class_weight"][given["target"]].mean()
    got = lt.jit(losses.cross_entropy)(**given, z_loss=0.25 * share).loss
    hidden, weight = (torch.tensor(array).double() for array in given["z"])
    z, classes = hidden @ weight.T, torch.tensor(given["class_weight"]).double()
    wanted = F.cross_entropy(z, torch.tensor(given["target"]), classes) + 0.25 * (z.logsumexp(1) ** 2).mean()
    assert relative(got, wanted) < 1e-6


# ---- biases, class weights, labels that ignore ---------------------------------------------------


def test_soft_cross_entropy_with_its_options():
    given = arguments(losses.soft_cross_entropy) | vocab_values("bias", "class_weight") | labelled("label")

    def dense(z, target, label, bias, class_weight):
        kept = label != -100
        return F.cross_entropy((z + bias)[kept], target[kept], weight=class_weight, label_smoothing=0.25)

    check(losses.soft_cross_entropy, given, dense, ignore="label", label_smoothing=0.25)


def log_softmaxes(student, teacher, target, student_bias, teacher_bias):
    kept = target != -100
    return (teacher + teacher_bias)[kept].log_softmax(1), (student + student_bias)[kept].log_softmax(1)


def mixed(q, p, share):
    return (share * q.exp() + (1 - share) * p.exp()).log()


DIVERGENCES = {
    "forward_kl": lambda q, p: (q.exp() * (q - p)).sum(1),
    "reverse_kl": lambda q, p: (p.exp() * (p - q)).sum(1),
    "skewed_kl": lambda q, p: (q.exp() * (q - mixed(q, p, 0.125))).sum(1),
    "jensen_shannon": lambda q, p: 0.5 * (
        q.exp() * (q - mixed(q, p, 0.5)) + p.exp() * (p - mixed(q, p, 0.5))
    ).sum(1),
    "total_variation": lambda q, p: 0.5 * (q.exp() - p.exp()).abs().sum(1),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVERGENCES)
def test_distillation_with_biases_and_labels(name):
    loss = getattr(losses, name)
    given = arguments(loss) | labelled() | vocab_values("student_bias", "teacher_bias")
    constants = {"alpha": 0.125} if name == "skewed_kl" else {}
    check(loss, given, lambda **inputs: DIVERGENCES[name](*log_softmaxes(**inputs)).mean(), **constants)


def test_entropy_with_a_bias_and_labels():
    given = arguments(losses.entropy) | labelled() | vocab_values("bias")

    def dense(z, target, bias):
        log_p = (z + bias)[target != -100].log_softmax(1)
        return -(log_p.exp() * log_p).sum(1).mean()

    check(losses.entropy, given, dense)


def test_log_probabilities_with_a_bias():
    given = arguments(losses.logprob_entropy) | vocab_values("bias")
    out = lt.jit(losses.logprob_entropy)(**given)
    hidden, weight = (torch.tensor(array).double() for array in given["z"])
    log_p = (hidden @ weight.T + torch.tensor(given["bias"])).log_softmax(1)
    assert relative(out.logprob, log_p.gather(1, torch.tensor(given["target"])[:, None])[:, 0]) < 1e-6
    assert relative(out.entropy, -(log_p.exp() * log_p).sum(1)) < 1e-6
    alone = lt.jit(losses.logprob)(**given)
    assert relative(alone.logprob, out.logprob) < 1e-6


def outside(log_p):
    return 1 - log_p.exp().sum(1)


RESTS = {
    "drop": lambda q, p: (q.exp() * (q - p)).sum(1),
    "normalize": lambda q, p: (q.softmax(1) * (q.log_softmax(1) - p)).sum(1),
    "class": lambda q, p: (q.exp() * (q - p)).sum(1) + outside(q) * (outside(q) / outside(p)).log(),
}


@pytest.mark.parametrize("rest", RESTS)
def test_what_becomes_of_the_rest_of_a_sparse_teacher(rest):
    given = arguments(losses.top_k_kl) | labelled() | vocab_values("bias")
    rng = np.random.default_rng(3)
    given["index"] = np.stack([rng.permutation(VOCAB)[:4] for _ in range(TOKENS)])
    given["logprob"] = np.log(rng.dirichlet(np.ones(6), TOKENS)[:, :4]).astype(np.float32)

    def dense(z, index, logprob, target, bias):
        log_p = (z + bias).log_softmax(1).gather(1, index)
        return RESTS[rest](logprob, log_p)[target != -100].mean()

    check(losses.top_k_kl, given, dense, rest=rest)


@pytest.mark.parametrize("rest", RESTS)
def test_padding_of_a_sparse_teacher_counts_nothing(rest):
    given = arguments(losses.top_k_kl)
    given["index"] = np.arange(24).reshape(TOKENS, 4) % VOCAB
    given["logprob"] = np.full((TOKENS, 4), np.log(0.2), np.float32)
    fewer = given | {"index": given["index"][:, :3], "logprob": given["logprob"][:, :3]}
    given["index"][:, 3], given["logprob"][:, 3] = -100, np.nan
    head = lt.jit(losses.top_k_kl, rest=rest)
    for call, bound in ((head.reference_grad, 1e-12), (head.value_and_grad, 1e-5)):
        (value, gradients), (less, wanted) = call(**given), call(**fewer)
        np.testing.assert_allclose(value, less, rtol=bound)
        for name, gradient in wanted.items():
            assert relative(gradients[name], gradient) < bound


def test_a_sparse_teacher_without_a_rest():
    """The class of the other entries has no share, and its logarithm does not count."""
    given = arguments(losses.top_k_kl)
    given["index"] = np.arange(24).reshape(TOKENS, 4) % VOCAB
    given["logprob"] = np.full((TOKENS, 4), np.log(0.25), np.float32)
    values = [lt.jit(losses.top_k_kl, rest=rest)(**given) for rest in RESTS]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)


def test_a_sparse_teacher_with_a_bias_a_temperature_and_labels():
    given = arguments(losses.top_k_kl) | labelled() | vocab_values("bias")

    def dense(z, index, logprob, target, bias):
        log_p = ((z + bias) / 2).log_softmax(1)
        each = (logprob.exp() * (logprob - log_p.gather(1, index))).sum(1)
        return each[target != -100].mean()

    check(losses.top_k_kl, given | {"temperature": 2.0}, lambda temperature, **rest: dense(**rest))
