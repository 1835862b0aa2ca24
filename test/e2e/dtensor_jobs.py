"""Calls of a head with DTensors on meshes of one and two axes, beside the call of one process."""

from __future__ import annotations

import logitile as lt
import torch
from parallel_call_jobs import HIDDEN, VOCAB, data
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.testing import assert_close

PLACES = {  # of weights and tokens by name, for each axis of the mesh
    "slices": ("S", "R"),
    "slices, split tokens": ("S", "S"),
    "copies": ("R", "S"),
    "tokens x slices": ("RS", "SR"),
    "tokens x slices, split twice": ("RS", "SS"),
    "slices x tokens": ("SR", "RS"),
    "copies x slices": ("RS", "RR"),
}


def placements(text, axis=0):
    return [Shard(axis) if letter == "S" else Replicate() for letter in text]


def mesh_of(place, count):
    shape = (count,) if len(PLACES[place][0]) == 1 else (2, count // 2)
    return init_device_mesh("cpu", shape)


@lt.loss
def weighted(
    z: lt.Logits, target: lt.Token[int], importance: lt.Vocab[float], soft: lt.Dense[float], c: lt.Scalar
):
    """Every kind of input, and a mean that divides by weights."""
    weight = lt.stop_gradient(importance[target])
    spread = lt.mean(lt.sqrt((z - lt.mean(z)) ** 2 + 1))
    loss = weight * (lt.logsumexp(z) - z[target]) * c + lt.sum(soft * z) / spread + importance[target]
    return lt.Outputs(loss=loss, weight=weight, best=lt.argmax(z), top=lt.max(z))


def inputs():
    hidden, weight, target = data()
    generator = torch.Generator().manual_seed(1)
    importance = torch.rand(VOCAB, generator=generator) + 0.5
    soft = torch.softmax(torch.randn(len(hidden), VOCAB, generator=generator), 1)
    return {"importance": importance, "soft": soft, "c": torch.tensor(0.7)}, hidden, weight, target


def every_kind(rank, count, place, is_compiled, options):
    """All inputs, all gradients and placements of a mean with several outputs."""
    mesh, (weights, tokens) = mesh_of(place, count), PLACES[place]
    others, hidden, weight, target = inputs()
    head = lt.jit(weighted, **options)
    leaves = {"hidden": hidden, "weight": weight, **others}
    whole = {name: array.clone().requires_grad_() for name, array in leaves.items()}
    call = lambda given: head(  # noqa: E731
        given["hidden"], given["weight"], target=given["target"],
        **{name: given[name] for name in others},
    )  # fmt: skip
    one = call(whole | {"target": target})
    (one.loss.sum() * 3 + one.top.sum() / 7).backward()
    on_weights, on_tokens = placements(weights), placements(tokens)
    dense = [Shard(1) if w == "S" else p for w, p in zip(weights, on_tokens, strict=True)]
    where = {"hidden": on_tokens, "weight": on_weights, "importance": on_weights, "soft": dense,
             "c": placements("R" * mesh.ndim)}  # fmt: skip
    given = {n: distribute_tensor(a, mesh, where[n]).requires_grad_() for n, a in leaves.items()}
    given["c"] = leaves["c"].clone().requires_grad_()  # a plain number goes with DTensors
    given["target"] = distribute_tensor(target, mesh, on_tokens)
    made = (torch.compile(call, fullgraph=True, backend="aot_eager") if is_compiled else call)(given)
    assert made.loss.placements == (
        tuple(placements("R" * mesh.ndim)) if not made.loss.ndim else tuple(on_tokens)
    )
    assert made.top.placements == made.best.placements == tuple(on_tokens)
    for name in one._fields:
        assert_close(getattr(made, name).full_tensor(), getattr(one, name))
    (made.loss.sum() * 3 + made.top.sum() / 7).backward()
    for name, array in whole.items():
        gradient = given[name].grad
        if name != "c":
            assert gradient.placements == given[name].placements, name
            gradient = gradient.full_tensor()
        assert_close(gradient, array.grad, rtol=2e-5, atol=2e-6)


def reducing(rank, count, all_ignored, kind):
    """Means where no token counts, with a divisor, and sums."""
    mesh = mesh_of("tokens x slices", count)
    hidden, weight, target = data()
    options = {"all_ignored": all_ignored, "reduction": "sum" if kind == "sum" else "mean"}
    head = lt.jit(lt.losses.cross_entropy, **options)
    if kind == "ignored":
        target[:] = -100
    more = {"divisor": 7} if kind == "divisor" else {}
    whole = [a.clone().requires_grad_() for a in (hidden, weight)]
    one = head(*whole, target=target, **more)
    one.backward()
    given = [distribute_tensor(a, mesh, p).requires_grad_() for a, p in
             ((hidden, placements("SR")), (weight, placements("RS")))]  # fmt: skip
    made = head(*given, target=distribute_tensor(target, mesh, placements("SR")), **more)
    made.backward()
    assert_close(made.full_tensor(), one, equal_nan=True)
    for mine, wanted in zip(given, whole, strict=True):
        assert_close(mine.grad.full_tensor(), wanted.grad, rtol=1e-5, atol=1e-6)
        if kind == "ignored":
            assert not mine.grad.full_tensor().any()


def leading_axes(rank, count):
    """Sequences [batch, tokens] that are split along the tokens, into unequal parts;
    weights as [D, V].
    """
    mesh = mesh_of("slices", count)
    hidden, weight, target = data()
    hidden, target = hidden[:21].reshape(3, 7, HIDDEN), target[:21].reshape(3, 7)
    head = lt.jit(lt.losses.cross_entropy, reduction="none", weight_layout="dv")
    whole = [a.clone().requires_grad_() for a in (hidden, weight.T)]
    one = head(*whole, target=target)
    (one * torch.arange(21.0).reshape(3, 7)).sum().backward()
    given = [distribute_tensor(a, mesh, [Shard(1)]).requires_grad_() for a in (hidden, weight.T)]
    made = head(*given, target=distribute_tensor(target, mesh, [Shard(1)]))
    assert made.shape == (3, 7) and made.placements == (Shard(1),)
    assert_close(made.full_tensor(), one)
    factor = distribute_tensor(torch.arange(21.0).reshape(3, 7), mesh, [Shard(1)])
    (made * factor).sum().backward()
    for mine, wanted in zip(given, whole, strict=True):
        assert_close(mine.grad.full_tensor(), wanted.grad, rtol=1e-5, atol=1e-6)


def listing(rank, count, place):
    """Lists of every token, where the tokens are."""
    mesh, (weights, tokens) = mesh_of(place, count), PLACES[place]
    hidden, weight, _ = data()
    hidden = hidden.unflatten(0, (-1, 2))
    head = lt.jit(lt.losses.top_logprobs, k=7)
    found = head(
        distribute_tensor(hidden, mesh, placements(tokens)),
        distribute_tensor(weight, mesh, placements(weights)),
    )
    assert found.index.placements == tuple(placements(tokens))
    expected = head(hidden, weight)
    assert_close(found.index.full_tensor(), expected.index, rtol=0, atol=0)
    assert_close(found.logprob.full_tensor(), expected.logprob)


def drawing(rank, count, place):
    """Random numbers of tokens that all processes have are those of one process."""
    mesh = mesh_of(place, count)
    hidden, weight, _ = data()
    head = lt.jit(lt.losses.sample)
    one = head(hidden, weight, seed=3, temperature=0.5)
    w, x = PLACES[place]
    given = distribute_tensor(hidden, mesh, placements(x)), distribute_tensor(weight, mesh, placements(w))
    made = head(*given, seed=3, temperature=0.5)
    assert torch.equal(made.index.full_tensor(), one.index)
    assert_close(made.processed_logprob.full_tensor(), one.processed_logprob)


def under_fsdp(rank, count):
    """FSDP2 on one axis of the mesh around a weight that is sharded over the other one."""
    mesh = init_device_mesh("cpu", (2, count // 2), mesh_dim_names=("data", "tensor"))
    tensor = mesh["tensor"]
    hidden, weight, target = data()
    head = lt.jit(lt.losses.cross_entropy)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(distribute_tensor(weight, tensor, [Shard(0)]))

        def forward(self, hidden, target):
            here = [DTensor.from_local(array, tensor, [Replicate()]) for array in (hidden, target)]
            divisor = lt.parallel.token_count(target, mesh.get_group("data")) / 2
            return head(here[0], self.weight, target=here[1], divisor=divisor).to_local()

    model = Model()
    wrapped = fully_shard(model, mesh=mesh["data"])
    part = slice(0, 12) if rank < count // 2 else slice(12, 24)
    leaf = hidden[part].clone().requires_grad_()
    wrapped(leaf, target[part]).backward()
    whole = [array.clone().requires_grad_() for array in (hidden, weight)]
    head(*whole, target=target).backward()
    # FSDP averages weights alone
    assert_close(leaf.grad, 2 * whole[0].grad[part], rtol=1e-5, atol=1e-6)
    assert_close(model.weight.grad.full_tensor(), whole[1].grad, rtol=1e-5, atol=1e-6)


def refusing(rank, count, what):
    mesh = mesh_of("tokens x slices", count)
    hidden, weight, target = data()
    head = lt.jit(lt.losses.cross_entropy)
    on = lambda array, text, axis=0: distribute_tensor(array, mesh, placements(text, axis))  # noqa: E731
    given = {"hidden": on(hidden, "SR"), "weight": on(weight, "RS"), "target": on(target, "SR")}
    other = init_device_mesh("cpu", (count,))
    given |= {
        "hidden": {"hidden": hidden},
        "weight": {"weight": weight},
        "target": {"target": target},
        "twice": {"weight": on(weight, "SS")},
        "inner": {"weight": on(weight, "RS", 1)},
        "cut": {"hidden": on(hidden, "RS", 1)},
        "meshes": {"target": DTensor.from_local(target, other, [Replicate()])},
        "buffer": {"weight_grad_out": torch.zeros(3)},
        "index": {"target": on(target.index_fill(0, torch.tensor(1), VOCAB), "SR")},
    }[what]
    return head(given.pop("hidden"), given.pop("weight"), **given)
