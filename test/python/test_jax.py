"""Heads on JAX arrays: results are JAX arrays, and tracers are refused by name."""

import os
import subprocess
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import logitile as lt
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

N, V, D = 12, 37, 16
HEAD = lt.jit(lt.losses.cross_entropy)
DTYPES = ("float32", "bfloat16", "float16")


def operands(dtype="float32"):
    rng = np.random.default_rng(0)
    hidden, weight = rng.normal(size=(N, D)), rng.normal(size=(V, D)) / 2
    return jnp.asarray(hidden, dtype), jnp.asarray(weight, dtype), jnp.asarray(rng.integers(0, V, N))


def as_numpy(arrays):
    """The same numbers as arrays of NumPy."""
    return [np.asarray(array) for array in arrays]


def same(array, expected, dtype):
    """Asserts an array of JAX with the very numbers of one of NumPy."""
    assert isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer)
    assert array.dtype == jnp.dtype(dtype) and array.shape == np.shape(expected)
    np.testing.assert_array_equal(np.asarray(array, np.float64), np.asarray(expected, np.float64))


@pytest.mark.parametrize("layout", ["vd", "dv"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs_and_gradients_are_those_of_numpy(dtype, layout):
    head = lt.jit(lt.losses.cross_entropy, weight_layout=layout)
    hidden, weight, target = operands(dtype)
    weight = weight.T if layout == "dv" else weight
    given = as_numpy((hidden, weight, target))
    same(head(hidden, weight, target=target), head(*given[:2], target=given[2]), "float32")
    out, gradients = head.value_and_grad(hidden, weight, target=target)
    wanted, wanted_gradients = head.value_and_grad(*given[:2], target=given[2])
    same(out, wanted, "float32")
    assert list(gradients) == ["hidden", "weight"]
    for name, gradient in gradients.items():
        same(gradient, wanted_gradients[name], dtype)


def test_gradients_of_other_inputs_in_float32():
    hidden, weight, target = operands("bfloat16")
    wanted = {"wrt": ["temperature", "weight"], "grad_dtype": "float32"}
    _, gradients = HEAD.value_and_grad(
        hidden, weight, target=target, temperature=jnp.float32(1.5), grad_output=jnp.float32(2), **wanted
    )
    given = as_numpy((hidden, weight, target))
    _, expected = HEAD.value_and_grad(
        *given[:2], target=given[2], temperature=np.float32(1.5), grad_output=2.0, **wanted
    )
    for name, gradient in gradients.items():
        same(gradient, expected[name], "float32")


def test_named_outputs_per_token():
    hidden, weight, target = operands()
    head = lt.jit(lt.losses.logprob_entropy)
    out = head(hidden, weight, target=target)
    wanted = head(*as_numpy((hidden, weight)), target=np.asarray(target))
    assert out._fields == wanted._fields
    for array, expected in zip(out, wanted, strict=True):
        same(array, expected, "float32")


def test_arrays_that_are_still_computed():
    """JAX hands out arrays before their numbers are there."""
    hidden, weight, target = operands()
    large = jnp.ones((600, 600))
    for _ in range(5):
        late = large
        for _ in range(20):
            late = late @ large / 600
        late = hidden * late[0, 0]
        assert HEAD(late, weight, target=target) == HEAD(np.asarray(late), np.asarray(weight), target=target)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap", "linearize"])
def test_tracers_are_refused_by_name(transform):
    hidden, weight, target = operands()
    calls = {
        "jit": lambda: jax.jit(lambda h: HEAD(h, weight, target=target))(hidden),
        "grad": lambda: jax.grad(lambda h: HEAD(h, weight, target=target))(hidden),
        "vmap": lambda: jax.vmap(lambda h: HEAD(h, weight, target=target[0]))(hidden),
        "linearize": lambda: jax.linearize(
            lambda h: HEAD.value_and_grad(h, weight, target=target)[0], hidden
        ),
    }
    with pytest.raises(lt.CallTypeError) as caught:
        calls[transform]()
    assert str(caught.value) == (
        "'hidden' is a JAX tracer (of jit, grad or vmap); a head reads concrete arrays, so call it outside "
        "of the transformation, and take gradients from head.value_and_grad"
    )


def test_deleted_arrays_and_buffers_are_refused():
    hidden, weight, target = operands()
    gone = hidden + 1
    gone.delete()
    with pytest.raises(lt.CallTypeError, match="'hidden' is a JAX array that was deleted or donated"):
        HEAD(gone, weight, target=target)
    with pytest.raises(lt.CallTypeError, match="'weight_grad_out' must be an array of NumPy or torch"):
        HEAD.value_and_grad(hidden, weight, target=target, weight_grad_out=jnp.zeros((V, D)))


def test_calls_without_jax_do_not_import_it():
    code = (
        "import sys, numpy as np, logitile as lt; lt.jit(lt.losses.cross_entropy).value_and_grad("
        "np.ones((2, 4), np.float32), np.ones((5, 4), np.float32), target=np.zeros(2, int)); "
        "assert 'jax' not in sys.modules"
    )
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=env)
