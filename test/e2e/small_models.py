"""Small language models of Flax, their losses with dense logits, and how results are compared.

The acceptance tests of AXLearn and MaxText share them.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np


class LinenModel(nn.Module):
    """An embedding, causal attention, a norm and a head, which is the embedding if tied.

    Called with tokens [batch, length], it returns hidden states [batch, length, width] in `dtype`
    and the weight of the head: [vocabulary, width] if tied, else [width, vocabulary].
    """

    vocab: int
    width: int
    is_tied: bool
    dtype: str = "float32"

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(self.vocab, self.width, name="embed")
        x = embed(tokens)
        mask = nn.make_causal_mask(tokens)
        attend = nn.MultiHeadDotProductAttention(num_heads=2, use_bias=False, name="attention")
        x = x + attend(nn.RMSNorm()(x), mask=mask)
        hidden = nn.RMSNorm(name="final_norm")(x)
        shape = (self.width, self.vocab)
        kernel = embed.embedding if self.is_tied else self.param("head", nn.initializers.normal(0.3), shape)
        return hidden.astype(self.dtype), kernel.astype(self.dtype)

    @property
    def layout(self):
        """The option weight_layout of a head that takes this model's weight."""
        return "vd" if self.is_tied else "dv"


def made(model, batch, length, seed=0):
    """Parameters, tokens and the tokens that follow, [batch, length]."""
    text = jnp.asarray(np.random.default_rng(seed).integers(0, model.vocab, (batch, length + 1)))
    return jax.jit(model.init)(jax.random.key(seed), text[:, :-1]), text[:, :-1], text[:, 1:]


def dense_logits(hidden, weight, layout):
    """Logits in float32, all in memory: what these tests do without."""
    with jax.default_matmul_precision("highest"):
        weight = weight if layout == "dv" else weight.T
        return hidden.astype(jnp.float32) @ weight.astype(jnp.float32)


def relative(found, wanted):
    """The norm of the difference against the norm of what is wanted."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)


def assert_close(found, wanted, bound=1e-5):
    """Two trees have the same structure, and every array of one is close to that of the other."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for (path, array), expected in zip(
        jax.tree.leaves_with_path(found), jax.tree.leaves(wanted), strict=True
    ):
        name = jax.tree_util.keystr(path)
        if not np.any(np.asarray(expected)):
            np.testing.assert_allclose(np.asarray(array), 0, atol=1e-7, err_msg=name)
        else:
            assert relative(array, expected) < bound, (name, relative(array, expected))
