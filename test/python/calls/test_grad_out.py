"""value_and_grad(grad_out=...): gradients are written to memory of the caller,
or the call is refused.
"""

import logitile as lt
import ml_dtypes
import numpy as np
import pytest

N, D, V = 70, 33, 211
RNG = np.random.default_rng(5)
H = RNG.standard_normal((N, D), np.float32)
W = RNG.standard_normal((V, D), np.float32)
Y = RNG.integers(0, V, N)


@lt.loss
def scaled(z: lt.Logits, target: lt.Token[int], scale: lt.Token[float], bias: lt.Vocab[float]):
    y = scale * z + bias
    return lt.logsumexp(y) - y[target]


HEAD = lt.jit(lt.losses.cross_entropy)


def filled(shape, dtype=np.float32):
    """Memory that holds numbers of an earlier call."""
    return np.full(shape, 7, dtype)


@pytest.mark.contract("2 grad_out")
@pytest.mark.parametrize("tokens", [1, 20, N])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_gradients_are_written_to_memory_of_the_caller(tokens, dtype):
    hidden, weight, target = H[:tokens].astype(dtype), W.astype(dtype), Y[:tokens]
    loss, wanted = HEAD.value_and_grad(hidden, weight, target=target)
    given = {"hidden": filled((tokens, D), dtype), "weight": filled((V, D), dtype)}
    for _ in range(2):
        found, gradients = HEAD.value_and_grad(hidden, weight, target=target, grad_out=given)
        assert found == loss
        for name, array in given.items():
            assert gradients[name] is array
            np.testing.assert_array_equal(array.astype(np.float32), wanted[name].astype(np.float32))


def test_gradients_that_are_not_named_get_arrays_of_their_own():
    _, wanted = HEAD.value_and_grad(H, W, target=Y)
    _, gradients = HEAD.value_and_grad(H, W, target=Y, grad_out={"weight": (own := filled((V, D)))})
    assert gradients["weight"] is own
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, wanted[name])


def test_gradients_of_inputs():
    inputs = {"target": Y, "scale": 1 + 0 * H[:, 0], "bias": W[:, 0].copy()}
    names = ["scale", "bias", "hidden"]
    _, wanted = lt.jit(scaled).value_and_grad(H, W, wrt=names, **inputs)
    given = {"scale": filled(N), "bias": filled(V)}
    _, gradients = lt.jit(scaled).value_and_grad(H, W, wrt=names, grad_out=given, **inputs)
    for name in names:
        assert name == "hidden" or gradients[name] is given[name]
        np.testing.assert_array_equal(gradients[name], wanted[name])


def test_gradients_in_float32_of_narrow_inputs():
    hidden, weight = H.astype(ml_dtypes.bfloat16), W.astype(ml_dtypes.bfloat16)
    _, wanted = HEAD.value_and_grad(hidden, weight, target=Y, grad_dtype="float32")
    given = {"weight": filled((V, D))}
    _, gradients = HEAD.value_and_grad(hidden, weight, target=Y, grad_dtype="float32", grad_out=given)
    assert gradients["weight"] is given["weight"]
    np.testing.assert_array_equal(given["weight"], wanted["weight"])


def test_beside_a_buffer_that_is_added_into():
    hidden, weight = H.astype(ml_dtypes.bfloat16), W.astype(ml_dtypes.bfloat16)
    _, wanted = HEAD.value_and_grad(hidden, weight, target=Y)
    buffer, own = np.zeros((V, D), np.float32), filled((N, D), ml_dtypes.bfloat16)
    _, gradients = HEAD.value_and_grad(
        hidden, weight, target=Y, weight_grad_out=buffer, grad_out={"hidden": own}
    )
    assert gradients["hidden"] is own and gradients["weight"] is buffer
    off = abs(own.astype(np.float32) - wanted["hidden"].astype(np.float32)).max()
    assert off <= 1e-2 * abs(wanted["hidden"].astype(np.float32)).max()


def test_a_weight_of_the_other_layout():
    head = lt.jit(lt.losses.cross_entropy, weight_layout="dv")
    weight = np.ascontiguousarray(W.T)
    _, wanted = head.value_and_grad(H, weight, target=Y)
    own = filled((D, V))
    _, gradients = head.value_and_grad(H, weight, target=Y, grad_out={"weight": own})
    assert gradients["weight"] is own
    np.testing.assert_array_equal(own, wanted["weight"])


def test_a_gradient_that_nothing_reaches_is_zero():
    @lt.loss
    def two(z: lt.Logits, target: lt.Token[int], scale: lt.Token[float]):
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], other=scale * 2)

    given = {"scale": filled(N)}
    _, gradients = lt.jit(two).value_and_grad(
        H, W, target=Y, scale=H[:, 0].copy(), wrt=["scale"], grad_output={"loss": 1.0}, grad_out=given
    )
    assert gradients["scale"] is given["scale"] and not given["scale"].any()


def test_memory_of_torch():
    torch = pytest.importorskip("torch")
    hidden, weight, target = torch.from_numpy(H), torch.from_numpy(W), torch.from_numpy(Y)
    _, wanted = HEAD.value_and_grad(hidden, weight, target=target)
    own = torch.full((V, D), 7.0)
    _, gradients = HEAD.value_and_grad(hidden, weight, target=target, grad_out={"weight": own})
    assert gradients["weight"] is own and torch.equal(own, wanted["weight"])
    with pytest.raises(lt.CallTypeError, match="'grad_out' of 'weight' is of numpy and hidden of torch"):
        HEAD.value_and_grad(hidden, weight, target=target, grad_out={"weight": filled((V, D))})


@pytest.mark.parametrize("option", ["grad_out", "weight_grad_out"])
def test_torch_knows_that_its_memory_was_written(option):
    torch = pytest.importorskip("torch")
    hidden, weight, target = torch.from_numpy(H), torch.from_numpy(W), torch.from_numpy(Y)
    memory, factor = torch.full((V, D), 7.0), torch.ones((V, D), requires_grad=True)
    product = (factor * memory).sum()
    given = {"weight": memory} if option == "grad_out" else memory
    HEAD.value_and_grad(hidden, weight, target=target, **{option: given})
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_memory_of_torch_that_requires_a_gradient_is_refused():
    torch = pytest.importorskip("torch")
    hidden, weight, target = torch.from_numpy(H), torch.from_numpy(W), torch.from_numpy(Y)
    with pytest.raises(lt.CallValueError, match="'grad_out' of 'weight' requires a gradient"):
        own = torch.zeros((V, D), requires_grad=True)
        HEAD.value_and_grad(hidden, weight, target=target, grad_out={"weight": own})


def test_no_token_writes_zeros():
    given = {"hidden": filled((0, D)), "weight": filled((V, D))}
    _, gradients = HEAD.value_and_grad(H[:0], W, target=Y[:0], grad_out=given)
    assert gradients["hidden"] is given["hidden"]
    assert gradients["weight"] is given["weight"] and not given["weight"].any()


def test_memory_of_what_reaches_the_outputs_is_refused():
    reaching = filled(V * D)
    head = lt.jit(lt.losses.cross_entropy, reduction="none")
    with pytest.raises(lt.CallValueError, match="'grad_out' of 'weight' shares memory with 'grad_output'"):
        head.value_and_grad(
            H, W, target=Y, grad_output=reaching[:N], grad_out={"weight": reaching.reshape(V, D)}
        )


FROZEN = filled((V, D))
FROZEN.flags.writeable = False
SHARED = filled((V, D))


@pytest.mark.contract("2 grad_out")
@pytest.mark.parametrize(
    "given, error, text",
    [
        (filled((V, D)), lt.CallTypeError, "must be a dictionary of arrays by 'hidden' and 'weight'"),
        ({"wieght": filled((V, D))}, lt.CallTypeError, "names 'wieght', .*; did you mean 'weight'?"),
        ({"target": Y}, lt.CallTypeError, "names 'target', which is no gradient of this call"),
        ({"weight": filled((D, V))}, lt.CallValueError, r"float32\[33, 211\]; it must be float32\[211, 33\]"),
        ({"weight": filled((V, D), np.float64)}, lt.CallValueError, "is float64.*must be float32"),
        ({"weight": filled((V, 2 * D))[:, ::2]}, lt.CallValueError, "has strides .*without gaps"),
        ({"weight": filled((D, V)).T}, lt.CallValueError, "has strides .*without gaps"),
        ({"weight": FROZEN}, lt.CallValueError, "'grad_out' of 'weight' is read-only"),
        ({"weight": W}, lt.CallValueError, "'grad_out' of 'weight' shares memory with 'weight'"),
        (
            {"weight": SHARED, "hidden": SHARED[:N]},
            lt.CallValueError,
            "'grad_out' of 'weight' shares memory with that of 'hidden'",
        ),
    ],
)
def test_memory_that_does_not_fit_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        HEAD.value_and_grad(H, W, target=Y, grad_out=given)


def test_calls_that_write_no_memory_of_the_caller_refuse_it():
    given = {"weight": filled((V, D))}
    with pytest.raises(lt.CallTypeError, match="'grad_out' is not for backend='reference'"):
        lt.jit(lt.losses.cross_entropy, backend="reference").value_and_grad(H, W, target=Y, grad_out=given)
    with pytest.raises(lt.CallTypeError, match="'grad_out' is not for calls with segments"):
        HEAD.value_and_grad(H, W, target=Y, segments=lt.Segments.from_lengths([N]), grad_out=given)
    with pytest.raises(lt.CallTypeError, match="names 'weight', which is no gradient"):
        buffer = np.zeros((V, D), np.float32)
        HEAD.value_and_grad(H, W, target=Y, weight_grad_out=buffer, grad_out=given)
