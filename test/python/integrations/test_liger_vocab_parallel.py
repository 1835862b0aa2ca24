"""Liger's vocab-parallel cross-entropy on one process, against dense logits in float64."""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check
from logitile.integrations.liger import ops
from logitile.integrations.liger import transformers as mine

LENGTH, BATCH, HIDDEN, VOCAB = 5, 3, 16, 61


class Group:
    """The part of a process group that is asked."""

    def __init__(self, ranks):
        self.ranks = ranks

    def size(self):
        return self.ranks


def arguments(dtype=torch.float32):
    torch.manual_seed(0)
    target = torch.randint(VOCAB, (LENGTH, BATCH))
    target[1] = -100
    return {
        "hidden": torch.randn(LENGTH, BATCH, HIDDEN).to(dtype).requires_grad_(),
        "weight": (0.5 * torch.randn(VOCAB, HIDDEN)).to(dtype).requires_grad_(),
        "target": target,
    }


def of_logits(hidden, weight, target, group=None, **options):
    return mine.LigerVocabParallelCrossEntropy(**options)(hidden @ weight.T, target, group)


def of_projection(hidden, weight, target, group=None, **options):
    return mine.LigerVocabParallelCrossEntropy(**options)((hidden, weight), target, group)


def dense(hidden, weight, target, label_smoothing=0.0, label_smoothing_formula="pytorch", ignore_index=-100):
    if label_smoothing_formula == "megatron":
        label_smoothing = label_smoothing * VOCAB / (VOCAB - 1)
    losses = F.cross_entropy(
        (hidden @ weight.T).flatten(0, 1), target.flatten(), reduction="none", ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )  # fmt: skip
    return losses.view(target.shape)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("run", [of_logits, of_projection])
@pytest.mark.parametrize("formula", ["pytorch", "megatron"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_formulas(run, formula, label_smoothing):
    check(run, dense, arguments(), label_smoothing=label_smoothing, label_smoothing_formula=formula)


@pytest.mark.parametrize("run", [of_logits, of_projection])
def test_a_group_of_one_process(run):
    options = {"label_smoothing": 0.2, "label_smoothing_formula": "megatron"}
    wanted = run(**arguments(), **options)
    found = run(**arguments(), group=Group(1), label_smoothing_mode="partition", **options)
    assert torch.equal(found, wanted)


def test_no_target_is_ignored():
    given = arguments()
    given["target"] = given["target"].clamp(min=0)
    check(lambda **given: of_logits(ignore_index=None, **given), dense, given)


def test_results_are_float32():
    assert of_logits(**arguments(torch.bfloat16)).dtype == torch.float32


def test_a_smoothing_in_a_tensor():
    share = torch.tensor(0.2, requires_grad=True)
    options = {"label_smoothing_formula": "megatron"}
    loss = of_projection(**arguments(), label_smoothing=share, **options)
    torch.testing.assert_close(loss, of_projection(**arguments(), label_smoothing=0.2, **options))
    loss.sum().backward()
    above, below = (of_projection(**arguments(), label_smoothing=a, **options).sum() for a in (0.3, 0.1))
    torch.testing.assert_close(share.grad, (above - below) / 0.2, rtol=1e-4, atol=1e-4)


@pytest.mark.contract("8 same names")
def test_names_and_order():
    options = ["ignore_index", "label_smoothing", "reduction"]
    more = ["label_smoothing_formula", "label_smoothing_mode"]
    assert list(inspect.signature(mine.LigerVocabParallelCrossEntropy).parameters) == options + more
    first = ["vocab_parallel_logits", "target", "tp_group"]
    forward = list(inspect.signature(mine.LigerVocabParallelCrossEntropy.forward).parameters)
    assert forward == ["self", *first]
    apply = list(inspect.signature(ops.LigerVocabParallelCEFunction.apply).parameters)
    assert apply == first + options[:2] + more
    assert repr(mine.LigerVocabParallelCrossEntropy()) == (
        "LigerVocabParallelCrossEntropy(ignore_index=-100, label_smoothing=0.0, reduction='none', "
        "label_smoothing_formula='pytorch', label_smoothing_mode='global')"
    )


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"reduction": "mean"}, "reduction='mean' must be 'none': losses are per token"),
    ({"label_smoothing": 1.0}, "label_smoothing=1.0 must be a number from 0 to below 1"),
    ({"label_smoothing_formula": "nemo"},
     "label_smoothing_formula='nemo' must be one of 'pytorch', 'megatron'"),
    ({"label_smoothing_mode": "local"}, "label_smoothing_mode='local' must be one of 'global', 'partition'"),
    ({"group": Group(2)},
     "tp_group has 2 processes, but heads take logits on one process alone; give the projection (hidden, "
     "weight) that makes them"),
    ({"hidden": torch.zeros(3, HIDDEN)},
     "vocab_parallel_logits has shape (3, 61); it must have three axes, [sequence, batch, ...]"),
])  # fmt: skip
def test_what_is_refused(options, message):
    with pytest.raises(lt.CallError) as caught:
        of_logits(**arguments() | options)
    assert str(caught.value) == message


@pytest.mark.contract("8 refusals")
def test_a_mean_over_a_slice_is_refused():
    options = {"label_smoothing": 0.1, "label_smoothing_mode": "partition", "group": Group(2)}
    with pytest.raises(lt.CallValueError) as caught:
        of_projection(**arguments(), **options)
    assert str(caught.value) == (
        "label_smoothing_mode='partition' averages over this process's slice, so that losses differ between "
        "processes; give 'global'"
    )
