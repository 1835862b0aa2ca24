"""Random numbers in the language: the generator of the reference, the text of a loss,
and what is refused.
"""

import logitile as lt
import numpy as np
import pytest
from inputs import arguments
from logitile.language.annotations import Annotation
from logitile.reference import philox
from tracing import traced

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(("counter", "key", "words"), [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
])  # fmt: skip
def test_the_reference_has_the_published_vectors(counter, key, words):
    """kat_vectors of Random123, rows "philox4x32 10"."""
    made = philox.philox([np.uint32(word) for word in counter], [np.uint32(word) for word in key])
    assert tuple(int(word) for word in made) == words


def test_four_columns_have_the_words_of_one_block():
    """Column c has word (c // 8) % 4, for the counter without these two bits of c."""
    columns = range(100, 200)
    drawn = philox.uniform(5, 6, 7, np.array(columns))
    for column, number in zip(columns, drawn, strict=True):
        word = philox.philox((column & ~24, 7, 0, 0), (5, 6))[column // 8 % 4]
        assert number == pytest.approx((int(word) + 0.5) / 2**32, rel=2.0**-22)


def test_a_word_becomes_a_number_between_0_and_1(monkeypatch):
    ends = {0: 2.0**-33, 1: 1.5 * 2.0**-32, ONES: 1 - 2.0**-24, 0xFFFFFF7F: 1 - 2.0**-24, 2**31: 0.5}
    for word, number in ends.items():
        monkeypatch.setattr(philox, "philox", lambda *_, word=word: (np.asarray(word, np.uint32),) * 4)
        assert philox.uniform(0, 0, 0, 0) == number


@lt.loss
def noisy(z: lt.Logits, seed: lt.Scalar[int], other: lt.Token[int]):
    return lt.logsumexp(z + lt.uniform(seed) * lt.uniform(seed, stream=other))


@pytest.mark.contract("1 random numbers")
def test_the_text_of_a_draw():
    lt.testing.filecheck(
        traced(noisy).text(),
        """
        CHECK: %z = logitile.input logits "z" : f32
        CHECK: %seed = logitile.input scalar "seed" : i32
        CHECK: %other = logitile.input token "other" : i32
        CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
        CHECK: %[[TOKEN:.*]] = logitile.input token_index : i32
        CHECK: %[[COLUMN:.*]] = logitile.column : i32
        CHECK: logitile.uniform %seed, %[[ZERO]], %[[TOKEN]], %[[COLUMN]] : f32
        CHECK: logitile.uniform %seed, %other, %[[TOKEN]], %[[COLUMN]] : f32
        CHECK-NOT: token_index
    """,
    )


@pytest.mark.contract("1 random numbers")
def test_values_and_gradients_take_the_numbers_for_constants():
    given = arguments(noisy, tokens=37, vocab=211, hidden=24)
    head = lt.jit(noisy)
    value, gradients = head.value_and_grad(**given)
    wanted, exact = head.reference_grad(**given)
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    for name, gradient in exact.items():
        error = np.linalg.norm(gradients[name] - gradient)
        assert error < 1e-5 * np.linalg.norm(gradient), name


def test_moments_and_neighbours():
    """2^20 numbers: mean and variance within five standard deviations,
    and no neighbours that go together.
    """
    at = np.arange(1024)[:, None], np.arange(1024)[None, :]
    u = philox.uniform(np.array(11), np.array(0), *at)
    count = u.size
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * count)
    assert abs(u.var() - 1 / 12) < 5 / np.sqrt(180 * count)
    centred = u - 0.5
    others = (centred[1:], centred[:-1]), *((centred[:, by:], centred[:, :-by]) for by in (1, 8, 16, 24))
    keys = (np.array(12), np.array(0)), (np.array(11), np.array(1))
    seeds = [philox.uniform(*key, *at) - 0.5 for key in keys]
    for a, b in (*others, *((centred, other) for other in seeds)):
        assert abs((a * b).mean() * 12) < 5 / np.sqrt(a.size)


# ---- refusals ------------------------------------------------------------------------------------


TAKES = "'lt.uniform' takes an integer as"
ADVICE = "annotate a parameter lt.Scalar[int] or lt.Token[int]"


@pytest.mark.parametrize(("use", "text"), [
    (lambda z, i, k: lt.uniform(0.5), f"{TAKES} 'seed', got the float 0.5; {ADVICE}"),
    (lambda z, i, k: lt.uniform(True), f"{TAKES} 'seed', got the bool True; {ADVICE}"),
    (lambda z, i, k: lt.uniform(z), f"{TAKES} 'seed', got the float 'z'; {ADVICE}"),
    (lambda z, i, k: lt.uniform(i, 0.5), f"{TAKES} 'stream', got the float 0.5; {ADVICE}"),
    (lambda z, i, k: lt.uniform(lt.column()), "'lt.uniform' takes one integer per token as 'seed', but "
     "the result of 'lt.column' (PLACE) varies along the vocabulary, whose entries have different numbers "
     "anyway"),
    (lambda z, i, k: lt.uniform(2**31), "the constant 2147483648 does not fit in 32 bits"),
    (lambda z, i, k: lt.uniform(), "'lt.uniform' needs 'seed' as well; it takes 'seed' and 'stream'"),
    (lambda z, i, k: z[k], "'[...]' of 'z' got the integer 'k', which is one for the whole call; annotate it "
     "lt.Token[int]"),
])  # fmt: skip
def test_what_a_loss_may_not_draw_from(use, text):
    @lt.loss
    def loss(z: lt.Logits, i: lt.Token[int], k: lt.Scalar[int]):
        return use(z, i, k) + lt.to_float(i + k) + z[0]

    with pytest.raises(lt.SpecError) as caught:
        traced(loss)
    place, _, message = str(caught.value).partition(": ")
    assert message == text.replace("PLACE", place)


@pytest.mark.contract("1 conversion")
@pytest.mark.parametrize(("seed", "kind", "text"), [
    (1.0, lt.CallTypeError, "'seed' is float64; lt.Scalar[int] takes "),
    (True, lt.CallTypeError,
     "'seed' is the bool True, but lt.Scalar[int] takes a number; pass 1 if that is meant"),
    (2**31, lt.CallValueError, "'seed' is 2147483648, but lt.Scalar[int] takes integers that fit in 32 bits"),
    (-(2**31) - 1, lt.CallValueError,
     "'seed' is -2147483649, but lt.Scalar[int] takes integers that fit in 32 bits"),
    (np.array(2**31), lt.CallValueError, "'seed' is 2147483648, which does not fit in 32 bits"),
    (np.uint64(2**63), lt.CallValueError, "'seed' is 9223372036854775808, which does not fit in 32 bits"),
    (np.float32(1), lt.CallTypeError, "'seed' is float32; lt.Scalar[int] takes "),
    (np.zeros(2, int), lt.CallValueError, "'seed' has shape [2]; lt.Scalar[int] needs []"),
    (None, lt.CallTypeError, "'seed' is missing: lt.Scalar[int], a number"),
])  # fmt: skip
@pytest.mark.parametrize("method", ["__call__", "reference"])
def test_a_seed_is_an_integer_of_32_bits(seed, kind, text, method):
    given = arguments(noisy, tokens=3, vocab=5) | {"seed": seed}
    with pytest.raises(kind) as caught:
        getattr(lt.jit(noisy), method)(**given)
    assert str(caught.value).startswith(text), str(caught.value)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_seed_has_any_width(dtype):
    given = arguments(noisy, tokens=3, vocab=5)
    whole = lt.jit(noisy)(**given | {"seed": 77})
    assert lt.jit(noisy)(**given | {"seed": np.array(77, dtype)}) == whole


def test_annotations():
    assert str(lt.Scalar[int]) == "lt.Scalar[int]" and lt.Scalar[float] == Annotation(lt.Scalar.kinds)
    assert str(lt.Scalar[int] | None) == "lt.Scalar[int] | None"
    with pytest.raises(TypeError, match="lt.Scalar\\[...\\] takes float or int, not bool"):
        lt.Scalar[bool]
    with pytest.raises(lt.SpecError, match="of inputs only lt.Scalar may be a float constant as well"):

        @lt.loss
        def number_or_seed(z: lt.Logits, *, seed: lt.Scalar[int] | float = 1.0):
            return lt.logsumexp(z)

    with pytest.raises(lt.SpecError, match="the only alternatives are lt.Scalar | lt.Token"):

        @lt.loss
        def two_kinds(z: lt.Logits, seed: lt.Scalar[int] | lt.Token[int]):
            return lt.logsumexp(z)
