"""What a call means in the reference: ignored tokens, reductions, outputs, indices,
dtypes and layouts.
"""

import inspect
import math
import os
import pathlib

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import TorchCall, arguments, relative
from logitile.reference import forward as reference

N, V, D = 8, 13, 6


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def several(z: lt.Logits, target: lt.Token[int]):
    lse = lt.logsumexp(z)
    return lt.Outputs(
        loss=lse - z[target],
        lse=lse,
        best=lt.argmax(z),
        right=lt.argmax(z) == target,
        rank=lt.count(z > z[target]),
    )


@lt.loss
def no_target(z: lt.Logits):
    return lt.logsumexp(z)


def operands(seed=0, tokens=N):
    rng = np.random.default_rng(seed)
    hidden, weight = rng.normal(size=(tokens, D)), rng.normal(size=(V, D))
    return hidden.astype(np.float32), weight.astype(np.float32), rng.integers(0, V, tokens)


def logits(hidden, weight):
    return torch.tensor(np.asarray(hidden, np.float64) @ np.asarray(weight, np.float64).T)


# ---- outputs -------------------------------------------------------------------------------------


@pytest.mark.contract("1 result", "2 frameworks")
def test_outputs_are_a_named_tuple_in_leading_dimensions():
    hidden, weight, target = operands()
    target[3] = -100
    out = lt.jit(several, reduction="none").reference(
        hidden.reshape(2, 4, D), weight, target=target.reshape(2, 4)
    )
    assert out._fields == ("loss", "lse", "best", "right", "rank")
    assert [x.shape for x in out] == [(2, 4)] * 5
    assert [x.dtype for x in out] == [np.float64, np.float64, np.int64, np.bool_, np.int64]
    z = logits(hidden, weight)
    expected = F.cross_entropy(z, torch.tensor(target), reduction="none")
    np.testing.assert_allclose(out.loss.ravel(), expected, rtol=1e-13)
    live = target != -100
    np.testing.assert_array_equal(out.best.ravel()[live], z.argmax(1)[live])
    assert (
        out.loss.ravel()[3],
        out.lse.ravel()[3],
        out.best.ravel()[3],
        out.right.ravel()[3],
        out.rank.ravel()[3],
    ) == (0, 0, -1, False, -1)


@pytest.mark.contract("1 ties")
def test_ties_go_to_the_lowest_index():
    out = lt.jit(several, reduction="none").reference(
        np.zeros((2, D), np.float32), np.ones((V, D), np.float32), target=np.array([0, 5])
    )
    assert out.best.tolist() == [0, 0] and out.rank.tolist() == [0, 0] and out.right.tolist() == [True, False]


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [(), (0, 3), tuple(range(N))])
def test_reductions_are_those_of_torch(reduction, ignored):
    hidden, weight, target = operands(1)
    target[list(ignored)] = -100
    call = TorchCall(plain, {"z": (hidden, weight)})
    expected = F.cross_entropy(call.values()["z"], torch.tensor(target), reduction=reduction)
    cotangent = np.linspace(1, 2, N) if reduction == "none" else 1.5
    wanted = call.gradients((expected * torch.tensor(cotangent)).sum())
    value, gradients = lt.jit(plain, reduction=reduction).reference_grad(
        hidden, weight, target=target, grad_output=cotangent
    )
    np.testing.assert_allclose(value, expected.detach(), rtol=1e-13)
    for name in wanted:
        if len(ignored) == N:  # torch has 0 * inf there
            assert (gradients[name] == 0).all()
        else:
            assert relative(gradients[name], wanted[name]) < 1e-12


def test_all_ignored_may_be_zero():
    hidden, weight, target = operands(tokens=3)
    target[:] = -100
    assert math.isnan(lt.jit(plain).reference(hidden, weight, target=target))
    assert lt.jit(plain, all_ignored="zero").reference(hidden, weight, target=target) == 0
    assert lt.jit(plain, reduction="sum").reference(hidden, weight, target=target) == 0


@pytest.mark.contract("2 no tokens")
def test_no_tokens():
    hidden, weight, target = operands(tokens=0)
    assert lt.jit(plain, reduction="none").reference(hidden, weight, target=target).shape == (0,)
    value, gradients = lt.jit(plain).reference_grad(hidden, weight, target=target)
    assert math.isnan(value)
    assert gradients["hidden"].shape == (0, D) and (gradients["weight"] == 0).all()
    shaped = lt.jit(several).reference(hidden.reshape(2, 0, D), weight, target=target.reshape(2, 0))
    assert shaped.best.shape == (2, 0)


@pytest.mark.contract("2 divisor")
def test_divisor_replaces_the_denominator():
    hidden, weight, target = operands()
    total = lt.jit(plain, reduction="sum").reference(hidden, weight, target=target)
    for divisor in (5, torch.tensor(5), np.float32(5)):
        value, gradients = lt.jit(plain).reference_grad(hidden, weight, target=target, divisor=divisor)
        assert value == pytest.approx(total / 5, rel=1e-14)
    _, whole = lt.jit(plain, reduction="sum").reference_grad(hidden, weight, target=target)
    np.testing.assert_allclose(gradients["hidden"], whole["hidden"] / 5, rtol=1e-13)


@pytest.mark.contract("2 mean")
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_class_weights_are_those_of_torch(smoothing, reduction):
    hidden, weight, target = operands(3)
    target[2] = -100
    weights = np.random.default_rng(5).uniform(0.5, 2, V).astype(np.float32)
    call = TorchCall(lt.losses.cross_entropy, {"z": (hidden, weight)})
    expected = F.cross_entropy(
        call.values()["z"],
        torch.tensor(target),
        torch.tensor(weights).double(),
        reduction=reduction,
        label_smoothing=smoothing,
    )
    head = lt.jit(lt.losses.cross_entropy, reduction=reduction, label_smoothing=smoothing)
    cotangent = {"loss": np.ones(N) if reduction == "none" else 1.0}
    out, gradients = head.reference_grad(
        hidden, weight, target=target, class_weight=weights, grad_output=cotangent
    )
    np.testing.assert_allclose(out.loss, expected.detach(), rtol=1e-13)
    assert out.weight[2] == 0
    wanted = call.gradients(expected.sum())
    for name in wanted:
        assert relative(gradients[name], wanted[name]) < 1e-12


@pytest.mark.contract("2 reduction")
def test_other_outputs_are_not_reduced():
    hidden, weight, target = operands()
    out = lt.jit(several).reference(hidden, weight, target=target)
    assert out.loss.shape == () and out.lse.shape == (N,)


# ---- ignored tokens ------------------------------------------------------------------------------


@pytest.mark.contract("2 ignored tokens")
def test_ignored_tokens_count_nowhere_even_if_they_are_nan():
    hidden, weight, target = operands()
    kept = np.arange(N) != 4
    expected, wanted = lt.jit(plain).reference_grad(hidden[kept], weight, target=target[kept])
    hidden[4], target[4] = math.nan, -100
    value, gradients = lt.jit(plain).reference_grad(hidden, weight, target=target)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(gradients["weight"], wanted["weight"], rtol=1e-12)
    assert (gradients["hidden"][4] == 0).all()


@pytest.mark.contract("2 ignoring")
def test_ignoring_can_be_moved_or_switched_off():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int], prompt: lt.Token[int]):
        return lt.logsumexp(z) - z[target]

    hidden, weight, target = operands()
    prompt = np.where(np.arange(N) < 3, 7, 0)
    value = lt.jit(loss, reduction="none", ignore="prompt", ignore_index=7).reference(
        hidden, weight, target=target, prompt=prompt
    )
    assert (value[:3] == 0).all() and (value[3:] != 0).all()
    target[1] = -100
    with pytest.raises(lt.CallIndexError) as caught:
        lt.jit(plain, ignore_index=None).reference(hidden, weight, target=target)
    assert (
        str(caught.value)
        == f"'target'[1] is -100, outside the vocabulary of {V} entries: it must be 0 to {V - 1}"
    )


def test_unsigned_targets_never_equal_a_negative_ignore_index():
    hidden, weight, target = operands()
    value = lt.jit(plain).reference(hidden, weight, target=target.astype(np.uint8))
    assert value == lt.jit(plain).reference(hidden, weight, target=target)


@pytest.mark.contract("2 ignored entries")
def test_a_token_with_entries_is_ignored_if_all_of_them_are():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int, lt.K]):
        log_p = lt.log_softmax(z)
        return -sum(lt.where(lt.valid(k), log_p[k], 0.0) for k in target)

    hidden, weight, _ = operands(tokens=3)
    target = np.array([[1, 2], [-100, 3], [-100, -100]])
    value = lt.jit(loss, reduction="none").reference(hidden, weight, target=target)
    log_p = logits(hidden, weight).log_softmax(1)
    np.testing.assert_allclose(value, [-log_p[0, 1] - log_p[0, 2], -log_p[1, 3], 0], rtol=1e-13)
    mean = lt.jit(loss).reference(hidden, weight, target=target)
    assert mean == pytest.approx(value.sum() / 2, rel=1e-14)


@pytest.mark.contract("1 valid")
def test_an_unguarded_entry_that_is_ignored_gives_nan():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int, lt.K], m: lt.Vocab[bool]):
        return lt.Outputs(loss=z[target[0]] + z[target[1]], column=lt.column()[target[0]], flag=m[target[0]])

    hidden, weight, _ = operands(tokens=2)
    out, gradients = lt.jit(loss, reduction="none").reference_grad(
        hidden,
        weight,
        target=np.array([[-100, 1], [2, 1]]),
        m=np.ones(V, bool),
        grad_output={"loss": np.ones(2)},
    )
    assert np.isnan(out.loss[0]) and np.isfinite(out.loss[1])
    assert out.column.tolist() == [-1, 2] and out.flag.tolist() == [False, True]
    np.testing.assert_allclose(gradients["hidden"], [weight[1], weight[1] + weight[2]], rtol=1e-6)


# ---- indices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("position", "value"), [((1, 2), V), ((0, 3), -1), ((1, 0), 2**40)])
def test_index_out_of_range(position, value):
    hidden, weight, target = operands()
    target = target.reshape(2, 4)
    target[position] = value
    with pytest.raises(lt.CallIndexError) as caught:
        lt.jit(plain).reference(hidden.reshape(2, 4, D), weight, target=target)
    assert str(caught.value) == (
        f"'target'[{position[0]}, {position[1]}] is {value}, outside the vocabulary of {V} entries: "
        f"it must be 0 to {V - 1} or ignore_index -100"
    )


def test_index_of_the_only_token():
    hidden, weight, _ = operands()
    with pytest.raises(IndexError) as caught:
        lt.jit(plain).reference(hidden[0], weight, target=np.array(99))
    assert (
        str(caught.value)
        == "'target' is 99, outside the vocabulary of 13 entries: it must be 0 to 12 or ignore_index -100"
    )


def test_entry_out_of_range():
    @lt.loss
    def loss(z: lt.Logits, k: lt.Token[int, lt.K]):
        return lt.where(lt.valid(k[1]), z[k[1]], 0.0) + lt.to_float(k[0])

    hidden, weight, _ = operands(tokens=3)
    good = np.array([[400, 1], [400, -100], [400, 2]])  # k[0] is no index
    lt.jit(loss).reference(hidden, weight, k=good)
    good[2, 1] = V
    with pytest.raises(lt.CallIndexError) as caught:
        lt.jit(loss).reference(hidden, weight, k=good)
    assert (
        str(caught.value)
        == "'k'[2, 1] is 13, outside the vocabulary of 13 entries: it must be 0 to 12 or ignore_index -100"
    )


@pytest.mark.contract("1 conversion")
def test_integers_that_do_not_fit():
    @lt.loss
    def loss(z: lt.Logits, k: lt.Token[int, lt.K], g: lt.Vocab[int]):
        return lt.mean(z) * lt.to_float(k[0] + g[0])

    hidden, weight, _ = operands(tokens=2)
    k, g = np.zeros((2, 3), np.int64), np.zeros(V, np.int64)
    lt.jit(loss).reference(hidden, weight, k=k, g=g)
    for name, position, value in (("k", (1, 2), 2**31), ("g", (4,), -(2**31) - 1)):
        wrong = {"k": k.copy(), "g": g.copy()}
        wrong[name][position] = value
        with pytest.raises(lt.CallValueError) as caught:
            lt.jit(loss).reference(hidden, weight, **wrong)
        assert (
            str(caught.value)
            == f"'{name}'[{', '.join(map(str, position))}] is {value}, which does not fit in 32 bits"
        )


@pytest.mark.contract("2 computed index")
def test_computed_index_out_of_range(monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parent)

    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int]):
        return lt.where(target < 0, z[target + 1], 0.0)

    hidden, weight, target = operands()
    target[:] = 3
    target[5] = V - 1
    line = inspect.getsourcelines(loss.function)[1] + 2
    for call in (lt.jit(loss).reference, lt.jit(loss).reference_grad):
        with pytest.raises(lt.CallIndexError) as caught:
            call(hidden.reshape(2, 4, D), weight, target=target.reshape(2, 4))
        assert str(caught.value) == (
            f"{os.path.basename(__file__)}:{line}: the index that is computed for token [1, 1] is 13, "
            "outside the vocabulary of 13 entries: it must be 0 to 12"
        )
    target[5] = -100  # ignored tokens are exempt
    lt.jit(loss).reference(hidden, weight, target=target)


# ---- dtypes, layouts, memory ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_operands_of_every_dtype_and_framework(dtype):
    hidden, weight, target = operands()
    hidden, weight = (
        x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype) for x in (hidden, weight)
    )
    expected = F.cross_entropy(logits(hidden, weight), torch.tensor(target)).item()
    torch_dtype = getattr(torch, dtype)
    in_torch = [torch.tensor(x.astype(np.float32)).to(torch_dtype) for x in (hidden, weight)]
    assert lt.jit(plain).reference(hidden, weight, target=target) == pytest.approx(expected, rel=1e-13)
    assert lt.jit(plain).reference(*in_torch, target=torch.tensor(target)) == pytest.approx(
        expected, rel=1e-13
    )


@pytest.mark.contract("1 conversion")
def test_float_inputs_pass_through_single_precision():
    @lt.loss
    def loss(z: lt.Logits, s: lt.Scalar, a: lt.Token[float], b: lt.Vocab[float]):
        return lt.Outputs(s=s + 0 * lt.mean(z), a=a, b=b[0])

    hidden, weight, _ = operands(tokens=1)
    out = lt.jit(loss).reference(hidden, weight, s=0.1, a=np.array([0.1]), b=np.full(V, 0.1, np.float64))
    assert out.s[0] == out.a[0] == out.b[0] == np.float32(0.1)


def test_constants_are_single_precision():
    @lt.loss
    def loss(z: lt.Logits):
        return 0 * lt.mean(z) + 0.1

    hidden, weight, _ = operands(tokens=1)
    assert lt.jit(loss).reference(hidden, weight) == np.float32(0.1)


def test_weight_layout_and_strides():
    hidden, weight, target = operands()
    expected, wanted = lt.jit(plain).reference_grad(hidden, weight, target=target)
    value, gradients = lt.jit(plain, weight_layout="dv").reference_grad(
        hidden, weight.T.copy(), target=target
    )
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(gradients["weight"], wanted["weight"].T, rtol=1e-13)
    strided = np.repeat(hidden, 2, axis=1)[:, ::2]
    assert lt.jit(plain).reference(strided, weight[::-1][::-1], target=target[::-1][::-1]) == expected


def test_chunks_of_tokens_do_not_change_the_result(monkeypatch):
    case = lt.jit(lt.losses.forward_kl, reduction="mean")
    given = arguments(lt.losses.forward_kl, tokens=11)
    expected, wanted = case.reference_grad(**given, wrt=["student.hidden", "teacher.weight"])
    monkeypatch.setattr(reference, "CHUNK_BYTES", 8 * 23 * 10 * 3)
    value, gradients = case.reference_grad(**given, wrt=["student.hidden", "teacher.weight"])
    assert value == expected
    for name in wanted:
        np.testing.assert_allclose(gradients[name], wanted[name], rtol=1e-12, atol=1e-16)


# ---- which gradients -----------------------------------------------------------------------------


@pytest.mark.contract("4 value_and_grad")
def test_gradients_by_default():
    hidden, weight, target = operands()
    _, gradients = lt.jit(plain).reference_grad(hidden, weight, target=target)
    assert list(gradients) == ["hidden", "weight"]
    tensors = torch.tensor(hidden), torch.tensor(weight, requires_grad=True)
    _, gradients = lt.jit(plain).reference_grad(*tensors, target=torch.tensor(target))
    assert list(gradients) == ["weight"]
    given = arguments(lt.losses.forward_kl)
    _, gradients = lt.jit(lt.losses.forward_kl).reference_grad(**given)
    assert list(gradients) == ["student.hidden", "student.weight", "teacher.hidden", "teacher.weight"]
    _, gradients = lt.jit(lt.losses.forward_kl).reference_grad(**given, wrt="student.hidden")
    assert list(gradients) == ["student.hidden"]


def test_outputs_with_their_own_output_cotangents():
    hidden, weight, target = operands()
    call = TorchCall(several, {"z": (hidden, weight)})
    z = call.values()["z"]
    up = np.linspace(-1, 1, N)
    total = F.cross_entropy(z, torch.tensor(target)) * 3 + (z.logsumexp(1) * torch.tensor(up)).sum()
    wanted = call.gradients(total)
    _, gradients = lt.jit(several).reference_grad(
        hidden, weight, target=target, grad_output={"loss": 3, "lse": up}
    )
    for name in wanted:
        assert relative(gradients[name], wanted[name]) < 1e-12
    _, gradients = lt.jit(several).reference_grad(
        hidden, weight, target=target, grad_output={"lse": torch.tensor(up), "loss": None}
    )
    wanted = call.gradients((call.values()["z"].logsumexp(1) * torch.tensor(up)).sum())
    assert relative(gradients["weight"], wanted["weight"]) < 1e-12


@pytest.mark.contract("3 no path")
def test_no_path_gives_zeros_unless_there_is_none_at_all():
    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float], s: lt.Scalar):
        return lt.logsumexp(z) + lt.stop_gradient(a * lt.mean(z)) + lt.where(s > 0, 1.0, 2.0)

    hidden, weight, _ = operands()
    head = lt.jit(loss)
    given = {"a": np.ones(N, np.float32), "s": 1.0}
    _, gradients = head.reference_grad(hidden, weight, **given, wrt=["a", "hidden"])
    assert (gradients["a"] == 0).all() and (gradients["hidden"] != 0).any()
    with pytest.raises(lt.CallValueError) as caught:
        head.reference_grad(hidden, weight, **given, wrt=["a", "s"])
    assert str(caught.value) == (
        "no gradient flows from 'loss' to 'a' and 's': indices, comparisons and stop_gradient carry none"
    )


@pytest.mark.contract("3 every input")
@pytest.mark.parametrize(("loss", "keywords", "error", "message"), [
    (plain, {"wrt": ["hiden"]}, lt.CallTypeError, "wrt names 'hiden', which is no input of this call; did "
     "you mean 'hidden'?"),
    (plain, {"wrt": []}, lt.CallValueError, "wrt names no gradient; this call has 'hidden', 'weight' and "
     "'target'"),
    (plain, {"wrt": ["target"]}, lt.CallValueError, "'target' holds integers, which have no gradient"),
    (plain, {"grad_output": {"loss": 1.0}}, lt.CallTypeError, "'plain' returns one value: grad_output is an "
     "array or a number, not a dictionary"),
    (plain, {"grad_output": np.ones(3)}, lt.CallValueError, "grad_output of 'loss' has shape [3]; the "
     "output has []"),
    (several, {"grad_output": 1.0}, lt.CallTypeError, "'several' returns 'loss', 'lse', 'best', 'right' and "
     "'rank': grad_output is a dictionary by output"),
    (several, {"grad_output": {"los": 1.0}}, lt.CallTypeError, "grad_output names 'los', which is no output "
     "of 'several'; did you mean 'loss'?"),
    (several, {"grad_output": {"best": 1.0}}, lt.CallValueError, "output 'best' of 'several' takes no "
     "gradient; 'loss' and 'lse' do"),
    (several, {"grad_output": {"lse": np.ones(N + 1)}}, lt.CallValueError, "grad_output of 'lse' has shape "
     "[9]; the output has [8]"),
    (lt.losses.logprob_entropy, {}, lt.CallTypeError, "'logprob_entropy' has no loss that carries a "
     "gradient, so grad_output must say what reaches 'logprob' and 'entropy'"),
])  # fmt: skip
def test_refused_gradients(loss, keywords, error, message):
    hidden, weight, target = operands()
    with pytest.raises(error) as caught:
        lt.jit(loss).reference_grad(hidden, weight, target=target, **keywords)
    assert str(caught.value) == message


@pytest.mark.contract("2 weight")
def test_a_weight_with_a_gradient_is_refused_in_a_mean():
    hidden, weight, target = operands()
    weights = np.ones(V, np.float32)
    head = lt.jit(lt.losses.cross_entropy)
    with pytest.raises(lt.CallValueError) as caught:
        head.reference_grad(
            hidden, weight, target=target, class_weight=weights, wrt=["hidden", "class_weight"]
        )
    assert str(caught.value) == (
        "the output 'weight' of 'cross_entropy' depends on 'class_weight', but the denominator of a mean "
        "takes no gradient; wrap it in lt.stop_gradient, give a divisor, or leave 'class_weight' out of wrt"
    )
    _, gradients = head.reference_grad(
        hidden, weight, target=target, class_weight=weights, wrt=["class_weight"], divisor=4
    )
    assert (gradients["class_weight"] != 0).any()


@pytest.mark.contract("2 weight")
def test_a_stopped_weight_is_not_refused():
    @lt.loss
    def loss(z: lt.Logits):
        return lt.Outputs(loss=lt.logsumexp(z), weight=lt.stop_gradient(lt.max(lt.softmax(z))))

    hidden, weight, _ = operands()
    out, gradients = lt.jit(loss).reference_grad(hidden, weight)
    call = TorchCall(loss, {"z": (hidden, weight)})
    z = call.values()["z"]
    expected = z.logsumexp(1).sum() / z.softmax(1).max(1).values.detach().sum()
    assert relative(out.loss, expected.item()) < 1e-13
    assert relative(gradients["weight"], call.gradients(expected)["weight"]) < 1e-12
