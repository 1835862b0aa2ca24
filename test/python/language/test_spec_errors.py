"""Refusals of what a loss returns and of its use of varying and uniform values,
with their full text.
"""

import inspect
import os
import pathlib

import logitile as lt
import pytest
from tracing import marked_line, refused, traced

FILE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    """Paths in errors are relative to the current directory."""
    monkeypatch.chdir(pathlib.Path(__file__).parent)


# ---- what a loss returns -------------------------------------------------------------------------


@pytest.mark.contract("1 result")
def test_varying_loss():
    def loss(z: lt.Logits):
        scaled = z * 2.0  # <-
        return scaled

    refused(
        loss,
        "the loss of 'loss' varies along the vocabulary, but it must be one number per token; reduce "
        "'scaled' with lt.sum, lt.mean or lt.logsumexp, or pick an entry with [index]",
    )


def test_varying_output():
    def loss(z: lt.Logits):
        return lt.Outputs(
            loss=lt.logsumexp(z),
            probability=lt.softmax(z),  # <-
        )

    refused(
        loss,
        "output 'probability' of 'loss' varies along the vocabulary, but it must be one number per token; "
        f"reduce the result of 'lt.exp' ({FILE}:{marked_line(loss)}) with lt.sum, lt.mean or lt.logsumexp, "
        "or pick an entry with [index]",
    )


async def generator():
    yield


@pytest.mark.parametrize(("value", "text"), [
    (None, "the loss of 'loss' is None; end the function with 'return' and the value"),
    (0.5, "the loss of 'loss' is the Python number 0.5; it depends on no input; return a value that is "
     "computed from the logits"),
    ((1, 2), "the loss of 'loss' is a tuple; return several values by name: lt.Outputs(loss=..., "
     "entropy=...)"),
    ("x", "the loss of 'loss' is a str; return one traced value, or lt.Outputs(loss=...)"),
    (generator(), "the loss of 'loss' is an async_generator; return one traced value, or "
     "lt.Outputs(loss=...)"),
    (lt.Outputs(), "'loss' returns lt.Outputs without a field; name at least one value, such as loss=..."),
    (lt.Outputs(a=None), "output 'a' of 'loss' is None; end the function with 'return' and the value"),
])  # fmt: skip
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

    refused(
        loss,
        "'loss' returns a weight but no loss; 'weight' weighs the tokens in the mean of 'loss', so call it "
        "something else or add loss=...",
    )


def test_output_name_with_underscore():
    def loss(z: lt.Logits):  # <-
        return lt.Outputs(_x=lt.logsumexp(z))

    refused(
        loss,
        "'loss' names an output '_x'; names of outputs are those of Python's variables and start with a "
        "letter",
    )


def test_entries_as_result():
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):  # <-
        return t

    refused(
        loss,
        "the loss of 'loss' is a list of 2 numbers per token, but it must be one number per token; add it up "
        "with lt.sum, or give a list another name",
        entries=(("t", 2),),
    )


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


# ---- varying and uniform -------------------------------------------------------------------------


def test_varying_index():
    def loss(z: lt.Logits, temperature: lt.Vocab[int]):
        return z[temperature]  # <-

    refused(
        loss,
        "'temperature' varies along the vocabulary but '[...]' of 'z' needs one index per token; reduce it "
        "first, for example with lt.argmax",
    )


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

    refused(
        loss,
        "'lt.sum' of 'twice' reduces nothing: it is the same for every vocabulary entry; multiply it by "
        "lt.vocab_size() if that is meant",
    )


def test_pick_from_a_uniform_value():
    def loss(z: lt.Logits, target: lt.Token[int]):
        lse = lt.logsumexp(z)
        return lse[target]  # <-

    refused(
        loss,
        "'lse' is one number per token and has no entries to pick with '[...]'; only values that vary along "
        "the vocabulary have, such as logits",
    )


# ---- traces --------------------------------------------------------------------------------------


def test_value_of_another_trace():
    kept = []

    def first(z: lt.Logits):
        kept.append(lt.logsumexp(z))
        return kept[0]

    def second(z: lt.Logits):
        return lt.mean(z) + kept[0]  # <-

    traced(lt.loss(first))
    line = inspect.getsourcelines(first)[1] + 1
    why = (
        f"the result of 'lt.logsumexp' ({FILE}:{line}) comes from the trace of 'first', which is over: a "
        "traced value lives only while its loss runs, so pass it on instead of storing it"
    )
    refused(second, why)
    for use in (lambda: kept[0] + 1, lambda: lt.exp(kept[0]), lambda: -kept[0]):
        with pytest.raises(lt.SpecError) as caught:
            use()
        assert str(caught.value) == f"{FILE}:{use.__code__.co_firstlineno}: {why}"


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
        "the loss of 'second' comes from another trace (of 'first'); a traced value lives only while its "
        "loss runs",
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


# ---- losses inside losses ------------------------------------------------------------------------


AXIS = "the vocabulary is the only axis, so leave"


@pytest.mark.parametrize(("use", "text"), [
    (lambda z: lt.sum(z, axis=-1), f"'lt.sum' has no argument 'axis'; it takes 'x'; {AXIS} it out"),
    (lambda z: lt.logsumexp(z, dim=-1), f"'lt.logsumexp' has no argument 'dim'; it takes 'x'; {AXIS} it out"),
    (lambda z: lt.softmax(z, -1), f"'lt.softmax' got 2 arguments; it takes 'x'; {AXIS} the others out"),
    (lambda z: lt.softmax(z, temperature=2.0), "'lt.softmax' has no argument 'temperature'; it takes 'x'; "
     "divide first, as in lt.softmax(x / temperature)"),
    (lambda z: lt.max(z, 0.0), "'lt.max' got 2 arguments; it takes 'x'; of two values, take lt.maximum"),
    (lambda z: lt.clamp(z, lo=0.0, high=1.0), "'lt.clamp' has no argument 'lo'; it takes 'x', 'low' and "
     "'high'; did you mean 'low'?"),
    (lambda z: lt.clamp(z, 1.0), "'lt.clamp' needs 'high' as well; it takes 'x', 'low' and 'high'"),
    (lambda z: lt.clamp(z, 0.0, 1.0, x=z), "'lt.clamp' got 'x' twice, by position and by name; it takes 'x', "
     "'low' and 'high'"),
    (lambda z: lt.column(0), "'lt.column' got 1 arguments; it takes none"),
])  # fmt: skip
def test_arguments_that_a_function_does_not_take(use, text):
    def loss(z: lt.Logits):
        return lt.sum(use(z))

    with pytest.raises(lt.SpecError) as error:
        traced(lt.loss(loss))
    place, _, said = str(error.value).partition(": ")
    assert said == text and place == f"{FILE}:{use.__code__.co_firstlineno}"


def test_an_error_inside_of_a_function_stays_what_it_is():
    def loss(z: lt.Logits):
        return lt.where(z > 0.0, z, object())

    with pytest.raises(lt.SpecError, match="of type object"):
        traced(lt.loss(loss))


@pytest.mark.parametrize(("use", "text"), [
    (lambda z, a: inner(a, a), "'inner' takes 'z' as lt.Logits, got <'a': f32, one per token>"),
    (lambda z, a: inner(z, z), "'inner' takes 'a' as lt.Token[float], got <'z': f32, varying along the "
     "vocabulary>"),
    (lambda z, a: inner(z, "x"), "'inner' takes 'a' as lt.Token[float], got 'x' of type str"),
    (lambda z, a: inner(z), "'inner' cannot be called so: missing a required argument: 'a'"),
    (lambda z, a: inner_entries(z, [a]), "'inner_entries' takes 't' as lt.Token[float, 2], got [<'a': f32, "
     "one per token>] of type list"),
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


@lt.loss
def inner_entries(z: lt.Logits, t: lt.Token[float, 2]):
    return lt.logsumexp(z) * t[0] + t[1]


def test_calling_a_loss_outside_of_a_trace():
    with pytest.raises(lt.CallTypeError) as caught:
        inner(1, 2)
    assert str(caught.value) == (
        "'inner' is a loss: it is traced, not called with arrays; write head = lt.jit(inner) and call "
        "head(hidden, weight, a=...)"
    )
