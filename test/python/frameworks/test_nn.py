"""lt.nn.LinearLoss: a module that owns or ties the projection of a loss."""

import copy

import logitile as lt
import pytest
import torch

HIDDEN, VOCAB = 16, 50


def batch():
    torch.manual_seed(0)
    hidden = torch.randn(3, 7, HIDDEN, requires_grad=True)
    return hidden, torch.randint(VOCAB, (3, 7))


def dense(module, hidden, target, **options):
    logits = torch.nn.functional.linear(
        hidden.double(), module.weight.double(), None if module.bias is None else module.bias.double()
    )
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), **options)


@pytest.mark.parametrize("bias", [False, True])
def test_a_module_trains(bias):
    module = lt.nn.LinearLoss(HIDDEN, VOCAB, bias=bias, label_smoothing=0.1)
    hidden, target = batch()
    names = ["weight", *(["bias"] if bias else [])]
    assert sorted(dict(module.named_parameters())) == sorted(names) == sorted(module.state_dict())
    loss, exact = module(hidden, target=target), dense(module, hidden, target, label_smoothing=0.1)
    torch.testing.assert_close(loss.double(), exact, rtol=1e-6, atol=0)
    parameters = [hidden, *module.parameters()]
    gradients = (torch.autograd.grad(value, parameters) for value in (loss, exact))
    for got, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(got.double(), wanted.double(), rtol=1e-5, atol=1e-8)


def test_parameters_are_drawn_as_those_of_linear():
    torch.manual_seed(1)
    module = lt.nn.LinearLoss(HIDDEN, VOCAB, bias=True)
    assert 0.2 < module.weight.abs().max() <= HIDDEN**-0.5 and 0 < module.bias.abs().max() <= HIDDEN**-0.5
    before = module.weight.clone()
    module.reset_parameters()
    assert not torch.equal(before, module.weight)


def test_a_tied_weight_is_that_of_the_embedding():
    embedding = torch.nn.Embedding(VOCAB, HIDDEN)
    before = embedding.weight.clone()
    module = lt.nn.LinearLoss(HIDDEN, VOCAB, tied=embedding)
    assert list(module.parameters()) == [] and torch.equal(embedding.weight, before)
    hidden, target = batch()
    module(hidden, target=target).backward()
    assert embedding.weight.grad is not None
    embedding.weight = torch.nn.Parameter(torch.zeros(VOCAB, HIDDEN))  # as a resize would
    assert module(hidden, target=target).item() == pytest.approx(torch.tensor(VOCAB).log().item())


def test_a_model_with_a_tied_head_is_copied_as_one():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(VOCAB, HIDDEN)
            self.head = lt.nn.LinearLoss(HIDDEN, VOCAB, tied=self.embedding)

    model = Model()
    other = copy.deepcopy(model)
    assert other.head.weight is other.embedding.weight is not model.embedding.weight
    assert list(model.state_dict()) == ["embedding.weight"]


def test_other_losses_take_their_inputs_by_name():
    module = lt.nn.LinearLoss(HIDDEN, VOCAB, loss=lt.losses.forward_kl, reduction="none")
    hidden, _ = batch()
    weight = torch.randn(VOCAB, HIDDEN)
    got = module(hidden, teacher=(hidden, weight))
    q, p = (hidden @ w.T for w in (weight, module.weight))
    q, p = q.log_softmax(-1), p.log_softmax(-1)
    torch.testing.assert_close(got, (q.exp() * (q - p)).sum(-1), rtol=1e-4, atol=1e-5)


def test_logits_are_those_that_the_loss_starts_from():
    module = lt.nn.LinearLoss(HIDDEN, VOCAB, bias=True)
    hidden, _ = batch()
    torch.testing.assert_close(module.logits(hidden), hidden @ module.weight.T + module.bias)


def test_a_compiled_module_is_one_graph():
    module = lt.nn.LinearLoss(HIDDEN, VOCAB)
    hidden, target = batch()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(hidden, target=target), module(hidden, target=target))


def test_repr_says_what_it_is():
    text = repr(lt.nn.LinearLoss(HIDDEN, VOCAB, tied=torch.nn.Embedding(VOCAB, HIDDEN), softcap=30.0))
    assert text == "LinearLoss(16, 50, <head of 'cross_entropy', softcap=30.0>, bias=False, tied)"


@pytest.mark.parametrize(("given", "said"), [
    ({"hidden_size": 0}, "hidden_size=0 and vocab_size=5 must be above 0"),
    ({"loss": lt.losses.accuracy, "bias": True}, "'accuracy' has no input 'bias'"),
    ({"tied": torch.nn.ReLU()}, "tied=ReLU has no weight"),
    ({"tied": torch.nn.Embedding(4, 5)}, r"is \[4, 5\], but .* say \[5, 4\]"),
    ({"smoothing": 1}, "smoothing"),
    ({"weight_layout": "dv"}, r"the weight of the module is \[V, D\]; leave the option out"),
])  # fmt: skip
def test_refusals(given, said):
    with pytest.raises(lt.CallError, match=said):
        lt.nn.LinearLoss(**{"hidden_size": 4, "vocab_size": 5} | given)
