"""Refusals of types and indices that do not meet, with their full text."""

import os
import pathlib

import logitile as lt
import pytest
from tracing import traced

FILE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    """Paths in errors are relative to the current directory."""
    monkeypatch.chdir(pathlib.Path(__file__).parent)


# ---- types ---------------------------------------------------------------------------------------


@pytest.mark.contract("1 no mixing")
@pytest.mark.parametrize(("use", "text"), [
    (lambda z, i, m: z + i, "'+' mixes the float 'z' and the integer 'i'; convert with lt.to_float(i)"),
    (lambda z, i, m: i * 0.5, "'*' mixes the integer 'i' and the float 0.5; convert with lt.to_float(i)"),
    (lambda z, i, m: z > i, "'>' mixes the float 'z' and the integer 'i'; convert with lt.to_float(i)"),
    (lambda z, i, m: z * m, "'*' mixes the float 'z' and the bool 'm'; convert with lt.to_float(m)"),
    (lambda z, i, m: z * True, "'*' mixes the float 'z' and the bool True; write the number as the other "
     "operand's type"),
    (lambda z, i, m: i + lt.argmax(z) + 1.5, "'+' mixes the result of '+' (PLACE), an integer and the float "
     "1.5; convert the integer or bool with lt.to_float"),
    (lambda z, i, m: lt.where(m, z, i), "'lt.where' mixes the float 'z' and the integer 'i'; convert with "
     "lt.to_float(i)"),
    (lambda z, i, m: lt.where(z, z, z), "'lt.where' takes bools, got the float 'z'; compare it first, for "
     "example x > 0"),
    (lambda z, i, m: z & m, "'&' takes bools, got the float 'z'; compare it first, for example x > 0"),
    (lambda z, i, m: ~i, "'~' takes bools, got the integer 'i'; compare it first, for example x > 0"),
    (lambda z, i, m: i / i, "'/' of integers such as the integer 'i' would round; convert with lt.to_float "
     "first"),
    (lambda z, i, m: i**2, "'**' of integers such as the integer 'i' would round; convert with lt.to_float "
     "first"),
    (lambda z, i, m: m + m, "'+' has no meaning for bools such as the bool 'm'; use &, | and ~, or "
     "lt.where, or convert with lt.to_float"),
    (lambda z, i, m: m < m, "'<' has no meaning for bools such as the bool 'm'; use ==, !=, &, | and ~"),
    (lambda z, i, m: -m, "'-' takes floats, got the bool 'm'; convert it with lt.to_float"),
    (lambda z, i, m: abs(i), "'lt.abs' takes floats, got the integer 'i'; convert it with lt.to_float"),
    (lambda z, i, m: lt.exp(i), "'lt.exp' takes floats, got the integer 'i'; convert it with lt.to_float"),
    (lambda z, i, m: lt.softmax(m), "'lt.softmax' takes floats, got the bool 'm'; convert it with "
     "lt.to_float"),
    (lambda z, i, m: lt.sum(m), "'lt.sum' takes floats, got the bool 'm'; count it with lt.count, or use "
     "lt.any, lt.all"),
    (lambda z, i, m: lt.count(z), "'lt.count' takes bools, got the float 'z'; compare it first, for example "
     "x > 0"),
    (lambda z, i, m: lt.max(lt.column()), "'lt.max' takes floats, got the result of 'lt.column' (PLACE), an "
     "integer; convert it with lt.to_float"),
    (lambda z, i, m: lt.maximum(m, m), "'lt.maximum' takes numbers, got the bool 'm'; use & and | for bools"),
    (lambda z, i, m: lt.clamp(m, False, True), "'lt.clamp' takes floats, got the bool 'm'; convert it with "
     "lt.to_float"),
    (lambda z, i, m: lt.stop_gradient(i), "'lt.stop_gradient' takes floats, got the integer 'i'; convert it "
     "with lt.to_float"),
    (lambda z, i, m: z + None, "'+' got None; an optional input that is absent is None: test it with 'is "
     "None' before using it"),
    (lambda z, i, m: z == "x", "'==' got 'x' of type str; it takes traced values and Python numbers"),
    (lambda z, i, m: z + 1e40, "the constant 1e+40 is too large for fp32 (about 3.4e38); use float('inf')"),
    (lambda z, i, m: i + 2**31, "the constant 2147483648 does not fit in 32 bits"),
    (lambda z, i, m: lt.valid(i + 1), "'lt.valid' takes an lt.Token[int] input or one of its entries, got "
     "the result of '+' (PLACE), an integer"),
    (lambda z, i, m: lt.valid(m), "'lt.valid' takes an lt.Token[int] input or one of its entries, got the "
     "bool 'm'"),
    (lambda z, i, m: lt.valid(3), "'lt.valid' takes an lt.Token[int] input or one of its entries, got the "
     "integer 3"),
])  # fmt: skip
def test_types(use, text):
    @lt.loss
    def loss(z: lt.Logits, i: lt.Token[int], m: lt.Vocab[bool]):
        return use(z, i, m)

    with pytest.raises(lt.SpecError) as caught:
        traced(loss)
    place, _, message = str(caught.value).partition(": ")
    assert message == text.replace("PLACE", place)
    assert place == f"{FILE}:{use.__code__.co_firstlineno}"


# ---- indices -------------------------------------------------------------------------------------

WANTS = "it takes one integer per token, such as a target: the vocabulary axis is implicit and cannot be cut"


@pytest.mark.contract("1 pick")
@pytest.mark.parametrize(("use", "text"), [
    (lambda z, t: z[1:3], f"'[...]' of 'z' got a slice; {WANTS}"),
    (lambda z, t: z[:], f"'[...]' of 'z' got a slice; {WANTS}"),
    (lambda z, t: z[0, 1], f"'[...]' of 'z' got a tuple; {WANTS}"),
    (lambda z, t: z[[0, 1]], f"'[...]' of 'z' got a list; {WANTS}"),
    (lambda z, t: z[None], f"'[...]' of 'z' got None; {WANTS}"),
    (lambda z, t: z[...], f"'[...]' of 'z' got Ellipsis; {WANTS}"),
    (lambda z, t: z[1.0], f"'[...]' of 'z' got the float 1.0; {WANTS}"),
    (lambda z, t: z[lt.max(z)], "'[...]' of 'z' got the result of 'lt.max' (PLACE), a float; it takes one "
     "integer per token, such as a target"),
    (lambda z, t: z[10], "'[...]' of 'z' got 10; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[-1], "'[...]' of 'z' got -1; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[True], "'[...]' of 'z' got True; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[t[2]], "'t'[2] does not exist: the input has 2 entries per token"),
    (lambda z, t: z[t[0.5]], "an entry of 't' is chosen with a Python int, known while tracing, not "
     "with 0.5"),
    (lambda z, t: z[t[lt.argmax(z)]], "an entry of 't' is chosen with a Python int, known while tracing, "
     "not with <the result of 'lt.argmax' (PLACE): i32, one per token>"),
    (lambda z, t: z[t + 1], "'[...]' of 'z' got the result of '+' (PLACE), a list that was computed; a list "
     "of indices is an input, or what 'lt.topk' gives: compute it before the call"),
    (lambda z, t: (t + 1)[0], "the result of '+' (PLACE) is a list of 2 numbers per token that was computed; "
     "'[...]' takes single entries of an input, and entries of values that vary along the vocabulary"),
    (lambda z, t: z * lt.to_float(t), "'z' varies along the vocabulary and the result of "
     "'lt.to_float' (PLACE) is a list of 2 numbers per token; pick the entries first that belong to the "
     "list, with value[indices]"),
    (lambda z, t: lt.max(lt.to_float(t)), "'lt.max' of the result of 'lt.to_float' (PLACE) goes over the "
     "vocabulary, but this is a list of 2 numbers per token; lt.sum and lt.mean go over its places"),
    (lambda z, t: lt.any(lt.valid(t)), "'lt.any' of the result of a comparison (PLACE) goes over the "
     "vocabulary, but this is a list of 2 numbers per token; add it up with lt.sum(lt.to_float(x))"),
    (lambda z, t: lt.sum(t), "'lt.sum' takes floats, got the integer 't'; convert it with lt.to_float"),
    (lambda z, t: lt.logsumexp(z[t]), "'lt.logsumexp' of the result of 'lt.where' (PLACE) goes over the "
     "vocabulary, but this is a list of 2 numbers per token; lt.sum and lt.mean go over its places"),
    (lambda z, t: lt.uniform(t), "'lt.uniform' takes one integer per token as 'seed', but 't' is a list of "
     "2"),
    (lambda z, t: lt.topk(lt.to_float(t), 1), "'lt.topk' of the result of 'lt.to_float' (PLACE) goes over "
     "the vocabulary, but this is a list of 2 numbers per token"),
])  # fmt: skip
def test_indices(use, text):
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return use(z, t)

    with pytest.raises(lt.SpecError) as caught:
        traced(loss, entries=(("t", 2),))
    place, _, message = str(caught.value).partition(": ")
    assert message == text.replace("PLACE", place)
    assert place == f"{FILE}:{use.__code__.co_firstlineno}"
