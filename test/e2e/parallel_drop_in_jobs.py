"""Steps of drop-ins on one process of a team, each compared with dense logits of the whole vocabulary."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from logitile.integrations import cut_cross_entropy, megatron, torchtune
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

BATCH, LENGTH, HIDDEN, VOCAB = 6, 8, 16, 53


def operands():
    """hidden [BATCH, LENGTH, HIDDEN], weight, bias, targets: the same on every process; and dense leaves."""
    torch.manual_seed(0)
    given = torch.randn(BATCH, LENGTH, HIDDEN), torch.randn(VOCAB, HIDDEN), torch.randn(VOCAB)
    targets = torch.randint(VOCAB, (BATCH, LENGTH))
    targets[1, 2:5] = -100
    return given, targets, [tensor.double().requires_grad_() for tensor in given]


def rows_of(rank, count):
    """The slice of the vocabulary of a process; widths differ."""
    cuts = [0, *(13 + 9 * other for other in range(count - 1)), VOCAB]
    return slice(cuts[rank], cuts[rank + 1])


def near(found, wanted):
    torch.testing.assert_close(found.double(), wanted.double(), rtol=2e-5, atol=1e-5)


def leaf(tensor):
    return tensor.clone().requires_grad_()


def megatron_step(rank, count, sequence_parallel, reduction):
    (hidden, weight, _), labels, (x, w, _) = operands()
    rows, share = rows_of(rank, count), BATCH // count
    part = slice(rank * share, (rank + 1) * share) if sequence_parallel else slice(None)
    mine, part_of_weight = leaf(hidden[part]), leaf(weight[rows])
    part_of_weight.main_grad = torch.zeros_like(part_of_weight)
    options = {"reduction": reduction, "sequence_parallel": sequence_parallel}
    loss = megatron.linear_cross_entropy(mine, part_of_weight, labels, dist.group.WORLD, **options)
    wanted = F.cross_entropy((x @ w.T).flatten(0, 1), labels.flatten(), reduction=reduction)
    loss.sum().backward()
    wanted.sum().backward()
    near(loss, wanted)
    near(mine.grad, x.grad[part])
    near(part_of_weight.main_grad, w.grad[rows])
    assert part_of_weight.grad is None


def cut_cross_entropy_step(rank, count):
    (e, c, bias), targets, (x, w, b) = operands()
    options = cut_cross_entropy.VocabParallelOptions.from_vocab(VOCAB)
    rows = slice(options.start, options.stop)
    e, c, bias = leaf(e), leaf(c[rows]), leaf(bias[rows])
    loss, lse = cut_cross_entropy.linear_cross_entropy(
        e, c, targets, bias, softcap=5.0, shift=1, return_lse=True, vocab_parallel_options=options
    )
    z = 5 * torch.tanh((x[:, :-1] @ w.T + b) / 5)
    counts = targets[:, 1:] != -100
    wanted = F.cross_entropy(z.flatten(0, 1), targets[:, 1:].flatten())
    wanted_lse = torch.where(counts, z.logsumexp(-1), 0.0)
    (loss + lse.sum()).backward()
    (wanted + wanted_lse.sum()).backward()
    for found, right in ((loss, wanted), (lse, wanted_lse), (e.grad, x.grad), (c.grad, w.grad[rows])):
        near(found, right)
    near(bias.grad, b.grad[rows])


def torchtune_step(rank, count):
    """The output layer is a unit of FSDP by itself: its weight is whole inside its call alone."""
    (hidden, weight, bias), targets, (x, w, b) = operands()
    model = torch.nn.Module()
    model.output = torch.nn.Linear(HIDDEN, VOCAB)
    model.output.load_state_dict({"weight": weight, "bias": bias})
    fully_shard(model.output, mesh=init_device_mesh("cpu", (count,)))
    loss = torchtune.LinearCrossEntropyLoss()
    loss.set_model_output(model)
    value = loss(hidden, targets)
    wanted = F.cross_entropy((x @ w.T + b).flatten(0, 1), targets.flatten())
    value.backward()
    wanted.backward()
    near(value, wanted)
    near(model.output.weight.grad.full_tensor(), w.grad)
    near(model.output.bias.grad.full_tensor(), b.grad)
