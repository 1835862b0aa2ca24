"""logitile.integrations.cut_cross_entropy against its formula on dense logits, in float64."""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations import cut_cross_entropy as mine

BATCH, LENGTH, HIDDEN, VOCAB = 3, 13, 16, 70


def arguments(dtype=torch.float32, biased=False, ignored=0.3):
    torch.manual_seed(0)
    drawn = torch.randint(VOCAB, (BATCH, LENGTH))
    given = {
        "e": torch.randn(BATCH, LENGTH, HIDDEN).to(dtype).requires_grad_(),
        "c": torch.randn(VOCAB, HIDDEN).to(dtype).requires_grad_(),
        "targets": torch.where(torch.rand(BATCH, LENGTH) < ignored, -100, drawn),
    }
    return given | {"bias": torch.randn(VOCAB).to(dtype).requires_grad_()} if biased else given


def dense(
    e, c, targets, bias=None, ignore_index=-100, softcap=None, reduction="mean", shift=0, return_lse=False
):
    shift = int(shift)
    if shift:
        e, targets = e[..., :-shift, :], targets[..., shift:]
    z = e @ c.T
    z = z if bias is None else z + bias
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    flat = targets.flatten()
    loss = F.cross_entropy(z.flatten(0, -2), flat, ignore_index=ignore_index, reduction=reduction)
    loss = loss.reshape(targets.shape) if reduction == "none" else loss
    lse = torch.where(targets == ignore_index, 0.0, z.logsumexp(-1))
    return (loss, lse) if return_lse else loss


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("shift", [0, True, 4])
def test_reductions_and_shifts(reduction, return_lse, shift):
    options = {"reduction": reduction, "return_lse": return_lse, "shift": shift}
    check(mine.linear_cross_entropy, dense, arguments(), **options)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("softcap", [None, 5.0])
def test_bias_and_softcap(biased, softcap):
    options = {"softcap": softcap, "return_lse": True, "shift": 1}
    check(mine.linear_cross_entropy, dense, arguments(biased=biased), **options)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_loss_and_lse_are_float32(dtype):
    given = arguments(dtype, biased=True)
    loss, lse = mine.linear_cross_entropy(**given, return_lse=True)
    assert loss.dtype == lse.dtype == torch.float32
    exact = {
        name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in given.items()
    }
    for ours, theirs in zip((loss, lse), dense(**exact, return_lse=True), strict=True):
        assert close(ours, theirs, 1e-5)


def test_any_leading_dimensions():
    given = arguments()
    flat = {"e": given["e"].flatten(0, 1), "c": given["c"], "targets": given["targets"].flatten()}
    assert torch.equal(mine.linear_cross_entropy(**flat), mine.linear_cross_entropy(**given))
    single = {"e": given["e"][0, 0], "c": given["c"], "targets": torch.tensor(5)}
    assert mine.linear_cross_entropy(**single, reduction="none").shape == ()


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_all_ignored(reduction):
    given = arguments(ignored=2)
    check(mine.linear_cross_entropy, dense, given, reduction=reduction, return_lse=True)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_no_tokens(reduction):
    given = {"e": torch.zeros(0, HIDDEN), "c": torch.randn(VOCAB, HIDDEN), "targets": torch.zeros(0).long()}
    loss, lse = mine.linear_cross_entropy(**given, reduction=reduction, return_lse=True)
    assert torch.equal(loss.isnan(), dense(**given, reduction=reduction).isnan())
    assert lse.shape == (0,)


def test_gradients_of_lse_alone():
    def lse(**given):
        return mine.linear_cross_entropy(**given, return_lse=True)[1]

    check(lse, lambda **given: dense(**given, return_lse=True)[1], arguments())


def test_the_module():
    given = arguments(biased=True)
    options = {"softcap": 3.0, "reduction": "sum", "shift": 2, "return_lse": True}
    module = mine.LinearCrossEntropy(**options)
    inputs = list(given.values())
    for ours, theirs in zip(module(*inputs), mine.linear_cross_entropy(**given, **options), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("impl", [*mine.LinearCrossEntropyImpl, "cce_exact", "torch_compile"])
def test_implementations_are_one(impl):
    options = {"filter_eps": None, "accum_e_fp32": True, "accum_c_fp32": True, "filter_e_grad": False}
    given = arguments()
    assert torch.equal(
        mine.linear_cross_entropy(**given, impl=impl, **options), mine.linear_cross_entropy(**given)
    )


@pytest.mark.contract("8 same names")
def test_names_and_order():
    names = list(inspect.signature(mine.linear_cross_entropy).parameters)
    assert names == [
        "e", "c", "targets", "bias", "ignore_index", "softcap", "reduction", "shift", "return_lse",
        "filter_eps", "accum_e_fp32", "accum_c_fp32", "filter_e_grad", "filter_c_grad", "impl",
        "vocab_parallel_options",
    ]  # fmt: skip
    assert list(inspect.signature(mine.LinearCrossEntropy).parameters) == [
        *names[4:8],
        *names[9:15],
        names[8],
    ]


@pytest.mark.parametrize("return_lse", [False, True])
def test_a_graph_without_a_break(return_lse):
    compiled = torch.compile(mine.linear_cross_entropy, fullgraph=True, backend="aot_eager")
    check(compiled, dense, arguments(biased=True), shift=1, softcap=5.0, return_lse=return_lse)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"filter_eps": 0.01},
     "filter_eps=0.01 asks to leave out small entries of gradients, but gradients are exact here; give "
     "'auto' or None"),
    ({"impl": "cce_exacts"}, "impl='cce_exacts' is no implementation; did you mean 'cce_exact'?"),
    ({"vocab_parallel_options": mine.VocabParallelOptions(0, 8)},
     "c has 70 rows, but vocab_parallel_options are for entries 0 to 8, 8 of them"),
    ({"vocab_parallel_options": mine.VocabParallelOptions(0, 70, None, False)},
     "reduce_e_grad=False asks for a part of the gradient of e, but it is summed over the group here; leave "
     "it out"),
    ({"shift": LENGTH}, "shift=13 must be from 0 to 12, below the length of sequences"),
    ({"shift": -1}, "shift=-1 must be from 0 to 12, below the length of sequences"),
    ({"softcap": 0.0}, "softcap=0.0 must be a finite number above 0"),
    ({"reduction": "max"}, "reduction='max' is none of 'mean', 'sum' and 'none'"),
])  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        mine.linear_cross_entropy(**arguments(), **options)
    assert str(caught.value) == message


def test_a_bias_of_another_size():
    with pytest.raises(lt.CallValueError, match="'bias' has shape"):
        mine.linear_cross_entropy(**arguments(), bias=torch.zeros(VOCAB + 1))
