"""Whole Token[..., K] inputs: what a loss with lists is traced to, and what is refused."""

import os
import pathlib

import logitile as lt
import numpy as np
import pytest
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


# ---- what is recorded ----------------------------------------------------------------------------

SPARSE = """\
logitile.loss @sparse vocab 10 outputs ["loss"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.reduce logsumexp %0 : f32 -> f32
  %2 = arith.subf %0, %1 : f32
  %3 = logitile.input token "ids" places 64 : i32
  %4 = logitile.gather %2[%3] : f32
  %5 = arith.constant 0x7FC00000 : f32
  %6 = arith.constant -100 : i32
  %7 = arith.cmpi ne, %3, %6 : i32
  %8 = arith.select %7, %4, %5 : f32
  %9 = logitile.input token "teacher" places 64 : f32
  %10 = math.exp %9 : f32
  %11 = arith.subf %9, %8 : f32
  %12 = arith.mulf %10, %11 : f32
  %13 = arith.constant 0.0 : f32
  %14 = arith.select %7, %12, %13 : f32
  %15 = logitile.sum_list %14 : f32
  logitile.yield %15 : f32
}
"""


@pytest.mark.contract("1 entries")
def test_spec_text():
    assert traced(sparse, entries=(("ids", 64), ("teacher", 64))).text(locations=False) == SPARSE


def test_operations_do_not_grow_with_k():
    few, many = (traced(sparse, entries=(("ids", k), ("teacher", k))) for k in (1, 4096))
    assert len(few.ops) == len(many.ops)


def test_places_of_operations():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[float, lt.K], s: lt.Token[float]):
        return lt.Outputs(loss=lt.mean(z) + lt.sum(t * s), scaled=t * s, big=(t > s) & ~lt.isnan(t))

    spec = traced(loss, entries=(("t", 3),))
    assert [(o.name, o.type, o.places) for o in spec.outputs] == [
        ("loss", "f32", None), ("scaled", "f32", 3), ("big", "i1", 3)
    ]  # fmt: skip


def test_a_mean_is_a_sum_divided_by_k():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[float, lt.K]):
        return lt.logsumexp(z) - lt.mean(t)

    text = traced(loss, entries=(("t", 5),)).text(locations=False)
    assert "%3 = logitile.sum_list %2 : f32\n  %4 = arith.constant 5.0 : f32\n" in text
    assert "%5 = arith.divf %3, %4 : f32" in text


def test_the_list_of_indices_is_checked():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return lt.sum(z[t]) - lt.logsumexp(z) * len(t)

    spec = traced(loss, entries=(("t", 3),))
    assert {(key.name, key.index, key.places) for key in spec.direct_indices} == {("t", None, 3)}
    assert not spec.computed_picks


@pytest.mark.parametrize("backend", ["reference", "cpu", "emu:sm_80"])
def test_without_an_ignored_index_all_entries_are_valid(backend):
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K]):
        return lt.Outputs(loss=lt.sum(lt.to_float(lt.valid(t))) * lt.logsumexp(z), valid=lt.valid(t))

    hidden, weight, given = numbers(k=3)
    found = lt.jit(loss, backend=backend, ignore_index=None)(hidden, weight, t=given["ids"])
    assert found.valid.shape == (5, 3) and found.valid.all()
    wanted = 3 * np.log(np.exp(hidden @ weight.T).sum(1)).mean()
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-5)


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


# ---- refused while tracing -----------------------------------------------------------------------

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


LENGTHS = "lists of one length can be computed with together"
VARIES = "pick the entries first that belong to the list, with value[indices]"
OVER = "goes over the vocabulary, but this is a list of 3 numbers per token"
MANY = (
    "has 200 entries per token, and only up to 128 entries of an input are taken one by one; compute with "
    "the whole list, for example lt.sum(f(m))"
)


@pytest.mark.contract("1 entries")
@pytest.mark.parametrize(("use", "text"), [  # others are in test_spec_error_types.py
    (lambda z, t, u, f, g, m: f + g, f"'f' is a list of 3 numbers per token and 'g' one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: t == u, f"'t' is a list of 3 numbers per token and 'u' one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: lt.where(lt.valid(t), g, 0.0), "the result of a comparison (PLACE) is a list "
     f"of 3 numbers per token and 'g' one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: lt.column() == t, "the result of 'lt.column' (PLACE) varies along the "
     f"vocabulary and 't' is a list of 3 numbers per token; {VARIES}"),
    (lambda z, t, u, f, g, m: lt.count(lt.valid(t)), f"'lt.count' of the result of a comparison (PLACE) "
     f"{OVER}; add it up with lt.sum(lt.to_float(x))"),
    (lambda z, t, u, f, g, m: lt.mean(lt.valid(t)), "'lt.mean' takes floats, got the result of a comparison "
     "(PLACE), a bool; convert it with lt.to_float"),
    (lambda z, t, u, f, g, m: z[f], "'[...]' of 'z' got the float 'f'; it takes one integer per token, such "
     "as a target"),
    (lambda z, t, u, f, g, m: lt.logsumexp(z)[t], "the result of 'lt.logsumexp' (PLACE) is one number per "
     "token and has no entries to pick with '[...]'; only values that vary along the vocabulary have, such "
     "as logits"),
    (lambda z, t, u, f, g, m: sum(m), f"'m' {MANY}"),
    (lambda z, t, u, f, g, m: lt.topk(z, 4)[0] + f, "the result of '[...]' (PLACE) is a list of 4 numbers "
     f"per token and 'f' one of 3; {LENGTHS}"),
    (lambda z, t, u, f, g, m: lt.topk(z, 3)[1] + u, "the result of 'lt.topk' (PLACE) is a list of 3 numbers "
     f"per token and 'u' one of 4; {LENGTHS}"),
    (lambda z, t, u, f, g, m: z - lt.topk(z, 4)[0], "'z' varies along the vocabulary and the result of "
     f"'[...]' (PLACE) is a list of 4 numbers per token; {VARIES}"),
    (lambda z, t, u, f, g, m: lt.max(lt.topk(z, 3)[0]), f"'lt.max' of the result of '[...]' (PLACE) {OVER}; "
     "lt.sum and lt.mean go over its places"),
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
        "'x' was computed as a list, and only up to 128 entries of an input are taken one by one; compute "
        "with the whole list, for example lt.sum(f(x))"
    )


def test_single_values_are_no_list():
    @lt.loss
    def added(z: lt.Logits, x: lt.Token[int, lt.K]):
        return lt.sum(z[x])

    assert refusal(lambda z, t, u, f, g, m: added(z, (t[0], 5))) == (
        "'x' stands for 2 values that a loss computed one by one, which are no list; use them one by one, "
        "for example [f(x) for x in x]"
    )


def test_one_input_is_used_in_one_way():
    with pytest.raises(lt.SpecError) as caught:
        traced(both_ways, entries=(("f", 3),))
    assert str(caught.value).endswith(
        "'both_ways' takes single entries of 'f' and uses it as a list too; give it the array twice, as two "
        "parameters"
    )


@lt.loss
def both_ways(z: lt.Logits, f: lt.Token[float, lt.K]):
    return lt.logsumexp(z) * f[0] + lt.sum(f)


# ---- refused at a call ---------------------------------------------------------------------------


def test_a_list_takes_no_gradient():
    @lt.loss
    def loss(z: lt.Logits, ids: lt.Token[int, lt.K]):
        return lt.Outputs(loss=lt.logsumexp(z), picked=z[ids])

    hidden, weight, given = numbers(k=3)
    head = lt.jit(loss, backend="reference")
    with pytest.raises(lt.CallValueError) as caught:
        head.value_and_grad(hidden, weight, ids=given["ids"], grad_output={"picked": np.ones((5, 3))})
    assert str(caught.value) == (
        "output 'picked' of 'loss' is a list, which takes no gradient as an output; compute the loss from it "
        "in the loss itself, for example with lt.sum"
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
