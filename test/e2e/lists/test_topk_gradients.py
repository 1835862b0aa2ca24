"""Losses of the k largest entries and their gradients:
compiled calls against the float64 reference.

The reference is beside torch in test/python/test_topk.py. Slices of the vocabulary are in
test_sliced_lists.py.
"""

import logitile as lt
import numpy as np
import pytest
import torch

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "emu:sm_80", "emu:sm_90a"])
# N, D, V, k
SIZES = [(1, 4, 1, 1), (3, 5, 7, 5), (19, 33, 131, 64), (9, 16, 403, 300), (130, 7, 64, 3)]


@lt.loss
def own(z: lt.Logits, t: lt.Dense[float], b: lt.Vocab[float], w: lt.Token[float], *, k: int = 5):
    """The entropy of the best entries, values at their indices, one place, and a reduction."""
    values, ids = lt.topk(lt.log_softmax(z + b), k)
    distance = lt.sum(lt.exp(values) * (values - lt.stop_gradient(t)[ids] * b[ids]))
    return w * distance + lt.mean(values) * values[-1] + 0.1 * lt.logsumexp(z)


@lt.loss
def capped(z: lt.Logits, w: lt.Token[float], *, k: int = 5):
    """Values whose derivatives need the logits at the indices: a second sweep picks them."""
    values, ids = lt.topk(3.0 * lt.tanh(z / 3.0), k)
    return w * lt.mean(lt.softplus(values)) + lt.sum(lt.square(values) * lt.to_float(ids > 2))


@lt.loss
def distilled(z: lt.Logits, teacher: lt.Logits, temperature: lt.Scalar, *, k: int = 5):
    """The student's logits at the indices of the teacher's best entries,
    which have a gradient as well.
    """
    values, ids = lt.topk(lt.log_softmax(teacher / temperature), k)
    return lt.sum(lt.exp(values) * (values - lt.log_softmax(z / temperature)[ids]))


def arguments(loss, tokens, size, vocab, dtype=torch.float32, seed=0, integers=False):
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        drawn = rng.integers(-2, 3, shape) if integers else rng.normal(size=shape)
        return torch.tensor(drawn, dtype=torch.float32)

    def projection(columns):
        operands = numbers(tokens, columns), numbers(vocab, columns) / 2
        return tuple(operand.to(dtype).requires_grad_() for operand in operands)

    makers = {
        "z": lambda: projection(size), "teacher": lambda: projection(size + 1),
        "t": lambda: numbers(tokens, vocab), "b": lambda: numbers(vocab).requires_grad_(),
        "w": lambda: numbers(tokens).requires_grad_(),
        "temperature": lambda: torch.tensor(0.7, requires_grad=True),
    }  # fmt: skip
    return {parameter.name: makers[parameter.name]() for parameter in loss.signature.inputs}


def results(head, given, **call):
    """Value and gradients, float64."""
    leaves = {}
    for name, item in given.items():
        operands = item if isinstance(item, tuple) else (item,)
        leaves |= {f"{name}{i}": array for i, array in enumerate(operands) if array.requires_grad}
    for array in leaves.values():
        array.grad = None
    value = head(**given, **call)
    value = getattr(value, "loss", value)
    value.sum().backward()
    return {"value": value.detach().double()} | {name: array.grad.double() for name, array in leaves.items()}


def check(found, wanted, bound):
    for name, expected in wanted.items():
        difference = (found[name] - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
        assert difference <= bound, f"{name}: {difference:.2e}"


def check_head(loss, backend, given, bound, **options):
    wanted = results(lt.jit(loss, backend="reference", **options), given)
    check(results(lt.jit(loss, backend=backend, **options), given), wanted, bound)


@BACKENDS
@pytest.mark.contract("1 gradients of lists")
@pytest.mark.parametrize("loss", [own, capped, distilled], ids=lambda loss: loss.name)
@pytest.mark.parametrize(("tokens", "size", "vocab", "k"), SIZES)
def test_sizes(tokens, size, vocab, k, loss, backend):
    check_head(loss, backend, arguments(loss, tokens, size, vocab), 3e-5, reduction="none", k=k)


@BACKENDS
@pytest.mark.parametrize(("dtype", "bound"), [(torch.bfloat16, 2**-6), (torch.float16, 2**-9)], ids=str)
@pytest.mark.parametrize("loss", [own, capped, distilled], ids=lambda loss: loss.name)
def test_sixteen_bits(loss, dtype, bound, backend):
    check_head(loss, backend, arguments(loss, 19, 33, 131, dtype), bound, reduction="none", k=20)


@BACKENDS
@pytest.mark.parametrize("options", [{"chunks": 4}, {"workspace": "2200KiB"}, {"reduction": "sum"}], ids=str)
@pytest.mark.parametrize("loss", [own, capped, distilled], ids=lambda loss: loss.name)
def test_schedules(loss, options, backend):
    check_head(loss, backend, arguments(loss, 130, 24, 300), 3e-5, k=50, **options)


@BACKENDS
@pytest.mark.contract("1 ties")
@pytest.mark.parametrize("loss", [own, capped], ids=lambda loss: loss.name)
def test_of_equals_the_lowest_index_has_the_gradient(loss, backend):
    """Small integers: logits are exact, and many are equal."""
    given = arguments(loss, 21, 6, 83, integers=True)
    check_head(loss, backend, given, 3e-5, reduction="none", k=40)


@BACKENDS
def test_given_logits(backend):
    given = {**arguments(capped, 9, 6, 83), "z": torch.randn(9, 83, requires_grad=True)}
    check_head(capped, backend, given, 3e-5, k=12)


@BACKENDS
def test_a_token_that_is_not_a_number_keeps_to_itself(backend):
    given = arguments(capped, 9, 6, 83)
    head = lt.jit(capped, backend=backend, reduction="none", k=12)
    before = results(head, given)
    with torch.no_grad():
        given["z"][0][2] = float("nan")
    after = results(head, given)
    rest = torch.arange(9) != 2
    assert torch.isnan(after["z0"][2]).all() and torch.isnan(after["z1"]).all()
    assert torch.equal(after["z0"][rest], before["z0"][rest])


@BACKENDS
def test_places_without_an_entry_are_guarded(backend):
    """A mask leaves fewer entries than the list has places: the others are -inf, and not taken."""

    @lt.loss
    def masked(z: lt.Logits, keep: lt.Dense[bool]):
        values, _ = lt.topk(lt.where(keep, z, float("-inf")), 12)
        is_entry = values > float("-inf")
        return lt.sum(lt.where(is_entry, lt.square(values), 0.0)) / lt.sum(lt.to_float(is_entry))

    hidden, weight = (torch.randn(n, 6, requires_grad=True) for n in (9, 83))
    given = {"z": (hidden, weight), "keep": torch.rand(9, 83) < 0.1}
    given["keep"][:, 3] = True
    found = results(lt.jit(masked, backend=backend), given)
    assert all(torch.isfinite(array).all() for array in found.values())
    check(found, results(lt.jit(masked, backend="reference"), given), 3e-5)


@BACKENDS
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_ignored_tokens(reduction, backend):
    @lt.loss
    def ignoring(z: lt.Logits, target: lt.Token[int], *, k: int = 5):
        values, ids = lt.topk(z, k)
        is_hit = lt.sum(lt.to_float(ids == target))
        return lt.Outputs(loss=lt.sum(values) * is_hit + lt.logsumexp(z) - z[target], hit=is_hit)

    hidden, weight = (torch.randn(n, 6, requires_grad=True) for n in (20, 83))
    options = {"reduction": reduction, "all_ignored": "zero"}
    for share in (0.5, 1.0):
        target = torch.where(torch.rand(20) < share, -100, torch.arange(20))
        check_head(ignoring, backend, {"z": (hidden, weight), "target": target}, 3e-5, **options)
        assert (hidden.grad[target == -100] == 0).all()


@BACKENDS
def test_lists_go_to_other_losses(backend):
    """Online distillation: the teacher's best entries are those of the same call."""

    @lt.loss
    def online(z: lt.Logits, teacher: lt.Logits, *, k: int = 5):
        logprob, index = lt.topk(lt.log_softmax(teacher), k)
        return lt.losses.top_k_kl(z, index, lt.stop_gradient(logprob))

    given = arguments(online, 9, 16, 131)
    given["teacher"] = tuple(operand.detach() for operand in given["teacher"])
    check_head(online, backend, given, 3e-5, k=20)


def test_a_table_with_a_gradient():
    """The gradient of a Dense input at the indices has code for each place."""

    @lt.loss
    def weighed(z: lt.Logits, t: lt.Dense[float], *, k: int = 5):
        values, ids = lt.topk(z + t, k)
        return lt.sum(values * t[ids])

    given = arguments(weighed, 9, 16, 203)
    given["t"].requires_grad_()
    check_head(weighed, "cpu", given, 3e-5, k=5)
    with pytest.raises(lt.CallValueError) as caught:
        results(lt.jit(weighed, k=129), given)
    message = str(caught.value)
    assert "test_topk_gradients.py" in message and message.partition(": ")[2] == (
        "the gradient of the lt.Dense input 't' is wanted, but 't' is indexed with a list, and the loss has "
        "a list of 129 places; that gradient supports at most 128; give shorter lists, wrap 't' in "
        "lt.stop_gradient, or detach the array"
    )
