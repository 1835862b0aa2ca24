"""logitile.integrations.liger.transformers against its formulas on dense logits, in float64."""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations.liger import transformers as mine
from logitile.integrations.liger.transformers import fused_linear_cross_entropy
from torch._dynamo.testing import CompileCounterWithBackend

TOKENS, HIDDEN, VOCAB = 14, 16, 61
fused = mine.LigerFusedLinearCrossEntropyFunction.apply


def arguments(dtype=torch.float32, ignored=0.3):
    torch.manual_seed(0)
    drawn = torch.randint(VOCAB, (TOKENS,))
    return {
        "_input": torch.randn(TOKENS, HIDDEN).to(dtype).requires_grad_(),
        "weight": (0.5 * torch.randn(VOCAB, HIDDEN)).to(dtype).requires_grad_(),
        "target": torch.where(torch.rand(TOKENS) < ignored, -100, drawn),
        "bias": torch.randn(VOCAB).to(dtype).requires_grad_(),
    }


def class_weight():
    torch.manual_seed(1)
    return torch.rand(VOCAB) + 0.1


def dense(
    _input, weight, target, bias=None, ce_weight=None, ignore_index=-100, lse_square_scale=0.0,
    label_smoothing=0.0, reduction="mean", softcap=None, return_z_loss=False, use_token_scaling=False,
    return_token_accuracy=False, return_predicted_tokens=False,
):  # fmt: skip
    """Each term alone: cross-entropy over class weights, z-loss over the number of tokens."""
    z = _input @ weight.T
    z = z if bias is None else z + bias
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    w = None if ce_weight is None else ce_weight.double()
    options = {"weight": w, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    counts = target != ignore_index
    loss = F.cross_entropy(z, target, reduction="none", **options)
    z_loss = lse_square_scale * torch.where(counts, z.logsumexp(-1) ** 2, 0.0)
    if use_token_scaling:
        p = z.detach().softmax(-1).gather(1, target.clamp(min=0)[:, None])[:, 0]
        loss, z_loss = p * loss, p * z_loss
    index = torch.where(counts, z.argmax(-1), -1)
    accuracy = (index == target).double()
    if reduction == "none":
        loss = loss + z_loss
    else:
        mean = reduction == "mean"
        total = w[target[counts]].sum() if w is not None else counts.sum()
        z_loss = z_loss.sum() / (counts.sum() if mean else 1)
        loss = loss.sum() / (total if mean else 1) + z_loss
        accuracy = accuracy.sum() / counts.sum()
    asked = (
        (return_z_loss, z_loss.detach()),
        (return_token_accuracy, accuracy),
        (return_predicted_tokens, index),
    )
    return loss, *(value if flag else None for flag, value in asked)


ALL = {"return_z_loss": True, "return_token_accuracy": True, "return_predicted_tokens": True}


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("flags", [{}, ALL, {"return_token_accuracy": True}])
def test_every_term_and_output(reduction, weighted, flags):
    options = {"lse_square_scale": 0.01, "label_smoothing": 0.1, "reduction": reduction, "softcap": 9.0}
    check(fused, dense, arguments(), ce_weight=class_weight() if weighted else None, **options, **flags)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tokens_scaled_by_their_probability(reduction, weighted):
    options = {"lse_square_scale": 0.01, "reduction": reduction, "use_token_scaling": True}
    check(fused, dense, arguments(), ce_weight=class_weight() if weighted else None, **options, **ALL)
    options = {"reduction": reduction, "use_token_scaling": True, "label_smoothing": 0.2, "softcap": 5.0}
    check(fused, dense, arguments(), **options)


@pytest.mark.parametrize("given", ["_input", "weight", "bias"])
def test_frozen_inputs(given):
    tensors = arguments()
    tensors[given] = tensors[given].detach()
    check(fused, dense, tensors)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types_of_results(dtype):
    tensors = arguments(dtype)
    loss, z_loss, accuracy, index = fused(**tensors, lse_square_scale=0.1, **ALL)
    assert (loss.dtype, z_loss.dtype) == (torch.float32, dtype)
    assert (accuracy.dtype, index.dtype) == (torch.float32, torch.int64)
    exact = {
        name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()
    }
    wanted = dense(**exact, lse_square_scale=0.1, **ALL)
    assert close(loss, wanted[0], 1e-5) and close(z_loss, wanted[1], 2**-7)


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_all_ignored(reduction):
    tensors = arguments(ignored=2)
    options = {"lse_square_scale": 0.1, "reduction": reduction, "ce_weight": class_weight()}
    loss, z_loss, accuracy, index = fused(**tensors, **options, **ALL)
    loss.sum().backward()
    assert not loss.any() and not z_loss.any() and (index == -1).all()
    assert reduction == "none" or accuracy.isnan()
    assert not tensors["weight"].grad.any() and not tensors["bias"].grad.any()


def test_class_weights_get_no_gradient():
    weights = class_weight().requires_grad_()
    fused(**arguments(), ce_weight=weights)[0].backward()
    assert weights.grad is None


def test_annealing_compiles_once():
    for step in (1, 2, 3):
        fused(**arguments(), lse_square_scale=1e-3 * step, label_smoothing=0.1 * step)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


def test_the_function_and_the_module():
    tensors = arguments()
    options = {"lse_square_scale": 0.01, "label_smoothing": 0.1, "softcap": 9.0}
    given = {**tensors, "input": tensors["_input"]}
    del given["_input"]
    plain = mine.liger_fused_linear_cross_entropy(**given, **options)
    assert torch.is_tensor(plain)
    more = mine.liger_fused_linear_cross_entropy(**given, **options, return_predicted_tokens=True)
    assert torch.equal(more.loss, plain) and more.z_loss is None and more.predicted_tokens.shape == (TOKENS,)
    module = mine.LigerFusedLinearCrossEntropyLoss(**options)
    result = module(tensors["weight"], tensors["_input"], tensors["target"], tensors["bias"])
    assert torch.equal(result, plain)
    module = mine.LigerFusedLinearCrossEntropyLoss(**options, **ALL)
    result = module(tensors["weight"], tensors["_input"], tensors["target"], tensors["bias"])
    assert isinstance(result, mine.CrossEntropyOutput) and torch.equal(result.loss, plain)


@pytest.mark.contract("8 same names")
def test_names_and_order():
    names = [
        "_input", "weight", "target", "bias", "ce_weight", "ignore_index", "lse_square_scale",
        "label_smoothing", "reduction", "softcap", "return_z_loss", "accum_dtype", "use_token_scaling",
        "return_token_accuracy", "return_predicted_tokens", "ce_impl", "ce_mode", "chunk_mem_const",
    ]  # fmt: skip
    assert list(inspect.signature(fused).parameters) == names
    function = list(inspect.signature(mine.liger_fused_linear_cross_entropy).parameters)
    assert function == ["input", *names[1:15], "chunk_mem_const"]
    assert list(inspect.signature(mine.LigerFusedLinearCrossEntropyLoss).parameters) == names[4:15]
    jsd = [
        "student_input", "student_weight", "teacher_input", "teacher_weight", "shift_labels", "jsd_beta",
        "ignore_index", "temperature", "accum_dtype",
    ]  # fmt: skip
    assert list(inspect.signature(mine.liger_fused_linear_jsd).parameters) == jsd
    assert list(inspect.signature(mine.LigerFusedLinearJSD).parameters) == jsd[5:]


def test_memory_of_chunks(monkeypatch):
    seen = []
    monkeypatch.setattr(
        fused_linear_cross_entropy, "head", lambda text, **bound: seen.append(bound) or lt.jit(text, **bound)
    )
    for constant in (1, 2, 100):
        fused(**arguments(), chunk_mem_const=constant)
    assert [bound.get("chunks") for bound in seen] == [None, 2, 1]


@pytest.mark.parametrize("flags", [{}, ALL])
def test_a_graph_without_a_break(flags):
    compiled = torch.compile(fused, fullgraph=True, backend="aot_eager")
    options = {"lse_square_scale": 0.01, "label_smoothing": 0.1, "ce_weight": class_weight()}
    check(compiled, dense, arguments(), **options, **flags)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"accum_dtype": torch.float64},
     "accum_dtype=torch.float64: sums are float32; give None or a type of at most 32 bits"),
    ({"ce_impl": "triton"}, "ce_impl='triton' names a kernel of Liger; leave it out"),
    ({"ce_mode": "fast"}, "ce_mode='fast' names a kernel of Liger; leave it out"),
    ({"label_smoothing": 1.5}, "label_smoothing=1.5 must be a number from 0 to 1"),
    ({"reduction": "max"}, "reduction='max' is none of 'mean', 'sum' and 'none'"),
    ({"softcap": 0.0}, "softcap=0.0 must be a finite number above 0"),
    ({"chunk_mem_const": 0}, "chunk_mem_const=0 must be a positive int"),
])  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        fused(**arguments(), **options)
    assert str(caught.value) == message


# ---- Jensen-Shannon divergence -------------------------------------------------------------------


def heads():
    torch.manual_seed(2)
    return {
        "student_input": torch.randn(TOKENS, HIDDEN, requires_grad=True),
        "student_weight": torch.randn(VOCAB, HIDDEN, requires_grad=True),
        "teacher_input": torch.randn(TOKENS, HIDDEN + 4),
        "teacher_weight": torch.randn(VOCAB, HIDDEN + 4),
    }


def divergence(beta, q, p):
    """Of log-probabilities: q of the teacher, p of the student."""
    if beta == 0:
        return (q.exp() * (q - p)).sum(-1)
    if beta == 1:
        return (p.exp() * (p - q)).sum(-1)
    m = (beta * q.exp() + (1 - beta) * p.exp()).log()
    return (beta * q.exp() * (q - m) + (1 - beta) * p.exp() * (p - m)).sum(-1)


def dense_jsd(beta, temperature, labels):
    def run(student_input, student_weight, teacher_input, teacher_weight):
        p = (student_input @ student_weight.T / temperature).log_softmax(-1)
        q = (teacher_input @ teacher_weight.T / temperature).log_softmax(-1)
        value = divergence(beta, q, p)
        return value.mean() if labels is None else value[labels != -100].mean()

    return run


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("labelled", [False, True])
def test_divergence(beta, temperature, labelled):
    labels = arguments()["target"] if labelled else None
    module = mine.LigerFusedLinearJSD(jsd_beta=beta, temperature=temperature)
    check(
        lambda **given: module(*given.values(), shift_labels=labels),
        dense_jsd(beta, temperature, labels),
        heads(),
    )


def test_the_teacher_gets_no_gradient():
    given = {name: tensor.detach().requires_grad_() for name, tensor in heads().items()}
    mine.LigerFusedLinearJSDFunction.apply(*given.values()).backward()
    assert given["teacher_weight"].grad is None and given["teacher_input"].grad is None
    assert given["student_weight"].grad.any()


def test_divergence_where_no_token_counts():
    given = heads()
    value = mine.liger_fused_linear_jsd(**given, shift_labels=torch.full((TOKENS,), -100))
    value.backward()
    assert value == 0 and not given["student_weight"].grad.any()


@pytest.mark.parametrize(("options", "message"), [
    ({"jsd_beta": -0.5}, "jsd_beta=-0.5 must be a number from 0 to 1"),
    ({"temperature": 0.0}, "temperature=0 is no temperature; give a number other than 0"),
    ({"accum_dtype": torch.float64},
     "accum_dtype=torch.float64: sums are float32; give None or a type of at most 32 bits"),
])  # fmt: skip
def test_options_of_the_divergence_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        mine.liger_fused_linear_jsd(**heads(), **options)
    assert str(caught.value) == message


def test_an_annealed_share_of_the_teacher_makes_two_graphs():
    """One for the first number, one for all numbers."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(mine.liger_fused_linear_jsd, fullgraph=True, backend=counter)
    for beta in (0.1, 0.2, 0.3, 0.4):
        expected = mine.liger_fused_linear_jsd(**heads(), jsd_beta=beta)
        assert torch.equal(compiled(**heads(), jsd_beta=beta), expected)
    assert counter.frame_count == 2


@pytest.mark.parametrize("name", ["jsd_impl", "jsd_mode"])
def test_the_function_of_the_divergence_has_two_names_of_kernels_more(name):
    """As in Liger 0.8.5, whose function takes eleven arguments."""
    given = heads()
    arguments = (*given.values(), None, 0.25, -100, 2.0, None)
    expected = mine.liger_fused_linear_jsd(*arguments)
    assert torch.equal(mine.LigerFusedLinearJSDFunction.apply(*arguments, None, None), expected)
    with pytest.raises(lt.CallError) as caught:
        mine.LigerFusedLinearJSDFunction.apply(*arguments, **{name: "triton"})
    assert str(caught.value) == f"{name}='triton' names a kernel of Liger; leave it out"
