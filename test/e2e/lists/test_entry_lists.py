"""Losses with lists at unusual sizes and with unusual tokens:
compiled calls against the float64 reference.

Usual sizes, 16-bit types and schedules are in test_read_lists.py.
"""

import logitile as lt
import numpy as np
import pytest
import torch

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "emu:sm_80", "emu:sm_90a"])
# N, D, V, K
SIZES = [(1, 1, 1, 1), (3, 5, 17, 50), (19, 33, 131, 50), (5, 16, 257, 200), (130, 7, 64, 3)]


@lt.loss
def pulled(z: lt.Logits, ids: lt.Token[int, lt.K], t: lt.Token[float, lt.K], w: lt.Token[float]):
    """A list, a nonlinear function of it, values of tokens, and a reduction beside it."""
    valid = lt.valid(ids)
    gap = lt.where(valid, lt.log_softmax(z)[ids] - t, 0.0)
    bent = lt.sum(lt.softplus(gap) - lt.clamp(gap, -1.0, 1.0))
    return w * bent + lt.mean(lt.square(z)) / (1.0 + lt.mean(t) ** 2)


def arguments(tokens, size, vocab, places, dtype=torch.float32, seed=0):
    """Indices repeat; some are ignored, all of them for the first token if there are several."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, vocab, (tokens, places))
    ids[:, places // 2 :] = np.where(
        rng.random((tokens, places - places // 2)) < 0.3, ids[:, :1], ids[:, places // 2 :]
    )
    ids[rng.random((tokens, places)) < 0.2] = -100
    ids[0] = -100 if tokens > 1 else 0
    arrays = {
        "hidden": torch.tensor(rng.normal(size=(tokens, size)), dtype=dtype, requires_grad=True),
        "weight": torch.tensor(rng.normal(size=(vocab, size)) / 2, dtype=dtype, requires_grad=True),
        "t": torch.tensor(rng.normal(size=(tokens, places)) - 2, dtype=torch.float32, requires_grad=True),
        "w": torch.tensor(rng.normal(size=tokens), dtype=torch.float32, requires_grad=True),
    }
    return arrays, torch.tensor(ids)


def results(head, arrays, ids, **call):
    """Value and gradients, float64."""
    for array in arrays.values():
        array.grad = None
    rest = {name: array for name, array in arrays.items() if name not in ("hidden", "weight")}
    value = head(arrays["hidden"], arrays["weight"], ids=ids, **rest, **call)
    value.sum().backward()
    return {"value": value.detach().double()} | {n: a.grad.double() for n, a in arrays.items()}


def check(found, wanted, bound):
    for name, expected in wanted.items():
        difference = (found[name] - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
        assert difference <= bound, f"{name}: {difference:.2e}"


@BACKENDS
@pytest.mark.parametrize(("tokens", "size", "vocab", "places"), SIZES)
@pytest.mark.contract("1 entries", "2 ignored entries")
def test_sizes(tokens, size, vocab, places, backend):
    arrays, ids = arguments(tokens, size, vocab, places)
    options = {"reduction": "none", "ignore": "ids"}
    wanted = results(lt.jit(pulled, backend="reference", **options), arrays, ids)
    check(results(lt.jit(pulled, backend=backend, **options), arrays, ids), wanted, 2e-5)


@BACKENDS
@pytest.mark.parametrize(("dtype", "bound"), [(torch.bfloat16, 2**-6), (torch.float16, 2**-9)], ids=str)
def test_sixteen_bits(dtype, bound, backend):
    arrays, ids = arguments(19, 33, 131, 50, dtype)
    options = {"reduction": "none", "ignore": "ids"}
    wanted = results(lt.jit(pulled, backend="reference", **options), arrays, ids)
    check(results(lt.jit(pulled, backend=backend, **options), arrays, ids), wanted, bound)


@BACKENDS
@pytest.mark.parametrize("options", [{"chunks": 4}, {"workspace": "2MiB"}], ids=str)
def test_schedules(options, backend):
    arrays, ids = arguments(130, 24, 300, 50)
    wanted = results(lt.jit(pulled, backend="reference", ignore="ids"), arrays, ids)
    check(results(lt.jit(pulled, backend=backend, ignore="ids", **options), arrays, ids), wanted, 2e-5)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("backend", ["cpu", "emu:sm_80"])
def test_segments(reduction, backend):
    arrays, ids = arguments(20, 16, 90, 7)
    segments = lt.Segments.from_lengths([1, 12, 0, 7])
    options = {"reduction": reduction, "ignore": "ids", "all_ignored": "zero"}
    found, wanted = (
        results(lt.jit(pulled, backend=name, **options), arrays, ids, segments=segments)
        for name in (backend, "reference")
    )
    assert found["value"].shape == (4,)
    check(found, wanted, 2e-5)


@BACKENDS
def test_a_token_that_is_ignored_may_hold_anything(backend):
    arrays, ids = arguments(9, 16, 90, 7)
    head = lt.jit(pulled, backend=backend, ignore="ids")
    before = results(head, arrays, ids)
    with torch.no_grad():
        arrays["hidden"][0], arrays["t"][0] = float("nan"), float("inf")
    after = results(head, arrays, ids)
    check(after, before, 0.0)
    assert (after["hidden"][0] == 0).all() and (after["t"][0] == 0).all()


@BACKENDS
def test_what_lists_pick(backend):
    """Integers, bools and floats at ignored indices: -1, False and NaN."""

    @lt.loss
    def picked(z: lt.Logits, ids: lt.Token[int, lt.K], of: lt.Vocab[int], on: lt.Vocab[bool]):
        return lt.Outputs(logit=z[ids], integer=of[ids], bool=on[ids], valid=lt.valid(ids))

    arrays, ids = arguments(9, 16, 90, 130)
    hidden, weight = arrays["hidden"].detach(), arrays["weight"].detach()
    given = {"ids": ids, "of": torch.arange(90) * 3, "on": torch.arange(90) > 50}
    found = lt.jit(picked, backend=backend, ignore=None, ignore_index=-100)(hidden, weight, **given)
    valid = ids != -100
    index = ids.where(valid, 0)
    logits = (hidden.double() @ weight.double().T).gather(1, index).where(valid, float("nan"))
    torch.testing.assert_close(found.logit.double(), logits, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert torch.equal(found.integer, (index * 3).where(valid, -1))
    assert torch.equal(found.bool, (index > 50) & valid) and torch.equal(found.valid, valid)


@BACKENDS
@pytest.mark.parametrize("rest", ["drop", "normalize", "class"])
def test_a_teacher_of_200_entries(rest, backend):
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(5, 24)).astype(np.float32)
    weight = (rng.normal(size=(400, 24)) / 2).astype(np.float32)
    full = torch.tensor(rng.normal(size=(5, 400)) * 3).log_softmax(1)
    kept = full.topk(200)
    given = {"index": kept.indices.numpy(), "logprob": kept.values.float().numpy()}
    head = lt.jit(lt.losses.top_k_kl, rest=rest, backend=backend)
    value, gradients = head.value_and_grad(hidden, weight, **given, wrt=("hidden", "weight", "logprob"))
    exact, wanted = head.reference_grad(hidden, weight, **given, wrt=("hidden", "weight", "logprob"))
    np.testing.assert_allclose(value, exact, rtol=1e-5)
    for name, gradient in wanted.items():
        assert np.abs(gradients[name] - gradient).max() <= 1e-4 * np.abs(gradient).max(), name
