"""Refusals of Python and of array libraries that would look at a traced number,
with their full text.
"""

import concurrent.futures
import copy
import math
import os
import pathlib
import sys

import logitile as lt
import numpy as np
import pytest
import torch
from logitile.reference.canonical import canonical
from tracing import marked_line, refused, traced

FILE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    """Paths in errors are relative to the current directory."""
    monkeypatch.chdir(pathlib.Path(__file__).parent)


def reduced_by_sum(use):
    """The loss lt.sum(use(z))."""

    @lt.loss
    def loss(z: lt.Logits):
        return lt.sum(use(z))

    return loss


# ---- Python that would look at a number ----------------------------------------------------------

NO_TRUTH = (
    "has no truth value while the loss is traced: 'if', 'while', 'and', 'or', 'not', 'in', chained "
    "comparisons, max() and min() cannot look at it; use lt.where(condition, a, b), '&', '|', '~', "
    "lt.maximum and lt.minimum"
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

    refused(
        loss,
        "'lse' is no number while the loss is traced, so float() and the functions of 'math' cannot take "
        "it; use the functions of logitile, such as lt.exp",
    )


def test_int():
    def loss(z: lt.Logits):
        lse = lt.logsumexp(z)
        return int(lse)  # <-

    refused(
        loss,
        "'lse' is no number while the loss is traced, so int() cannot take it; use lt.floor to round, or an "
        "lt.Token[int] input for integers",
    )


@pytest.mark.parametrize("use", [range, lambda a: [1, 2][a]])
def test_python_index(use):
    def loss(z: lt.Logits, a: lt.Token[int]):
        return lt.mean(z) * use(a)

    with pytest.raises(lt.SpecError) as caught:
        traced(lt.loss(loss))
    assert str(caught.value).endswith(
        "'a' is no Python int while the loss is traced, so range() and the indexing of lists cannot take "
        "it; pick an entry of the vocabulary with value[index], unroll over Python ints otherwise"
    )


@pytest.mark.parametrize(("use", "text"), [
    (round, "cannot be rounded with round(); use lt.floor(x + 0.5)"),
    (math.floor, "cannot be taken by math.floor; use lt.floor"),
    (math.ceil, "cannot be taken by math.ceil; use -lt.floor(-x)"),
    (math.trunc, "cannot be taken by math.trunc; use lt.floor"),
    (complex, "is no number while the loss is traced, so complex() cannot take it; a loss is real"),
    (len, "has no len(): the vocabulary axis is implicit; lt.vocab_size() is its size"),
    (sum, "cannot be iterated: the vocabulary axis is implicit; use lt.sum, lt.max, lt.any and the other "
     "reductions instead of loops, sum(), max() and any()"),
    (list, "cannot be iterated: the vocabulary axis is implicit; use lt.sum, lt.max, lt.any and the other "
     "reductions instead of loops, sum(), max() and any()"),
])  # fmt: skip
def test_python_functions(use, text):
    def loss(z: lt.Logits):
        return use(z)  # <-

    refused(loss, f"'z' {text}")


@pytest.mark.parametrize(("use", "text"), [
    (lambda z: z // 2.0, "has no '//'; use lt.floor(a / b)"),
    (lambda z: 2.0 % z, "has no '%'; use a - b * lt.floor(a / b)"),
    (lambda z: z @ z, "has no '@': a loss sees one token, and the projection is done already; use lt.sum(a "
     "* b)"),
    (lambda z: True ^ z, "has no '^'; use a != b for bools"),
    (lambda z: z << 1, "has no '<<'; multiply it by a power of two"),
    (lambda z: 1 >> z, "has no '>>'; use lt.floor(lt.to_float(a) / 2**b)"),
    (lambda z: divmod(2, z), "has no divmod(); use lt.floor(a / b) and a - b * lt.floor(a / b)"),
    (lambda z: pow(z, 2, 5), "has no pow() with a modulus; use a ** b"),
    (lambda z: f"{z:.3f}", "is no number while the loss is traced, so it cannot be formatted with '.3f'; "
     "print the value itself, which shows what it is"),
])  # fmt: skip
def test_missing_operators(use, text):
    with pytest.raises(lt.SpecError) as caught:
        traced(reduced_by_sum(use))
    assert str(caught.value) == f"{FILE}:{use.__code__.co_firstlineno}: 'z' {text}"


def test_item_assignment():
    def loss(z: lt.Logits, target: lt.Token[int]):
        z[target] = 0.0  # <-
        return lt.mean(z)

    refused(loss, "'z' cannot be changed in place; use lt.where(lt.column() == index, new, old)")


def test_attributes_of_values():
    def loss(z: lt.Logits):
        z.foo = 1  # <-
        return lt.mean(z)

    refused(loss, "'z' has no attributes that can be set, such as 'foo'; keep it in a variable instead")

    def other(z: lt.Logits):
        del z.index  # <-
        return lt.mean(z)

    refused(other, "'z' has no attributes that can be deleted, such as 'index'")


def test_deleted_entries():
    def loss(z: lt.Logits, target: lt.Token[int]):
        del z[target]  # <-
        return lt.mean(z)

    refused(loss, "'z' has no entries that can be deleted; use lt.where(lt.column() == index, new, old)")


def test_values_are_printed_and_copied():
    @lt.loss
    def loss(z: lt.Logits):
        assert f"{z}" == "<'z': f32, varying along the vocabulary>"
        assert copy.copy(z) is z and copy.deepcopy([z])[0] is z
        return lt.mean(z)

    traced(loss)


@pytest.mark.parametrize("use", [
    lambda z: z * 10**400, lambda z: 10**5000 - z, lambda z: lt.exp(10**400),
    lambda z: lt.maximum(z, -(10**400)), lambda z: z[10**400] + z, lambda z: lt.column() * 10**400,
])  # fmt: skip
def test_huge_integers(use):
    text = "got an integer of [0-9]+ bits, which neither a float nor an integer of a loss can hold; use float"
    with pytest.raises(lt.SpecError, match=text):
        traced(reduced_by_sum(use))


@pytest.mark.parametrize("use", [
    lambda t: t << 1, lambda t: t % 2, lambda t: 2 // t, lambda t: divmod(t, 2), lambda t: t & True,
    lambda t: ~t, lambda t: t @ t, float, int, abs, lambda t: f"{t:d}", lambda t: range(t), bool,
])  # fmt: skip
def test_entries_are_refused_as_values_are(use):
    texts = []
    for entries in ((("t", 2),), ()):
        kind = lt.Token[int, lt.K] if entries else lt.Token[int]

        def loss(z, t):
            return lt.mean(z) + use(t)

        loss.__annotations__ = {"z": lt.Logits, "t": kind}
        with pytest.raises(lt.SpecError) as caught:
            traced(lt.loss(loss), entries=entries)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_single_entries_have_a_limit():
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return lt.mean(z) + sum(z[k] for k in t)  # <-

    refused(
        loss,
        "'t' has 129 entries per token, and only up to 128 entries of an input are taken one by one; compute "
        "with the whole list, for example lt.sum(f(t))",
        entries=(("t", 129),),
    )


def test_lists_of_other_lengths():
    def loss(z: lt.Logits, t: lt.Token[float, lt.K], u: lt.Token[float, lt.K]):
        return lt.mean(z) + lt.sum(t * u)  # <-

    refused(
        loss,
        "'t' is a list of 2 numbers per token and 'u' one of 3; lists of one length can be computed with "
        "together",
        entries=(("t", 2), ("u", 3)),
    )


def test_an_input_is_a_list_or_single_entries():
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):  # <-
        return lt.sum(z[t]) + z[t[0]]

    refused(
        loss,
        "'loss' takes single entries of 't' and uses it as a list too; give it the array twice, as two "
        "parameters",
        entries=(("t", 2),),
    )


def test_entries_are_not_changed():
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        t[0] = 1  # <-
        return lt.mean(z)

    refused(
        loss,
        "'t' is an input, whose entries cannot be changed; make a list of it: list(t)",
        entries=(("t", 2),),
    )

    def other(z: lt.Logits, t: lt.Token[int, lt.K]):
        t.foo = 1  # <-
        return lt.mean(z)

    refused(
        other,
        "'t' has no attributes that can be set, such as 'foo'; keep it in a variable instead",
        entries=(("t", 2),),
    )


def test_another_thread():
    def loss(z: lt.Logits):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: lt.mean(z)).result()  # <-

    refused(
        loss,
        "'z' comes from the trace of 'loss', which runs in another thread: a loss is traced in one thread, "
        "so use its values in that one only",
    )


def test_another_trace():
    def loss(z: lt.Logits):
        @lt.loss
        def inner(y: lt.Logits):
            return lt.mean(y * z)  # <-

        return traced(inner)

    refused(
        loss,
        "'z' comes from the trace of 'loss', which has not ended: another loss is traced meanwhile, which "
        "has other values; call that loss with this value to make it a part",
    )


# ---- array libraries -----------------------------------------------------------------------------


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
    (lambda z: torch.stack([z, z]), "'torch.stack' cannot take the traced 'z'; use the functions of "
     "logitile"),
    (lambda z: torch.gather(z, 0, z), "'torch.gather' cannot take the traced 'z'; use value[index]"),
    (lambda z: np.ones(3) * z, "'*' got an array of numpy with shape [3]; a loss reads arrays through its "
     "parameters only: add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: z + np.ones(3), "'+' got an array of numpy with shape [3]; a loss reads arrays through its "
     "parameters only: add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: torch.ones(3) * z, "'*' got an array of torch with shape [3]; a loss reads arrays through "
     "its parameters only: add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
    (lambda z: z - torch.ones(()), "'-' got an array of torch with shape []; a loss reads arrays through "
     "its parameters only: add one annotated lt.Token, lt.Vocab, lt.Dense or lt.Scalar"),
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


# ---- names ---------------------------------------------------------------------------------------


def test_unknown_function():
    def loss(z: lt.Logits):
        return lt.sum(lt.sofmax(z))  # <-

    functions = "abs, all, any, argmax, argmin, clamp, column, cos, count, erf, exp, "
    with pytest.raises(lt.SpecError) as caught:
        lt.jit(lt.loss(loss))._bind(lt.ShapeDtype((2, 3), "float32"), lt.ShapeDtype((5, 3), "float32"))
    said = "logitile has no 'sofmax'; did you mean 'softmax'? The functions are " + functions
    assert said in str(caught.value)
    assert not hasattr(lt, "sofmax")
    with pytest.raises(AttributeError, match=f"'zzzz'; the functions of a loss are {functions}"):
        _ = lt.zzzz


@pytest.mark.parametrize(("name", "meant"), [
    ("cross_entropy", "losses.cross_entropy"), ("focall", "losses.focal"), ("Tokens", "Token"),
    ("jitt", "jit"),
])  # fmt: skip
def test_unknown_name_that_is_no_function(name, meant):
    with pytest.raises(AttributeError) as caught:
        getattr(lt, name)
    assert str(caught.value).endswith(f"logitile has no '{name}'; did you mean '{meant}'?")


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


# ---- depth ---------------------------------------------------------------------------------------

TOO_DEEP = (
    "'loss' nests more deeply than Python's recursion limit of 1000; a function that calls itself needs an "
    "end that does not depend on values of tokens, and a product of hundreds of exponentials is better "
    "written as one of their sum"
)


@pytest.fixture
def usual_depth():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def test_endless_recursion(usual_depth):
    def loss(z: lt.Logits):
        return again(z)  # <-

    again = lt.loss(loss)
    refused(loss, TOO_DEEP)


def test_a_product_nested_too_deeply_for_the_reference(usual_depth):
    @lt.loss
    def loss(z: lt.Logits):
        x = z
        for _ in range(600):
            x = x * lt.sigmoid(x)
        return x[0]  # <-

    with pytest.raises(lt.SpecError) as caught:
        canonical(traced(loss))
    assert str(caught.value) == (
        f"test_spec_error_python.py:{marked_line(loss.function)}: the reference of 'loss' nests more deeply "
        "than Python's recursion limit of 1000; write a product of hundreds of exponentials as one of their "
        "sum"
    )


def test_too_many_operations_one_after_the_other():
    def loss(z: lt.Logits):
        x = z
        for _ in range(1500):
            x = lt.tanh(x) + 1  # <-
        return lt.sum(x)

    refused(
        loss,
        "'loss' applies 2001 operations, each to the result of the one before; 2000 are the most: join the "
        "results of a long loop in pairs, or make the loop shorter",
    )


def test_weights_are_found_at_any_depth(usual_depth):
    @lt.loss
    def chosen(z: lt.Logits):
        x = lt.softmax(z)
        for _ in range(900):
            x = lt.where(x > 0.5, x, 2 * x)
        return lt.sum(x * z)

    spec = lt.jit(chosen)._bind(lt.ShapeDtype((2, 3), "float32"), lt.ShapeDtype((5, 3), "float32")).form.spec
    assert canonical(spec).ops[-2].name == "logitile.multiply_no_nan"


def test_recursion_with_an_end(usual_depth):
    @lt.loss
    def power(z: lt.Logits, *, n: int):
        return z[0] if n == 0 else power(z, n=n - 1) * z[n]

    shapes = lt.ShapeDtype((2, 3), "float32"), lt.ShapeDtype((5, 3), "float32")
    spec = lt.jit(power, n=3)._bind(*shapes).form.spec
    assert sum(op.name == "logitile.gather" for op in spec.ops) == 4
