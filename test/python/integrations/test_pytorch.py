"""logitile.integrations.pytorch against torch's own function,
on its path with dense logits in float64.
"""

import dataclasses
import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check, close
from logitile.integrations import pytorch as mine

TOKENS, CLASSES, FEATURES = 12, 43, 16


def arguments(seed=0, dtype=torch.float32, positions=()):
    torch.manual_seed(seed)
    target = torch.randint(CLASSES, (TOKENS, *positions))
    target[3] = -100
    return {
        "input": torch.randn(TOKENS, FEATURES).to(dtype).requires_grad_(),
        "linear_weight": torch.randn(CLASSES, *positions, FEATURES).to(dtype).requires_grad_(),
        "target": target,
    }


def bias(positions=()):
    torch.manual_seed(1)
    return torch.randn(CLASSES, *positions, requires_grad=True)


def class_weight():
    torch.manual_seed(2)
    return torch.rand(CLASSES) + 0.1


def probabilities(positions=()):
    torch.manual_seed(3)
    return torch.randn(TOKENS, CLASSES, *positions).softmax(1).requires_grad_()


def in_double(**given):
    """torch's function in float64; class weights are no argument of `check`."""
    weight = given.pop("weight", None)
    return F.linear_cross_entropy(**given, weight=None if weight is None else weight.double())


@pytest.mark.contract("8 same names")
@pytest.mark.parametrize("theirs", [F.linear_cross_entropy, torch.nn.LinearCrossEntropyLoss.__init__])
def test_names_order_and_defaults_are_torchs(theirs):
    ours = (
        mine.linear_cross_entropy
        if theirs is F.linear_cross_entropy
        else mine.LinearCrossEntropyLoss.__init__
    )

    def parts(function):
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    assert parts(ours) == parts(theirs)


def test_options_have_torchs_names_and_defaults():
    def parts(kind):
        return [(f.name, f.default) for f in dataclasses.fields(kind)]

    assert parts(mine.LinearCrossEntropyOptions) == parts(torch.nn.LinearCrossEntropyOptions)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_indices(reduction, smoothing, weighted):
    options = {"weight": class_weight()} if weighted else {}
    check(
        mine.linear_cross_entropy, in_double, {**arguments(), "linear_bias": bias()},
        reduction=reduction, label_smoothing=smoothing, **options,
    )  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_probabilities(reduction):
    given = {**arguments(), "target": probabilities(), "linear_bias": bias()}
    options = {"weight": class_weight(), "reduction": reduction, "label_smoothing": 0.2}
    check(mine.linear_cross_entropy, in_double, given, **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_dimensions_of_classes(reduction, soft, weighted):
    given = {**arguments(positions=(2, 3)), "linear_bias": bias((2, 3))}
    if soft:
        given["target"] = probabilities((2, 3))
    options = {"weight": class_weight()} if weighted else {}
    check(mine.linear_cross_entropy, in_double, given, reduction=reduction, label_smoothing=0.1, **options)


def test_one_token_without_an_axis():
    given = arguments()
    single = {**given, "input": given["input"][0], "target": given["target"][0]}
    check(mine.linear_cross_entropy, in_double, single, reduction="none")
    check(mine.linear_cross_entropy, in_double, {**single, "target": probabilities()[0].detach()})


@pytest.mark.contract("8 corners")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("positions", [(), (2,)])
def test_all_ignored(reduction, positions):
    given = arguments(positions=positions)
    given["target"] = torch.full_like(given["target"], 5)
    check(mine.linear_cross_entropy, in_double, given, reduction=reduction, ignore_index=5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_no_tokens(reduction):
    given = {name: tensor.detach()[:0] for name, tensor in arguments().items() if name != "linear_weight"}
    given["linear_weight"] = arguments()["linear_weight"]
    check(mine.linear_cross_entropy, in_double, given, reduction=reduction)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_loss_has_the_type_of_the_input(dtype):
    given = arguments(dtype=dtype)
    loss = mine.linear_cross_entropy(**given)
    assert loss.dtype == F.linear_cross_entropy(**given).dtype == dtype
    check(mine.linear_cross_entropy, in_double, given, tolerance=2**-7)


@pytest.mark.contract("8 corners")
def test_a_second_backward_needs_leave():
    given = arguments()
    loss = mine.linear_cross_entropy(**given, options=mine.LinearCrossEntropyOptions())
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="was differentiated before; LinearCrossEntropyOptions"):
        loss.backward()
    options = mine.LinearCrossEntropyOptions(allow_retain_graph=True)
    for chosen in (options, None):
        given = arguments()
        loss = mine.linear_cross_entropy(**given, options=chosen)
        loss.backward(retain_graph=True)
        once = given["input"].grad.clone()
        loss.backward()
        assert close(given["input"].grad, 2 * once, 1e-6)


def test_per_token_losses_may_be_differentiated_again():
    given = arguments()
    options = mine.LinearCrossEntropyOptions()
    loss = mine.linear_cross_entropy(**given, reduction="none", options=options)
    for _ in range(2):
        loss.sum().backward(retain_graph=True)


@pytest.mark.parametrize(("chosen", "chunks"), [
    ({"batch_chunk_size": 5}, 3),
    ({"batch_chunk_size": 5, "chunking_method": None}, 3),
    ({"chunking_method": "aspect_ratio"}, 3),
    ({"chunking_method": "aspect_ratio:2"}, 6),
    ({}, None),
])  # fmt: skip
def test_options_choose_the_number_of_chunks(chosen, chunks, monkeypatch):
    seen = []
    monkeypatch.setattr(mine, "head", lambda text, **bound: seen.append(bound) or lt.jit(text, **bound))
    for kind in (mine.LinearCrossEntropyOptions, torch.nn.LinearCrossEntropyOptions):
        mine.linear_cross_entropy(**arguments(), options=kind(**chosen))
        theirs = torch.nn.LinearCrossEntropyOptions(**chosen)
        size = theirs._adjust(TOKENS, FEATURES, CLASSES, torch.float32).batch_chunk_size
        assert seen.pop().get("chunks") == chunks
        assert chunks is None or -(-TOKENS // size) == chunks


def test_chunks_change_nothing():
    options = mine.LinearCrossEntropyOptions(batch_chunk_size=2)
    torch.manual_seed(4)
    given = {
        "input": torch.randn(300, FEATURES, requires_grad=True),
        "linear_weight": torch.randn(CLASSES, FEATURES, requires_grad=True),
        "target": torch.randint(CLASSES, (300,)),
    }
    check(lambda **g: mine.linear_cross_entropy(**g, options=options), in_double, given)


def test_the_module_owns_the_weight():
    module = mine.LinearCrossEntropyLoss(
        FEATURES, CLASSES, out_features=(2,), bias=True, weight=class_weight(), label_smoothing=0.1
    )
    theirs = torch.nn.LinearCrossEntropyLoss(
        FEATURES, CLASSES, out_features=(2,), bias=True, weight=class_weight(), label_smoothing=0.1
    )
    theirs.load_state_dict(module.state_dict())
    given = arguments(positions=(2,))
    loss, wanted = module(given["input"], given["target"]), theirs(given["input"], given["target"])
    assert close(loss, wanted, 1e-6)
    loss.backward()
    wanted.backward()
    for own, other in zip(module.parameters(), theirs.parameters(), strict=True):
        assert close(own.grad, other.grad, 1e-5)


def test_a_graph_without_a_break():
    compiled = torch.compile(mine.linear_cross_entropy, fullgraph=True, backend="aot_eager")
    chosen = {"weight": class_weight(), "label_smoothing": 0.1}
    options = mine.LinearCrossEntropyOptions()
    check(
        lambda **given: compiled(**given, **chosen, options=options),
        lambda **given: in_double(**given, **chosen),
        arguments(),
    )


def test_annealed_smoothing_compiles_once():
    given = arguments()
    for smoothing in (0.1, 0.2, 0.3):
        mine.linear_cross_entropy(**given, label_smoothing=smoothing)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


@pytest.mark.parametrize(("changed", "message"), [
    ({"input": torch.zeros(1, 2, 16)},
     "input has shape (1, 2, 16); it must be [in_features] or [N, in_features]"),
    ({"linear_weight": torch.zeros(9, 8)},
     "linear_weight has shape (9, 8) and input (12, 16); their last dimensions must be equal"),
    ({"linear_bias": torch.zeros(9)}, "linear_bias has shape (9,); linear_weight needs (43,)"),
    ({"reduction": "max"}, "reduction='max' is none of 'mean', 'sum', 'none'"),
    ({"label_smoothing": 2.0}, "label_smoothing=2.0 must be a number from 0 to 1"),
    ({"target": torch.zeros(12, 43), "ignore_index": 3},
     "ignore_index=3 has no meaning where the target has probabilities"),
    ({"options": torch.nn.LinearCrossEntropyOptions(batch_chunk_size=5, chunking_method="aspect_ratio")},
     "batch_chunk_size=5, but chunking_method='aspect_ratio' makes chunks of 4 tokens here; give one of the "
     "two"),
])  # fmt: skip
def test_wrong_arguments(changed, message):
    with pytest.raises(lt.CallError) as caught:
        mine.linear_cross_entropy(**{**arguments(), **changed})
    assert str(caught.value) == message


def test_a_class_that_there_is_not():
    given = arguments()
    given["target"][5] = CLASSES
    with pytest.raises(IndexError, match=r"'target'\[5\] is 43, outside the vocabulary"):
        mine.linear_cross_entropy(**given)


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("given", "message"), [
    ({"acc_policy": "best"},
     "acc_policy='best' is none of ('accurate', 'balanced', 'compact', 'auto')"),
    ({"batch_chunk_size": 0}, "batch_chunk_size=0 must be a positive int or None"),
    ({"chunking_method": "aspect_ratio:0"},
     "chunking_method='aspect_ratio:0' is none of 'auto', 'aspect_ratio', 'aspect_ratio:N', None"),
    ({"acc_dtype": torch.float64},
     "acc_dtype=torch.float64: sums are float32; give None or a type of at most 32 bits"),
])  # fmt: skip
def test_wrong_options(given, message):
    with pytest.raises(ValueError) as caught:
        mine.LinearCrossEntropyOptions(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("target", ["indices", "probabilities", "positions"])
def test_float64(target, reduction):
    positions = (2,) if target == "positions" else ()
    given = arguments(positions=positions) | {"linear_bias": bias(positions), "weight": class_weight()}
    if target == "probabilities":
        given["target"] = probabilities()
    for name, tensor in given.items():
        given[name] = tensor.detach().double() if tensor.is_floating_point() else tensor
    more = {"reduction": reduction, "label_smoothing": 0.1}
    operands = [given.pop(name).requires_grad_() for name in ("input", "linear_weight")]
    both = (mine.linear_cross_entropy, F.linear_cross_entropy)
    loss, wanted = (function(*operands, **given, **more) for function in both)
    assert loss.dtype == torch.float64
    torch.testing.assert_close(loss, wanted, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(
        lambda x, w: mine.linear_cross_entropy(x, w, **given, **more), operands, fast_mode=True
    )
