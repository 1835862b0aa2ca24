"""The examples run as their first lines say, and several devices give the losses of one."""

import os
import pathlib
import re
import subprocess
import sys

import jax_mesh
import logitile as lt
import numpy as np
import pytest
from flax import nnx
from small_models import dense_logits, jax, jnp

ROOT = pathlib.Path(__file__).resolve().parents[3]
STEPS = 4


def run(*command):
    """What a script of the folder prints."""
    result = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(lt.__file__).parents[1])},
    )  # fmt: skip
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr[-4000:]}"
    return result.stdout


def losses_of(text):
    return [float(number) for number in re.findall(r"^step \d+: loss ([\d.]+)", text, re.MULTILINE)]


@pytest.mark.contract("6 meshes")
def test_a_mesh_of_jax_has_the_losses_of_one_device():
    on_mesh = losses_of(run("examples/jax_mesh.py", "--steps", str(STEPS)))
    alone = [loss for loss, _ in jax_mesh.train((1, 1), STEPS)]
    assert len(on_mesh) == STEPS and on_mesh[-1] < 0.8 * on_mesh[0]
    np.testing.assert_allclose(on_mesh, alone, rtol=1e-5)


def test_the_model_of_the_jax_example_with_dense_logits():
    """The first loss and accuracy; gradients of this model are compared in test_maxtext.py."""
    model, tokens = jax_mesh.Transformer(nnx.Rngs(0)), jnp.asarray(next(jax_mesh.batches(1)))
    z, target = dense_logits(model(tokens[:, :-1]), model.head.kernel[...], "dv"), tokens[:, 1:]
    lse = jax.nn.logsumexp(z, -1)
    picked = jnp.take_along_axis(z, target[..., None], -1)[..., 0]
    wanted = (lse - picked + 1e-4 * lse**2).mean(), (z.argmax(-1) == target).mean()
    np.testing.assert_allclose(jax_mesh.loss_and_accuracy(model, tokens), wanted, rtol=1e-6)


def torchrun(processes, *options):
    """The losses that processes of one machine print together."""
    command = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes))
    return losses_of(run(*command, "examples/torch_fsdp.py", "--steps", str(STEPS), *options))


@pytest.fixture(scope="module")
def losses_of_one_process():
    losses = torchrun(1, "--tensor", "1")
    assert len(losses) == STEPS and losses[-1] < 0.9 * losses[0]
    return losses


SPLITS = [pytest.param(4, marks=pytest.mark.full), 2]


@pytest.mark.parametrize("tensor", SPLITS)
def test_processes_of_torch_have_the_losses_of_one(losses_of_one_process, tensor):
    """Four of them: the vocabulary in two or four slices, and the rest sharded by FSDP2."""
    np.testing.assert_allclose(torchrun(4, "--tensor", str(tensor)), losses_of_one_process, rtol=1e-5)
