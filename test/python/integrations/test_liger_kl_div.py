"""Liger's fused divergence from stored probabilities,
against its formula on dense logits in float64.
"""

import inspect

import logitile as lt
import pytest
import torch
from dense import check, close
from logitile.integrations.liger import ops
from logitile.integrations.liger import transformers as mine
from logitile.integrations.liger.transformers import functional

TOKENS, HIDDEN, VOCAB = 14, 16, 61
fused = mine.liger_fused_linear_kl_div


def arguments(dtype=torch.float32):
    torch.manual_seed(0)
    target = (2 * torch.randn(TOKENS, VOCAB)).softmax(-1)
    target[:, ::5] = 0.0  # rows no longer add up to 1
    return {
        "student_input": torch.randn(TOKENS, HIDDEN).to(dtype).requires_grad_(),
        "student_weight": (0.5 * torch.randn(VOCAB, HIDDEN)).to(dtype).requires_grad_(),
        "target": target.to(dtype),
    }


def labels(ignored=0.3):
    torch.manual_seed(1)
    return torch.where(torch.rand(TOKENS) < ignored, -100, torch.randint(VOCAB, (TOKENS,)))


def dense(
    student_input, student_weight, target, shift_labels=None, reduction="batchmean", ignore_index=-100,
    temperature=1.0, eps=1e-10,
):  # fmt: skip
    log_p = (student_input @ student_weight.T / temperature).log_softmax(-1)
    value = (target * (target.clamp(min=eps).log() - log_p)).sum(-1)
    kept = value if shift_labels is None else value[shift_labels != ignore_index]
    total = kept.sum()
    if reduction == "sum":
        return total
    return total / max(len(kept), 1) / (VOCAB if reduction == "mean" else 1)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("reduction", ["batchmean", "mean", "sum"])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 2.5, -1.5])
def test_reductions(reduction, labelled, temperature):
    options = {"reduction": reduction, "temperature": temperature}
    check(fused, dense, arguments(), shift_labels=labels() if labelled else None, **options)


@pytest.mark.filterwarnings("ignore:reduction")
def test_it_is_the_loss_of_torch():
    given = arguments()
    given["target"] = given["target"] + 1e-3
    z = given["student_input"] @ given["student_weight"].T
    for reduction in ("batchmean", "mean", "sum"):
        wanted = torch.nn.KLDivLoss(reduction=reduction)(z.log_softmax(-1), given["target"])
        torch.testing.assert_close(fused(**given, reduction=reduction), wanted)


@pytest.mark.parametrize("eps", [0.2, 1e-3])
def test_the_least_probability(eps):
    check(fused, dense, arguments(), eps=eps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits(dtype):
    given = arguments(dtype)
    loss = fused(**given, shift_labels=labels())
    exact = {name: tensor.detach().double().requires_grad_() for name, tensor in given.items()}
    wanted = dense(**exact, shift_labels=labels())
    assert loss.dtype == torch.float32 and close(loss, wanted, 1e-5)
    loss.backward()
    wanted.backward()
    for name in ("student_input", "student_weight"):
        assert given[name].grad.dtype == dtype and close(given[name].grad, exact[name].grad, 2**-6)


def test_a_target_of_64_bits():
    given = arguments()
    wanted = fused(**given)
    assert torch.equal(fused(**given | {"target": given["target"].double()}), wanted)


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("reduction", ["batchmean", "mean", "sum"])
def test_no_token_counts(reduction):
    given = arguments()
    empty = {name: tensor[:0] if name != "student_weight" else tensor for name, tensor in given.items()}
    for loss in (
        fused(**given, shift_labels=torch.full((TOKENS,), 7), ignore_index=7, reduction=reduction),
        fused(**empty, reduction=reduction),
        fused(**empty, shift_labels=torch.empty(0, dtype=torch.int64), reduction=reduction),
    ):
        found = torch.autograd.grad(
            loss, [given["student_input"], given["student_weight"]], retain_graph=True
        )
        assert loss == 0 and not any(gradient.any() for gradient in found)


@pytest.mark.contract("8 corners")
def test_gradients_taken_again():
    given = arguments()
    loss = fused(**given)
    leaves = [given["student_input"], given["student_weight"]]
    first = torch.autograd.grad(loss, leaves, torch.tensor(2.0), retain_graph=True)
    again = torch.autograd.grad(loss, leaves)
    assert all(close(a, 2 * b, 1e-6) for a, b in zip(first, again, strict=True))


def test_the_target_gets_no_gradient():
    given = arguments()
    given["target"].requires_grad_()
    fused(**given).backward()
    assert given["target"].grad is None and given["student_weight"].grad.any()


def test_the_module_and_the_class():
    given = arguments()
    options = {"reduction": "sum", "ignore_index": 3, "temperature": 2.0, "eps": 1e-4}
    wanted = fused(**given, shift_labels=labels(), **options)
    module = mine.LigerFusedLinearKLDivLoss(**options)
    assert torch.equal(module(*given.values(), labels()), wanted)
    assert repr(module) == (
        "LigerFusedLinearKLDivLoss(reduction=sum, ignore_index=3, temperature=2.0, eps=0.0001, "
        "accum_dtype=None)"
    )
    called = mine.LigerFusedLinearKLDivFunction.apply(*given.values(), labels(), *options.values(), None)
    assert torch.equal(called, wanted)


@pytest.mark.contract("8 same names")
def test_names_and_order():
    names = [
        "student_input", "student_weight", "target", "shift_labels", "reduction", "ignore_index",
        "temperature", "eps", "accum_dtype",
    ]  # fmt: skip
    assert list(inspect.signature(fused).parameters) == names
    assert list(inspect.signature(mine.LigerFusedLinearKLDivLoss).parameters) == names[4:]
    assert list(inspect.signature(mine.LigerFusedLinearKLDivLoss.forward).parameters)[1:] == names[:4]
    assert list(inspect.signature(ops.LigerFusedLinearKLDivFunction.apply).parameters) == names
    assert functional.liger_fused_linear_kl_div is fused


def test_annealing_compiles_once():
    for step in (1, 2, 3):
        fused(**arguments(), temperature=1.0 + step, eps=1e-3 * step)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


def test_a_graph_without_a_break():
    compiled = torch.compile(fused, fullgraph=True, backend="aot_eager")
    check(compiled, dense, arguments(), shift_labels=labels(), temperature=2.0)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"reduction": "none"}, "reduction='none' is none of 'batchmean', 'mean' and 'sum'"),
    ({"temperature": 0.0}, "temperature=0 is no temperature; give a number other than 0"),
    ({"eps": -1.0}, "eps=-1.0 must be a finite number of 0 or more"),
    ({"accum_dtype": torch.float64},
     "accum_dtype=torch.float64: sums are float32; give None or a type of at most 32 bits"),
    ({"shift_labels": torch.zeros(3, dtype=torch.int64)}, "shift_labels has shape (3,); it must be (14,)"),
    ({"target": torch.zeros(14, 60)}, "target has shape (14, 60); it must be (14, 61)"),
])  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        fused(**arguments() | options)
    assert str(caught.value) == message
