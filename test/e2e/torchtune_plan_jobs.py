"""Losses of torchtune on models under tensor parallel plans, on one process of a team. The model
has the names of torchtune's, the plans are those of its recipes for Llama. Each is compared with
dense logits in float64 on this process alone.
"""

import copy

import logitile as lt
import torch
import torch.distributed as dist
import torch.nn.functional as F
from logitile.integrations import torchtune
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

BATCH, LENGTH, HIDDEN, VOCAB = 2, 18, 16, 53


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(HIDDEN, 4 * HIDDEN * 3, bias=False) for _ in range(2))
        self.w2 = nn.Linear(4 * HIDDEN * 3, HIDDEN, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp_norm, self.mlp = nn.RMSNorm(HIDDEN), FeedForward()

    def forward(self, x):
        return x + self.mlp(self.mlp_norm(x))


class Tied:
    """Stands for torchtune's TiedLinear, which is no module."""

    def __init__(self, module):
        self.tied_module = module

    def __call__(self, x):
        return F.linear(x, self.tied_module.weight)


class Model(nn.Module):
    def __init__(self, output):
        super().__init__()
        torch.manual_seed(0)
        self.tok_embeddings = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.RMSNorm(HIDDEN)
        self.output = (
            Tied(self.tok_embeddings) if output == "tied" else nn.Linear(HIDDEN, VOCAB, output == "bias")
        )
        self.skip_output_layer = False

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return x if self.skip_output_layer else self.output(x)


def training_plan():
    """Hidden states are split along the sequence between layers; the last norm gives a DTensor."""
    split = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    return {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        "layers.*.mlp": split,
        "layers.*.mlp_norm": SequenceParallel(),
        "layers.*.mlp.w1": ColwiseParallel(),
        "layers.*.mlp.w2": RowwiseParallel(output_layouts=Shard(1)),
        "layers.*.mlp.w3": ColwiseParallel(),
    }


def inference_plan():
    """Hidden states are plain tensors, the same on every process."""
    return {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate()),
        "output": ColwiseParallel(output_layouts=Replicate()),
        "layers.*.mlp.w1": ColwiseParallel(),
        "layers.*.mlp.w2": RowwiseParallel(),
        "layers.*.mlp.w3": ColwiseParallel(),
    }


PLANS = {"training": training_plan, "inference": inference_plan}


def data(seed=0):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(VOCAB, (BATCH, LENGTH), generator=generator)
    labels = torch.randint(VOCAB, (BATCH, LENGTH), generator=generator)
    labels[1, 2:7] = -100
    return tokens, labels


def under(model, plan, loss):
    """A copy of the model under a plan, which the recipe gives to the loss first."""
    model = copy.deepcopy(model)
    if isinstance(model.output, Tied):
        model.output = Tied(model.tok_embeddings)
    loss.set_model_output(model)
    plan = PLANS[plan]()
    if isinstance(loss, torchtune.LinearCrossEntropyLoss):
        plan = loss.patch_tp_plan(plan)
    if isinstance(model.output, Tied):
        plan.pop("output")
    return parallelize_module(model, init_device_mesh("cpu", (dist.get_world_size(),)), plan)


def exact(model):
    copied = copy.deepcopy(model).double()
    if isinstance(model.output, Tied):
        copied.output = Tied(copied.tok_embeddings)
    return copied


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def near(model, reference):
    wanted = {name: parameter.grad for name, parameter in reference.named_parameters()}
    scale = max(gradient.abs().max() for gradient in wanted.values())
    for name, parameter in model.named_parameters():
        error = (whole(parameter.grad) - wanted[name]).abs().max() / scale
        assert error < 3e-6, (name, float(error))


def cross_entropy(rank, count, plan, output):
    """A few steps of the loss, its gradients and its optimizer."""
    model = Model(output)
    loss = torchtune.LinearCrossEntropyLoss(3, tp_enabled=True)
    parallel, reference = under(model, plan, loss), exact(model)
    loss.apply_compile_strategy(backend="inductor")
    models = [parallel, reference]
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.5, foreach=False) for one in models]
    for seed in range(3):
        tokens, labels = data(seed)
        parallel.zero_grad()
        reference.zero_grad()
        found = loss(parallel(tokens), labels)
        wanted = F.cross_entropy(reference(tokens).flatten(0, 1), labels.flatten())
        assert type(found) is torch.Tensor
        torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=0)
        found.backward()
        wanted.backward()
        near(parallel, reference)
        for optimizer in optimizers:
            optimizer.step()
    weight = parallel.tok_embeddings.weight if output == "tied" else parallel.output.weight
    assert weight.grad.placements == weight.placements == (Shard(0),)
    loss.eval()
    with torch.no_grad():
        found, wanted = loss(parallel(tokens), labels), reference(tokens)
    wanted = F.cross_entropy(wanted.flatten(0, 1), labels.flatten())
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=0)
    assert loss(parallel(tokens), torch.full_like(labels, -100)) == 0
    part = loss.compute_cross_entropy(parallel(tokens), labels)
    wanted = F.cross_entropy(reference(tokens).flatten(0, 1), labels.flatten(), reduction="sum")
    torch.testing.assert_close(part.detach().double(), wanted, rtol=1e-5, atol=0)


def grpo(rank, count, plan):
    model = Model("bias")
    losses = [torchtune.LinearGRPOLoss() for _ in range(2)]
    parallel = under(model, plan, losses[0])
    single = copy.deepcopy(model)
    losses[1].set_model_output(single)
    tokens, _ = data()
    sampled = data(1)[0]
    reference = torch.full((BATCH, LENGTH), -4.0)
    results = []
    for loss, one in zip(losses, (parallel, single), strict=True):
        result = loss(one(tokens), sampled, reference, torch.tensor([0.5, -1.5]), sampled > 3)
        (result[0] + result[-1].square().mean()).backward()
        results.append([item.detach() for item in result])
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)
    near(parallel, single)


def distillation(rank, count, is_whole):
    """A teacher whose weight is whole on every process, or in slices as well."""
    model, other = Model("plain"), Model("bias")
    loss = torchtune.LinearCrossEntropyLoss()
    parallel = under(model, "training", loss)
    taught = copy.deepcopy(other) if is_whole else under(other, "training", loss)
    taught.skip_output_layer = model.skip_output_layer = other.skip_output_layer = True
    tokens, labels = data()
    results = []
    for student, teacher in ((parallel, taught), (model, other)):
        with torch.no_grad():
            q = teacher(tokens), teacher.output.weight, teacher.output.bias
        p = student(tokens), student.output.weight
        result = sum(kind()(p, q, labels) for kind in (torchtune.ForwardKLLoss, torchtune.SymmetricKLLoss))
        result.backward()
        results.append(result.detach())
    torch.testing.assert_close(*results, rtol=1e-5, atol=0)
    near(parallel, model)


def with_fsdp(rank, count, is_unit):
    """Two processes have slices, and two other tokens;
    the output layer may be a unit of FSDP by itself.
    """
    mesh = init_device_mesh("cpu", (2, count // 2), mesh_dim_names=("data", "tensor"))
    model, loss = Model("bias"), torchtune.LinearCrossEntropyLoss()
    reference, parallel = exact(model), model
    loss.set_model_output(parallel)
    parallelize_module(parallel, mesh["tensor"], loss.patch_tp_plan(training_plan()))
    for unit in (*parallel.layers, *([parallel.output] if is_unit else []), parallel):
        fully_shard(unit, mesh=mesh["data"])
    tokens, labels = data(mesh["data"].get_local_rank())
    loss(parallel(tokens), labels).backward()
    for seed in range(2):
        tokens, labels = data(seed)
        (F.cross_entropy(reference(tokens).flatten(0, 1), labels.flatten()) / 2).backward()
    near(parallel, reference)


def without_a_placement(rank, count):
    """The text of the error for plain hidden states beside a tied weight in slices."""
    loss = torchtune.LinearCrossEntropyLoss()
    parallel = under(Model("tied"), "inference", loss)
    tokens, labels = data()
    try:
        loss(parallel(tokens), labels)
    except lt.CallTypeError as error:
        return str(error)
    raise AssertionError("nothing was refused")
