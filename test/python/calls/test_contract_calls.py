"""Sentences of the contract about calls and gradients that no other test is about."""

import logitile as lt
import numpy as np
import pytest
import torch
from calls import check_call, records
from inputs import relative

N, V, D = 48, 61, 12


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def with_outputs(z: lt.Logits, target: lt.Token[int], share: lt.Vocab[float], *, power: float = 1.0):
    log_p = lt.log_softmax(z)
    return lt.Outputs(
        loss=-log_p[target] * share[target] ** power,
        weight=share[target],
        best=lt.argmax(z),
        sure=lt.max(z) > 3.0,
    )


@lt.loss
def largest(z: lt.Logits, floor: lt.Token[float]):
    return lt.max(lt.where(lt.column() == 3, floor, z)) + 0.125 * lt.logsumexp(z)


def operands(tokens=N, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    hidden, weight = rng.normal(size=(tokens, D)), rng.normal(size=(V, D))
    return hidden.astype(dtype), weight.astype(dtype), rng.integers(0, V, tokens)


# ---- inputs --------------------------------------------------------------------------------------


@pytest.mark.contract("1 constant")
def test_a_constant_is_part_of_the_program():
    hidden, weight, target = operands()
    share = np.linspace(0.5, 2, V, dtype=np.float32)
    heads = [lt.jit(with_outputs, power=power) for power in (1.0, 3.0, 1.0)]
    events = [records(lambda h=h: h(hidden, weight, target=target, share=share))[0] for h in heads]
    assert [event["event"] for event in events] == ["compile", "compile", "hit"]
    assert events[0]["key"] == events[2]["key"] != events[1]["key"]


@pytest.mark.contract("2 labels")
def test_labels_are_those_of_their_own_position():
    hidden, weight, target = operands()
    each = lt.jit(plain, reduction="none")
    before = each(hidden, weight, target=target)
    other = target.copy()
    other[7] = (other[7] + 1) % V
    changed = np.flatnonzero(each(hidden, weight, target=other) != before)
    assert changed.tolist() == [7]


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.contract("2 divisor")
def test_a_divisor_takes_no_gradient():
    hidden, weight, target = (torch.from_numpy(array) for array in operands())
    divisor = torch.tensor(20.0, requires_grad=True)
    lt.jit(plain)(hidden.requires_grad_(), weight, target=target, divisor=divisor).backward()
    assert divisor.grad is None and hidden.grad is not None


@pytest.mark.contract("2 reduction", "2 output types", "2 ignored tokens")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_only_the_loss_is_reduced_and_ignored_tokens_are_empty_in_the_rest(reduction):
    hidden, weight, target = operands()
    target[5] = -100
    hidden[5] = np.nan
    share = np.linspace(0.5, 2, V, dtype=np.float32)
    out = lt.jit(with_outputs, reduction=reduction)(hidden, weight, target=target, share=share)
    assert out.loss.shape == (() if reduction != "none" else (N,)) and np.isfinite(out.loss).all()
    assert [x.shape for x in out[1:]] == [(N,)] * 3
    assert [x.dtype for x in out] == [np.float32, np.float32, np.int64, np.bool_]
    assert (out.weight[5], out.best[5], out.sure[5]) == (0, -1, False)


@pytest.mark.contract("2 all ignored", "2 gradients of nothing")
@pytest.mark.parametrize("tokens, ignored", [(0, False), (9, True)])
@pytest.mark.parametrize("all_ignored", ["nan", "zero"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_where_no_token_counts(reduction, all_ignored, tokens, ignored):
    hidden, weight, target = operands(tokens)
    target[:] = -100 if ignored else target
    h, w = torch.from_numpy(hidden).requires_grad_(), torch.from_numpy(weight).requires_grad_()
    head = lt.jit(plain, reduction=reduction, all_ignored=all_ignored)
    loss = head(h, w, target=torch.from_numpy(target))
    expected = {"mean": torch.tensor(float("nan") if all_ignored == "nan" else 0.0), "sum": torch.tensor(0.0),
                "none": torch.zeros(tokens)}[reduction]  # fmt: skip
    torch.testing.assert_close(loss.detach(), expected, equal_nan=True)
    assert loss.requires_grad
    loss.sum().backward()
    assert not h.grad.any() and not w.grad.any() and w.grad.shape == w.shape


# ---- memory and programs -------------------------------------------------------------------------


@pytest.mark.contract("2 default workspace")
@pytest.mark.parametrize("dtype, vocab, budget", [
    ("float32", 1000, 256 << 20), ("float32", 200_000, 200_000 * 1024 * 4),
    ("bfloat16", 200_000, 200_000 * 1024 * 5),
])  # fmt: skip
def test_the_default_workspace_grows_with_the_weights(dtype, vocab, budget, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    shapes = (lt.ShapeDtype((64, 1024), dtype), lt.ShapeDtype((vocab, 1024), dtype))
    told = lt.jit(plain).explain(*shapes, target=lt.ShapeDtype((64,), "int64"), grad=())
    assert told.budget == budget


@pytest.mark.contract("2 chunks")
@pytest.mark.parametrize("tokens, chunks", [(1000, 3), (1000, 7), (100, 16), (1, 4), (4096, 4)])
def test_chunks_are_equal_parts_of_whole_tiles(tokens, chunks):
    shapes = (lt.ShapeDtype((tokens, D), "float32"), lt.ShapeDtype((V, D), "float32"))
    told = lt.jit(plain, chunks=chunks).explain(*shapes, target=lt.ShapeDtype((tokens,), "int64"))
    part = -(-tokens // chunks)
    assert part <= told.chunk_tokens < part + 64 and told.chunk_tokens % 16 == 0
    assert told.chunks == -(-tokens // told.chunk_tokens) <= chunks


@pytest.mark.contract("2 recompiles", "2 intervals")
def test_all_numbers_of_tokens_take_four_programs_at_most():
    """Whatever comes first; and again nothing is compiled."""
    hidden, weight, target = operands(3000)
    head = lt.jit(plain, workspace="8MiB")
    sizes = [3000, 1, 700, 2, 64, 1500, 17, 256, 2999, 5, 33, 128, 1024, 2048, 300]

    def run():
        for tokens in sizes:
            head.value_and_grad(hidden[:tokens], weight, target=target[:tokens])

    assert sum(record["event"] == "compile" for record in records(run)) <= 4
    assert all(record["event"] == "hit" for record in records(run))


# ---- gradients -----------------------------------------------------------------------------------


@pytest.mark.contract("3 saved index")
def test_the_gradient_of_a_maximum_goes_to_the_saved_entry_and_not_into_a_constant():
    hidden, weight, _ = operands()
    logits = hidden @ weight.T
    floor = np.where(np.arange(N) % 2, logits.max(1) + 1, -50).astype(np.float32)
    _, gradients = lt.jit(largest, reduction="sum").value_and_grad(
        hidden, weight, floor=floor, wrt=["hidden", "floor"]
    )
    np.testing.assert_allclose(
        gradients["floor"], np.arange(N) % 2, atol=1e-6
    )  # the entry, where it is the largest
    masked = torch.tensor(logits).masked_fill(torch.arange(V) == 3, -torch.inf)
    softmax = torch.tensor(logits).softmax(1) / 8
    softmax[torch.arange(N), masked.argmax(1)] += torch.tensor(1.0 - np.arange(N) % 2, dtype=torch.float32)
    assert relative(gradients["hidden"], (softmax @ torch.tensor(weight)).numpy()) < 1e-5


@pytest.mark.contract("3 not a number", "3 sums of nan")
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite_stays_in_its_token_and_in_sums(number):
    hidden, weight, target = operands()
    hidden[4] = number
    each, grads = lt.jit(plain, reduction="none").value_and_grad(
        hidden, weight, target=target, grad_output=np.ones(N, np.float32)
    )
    assert np.flatnonzero(np.isnan(each)).tolist() == [4]
    assert np.flatnonzero(np.isnan(grads["hidden"]).any(1)).tolist() == [4]
    assert np.isnan(grads["weight"]).all()
    assert np.isnan(lt.jit(plain)(hidden, weight, target=target))


@pytest.mark.contract("3 only what is asked")
def test_what_is_not_asked_for_costs_nothing():
    """A contraction over tokens and vocabulary is 2 N V D: forward,
    and one for each operand's gradient.
    """
    shapes = (lt.ShapeDtype((4096, 64), "float32"), lt.ShapeDtype((4096, 64), "float32"))
    target, work = lt.ShapeDtype((4096,), "int64"), 2 * 4096 * 4096 * 64
    head = lt.jit(plain)
    for grad, contractions in (((), 1), (("hidden",), 2), (("weight",), 2), (("hidden", "weight"), 3)):
        assert head.explain(*shapes, target=target, grad=grad).flops == contractions * work, grad


@pytest.mark.contract("2 layouts")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_strided_operands_are_not_copied_whole(dtype):
    """Whatever the strides, a call takes the workspace that it would take with rows."""
    hidden, weight, target = (torch.from_numpy(array) for array in operands(512))
    hidden, weight = hidden.to(getattr(torch, dtype)), weight.to(getattr(torch, dtype))
    head = lt.jit(plain, workspace="32MiB")
    taken = []
    for h, w in ((hidden, weight), (hidden.T.contiguous().T, weight), (hidden, weight.T.contiguous().T)):
        made = records(lambda h=h, w=w: head(h, w, target=target))
        taken.append(made[-1]["measured_bytes"])
    assert len(set(taken)) == 1


@pytest.mark.contract("3 gradient kinds")
def test_vocab_scalar_and_token_gradients_are_sums():
    @lt.loss
    def all_kinds(z: lt.Logits, a: lt.Token[float], b: lt.Vocab[float], s: lt.Scalar, q: lt.Dense[float]):
        return a * lt.logsumexp(z * s + b) - lt.sum(q * z)

    rng = np.random.default_rng(0)
    hidden, weight, _ = operands()
    check_call(
        lt.jit(all_kinds), hidden, weight,
        a=rng.normal(size=N).astype("f4"), b=rng.normal(size=V).astype("f4"), s=np.float32(0.75),
        q=rng.random((N, V), np.float32), wrt=["a", "b", "s", "q", "hidden", "weight"],
    )  # fmt: skip
