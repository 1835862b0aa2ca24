"""Trains a small transformer of Flax NNX on a mesh of devices, with a head that partitions itself.

Sequences are split over the axis `data` of the mesh, the vocabulary over the axis `tensor`. The
training step is plain jax.jit: no shard_map, no collective. Run it with

    python examples/jax_mesh.py                # on 2 x 2 devices, of the CPU if need be
    python examples/jax_mesh.py --mesh 1 1     # on one device: the same losses

It learns the text of this file, byte by byte. Needs: jax, flax.
"""

import argparse
import os
import pathlib
from collections.abc import Iterator

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")  # devices of a CPU

import jax
import jax.numpy as jnp
import logitile as lt
import numpy as np
import optax
from flax import nnx
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

VOCAB, WIDTH, HEADS, LAYERS = 256, 64, 4, 2
BATCH, LENGTH = 8, 64

# weight_layout="dv": kernels of Flax are [hidden, vocabulary].
head = lt.jit(lt.losses.cross_entropy, weight_layout="dv", z_loss=1e-4, returns=("correct",))


class Block(nnx.Module):
    """Causal attention and two dense layers, each with its norm before it."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.attention_norm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, use_bias=False, decode=False, rngs=rngs)
        self.dense_norm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.wide = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.narrow = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        mask = nnx.make_causal_mask(x[..., 0])
        x = x + self.attention(self.attention_norm(x), mask=mask)
        return x + self.narrow(jax.nn.gelu(self.wide(self.dense_norm(x))))


class Transformer(nnx.Module):
    """From tokens [batch, length] to hidden states [batch, length, WIDTH].
    The head is called by the loss.
    """

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.norm = nnx.RMSNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, VOCAB, use_bias=False, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x: jax.Array = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return x


def loss_and_accuracy(model: Transformer, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The mean over all tokens of the mesh. Labels are the next tokens: logitile never shifts."""
    hidden = model(tokens[:, :-1])
    out = head(hidden, model.head.kernel[...], target=tokens[:, 1:])
    return out.loss, out.correct.mean()


@nnx.jit
def train_step(
    model: Transformer, optimizer: nnx.Optimizer[Transformer], tokens: jax.Array
) -> tuple[jax.Array, jax.Array]:
    (loss, accuracy), gradients = nnx.value_and_grad(loss_and_accuracy, has_aux=True)(model, tokens)
    optimizer.update(model, gradients)
    return loss, accuracy


def place_parameters(model: Transformer, mesh: Mesh) -> None:
    """Splits the two parameters with a vocabulary over `tensor`;
    every device has all of the others.
    """
    split: dict[tuple[object, ...], P] = {
        ("embed", "embedding"): P("tensor", None),
        ("head", "kernel"): P(None, "tensor"),
    }
    state = nnx.state(model, nnx.Param)
    for path, parameter in nnx.to_flat_state(state):
        sharding = NamedSharding(mesh, split.get(path, P()))
        parameter[...] = jax.device_put(parameter[...], sharding)
    nnx.update(model, state)


def batches(steps: int) -> Iterator[np.ndarray]:
    """Windows of this file's bytes, [BATCH, LENGTH + 1]."""
    text = np.frombuffer(pathlib.Path(__file__).read_bytes(), np.uint8).astype(np.int32)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        starts = rng.integers(0, len(text) - LENGTH - 1, BATCH)
        yield text[starts[:, None] + np.arange(LENGTH + 1)]


def train(mesh_shape: tuple[int, int], steps: int) -> list[tuple[float, float]]:
    """Loss and accuracy of every step.

    Args:
        mesh_shape: devices on `data`, which divides BATCH, and on `tensor`, which divides VOCAB.
    """
    mesh = jax.make_mesh(
        mesh_shape, ("data", "tensor"), axis_types=(AxisType.Auto,) * 2,
        devices=jax.devices()[: mesh_shape[0] * mesh_shape[1]],
    )  # fmt: skip
    model = Transformer(nnx.Rngs(0))
    place_parameters(model, mesh)
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    history = []
    for tokens in batches(steps):
        placed = jax.device_put(jnp.asarray(tokens), NamedSharding(mesh, P("data", None)))
        loss, accuracy = train_step(model, optimizer, placed)
        history.append((float(loss), float(accuracy)))
    return history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", type=int, nargs=2, default=(2, 2), metavar=("DATA", "TENSOR"))
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    for step, (loss, accuracy) in enumerate(train(tuple(options.mesh), options.steps)):
        print(f"step {step}: loss {loss:.6f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
