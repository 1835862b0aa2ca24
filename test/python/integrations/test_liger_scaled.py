"""Liger's scaled cross-entropy of each token, and its cross-entropy with a distance from a teacher,
against their formulas on dense logits in float64.
"""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations.liger import ops
from logitile.integrations.liger import transformers as mine

TOKENS, HIDDEN, VOCAB = 14, 16, 61
scaled = ops.LigerFusedLinearScaledCrossEntropyFunction.apply
IDS = torch.tensor([3, 60, 3, 0])


def arguments(dtype=torch.float32, ignored=0.3):
    torch.manual_seed(0)
    drawn = torch.randint(VOCAB, (TOKENS,))
    return {
        "_input": torch.randn(TOKENS, HIDDEN).to(dtype).requires_grad_(),
        "weight": (0.5 * torch.randn(VOCAB, HIDDEN)).to(dtype).requires_grad_(),
        "target": torch.where(torch.rand(TOKENS) < ignored, -100, drawn),
    }


def dense(
    _input, weight, target, temperature=1.0, ignore_index=-100, return_entropy=False, selected_token_ids=None
):
    log_p = (_input @ weight.T / temperature).log_softmax(-1)
    counts = target != ignore_index
    values = [F.nll_loss(log_p, target, reduction="none", ignore_index=ignore_index)]
    if return_entropy:
        values.append(torch.where(counts, -(log_p.exp() * log_p).sum(-1), 0.0))
    if selected_token_ids is not None:
        values.append(torch.where(counts[:, None], log_p[:, selected_token_ids], 0.0))
    return tuple(values) if len(values) > 1 else values[0]


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("return_entropy", [False, True])
@pytest.mark.parametrize("ids", [None, IDS, IDS[:0]])
def test_outputs(temperature, return_entropy, ids):
    options = {"temperature": temperature, "return_entropy": return_entropy, "selected_token_ids": ids}
    check(scaled, dense, arguments(), **options)


def test_another_number_is_ignored():
    given = arguments()
    given["target"] = given["target"].clamp(min=0) % 5
    check(scaled, dense, given, ignore_index=3, return_entropy=True, selected_token_ids=IDS)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types_of_results(dtype):
    given = arguments(dtype)
    results = scaled(**given, return_entropy=True, selected_token_ids=IDS)
    assert [result.dtype for result in results] == [torch.float32, dtype, torch.float32]
    exact = {n: t.detach().double() if t.is_floating_point() else t for n, t in given.items()}
    wanted = dense(**exact, return_entropy=True, selected_token_ids=IDS)
    for result, other, tolerance in zip(results, wanted, (1e-5, 2**-7, 1e-5), strict=True):
        assert close(result, other, tolerance)


def test_autocast():
    """All results are of operands that are rounded alike."""
    given = arguments()
    with torch.autocast("cpu", torch.bfloat16):
        results = scaled(**given, return_entropy=True, selected_token_ids=IDS)
    rounded = {n: t.detach().bfloat16().double() if n != "target" else t for n, t in given.items()}
    wanted = dense(**rounded, return_entropy=True, selected_token_ids=IDS)
    for result, other in zip(results, wanted, strict=True):
        assert result.dtype == torch.float32 and close(result, other, 1e-5)


@pytest.mark.contract("8 corners")
def test_ignored_tokens_may_hold_anything():
    given = arguments()
    with torch.no_grad():
        given["_input"][given["target"] == -100] = torch.nan
    results = scaled(**given, return_entropy=True, selected_token_ids=IDS)
    assert all(result.isfinite().all() and not result[given["target"] == -100].any() for result in results)
    sum(result.sum() for result in results).backward()
    assert given["_input"].grad.isfinite().all() and given["weight"].grad.isfinite().all()


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("tokens", [0, 5])
def test_no_token_counts(tokens):
    given = {n: t if n == "weight" else t[:tokens] for n, t in arguments(ignored=2).items()}
    results = scaled(**given, return_entropy=True, selected_token_ids=IDS)
    assert [tuple(result.shape) for result in results] == [(tokens,), (tokens,), (tokens, 4)]
    assert not any(result.any() for result in results)
    found = torch.autograd.grad(sum(r.sum() for r in results), [given["_input"], given["weight"]])
    assert not any(gradient.any() for gradient in found)


def test_annealing_compiles_once():
    for step in (1, 2, 3):
        scaled(**arguments(), temperature=1.0 + step)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


def test_a_graph_without_a_break():
    compiled = torch.compile(scaled, fullgraph=True, backend="aot_eager")
    check(compiled, dense, arguments(), temperature=0.7, return_entropy=True, selected_token_ids=IDS)


@pytest.mark.contract("8 same names")
def test_names_and_order():
    names = ["_input", "weight", "target", "temperature", "ignore_index"]
    more = ["m_tiles_per_cluster", "return_entropy", "selected_token_ids"]
    assert list(inspect.signature(scaled).parameters) == names + more
    names[3:3], more = ["tp_group"], ["tiles_per_reduce", "return_entropy"]
    apply = ops.LigerFusedLinearScaledCrossEntropyTPFunction.apply
    assert list(inspect.signature(apply).parameters) == names + more
    function = mine.liger_fused_linear_scaled_cross_entropy_tp
    assert list(inspect.signature(function).parameters) == ["input", *names[1:], *more]


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"temperature": 0.0}, "temperature=0.0 must be a finite number above 0"),
    ({"temperature": -1.0}, "temperature=-1.0 must be a finite number above 0"),
    ({"temperature": True}, "temperature=True must be a finite number above 0"),
    ({"m_tiles_per_cluster": 0}, "m_tiles_per_cluster=0 must be a positive int"),
    ({"return_entropy": 1}, "return_entropy=1 must be True or False"),
    ({"selected_token_ids": [1]}, "selected_token_ids is [1]; it must be a tensor of int64 [K]"),
    ({"selected_token_ids": torch.zeros(2, 3)},
     "selected_token_ids is torch.float32 [2, 3]; it must be a tensor of int64 [K]"),
    ({"selected_token_ids": torch.tensor([5, 61])},
     "selected_token_ids has indices from 5 to 61; those of the vocabulary are 0 to 60"),
])  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        scaled(**arguments(), **options)
    assert str(caught.value) == message


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"tiles_per_reduce": 3}, "tiles_per_reduce=3 is none of 1, 2 and 4"),
    ({"tiles_per_reduce": 1.0}, "tiles_per_reduce=1.0 must be a positive int"),
    ({"temperature": float("inf")}, "temperature=inf must be a finite number above 0"),
    ({}, "torch.distributed has no processes yet; call torch.distributed.init_process_group first"),
])  # fmt: skip
def test_options_on_several_processes_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        mine.liger_fused_linear_scaled_cross_entropy_tp(*arguments().values(), None, **options)
    assert str(caught.value) == message


# ---- cross-entropy and total variation -----------------------------------------------------------


def two_heads():
    torch.manual_seed(2)
    given = arguments()
    return {
        "hidden": given["_input"],
        "weight": given["weight"],
        "teacher_hidden": torch.randn(TOKENS, HIDDEN + 4),
        "teacher_weight": torch.randn(VOCAB, HIDDEN + 4),
        "target": given["target"],
    }


def of_logits(hidden, weight, teacher_hidden, teacher_weight, target):
    return mine.LigerFusedCETVDLoss()(hidden @ weight.T, teacher_hidden @ teacher_weight.T, target)


def of_projections(hidden, weight, teacher_hidden, teacher_weight, target):
    return mine.LigerFusedCETVDLoss()((hidden, weight), (teacher_hidden, teacher_weight), target)


def dense_terms(hidden, weight, teacher_hidden, teacher_weight, target):
    z, t = hidden @ weight.T, teacher_hidden @ teacher_weight.T
    distance = 0.5 * (z.softmax(-1) - t.softmax(-1)).abs().sum(-1)
    return F.cross_entropy(z, target, reduction="none"), torch.where(target != -100, distance, 0.0)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("mine", [of_logits, of_projections])
def test_both_terms(mine):
    check(mine, dense_terms, two_heads())


def test_the_teacher_of_both_terms_gets_no_gradient():
    teacher = torch.randn(TOKENS, VOCAB, requires_grad=True)
    logits = torch.randn(TOKENS, VOCAB, dtype=torch.bfloat16, requires_grad=True)
    entropy, distance = ops.LigerFusedCETVDFunction.apply(logits, teacher, arguments()["target"])
    assert entropy.dtype == distance.dtype == torch.float32
    (entropy + distance).sum().backward()
    assert teacher.grad is None and logits.grad.dtype == torch.bfloat16 and logits.grad.any()


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("given", "message"), [
    ((torch.zeros(3, 5), torch.zeros(3, 6), torch.zeros(3).long()),
     "teacher_logits has shape (3, 6); it must be (3, 5)"),
    ((torch.zeros(1, 3, 5), torch.zeros(1, 3, 5), torch.zeros(3).long()),
     "student_logits has 3 axes; give two, one for tokens and one for the vocabulary or the hidden size"),
    ((torch.zeros(3, 5), torch.zeros(3, 5), torch.zeros(4).long()), "target has shape (4,); it must be (3,)"),
    ((torch.zeros(3, 5), (torch.zeros(3, 5),), torch.zeros(3).long()),
     "teacher_logits is a tuple of 1; give logits [N, V], or (hidden, weight)"),
])  # fmt: skip
def test_both_terms_refuse(given, message):
    with pytest.raises(lt.CallError) as caught:
        mine.LigerFusedCETVDLoss()(*given)
    assert str(caught.value) == message
