"""Patched models of Transformers under tensor parallel plans, on one process of a team. Each is
compared with the unpatched model in float64 on this process alone.
"""

import copy
import os
import tempfile

import logitile as lt
import torch
import torch.distributed as dist
import transformers
from logitile.integrations.deferred import Deferred
from logitile.integrations.transformers import patch, unpatch
from tiny_models import build
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from transformers.distributed import DistributedConfig

# Heads and features divide by two and three processes, the vocabulary by neither.
SIZES = {"num_attention_heads": 6, "num_key_value_heads": 6, "hidden_size": 48, "vocab_size": 101}
CLOSE = 3e-6  # of the largest gradient


def batch(seed=0, length=18):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, SIZES["vocab_size"], (2, length), generator=generator)
    labels = ids.clone()
    labels[:, :3] = -100
    labels[1, -4:] = -100
    return {"input_ids": ids, "labels": labels}


def made(kind="llama", **changes):
    return build(kind, **SIZES | changes)


def loaded(rank, count, model, **config):
    """The model as `from_pretrained` loads it with its own plan,
    a slice of each layer on each process.
    """
    with tempfile.TemporaryDirectory() as folder:
        folders = [folder]
        dist.broadcast_object_list(folders)
        if rank == 0:
            model.save_pretrained(folders[0])
        dist.barrier()
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
        config = DistributedConfig(**{"tp_plan": "auto"} | config)
        found = type(model).from_pretrained(
            folders[0], distributed_config=config, attn_implementation="eager", dtype=model.dtype
        )
        dist.barrier()
    return found.train()


def with_plan(model, plan):
    """A copy of a model under a plan of PyTorch."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return parallelize_module(copy.deepcopy(model), mesh, plan)


def colwise(**layouts):
    return ColwiseParallel(**{"output_layouts": Replicate()} | layouts)


PLANS = {  # of PyTorch, by name; the second norm input is the output layer's where tokens are split
    "output layer": {"lm_head": colwise()},
    "logits as DTensors": {"lm_head": colwise(output_layouts=Shard(-1), use_local_output=False)},
    "split tokens": {
        "model.norm": SequenceParallel(use_local_output=True),
        "lm_head": colwise(input_layouts=Shard(1)),
    },
    "split tokens as DTensors": {
        "model.norm": SequenceParallel(use_local_output=False),
        "lm_head": colwise(input_layouts=Shard(1)),
    },
}


def under(model, name):
    found = model
    if "split" in name:
        split = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1))
        found = with_plan(found, {"model.norm": split})
    return with_plan(found, PLANS[name])


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def exact(model):
    """A copy in float64; that of a mixture of experts in float32, the type of its kernels."""
    copied = copy.deepcopy(model)
    return copied if model.config.model_type == "mixtral" else copied.double()


def step(model, given):
    model.zero_grad()
    loss = model(**given).loss
    loss.backward()
    return loss.detach()


def near(model, reference, what, bound=CLOSE):
    """Every gradient is that of the reference, and there is none where it has none."""
    wanted = {name: parameter.grad for name, parameter in reference.named_parameters()}
    scale = max(gradient.abs().max() for gradient in wanted.values() if gradient is not None)
    for name, parameter in model.named_parameters():
        gradient = wanted[name]
        assert (parameter.grad is None) == (gradient is None), (what, name)
        error = 0.0 if gradient is None else (whole(parameter.grad) - gradient).abs().max() / scale
        assert error < bound, (what, name, float(error))


def trained(model, reference):
    """Losses, gradients and weights of a few steps are those of the reference,
    from which float32 departs.
    """
    models = [model, reference]
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, foreach=False) for m in models]
    for seed in range(3):
        losses = [step(one, batch(seed)) for one in models]
        assert type(losses[0]) is torch.Tensor
        bound = CLOSE if seed == 0 else 10 * CLOSE
        torch.testing.assert_close(losses[0].double(), losses[1].double(), rtol=bound, atol=0)
        near(model, reference, seed, bound)
        for optimizer in optimizers:
            optimizer.step()
    wanted = dict(reference.named_parameters())
    for name, parameter in model.named_parameters():
        found = whole(parameter.detach()).double()
        torch.testing.assert_close(found, wanted[name].double(), rtol=1e-4, atol=1e-4, msg=name)


def evaluated(model, reference):
    """The loss and the logits of evaluation are the model's own."""
    with torch.no_grad():
        found, wanted = (one.eval()(**batch(7)) for one in (model, reference))
    torch.testing.assert_close(found.loss.double(), wanted.loss.double(), rtol=CLOSE, atol=0)
    torch.testing.assert_close(whole(found.logits).double(), wanted.logits.double(), rtol=1e-4, atol=1e-4)
    assert not isinstance(found.logits, Deferred)


def unpatched(model, reference):
    """One more step, of the model's own loss."""
    given = batch(9)
    losses = [step(one.train(), given).double() for one in (model, reference)]
    torch.testing.assert_close(*losses, rtol=1e-4, atol=0)
    assert not isinstance(model(**given).logits, Deferred)
    near(model, reference, "unpatched", 1e-3)


# ---- jobs ----------------------------------------------------------------------------------------


def ready(rank, count):
    """Has imported this module, which takes longer than most jobs."""


def own_plan(rank, count, kind="llama", **changes):
    """tp_plan="auto"."""
    model = made(kind, **changes)
    parallel = loaded(rank, count, model)
    forward = parallel.lm_head.forward
    patch(parallel)
    assert isinstance(parallel(**batch()).logits, Deferred)
    reference = exact(model)
    trained(parallel, reference)
    weight = parallel.lm_head.weight
    assert weight.grad.placements == weight.placements == (Shard(0),)
    evaluated(parallel, reference)
    assert unpatch(parallel).lm_head.forward is forward
    unpatched(parallel, reference)


def torch_plan(rank, count, name):
    model = made()
    parallel = patch(under(model, name))
    reference = exact(model)
    trained(parallel, reference)
    weight = parallel.lm_head.weight
    assert weight.grad.placements == weight.placements == (Shard(0),)
    if "logits" not in name:
        evaluated(parallel, reference)
    hooks = [hook.__qualname__ for hook in parallel.lm_head._forward_hooks.values()]
    assert hooks == ["_nothing"]
    unpatch(parallel)
    assert "_nothing" not in str(parallel.lm_head._forward_hooks | parallel.lm_head._forward_pre_hooks)
    if "logits" not in name:
        unpatched(parallel, reference)


@lt.loss
def every_input(
    z: lt.Logits, target: lt.Token[int], importance: lt.Token[float], cost: lt.Vocab[float],
    soft: lt.Dense[float], temperature: lt.Scalar,
):  # fmt: skip
    log_p = lt.log_softmax(z / temperature)
    return -importance * cost[target] * log_p[target] - lt.sum(soft * log_p)


def inputs_of_a_loss(rank, count, name):
    """Inputs of a loss are whole on every process, and so are gradients of those that want one."""
    model, given = made(), batch()
    generator = torch.Generator().manual_seed(5)
    shape, vocab = given["input_ids"].shape, SIZES["vocab_size"]
    inputs = {
        "importance": torch.rand(shape, generator=generator),
        "cost": torch.rand(vocab, generator=generator) + 0.5,
        "soft": torch.rand((*shape, vocab), generator=generator).softmax(-1),
    }
    results = []
    for one in (patch(under(model, name), loss=every_input, temperature=1.5), patch(
        copy.deepcopy(model), loss=every_input, temperature=1.5
    )):  # fmt: skip
        leaves = {key: array.clone().requires_grad_() for key, array in inputs.items()}
        loss = step(one, given | leaves | {"num_items_in_batch": torch.tensor(7)})
        results.append((loss, {key: leaf.grad for key, leaf in leaves.items()}, one))
    (loss, gradients, parallel), (wanted, others, single) = results
    torch.testing.assert_close(loss, wanted, rtol=CLOSE, atol=0)
    torch.testing.assert_close(gradients, others, rtol=1e-4, atol=1e-6)
    near(parallel, single, name)


def teacher(rank, count, is_whole):
    """A teacher whose weight is whole on every process, or in slices as well."""
    model, other = made(), made(seed=3, hidden_size=36)
    parallel = loaded(rank, count, model)
    taught = copy.deepcopy(other).eval() if is_whole else loaded(rank, count, other).eval()
    patch(parallel, loss=lt.losses.forward_kl, teacher=taught, temperature=2.0)
    single = patch(copy.deepcopy(model), loss=lt.losses.forward_kl, teacher=other.eval(), temperature=2.0)
    losses = [step(one, batch()) for one in (parallel, single)]
    torch.testing.assert_close(*losses, rtol=CLOSE, atol=0)
    near(parallel, single, "teacher")
    assert all(parameter.grad is None for parameter in taught.parameters())


def used_logits(rank, count, name):
    """Logits that are used beside the loss are those of the whole vocabulary."""
    model = made()
    parallel = patch(under(model, name) if name else loaded(rank, count, model))
    logits = parallel(**batch()).logits
    wanted = model(**batch()).logits
    assert logits.shape == wanted.shape
    torch.testing.assert_close(whole(logits.value), wanted, rtol=1e-4, atol=1e-5)


def generated(rank, count):
    model = made()
    parallel = patch(loaded(rank, count, model)).eval()
    ids = batch()["input_ids"]
    found, wanted = (one.generate(ids, max_new_tokens=4, do_sample=False) for one in (parallel, model.eval()))
    assert torch.equal(found, wanted)


def adapted(rank, count):
    """LoRA on layers before the output layer."""
    import peft

    config = peft.LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights="gaussian")
    models = []
    for one in (made(), loaded(rank, count, made())):
        torch.manual_seed(1)
        models.append(peft.get_peft_model(one, config))
    single, parallel = models
    with torch.no_grad():  # processes draw other numbers, since their slices are smaller
        for name, parameter in parallel.named_parameters():
            if "lora_A" in name:
                parameter.copy_(single.get_parameter(name))
    patch(parallel)
    losses = [step(one, batch()) for one in (parallel, single)]
    torch.testing.assert_close(*losses, rtol=CLOSE, atol=0)
    near(parallel, single, "adapted")


def without_the_output_layer(rank, count):
    """A plan that leaves the output layer whole."""
    model = made()
    parallel = loaded(rank, count, model, tp_plan={"lm_head": "replicate"})
    reference = exact(model)
    trained(patch(parallel), reference)


def low_precision(rank, count):
    model = made().bfloat16()
    parallel, single = patch(loaded(rank, count, model)), patch(copy.deepcopy(model))
    losses = [step(one, batch()) for one in (parallel, single)]
    torch.testing.assert_close(*losses, rtol=2e-2, atol=0)
    weight = parallel.lm_head.weight
    assert weight.grad.dtype == torch.bfloat16
    torch.testing.assert_close(whole(weight.grad), single.lm_head.weight.grad, rtol=0.1, atol=2e-2)


def compiled(rank, count):
    model = made()
    parallel = patch(loaded(rank, count, model))
    reference = exact(model)
    run = torch.compile(parallel, fullgraph=True, backend="aot_eager")
    loss, wanted = step(run, batch()), step(reference, batch())
    torch.testing.assert_close(loss.double(), wanted.double(), rtol=CLOSE, atol=0)
    near(parallel, reference, "compiled")


def copied(rank, count):
    """A copy of a patched model is patched by itself."""
    model = made()
    parallel = patch(under(model, "output layer"))
    other = copy.deepcopy(parallel)
    reference = exact(model)
    for one in (parallel, other):
        reference.zero_grad()
        losses = [step(item, batch()).double() for item in (one, reference)]
        torch.testing.assert_close(*losses, rtol=CLOSE, atol=0)
        near(one, reference, "copied")
    unpatch(other)
    assert isinstance(parallel(**batch()).logits, Deferred)
    evaluated(other, reference)
    evaluated(parallel, reference)


def tokens_that_do_not_divide(rank, count):
    """Parts of the sequence have other lengths on other processes."""
    model = made()
    reference = exact(model)
    step(reference, batch(length=17))
    for name in ("split tokens", "split tokens as DTensors"):
        parallel = patch(under(model, name))
        step(parallel, batch(length=17))
        near(parallel, reference, name)


def frozen(rank, count):
    """An output layer that gets no gradient."""
    model = made()
    parallel, reference = loaded(rank, count, model), exact(model)
    for one in (parallel, reference):
        one.lm_head.weight.requires_grad_(False)
    step(patch(parallel), batch())
    step(reference, batch())
    near(parallel, reference, "frozen")


def saved(rank, count):
    """save_pretrained writes whole weights."""
    model = made()
    parallel = patch(loaded(rank, count, model))
    with tempfile.TemporaryDirectory() as folder:
        folders = [folder]
        dist.broadcast_object_list(folders)
        parallel.save_pretrained(folders[0])
        dist.barrier()
        again = type(model).from_pretrained(folders[0])
        dist.barrier()
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])


def with_fsdp(rank, count):
    """Two processes have slices, and two other tokens: FSDP2 around a model with a plan."""
    mesh = init_device_mesh("cpu", (2, count // 2), mesh_dim_names=("data", "tensor"))
    model = made()
    reference = exact(model)
    parallel = patch(parallelize_module(model, mesh["tensor"], {"lm_head": colwise()}))
    for layer in parallel.model.layers:
        fully_shard(layer, mesh=mesh["data"])
    fully_shard(parallel, mesh=mesh["data"])
    mine = mesh["data"].get_local_rank()
    step(parallel, batch(mine))
    for seed in range(2):
        (reference(**batch(seed)).loss / 2).backward()
    near(parallel, reference, "fsdp")


def with_trainer(rank, count):
    """Trainer of Transformers, with the patch and without: the losses that it logs,
    and the weights after.
    """
    import accelerate

    os.environ.update(MASTER_ADDR="127.0.0.1", LOCAL_WORLD_SIZE=str(count))
    accelerate.ParallelismConfig._validate_accelerator = lambda *_: None  # which refuses CPUs
    rows = [{key: value[0] for key, value in batch(seed).items()} for seed in range(6)]
    model, weights, logs = made(), [], []
    for way in (patch, lambda one: one):
        one = loaded(rank, count, model)
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                folder, per_device_train_batch_size=1, gradient_accumulation_steps=2, max_steps=3,
                learning_rate=0.01, optim="sgd", lr_scheduler_type="constant", max_grad_norm=0.0,
                logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
            )  # fmt: skip
            trainer = transformers.Trainer(way(one), arguments, train_dataset=rows, eval_dataset=rows)
            trainer.train()
            score = trainer.evaluate()["eval_loss"]
        logs.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry] + [score])
        weights.append({name: whole(p.detach()) for name, p in one.named_parameters()})
    assert len(logs[0]) == 4
    torch.testing.assert_close(torch.tensor(logs[0]), torch.tensor(logs[1]), rtol=2e-4, atol=0)
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-5)


# ---- refusals ------------------------------------------------------------------------------------


def refused(rank, count, case):
    """The text of the error; the model is left as it was."""
    options, rules = {}, {
        "rows": RowwiseParallel(),
        "logits": ColwiseParallel(),
        "logits of tokens": colwise(output_layouts=Shard(1)),
        "features": colwise(input_layouts=Shard(-1)),
    }  # fmt: skip
    if case in ("style", "copied", "adapter"):
        rule = "colwise" if case == "style" else "colwise_gather_output"
        model = loaded(rank, count, made(), tp_plan={"lm_head": rule})
    else:
        vocab = 4 if case == "few entries" else SIZES["vocab_size"]
        model = with_plan(made(vocab_size=vocab), {"lm_head": rules.get(case, colwise())})
    layer = model.lm_head
    if case == "no plan":
        layer._forward_hooks.clear()
        layer._forward_pre_hooks.clear()
    elif case == "weight":
        weight = layer.weight
        layer.weight = torch.nn.Parameter(weight.redistribute(weight.device_mesh, [Shard(1)]))
    elif case == "plain weight":
        layer.weight = torch.nn.Parameter(whole(layer.weight).detach())
    elif case == "teacher":
        options = {"loss": lt.losses.forward_kl, "teacher": model}
        model = made()
    elif case == "fsdp":
        model = made()
        mesh = init_device_mesh("cpu", (1, count), mesh_dim_names=("data", "tensor"))
        parallelize_module(model, mesh["tensor"], {"lm_head": colwise()})
        fully_shard(model, mesh=mesh["data"])
    elif case == "adapter":
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["lm_head"]))
    elif case == "copied":
        model.lm_head = copy.copy(layer)
    known = dict(vars(layer))
    try:
        patch(model, **options)
    except lt.CallError as error:
        assert type(layer) is torch.nn.Linear and vars(layer) == known
        return str(error)
    raise AssertionError("nothing was refused")
