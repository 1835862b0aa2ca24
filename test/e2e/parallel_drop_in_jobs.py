"""Steps of drop-ins on one process of a team,
each compared with dense logits of the whole vocabulary.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from logitile.integrations import cut_cross_entropy, megatron, torchtune
from logitile.integrations.liger import transformers as liger
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

BATCH, LENGTH, HIDDEN, VOCAB = 6, 8, 16, 53


def operands():
    """hidden [BATCH, LENGTH, HIDDEN], weight, bias, targets: the same on every process;
    and dense leaves.
    """
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


def liger_step(rank, count, dtype, annealed):
    """Cross-entropy and entropy of each token, with a gradient of both;
    the temperature may need one too.
    """
    (hidden, weight, _), targets, (x, w, _) = operands()
    hidden, weight, targets = hidden.flatten(0, 1).to(dtype), weight.to(dtype), targets.flatten()
    x, w = (tensor.double().requires_grad_() for tensor in (hidden, weight))
    rows = rows_of(rank, count)
    mine, part = leaf(hidden), leaf(weight[rows])
    heat, exact = torch.tensor(0.8), torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    heat = heat.requires_grad_() if annealed else 0.8
    group = None if annealed else dist.group.WORLD
    nll, entropy = liger.liger_fused_linear_scaled_cross_entropy_tp(
        mine, part, targets, group, heat, tiles_per_reduce=2, return_entropy=True
    )
    alone = liger.liger_fused_linear_scaled_cross_entropy_tp(mine, part, targets, group, heat)
    assert nll.dtype == entropy.dtype == torch.float32
    near(nll, alone)
    log_p = (x @ w.T / exact).log_softmax(-1)
    wanted = F.nll_loss(log_p, targets, reduction="none")
    spread = torch.where(targets != -100, -(log_p.exp() * log_p).sum(-1), 0.0)
    (nll + 0.3 * entropy).sum().backward()
    (wanted + 0.3 * spread).sum().backward()
    near(nll, wanted)
    near(entropy, spread)
    bound = 2e-5 if dtype == torch.float32 else 1e-2
    for found, right in ((mine.grad, x.grad), (part.grad, w.grad[rows])):
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), right, rtol=bound, atol=bound)
    if annealed:
        near(heat.grad, exact.grad)


def liger_without_tokens(rank, count, tokens):
    """No token, or ignored ones alone."""
    (hidden, weight, _), _, _ = operands()
    mine, part = leaf(hidden.flatten(0, 1)[:tokens]), leaf(weight[rows_of(rank, count)])
    targets = torch.full((tokens,), 7)
    results = liger.liger_fused_linear_scaled_cross_entropy_tp(
        mine, part, targets, None, ignore_index=7, return_entropy=True
    )
    sum(result.sum() for result in results).backward()
    assert all(result.shape == (tokens,) and not result.any() for result in results)
    assert not mine.grad.any() and not part.grad.any()


def liger_target_outside(rank, count):
    (hidden, weight, _), _, _ = operands()
    targets = torch.full((BATCH * LENGTH,), VOCAB)
    rows = weight[rows_of(rank, count)]
    liger.liger_fused_linear_scaled_cross_entropy_tp(hidden.flatten(0, 1), rows, targets, None)


def liger_vocab_parallel(rank, count, formula):
    """A projection in slices in the place of Liger's logits;
    smoothing is over the whole vocabulary.
    """
    (hidden, weight, _), targets, (x, w, _) = operands()
    mine, part = leaf(hidden), leaf(weight[rows_of(rank, count)])
    loss_fn = liger.LigerVocabParallelCrossEntropy(label_smoothing=0.2, label_smoothing_formula=formula)
    loss = loss_fn((mine, part), targets, dist.group.WORLD)
    share = 0.2 if formula == "pytorch" else 0.2 * VOCAB / (VOCAB - 1)
    wanted = F.cross_entropy(
        (x @ w.T).flatten(0, 1), targets.flatten(), reduction="none", label_smoothing=share
    )
    loss.sum().backward()
    wanted.sum().backward()
    near(loss, wanted.view(BATCH, LENGTH))
    near(mine.grad, x.grad)
    near(part.grad, w.grad[rows_of(rank, count)])


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
