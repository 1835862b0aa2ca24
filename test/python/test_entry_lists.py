"""Whole Token[..., K] inputs: what a loss with lists is traced to, and what is refused."""

import os
import pathlib

import logitile as lt
import numpy as np
import pytest
import torch
from tracing import traced

FILE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    """Paths in errors are relative to the current directory."""
    monkeypatch.chdir(pathlib.Path(__file__).parent)


@lt.loss
def sparse(z: lt.Logits, ids: lt.Token[int, lt.K], teacher: lt.Token[float, lt.K]):
    log_p = lt.log_softmax(z)[ids]
    return lt.sum(lt.where(lt.valid(ids), lt.exp(teacher) * (teacher - log_p), 0.0))


# ---- what is recorded --------------------------------------------------------------------------------------

SPARSE = """\
logitile.loss @sparse vocab 10 outputs ["loss"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "ids" places 64 : i32
  %2 = logitile.input token "teacher" places 64 : f32
  %3 = logitile.reduce logsumexp %0 : f32 -> f32
  %4 = arith.subf %0, %3 : f32
  %5 = logitile.gather %4[%1] : f32
  %6 = arith.constant 0x7FC00000 : f32
  %7 = arith.constant -100 : i32
  %8 = arith.cmpi ne, %1, %7 : i32
  %9 = arith.select %8, %5, %6 : f32
  %10 = math.exp %2 : f32
  %11 = arith.subf %2, %9 : f32
  %12 = arith.mulf %10, %11 : f32
  %13 = arith.constant 0.0 : f32
  %14 = arith.select %8, %12, %13 : f32
  %15 = logitile.sum_list %14 : f32
  logitile.yield %15 : f32
}
"""


@pytest.mark.contract("1 entry lists")
def test_spec_text():
    assert traced(sparse, entries=(("ids", 64), ("teacher", 64))).text(locations=False) == SPARSE


def test_operations_do_not_grow_with_k():
    few, many = (traced(sparse, entries=(("ids", k), ("teacher", k))) for k in (1, 4096))
    assert len(few.ops) == len(many.ops)


def test_places_of_operations():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[float, lt.K], s: lt.Token[float]):
        return lt.Outputs(loss=lt.mean(z) + lt.sum(t * s), scaled=t * s, big=(t > s) & ~lt.isnan(t), one=t[1])

    spec = traced(loss, entries=(("t", 3),))
    assert [(o.name, o.type, o.places) for o in spec.outputs] == [
        ("loss", "f32", None), ("scaled", "f32", 3), ("big", "i1", 3), ("one", "f32", None)
    ]  # fmt: skip
    assert not spec.topk_lists and spec.entry_lists == ("t",)


def test_a_mean_is_a_sum_divided_by_k():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[float, lt.K]):
        return lt.logsumexp(z) - lt.mean(t)

    text = traced(loss, entries=(("t", 5),)).text(locations=False)
    assert "%3 = logitile.sum_list %1 : f32\n  %4 = arith.constant 5.0 : f32\n" in text
    assert "%5 = arith.divf %3, %4 : f32" in text


def test_entries_and_the_list_of_one_input():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return lt.sum(z[t]) - z[t[0]] - lt.logsumexp(z) * len(t)

    spec = traced(loss, entries=(("t", 3),))
    keys = {(key.name, key.index, key.places) for key in spec.direct_indices}
    assert keys == {("t", None, 3), ("t", 0, None)}
    assert not spec.computed_picks


def test_without_an_ignored_index_all_entries_are_valid():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return lt.Outputs(loss=lt.sum(lt.to_float(lt.valid(t))) * lt.logsumexp(z), valid=lt.valid(t))

    hidden, weight, given = numbers(k=3)
    head = lt.jit(loss, backend="reference", ignore_index=None)
    found = head(hidden, weight, t=given["ids"])
    assert found.valid.shape == (5, 3) and found.valid.all()


def test_a_loss_is_given_a_list_of_another():
    @lt.loss
    def halved(z: lt.Logits, ids: lt.Token[int, lt.K], teacher: lt.Token[float, lt.K]):
        return sparse(z, ids, teacher * 0.5 - 1.0)

    hidden, weight, given = numbers(k=4)
    found = lt.jit(halved, backend="reference")(hidden, weight, **given)
    given["teacher"] = given["teacher"] * 0.5 - 1.0
    np.testing.assert_allclose(found, lt.jit(sparse, backend="reference")(hidden, weight, **given), rtol=1e-6)


def test_types_are_those_of_lists():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K], f: lt.Token[float, lt.K]):
        assert repr(t) == "<'t': 200 entries per token>" and len(f) == 200
        shown = repr(f * 2.0)
        assert shown.startswith("<the result of '*'") and shown.endswith("f32, 200 per token>")
        return lt.sum(z[t] * f)

    traced(loss, entries=(("t", 200), ("f", 200)))


def numbers(k, tokens=5, vocab=13, seed=0):
    rng = np.random.default_rng(seed)
    hidden, weight = rng.normal(size=(tokens, 6)), rng.normal(size=(vocab, 6))
    given = {
        "ids": rng.integers(0, vocab, (tokens, k)),
        "teacher": rng.normal(size=(tokens, k)).astype(np.float32) - 2,
    }
    return hidden.astype(np.float32), weight.astype(np.float32), given


# ---- refused while tracing ---------------------------------------------------------------------------------

ENTRIES = (("t", 3), ("u", 4), ("f", 3), ("g", 4), ("m", 200))


def refusal(use):
    """The text of the error of a loss that computes 'use', without the place."""

    @lt.loss
    def loss(
        z: lt.Logits, t: lt.Token[int, lt.K], u: lt.Token[int, lt.K], f: lt.Token[float, lt.K],
        g: lt.Token[float, lt.K], m: lt.Token[int, lt.K],
    ):  # fmt: skip
        return use(z, t, u, f, g, m)

    with pytest.raises(lt.SpecError) as caught:
        traced(loss, entries=ENTRIES)
    place, _, text = str(caught.value).partition(": ")
    return text.replace(place, "PLACE")


LENGTHS = "lists meet place by place, so they must have the same length"
VARIES = "which varies along the vocabulary; pick first, as in x[ids], which is a list of entries"
OVER = "over the places of a list go only lt.sum and lt.mean"
MANY = (
    "has 200 entries per token, and at most 128 can be used one by one; compute with the whole list, as in "
    "lt.sum(m)"
)
COMPUTED = "a list of indices is not computed: pick with an lt.Token[int, lt.K] input itself"


@pytest.mark.contract("1 entry lists")
@pytest.mark.parametrize(("use", "text"), [
    (lambda z, t, u, f, g, m: f + g, f"'+' got 'f', a list of 3 places, and 'g', one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: t == u, f"a comparison got 't', a list of 3 places, and 'u', one of 4; "
     f"{LENGTHS}"),
    (lambda z, t, u, f, g, m: lt.where(lt.valid(t), g, 0.0), "'lt.where' got the result of a comparison "
     f"(PLACE), a list of 3 places, and 'g', one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: f * z, f"'*' got 'f', a list of 3 places, and 'z', {VARIES}"),
    (lambda z, t, u, f, g, m: lt.column() == t, "a comparison got 't', a list of 3 places, and the result of "
     f"'lt.column' (PLACE), {VARIES}"),
    (lambda z, t, u, f, g, m: lt.max(f), f"'lt.max' got 'f', a list of 3 places; {OVER}"),
    (lambda z, t, u, f, g, m: lt.logsumexp(f), f"'lt.logsumexp' got 'f', a list of 3 places; {OVER}"),
    (lambda z, t, u, f, g, m: lt.any(f > 0.0), "'lt.any' got the result of a comparison (PLACE), a list of 3 "
     f"places; {OVER}"),
    (lambda z, t, u, f, g, m: lt.count(lt.valid(t)), "'lt.count' got the result of a comparison (PLACE), a "
     f"list of 3 places; {OVER}"),
    (lambda z, t, u, f, g, m: lt.sum(t), "'lt.sum' takes floats, got the integer 't'; convert it with "
     "lt.to_float"),
    (lambda z, t, u, f, g, m: lt.mean(lt.valid(t)), "'lt.mean' takes floats, got the result of a comparison "
     "(PLACE), a bool; convert it with lt.to_float"),
    (lambda z, t, u, f, g, m: lt.topk(f, 2)[0], "'lt.topk' got 'f', a list of 3 places; it puts the entries "
     "of the vocabulary in order"),
    (lambda z, t, u, f, g, m: lt.sum(lt.uniform(t)), "'lt.uniform' got 't', a list of 3 places; it takes one "
     "integer per token as 'seed'"),
    (lambda z, t, u, f, g, m: z[t + 1], "'[...]' of 'z' got the result of '+' (PLACE), a list of 3 places; "
     f"{COMPUTED}"),
    (lambda z, t, u, f, g, m: z[f], "'[...]' of 'z' got the float 'f'; it takes one integer per token, such "
     "as a target"),
    (lambda z, t, u, f, g, m: (f * 2.0)[0], "'[...]' got the result of '*' (PLACE), a list of 3 places; its "
     "places are no entries to pick; compute with the whole list"),
    (lambda z, t, u, f, g, m: lt.logsumexp(z)[t], "the result of 'lt.logsumexp' (PLACE) is one number per "
     "token and has no entries to pick with '[...]'; only values that vary along the vocabulary have, such "
     "as logits"),
    (lambda z, t, u, f, g, m: m[0], f"'m' {MANY}"),
    (lambda z, t, u, f, g, m: sum(m), f"'m' {MANY}"),
    (lambda z, t, u, f, g, m: lt.topk(z, 3)[0] + f, "'+' got the result of 'lt.topk' (PLACE), a list of 3 "
     "numbers per token that 'lt.topk' made; a list can only be returned, as a field of lt.Outputs: compute "
     "with one of its places, such as values[0], with the values that 'lt.topk' takes, or with its results "
     "after the call"),
    (lambda z, t, u, f, g, m: lt.sum(lt.topk(z, 3)[0]), "'lt.sum' got the result of 'lt.topk' (PLACE), a "
     "list of 3 numbers per token that 'lt.topk' made; a list can only be returned, as a field of "
     "lt.Outputs: compute with one of its places, such as values[0], with the values that 'lt.topk' takes, "
     "or with its results after the call"),
])  # fmt: skip
def test_refusals(use, text):
    assert refusal(use) == text


def test_a_list_is_no_target_of_another_loss():
    message = refusal(lambda z, t, u, f, g, m: lt.losses.focal(z, t))
    assert message == "'focal' takes 'target' as lt.Token[int], got <'t': 3 entries per token>"


def test_a_computed_list_has_no_single_entries():
    @lt.loss
    def first(z: lt.Logits, x: lt.Token[float, lt.K]):
        return lt.logsumexp(z) * x[0]

    assert refusal(lambda z, t, u, f, g, m: first(z, f * 2.0)) == (
        "'x' is a list that was computed as a whole, which has no single entries; compute with the whole "
        "list, as in lt.sum(x)"
    )


# ---- refused at a call -------------------------------------------------------------------------------------


@lt.loss
def with_bias(z: lt.Logits, ids: lt.Token[int, lt.K], teacher: lt.Token[float, lt.K], bias: lt.Vocab[float]):
    return lt.logsumexp(z + bias) - lt.sum(teacher * (z + bias)[ids])


@pytest.mark.contract("3 entry lists")
def test_gradients_that_are_not_made():
    hidden, weight, given = numbers(k=3)
    given["bias"] = np.zeros(13, np.float32)
    head = lt.jit(with_bias)
    line = with_bias.location.line + 2  # behind the decorator
    why = {
        "teacher": f"uses it as a whole list ({FILE}:{line}); give teacher.detach(), leave it out of wrt, "
        "or use single entries, as in teacher[k]",
        "bias": f"picks from it with a whole list of indices ({FILE}:{line}); give bias.detach(), leave it "
        "out of wrt, or pick with single entries, as in x[ids[k]]",
    }
    for name, reason in why.items():
        message = f"there is no gradient of '{name}', because 'with_bias' {reason}"
        for call in (
            lambda name=name: head.value_and_grad(hidden, weight, **given, wrt=[name]),
            lambda name=name: head.reference_grad(hidden, weight, **given, wrt=["hidden", name]),
            lambda name=name: head(*_tensors(hidden, weight), **_requiring(given, name)),
            lambda name=name: head.explain(hidden, weight, **given, grad=[name]),
        ):
            with pytest.raises(lt.CallValueError) as caught:
                call()
            assert str(caught.value) == message


def _tensors(*arrays):
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def _requiring(given, name):
    return {key: torch.tensor(item, requires_grad=key == name) for key, item in given.items()}


def test_jax_is_told_as_well():
    jax = pytest.importorskip("jax")
    hidden, weight, given = numbers(k=3)
    head = lt.jit(sparse)
    with pytest.raises(lt.CallValueError, match="there is no gradient of 'teacher', because 'sparse' uses"):
        jax.grad(lambda teacher: head(hidden, weight, ids=given["ids"], teacher=teacher))(given["teacher"])


def test_a_bias_beside_the_pick_has_a_gradient():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K], bias: lt.Vocab[float]):
        return lt.logsumexp(z + bias) - lt.sum(z[ids])

    hidden, weight, given = numbers(k=3)
    head = lt.jit(loss, reduction="sum", backend="reference")
    inputs = {"ids": given["ids"], "bias": np.zeros(13, np.float32)}
    _, found = head.value_and_grad(hidden, weight, **inputs, wrt=["bias"])
    expected = torch.tensor(hidden @ weight.T).double().softmax(1).sum(0)
    np.testing.assert_allclose(found["bias"], expected, rtol=1e-5)


def test_entries_with_a_gradient_beside_a_list_without():
    """An input that is used both ways has none."""

    @lt.loss
    def loss(z: lt.Logits, f: lt.Token[float, lt.K]):
        return lt.logsumexp(z) * f[0] + lt.sum(lt.stop_gradient(f))

    hidden, weight, given = numbers(k=3)
    _, found = lt.jit(loss, reduction="sum", backend="reference").value_and_grad(
        hidden, weight, f=given["teacher"], wrt=["f"]
    )
    expected = np.zeros((5, 3))
    expected[:, 0] = torch.tensor(hidden @ weight.T).double().logsumexp(1)
    np.testing.assert_allclose(found["f"], expected, rtol=1e-5)


def test_a_list_takes_no_gradient():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K]):
        return lt.Outputs(loss=lt.logsumexp(z), picked=z[ids])

    hidden, weight, given = numbers(k=3)
    head = lt.jit(loss, backend="reference")
    with pytest.raises(lt.CallValueError) as caught:
        head.value_and_grad(hidden, weight, ids=given["ids"], grad_output={"picked": np.ones((5, 3))})
    assert str(caught.value) == (
        "output 'picked' of 'loss' is a list, which carries no gradient; its lt.sum does: return that as "
        "well, or compute the loss from it"
    )


def test_slices_of_the_vocabulary_refuse_lists():
    hidden, weight, given = numbers(k=3)
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(sparse).partial(hidden, weight[:7], **given, column_offset=0, vocab_size=13)
    assert str(caught.value) == (
        "'sparse' computes with 'ids' and 'teacher' as whole lists, which slices of the vocabulary do not "
        "have; use single entries, as in ids[k], or call the head with the whole weight"
    )


@pytest.mark.parametrize("k", [1, 3, 200])
def test_indices_are_checked(k):
    hidden, weight, given = numbers(k=k)
    ids = given["ids"].copy()
    ids[2, k - 1] = 13
    head = lt.jit(sparse, backend="reference", ignore="ids")
    with pytest.raises(lt.CallIndexError) as caught:
        head(hidden, weight, ids=ids, teacher=given["teacher"])
    assert str(caught.value) == (
        f"'ids'[2, {k - 1}] is 13, outside the vocabulary of 13 entries: it must be 0 to 12 or ignore_index "
        "-100"
    )
    ids[:] = np.where((ids < 0) | (ids > 12), -100, ids)
    assert np.isfinite(head(hidden, weight, ids=ids, teacher=given["teacher"]))
