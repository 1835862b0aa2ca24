"""Lists of `lt.topk` on slices of the vocabulary, all of them in one process:
they are those of the whole.
"""

import backends
import logitile as lt
import numpy as np
import pytest
from test_slices import Slices

TOKENS, HIDDEN, VOCAB = 21, 6, 83
CUTS = [(0, VOCAB), (0, 41, VOCAB), (0, 41, 43, VOCAB)]  # the middle one is shorter than most lists
NAN, INF = float("nan"), float("inf")


@lt.loss
def best(z: lt.Logits, x: lt.Dense[float], *, k: int = 5):
    values, indices = lt.topk(z + x, k)
    return lt.Outputs(values=values, indices=indices)


@lt.loss
def rescored(z: lt.Logits, target: lt.Token[int], *, k: int = 5):
    """A list beside other state, and a sweep and a gradient that read places of it."""
    logprobs, indices = lt.topk(lt.log_softmax(z), k)
    kept = lt.where(z >= lt.topk(z, k)[0][-1], z, -INF)
    loss = lt.logsumexp(z) - z[target] + lt.logsumexp(kept)
    return lt.Outputs(loss=loss, logprobs=logprobs, indices=indices, second=z[indices[1]])


@lt.loss
def read(z: lt.Logits, b: lt.Vocab[float], *, k: int = 5):
    """A loss of the whole list: its values, which have a gradient, and others at its indices."""
    values, indices = lt.topk(3.0 * lt.tanh((z + b) / 3.0), k)
    loss = lt.sum(lt.square(values) * b[indices]) + lt.logsumexp(z)
    return lt.Outputs(loss=loss, values=values, indices=indices)


def operands(seed=0, leading=(TOKENS,), vocab=VOCAB):
    """Small integers: logits are exact, and many are equal."""
    rng = np.random.default_rng(seed)
    shapes = (*leading, HIDDEN), (vocab, HIDDEN)
    return [rng.integers(-2, 3, size=shape).astype(np.float32) for shape in shapes]


def difficult(tokens=TOKENS, vocab=VOCAB):
    """Rows with NaN, infinities and fewer finite entries than a list has places."""
    x = np.zeros((tokens, vocab), np.float32)
    x[1] = -INF
    x[2, :70] = -INF
    x[3, [5, 41, 42, 82]] = NAN
    x[4, [40, 43]] = INF
    x[5] = NAN
    x[6, 41:43] = 100
    x[7, 41:43] = -INF
    return x


def assert_bits(found, whole):
    for mine, expected in zip(found, whole, strict=True):
        mine, expected = np.asarray(mine), np.asarray(expected)
        assert mine.dtype == expected.dtype and mine.shape == expected.shape
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.contract("5 lists of slices")
@pytest.mark.emulated
@pytest.mark.parametrize("k", [1, 5, 60])
def test_lists_are_those_of_the_whole(k):
    hidden, weight = operands()
    head = backends.jit(best, k=k)
    given = {"z": (hidden, weight), "x": difficult()}
    whole = head(**given)
    for cuts in CUTS:
        assert_bits(head.finish(Slices(head, cuts, given).state()), whole)


@pytest.mark.contract("5 lists of slices")
def test_the_order_of_merges_does_not_matter():
    hidden, weight = operands(1)
    head, given = lt.jit(best, k=7), {"z": (hidden, weight), "x": difficult()}
    first, second, third, last = Slices(head, (0, 20, 41, 43, VOCAB), given).swept()
    whole = head(**given)
    for states in (
        [last, third, second, first],
        [lt.merge([third, first]), lt.merge([second, last])],
        [lt.merge([lt.merge([last, first]), third]), second],
    ):
        assert_bits(head.finish(lt.merge(states)), whole)


@pytest.mark.contract("5 lists of slices")
@pytest.mark.emulated
def test_a_loss_computes_with_places():
    """Beside a sum, with ignored tokens and several leading dimensions; gradients too."""
    hidden, weight = operands(2, (3, 7))
    target = np.random.default_rng(3).integers(0, VOCAB, size=(3, 7))
    target[0, 2] = target[2, 6] = -100
    head = backends.jit(rescored, k=6)
    given = {"z": (hidden, weight), "target": target}
    up = {"loss": 1.0, "second": 0.5 + 0 * hidden[..., 0]}
    whole, gradients = head.value_and_grad(**given, grad_output=up)
    for cuts in CUTS:
        slices = Slices(head, cuts, given)
        state = slices.state(wrt=("hidden", "weight"), grad_output=up)
        found = head.finish(state)
        np.testing.assert_array_equal(found.indices, whole.indices)
        np.testing.assert_allclose(found.logprobs, whole.logprobs, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.loss, whole.loss, rtol=1e-6)
        np.testing.assert_array_equal(found.second, whole.second)
        for name, gradient in slices.gradients(state, grad_output=up).items():
            np.testing.assert_allclose(gradient, gradients[name], rtol=1e-5, atol=1e-6)


@pytest.mark.contract("5 lists of slices", "1 gradients of lists")
@pytest.mark.emulated
@pytest.mark.parametrize("k", [1, 6])
def test_a_loss_reads_the_whole_list(k):
    hidden, weight = operands(2)
    head = backends.jit(read, k=k)
    given = {"z": (hidden, weight), "b": np.random.default_rng(3).normal(size=VOCAB).astype(np.float32)}
    whole, gradients = head.value_and_grad(**given, wrt=("hidden", "weight", "b"))
    for cuts in CUTS:
        slices = Slices(head, cuts, given)
        state = slices.state(wrt=("hidden", "weight", "b"))
        found = head.finish(state)
        np.testing.assert_array_equal(found.indices, whole.indices)
        np.testing.assert_array_equal(found.values, whole.values)
        np.testing.assert_allclose(found.loss, whole.loss, rtol=1e-6)
        for name, gradient in slices.gradients(state).items():
            np.testing.assert_allclose(gradient, gradients[name], rtol=1e-5, atol=1e-6)


@lt.loss
def squared(z: lt.Logits, ids: lt.Token[int, lt.K]):
    return lt.Outputs(loss=lt.logsumexp(z), squares=lt.square(z[ids]))


def test_lists_that_slices_do_not_take():
    hidden, weight = operands(2, vocab=200)
    with pytest.raises(lt.CallValueError) as caught:
        bias = np.zeros(90, np.float32)
        lt.jit(read, k=129).partial(hidden, weight[:90], b=bias, column_offset=0, vocab_size=200)
    place, _, message = str(caught.value).partition(": ")
    assert "test_sliced_lists.py" in place and message == (
        "'read' computes with a list of 129 numbers per token; slices of the vocabulary take lists of at "
        "most 128: take a shorter list, or the whole vocabulary in one call"
    )
    with pytest.raises(lt.CallValueError) as caught:
        ids = np.zeros((TOKENS, 3), int)
        lt.jit(squared).partial(hidden, weight[:90], ids=ids, column_offset=0, vocab_size=200)
    place, _, message = str(caught.value).partition(": ")
    assert "test_sliced_lists.py" in place and message == (
        "the output 'squares' of 'squared' is a list that is computed, which slices of the vocabulary do not "
        "give; add it up with lt.sum, or compute it after the call"
    )


@pytest.mark.contract("5 lists of slices")
def test_top_logprobs():
    hidden, weight = np.random.default_rng(4).normal(size=(2, VOCAB, HIDDEN)).astype(np.float32)
    head, given = lt.jit(lt.losses.top_logprobs, k=50), {"z": (hidden[:TOKENS], weight)}
    whole = head(**given)
    for cuts in CUTS:
        found = head.finish(Slices(head, cuts, given).state())
        np.testing.assert_array_equal(found.index, whole.index)
        np.testing.assert_allclose(found.logprob, whole.logprob, rtol=1e-6)


SAMPLES = {
    "top_k": ({"top_k": 7}, {}),
    "top_p": ({}, {"top_p": 0.8}),
    "all": ({}, {"top_p": 0.9, "temperature": 0.7, "min_p": 0.01, "k": np.arange(TOKENS) % 9}),
}


@pytest.mark.contract("5 lists of slices")
@pytest.mark.parametrize("name", SAMPLES)
def test_entries_that_are_drawn(name):
    constants, more = SAMPLES[name]
    hidden, weight = np.random.default_rng(5).normal(size=(2, VOCAB, HIDDEN)).astype(np.float32)
    head = lt.jit(lt.losses.sample, **constants)
    given = {"z": (hidden[:TOKENS], weight), "seed": 3, **more}
    whole = head(**given)
    for cuts in CUTS:
        found = head.finish(Slices(head, cuts, given).state())
        np.testing.assert_array_equal(found.index, whole.index)
        np.testing.assert_allclose(found.processed_logprob, whole.processed_logprob, rtol=1e-5, atol=1e-6)


# ---- states --------------------------------------------------------------------------------------


def test_what_a_slice_sends():
    """In order, by the index in the vocabulary; after the last entry is none."""
    hidden, weight = operands(6)
    head = lt.jit(best, k=5)
    given = {"z": (hidden, weight), "x": difficult()}
    state = Slices(head, CUTS[2], given).swept()[1]
    values, indices = (state.arrays()[f"forward0.list0.{name}"] for name in ("values", "indices"))
    assert values.shape == indices.shape == (TOKENS, 5)
    assert set(np.unique(indices)) == {-1, 41, 42}
    np.testing.assert_array_equal(indices[:, 2:], -1)
    np.testing.assert_array_equal(values[:, 2:], -INF)
    text = r"has shape \[21, 4\], but the leading dimensions of hidden are \[21\] and its list has 5 places"
    with pytest.raises(lt.CallValueError, match="'forward0.list0.values' " + text):
        state.with_arrays({**state.arrays(), "forward0.list0.values": values[:, :4]}, [(0, 41)])


def test_no_token():
    hidden, weight = operands(7, (0,))
    head = lt.jit(best, k=5)
    slices = Slices(head, CUTS[1], {"z": (hidden, weight), "x": np.zeros((0, VOCAB), np.float32)})
    found = head.finish(slices.state())
    assert found.values.shape == found.indices.shape == (0, 5)
