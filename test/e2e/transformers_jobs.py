"""What each process does in test_transformers_processes.py."""

import copy

import torch
from logitile.integrations.transformers import patch
from tiny_models import VOCAB, build
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WORLD = 2
BATCHES = [torch.randint(3, VOCAB, (2, 17), generator=torch.Generator().manual_seed(r)) for r in range(WORLD)]


def shard(model, with_head):
    mesh = init_device_mesh("cpu", (WORLD,))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    if with_head:
        fully_shard(model.lm_head, mesh=mesh, reshard_after_forward=True)
    return fully_shard(model, mesh=mesh)


WRAPPERS = {
    "ddp": DistributedDataParallel,
    "fsdp2": lambda model: shard(model, with_head=False),
    "fsdp2, output layer by itself": lambda model: shard(model, with_head=True),
}


def wanted(model):
    """The mean of the gradients of all batches, in one process and without a patch."""
    for ids in BATCHES:
        (model(input_ids=ids, labels=ids).loss / WORLD).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def check(rank, count, tied):
    model = build(tie_word_embeddings=tied)
    expected = wanted(copy.deepcopy(model))
    scale = max(gradient.abs().max() for gradient in expected.values())
    for name, wrap in WRAPPERS.items():
        if tied and "by itself" in name:
            continue  # the embedding would be sharded twice
        wrapped = wrap(patch(copy.deepcopy(model)))
        wrapped(input_ids=BATCHES[rank], labels=BATCHES[rank]).loss.backward()
        for key, parameter in wrapped.named_parameters():
            gradient = parameter.grad
            gradient = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
            error = (gradient - expected[key.removeprefix("module.")]).abs().max() / scale
            assert error < 2e-6, (name, key, error)
