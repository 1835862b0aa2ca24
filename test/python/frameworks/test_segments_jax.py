"""`segments=` in JAX: transformations, compiled programs, several devices."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import logitile as lt
import numpy as np
import pytest
from test_segments import COUNT, KINDS, LEADING, LENGTHS, REDUCTION, SEGMENTS, arguments, close, ids, weighted

jax = pytest.importorskip("jax")
jnp = jax.numpy
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


def of_jax(loss):
    operands, inputs = arguments(loss)
    return [jnp.asarray(x) for x in operands], {name: jnp.asarray(x) for name, x in inputs.items()}


def given(kind):
    """The array that tells sequences, and what makes Segments of it."""
    if kind == "ids":
        return jnp.asarray(ids()), lambda array: lt.Segments(array, COUNT)
    return jnp.asarray(LENGTHS), lt.Segments.from_lengths


@pytest.mark.contract("2 segments")
@SEGMENTS
@REDUCTION
@pytest.mark.parametrize("loss", [lt.losses.cross_entropy, weighted], ids=lambda f: f.name)
@pytest.mark.parametrize("compiles", [False, True])
def test_outputs_and_gradients(loss, reduction, kind, compiles):
    operands, inputs = of_jax(loss)
    head, (array, made) = lt.jit(loss, reduction=reduction, all_ignored="zero"), given(kind)
    count = KINDS[kind]().count
    slope = np.linspace(-1, 2, count).astype(np.float32)

    def value(hidden, weight, array):
        out = head(hidden, weight, **inputs, segments=made(array))
        return (
            out @ slope if loss is lt.losses.cross_entropy else out.loss @ slope + 2 * out.entropy.sum()
        ), out

    run = jax.value_and_grad(value, (0, 1), has_aux=True)
    (_, out), gradients = (jax.jit(run) if compiles else run)(*operands, array)
    reaching = slope if loss is lt.losses.cross_entropy else {"loss": slope, "entropy": 2.0}
    wanted, exact = head.reference_grad(*operands, **inputs, segments=KINDS[kind](), grad_output=reaching)
    close(np.array(out, np.float64), np.array(wanted, np.float64))
    close(gradients[0], exact["hidden"], 2e-5)
    close(gradients[1], exact["weight"], 2e-5)

    def ask(*operands, array):
        return head.value_and_grad(*operands, **inputs, segments=made(array), grad_output=reaching)

    again, found = (jax.jit(ask) if compiles else ask)(*operands, array=array)
    close(np.array(again, np.float64), np.array(wanted, np.float64))
    for name, gradient in found.items():
        close(gradient, exact[name], 2e-5)


def test_vmap_and_checkpoint():
    (hidden, weight), inputs = of_jax(lt.losses.cross_entropy)
    head, numbers = lt.jit(lt.losses.cross_entropy, reduction="sum"), jnp.asarray(ids())

    def value(hidden, numbers):
        return head(hidden, weight, **inputs, segments=lt.Segments(numbers, COUNT))

    many = jnp.stack([hidden, 2 * hidden]), jnp.stack([numbers, numbers[::-1]])
    close(jax.vmap(value)(*many), jnp.stack([value(*pair) for pair in zip(*many, strict=True)]))
    close(jax.grad(lambda h: jax.checkpoint(value)(h, numbers).sum())(hidden),
          jax.grad(lambda h: value(h, numbers).sum())(hidden))  # fmt: skip


def test_errors_where_numbers_are_known_and_nan_where_they_are_not():
    operands, inputs = of_jax(weighted)
    head = lt.jit(weighted, reduction="sum")
    too_long, too_large = jnp.asarray([8, 5, 0, 11, 9]), jnp.asarray(ids()).at[1, 2].set(COUNT)
    with pytest.raises(lt.CallValueError, match="add up to 33, but hidden has 32 tokens"):
        head(*operands, **inputs, segments=lt.Segments.from_lengths(too_long))
    with pytest.raises(lt.CallIndexError, match=r"at \[1, 2\] is 6, but there are 6 sequences"):
        head(*operands, **inputs, segments=lt.Segments(too_large, COUNT))
    with pytest.raises(lt.CallTypeError, match="they must be integers"):
        jax.jit(lambda a: head(*operands, **inputs, segments=lt.Segments(a, COUNT)))(jnp.zeros(LEADING))
    for made, array in ((lt.Segments.from_lengths, too_long),
                        (lt.Segments.from_lengths, jnp.asarray([33, -1])),
                        (lambda a: lt.Segments(a, COUNT), too_large)):  # fmt: skip
        out = jax.jit(lambda a, made=made: head(*operands, **inputs, segments=made(a)))(array)
        assert (
            np.isnan(out.loss).all() and np.isnan(out.entropy).all() and (np.asarray(out.larger) == -1).all()
        )


def test_sums_of_many_tokens_are_accurate():
    """Where one sum of 100 000 float32 numbers in a row would be off by hundreds of units."""
    from logitile.frameworks.jax.segments import JAX_SUMS

    rng = np.random.default_rng(0)
    values = rng.uniform(0, 1, 100_000).astype(np.float32)
    numbers = np.where(rng.uniform(size=values.size) < 0.5, 0, rng.integers(-1, 5, values.size))
    found = JAX_SUMS.sums(jnp.asarray(values), jnp.asarray(numbers), 5)
    exact = [values[numbers == number].astype(np.float64).sum() for number in range(5)]
    np.testing.assert_allclose(found, exact, rtol=2**-22)


# ---- several devices -----------------------------------------------------------------------------


def on_mesh(kind=AxisType.Auto):
    assert len(jax.devices()) >= 4
    return jax.make_mesh((2, 2), ("data", "tp"), axis_types=(kind,) * 2, devices=jax.devices()[:4])


@pytest.mark.contract("6 meshes")
@SEGMENTS
@pytest.mark.parametrize("axes", [AxisType.Auto, AxisType.Explicit], ids=lambda axes: axes.name)
def test_a_mesh_under_plain_jit(axes, kind):
    (hidden, weight), inputs = of_jax(lt.losses.cross_entropy)
    head, (array, made) = lt.jit(lt.losses.cross_entropy, all_ignored="zero"), given(kind)
    mesh = on_mesh(axes)
    hidden, target = (jax.device_put(x, NamedSharding(mesh, P("data"))) for x in (hidden, inputs["target"]))
    weight = jax.device_put(weight[:60], NamedSharding(mesh, P("tp")))

    def value(hidden, weight, target, array):
        return head(hidden, weight, target=target, segments=made(array)).sum()

    with jax.set_mesh(mesh):
        target = jnp.where(target == 60, 0, target)
        found, gradients = jax.jit(jax.value_and_grad(value, (0, 1)))(hidden, weight, target, array)
    plain = np.asarray(hidden), np.asarray(weight)
    wanted, exact = head.reference_grad(*plain, target=np.asarray(target), segments=KINDS[kind]())
    close(found, wanted.sum())
    close(gradients[0], exact["hidden"])
    close(gradients[1], exact["weight"])


@pytest.mark.contract("6 meshes")
def test_slices_of_the_vocabulary_in_shard_map():
    (hidden, weight), inputs = of_jax(lt.losses.cross_entropy)
    head, target = lt.jit(lt.losses.cross_entropy, reduction="sum"), jnp.minimum(inputs["target"], 59)
    parallel, mesh = head.vocab_parallel("tp"), on_mesh()

    def value(hidden, weight, numbers):
        return parallel(hidden, weight, target=target, segments=lt.Segments(numbers, COUNT))

    sharded = jax.shard_map(value, mesh=mesh, in_specs=(P(), P("tp"), P()), out_specs=P(), check_vma=False)
    found = jax.jit(sharded)(hidden, weight[:60], jnp.asarray(ids()))
    close(found, head(hidden, weight[:60], target=target, segments=KINDS["ids"]()))
