"""logitile.integrations.megatron against dense logits in float64,
and its way to accumulate gradients.
"""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations import megatron as mine

TOKENS, VOCAB, HIDDEN = 80, 125, 64


def arguments(dtype=torch.float32, leading=(TOKENS,), ignored=-100):
    torch.manual_seed(0)
    labels = torch.randint(VOCAB, leading)
    labels.view(-1)[::7] = ignored
    return {
        "hidden": torch.empty(*leading, HIDDEN).uniform_(-0.1, 0.1).to(dtype).requires_grad_(),
        "weight": torch.empty(VOCAB, HIDDEN).uniform_(-0.1, 0.1).to(dtype).requires_grad_(),
        "labels": labels,
    }


def dense(hidden, weight, labels, reduction="mean", ignore_index=-100):
    z = (hidden @ weight.T).flatten(0, -2)
    return F.cross_entropy(z, labels.flatten(), reduction=reduction, ignore_index=ignore_index)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("leading", [(TOKENS,), (1, 40), (2, 40)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignore_index", [-100, 4])
def test_shapes_and_reductions(leading, reduction, ignore_index):
    given = arguments(leading=leading, ignored=ignore_index)
    check(mine.linear_cross_entropy, dense, given, reduction=reduction, ignore_index=ignore_index)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_apply_of_the_class(reduction):
    """Autograd functions take their arguments by position."""

    def apply(hidden, weight, labels):
        return mine.LinearCrossEntropy.apply(hidden, weight, labels, None, reduction, 4, False)

    def wanted(hidden, weight, labels):
        return dense(hidden, weight, labels, reduction, 4)

    check(apply, wanted, arguments(ignored=4))
    assert set(mine.__all__) == {"linear_cross_entropy", "LinearCrossEntropy"}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_16_bits(dtype, reduction):
    given = arguments(dtype)
    loss = mine.linear_cross_entropy(**given, reduction=reduction)
    exact = {
        name: t.detach().double().requires_grad_() if t.is_floating_point() else t
        for name, t in given.items()
    }
    wanted = dense(**exact, reduction=reduction)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, wanted.float())
    loss.sum().backward()
    wanted.sum().backward()
    for name in ("hidden", "weight"):
        assert given[name].grad.dtype == dtype
        torch.testing.assert_close(given[name].grad.double(), exact[name].grad, atol=1e-3, rtol=2**-7)


def test_one_program_serves_all_numbers_of_tokens():
    for tokens in (60, 128, 513, 2048):
        given = arguments(leading=(tokens,))
        assert mine.linear_cross_entropy(**given).isfinite()
    assert [record["event"] for record in lt.history()[-3:]] == ["hit"] * 3


@pytest.mark.contract("8 corners")
def test_all_ignored():
    given = arguments()
    given["labels"].fill_(-100)
    for reduction in ("mean", "sum", "none"):
        check(mine.linear_cross_entropy, dense, given, reduction=reduction)


@pytest.mark.contract("8 same names")
def test_names_and_order():
    assert list(inspect.signature(mine.linear_cross_entropy).parameters) == [
        "hidden", "weight", "labels", "tp_group", "reduction", "ignore_index", "sequence_parallel",
    ]  # fmt: skip


# ---- main_grad -----------------------------------------------------------------------------------


def micro_batches(weight, dtype=torch.bfloat16):
    for seed in range(3):
        torch.manual_seed(seed)
        yield torch.randn(TOKENS, HIDDEN).to(dtype), torch.randint(VOCAB, (TOKENS,))


def test_gradients_accumulate_in_float32():
    weight = arguments(torch.bfloat16)["weight"]
    weight.main_grad = torch.ones(VOCAB, HIDDEN)
    exact = weight.detach().double().requires_grad_()
    for hidden, labels in micro_batches(weight):
        mine.linear_cross_entropy(hidden, weight, labels).backward()
        dense(hidden.double(), exact, labels).backward()
    assert weight.grad is None
    assert close(weight.main_grad - 1, exact.grad, 1e-3)


def test_hooks_of_the_weight_find_the_gradient_in_place():
    given = arguments()
    weight = given["weight"]
    weight.main_grad, weight.grad_added_to_main_grad = torch.zeros(VOCAB, HIDDEN), False
    seen = []

    def reduce(parameter):
        seen.append((parameter.grad_added_to_main_grad, parameter.main_grad.clone(), parameter.grad.any()))
        parameter.grad = None

    weight.register_post_accumulate_grad_hook(reduce)
    mine.linear_cross_entropy(**given).backward()
    exact = arguments()
    dense(**exact).backward()
    ((is_added, found, other),) = seen
    assert is_added and not other
    assert close(found, exact["weight"].grad, 1e-5) and close(
        given["hidden"].grad, exact["hidden"].grad, 1e-5
    )


def test_a_frozen_weight_is_left_alone():
    given = arguments()
    given["weight"] = given["weight"].detach()
    given["weight"].main_grad = torch.zeros(VOCAB, HIDDEN)
    mine.linear_cross_entropy(**given).backward()
    assert not given["weight"].main_grad.any()


def test_a_buffer_of_16_bits_is_not_used():
    given = arguments(torch.bfloat16)
    given["weight"].main_grad = torch.zeros(VOCAB, HIDDEN, dtype=torch.bfloat16)
    mine.linear_cross_entropy(**given).backward()
    assert given["weight"].grad.any() and not given["weight"].main_grad.any()


# ---- groups --------------------------------------------------------------------------------------


class Group:
    """The part of a process group that is asked."""

    def __init__(self, ranks):
        self.ranks = ranks

    def size(self):
        return self.ranks

    def rank(self):
        return 0


def test_a_group_of_one_rank():
    given = arguments()
    loss = mine.linear_cross_entropy(**given, tp_group=Group(1), sequence_parallel=True)
    assert torch.equal(loss, mine.linear_cross_entropy(**given))


@pytest.mark.contract("8 refusals")
def test_labels_of_this_rank_alone_are_refused(monkeypatch):
    monkeypatch.setattr(mine, "vocab_parallel", lambda run, group, **options: run)
    with pytest.raises(lt.CallValueError) as caught:
        mine.linear_cross_entropy(**arguments(), tp_group=Group(2), sequence_parallel=True)
    assert str(caught.value) == (
        "labels have 80 entries along their first axis; 2 ranks with 80 hidden states each want 160"
    )


def test_a_graph_without_a_break():
    compiled = torch.compile(mine.linear_cross_entropy, fullgraph=True, backend="aot_eager")
    check(compiled, dense, arguments())
