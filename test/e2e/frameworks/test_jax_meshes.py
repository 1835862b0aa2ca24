"""Losses on meshes of four devices of the host: tokens on one axis,
the vocabulary on another, or on both.

Plain jax.jit partitions a head by itself. Results are compared with float64, as on one device.
"""

import os
import re

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import logitile as lt
import numpy as np
import pytest
from cases import CASES
from test_canaries import CANARIES, canary
from test_jax_losses import LIBRARY, JaxSample, library_sample

jax = pytest.importorskip("jax")
jnp = jax.numpy
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

SHAPE = (256, 600, 40)  # tokens, vocabulary, hidden


def mesh_of(shape, kind=AxisType.Auto):
    assert len(jax.devices()) >= 4
    return jax.make_mesh(shape, ("data", "tp"), axis_types=(kind,) * 2, devices=jax.devices()[:4])


def is_refused(call, placed, mesh):
    """Whether this JAX cannot partition heads over such a mesh; then the call says so."""
    is_old = jax.__version__.startswith(("0.8.", "0.9."))
    if not is_old or AxisType.Explicit not in mesh.axis_types:
        return False
    with pytest.raises(lt.CallTypeError, match=r"explicit axes \(data, tp\), .* use JAX 0.10"):
        call(*placed)
    return True


class MeshSample(JaxSample):
    """A call whose arrays are on a mesh of 2 x 2: tokens on `data`, the vocabulary on `tp`."""

    def run(self):
        mesh = mesh_of((2, 2))
        axes = {given.name: given.axis for given in self.spec.inputs}
        specs = {"token": P("data"), "vocab": P("tp"), "dense": P("data", "tp"), "scalar": P()}

        def placed(array, spec):
            return jax.device_put(jnp.asarray(array), NamedSharding(mesh, spec))

        self.passed = {
            name: (placed(item[0], P("data")), placed(item[1], P("tp")))
            if isinstance(item, tuple)
            else placed(item, specs[axes[name]])
            for name, item in self.passed.items()
        }
        return super().run()


def on_mesh(made):
    return MeshSample(made.loss, made.given, made.options, made.wrt, made.cotangent, made.call)


@pytest.mark.contract("6 meshes")
@pytest.mark.parametrize("name", LIBRARY)
def test_library(name, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "1")
    on_mesh(library_sample(name, "float32", SHAPE)).check()


FEW = ("standardised_kl", "teacher_at_argmax", "next_column", "second_best", "variance", "margin", "jsd")
MORE = sorted({*CASES, *CANARIES} - {*FEW})[::2]


@pytest.mark.contract("6 meshes")
@pytest.mark.parametrize("name", [*FEW, *(pytest.param(name, marks=pytest.mark.full) for name in MORE)])
def test_losses_in_use_and_canaries(name, monkeypatch):
    """The first ones have backward sweeps, computed indices, or states that are no sums."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "1")
    on_mesh(canary(name, SHAPE)).check()


# ---- cross entropy in every place ----------------------------------------------------------------


def operands(dtype="float32"):
    rng = np.random.default_rng(0)
    target = np.where(rng.random((4, 8)) < 0.25, -100, rng.integers(0, 24, (4, 8)))
    arrays = rng.normal(size=(4, 8, 16)), rng.normal(size=(24, 16)) / 2
    return [*(jnp.asarray(array, dtype) for array in arrays), jnp.asarray(target)]


PLACES = {
    "tokens and vocabulary": (P("data", None, None), P("tp", None), P("data", None)),
    "vocabulary on both axes": (P(), P(("data", "tp"), None), P()),
    "tokens on both axes": (P(("data", "tp"), None, None), P(), P(("data", "tp"), None)),
    "tokens on both dimensions": (P("data", "tp", None), P(), P("data", "tp")),
    "weights of FSDP": (P("data", None, None), P("tp", "data"), P("data", None)),
    "hidden sizes alone": (P(None, None, "tp"), P(None, "tp"), P()),
    "sequence parallel": (P("data", "tp", None), P("tp", None), P("data", "tp")),
}


def close(found, wanted, bound=2e-6):
    for array, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        array, expected = np.asarray(array, np.float64), np.asarray(expected, np.float64)
        assert np.linalg.norm(array - expected) <= bound * np.linalg.norm(expected) + 1e-9


def whole(head, **options):
    def step(hidden, weight, target):
        return 3 * head(hidden, weight, target=target, **options).sum()

    return jax.jit(jax.value_and_grad(step, (0, 1)))


@pytest.mark.contract("6 meshes")
@pytest.mark.parametrize("shape", [(2, 2), (1, 4)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("place", PLACES)
def test_every_place(place, reduction, shape):
    head = lt.jit(lt.losses.cross_entropy, reduction=reduction, label_smoothing=0.1)
    arrays, mesh = operands(), mesh_of(shape)
    placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, PLACES[place], strict=True)]
    step = whole(head)
    found = step(*placed)
    close(found, step(*arrays))
    for gradient, operand in zip(found[1], placed, strict=False):
        if "hidden sizes" not in place:
            assert gradient.sharding.is_equivalent_to(operand.sharding, operand.ndim)


@pytest.mark.contract("6 meshes")
def test_dimensions_that_do_not_divide_evenly():
    """XLA pads them; each device then works on all."""
    rng, mesh = np.random.default_rng(0), mesh_of((2, 2))
    hidden, weight = (jnp.asarray(rng.normal(size=size), jnp.float32) for size in ((7, 16), (25, 16)))
    target = jnp.asarray(rng.integers(0, 25, 7))
    head = lt.jit(lt.losses.cross_entropy)

    def step(hidden, weight, target, is_sharded):
        if is_sharded:
            hidden = jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, P("data")))
            weight = jax.lax.with_sharding_constraint(weight, NamedSharding(mesh, P("tp")))
        return head(hidden, weight, target=target)

    both = jax.jit(jax.value_and_grad(step, (0, 1)), static_argnums=3)
    close(both(hidden, weight, target, True), both(hidden, weight, target, False))


def gathered(text):
    """The numbers of elements that all-gathers of a program make."""
    shapes = re.findall(r"= \w+\[([\d,]*)\]\S* all-gather", text)
    return sorted(int(np.prod([int(n) for n in shape.split(",") if n])) for shape in shapes)


@pytest.mark.contract("6 meshes")
def test_only_states_of_tokens_are_gathered():
    """And weights of FSDP, once."""
    head = lt.jit(lt.losses.cross_entropy)
    mesh, arrays = mesh_of((2, 2)), operands()
    for place, most in (("tokens and vocabulary", 0), ("weights of FSDP", 1), ("tokens on both axes", 0)):
        specs = PLACES[place]
        placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, specs, strict=True)]
        sizes = gathered(whole(head).lower(*placed).compile().as_text())
        states = 2 * 16 * 4  # slices, tokens of a device, rows of a sweep
        assert len([size for size in sizes if size > states]) == most, sizes


@lt.loss
def best(z: lt.Logits, target: lt.Token[int]):
    values, indices = lt.topk(z, 5)
    kept = lt.where(z >= values[-1], z, float("-inf"))
    return lt.Outputs(loss=lt.logsumexp(z) - lt.logsumexp(kept), indices=indices, values=values)


@pytest.mark.contract("6 meshes", "5 lists of slices")
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=str)
@pytest.mark.parametrize("shape", [(2, 2), (1, 4)], ids=str)
def test_lists_are_those_of_the_whole_vocabulary(shape, kind):
    """Lists of slices are gathered and merged; weights and tokens stay where they are."""
    hidden, weight, target = operands()
    head, mesh = lt.jit(best), mesh_of(shape, kind)
    expected = head(hidden, weight, target=target)

    def step(hidden, weight, target):
        return head(hidden, weight, target=target)

    with jax.set_mesh(mesh):
        places = (P("data"), P("tp"), P("data"))
        placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(operands(), places, strict=True)]
        if is_refused(step, placed, mesh):
            return
        for found in (step(*placed), jax.jit(step)(*placed)):
            np.testing.assert_array_equal(np.asarray(found.indices), np.asarray(expected.indices))
            np.testing.assert_allclose(np.asarray(found.values), np.asarray(expected.values), rtol=1e-6)
            np.testing.assert_allclose(float(found.loss), float(expected.loss), rtol=1e-6)
        gradients = jax.grad(lambda *given: step(*given).loss, (0, 1))
        close(jax.jit(gradients)(*placed), gradients(hidden, weight, target))
        sizes = gathered(jax.jit(step).lower(*placed).compile().as_text())
    # values and indices, slices, places, tokens of a device
    lists = 2 * shape[1] * 5 * 4 * 8 // shape[0]
    assert max(sizes) <= lists


@pytest.mark.contract("6 shard_map", "5 lists of slices")
@pytest.mark.parametrize("check_vma", [True, False])
def test_lists_in_shard_map(check_vma):
    hidden, weight, target = operands()
    head, mesh = lt.jit(best), mesh_of((2, 2))

    def lists(hidden, weight, target):
        found = head.vocab_parallel("tp")(hidden, weight, target=target)
        return found.values, found.indices

    places = P("data"), P("tp"), P("data")
    parallel = jax.shard_map(lists, mesh=mesh, in_specs=places, out_specs=P("data"), check_vma=check_vma)
    values, indices = jax.jit(parallel)(hidden, weight, target)
    expected = head(hidden, weight, target=target)
    np.testing.assert_array_equal(np.asarray(indices), np.asarray(expected.indices))
    np.testing.assert_allclose(np.asarray(values), np.asarray(expected.values), rtol=1e-6)


def per_token(z: lt.Logits, a: lt.Token[float]):
    return a * a * lt.sum(lt.exp(z) ** 0)


def scaled(z: lt.Logits, s: lt.Scalar[float], a: lt.Token[float]):
    return s * a * a * lt.sum(lt.exp(z) ** 0)


def of_several(z: lt.Logits, a: lt.Token[float, lt.K]):
    return a[0] * a[1] * lt.sum(lt.exp(z) ** 0)


def of_nothing(z: lt.Logits, s: lt.Scalar[float]):
    return s * lt.sum(lt.exp(z) ** 0)


@pytest.mark.contract("6 meshes")
@pytest.mark.parametrize("leading", [(), (4,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("text", [per_token, scaled, of_several])
def test_losses_without_sweeps(text, leading):
    """They depend on no logit, so no state tells how many tokens there are."""
    rng, mesh = np.random.default_rng(0), mesh_of((2, 2))
    shape = {"a": (*leading, 3) if text is of_several else leading, "s": ()}
    names = list(text.__annotations__)[1:]
    extents = [(*leading, 8), (12, 8), *(shape[name] for name in names)]
    arrays = [jnp.asarray(rng.normal(size=extent), jnp.float32) for extent in extents]
    tokens = P("data") if leading else P()
    places = [tokens, P("tp"), *(tokens if extent else P() for extent in extents[2:])]
    placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, places, strict=True)]
    for reduction in ("none", "mean"):
        head = lt.jit(lt.loss(text), reduction=reduction)
        call = jax.jit(lambda h, w, *given, head=head: head(h, w, **dict(zip(names, given, strict=True))))
        found, wanted = call(*placed), call(*arrays)
        assert found.shape == wanted.shape
        close(found, wanted)
        gradient = jax.jit(jax.grad(lambda *given, call=call: call(*given).sum(), len(arrays) - 1))
        close(gradient(*placed), gradient(*arrays))


@pytest.mark.contract("6 meshes")
def test_a_loss_that_reads_nothing_per_token_has_no_slices():
    mesh, head = mesh_of((2, 2)), lt.jit(lt.loss(of_nothing))
    weight = jax.device_put(jnp.ones((12, 8)), NamedSharding(mesh, P("tp")))
    with pytest.raises(Exception, match="'of_nothing' depends on no logit and on no input per token"):
        jax.jit(lambda w, s: head(jnp.ones((4, 8)), w, s=s))(weight, jnp.float32(2))


def test_arrays_of_one_device_while_a_mesh_is_set():
    hidden, weight, target = operands()
    gradients = jax.grad(lambda *given: lt.jit(lt.losses.cross_entropy)(*given, target=target), (0, 1))
    with jax.set_mesh(mesh_of((2, 2))):
        found = gradients(hidden, weight)
    close(found, gradients(hidden, weight))


@pytest.mark.parametrize("layout", ["vd", "dv"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_bits_and_layouts(dtype, layout):
    head = lt.jit(lt.losses.cross_entropy, weight_layout=layout)
    hidden, weight, target = operands(dtype)
    spec = P("tp", None)
    if layout == "dv":
        weight, spec = weight.T, P(None, "tp")
    mesh = mesh_of((2, 2))
    placed = [
        jax.device_put(a, NamedSharding(mesh, s))
        for a, s in zip((hidden, weight, target), (P("data"), spec, P("data")), strict=True)
    ]
    step = whole(head)
    found, wanted = step(*placed), step(hidden, weight, target)
    close(found, wanted, 2e-2 if dtype == "bfloat16" else 2e-3)
    assert [g.dtype for g in found[1]] == [jnp.dtype(dtype)] * 2


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], trust: lt.Token[float]):
    lse = lt.logsumexp(z)
    return lt.Outputs(
        loss=trust * (lse - z[target]), weight=lt.stop_gradient(trust), best=lt.argmax(z), lse=lse
    )


@pytest.mark.parametrize("divisor", [None, 7.0])
@pytest.mark.parametrize("all_ignored", ["nan", "zero"])
def test_means_over_all_tokens_of_the_mesh(divisor, all_ignored):
    head = lt.jit(weighted, all_ignored=all_ignored)
    hidden, weight, target = operands()
    trust = jnp.asarray(np.random.default_rng(2).random(target.shape), jnp.float32)
    mesh = mesh_of((2, 2))

    def step(hidden, weight, target, trust):
        out = head(hidden, weight, target=target, trust=trust, divisor=divisor)
        return out.loss + (out.lse * trust).sum(), out

    both = jax.jit(jax.value_and_grad(step, (0, 1, 3), has_aux=True))
    for labels in (target, jnp.full_like(target, -100)):
        given = (hidden, weight, labels, trust)
        specs = (P("data"), P("tp"), P("data"), P("data"))
        placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(given, specs, strict=True)]
        found, wanted = both(*placed), both(*given)
        for array, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(np.asarray(array), np.asarray(expected), rtol=2e-5, atol=1e-6)


# ---- meshes with explicit axes, and jax.shard_map ------------------------------------------------


@pytest.mark.contract("6 meshes")
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("place", ["tokens and vocabulary", "tokens on both axes", "weights of FSDP"])
def test_explicit_axes(place, reduction):
    head = lt.jit(lt.losses.cross_entropy, reduction=reduction)
    arrays, mesh = operands(), mesh_of((2, 2), AxisType.Explicit)
    wanted = whole(head)(*arrays)
    with jax.set_mesh(mesh):
        placed = [
            jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, PLACES[place], strict=True)
        ]
        if is_refused(whole(head), placed, mesh):
            return
        found = whole(head)(*placed)
        rows = jax.jit(lambda h, w, t: head(h, w, target=t))(*placed)
    close(found, wanted)
    if reduction == "none":
        assert jax.typeof(rows).sharding.spec[0] == PLACES[place][0][0]


EVERY_KIND = ("plain", "standardised_kl", "vocab_scale", "learned_temperature", "power_sum", "soft_targets",
              "teacher_at_argmax", "margin")  # fmt: skip


@pytest.mark.contract("6 shard_map")
@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("name", EVERY_KIND)
def test_shard_map(name, check_vma, monkeypatch):
    """Every kind of input, with backward sweeps too, against the call on one device."""
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "1")
    made, mesh = canary(name, (16, 24, 8)), mesh_of((2, 2))
    specs = {"token": P("data"), "vocab": P("tp"), "dense": P("data", "tp"), "scalar": P()}
    kinds = {given.name: given.axis for given in made.spec.inputs}
    arrays = jax.tree.map(jnp.asarray, made.passed)
    places = {n: (P("data"), P("tp")) if isinstance(a, tuple) else specs[kinds[n]] for n, a in arrays.items()}
    floats = {n for n, a in arrays.items() if isinstance(a, tuple) or jnp.issubdtype(a.dtype, jnp.floating)}
    fixed = {n: a for n, a in arrays.items() if n not in floats}
    leaves = {n: a for n, a in arrays.items() if n in floats}
    cotangent = jnp.asarray(made.cotangent["loss"])

    def alone(leaves):
        return (made.head(**leaves, **fixed) * cotangent).sum()

    def sharded(leaves):
        parallel = jax.shard_map(
            lambda given: made.head.vocab_parallel("tp")(**given),
            mesh=mesh, in_specs=(places,), out_specs=P("data"), check_vma=check_vma,
        )  # fmt: skip
        return (parallel({**leaves, **fixed}) * cotangent).sum()

    found, wanted = jax.jit(jax.value_and_grad(sharded))(leaves), jax.value_and_grad(alone)(leaves)
    close(found, wanted, 2e-5)


@pytest.mark.contract("6 shard_map")
def test_data_parallel_shard_map():
    """The head itself, with a weight that all devices have."""
    hidden, weight, target = operands()
    head, mesh = lt.jit(lt.losses.cross_entropy, reduction="sum"), mesh_of((2, 2))

    def total(hidden, weight, target):
        return jax.lax.psum(head(hidden, weight, target=target), ("data", "tp"))

    places = (P(("data", "tp")), P(), P(("data", "tp")))
    parallel = jax.shard_map(total, mesh=mesh, in_specs=places, out_specs=P())
    found = jax.jit(jax.value_and_grad(parallel, (0, 1)))(hidden, weight, target)
    close(found, jax.value_and_grad(lambda h, w: head(h, w, target=target), (0, 1))(hidden, weight))


def test_refusals_of_shard_map():
    hidden, weight, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    with pytest.raises(lt.CallTypeError, match="axis=3 must be the name of an axis of the mesh"):
        head.vocab_parallel(3)
    with pytest.raises(
        lt.CallTypeError, match="there is no axis 'tp' here; call the head inside of jax.shard_map"
    ):
        head.vocab_parallel("tp")(hidden, weight, target=target)
