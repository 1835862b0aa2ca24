"""Arguments that are no plain arrays: Python's numbers and bools, buffers that share memory,
nested tensors, tensors without memory.
"""

import logitile as lt
import numpy as np
import pytest
import torch
from calls import check_close

N, V, D = 7, 37, 16
RNG = np.random.default_rng(5)
H, W = RNG.normal(size=(N, D)).astype(np.float32), RNG.normal(size=(V, D)).astype(np.float32)
Y = RNG.integers(0, V, N)
cross_entropy = lt.losses.cross_entropy
HEAD = lt.jit(cross_entropy)


def refused(error, call, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


# ---- Python's numbers ----------------------------------------------------------------------------


@pytest.mark.contract("1 scalar")
def test_an_int_for_one_token():
    expected = HEAD(H[0], W, target=np.int64(5))
    assert HEAD(H[0], W, target=5) == expected == HEAD(torch.tensor(H[0]), torch.tensor(W), target=5)
    np.testing.assert_allclose(HEAD.reference(H[0], W, target=5), expected, rtol=1e-6)
    refused(
        lt.CallIndexError,
        lambda: HEAD(H[0], W, target=V),
        f"'target' is {V}, outside the vocabulary of {V} entries: it must be 0 to {V - 1} or ignore_index "
        "-100",
    )


@pytest.mark.contract("1 conversion")
def test_an_int_that_no_integer_holds():
    refused(
        lt.CallValueError,
        lambda: HEAD(H[0], W, target=2**63),
        f"'target' is {2**63}, but lt.Token[int] takes integers that fit in 32 bits",
    )
    refused(
        lt.CallTypeError,
        lambda: HEAD(H[0], W, target=5.0),
        "'target' is float64; lt.Token[int] takes int8, int16, int32, int64, uint8, uint16, uint32, uint64",
    )
    assert HEAD(H, W, target=Y, temperature=2**70) == HEAD(H, W, target=Y, temperature=2.0**70)


@pytest.mark.parametrize("cotangent", [3, 3.0, np.float32(3)])
def test_what_reaches_an_output_may_be_an_int(cotangent):
    _, gradients = HEAD.value_and_grad(H, W, target=Y, grad_output=cotangent)
    check_close(gradients["hidden"], HEAD.reference_grad(H, W, target=Y, grad_output=3.0)[1]["hidden"])


@lt.loss
def masked(z: lt.Logits, target: lt.Token[int], mask: lt.Token[bool], *, scale: lt.Scalar | lt.Token[float]):
    return lt.where(mask, scale * (lt.logsumexp(z) - z[target]), 0.0)


@pytest.mark.contract("1 scalar")
def test_bools_are_no_numbers():
    refused(
        lt.CallTypeError,
        lambda: HEAD(H, W, target=Y, temperature=True),
        "'temperature' is the bool True, but lt.Scalar | lt.Token[float] | None takes a number or one value "
        "per token; pass 1.0 if that is meant",
    )
    refused(
        lt.CallTypeError,
        lambda: lt.jit(masked)(H[0], W, target=5, mask=False, scale=1.0),
        "'mask' is the bool False, but lt.Token[bool] takes one value per token, as an array",
    )
    refused(
        lt.CallTypeError,
        lambda: HEAD(H, W, target=Y, divisor=True),
        "'divisor' is the bool True, but it must be a number",
    )


def test_bools_are_no_numbers_of_graphs():
    head = torch.compile(HEAD, fullgraph=True, backend="eager")
    with pytest.raises(Exception, match="'temperature' is the bool True, but"):
        head(torch.tensor(H), torch.tensor(W), target=torch.tensor(Y), temperature=True)


# ---- buffers -------------------------------------------------------------------------------------


def added(buffer, weight=W, **given):
    HEAD.value_and_grad(H, weight, target=Y, weight_grad_out=buffer, **given)


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize(("shape", "strides"), [
    ((V, D), (1, 1)), ((V, D), (0, 1)), ((V, D), (8, 1)), ((V, D), (6, 4)), ((V, D), (0, 0)),
    ((V, D), (2, 36)),
])  # fmt: skip
def test_buffers_that_overlap_themselves(shape, strides):
    refused(
        lt.CallValueError,
        lambda: added(torch.zeros(1000).as_strided(shape, strides)),
        f"'weight_grad_out' has strides {strides}: entries that share memory cannot be added into",
    )


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize("strides", [(D, 1), (1, V), (40, 2), (3, 112), (2, 37)])
def test_buffers_whose_entries_take_turns(strides):
    memory = torch.zeros(3000)
    buffer = memory.as_strided((V, D), strides)
    added(buffer)
    check_close(buffer, HEAD.reference_grad(H, W, target=Y)[1]["weight"])
    assert memory.count_nonzero() <= V * D


def shares(name):
    return (
        f"'weight_grad_out' shares memory with '{name}', which the call reads while gradients are added into "
        "the buffer; give separate memory"
    )


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize("framework", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_buffers_that_are_an_input(framework):
    weight, square = W.copy(), RNG.normal(size=(V, V)).astype(np.float32)
    refused(lt.CallValueError, lambda: added(framework(weight), framework(weight)), shares("weight"))
    row = framework(square)
    head, target = lt.jit(cross_entropy), np.arange(V)
    for given, name in (({"bias": row[0]}, "bias"), ({"temperature": row[:, 1]}, "temperature")):
        arrays = (framework(square.copy()), framework(square.copy()))
        refused(
            lt.CallValueError,
            lambda arrays=arrays, given=given: head.value_and_grad(
                *arrays, target=target, weight_grad_out=row, **given
            ),
            shares(name),
        )
    refused(
        lt.CallValueError,
        lambda: head.value_and_grad(row, framework(square.copy()), target=target, weight_grad_out=row),
        shares("hidden"),
    )


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize("framework", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_a_buffer_may_lie_between_the_columns_of_the_weight(framework):
    both = np.zeros((V, 2 * D), np.float32)
    both[:, :D] = W
    both = framework(both)
    added(both[:, D:], both[:, :D])
    check_close(both[:, D:], HEAD.reference_grad(H, W, target=Y)[1]["weight"])
    np.testing.assert_array_equal(both[:, :D], W)


# ---- tensors without one shape or memory ---------------------------------------------------------


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
@pytest.mark.parametrize("method", ["__call__", "value_and_grad"])
def test_nested_tensors(layout, method):
    rows = [torch.randn(3, D), torch.randn(4, D)]
    hidden = torch.nested.nested_tensor(rows, layout=layout)
    refused(
        lt.CallTypeError,
        lambda: getattr(HEAD, method)(hidden, torch.tensor(W), target=torch.tensor(Y)),
        "'hidden' is a nested tensor, whose rows differ in length; pass its tokens one after the other "
        "(torch.cat(x.unbind())), or pad it (x.to_padded_tensor(0)) and set the targets of padding to "
        "ignore_index",
    )


class Wrapper(torch.Tensor):
    """A tensor that forwards to another one and has no memory of its own."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        unwrapped = [arg.inner if isinstance(arg, cls) else arg for arg in args]
        return function(*unwrapped, **(kwargs or {}))


def test_tensors_without_memory():
    refused(
        lt.CallTypeError,
        lambda: HEAD.value_and_grad(Wrapper(torch.tensor(H)), torch.tensor(W), target=torch.tensor(Y)),
        "'z.hidden' is a Wrapper without memory of its own, but numbers are read here; call the head itself, "
        "which torch can trace, or pass a plain tensor",
    )
