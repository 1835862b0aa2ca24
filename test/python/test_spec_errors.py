"""Every refusal of a loss, with its full text: the user's file and line, what disagrees, what to do."""

import inspect
import math
import os
import pathlib

import numpy as np
import pytest
import torch

import logitile as lt
from logitile.definition import Specialisation

FILE = os.path.basename(__file__)
VOCAB = 10


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    """Paths in errors are relative to the current directory."""
    monkeypatch.chdir(pathlib.Path(__file__).parent)


def marked_line(function):
    """The line of a function's text that ends in '# <-'."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# <-"))


def traced(loss, **specialisation):
    return loss.trace(Specialisation(VOCAB, **specialisation))


def refused(function, message, error=lt.SpecError, **specialisation):
    """Asserts that tracing 'function' fails at its marked line with exactly this message."""
    with pytest.raises(error) as caught:
        traced(lt.loss(function), **specialisation)
    assert str(caught.value) == f"{FILE}:{marked_line(function)}: {message}"


# ---- what a loss returns -------------------------------------------------------------------------------------


def test_varying_loss():
    def loss(z: lt.Logits):
        scaled = z * 2.0  # <-
        return scaled

    refused(loss, "the loss of 'loss' varies along the vocabulary, but it must be one number per token; reduce 'scaled' with "
            "lt.sum, lt.mean or lt.logsumexp, or pick an entry with [index]")  # fmt: skip


def test_varying_output():
    def loss(z: lt.Logits):
        return lt.Outputs(
            loss=lt.logsumexp(z),
            probability=lt.softmax(z),  # <-
        )

    refused(loss, "output 'probability' of 'loss' varies along the vocabulary, but it must be one number per token; reduce "
            f"the result of 'lt.exp' ({FILE}:{marked_line(loss)}) with lt.sum, lt.mean or lt.logsumexp, or pick an entry "
            "with [index]")  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "the loss of 'loss' is None; end the function with 'return' and the value"),
        (0.5, "the loss of 'loss' is the Python number 0.5; it depends on no input; return a value that is computed from the logits"),
        ((1, 2), "the loss of 'loss' is a tuple; return several values by name: lt.Outputs(loss=..., entropy=...)"),
        ("x", "the loss of 'loss' is a str; return one traced value, or lt.Outputs(loss=...)"),
        (lt.Outputs(), "'loss' returns lt.Outputs without a field; name at least one value, such as loss=..."),
        (lt.Outputs(a=None), "output 'a' of 'loss' is None; end the function with 'return' and the value"),
    ],
)  # fmt: skip
def test_wrong_result(value, text):
    def loss(z: lt.Logits):  # <-
        return value

    refused(loss, text)


def test_integer_loss():
    def loss(z: lt.Logits):
        best = lt.argmax(z)  # <-
        return best

    refused(loss, "the loss of 'loss' is an integer, but it must be a float; convert it with lt.to_float")


def test_bool_weight():
    def loss(z: lt.Logits):
        x = lt.logsumexp(z)
        return lt.Outputs(loss=x, weight=x > 0)  # <-

    refused(loss, "output 'weight' of 'loss' is a bool, but it must be a float; convert it with lt.to_float")


def test_weight_without_loss():
    def loss(z: lt.Logits):  # <-
        return lt.Outputs(weight=lt.logsumexp(z))

    refused(loss, "'loss' returns a weight but no loss; 'weight' weighs the tokens in the mean of 'loss', so call it "
            "something else or add loss=...")  # fmt: skip


def test_output_name_with_underscore():
    def loss(z: lt.Logits):  # <-
        return lt.Outputs(_x=lt.logsumexp(z))

    refused(loss, "'loss' names an output '_x'; names of outputs start with a letter")


def test_entries_as_result():
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):  # <-
        return t

    refused(loss, "the loss of 'loss' is 't' with 2 entries per token; return one traced value, or lt.Outputs(loss=...)",
            entries=(("t", 2),))  # fmt: skip


@pytest.mark.parametrize("unused", [("a",), ("a", "b")])
def test_unused_parameters(unused):
    if unused == ("a",):

        def loss(z: lt.Logits, a: lt.Token[float]):  # <-
            return lt.logsumexp(z)

        refused(loss, "parameter 'a' of 'loss' does not reach any output; use it, or remove it")
    else:

        def loss(z: lt.Logits, a: lt.Token[float], b: lt.Scalar):  # <-
            dropped = a + b
            return lt.logsumexp(z) if dropped is not None else None

        refused(loss, "parameters 'a' and 'b' of 'loss' do not reach any output; use them, or remove them")


# ---- varying and uniform -------------------------------------------------------------------------------------


def test_varying_index():
    def loss(z: lt.Logits, temperature: lt.Vocab[int]):
        return z[temperature]  # <-

    refused(loss, "'temperature' varies along the vocabulary but '[...]' of 'z' needs one index per token; reduce it first, "
            "for example with lt.argmax")  # fmt: skip


@pytest.mark.parametrize("name", ["mean", "max", "logsumexp", "argmin"])
def test_reduction_of_a_uniform_value(name):
    def loss(z: lt.Logits, a: lt.Token[float]):
        reduced = getattr(lt, name)(a)  # <-
        return reduced + lt.mean(z)

    refused(
        loss,
        f"'lt.{name}' of 'a' reduces nothing: it is the same for every vocabulary entry; use it as it is",
    )


def test_sum_of_a_uniform_value():
    def loss(z: lt.Logits):
        twice = 2 * lt.logsumexp(z)
        return lt.sum(twice)  # <-

    refused(loss, "'lt.sum' of 'twice' reduces nothing: it is the same for every vocabulary entry; multiply it by "
            "lt.vocab_size() if that is meant")  # fmt: skip


def test_pick_from_a_uniform_value():
    def loss(z: lt.Logits, target: lt.Token[int]):
        lse = lt.logsumexp(z)
        return lse[target]  # <-

    refused(loss, "'lse' is one number per token and has no entries to pick with '[...]'; only values that vary along the "
            "vocabulary have, such as logits")  # fmt: skip


# ---- Python that would look at a number ----------------------------------------------------------------------

NO_TRUTH = (
    "has no truth value while the loss is traced: 'if', 'while', 'and', 'or', 'not', 'in', chained comparisons, max() and "
    "min() cannot look at it; use lt.where(condition, a, b), '&', '|', '~', lt.maximum and lt.minimum"
)  # fmt: skip


def test_if():
    def loss(z: lt.Logits, a: lt.Token[float]):
        positive = a > 0
        if positive:  # <-
            return lt.logsumexp(z)
        return lt.mean(z)

    refused(loss, f"'positive' {NO_TRUTH}")


def test_while():
    def loss(z: lt.Logits, a: lt.Token[bool]):
        while a:  # <-
            pass
        return lt.mean(z)

    refused(loss, f"'a' {NO_TRUTH}")


@pytest.mark.parametrize(("use", "name"), [
    (lambda a, b: a and b, "'a'"),
    (lambda a, b: a or b, "'a'"),
    (lambda a, b: not b, "'b'"),
    (lambda a, b: a in [b], "the result of a comparison (PLACE)"),
    (lambda a, b: max(a, b), "the result of a comparison (PLACE)"),
    (lambda a, b: 0 < a < b, "the result of a comparison (PLACE)"),
])  # fmt: skip
def test_boolean_operators(use, name):
    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float], b: lt.Token[float]):
        return lt.mean(z) * use(a, b)

    with pytest.raises(lt.SpecError) as caught:
        traced(loss)
    place = f"{FILE}:{use.__code__.co_firstlineno}"
    assert str(caught.value) == f"{place}: {name.replace('PLACE', place)} {NO_TRUTH}"


@pytest.mark.parametrize("convert", [float, math.exp, math.log])
def test_float(convert):
    def loss(z: lt.Logits):
        lse = lt.logsumexp(z)
        return convert(lse)  # <-

    refused(loss, "'lse' is no number while the loss is traced, so float() and the functions of 'math' cannot take it; use "
            "the functions of logitile, such as lt.exp")  # fmt: skip


def test_int():
    def loss(z: lt.Logits):
        lse = lt.logsumexp(z)
        return int(lse)  # <-

    refused(loss, "'lse' is no number while the loss is traced, so int() cannot take it; use lt.floor to round, or an "
            "lt.Token[int] input for integers")  # fmt: skip


@pytest.mark.parametrize("use", [range, lambda a: [1, 2][a]])
def test_python_index(use):
    def loss(z: lt.Logits, a: lt.Token[int]):
        return lt.mean(z) * use(a)

    with pytest.raises(lt.SpecError) as caught:
        traced(lt.loss(loss))
    assert str(caught.value).endswith("'a' is no Python int while the loss is traced, so range() and the indexing of lists cannot "
        "take it; pick an entry of the vocabulary with value[index], unroll over Python ints otherwise")  # fmt: skip


@pytest.mark.parametrize(("use", "text"), [
    (round, "cannot be rounded with round(); use lt.floor(x + 0.5)"),
    (math.floor, "cannot be taken by math.floor; use lt.floor"),
    (math.ceil, "cannot be taken by math.ceil; use -lt.floor(-x)"),
    (math.trunc, "cannot be taken by math.trunc; use lt.floor"),
    (complex, "is no number while the loss is traced, so complex() cannot take it; a loss is real"),
    (len, "has no len(): the vocabulary axis is implicit; lt.vocab_size() is its size"),
    (sum, "cannot be iterated: the vocabulary axis is implicit; use lt.sum, lt.max, lt.any and the other reductions instead of "
     "loops, sum(), max() and any()"),
    (list, "cannot be iterated: the vocabulary axis is implicit; use lt.sum, lt.max, lt.any and the other reductions instead "
     "of loops, sum(), max() and any()"),
])  # fmt: skip
def test_python_functions(use, text):
    def loss(z: lt.Logits):
        return use(z)  # <-

    refused(loss, f"'z' {text}")


@pytest.mark.parametrize(("use", "text"), [
    (lambda z: z // 2.0, "has no '//'; use lt.floor(a / b)"),
    (lambda z: 2.0 % z, "has no '%'; use a - b * lt.floor(a / b)"),
    (lambda z: z @ z, "has no '@': a loss sees one token, and the projection is done already; use lt.sum(a * b)"),
    (lambda z: True ^ z, "has no '^'; use a != b for bools"),
])  # fmt: skip
def test_missing_operators(use, text):
    with pytest.raises(lt.SpecError) as caught:
        traced(reduced_by_sum(use))
    assert str(caught.value) == f"{FILE}:{use.__code__.co_firstlineno}: 'z' {text}"


def reduced_by_sum(use):
    @lt.loss
    def loss(z: lt.Logits):
        return lt.sum(use(z))

    return loss


def test_item_assignment():
    def loss(z: lt.Logits, target: lt.Token[int]):
        z[target] = 0.0  # <-
        return lt.mean(z)

    refused(loss, "'z' cannot be changed in place; use lt.where(lt.column() == index, new, old)")


# ---- array libraries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("use", "text"), [
    (np.exp, "'numpy.exp' cannot take the traced 'z'; use lt.exp"),
    (np.sum, "'numpy.sum' cannot take the traced 'z'; use lt.sum"),
    (np.absolute, "'numpy.absolute' cannot take the traced 'z'; use lt.abs"),
    (lambda z: np.clip(z, 0, 1), "'numpy.clip' cannot take the traced 'z'; use lt.clamp"),
    (np.sort, "'numpy.sort' cannot take the traced 'z'; use the functions of logitile"),
    (np.asarray, "'z' is no array, so NumPy cannot take it; use the functions of logitile"),
    (torch.exp, "'torch.exp' cannot take the traced 'z'; use lt.exp"),
    (lambda z: torch.softmax(z, 0), "'torch.softmax' cannot take the traced 'z'; use lt.softmax"),
    (lambda z: torch.where(z, 1.0, 0.0), "'torch.where' cannot take the traced 'z'; use lt.where"),
    (lambda z: torch.stack([z, z]), "'torch.stack' cannot take the traced 'z'; use the functions of logitile"),
    (lambda z: torch.gather(z, 0, z), "'torch.gather' cannot take the traced 'z'; use value[index]"),
    (lambda z: np.ones(3) * z, "'*' got an array of numpy with shape [3]; a loss reads arrays through its parameters only: add "
     "one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: z + np.ones(3), "'+' got an array of numpy with shape [3]; a loss reads arrays through its parameters only: add "
     "one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: torch.ones(3) * z, "'*' got an array of torch with shape [3]; a loss reads arrays through its parameters only: "
     "add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: z - torch.ones(()), "'-' got an array of torch with shape []; a loss reads arrays through its parameters only: "
     "add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
])  # fmt: skip
def test_array_libraries(use, text):
    with pytest.raises(lt.SpecError) as caught:
        traced(reduced_by_sum(use))
    place, _, message = str(caught.value).partition(": ")
    assert message == text
    assert place.startswith(FILE)


def test_numpy_scalars_are_constants():
    @lt.loss
    def loss(z: lt.Logits):
        return np.float64(0.5) * lt.logsumexp(z) + lt.mean(z) ** np.float32(2) - np.int64(3)

    @lt.loss
    def same(z: lt.Logits):
        return 0.5 * lt.logsumexp(z) + lt.mean(z) ** 2.0 - 3

    body, other = (traced(x).text(locations=False).partition("{")[2] for x in (loss, same))
    assert body == other


# ---- types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("use", "text"), [
    (lambda z, i, m: z + i, "'+' mixes the float 'z' and the integer 'i'; convert with lt.to_float(i)"),
    (lambda z, i, m: i * 0.5, "'*' mixes the integer 'i' and the float 0.5; convert with lt.to_float(i)"),
    (lambda z, i, m: z > i, "'>' mixes the float 'z' and the integer 'i'; convert with lt.to_float(i)"),
    (lambda z, i, m: z * m, "'*' mixes the float 'z' and the bool 'm'; convert with lt.to_float(m)"),
    (lambda z, i, m: z * True, "'*' mixes the float 'z' and the bool True; write the number as the other operand's type"),
    (lambda z, i, m: i + lt.argmax(z) + 1.5, "'+' mixes the result of '+' (PLACE), an integer and the float 1.5; convert the "
     "integer or bool with lt.to_float"),
    (lambda z, i, m: lt.where(m, z, i), "'lt.where' mixes the float 'z' and the integer 'i'; convert with lt.to_float(i)"),
    (lambda z, i, m: lt.where(z, z, z), "'lt.where' takes bools, got the float 'z'; compare it first, for example x > 0"),
    (lambda z, i, m: z & m, "'&' takes bools, got the float 'z'; compare it first, for example x > 0"),
    (lambda z, i, m: ~i, "'~' takes bools, got the integer 'i'; compare it first, for example x > 0"),
    (lambda z, i, m: i / i, "'/' of integers such as the integer 'i' would round; convert with lt.to_float first"),
    (lambda z, i, m: i**2, "'**' of integers such as the integer 'i' would round; convert with lt.to_float first"),
    (lambda z, i, m: m + m, "'+' has no meaning for bools such as the bool 'm'; use &, | and ~, or lt.where, or convert with "
     "lt.to_float"),
    (lambda z, i, m: m < m, "'<' has no meaning for bools such as the bool 'm'; use ==, !=, &, | and ~"),
    (lambda z, i, m: -m, "'-' takes floats, got the bool 'm'; convert it with lt.to_float"),
    (lambda z, i, m: abs(i), "'lt.abs' takes floats, got the integer 'i'; convert it with lt.to_float"),
    (lambda z, i, m: lt.exp(i), "'lt.exp' takes floats, got the integer 'i'; convert it with lt.to_float"),
    (lambda z, i, m: lt.softmax(m), "'lt.softmax' takes floats, got the bool 'm'; convert it with lt.to_float"),
    (lambda z, i, m: lt.sum(m), "'lt.sum' takes floats, got the bool 'm'; count it with lt.count, or use lt.any, lt.all"),
    (lambda z, i, m: lt.count(z), "'lt.count' takes bools, got the float 'z'; compare it first, for example x > 0"),
    (lambda z, i, m: lt.max(lt.column()), "'lt.max' takes floats, got the result of 'lt.column' (PLACE), an integer; convert it "
     "with lt.to_float"),
    (lambda z, i, m: lt.maximum(m, m), "'lt.maximum' takes numbers, got the bool 'm'; use & and | for bools"),
    (lambda z, i, m: lt.clamp(m, False, True), "'lt.clamp' takes floats, got the bool 'm'; convert it with lt.to_float"),
    (lambda z, i, m: lt.stop_gradient(i), "'lt.stop_gradient' takes floats, got the integer 'i'; convert it with lt.to_float"),
    (lambda z, i, m: z + None, "'+' got None; an optional input that is absent is None: test it with 'is None' before using it"),
    (lambda z, i, m: z == "x", "'==' got 'x' of type str; it takes traced values and Python numbers"),
    (lambda z, i, m: z + 1e40, "the constant 1e+40 is too large for fp32 (about 3.4e38); use float('inf')"),
    (lambda z, i, m: i + 2**31, "the constant 2147483648 does not fit in 32 bits"),
    (lambda z, i, m: lt.valid(i + 1), "'lt.valid' takes an lt.Token[int] input or one of its entries, got the result of "
     "'+' (PLACE), an integer"),
    (lambda z, i, m: lt.valid(m), "'lt.valid' takes an lt.Token[int] input or one of its entries, got the bool 'm'"),
    (lambda z, i, m: lt.valid(3), "'lt.valid' takes an lt.Token[int] input or one of its entries, got the integer 3"),
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


# ---- indices -------------------------------------------------------------------------------------------------

WANTS = "it takes one integer per token, such as a target: the vocabulary axis is implicit and cannot be cut"


@pytest.mark.parametrize(("use", "text"), [
    (lambda z, t: z[1:3], f"'[...]' of 'z' got a slice; {WANTS}"),
    (lambda z, t: z[:], f"'[...]' of 'z' got a slice; {WANTS}"),
    (lambda z, t: z[0, 1], f"'[...]' of 'z' got a tuple; {WANTS}"),
    (lambda z, t: z[[0, 1]], f"'[...]' of 'z' got a list; {WANTS}"),
    (lambda z, t: z[None], f"'[...]' of 'z' got None; {WANTS}"),
    (lambda z, t: z[...], f"'[...]' of 'z' got Ellipsis; {WANTS}"),
    (lambda z, t: z[1.0], f"'[...]' of 'z' got the float 1.0; {WANTS}"),
    (lambda z, t: z[lt.max(z)], "'[...]' of 'z' got the result of 'lt.max' (PLACE), a float; it takes one integer per token, "
     "such as a target"),
    (lambda z, t: z[10], "'[...]' of 'z' got 10; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[-1], "'[...]' of 'z' got -1; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[True], "'[...]' of 'z' got True; it takes 0 to 9 (lt.vocab_size() - 1)"),
    (lambda z, t: z[t], "'t' has 2 entries per token, but '[...]' of 'z' needs one index per token; pick entry by entry, for "
     "example t[0]"),
    (lambda z, t: z[t[2]], "'t'[2] does not exist: the input has 2 entries per token"),
    (lambda z, t: z[t[0.5]], "an entry of 't' is chosen with a Python int, known while tracing, not with 0.5"),
    (lambda z, t: z[t[lt.argmax(z)]], "an entry of 't' is chosen with a Python int, known while tracing, not with <the result of "
     "'lt.argmax' (PLACE): i32, one per token>"),
    (lambda z, t: z[t + 1], "'t' stands for 2 entries per token, which is no number; use them one by one, for example "
     "[f(x) for x in t]"),
    (lambda z, t: 1 - t, "'t' stands for 2 entries per token, which is no number; use them one by one, for example "
     "[f(x) for x in t]"),
    (lambda z, t: lt.to_float(t), "'lt.to_float' got 't', which stands for 2 entries per token; use them one by one, for example "
     "t[0]"),
    (lambda z, t: lt.valid(t), "'lt.valid' got 't', which stands for 2 entries per token; use them one by one, for example t[0]"),
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


# ---- names ---------------------------------------------------------------------------------------------------


def test_unknown_function():
    def loss(z: lt.Logits):
        return lt.sum(lt.sofmax(z))  # <-

    refused(loss, "logitile has no 'sofmax'; did you mean 'softmax'?")
    assert not hasattr(lt, "sofmax")
    with pytest.raises(AttributeError, match="logitile has no 'zzzz'$"):
        _ = lt.zzzz


@pytest.mark.parametrize(("name", "text"), [
    ("exp", "'z' is a traced value, which has no attribute 'exp'; use lt.exp(x)"),
    ("shape", "'z' is a traced value, which has no attribute 'shape'"),
    ("softmx", "'z' is a traced value, which has no attribute 'softmx'; did you mean 'softmax'?"),
])  # fmt: skip
def test_unknown_attribute(name, text):
    def loss(z: lt.Logits):
        return getattr(z, name)()  # <-

    refused(loss, text)


def test_outputs_attribute():
    @lt.loss
    def inner(z: lt.Logits):
        return lt.Outputs(entropy=lt.mean(z))

    @lt.loss
    def loss(z: lt.Logits):
        return inner(z).entropi

    with pytest.raises(AttributeError) as caught:
        traced(loss)
    assert str(caught.value) == "this lt.Outputs has no field 'entropi'; did you mean 'entropy'?"


# ---- traces --------------------------------------------------------------------------------------------------


def test_value_of_another_trace():
    kept = []

    def first(z: lt.Logits):
        kept.append(lt.logsumexp(z))
        return kept[0]

    def second(z: lt.Logits):
        return lt.mean(z) + kept[0]  # <-

    traced(lt.loss(first))
    line = inspect.getsourcelines(first)[1] + 1
    refused(second, f"the result of 'lt.logsumexp' ({FILE}:{line}) comes from another trace (of 'first') and was kept until this "
            "trace of 'second'; a traced value lives only while its loss runs, so pass it on instead of storing it")  # fmt: skip


def test_result_of_another_trace():
    kept = []

    @lt.loss
    def first(z: lt.Logits):
        kept.append(lt.logsumexp(z))
        return kept[0]

    def second(z: lt.Logits):  # <-
        return kept[0]

    traced(first)
    refused(
        second,
        "the loss of 'second' comes from another trace (of 'first'); a traced value lives only while its loss runs",
    )


def test_functions_outside_of_a_loss():
    for use, name in (
        (lambda: lt.exp(1.0), "lt.exp"),
        (lambda: lt.column(), "lt.column"),
        (lambda: lt.vocab_size(), "lt.vocab_size"),
    ):
        with pytest.raises(lt.SpecError) as caught:
            use()
        line = use.__code__.co_firstlineno
        assert (
            str(caught.value) == f"{FILE}:{line}: '{name}' works inside a loss only, while logitile traces it"
        )


# ---- losses inside losses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("use", "text"), [
    (lambda z, a: inner(a, a), "'inner' takes 'z' as lt.Logits, got <'a': f32, one per token>"),
    (lambda z, a: inner(z, z), "'inner' takes 'a' as lt.Token[float], got <'z': f32, varying along the vocabulary>"),
    (lambda z, a: inner(z, "x"), "'inner' takes 'a' as lt.Token[float], got 'x' of type str"),
    (lambda z, a: inner(z), "'inner' cannot be called so: missing a required argument: 'a'"),
    (lambda z, a: inner(z, a, b=1), "'inner' cannot be called so: got an unexpected keyword argument 'b'"),
])  # fmt: skip
def test_wrong_call_of_an_inner_loss(use, text):
    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float]):
        return use(z, a)

    with pytest.raises(lt.SpecError) as caught:
        traced(loss)
    assert str(caught.value) == f"{FILE}:{use.__code__.co_firstlineno}: {text}"


@lt.loss
def inner(z: lt.Logits, a: lt.Token[float]):
    return lt.logsumexp(z) * a


def test_calling_a_loss_outside_of_a_trace():
    with pytest.raises(lt.CallTypeError) as caught:
        inner(1, 2)
    assert str(caught.value) == (
        "'inner' is a loss: it is traced, not called with arrays; write head = lt.jit(inner) and call "
        "head(hidden, weight, a=...)"
    )
