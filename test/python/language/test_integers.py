"""Integers that a loss computes saturate at 32 bits:
what does not fit comes round to no other number.
"""

import itertools

import logitile as lt
import numpy as np
import pytest

LEAST, MOST = -(2**31), 2**31 - 1
CORNERS = (
    0,
    1,
    -1,
    3,
    46340,
    46341,
    -46341,
    65536,
    -65536,
    2**30,
    -(2**30),
    MOST - 512,
    MOST,
    LEAST,
    715827883,
)
BACKENDS = ["cpu", "emu:sm_80"]


def near_the_limits(count):
    """Pairs whose products are 2**31 and a little more or less."""
    rng = np.random.default_rng(0)
    a = rng.integers(2, 2**20, count)
    b = (rng.choice([LEAST, -LEAST], count) + rng.integers(-600, 600, count)) // a
    return zip(a.tolist(), b.tolist(), strict=True)


PAIRS = [*itertools.product(CORNERS, CORNERS), *near_the_limits(1000)]
A, B = (np.array(column) for column in zip(*PAIRS, strict=True))


def limited(numbers):
    return np.array([min(max(number, LEAST), MOST) for number in numbers])


def each(function):
    """What a function of exact integers gives for each pair."""
    return limited([function(a, b) for a, b in PAIRS])


@lt.loss
def uniform(z: lt.Logits, a: lt.Token[int], b: lt.Token[int]):
    return lt.Outputs(
        sum=a + b, difference=a - b, product=a * b, negative=-a, tripled=3 * a, against=a * -7,
        more=a + 2**30, less=-(2**30) - a, least=a - LEAST, twice=a * 2000000000 * 2, best=lt.argmax(z),
    )  # fmt: skip


EXACT = {
    "sum": lambda a, b: a + b, "difference": lambda a, b: a - b, "product": lambda a, b: a * b,
    "negative": lambda a, b: -a, "tripled": lambda a, b: 3 * a, "against": lambda a, b: -7 * a,
    "more": lambda a, b: a + 2**30, "less": lambda a, b: -(2**30) - a, "least": lambda a, b: a - LEAST,
    "twice": lambda a, b: a * 2000000000 * 2,
}  # fmt: skip


@pytest.mark.contract("1 integers")
@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_of_a_token_saturate(backend):
    hidden, weight = np.ones((len(A), 4), np.float32), np.ones((8, 4), np.float32)
    head = lt.jit(uniform, backend=backend)
    for outputs in (head(hidden, weight, a=A, b=B), head.reference(hidden, weight, a=A, b=B)):
        for name, exact in EXACT.items():
            np.testing.assert_array_equal(getattr(outputs, name), each(exact), err_msg=name)


@lt.loss
def varying(z: lt.Logits, v: lt.Vocab[int], b: lt.Token[int]):
    return lt.Outputs(
        sum=lt.count(v + b < 0), difference=lt.count(v - b == MOST), product=lt.count(v * b > 0),
        columns=lt.count(lt.column() - b == MOST), best=lt.argmax(z),
    )  # fmt: skip


@pytest.mark.contract("1 integers")
@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_of_an_entry_saturate(backend):
    tokens, v = np.array(CORNERS), np.array(CORNERS)
    hidden, weight = np.ones((len(tokens), 4), np.float32), np.ones((len(v), 4), np.float32)

    def counted(holds):
        return [sum(holds(index, int(entry), int(b)) for index, entry in enumerate(v)) for b in tokens]

    expected = {
        "sum": counted(lambda i, v, b: v + b < 0),
        "difference": counted(lambda i, v, b: v - b >= MOST),
        "product": counted(lambda i, v, b: v * b > 0),
        "columns": counted(lambda i, v, b: i - b >= MOST),
    }
    head = lt.jit(varying, backend=backend)
    for outputs in (head(hidden, weight, v=v, b=tokens), head.reference(hidden, weight, v=v, b=tokens)):
        for name, counts in expected.items():
            np.testing.assert_array_equal(getattr(outputs, name), counts, err_msg=name)


@pytest.mark.contract("2 computed index")
@pytest.mark.parametrize("index", [
    lambda t: t * 2000000000 * 2,
    lambda t: lt.where(t > 0, t * 2000000000 * 2, 0),
    lambda t: lt.maximum(t * t, 0),
])  # fmt: skip
def test_an_index_that_is_too_large_is_no_entry(index):
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int]):
        return lt.logsumexp(z) - z[index(t)]

    hidden, weight, t = np.ones((3, 4), np.float32), np.ones((8, 4), np.float32), np.array([0, 0, 2**30])
    head = lt.jit(loss)
    for call in (head, head.value_and_grad, head.reference):
        with pytest.raises(lt.CallIndexError, match=f"{MOST}, outside the vocabulary of 8 entries"):
            call(hidden, weight, t=t)


def test_an_index_is_exact_where_a_step_is_too_large():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int]):
        return lt.logsumexp(z) - z[t * 2000000000 * 2 - MOST]  # the product would leave entry 0

    hidden, weight = np.ones((1, 4), np.float32), np.ones((8, 4), np.float32)
    for call in (lt.jit(loss), lt.jit(loss).reference):
        with pytest.raises(lt.CallIndexError, match=f"is {4000000000 - MOST}, outside the vocabulary of 8"):
            call(hidden, weight, t=np.array([1]))


def test_integers_that_cannot_be_too_large_cost_nothing():
    @lt.loss
    def loss(z: lt.Logits, v: lt.Vocab[int]):
        place = 1 + lt.count(z > 0.0) - lt.argmax(z)
        low = lt.minimum(lt.maximum(v, 0), 100)
        return lt.to_float(place + lt.count(lt.column() * 3 - 7 + low == 2 * low + lt.column()))

    text = lt.jit(loss).ir("spec", lt.ShapeDtype((5, 4), "float32"), lt.ShapeDtype((9, 4), "float32"),
                           v=lt.ShapeDtype((9,), "int64"), grad=())  # fmt: skip
    assert text.count("arith.muli") == 2 and "select" not in text and "cmpi slt" not in text
