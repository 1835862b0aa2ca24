"""Trains a small transformer with PyTorch's FSDP2, and with a head whose vocabulary is in slices.

Processes form a mesh. Those along `data` have other sequences, and FSDP2 shards all parameters over
them. Those along `tensor` have the same sequences, and a slice of the head's vocabulary each. Run
it with

    torchrun --standalone --nproc-per-node 4 examples/torch_fsdp.py              # 2 x 2
    torchrun --standalone --nproc-per-node 1 examples/torch_fsdp.py --tensor 1   # same losses

It learns the text of this file, byte by byte. On GPUs, write "cuda" for "cpu". Needs: torch.
"""

import argparse
import pathlib
from collections.abc import Iterator

import logitile as lt
import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCAB, WIDTH, HEADS, LAYERS = 256, 64, 4, 2
BATCH, LENGTH = 8, 64

head = lt.jit(lt.losses.cross_entropy, z_loss=1e-4)


class Block(nn.Module):
    """Causal attention and two dense layers, each with its norm before it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.dense_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in self.mix(self.attention_norm(x)).chunk(3, -1)
        )
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        x = x + self.narrow(F.gelu(self.wide(self.dense_norm(x))))
        return x


class Transformer(nn.Module):
    """From tokens [batch, length] and the tokens that follow to the loss.

    The head is called here, inside of the module that FSDP2 wraps: there its weight is whole.
    """

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        rows = torch.randn(VOCAB, WIDTH) / WIDTH**0.5
        tensor = mesh["tensor"]
        self.head_weight = nn.Parameter(rows.chunk(tensor.size())[tensor.get_local_rank()].clone())
        self.loss = lt.parallel.vocab_parallel(head, tensor.get_group())

    def forward(self, tokens: Tensor, target: Tensor, divisor: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        loss: Tensor = self.loss(self.norm(x), self.head_weight, target=target, divisor=divisor)
        return loss


def batches(steps: int) -> Iterator[Tensor]:
    """Windows of this file's bytes, [BATCH, LENGTH + 1]; the same in every process."""
    text = torch.tensor(list(pathlib.Path(__file__).read_bytes()))
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        starts = torch.randint(len(text) - LENGTH, (BATCH, 1), generator=generator)
        yield text[starts + torch.arange(LENGTH + 1)]


def train(mesh: DeviceMesh, steps: int) -> list[float]:
    """The loss of every step, over the tokens of all processes.

    Args:
        mesh: with the axes `data`, whose size divides BATCH, and `tensor`.
    """
    torch.manual_seed(0)
    model, data = Transformer(mesh), mesh["data"]
    for block in model.blocks:
        fully_shard(block, mesh=data)
    fully_shard(model, mesh=data)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    losses = []
    for batch in batches(steps):
        mine = batch.chunk(data.size())[data.get_local_rank()]
        tokens, target = mine[:, :-1], mine[:, 1:]
        # FSDP2 divides gradients by its number of processes,
        # so the divisor is that of an average process.
        divisor = lt.parallel.token_count(target, data.get_group()) / data.size()
        loss = model(tokens, target, divisor)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach() / data.size()
        distributed.all_reduce(mean, group=data.get_group())
        losses.append(mean.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensor", type=int, default=2, help="processes that share the vocabulary")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    distributed.init_process_group("gloo")
    shape = (distributed.get_world_size() // options.tensor, options.tensor)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "tensor"))
    losses = train(mesh, options.steps)
    if distributed.get_rank() == 0:
        for step, loss in enumerate(losses):
            print(f"step {step}: loss {loss:.6f}")
    distributed.barrier()  # no process ends its connections while another still needs them
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
