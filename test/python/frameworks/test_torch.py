"""Eager calls under PyTorch: when gradients are made, what autograd sees, and what is refused."""

import copy
import io
import pickle
import re
from pathlib import Path

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from calls import check_close, records
from logitile.frameworks.torch.autograd import _multiplied
from torch.utils.checkpoint import checkpoint

N, V, D = 7, 37, 16
HEAD = lt.jit(lt.losses.cross_entropy)
EACH = lt.jit(lt.losses.cross_entropy, reduction="none")
POLICY = lt.jit(lt.losses.logprob_entropy)


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], w: lt.Token[float]):
    return lt.Outputs(loss=w * (lt.logsumexp(z) - z[target]), weight=lt.stop_gradient(w), best=lt.argmax(z))


@lt.loss
def soft(z: lt.Logits, q: lt.Dense[float]):
    return lt.sum(q * (lt.logsumexp(z) - z))


@lt.loss
def separate(z: lt.Logits, a: lt.Token[float], b: lt.Token[float]):
    return lt.Outputs(loss=lt.logsumexp(z) + lt.stop_gradient(b), scaled=a * lt.stop_gradient(lt.max(z)))


def operands(dtype=torch.float32, leading=(N,), requires_grad=True):
    """hidden, weight and targets, one of which is ignored."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(*leading, D, generator=generator).to(dtype).requires_grad_(requires_grad)
    weight = (torch.randn(V, D, generator=generator) / 2).to(dtype).requires_grad_(requires_grad)
    target = torch.randint(0, V, leading, generator=generator)
    target.view(-1)[0] = -100
    return hidden, weight, target


def expected(hidden, weight, target, reduction="mean"):
    """torch's own cross-entropy in float64, and leaves of the operands."""
    hidden, weight = (x.detach().double().requires_grad_() for x in (hidden, weight))
    loss = F.cross_entropy((hidden @ weight.T).flatten(0, -2), target.flatten(), reduction=reduction)
    return loss, hidden, weight


def phases(run):
    """The phases of programs that run."""
    return [record["phase"] for record in records(run)]


# ---- when gradients are made ---------------------------------------------------------------------


@pytest.mark.contract("2 gradient types")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("cotangent", [1.0, -3.0])
def test_a_reduced_loss(dtype, cotangent):
    hidden, weight, target = operands(dtype)
    loss = HEAD(hidden, weight, target=target)
    assert loss.dtype == torch.float32 and loss.shape == () and loss.requires_grad
    (cotangent * loss).backward()
    wanted, *leaves = expected(hidden, weight, target)
    (cotangent * wanted).backward()
    check_close(loss, wanted.item())
    for leaf, double in zip((hidden, weight), leaves, strict=True):
        assert leaf.grad.dtype == dtype
        check_close(leaf.grad, double.grad, str(dtype)[6:])


@pytest.mark.contract("3 early")
def test_which_gradients_are_made_early():
    hidden, weight, target = operands()
    halves = operands(torch.float16)
    q = torch.rand(N, V).requires_grad_()
    sixteen = operands(torch.bfloat16)

    def run(head, *args, **inputs):
        return phases(lambda: head(*args, **inputs).sum().backward())

    assert run(HEAD, hidden, weight, target=target) == ["forward"]
    assert run(HEAD, *sixteen[:2], target=target) == ["forward"]
    assert run(EACH, hidden, weight, target=target) == ["forward", "backward"]
    assert run(HEAD, *halves[:2], target=target) == ["forward", "backward"]
    assert run(lt.jit(soft), hidden, weight, q=q) == ["forward", "backward"]
    assert run(lt.jit(soft), hidden, weight, q=q.detach()) == ["forward"]
    buffer = torch.zeros(V, D)
    assert run(HEAD, hidden, weight, target=target, weight_grad_out=buffer) == ["forward", "backward"]
    assert phases(lambda: POLICY(hidden, weight, target=target).logprob.sum().backward()) == [
        "forward",
        "backward",
    ]


@pytest.mark.contract("3 only what is asked")
@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_without_gradients_only_the_forward_program_runs(switch):
    hidden, weight, target = operands()

    def run():
        with switch():
            assert not HEAD(hidden, weight, target=target).requires_grad

    assert phases(run) == ["forward"]
    detached = operands(requires_grad=False)
    assert phases(lambda: HEAD(*detached[:2], target=target)) == ["forward"]


@pytest.mark.contract("3 only what is asked")
@pytest.mark.parametrize("frozen", [0, 1])
@pytest.mark.parametrize("head", [HEAD, EACH], ids=["early", "split"])
def test_frozen_operands(head, frozen):
    hidden, weight, target = operands()
    (hidden, weight)[frozen].requires_grad_(False)
    head(hidden, weight, target=target).sum().backward()
    assert (hidden, weight)[frozen].grad is None
    wanted, *leaves = expected(hidden, weight, target, head.options.reduces)
    wanted.sum().backward()
    check_close((hidden, weight)[1 - frozen].grad, leaves[1 - frozen].grad)


# ---- graphs --------------------------------------------------------------------------------------


@pytest.mark.contract("3 scaled")
@pytest.mark.parametrize("head", [HEAD, EACH], ids=["early", "split"])
def test_a_graph_that_is_kept_can_be_used_again(head):
    hidden, weight, target = operands()
    loss = head(hidden, weight, target=target).sum()
    (2 * loss).backward(retain_graph=True)
    first = hidden.grad.clone()
    (2 * loss).backward()
    assert torch.equal(hidden.grad, 2 * first)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


@pytest.mark.contract("3 scaled")
def test_gradients_are_scaled_in_place_only_where_the_graph_is_not_kept():
    hidden, weight, target = operands()
    loss = HEAD(hidden, weight, target=target)
    seen = []
    hidden.register_hook(lambda gradient: seen.append(gradient.data_ptr()))
    made = loss.grad_fn.made[0]
    torch.autograd.grad(3 * loss, hidden, retain_graph=True)
    torch.autograd.grad(loss, hidden)
    assert seen[0] != made.data_ptr() and seen[1] == made.data_ptr()


@pytest.mark.contract("3 scaled")
def test_hooks_that_keep_what_is_saved_see_no_change():
    hidden, weight, target = operands()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append((t, t.clone())) or t, lambda t: t):
        (5 * HEAD(hidden, weight, target=target)).backward()
    assert kept and all(torch.equal(tensor, before) for tensor, before in kept)
    wanted = torch.autograd.grad(5 * HEAD(hidden, weight, target=target), hidden)[0]
    assert torch.equal(hidden.grad, wanted)


@pytest.mark.parametrize("keeps", [False, True])
def test_factors_on_the_device_are_rounded_once(keeps):
    """On GPUs the host does not know what reaches the loss; the same code runs on the CPU."""
    made = torch.randn(1000, generator=torch.Generator().manual_seed(0)).bfloat16()
    wanted = (made.float() / 3).bfloat16()
    product = _multiplied(made, torch.tensor(1 / 3, requires_grad=True), keeps)
    assert torch.equal(product, wanted) and (product is made) == (not keeps)
    scalar = _multiplied(torch.tensor(3.0), torch.tensor(1 / 3), keeps)
    assert scalar.shape == () and scalar == 1


@pytest.mark.contract("3 second")
@pytest.mark.parametrize("head", [HEAD, EACH], ids=["early", "split"])
def test_second_derivatives_are_refused(head):
    hidden, weight, target = operands()
    loss = head(hidden, weight, target=target).sum()
    (gradient,) = torch.autograd.grad(loss, hidden, create_graph=True)
    with pytest.raises(lt.LogitileError) as caught:
        (loss + gradient.square().sum()).backward()
    assert str(caught.value) == (
        "a head has no second derivatives; differentiate once, or write the loss with torch for this step"
    )


@pytest.mark.contract("3 second")
def test_second_derivatives_through_the_cotangent_gradient_are_refused():
    hidden, weight, target = operands()
    scale = torch.tensor(2.0, requires_grad=True)
    (gradient,) = torch.autograd.grad(scale * HEAD(hidden, weight, target=target), hidden, create_graph=True)
    with pytest.raises(lt.LogitileError, match="a head has no second derivatives"):
        gradient.sum().backward()


def test_inputs_changed_in_place_are_noticed():
    hidden, weight, target = operands()
    for head, changed in ((EACH, target), (EACH, weight.data), (HEAD, hidden.data)):
        loss = head(hidden, weight, target=target).sum()
        if changed is target:
            target.add_(1).clamp_(0, V - 1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
        else:
            loss.backward()


def test_saved_tensor_hooks():
    hidden, weight, target = operands()
    for head in (HEAD, EACH):
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t, packed=packed: packed.append(t) or t, lambda t: t
        ):
            loss = head(hidden, weight, target=target).sum()
        assert packed
        wanted = torch.autograd.grad(loss, (hidden, weight))
        with torch.autograd.graph.save_on_cpu():
            loss = head(hidden, weight, target=target).sum()
        for a, b in zip(torch.autograd.grad(loss, (hidden, weight)), wanted, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints(reentrant):
    hidden, weight, target = operands()

    def run(x, w):
        return EACH(torch.tanh(x), w, target=target).sum()

    wanted = torch.autograd.grad(run(hidden, weight), (hidden, weight))
    checkpoint(run, hidden, weight, use_reentrant=reentrant).backward()
    assert torch.equal(hidden.grad, wanted[0]) and torch.equal(weight.grad, wanted[1])


def test_gradient_accumulation_and_hooks():
    hidden, weight, target = operands()
    for _ in range(2):
        HEAD(hidden, weight, target=target).backward()
    wanted, *leaves = expected(hidden, weight, target)
    (2 * wanted).backward()
    check_close(weight.grad, leaves[1].grad)


# ---- outputs -------------------------------------------------------------------------------------


@pytest.mark.contract("3 stopped")
def test_outputs_that_take_no_gradient():
    hidden, weight, target = operands()
    out = lt.jit(weighted)(hidden, weight, target=target, w=torch.ones(N))
    assert out._fields == ("loss", "weight", "best")
    assert [value.requires_grad for value in out] == [True, False, False]
    assert out.best.dtype == torch.int64
    with torch.no_grad():
        assert not any(
            value.requires_grad for value in lt.jit(weighted)(hidden, weight, target=target, w=torch.ones(N))
        )


@pytest.mark.contract("3 cotangent")
def test_outputs_with_their_own_cotangent():
    hidden, weight, target = operands(leading=(2, 4))
    target[0, 0] = 3
    out = POLICY(hidden, weight, target=target)
    assert out.logprob.shape == out.entropy.shape == (2, 4)
    up = torch.linspace(-1, 2, 8).view(2, 4)
    (out.logprob * up + out.entropy * up**2).sum().backward()
    _, wanted = POLICY.reference_grad(
        hidden, weight, target=target, grad_output={"logprob": up, "entropy": up**2}
    )
    check_close(hidden.grad, wanted["hidden"])
    check_close(weight.grad, wanted["weight"])
    hidden.grad = None
    POLICY(hidden, weight, target=target).entropy.sum().backward()  # nothing reaches the other
    _, wanted = POLICY.reference_grad(
        hidden, weight, target=target, grad_output={"entropy": torch.ones(2, 4)}
    )
    check_close(hidden.grad, wanted["hidden"])


def test_expanded_and_strided_output_cotangents():
    hidden, weight, target = operands(leading=(2, 4))
    EACH(hidden, weight, target=target).sum().backward()
    wanted, *leaves = expected(hidden, weight, target, "sum")
    wanted.backward()
    check_close(hidden.grad, leaves[0].grad)
    hidden.grad = None
    EACH(hidden, weight, target=target).T.backward(torch.arange(8.0).view(4, 2))
    _, wanted = EACH.reference_grad(hidden, weight, target=target, grad_output=torch.arange(8.0).view(4, 2).T)
    check_close(hidden.grad, wanted["hidden"])


@pytest.mark.contract("3 no path")
def test_inputs_without_a_path():
    hidden, weight, _ = operands()
    a, b = (torch.ones(N, requires_grad=True) for _ in range(2))
    out = lt.jit(separate)(hidden, weight, a=a, b=b)
    got = torch.autograd.grad(out.loss + out.scaled.sum(), (hidden, a, b), allow_unused=True)
    assert got[0] is not None and got[1] is not None and got[2] is None
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(separate)(hidden.detach(), weight.detach(), a=a.detach(), b=b)
    assert str(caught.value) == (
        "no gradient flows from 'separate' to 'b': indices, comparisons and stop_gradient carry none"
    )


@pytest.mark.contract("3 discrete")
def test_a_loss_without_a_gradient_is_refused_and_metrics_are_not():
    @lt.loss
    def rank(z: lt.Logits, target: lt.Token[int]):
        return lt.to_float(lt.count(z > z[target]))

    @lt.loss
    def metric(z: lt.Logits, target: lt.Token[int]):
        return lt.Outputs(right=lt.argmax(z) == target)

    hidden, weight, target = operands()
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(rank)(hidden, weight, target=target)
    assert str(caught.value) == (
        "no gradient flows from 'rank' to 'hidden' and 'weight': indices, comparisons and stop_gradient "
        "carry none"
    )
    assert lt.jit(metric)(hidden, weight, target=target).right.dtype == torch.bool


@pytest.mark.contract("3 every input", "3 gradient kinds")
def test_gradients_of_every_kind_of_input():
    hidden, weight, target = operands()
    bias = torch.randn(V, requires_grad=True)
    temperature = torch.tensor(0.7, requires_grad=True)
    HEAD(hidden, weight, target=target, bias=bias, temperature=temperature).backward()
    _, wanted = HEAD.reference_grad(hidden, weight, target=target, bias=bias, temperature=temperature)
    for name, leaf in (("hidden", hidden), ("weight", weight), ("bias", bias), ("temperature", temperature)):
        check_close(leaf.grad, wanted[name], what=name)
    q = torch.softmax(torch.randn(N, V), 1).requires_grad_()
    lt.jit(soft)(hidden, weight, q=q).backward()
    check_close(q.grad, lt.jit(soft).reference_grad(hidden, weight, q=q)[1]["q"])


@pytest.mark.contract("2 weight")
def test_a_weight_that_would_lose_a_gradient_is_refused():
    hidden, weight, target = operands()
    class_weight = torch.ones(V, requires_grad=True)
    with pytest.raises(lt.CallValueError) as caught:
        HEAD(hidden, weight, target=target, class_weight=class_weight)
    assert str(caught.value) == (
        "the output 'weight' of 'cross_entropy' depends on 'class_weight', but the denominator of a mean "
        "takes no gradient; wrap it in lt.stop_gradient, give a divisor, or leave 'class_weight' out of wrt"
    )
    HEAD(hidden, weight, target=target, class_weight=class_weight, divisor=6).loss.backward()
    assert class_weight.grad.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_weight_that_divides_the_mean(dtype):
    hidden, weight, target = operands(dtype)
    w = torch.rand(N)
    lt.jit(weighted)(hidden, weight, target=target, w=w).loss.backward()
    _, wanted = lt.jit(weighted).reference_grad(hidden, weight, target=target, w=w, wrt=["hidden", "weight"])
    check_close(hidden.grad, wanted["hidden"], str(dtype)[6:])
    check_close(weight.grad, wanted["weight"], str(dtype)[6:])


@pytest.mark.contract("2 all ignored", "2 gradients of nothing")
def test_no_tokens_and_all_ignored():
    for leading in ((0,), (3,)):
        hidden, weight, target = (
            operands() if leading == (3,) else (torch.zeros(0, D, requires_grad=True), *operands()[1:])
        )
        target = torch.full(hidden.shape[:-1], -100)
        for head in (lt.jit(lt.losses.cross_entropy, all_ignored="zero"), EACH):
            loss = head(hidden, weight, target=target)
            assert loss.requires_grad and not loss.any()
            loss.sum().backward()
            assert not hidden.grad.any() and not weight.grad.any()
    assert HEAD(hidden, weight, target=target).isnan()


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weight_gradients_go_into_a_buffer_in_backward(dtype):
    hidden, weight, target = operands(dtype)
    buffer = torch.ones(V, D)
    loss = HEAD(hidden, weight, target=target, weight_grad_out=buffer)
    assert (buffer == 1).all()
    (2 * loss).backward()
    wanted, *leaves = expected(hidden, weight, target)
    (2 * wanted).backward()
    assert weight.grad is None
    check_close(buffer - 1, leaves[1].grad, str(dtype)[6:])
    check_close(hidden.grad, leaves[0].grad, str(dtype)[6:])
    with pytest.raises(lt.CallValueError) as caught:
        HEAD(hidden, weight.detach(), target=target, weight_grad_out=buffer)
    assert str(caught.value) == (
        "'weight_grad_out' is given for 'z', but no gradient of that weight is asked for; leave it out, or "
        "add the weight to the gradients"
    )


def test_the_same_weight_twice():
    hidden, weight, _ = operands()
    other = torch.randn(N, D, requires_grad=True)
    lt.jit(lt.losses.forward_kl)(hidden, weight, other, weight).backward()
    double = [t.detach().double().requires_grad_() for t in (hidden, weight, other)]
    p, q = ((x @ double[1].T).log_softmax(1) for x in (double[0], double[2]))
    (q.exp() * (q - p)).sum(1).mean().backward()
    for leaf, wanted in zip((hidden, weight, other), double, strict=True):
        check_close(leaf.grad, wanted.grad)
    hidden.grad = weight.grad = None
    lt.jit(lt.losses.forward_kl)(hidden, weight, hidden, weight).backward()
    assert weight.grad.abs().max() < 1e-6


def test_tied_weights():
    embedding = torch.nn.Embedding(V, D)
    tokens = torch.randint(0, V, (2, 5))
    HEAD(torch.tanh(embedding(tokens)), embedding.weight, target=tokens.roll(-1, 1)).backward()
    got, embedding.weight.grad = embedding.weight.grad, None
    logits = torch.tanh(embedding(tokens)) @ embedding.weight.T
    F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
    assert torch.allclose(got, embedding.weight.grad, atol=1e-6)


# ---- autocast ------------------------------------------------------------------------------------


@pytest.mark.contract("2 autocast")
def test_autocast_casts_operands_only():
    hidden, weight, target = operands()
    bias = torch.randn(V, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = HEAD(hidden, weight, target=target, bias=bias)
    assert loss.dtype == torch.float32
    loss.backward()
    assert hidden.grad.dtype == weight.grad.dtype == bias.grad.dtype == torch.float32
    rounded = [t.detach().bfloat16() for t in (hidden, weight)]
    value, wanted = HEAD.reference_grad(*rounded, target=target, bias=bias, wrt=["hidden", "weight", "bias"])
    check_close(loss, value)  # the bias stays exact
    for name, leaf in (("hidden", hidden), ("weight", weight), ("bias", bias)):
        check_close(leaf.grad, wanted[name], "bfloat16", name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_value_and_grad_under_autocast_is_that_of_autograd(dtype):
    """Operands are rounded once, gradients have the types of the arrays, buffers are left alone."""
    hidden, weight, target = operands()
    with torch.autocast("cpu", dtype=dtype):
        loss = HEAD(hidden, weight, target=target)
        out, gradients = HEAD.value_and_grad(hidden, weight, target=target)
        _, mixed = HEAD.value_and_grad(hidden.to(dtype), weight, target=target)
        _, wide = HEAD.value_and_grad(hidden, weight, target=target, grad_dtype="float32")
        buffer = torch.zeros_like(weight)
        _, beside = HEAD.value_and_grad(hidden, weight, target=target, weight_grad_out=buffer)
        exact = HEAD.reference(hidden, weight, target=target)
    loss.backward()
    assert torch.equal(out, loss)
    assert exact == HEAD.reference(hidden.to(dtype), weight.to(dtype), target=target)
    for name, leaf in (("hidden", hidden), ("weight", weight)):
        assert gradients[name].dtype == torch.float32 and torch.equal(gradients[name], leaf.grad)
        torch.testing.assert_close(wide[name], gradients[name], rtol=1e-2, atol=1e-3)
    assert (mixed["hidden"].dtype, mixed["weight"].dtype) == (dtype, torch.float32)
    assert beside["weight"] is buffer and beside["hidden"].dtype == torch.float32
    torch.testing.assert_close(buffer, wide["weight"])


def test_nested_autocast_may_be_disabled():
    hidden, weight, target = operands(requires_grad=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.autocast("cpu", enabled=False):
            exact = HEAD(hidden, weight, target=target)
        pair = HEAD(z=(hidden, weight), target=target)
    assert torch.equal(exact, HEAD(hidden, weight, target=target)) and not torch.equal(pair, exact)


# ---- numerical derivatives, heads as objects -----------------------------------------------------


def test_finite_differences():
    hidden, weight, target = operands()
    scale = torch.tensor(0.8, requires_grad=True)
    for head in (HEAD, EACH):

        def run(x, w, s, head=head):
            return head(x, w, target=target, temperature=s)

        assert torch.autograd.gradcheck(
            run, (hidden, weight, scale), eps=1e-2, atol=2e-2, rtol=2e-2, fast_mode=True
        )


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(V, D))
        self.head = lt.jit(lt.losses.cross_entropy, label_smoothing=0.125, ignore_index=-1)

    def forward(self, hidden, target):
        return self.head(hidden, self.weight, target=target)


def test_heads_are_copied_and_pickled():
    hidden, _, target = operands()
    target[0] = -1
    model = Model()
    wanted = model(hidden, target)
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    for copied in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        torch.load(stream, weights_only=False),
    ):
        assert copied.head.loss is lt.losses.cross_entropy and copied.head is not model.head
        assert copied.head.options == model.head.options and copied.head.constants == {
            "label_smoothing": 0.125
        }
        assert torch.equal(copied(hidden, target), wanted)


def test_a_loss_without_a_global_name_cannot_be_pickled():
    @lt.loss
    def local(z: lt.Logits):
        return lt.logsumexp(z)

    with pytest.raises(Exception, match="local"):
        pickle.dumps(lt.jit(local))
    assert copy.deepcopy(lt.jit(local)).loss is local


# ---- mixtures ------------------------------------------------------------------------------------


@pytest.mark.contract("2 frameworks")
def test_numpy_inputs_beside_tensors():
    hidden, weight, target = operands()
    HEAD(hidden, weight, target=target.numpy(), bias=np.zeros(V, np.float32)).backward()
    wanted, *leaves = expected(hidden, weight, target)
    wanted.backward()
    check_close(hidden.grad, leaves[0].grad)
    with pytest.raises(lt.CallTypeError) as caught:
        HEAD(hidden.detach().numpy(), weight, target=target)
    assert str(caught.value) == (
        "'weight' requires a gradient, but hidden is an array of numpy, whose results carry none; give "
        "hidden as a tensor, or detach the others"
    )


@pytest.mark.contract("4 value_and_grad")
def test_value_and_grad_with_tensors():
    hidden, weight, target = operands()
    out, gradients = HEAD.value_and_grad(hidden, weight.detach(), target=target)
    assert not out.requires_grad and list(gradients) == ["hidden"]
    loss, leaf, _ = expected(hidden, weight, target)
    loss.backward()
    check_close(gradients["hidden"], leaf.grad)
    _, gradients = HEAD.value_and_grad(
        *(x.detach().bfloat16() for x in (hidden, weight)),
        target=target,
        grad_output=torch.tensor(2.0),
        grad_dtype=torch.float32,
    )
    assert {g.dtype for g in gradients.values()} == {torch.float32}


def flags_of(pointer):
    """What the system was told of the memory at an address. Source: VmFlags in proc(5)."""
    holds = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            first, end = (int(bound, 16) for bound in found.groups())
            holds = first <= pointer < end
        elif holds and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError(f"nothing is mapped at {pointer:#x}")


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="no huge pages here")
@pytest.mark.parametrize(("mebibytes", "are_huge"), [(16, True), (160, False)])
def test_gradients_of_middling_size_come_in_huge_pages(mebibytes, are_huge):
    """New small pages take a good part of a step; they are cheaper for very large gradients."""
    vocab = mebibytes << 20 >> 2 + 6
    weight = torch.randn(vocab, 64, requires_grad=True)
    hidden, target = torch.randn(N, 64), torch.randint(0, vocab, (N,))
    HEAD(hidden, weight, target=target).backward()
    assert weight.grad.nbytes == mebibytes << 20
    assert ("hg" in flags_of(weight.grad.data_ptr() + weight.grad.nbytes // 2)) == are_huge
