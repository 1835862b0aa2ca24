"""What processes of a team do with cross entropy in the ways in which training programs call it."""

from __future__ import annotations

import os
import time
from unittest import mock

import logitile as lt
import torch
import torch.distributed as dist
from logitile.parallel.heads import captured
from parallel_jobs import cuts
from torch.distributed import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

TOKENS, VOCAB, HIDDEN = 24, 57, 16


def data(dtype=torch.float32):
    """The same on every process: hidden states, weights, labels."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).to(dtype)
    weight = torch.randn(VOCAB, HIDDEN, generator=generator).to(dtype)
    target = torch.randint(VOCAB, (TOKENS,), generator=generator)
    target[3] = -100
    return hidden, weight, target


def mine(extent, rank, count):
    ends = cuts(extent, count)
    return slice(ends[rank], ends[rank + 1])


class Whole:
    """The call of one process with everything, and this process's part of it."""

    def __init__(self, rank, count, **options):
        self.rows = mine(VOCAB, rank, count)
        self.head = lt.jit(lt.losses.cross_entropy, **options)
        self.parallel = lt.parallel.vocab_parallel(self.head)
        self.hidden, self.weight, self.target = data()
        whole = [array.clone().requires_grad_() for array in (self.hidden, self.weight)]
        self.loss = self.head(*whole, target=self.target)
        self.loss.backward()
        self.wanted = whole[0].grad, whole[1].grad[self.rows]

    def fresh(self):
        return self.hidden.clone().requires_grad_(), self.weight[self.rows].clone().requires_grad_()

    def check(self, loss, leaves, times=1):
        torch.testing.assert_close(loss.detach(), self.loss.detach())
        for leaf, wanted in zip(leaves, self.wanted, strict=True):
            torch.testing.assert_close(leaf.grad, times * wanted, rtol=1e-5, atol=1e-6)


# ---- ways to call --------------------------------------------------------------------------------


def keeping_the_graph(rank, count):
    whole = Whole(rank, count)
    leaves = whole.fresh()
    loss = whole.parallel(*leaves, target=whole.target)
    loss.backward(retain_graph=True)
    loss.backward()
    whole.check(loss, leaves, 2)


def checkpointing(rank, count, use_reentrant):
    whole = Whole(rank, count)
    leaves = whole.fresh()
    call = lambda hidden, weight: whole.parallel(hidden, weight, target=whole.target)  # noqa: E731
    loss = checkpoint(call, *leaves, use_reentrant=use_reentrant)
    loss.backward()
    whole.check(loss, leaves)


def adding_to_a_buffer(rank, count):
    whole = Whole(rank, count)
    hidden, weight = whole.fresh()
    buffer = torch.full_like(weight, 5.0)
    for _ in range(3):
        loss = whole.parallel(hidden, weight, target=whole.target, weight_grad_out=buffer)
        loss.backward()
    assert weight.grad is None
    weight.grad = buffer - 5
    whole.check(loss, (hidden, weight), 3)


def compiling(rank, count):
    whole = Whole(rank, count)
    call = torch.compile(lambda *given: whole.parallel(*given, target=whole.target) * 2, fullgraph=True)
    leaves = whole.fresh()
    loss = call(*leaves)
    loss.backward()
    whole.check(loss / 2, leaves, 2)


def compiling_a_shared_weight(rank, count):
    """Student and teacher have one weight."""
    whole = Whole(rank, count)
    parallel = lt.parallel.vocab_parallel(lt.jit(lt.losses.forward_kl))
    hidden, weight = whole.fresh()
    teacher = (0.5 * hidden).detach()

    def call():
        return parallel(hidden, weight, teacher, weight)

    compiled = torch.compile(call, fullgraph=True)
    got, wanted = (torch.autograd.grad(run(), (hidden, weight)) for run in (compiled, call))
    torch.testing.assert_close(got, wanted)


def compiling_split_tokens(rank, count):
    """Parts of tokens are equal here: a graph says how many there are of all."""
    whole = Whole(rank, count)
    head = lt.jit(lt.losses.cross_entropy, reduction="none")
    parallel = lt.parallel.vocab_parallel(head, sequence_parallel=True)
    part = slice(rank * TOKENS // count, (rank + 1) * TOKENS // count)
    hidden, weight = (
        array.detach().requires_grad_() for array in (whole.hidden[part], whole.weight[whole.rows])
    )

    @torch.compile(fullgraph=True)
    def mean(hidden, weight, target):
        return parallel(hidden, weight, target=target).sum() / (whole.target != -100).sum()

    mean(hidden, weight, whole.target[part]).backward()
    torch.testing.assert_close(hidden.grad, whole.wanted[0][part], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(weight.grad, whole.wanted[1], rtol=1e-5, atol=1e-6)


def casting(rank, count):
    """The backward pass is out of autocast, and rounds operands as the forward pass did."""
    whole = Whole(rank, count)
    leaves = whole.fresh()
    both = [array.clone().requires_grad_() for array in (whole.hidden, whole.weight)]
    with torch.autocast("cpu", torch.bfloat16):
        loss = whole.parallel(*leaves, target=whole.target)
        one = whole.head(*both, target=whole.target)
    loss.backward()
    one.backward()
    torch.testing.assert_close(loss, one)
    assert loss.item() != whole.loss.item()
    torch.testing.assert_close(leaves[0].grad, both[0].grad, rtol=2**-7, atol=1e-3)
    torch.testing.assert_close(leaves[1].grad, both[1].grad[whole.rows], rtol=2**-7, atol=1e-3)


def rounding_once(rank, count):
    """Returns the gradient of hidden states in bfloat16 and in float32."""
    hidden, weight, target = data(torch.bfloat16)
    rows = mine(VOCAB, rank, count)
    head = lt.jit(lt.losses.cross_entropy)
    leaf = hidden.clone().requires_grad_()
    lt.parallel.vocab_parallel(head)(leaf, weight[rows], target=target).backward()
    _, wide = head.value_and_grad(hidden, weight, target=target, wrt="hidden", grad_dtype="float32")
    return leaf.grad.float(), wide["hidden"]


def without_gradients(rank, count):
    whole = Whole(rank, count)
    with torch.no_grad():
        loss = whole.parallel(*whole.fresh(), target=whole.target)
    assert not loss.requires_grad
    torch.testing.assert_close(loss, whole.loss.detach())
    frozen = whole.weight[whole.rows]
    hidden, _ = whole.fresh()
    whole.parallel(hidden, frozen, target=whole.target).backward()
    torch.testing.assert_close(hidden.grad, whole.wanted[0], rtol=1e-5, atol=1e-6)


def some_outputs(rank, count):
    """Nothing reaches one of two outputs; second derivatives are refused."""
    whole = Whole(rank, count)
    head = lt.jit(lt.losses.logprob_entropy)
    parallel = lt.parallel.vocab_parallel(head)
    leaves, both = whole.fresh(), [a.clone().requires_grad_() for a in (whole.hidden, whole.weight)]
    parallel(*leaves, target=whole.target).entropy.sum().backward(create_graph=True)
    head(*both, target=whole.target).entropy.sum().backward()
    torch.testing.assert_close(leaves[0].grad.detach(), both[0].grad, rtol=1e-5, atol=1e-6)
    try:
        leaves[0].grad.sum().backward()
    except lt.LogitileError as error:
        return str(error)


def counting(rank, count):
    target = torch.tensor([[1, 2, -100], [4, 5, 6]]) if rank else torch.tensor([-100, 1, -100, 3, 4, 5])
    try:
        lt.parallel.token_count(target.float())
    except lt.CallTypeError as error:
        text = str(error)
    every = lt.parallel.token_count(target, ignore_index=None)
    return every.item(), lt.parallel.token_count(target).item(), text


def under_data_parallel(rank, count, wrap):
    """Two processes have a slice each; the other two have other tokens."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    slices, copies = mesh.get_group("tensor"), mesh.get_group("data")
    hidden, weight, target = data()
    rows = mine(VOCAB, rank % 2, 2)
    head = lt.jit(lt.losses.cross_entropy)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lower = torch.nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.weight = torch.nn.Parameter(weight[rows].clone())
            torch.nn.init.eye_(self.lower.weight)
            self.call = lt.parallel.vocab_parallel(head, slices)

        def forward(self, hidden, target):
            count = lt.parallel.token_count(target, copies)
            return self.call(self.lower(hidden), self.weight, target=target, divisor=count / 2)

    model = Model()
    wrapped = fully_shard(model, mesh=mesh["data"]) if wrap == "fsdp" else DistributedDataParallel(
        model, process_group=copies
    )  # fmt: skip
    part = slice(0, TOKENS // 2) if rank < 2 else slice(TOKENS // 2, TOKENS)
    wrapped(hidden[part], target[part]).backward()
    lower = torch.eye(HIDDEN).requires_grad_()
    whole = weight.clone().requires_grad_()
    head(hidden @ lower.T, whole, target=target).backward()
    found = [p.grad.full_tensor() if wrap == "fsdp" else p.grad for p in (model.lower.weight, model.weight)]
    torch.testing.assert_close(found[0], lower.grad, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[1], whole.grad[rows], rtol=1e-5, atol=1e-6)


def counting_collectives(rank, count, name, is_split):
    """Bytes per token of what a call sends: gathered in the forward pass,
    summed in the backward pass.
    """
    hidden, weight, _ = data()
    rows, part = mine(VOCAB, rank, count), mine(TOKENS, rank, count) if is_split else slice(None)
    head = lt.jit(getattr(lt.losses, name))
    parallel = lt.parallel.vocab_parallel(head, sequence_parallel=is_split)
    leaf = hidden[part].clone().requires_grad_()
    sent = {"gathered": [], "summed": [], "scattered": []}

    def counted(kind, collective, position):
        def call(*arguments, **named):
            array = arguments[position]
            sent[kind].append(array.numel() * array.element_size())
            return collective(*arguments, **named)

        return call

    with mock.patch.multiple(
        dist,
        all_gather_single=counted("gathered", dist.all_gather_single, 1),
        all_reduce=counted("summed", dist.all_reduce, 0),
        reduce_scatter_single=counted("scattered", dist.reduce_scatter_single, 1),
    ):
        loss = parallel(leaf, weight[rows], hidden[part], weight[rows])
        forward = {kind: [size for size in sizes if size > 64] for kind, sizes in sent.items()}
        loss.backward()
    return forward, {kind: [size for size in sizes if size > 64] for kind, sizes in sent.items()}


def checking_operators(rank, count):
    """torch's own checks of the two operators."""
    whole = Whole(rank, count)
    leaves = whole.fresh()
    tensors, buffers, facts, added = whole.parallel._given(leaves, {"target": whole.target}, None)
    key, *_ = captured(whole.parallel._token, facts, added)
    arrays = [array.detach() for array in tensors]
    ops, group = torch.ops.logitile, whole.parallel._group
    loss, *rows = ops.parallel_forward(key, group, False, arrays, [])
    torch.library.opcheck(ops.parallel_forward.default, (key, group, False, arrays, []))
    backward = (key, group, arrays, rows, [torch.ones_like(loss)], [True])
    torch.library.opcheck(ops.parallel_backward.default, backward)


# ---- failures ------------------------------------------------------------------------------------


def failing(rank, count, what):
    """A call that is wrong on the last process alone."""
    is_wrong = rank == count - 1
    hidden, weight, target = data()
    weight = weight[mine(VOCAB, rank, count)]
    parallel = lt.parallel.vocab_parallel(lt.jit(lt.losses.cross_entropy))
    if what == "index":
        return parallel(
            hidden, weight, target=target.index_fill(0, torch.tensor(5), VOCAB) if is_wrong else target
        )
    if what == "shape":
        return parallel(hidden, weight[:, :8] if is_wrong else weight, target=target)
    if what == "name":
        return parallel(hidden, weight, **{"targets" if is_wrong else "target": target})
    if what == "bool":
        return parallel(hidden, True if is_wrong else weight, target=target)
    if what == "other call":
        few = slice(0, 6 if is_wrong else TOKENS)
        return parallel(hidden[few], weight, target=target[few])
    if what == "workspace":
        head = lt.jit(lt.losses.cross_entropy, workspace=1 if is_wrong else "auto")
        return lt.parallel.vocab_parallel(head)(hidden, weight, target=target)
    raise AssertionError(what)


def failing_backward(rank, count):
    """A pass of one process that cannot be made."""
    whole = Whole(rank, count)
    loss = whole.parallel(*whole.fresh(), target=whole.target)
    if rank == count - 1:
        import logitile.parallel.call as call

        def refuse(*arguments):
            raise MemoryError("no bytes are left")

        call.slice_gradients, kept = refuse, call.slice_gradients
        try:
            loss.backward()
        finally:
            call.slice_gradients = kept
    loss.backward()


def failing_graph(rank, count):
    whole = Whole(rank, count)
    call = torch.compile(lambda h, w, t: whole.parallel(h, w, target=t), fullgraph=True)
    weight = whole.weight[whole.rows]
    torch.testing.assert_close(call(whole.hidden, weight, whole.target), whole.loss.detach())
    wrong = whole.target.index_fill(0, torch.tensor(5), VOCAB)
    call(whole.hidden, weight, wrong if rank == count - 1 else whole.target)


def dying(rank, count):
    """The last process ends in the middle of a call."""
    whole = Whole(rank, count)
    if rank == count - 1:
        os._exit(1)
    time.sleep(0.5)
    whole.parallel(*whole.fresh(), target=whole.target)


def uneven_parts_in_a_graph(rank, count):
    hidden, weight, target = data()
    parallel = lt.parallel.vocab_parallel(
        lt.jit(lt.losses.cross_entropy, reduction="none"), sequence_parallel=True
    )
    part = mine(TOKENS, rank, count)
    call = torch.compile(lambda h, w, t: parallel(h, w, target=t), fullgraph=True)
    call(hidden[part], weight[mine(VOCAB, rank, count)], target[part])


# ---- sums over sequences -------------------------------------------------------------------------


def sequences():
    """Which sequence each token belongs to; the last sequence has none."""
    return lt.Segments(torch.arange(TOKENS) % 4 - 1, 4)


class WholeSequences:
    """The sums of sequences on one process, and what reaches them."""

    def __init__(self, rank, count, **options):
        self.rows = mine(VOCAB, rank, count)
        self.head = lt.jit(lt.losses.cross_entropy, reduction="sum", **options)
        self.hidden, self.weight, self.target = data()
        self.slope = torch.tensor([1.0, -2.0, 0.5, 3.0])
        whole = [array.clone().requires_grad_() for array in (self.hidden, self.weight)]
        self.sums = self.head(*whole, target=self.target, segments=sequences())
        (self.sums @ self.slope).backward()
        self.wanted = whole[0].grad, whole[1].grad[self.rows]

    def check(self, parallel):
        leaves = self.hidden.clone().requires_grad_(), self.weight[self.rows].clone().requires_grad_()
        sums = parallel(*leaves)
        (sums @ self.slope).backward()
        torch.testing.assert_close(sums.detach(), self.sums.detach())
        for leaf, wanted in zip(leaves, self.wanted, strict=True):
            torch.testing.assert_close(leaf.grad, wanted, rtol=1e-5, atol=1e-6)


def summing_sequences(rank, count):
    whole = WholeSequences(rank, count)
    parallel = lt.parallel.vocab_parallel(whole.head)
    whole.check(lambda *leaves: parallel(*leaves, target=whole.target, segments=sequences()))


def compiling_sequences(rank, count):
    whole = WholeSequences(rank, count)
    parallel, segments = lt.parallel.vocab_parallel(whole.head), sequences()
    call = lambda *leaves: parallel(*leaves, target=whole.target, segments=segments)  # noqa: E731
    whole.check(torch.compile(call, fullgraph=True))


def refusing_sequences(rank, count):
    """Whether split tokens are refused, and a wrong id of one process ends the call of both."""
    whole = WholeSequences(rank, count)
    given = whole.hidden, whole.weight[whole.rows]
    split = lt.parallel.vocab_parallel(whole.head, sequence_parallel=True)
    ids = torch.full((TOKENS,), 4 if rank == 0 else 0)
    found = []
    for parallel, segments, text in (
        (split, sequences(), "cannot be given with sequence_parallel=True"),
        (lt.parallel.vocab_parallel(whole.head), lt.Segments(ids, 4), "is 4, but there are 4 sequences"),
    ):
        try:
            parallel(*given, target=whole.target, segments=segments)
        except lt.CallError as error:
            found.append(text in str(error))
    return found == [True, True]


def averaging_sequences(rank, count):
    """Each process has its own sequences; gradients are those of the mean over processes."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.loss = lt.nn.LinearLoss(HIDDEN, VOCAB)

        def forward(self, hidden, target, segments):
            return self.loss(hidden, target=target, segments=segments)

    torch.manual_seed(0)
    model, (hidden, _, target) = Model(), data()
    batches = [(hidden * (1 + number), target, sequences()) for number in range(count)]
    weight = model.loss.weight
    losses = [model(*batch)[:3].sum() for batch in batches]
    wanted = torch.autograd.grad(sum(losses) / count, weight)[0]
    wrapped = DistributedDataParallel(model)
    wrapped(*batches[rank])[:3].sum().backward()
    torch.testing.assert_close(weight.grad, wanted, rtol=1e-5, atol=1e-6)
