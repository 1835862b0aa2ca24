"""MaxText's vocabulary tiling on heads, against dense logits, on models of that shape."""

from types import SimpleNamespace

import flax.linen as nn
import jax
import jax.numpy as jnp
import logitile as lt
import numpy as np
import pytest
from flax import nnx
from jax.extend import core
from logitile.integrations.maxtext import vocab_tiling_linen_loss, vocab_tiling_nnx_loss

VOCAB, WIDTH, CAP, Z_LOSS = 61, 16, 3.0, 1e-3
METHOD = "logits_from_hidden_states_for_vocab_tiling"


class LinenModel(nn.Module):
    """The output layer of a decoder: a norm, and a weight of its own or that of the embedding."""

    is_tied: bool = False
    dtype: str = "float32"
    has_bias: bool = False

    def setup(self):
        self.token_embedder = nn.Embed(VOCAB, WIDTH, dtype=self.dtype)
        self.decoder_norm = nn.RMSNorm(dtype=self.dtype)
        if not self.is_tied:
            self.logits_dense = nn.Dense(VOCAB, use_bias=self.has_bias, dtype=self.dtype)

    def __call__(self, tokens):
        return self.logits_from_hidden_states_for_vocab_tiling(self.token_embedder(tokens), True)

    def logits_from_hidden_states_for_vocab_tiling(self, hidden_states, deterministic):
        assert hidden_states.ndim == 2  # as MaxText gives tiles
        hidden = self.decoder_norm(hidden_states)
        logits = (
            self.token_embedder.attend(hidden) / jnp.sqrt(WIDTH)
            if self.is_tied
            else self.logits_dense(hidden)
        )
        return (CAP * jnp.tanh(logits / CAP)).astype(jnp.float32)


class NnxModel(nnx.Module):
    """The same, and a block that the loss does not read."""

    def __init__(self, is_tied):
        rngs = nnx.Rngs(0)
        self.token_embedder = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
        self.decoder_norm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.block = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.logits_dense = None if is_tied else nnx.Linear(WIDTH, VOCAB, use_bias=False, rngs=rngs)

    def logits_from_hidden_states_for_vocab_tiling(self, hidden_states, deterministic, model_mode):
        assert model_mode == "train"
        hidden = self.decoder_norm(hidden_states)
        logits = self.logits_dense(hidden) if self.logits_dense else self.token_embedder.attend(hidden)
        return CAP * jnp.tanh(logits / CAP)


def config(tiles=4, **changed):
    return SimpleNamespace(num_vocab_tiling=tiles, z_loss_multiplier=Z_LOSS, enable_dropout=False, **changed)


def batch(rows=3, length=7, seed=0):
    """Hidden states, targets, some of them beyond the vocabulary, and segments,
    of which 0 is padding.
    """
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, VOCAB, (rows, length))
    targets[0, :2] = VOCAB + 3, -1
    hidden = jnp.asarray(rng.normal(size=(rows, length, WIDTH)), jnp.float32)
    return hidden, {
        "targets": jnp.asarray(targets),
        "targets_segmentation": jnp.asarray(rng.integers(0, 3, targets.shape)),
    }


def dense_sums(logits, data):
    """The loss of MaxText as its definition says: labels are rows of numbers,
    0 for what is no entry.
    """
    z = logits.astype(jnp.float32)
    labels = jax.nn.one_hot(data["targets"].reshape(-1), VOCAB)
    z_loss = Z_LOSS * jax.nn.logsumexp(z, -1) ** 2
    loss = -(labels * jax.nn.log_softmax(z)).sum(-1) + z_loss
    counts = (data["targets_segmentation"] != 0).reshape(-1)
    return (loss * counts).sum(), jax.lax.stop_gradient((z_loss * counts).sum())


def linen_case(**kind):
    model, (hidden, data) = LinenModel(**kind), batch()
    params = model.init(jax.random.key(0), data["targets"].reshape(-1))

    def dense(params, hidden):
        return dense_sums(model.apply(params, hidden.reshape(-1, WIDTH), True, method=METHOD), data)

    def tiled(tiles):
        return lambda params, hidden: vocab_tiling_linen_loss(
            hidden, data, config(tiles), model, params, True
        )

    return params, hidden, dense, tiled


def with_gradients(function):
    return jax.jit(jax.value_and_grad(function, (0, 1), has_aux=True))


def assert_close(found, wanted, rtol=1e-5):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for (path, array), expected in zip(
        jax.tree.leaves_with_path(found), jax.tree.leaves(wanted), strict=True
    ):
        assert array.dtype == expected.dtype
        size = float(jnp.abs(expected.astype(jnp.float32)).max())
        np.testing.assert_allclose(
            np.asarray(array, np.float32), np.asarray(expected, np.float32), rtol=rtol, atol=rtol * size,
            err_msg=jax.tree_util.keystr(path),
        )  # fmt: skip


@pytest.mark.parametrize("is_tied", [False, True])
def test_linen_models(is_tied):
    """Sums and the gradients of all parameters and of hidden states;
    tiles need not divide the tokens.
    """
    params, hidden, dense, tiled = linen_case(is_tied=is_tied)
    wanted = with_gradients(dense)(params, hidden)
    for tiles in (1, 4):
        assert_close(with_gradients(tiled(tiles))(params, hidden), wanted)


@pytest.mark.parametrize("is_tied", [False, True])
def test_nnx_models(is_tied):
    """The same; what the output layer does not read has a gradient of 0."""
    model, (hidden, data) = NnxModel(is_tied), batch()

    def dense(model, hidden):
        logits = model.logits_from_hidden_states_for_vocab_tiling(hidden.reshape(-1, WIDTH), True, "train")
        return dense_sums(logits, data)

    def tiled(model, hidden):
        return vocab_tiling_nnx_loss(model, hidden, data, config(), True)

    def run(function):
        step = nnx.jit(nnx.value_and_grad(function, argnums=(0, 1), has_aux=True))
        sums, (of_model, of_hidden) = step(model, hidden)
        return sums, nnx.to_pure_dict(of_model), of_hidden

    found = run(tiled)
    assert_close(found, run(dense))
    assert not np.any(found[1]["block"]["kernel"])


def test_a_scaled_loss_has_scaled_gradients():
    params, hidden, _, tiled = linen_case()
    once = with_gradients(tiled(4))(params, hidden)[1]
    twice = with_gradients(lambda *given: (2 * tiled(4)(*given)[0], 0.0))(params, hidden)[1]
    assert_close(twice, jax.tree.map(lambda gradient: 2 * gradient, once), 1e-6)


def test_the_z_loss_carries_no_gradient():
    params, hidden, _, tiled = linen_case()
    gradients = jax.grad(lambda *given: tiled(4)(*given)[1], (0, 1))(params, hidden)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(gradients))


def test_a_coefficient_that_is_traced():
    """A schedule may change it: the loss has its gradient, the sum of lse**2."""
    params, hidden, dense, _ = linen_case()
    model, (_, data) = LinenModel(), batch()

    def tiled(number):
        changed = SimpleNamespace(**vars(config()) | {"z_loss_multiplier": number})
        return vocab_tiling_linen_loss(hidden, data, changed, model, params, True)

    (loss, z_loss), gradient = jax.jit(jax.value_and_grad(tiled, has_aux=True))(Z_LOSS)
    assert_close((loss, z_loss), dense(params, hidden))
    np.testing.assert_allclose(gradient, z_loss / Z_LOSS, rtol=1e-5)


def test_models_of_16_bits():
    """Gradients have the types of parameters; logits are not rounded, those of the model are."""
    params, hidden, dense, tiled = linen_case(dtype="bfloat16")
    found = with_gradients(tiled(4))(params, hidden)
    assert_close(found, with_gradients(dense)(params, hidden), 3e-2)
    exact = linen_case()[2](params, hidden)
    assert abs(found[0][0] - exact[0]) < 1e-2 * exact[0]


def shapes_in(jaxpr):
    """Of all arrays that a trace makes."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in core.jaxprs_in_params(equation.params):
            yield from shapes_in(inner)


def test_no_array_of_logits_is_made():
    params, hidden, dense, tiled = linen_case()
    tokens = hidden.size // WIDTH

    def largest(function):
        traced = jax.make_jaxpr(jax.value_and_grad(function, has_aux=True))(params, hidden)
        return [shape for shape in shapes_in(traced.jaxpr) if int(np.prod(shape)) == tokens * VOCAB]

    assert largest(dense) and not largest(tiled(4))


def test_dropout_is_the_models_business():
    told = []

    class Model:
        def apply(self, variables, hidden, *, deterministic, method):
            told.append(deterministic)
            return hidden @ variables["params"]

    hidden, data = batch()
    for enable_dropout, is_train in [(True, True), (True, False), (False, True)]:
        chosen = config()
        chosen.enable_dropout = enable_dropout
        vocab_tiling_linen_loss(hidden, data, chosen, Model(), {"params": jnp.ones((WIDTH, VOCAB))}, is_train)
    assert told == [False, True, True]


def test_what_is_refused():
    model, (hidden, data) = LinenModel(has_bias=True), batch()
    params = model.init(jax.random.key(0), data["targets"].reshape(-1))
    with pytest.raises(
        lt.CallTypeError, match="the output layer does 'add' with its logits, which no head can follow"
    ):
        vocab_tiling_linen_loss(hidden, data, config(), model, params, True)
    with pytest.raises(lt.CallValueError, match="num_vocab_tiling=0 must be 1 or more"):
        vocab_tiling_linen_loss(hidden, data, config(0), model, params, True)
