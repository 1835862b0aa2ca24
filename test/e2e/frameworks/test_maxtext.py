"""What a training loop like MaxText's asks of its vocabulary tiling,
on small models of Flax Linen and NNX.

There the tokens are cut in tiles, and the logits of one tile are made at a time, in forward and
again in backward. The NNX model is that of examples/jax_mesh.py.
"""

from types import SimpleNamespace

import flax.linen as nn
import jax_mesh
import logitile as lt
import numpy as np
import pytest
from flax import nnx
from logitile.integrations.maxtext import vocab_tiling_linen_loss
from small_models import LinenModel, assert_close, dense_logits, made, relative
from test_jax_meshes import P, gathered, jax, jnp, mesh_of

Z_LOSS = 1e-4


class Tiling:
    """The sums over tokens of the loss, z-loss included, and of the z-loss.

    Args:
        tiles: of the tokens; 0 is dense logits.
    """

    def __init__(self, tiles, layout="dv"):
        self.tiles, self.layout = tiles, layout
        self.head = lt.jit(
            lt.losses.cross_entropy, reduction="sum", weight_layout=layout, z_loss=Z_LOSS,
            returns=("z_loss",), chunks=tiles or None,
        )  # fmt: skip

    def __call__(self, hidden, weight, target, segments):
        labels = jnp.where(segments != 0, target, -100)
        if self.tiles:
            out = self.head(hidden, weight, target=labels)
            return out.loss, Z_LOSS * out.z_loss.sum()
        z = dense_logits(hidden, weight, self.layout)
        lse = jax.nn.logsumexp(z, -1)
        picked = jnp.take_along_axis(z, target[..., None], -1)[..., 0]
        z_loss = Z_LOSS * lse**2
        return jnp.where(segments != 0, lse - picked + z_loss, 0).sum(), jnp.where(segments, z_loss, 0).sum()


def segments_of(tokens):
    """Two documents in each row, and padding, which has the number 0."""
    length = tokens.shape[1]
    place = jnp.arange(length)
    return jnp.broadcast_to(jnp.where(place < 5, 1, jnp.where(place < length - 3, 2, 0)), tokens.shape)


def operands(batch=4, length=64, vocab=128, width=32, dtype="float32"):
    """Hidden states, weights [width, vocab], targets and segments."""
    rng = np.random.default_rng(0)
    hidden, weight = rng.normal(size=(batch, length, width)), rng.normal(size=(width, vocab)) / 2
    target = jnp.asarray(rng.integers(0, vocab, (batch, length)))
    return jnp.asarray(hidden, dtype), jnp.asarray(weight, dtype), target, segments_of(target)


def with_gradients(function):
    """((loss, z-loss), gradients of hidden states and weights)."""
    return jax.jit(jax.value_and_grad(function, (0, 1), has_aux=True))


# ---- tiles change nothing ------------------------------------------------------------------------


@pytest.mark.parametrize("is_tied", [pytest.param(False, marks=pytest.mark.full), True])
def test_linen_models(is_tied):
    """Loss, z-loss and the gradient of every parameter: four tiles, one, and dense logits."""
    model = LinenModel(128, 32, is_tied)
    params, tokens, target = made(model, 2, 53)

    def step(tiles):
        loss = Tiling(tiles, model.layout)

        def total(params):
            return loss(*model.apply(params, tokens), target, segments_of(tokens))

        return jax.jit(jax.value_and_grad(total, has_aux=True))(params)

    wanted = step(0)
    for tiles in (1, 4):
        assert_close(step(tiles), wanted)


class Nnx:
    """The transformer of the example, with a head of its own or its embedding for one."""

    def __init__(self, is_tied, tiles, scale=1.0):
        self.loss, self.is_tied, self.scale = Tiling(tiles, "vd" if is_tied else "dv"), is_tied, scale

    def __call__(self, model, tokens, target):
        weight = model.embed.embedding if self.is_tied else model.head.kernel
        total, z_loss = self.loss(model(tokens), weight[...], target, segments_of(tokens))
        return self.scale * total, z_loss

    def gradients(self, model, tokens, wrt=nnx.Param):
        """Of the parameters that `wrt` chooses."""
        of_model = nnx.DiffState(0, wrt)
        step = nnx.jit(nnx.value_and_grad(self, argnums=of_model, has_aux=True))
        values, gradients = step(model, tokens[:, :-1], tokens[:, 1:])
        return values, nnx.to_pure_dict(gradients)


@pytest.fixture(scope="module")
def transformer():
    return jax_mesh.Transformer(nnx.Rngs(0)), jnp.asarray(next(jax_mesh.batches(1)))[:3]


def in_head(path, _):
    """The parameters after the last block: the final norm and the head."""
    return path[0] in ("norm", "head")


@pytest.mark.parametrize("is_tied", [False, pytest.param(True, marks=pytest.mark.full)])
def test_nnx_models(transformer, is_tied):
    """All parameters; and twice the loss has twice the gradients, those of the blocks included."""
    found = Nnx(is_tied, 4).gradients(*transformer)
    assert_close(found, Nnx(is_tied, 0).gradients(*transformer), 2e-5)
    twice = Nnx(is_tied, 4, scale=2.0).gradients(*transformer)
    assert_close(twice[1], jax.tree.map(lambda gradient: 2 * gradient, found[1]), 1e-6)


@pytest.mark.parametrize("tiles", [1, 4])
def test_a_scaled_loss_has_scaled_gradients(tiles):
    loss = Tiling(tiles)
    arguments = operands()
    _, once = with_gradients(loss)(*arguments)
    _, twice = with_gradients(lambda *given: (2 * loss(*given)[0], 0.0))(*arguments)
    for double, single in zip(twice, once, strict=True):
        np.testing.assert_allclose(double, 2 * single, rtol=1e-6)


@pytest.mark.parametrize(("batch", "length"), [(4, 64), (3, 37), (1, 211), (5, 1)])
def test_any_number_of_tokens(batch, length):
    """Tiles need not divide them."""
    arguments = operands(batch, length)
    wanted = with_gradients(Tiling(0))(*arguments)
    assert_close(with_gradients(Tiling(4))(*arguments), wanted)


def test_the_z_loss_is_a_number_alone():
    """It is in the loss already, and what reaches it on its own has no gradient."""
    arguments = operands()
    loss = Tiling(4)
    gradients = jax.grad(lambda *given: loss(*given)[1], (0, 1))(*arguments)
    assert not np.any(gradients[0]) and not np.any(gradients[1])
    plain = lt.jit(lt.losses.cross_entropy, reduction="sum", weight_layout="dv")
    hidden, weight, target, segments = arguments
    total, z_loss = loss(*arguments)
    np.testing.assert_allclose(
        total - z_loss, plain(hidden, weight, target=jnp.where(segments != 0, target, -100)), rtol=1e-6
    )


# ---- MaxText's own names, called as its training step calls them ---------------------------------

METHOD = "logits_from_hidden_states_for_vocab_tiling"


class OutputLayer(nn.Module):
    """Parameters are in boxes that name the axes they are sharded over."""

    @nn.compact
    def logits_from_hidden_states_for_vocab_tiling(self, hidden_states, deterministic):
        init, axes = nn.initializers.normal(0.3), ("embed_vocab", "vocab")
        scale = self.param("scale", nn.with_logical_partitioning(nn.initializers.ones, ("norm",)), (32,))
        kernel = self.param("kernel", nn.with_logical_partitioning(init, axes), (32, 128))
        logits = jnp.tanh(scale * hidden_states) @ kernel
        return nn.with_logical_constraint(logits, ("activation_batch", "activation_vocab"))


def test_gradient_accumulation_of_boxed_parameters():
    """Gradients of a scan over micro-batches come in the boxes of the parameters,
    and are those of all.
    """
    model, (hidden, _, target, segments) = OutputLayer(), operands()
    params = model.init(jax.random.key(0), hidden[0], True, method=METHOD)
    config = SimpleNamespace(num_vocab_tiling=4, z_loss_multiplier=Z_LOSS, enable_dropout=False)
    batch = {"targets": target, "targets_segmentation": segments}

    def accumulated(params):
        def micro(sums, given):
            rows, data = given
            made = vocab_tiling_linen_loss(rows, data, config, model, params, is_train=True)
            return jax.tree.map(jnp.add, sums, made), None

        cut = jax.tree.map(lambda array: array.reshape(2, 2, *array.shape[1:]), (hidden, batch))
        return jax.lax.scan(micro, (0.0, 0.0), cut)[0]

    def dense(params):
        logits = model.apply(params, hidden, True, method=METHOD)
        return Tiling(0)(logits, jnp.eye(128), target, segments)

    found, wanted = (jax.jit(jax.value_and_grad(loss, has_aux=True))(params) for loss in (accumulated, dense))
    assert isinstance(found[1]["params"]["kernel"], nn.LogicallyPartitioned)
    assert_close(found, wanted)


# ---- precision -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.full)])
def test_gradients_are_summed_in_float32(dtype):
    """Gradients of 16 bits are rounded once, so more tiles make them no worse."""
    arguments = operands(8, 256, dtype=dtype)
    hidden, weight = (np.asarray(array, np.float64) for array in arguments[:2])
    target, counts = (np.asarray(array) for array in (arguments[2], arguments[3] != 0))
    z = hidden @ weight
    lse = np.log(np.exp(z).sum(-1, keepdims=True))
    upstream = np.exp(z - lse) * (1 + 2 * Z_LOSS * lse)
    upstream = (upstream - np.eye(z.shape[-1])[target]) * counts[..., None]
    wanted = np.einsum("bsd,bsv->dv", hidden, upstream)
    errors = []
    for tiles in (1, 16):
        gradient = with_gradients(Tiling(tiles))(*arguments)[1][1]
        assert gradient.dtype == jnp.dtype(dtype)
        errors.append(relative(gradient, wanted))
    assert errors[1] < 1.05 * errors[0], errors
    rounded_once = relative(jnp.asarray(wanted, dtype), wanted)
    assert errors[0] < 2 * rounded_once, (errors, rounded_once)


# ---- what is differentiated, and what is kept for it ---------------------------------------------


def test_the_head_alone_is_differentiated(transformer):
    """Its gradients are those of the whole model's."""
    loss = Nnx(False, 4)
    _, every = loss.gradients(*transformer)
    _, found = loss.gradients(*transformer, wrt=nnx.All(nnx.Param, in_head))
    assert sorted(found) == ["head", "norm"]
    assert_close(found, {name: every[name] for name in found})


def test_what_is_kept_for_backward(transformer):
    """Nothing of the blocks if they are constants, and no array of the size of the logits."""
    model, tokens = transformer
    graph, chosen, rest = nnx.split(model, nnx.All(nnx.Param, in_head), ...)

    def loss(chosen):
        return Nnx(False, 4)(nnx.merge(graph, chosen, rest), tokens[:, :-1], tokens[:, 1:])[0]

    kept = [leaf.shape for leaf in jax.tree.leaves(jax.vjp(loss, chosen)[1])]
    count, of_head = tokens[:, 1:].size, (jax_mesh.WIDTH, jax_mesh.VOCAB)
    of_blocks = {leaf.shape for leaf in jax.tree.leaves(rest["blocks"]) if leaf.ndim > 1} - {of_head}
    assert of_blocks and not of_blocks & set(kept)
    # its gradient; the wide layers of the blocks have the same shape
    assert kept.count(of_head) == 1
    assert max(int(np.prod(shape)) for shape in kept) < count * jax_mesh.VOCAB


# ---- meshes --------------------------------------------------------------------------------------


def test_weights_of_fsdp_are_gathered_once():
    """Not once for every tile, nor again in backward."""
    mesh, arguments = mesh_of((2, 2)), operands(4, 64, vocab=512, width=64)
    places = (P("data", None, None), P("data", "tp"), P("data", None), P("data", None))
    placed = [
        jax.device_put(array, jax.sharding.NamedSharding(mesh, place))
        for array, place in zip(arguments, places, strict=True)
    ]
    step = with_gradients(Tiling(4))
    assert_close(step(*placed), step(*arguments))
    slice_of_weight = arguments[1].size // 2
    sizes = gathered(step.lower(*placed).compile().as_text())
    states = 2 * (arguments[2].size // 2) * 5  # slices, tokens of a device, rows of a sweep
    assert [size for size in sizes if size > states] == [slice_of_weight], sizes


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 1e-2)])
@pytest.mark.parametrize("tiles", [1, 4, 16])
def test_many_tokens_and_a_large_vocabulary(tiles, dtype, bound):
    arguments = operands(4, 500, vocab=8000, width=64, dtype=dtype)
    found, wanted = (with_gradients(Tiling(number))(*arguments) for number in (tiles, 0))
    assert_close(found[0], wanted[0])
    assert_close(found[1], wanted[1], bound)
