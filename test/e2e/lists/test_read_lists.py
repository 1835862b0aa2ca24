"""Whole Token[..., K] inputs as lists: losses and gradients against the float64 reference."""

import logitile as lt
import pytest
import torch

N, D, V = 37, 48, 700
BACKENDS = ["cpu", "emu:sm_80", "emu:sm_90a"]


@lt.loss
def distilled(
    z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K], bias: lt.Vocab[float], heat: lt.Scalar
):
    log_p = lt.log_softmax((z + bias) / heat)[ids]
    return lt.sum(lt.where(lt.valid(ids), lt.exp(t) * (t - log_p), 0.0))


@lt.loss
def distances(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K]):
    return lt.mean(lt.where(lt.valid(ids), lt.square(z[ids] - t), 0.0))


@lt.loss
def variance(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K]):
    x = lt.where(lt.valid(ids), lt.tanh(z[ids]) * lt.sigmoid(t), 0.0)
    return lt.sum(lt.square(x - lt.mean(x))) + lt.logsumexp(z)


@lt.loss
def scaled_by_a_sum(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K]):
    scale = lt.sigmoid(lt.sum(t))  # known before the first sweep
    first = lt.log_softmax(z * scale)[ids]
    # known before the second one
    known = lt.sum(lt.where(lt.valid(ids), first, 0.0)) / lt.vocab_size()
    return lt.logsumexp(z * lt.cos(known)) - known


@lt.loss
def ranked(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K], target: lt.Token[int]):
    margin = lt.maximum(z[ids] - z[target] + 1.0, 0.0)
    counted = lt.valid(ids) & (ids != target)
    return lt.sum(lt.where(counted, margin, 0.0)) * lt.stop_gradient(lt.sum(abs(t)))


@lt.loss
def two_lengths(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K], others: lt.Token[int, 3]):
    log_p = lt.log_softmax(z)
    chosen = lt.sum(lt.where(lt.valid(ids), t * log_p[ids], 0.0))
    return lt.sum(lt.where(lt.valid(others), lt.exp(log_p[others]), 0.0)) - chosen


LOSSES = [distilled, distances, variance, scaled_by_a_sum, ranked, two_lengths]


def inputs_of(loss, places, dtype):
    """Arguments in leading dimensions [N]. Some indices are ignored, some name an entry twice."""
    random = torch.Generator().manual_seed(places)
    hidden = torch.randn(N, D, generator=random).to(dtype)
    weight = (torch.randn(V, D, generator=random) * 0.3).to(dtype)
    ids = torch.randint(0, V, (N, places), generator=random)
    if places > 2:
        ids[:, 1] = ids[:, 0]
        ids[::3, 2] = -100
    ids[5] = ids[5, 0]
    named = {"ids": ids, "t": torch.log_softmax(torch.randn(N, places, generator=random), -1)}
    others = {
        "bias": torch.randn(V, generator=random), "heat": torch.tensor(1.7),
        "target": torch.randint(0, V, (N,), generator=random),
        "others": torch.randint(0, V, (N, 3), generator=random),
    }  # fmt: skip
    known = {parameter.name for parameter in loss.signature.inputs}
    return hidden, weight, named | {name: array for name, array in others.items() if name in known}


def results(loss, places, dtype, **options):
    """The loss per token and every gradient of its sum."""
    hidden, weight, named = inputs_of(loss, places, dtype)
    floats = {"hidden": hidden, "weight": weight} | {n: a for n, a in named.items() if a.is_floating_point()}
    for array in floats.values():
        array.requires_grad_()
    made = lt.jit(loss, reduction="none", ignore=None, ignore_index=-100, **options)(hidden, weight, **named)
    made.sum().backward()
    return {"loss": made.detach().double()} | {
        name: array.grad.double() for name, array in floats.items() if array.grad is not None
    }


def check(made, wanted, bound):
    assert made.keys() == wanted.keys()
    for name, expected in wanted.items():
        difference = (made[name] - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
        assert difference <= bound, f"{name}: {difference:.2e}"


@pytest.mark.contract("1 entries")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("places", [1, 3, 130])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_float32(loss, places, backend):
    wanted = results(loss, places, torch.float32, backend="reference")
    check(results(loss, places, torch.float32, backend=backend), wanted, 2e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_sixteen_bits(loss, dtype, backend):
    """Gradients of logits are rounded to 16 bits, those of hidden states and weights too."""
    bound = 2**-6 if dtype == torch.bfloat16 else 2**-9
    wanted = results(loss, 20, dtype, backend="reference")
    check(results(loss, 20, dtype, backend=backend), wanted, bound)


@pytest.mark.parametrize("options", [{"chunks": 3}, {"workspace": "2MiB"}, {"chunks": 1}], ids=str)
@pytest.mark.parametrize("backend", ["cpu", "emu:sm_80"])
def test_chunks_give_the_same(options, backend):
    whole = results(distilled, 9, torch.float32, backend=backend)
    check(results(distilled, 9, torch.float32, backend=backend, **options), whole, 2e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_places(backend):
    wanted = results(distances, 4096, torch.float32, backend="reference")
    check(results(distances, 4096, torch.float32, backend=backend), wanted, 2e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_as_outputs(backend):
    @lt.loss
    def listed(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K]):
        log_p = lt.log_softmax(z)[ids]
        return lt.Outputs(
            loss=-lt.sum(lt.where(lt.valid(ids), log_p, 0.0)), log_p=log_p, columns=lt.column()[ids],
            better=log_p > t, same=lt.mean(z) + 0.0 * t,
        )  # fmt: skip

    hidden, weight, named = inputs_of(listed, 7, torch.float32)
    shape = (1, N, 7)
    hidden, named = hidden[None].requires_grad_(), {name: array[None] for name, array in named.items()}
    made, wanted = (
        lt.jit(listed, ignore="ids", backend=name)(hidden, weight, **named) for name in (backend, "reference")
    )
    assert made.log_p.shape == made.columns.shape == made.better.shape == shape
    torch.testing.assert_close(made.log_p, wanted.log_p.float(), equal_nan=True)
    torch.testing.assert_close(made.same, wanted.same.float())
    assert torch.equal(made.columns, wanted.columns) and torch.equal(made.better, wanted.better)
    made.loss.backward()
    assert torch.isfinite(hidden.grad).all()


def test_an_index_outside_is_named():
    hidden, weight, named = inputs_of(distances, 4, torch.float32)
    named["ids"][3, 2] = V
    with pytest.raises(lt.CallIndexError, match=rf"'ids'\[3, 2\] is {V}, outside the vocabulary"):
        lt.jit(distances, ignore=None)(hidden, weight, **named)


def test_segments_add_up_sums_of_lists():
    hidden, weight, named = inputs_of(distances, 6, torch.float32)
    ids = torch.arange(N) // 13
    each = lt.jit(distances, ignore=None, reduction="none")(hidden, weight, **named)
    segments = lt.Segments(ids, count=3)
    made = lt.jit(distances, ignore=None, reduction="sum")(hidden, weight, segments=segments, **named)
    torch.testing.assert_close(made, torch.zeros(3).index_add(0, ids, each))


@lt.loss
def shifted(z: lt.Logits, ids: lt.Token[int, lt.K], d: lt.Dense[float]):
    return lt.sum(lt.where(lt.valid(ids), (z + d)[ids], 0.0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_gradient_of_a_dense_input_at_a_list(backend):
    hidden, weight, named = inputs_of(shifted, 3, torch.float32)
    ids = named["ids"]
    dense = torch.randn(N, V, requires_grad=True)
    made = lt.jit(shifted, ignore="ids", reduction="sum", backend=backend)(hidden, weight, ids=ids, d=dense)
    made.backward()
    wanted = torch.zeros(N, V).scatter_add_(1, ids.clamp(min=0), (ids >= 0).float())
    torch.testing.assert_close(dense.grad, wanted)


def test_the_gradient_of_a_dense_input_at_a_long_list_is_refused():
    hidden, weight, named = inputs_of(shifted, 129, torch.float32)
    dense = torch.randn(N, V, requires_grad=True)
    head = lt.jit(shifted, ignore="ids")
    message = (
        "the gradient of the lt.Dense input 'd' is wanted, but 'd' is indexed with a list, and the loss has "
        "a list of 129 places; that gradient supports at most 128; give shorter lists, wrap 'd' in "
        "lt.stop_gradient, or detach the array"
    )
    with pytest.raises(lt.CallValueError, match=message):
        head(hidden, weight, ids=named["ids"], d=dense)
    logits = hidden.double() @ weight.double().T + dense.detach().double()
    picked = logits.gather(1, named["ids"].clamp(min=0)).where(named["ids"] >= 0, 0.0)
    made = head(hidden.requires_grad_(), weight, ids=named["ids"], d=dense.detach())
    torch.testing.assert_close(made.detach().double(), picked.sum(1).mean(), rtol=1e-5, atol=1e-5)
    made.backward()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_lists_of_given_logits(loss):
    hidden, weight, named = inputs_of(loss, 4, torch.float32)
    head = lt.jit(loss, ignore="ids" if loss is not two_lengths else None, reduction="sum")
    named["ids"] = named["ids"].clamp(min=0) if loss is two_lengths else named["ids"]
    wanted, gradients = head.value_and_grad(hidden, weight, **named)
    logits = (hidden @ weight.T).requires_grad_()
    made = head(z=logits, **named)
    made.backward()
    torch.testing.assert_close(made.detach(), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits.grad.T @ hidden, gradients["weight"], rtol=1e-3, atol=1e-4)


def test_the_code_does_not_grow_with_the_places():
    texts = []
    for places in (8, 4096):
        shapes = {"ids": lt.ShapeDtype((N, places), "int64"), "t": lt.ShapeDtype((N, places), "float32")}
        head = lt.jit(distances, ignore=None)
        text = head.ir("llvm", lt.ShapeDtype((N, D), "float32"), lt.ShapeDtype((V, D), "float32"), **shapes)
        texts.append(text.count("\n"))
    assert texts[1] <= texts[0] * 1.1
