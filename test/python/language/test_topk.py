"""What a loss says with lt.topk: the outputs' shapes, the float64 reference,
what is refused and how.
"""

import re

import logitile as lt
import numpy as np
import pytest
import torch
from tracing import traced

VOCAB = 13


@lt.loss
def best(z: lt.Logits, *, k: int = 3):
    values, indices = lt.topk(z, k)
    return lt.Outputs(values=values, indices=indices)


def pair(tokens=(5,), hidden=4, vocab=VOCAB, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((*tokens, hidden)), rng.standard_normal((vocab, hidden))


def singles(*args, **options):
    return [array.astype(np.float32) for array in pair(*args, **options)]


@pytest.mark.contract("1 lists")
@pytest.mark.parametrize("k", [1, 3, VOCAB])
def test_the_reference_is_that_of_torch(k):
    hidden, weight = singles((2, 5))
    found = lt.jit(best, k=k).reference(hidden, weight)
    logits = torch.tensor(hidden, dtype=torch.float64) @ torch.tensor(weight, dtype=torch.float64).T
    values, indices = logits.topk(k)
    assert found.values.shape == found.indices.shape == (2, 5, k)
    np.testing.assert_allclose(found.values, values, rtol=1e-12)
    np.testing.assert_array_equal(found.indices, indices)


def test_nan_comes_first_and_of_equals_the_lowest_index():
    @lt.loss
    def given(z: lt.Logits, x: lt.Dense[float]):
        values, indices = lt.topk(0 * z + x, 5)
        return lt.Outputs(values=values, indices=indices)

    nan, inf = np.nan, np.inf
    x = np.array([[1, 2, nan, 2, -inf, inf, nan], [-inf] * 7, [0, -0.0, 0, 1, 1, -1, -0.0]], np.float32)
    hidden, weight = np.zeros((3, 2), np.float32), np.zeros((7, 2), np.float32)
    for call in (lt.jit(given).reference, lt.jit(given), lt.jit(given, backend="emu:sm_80")):
        found = call(hidden, weight, x=x)
        np.testing.assert_array_equal(found.indices, [[2, 6, 5, 1, 3], [0, 1, 2, 3, 4], [3, 4, 0, 1, 2]])
        np.testing.assert_array_equal(found.values, np.take_along_axis(x, found.indices, 1))


def test_ignored_tokens_have_zeros_and_no_index():
    @lt.loss
    def with_target(z: lt.Logits, target: lt.Token[int]):
        values, indices = lt.topk(z, 2)
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], values=values, indices=indices)

    hidden, weight = singles()
    target = np.array([1, -100, 2, -100, 0])
    head = lt.jit(with_target)
    for found in (head(hidden, weight, target=target), head.reference(hidden, weight, target=target)):
        np.testing.assert_array_equal(found.values[[1, 3]], np.zeros((2, 2)))
        np.testing.assert_array_equal(found.indices[[1, 3]], np.full((2, 2), -1))
        assert (found.indices[[0, 2, 4]] >= 0).all()
    nothing = head(hidden, weight, target=np.full(5, -100))
    np.testing.assert_array_equal(nothing.indices, np.full((5, 2), -1))


def test_no_token_gives_an_empty_array():
    hidden, weight = singles((0,))
    found = lt.jit(best)(hidden, weight)
    assert found.values.shape == found.indices.shape == (0, 3)


def test_arrays_are_those_of_the_framework():
    hidden, weight = (torch.tensor(array) for array in singles((2, 3)))
    found = lt.jit(best)(hidden, weight)
    assert (found.values.dtype, found.indices.dtype) == (torch.float32, torch.int64)
    assert found.values.shape == (2, 3, 3)


# ---- places of a list ----------------------------------------------------------------------------


@pytest.mark.contract("1 lists")
def test_a_place_is_one_number_per_token():
    @lt.loss
    def places(z: lt.Logits):
        values, indices = lt.topk(z, 4)
        return lt.Outputs(second=values[1], last=values[-1], index=indices[1], gap=values[0] - values[2])

    hidden, weight = singles((2, 5))
    head = lt.jit(places)
    values, indices = (a.numpy() for a in torch.tensor(hidden @ weight.T).topk(4))
    for found in (head(hidden, weight), head.reference(hidden, weight)):
        np.testing.assert_array_equal(found.index, indices[..., 1])
        np.testing.assert_allclose(found.second, values[..., 1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.last, values[..., 3], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.gap, values[..., 0] - values[..., 2], rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_place_goes_to_its_entry():
    @lt.loss
    def third(z: lt.Logits, bias: lt.Vocab[float]):
        return lt.topk(z * 0.5 + bias, 3)[0][2]

    hidden, weight = (torch.tensor(array, requires_grad=True) for array in singles((40,), vocab=70))
    bias = torch.linspace(-1, 1, 70).requires_grad_()
    lt.jit(third)(hidden, weight, bias=bias).backward()
    found = [x.grad.clone() for x in (hidden, weight, bias)]
    for x in (hidden, weight, bias):
        x.grad = None
    (hidden @ weight.T * 0.5 + bias).topk(3).values[:, 2].mean().backward()
    for ours, x in zip(found, (hidden, weight, bias), strict=True):
        np.testing.assert_allclose(ours, x.grad, rtol=1e-4, atol=1e-6)


def test_the_reference_has_the_gradient_of_a_place():
    @lt.loss
    def third(z: lt.Logits):
        return lt.topk(z, 3)[0][2]

    hidden, weight = singles((6,))
    _, gradients = lt.jit(third).reference_grad(hidden, weight)
    _, found = lt.jit(third).value_and_grad(hidden, weight)
    np.testing.assert_allclose(found["weight"], gradients["weight"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("made_of", ["logits", "bias", "scaled", "masked", "halves"])
def test_as_many_entries_reach_a_place_as_it_counts(made_of):
    """Both passes over the vocabulary round alike."""

    @lt.loss
    def counted(z: lt.Logits, bias: lt.Vocab[float], scale: lt.Token[float]):
        x = {
            "logits": lambda: z,
            "bias": lambda: z + bias,
            "scaled": lambda: z * scale + bias,
            "masked": lambda: lt.where(bias > -0.2, z, float("-inf")),
            "halves": lambda: z / scale,
        }[made_of]()
        kth = lt.topk(x, 17)[0][16]
        return lt.Outputs(reach=lt.count(x >= kth), above=lt.count(x > kth), used=lt.sum(bias) + scale)

    hidden, weight = (a.astype(np.float32) for a in pair((300,), hidden=24, vocab=777))
    rng = np.random.default_rng(3)
    given = {
        "bias": rng.standard_normal(777).astype(np.float32),
        "scale": rng.uniform(0.1, 3, 300).astype(np.float32),
    }
    found = lt.jit(counted)(hidden, weight, **given)
    np.testing.assert_array_equal(found.reach, np.full(300, 17))
    np.testing.assert_array_equal(found.above, np.full(300, 16))


def test_places_and_lists_of_one_value_share_its_list():
    @lt.loss
    def both(z: lt.Logits):
        values, indices = lt.topk(z, 6)
        kept = z >= values[3]
        logsumexp = lt.logsumexp(lt.where(kept, z, float("-inf")))
        return lt.Outputs(lse=logsumexp, first=indices[0], values=values, indices=indices)

    hidden, weight = singles((50,), vocab=400)
    found = lt.jit(both)(hidden, weight)
    values, indices = torch.tensor(hidden @ weight.T).topk(6)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.first, indices[:, 0])
    np.testing.assert_allclose(found.values, values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.lse, values[:, :4].logsumexp(1), rtol=1e-5, atol=1e-6)
    assert lt.jit(both).explain(hidden, weight, grad=()).forward_sweeps == 2


@pytest.mark.parametrize(("place", "why"), [
    (3, "of 'values' got 3, but the list has 3 places; it takes -3 to 2"),
    (-4, "of 'values' got -4, but the list has 3 places; it takes -3 to 2"),
    (1.0, "of 'values', a list, got the float 1.0; it takes a Python integer, known while tracing"),
    (slice(2), "of 'values', a list, got a slice; it takes a Python integer, known while tracing"),
])  # fmt: skip
def test_a_place_is_an_integer_of_the_list(place, why):
    def loss(z: lt.Logits):
        values, _ = lt.topk(z, 3)
        return values[place]

    message = refusal(loss)
    assert "'[...]' " + why in message and "test_topk.py" in message


# ---- what is refused -----------------------------------------------------------------------------


def refusal(body, error=lt.SpecError):
    hidden, weight = singles()
    with pytest.raises(error) as caught:
        lt.jit(lt.loss(body))(hidden, weight)
    return str(caught.value)


def test_k_is_an_integer_between_one_and_the_vocabulary():
    for k, why in (
        (0, "'lt.topk' got k=0; it takes 1 to 1024"),
        (1025, "'lt.topk' got k=1025; it takes 1 to 1024"),
        (14, "'lt.topk' got k=14, but the vocabulary has 13 entries; take no more"),
        (2.0, "'lt.topk' got k=2.0; it takes a Python integer, known while tracing"),
        (True, "'lt.topk' got k=True; it takes a Python integer, known while tracing"),
    ):
        message = refusal(_returning(lambda values: lt.Outputs(values=values), k))
        assert why in message and "test_topk.py" in message


SPEC = """\
logitile.loss @read vocab 10 outputs ["loss", "values"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input vocab "b" : f32
  %2 = logitile.reduce top %0 places 2 : f32 -> f32
  %3 = logitile.reduce argtop %0 places 2 : f32 -> i32
  %4 = logitile.gather %1[%3] : f32
  %5 = logitile.gather %0[%3] : f32
  %6 = arith.mulf %5, %4 : f32
  %7 = logitile.sum_list %6 : f32
  logitile.yield %7, %2 : f32, f32
}
"""


def test_what_computes_with_values_reads_the_entries_at_the_indices():
    @lt.loss
    def read(z: lt.Logits, b: lt.Vocab[float]):
        values, indices = lt.topk(z, 2)
        return lt.Outputs(loss=lt.sum(values * b[indices]), values=values)

    assert traced(read).text(locations=False) == SPEC


@lt.loss
def read_in_many_ways(z: lt.Logits, target: lt.Token[int], *, k: int = 3):
    values, indices = lt.topk(lt.log_softmax(z), k)
    is_target = indices == target
    loss = lt.sum(lt.where(is_target & lt.valid(indices), values, lt.square(values))) - lt.exp(values[0])
    return lt.Outputs(loss=loss, scaled=values * 2, is_target=is_target)


@pytest.mark.contract("1 gradients of lists")
@pytest.mark.parametrize("k", [1, 3, VOCAB])
def test_the_reference_has_the_gradient_of_torch(k):
    hidden, weight = (torch.tensor(array, requires_grad=True) for array in pair((2, 5)))
    target = torch.arange(10).reshape(2, 5)
    head = lt.jit(read_in_many_ways, reduction="none", backend="reference", k=k)
    found = head.reference(hidden.detach(), weight.detach(), target=target)
    up = {"loss": np.ones((2, 5))}
    gradients = head.reference_grad(hidden.detach(), weight.detach(), target=target, grad_output=up)[1]
    values, indices = torch.log_softmax(hidden @ weight.T, -1).topk(k)
    is_target = indices == target[..., None]
    loss = torch.where(is_target, values, values.square()).sum(-1) - values[..., 0].exp()
    loss.sum().backward()
    np.testing.assert_allclose(found.loss, loss.detach(), rtol=1e-12)
    np.testing.assert_allclose(found.scaled, 2 * values.detach(), rtol=1e-12)
    np.testing.assert_array_equal(found.is_target, is_target)
    np.testing.assert_allclose(gradients["hidden"], hidden.grad, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradients["weight"], weight.grad, rtol=1e-9, atol=1e-12)


def test_a_list_is_no_loss():
    assert "output 'loss' of 'loss' is a list of 2 numbers per token" in refusal(
        _returning(lambda values: lt.Outputs(loss=values))
    )
    assert "the loss of 'loss' is a list of 2 numbers per token" in refusal(_returning(lambda values: values))


def _returning(made, k=2):
    def loss(z: lt.Logits):
        return made(lt.topk(z, k)[0])

    return loss


def test_what_does_not_vary_has_no_order():
    def loss(z: lt.Logits):
        return lt.Outputs(values=lt.topk(lt.sum(z), 2)[0])

    assert "has nothing to put in order: it is the same for every vocabulary entry" in refusal(loss)


def test_a_gradient_of_lists_is_refused():
    hidden, weight = singles()
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(best).value_and_grad(hidden, weight, grad_output={"values": np.ones((5, 3), np.float32)})
    message = str(caught.value)
    assert "no gradient flows from 'best' to 'hidden' and 'weight'" in message
    assert re.search(r"nor do lists that are returned \(\S*test_topk\.py:\d+\)", message)
    assert message.endswith("compute the loss from them, for example with lt.sum")


@lt.loss
def with_loss(z: lt.Logits, target: lt.Token[int]):
    values, indices = lt.topk(lt.log_softmax(z), 4)
    return lt.Outputs(loss=lt.logsumexp(z) - z[target], values=values, indices=indices)


def test_a_gradient_of_one_list_is_refused_with_what_has_one():
    hidden, weight = singles()
    for name, message in (
        ("values", "is a list, which takes no gradient as an output; compute the loss from it in the loss "
         "itself, for example with lt.sum"),
        ("indices", "takes no gradient; 'loss' does"),
    ):  # fmt: skip
        with pytest.raises(lt.CallValueError) as caught:
            lt.jit(with_loss).value_and_grad(
                hidden, weight, target=np.zeros(5, int), grad_output={name: np.ones((5, 4), np.float32)}
            )
        assert str(caught.value) == f"output '{name}' of 'with_loss' {message}"


@lt.loss
def weighted_places(z: lt.Logits, factor: lt.Token[float, lt.K]):
    values, _ = lt.topk(lt.log_softmax(z), 3)
    return sum(factor[i] * values[i] for i in range(3))


def test_places_have_the_gradient_that_a_list_would_have():
    hidden, weight = (torch.tensor(array, requires_grad=True) for array in singles())
    factor = torch.tensor(np.random.default_rng(4).normal(size=(5, 3)), dtype=torch.float32)
    lt.jit(weighted_places, reduction="sum")(hidden, weight, factor=factor).backward()
    exact = [array.detach().double().requires_grad_() for array in (hidden, weight)]
    values = torch.log_softmax(exact[0] @ exact[1].T, -1).topk(3).values
    (values * factor).sum().backward()
    for found, wanted in zip((hidden, weight), exact, strict=True):
        torch.testing.assert_close(found.grad.double(), wanted.grad, rtol=1e-5, atol=1e-5)


def test_a_captured_graph_returns_lists():
    hidden, weight = (torch.tensor(array, requires_grad=True) for array in singles((2, 5)))
    head, target = lt.jit(with_loss), torch.arange(10).reshape(2, 5)
    plain = head(hidden, weight, target=target)
    step = torch.compile(lambda x: head(x, weight, target=target), fullgraph=True, backend="aot_eager")
    found = step(hidden)
    assert found.values.shape == (2, 5, 4) and not found.values.requires_grad
    assert torch.equal(found.indices, plain.indices) and torch.equal(found.values, plain.values)
    found.loss.backward()
    np.testing.assert_allclose(hidden.grad, torch.autograd.grad(plain.loss, hidden)[0], rtol=1e-6)


def test_torch_vmap_stacks_lists():
    hidden, weight = (torch.tensor(array) for array in singles((3, 5)))
    head = lt.jit(best)
    found, each = torch.vmap(lambda x: head(x, weight))(hidden), head(hidden, weight)
    assert torch.equal(found.indices, each.indices) and torch.equal(found.values, each.values)


def test_jax_returns_lists():
    jax = pytest.importorskip("jax")
    hidden, weight = (jax.numpy.asarray(array) for array in singles((2, 5)))
    head, target = lt.jit(with_loss), jax.numpy.arange(10).reshape(2, 5)
    plain = head(*singles((2, 5)), target=np.arange(10).reshape(2, 5))
    found = jax.jit(lambda x: head(x, weight, target=target))(hidden)
    assert found.values.shape == found.indices.shape == (2, 5, 4)
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-6)
    mapped = jax.vmap(lambda x: lt.jit(best)(x, weight))(hidden)
    np.testing.assert_array_equal(mapped.indices, plain.indices[..., :3])
    gradient = jax.grad(lambda x: head(x, weight, target=target).loss)(hidden)
    _, expected = head.value_and_grad(*singles((2, 5)), target=np.arange(10).reshape(2, 5))
    np.testing.assert_allclose(gradient, expected["hidden"], rtol=1e-5, atol=1e-7)


def test_a_captured_graph_computes_with_places():
    @lt.loss
    def third(z: lt.Logits):
        return lt.topk(z, 3)[0][2]

    hidden, weight = (torch.tensor(array, requires_grad=True) for array in singles((20,)))
    loss = torch.compile(lt.jit(third), fullgraph=True, backend="aot_eager")(hidden, weight)
    loss.backward()
    plain = (hidden @ weight.T).topk(3).values[:, 2].mean()
    np.testing.assert_allclose(loss.detach(), plain.detach(), rtol=1e-5)
    np.testing.assert_allclose(hidden.grad, torch.autograd.grad(plain, hidden)[0], rtol=1e-5, atol=1e-7)


def test_sums_over_segments_refuse_lists():
    hidden, weight = singles()
    with pytest.raises(lt.CallValueError, match="output 'values' is a list with 3 numbers per"):
        lt.jit(best)(hidden, weight, segments=lt.Segments.from_lengths([2, 3]))


# ---- what is compiled ----------------------------------------------------------------------------


def test_one_sweep_finds_log_probabilities():
    @lt.loss
    def loss(z: lt.Logits):
        values, indices = lt.topk(lt.log_softmax(z), 50)
        return lt.Outputs(values=values, indices=indices)

    arrays = lt.ShapeDtype((64, 16), "float32"), lt.ShapeDtype((1000, 16), "float32")
    explained = lt.jit(loss).explain(*arrays, grad=[])
    assert explained.forward_sweeps == 1


def test_code_does_not_grow_with_k():
    arrays = lt.ShapeDtype((64, 16), "float32"), lt.ShapeDtype((2000, 16), "float32")
    lengths = {k: len(lt.jit(best, k=k).ir("llvm", *arrays, grad=[])) for k in (4, 1024)}
    assert lengths[1024] < 1.05 * lengths[4]
