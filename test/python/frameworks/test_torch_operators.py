"""Calls that torch looks at: profiler, operators, torch.func, vmap,
meta and fake tensors, subclasses.
"""

import logitile as lt
import pytest
import torch
from calls import check_close
from torch._subclasses.fake_tensor import FakeTensorMode

N, V, D = 7, 37, 16
HEAD = lt.jit(lt.losses.cross_entropy)
EACH = lt.jit(lt.losses.cross_entropy, reduction="none")
POLICY = lt.jit(lt.losses.logprob_entropy)
DISTIL = lt.jit(lt.losses.forward_kl)


@lt.loss
def soft(z: lt.Logits, q: lt.Dense[float]):
    return lt.sum(q * (lt.logsumexp(z) - z))


@lt.loss
def metric(z: lt.Logits, target: lt.Token[int]):
    return lt.Outputs(right=lt.argmax(z) == target, best=lt.argmax(z))


def operands(dtype=torch.float32, leading=(N,), requires_grad=True):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(*leading, D, generator=generator).to(dtype).requires_grad_(requires_grad)
    weight = (torch.randn(V, D, generator=generator) / 2).to(dtype).requires_grad_(requires_grad)
    return hidden, weight, torch.randint(0, V, leading, generator=generator)


def test_profilers_and_autograd_show_the_name_of_the_loss():
    hidden, weight, target = operands()
    with torch.profiler.profile() as profile:
        loss = HEAD(hidden, weight, target=target)
        loss.backward()
    names = {event.name for event in profile.events()}
    assert loss.grad_fn.name() == "logitile::cross_entropyBackward"
    assert {"logitile::cross_entropy", "logitile::cross_entropyBackward"} <= names


def recorded(run):
    """The operator calls of logitile that a function makes, with their arguments."""
    calls = []

    class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function.namespace == "logitile":
                calls.append((function, args))
            return function(*args, **(kwargs or {}))

    with Recorder():
        run()
    return calls


# ---- operators -----------------------------------------------------------------------------------

hidden, weight, target = operands()
CALLS = {
    "early": lambda: HEAD(hidden, weight, target=target).backward(),
    "split": lambda: EACH(hidden, weight, target=target).sum().backward(),
    "forward": lambda: HEAD(hidden.detach(), weight.detach(), target=target),
    "bias": lambda: HEAD(hidden, weight, target=target, bias=torch.zeros(V, requires_grad=True)).backward(),
    "two outputs": lambda: sum(POLICY(hidden, weight, target=target, temperature=0.5)).sum().backward(),
    "dense": lambda: lt.jit(soft)(hidden, weight, q=torch.rand(N, V, requires_grad=True)).backward(),
    "metrics": lambda: lt.jit(metric)(hidden, weight, target=target),
    "two pairs": lambda: DISTIL(hidden, weight, torch.randn(N, 8), torch.randn(V, 8)).backward(),
    "halves": lambda: HEAD(hidden.bfloat16(), weight.bfloat16(), target=target).backward(),
    "leading": lambda: EACH(hidden[None], weight, target=target[None]).sum().backward(),
}


@pytest.mark.contract("4 operators")
@pytest.mark.parametrize("kind", CALLS)
def test_operators_are_what_torch_wants(kind):
    calls = recorded(CALLS[kind])
    assert [str(function) for function, _ in calls][:1] == ["logitile.forward.default"]
    for function, args in calls:
        with torch.no_grad():
            torch.library.opcheck(function, args)


def test_the_same_numbers_as_in_plain_calls():
    hidden, weight, target = operands()
    for head in (HEAD, EACH):
        wanted = head(hidden, weight, target=target)
        gradients = torch.autograd.grad(wanted.sum() * 3, (hidden, weight))
        calls = (
            recorded(lambda head=head: results.append(head(hidden, weight, target=target)))
            if not (results := [])
            else None
        )
        assert calls and torch.equal(results[0], wanted)
        for a, b in zip(torch.autograd.grad(results[0].sum() * 3, (hidden, weight)), gradients, strict=True):
            check_close(a, b)


@pytest.mark.contract("4 digest")
def test_a_head_that_is_unknown_here():
    with pytest.raises(lt.LogitileError) as caught:
        torch.ops.logitile.forward("lt1:0", [torch.zeros(2, 3)], [False])
    assert str(caught.value) == (
        "head lt1:0 is not known in this process; build it with lt.jit and trace one call of the same kind "
        "before the graph runs"
    )


# ---- tensors without numbers ---------------------------------------------------------------------


@pytest.mark.contract("4 operators")
def test_fake_tensors():
    with FakeTensorMode() as mode:
        hidden, weight, target = (mode.from_tensor(t) for t in operands(leading=(2, 4)))
        out = POLICY(hidden, weight, target=target)
        assert out.logprob.shape == (2, 4) and out._fields == ("logprob", "entropy")
        loss = HEAD(hidden, weight, target=target)
        assert loss.shape == () and loss.dtype == torch.float32
        loss.backward()
        assert hidden.grad.shape == hidden.shape and weight.grad.dtype == torch.float32


def test_meta_tensors():
    hidden, weight, target = (t.to("meta") for t in operands(leading=(2, 4), requires_grad=False))
    hidden.requires_grad_()
    loss = HEAD(hidden, weight, target=target)
    assert loss.is_meta and loss.shape == () and loss.dtype == torch.float32
    loss.backward()
    assert hidden.grad.is_meta and hidden.grad.shape == hidden.shape
    each = lt.jit(metric)(hidden, weight, target=target)
    assert each.right.dtype == torch.bool and each.best.dtype == torch.int64 and each.best.shape == (2, 4)


def test_errors_come_before_numbers():
    hidden, weight, target = (t.to("meta") for t in operands(requires_grad=False))
    with pytest.raises(lt.CallValueError, match="hidden size 15 of 'hidden'"):
        HEAD(hidden[:, 1:], weight, target=target)
    with pytest.raises(
        lt.CallTypeError, match="'cross_entropy' has no input 'targets'; did you mean 'target'?"
    ):
        HEAD(hidden, weight, targets=target)
    with pytest.raises(
        lt.CallValueError, match="'hidden' is on meta but 'target' is on cpu; move one of them"
    ):
        HEAD(hidden, weight, target=torch.zeros(N, dtype=torch.int64))


# ---- torch.func ----------------------------------------------------------------------------------


@pytest.mark.contract("4 operators")
def test_func_grad():
    hidden, weight, target = operands()
    for head in (HEAD, EACH):

        def run(x, w, head=head):
            return head(x, w, target=target).sum()

        got = torch.func.grad(run, (0, 1))(hidden, weight)
        leaves = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        wanted = torch.autograd.grad(run(*leaves), leaves)
        for a, b in zip(got, wanted, strict=True):
            check_close(a, b)
    gradient, out = torch.func.grad_and_value(lambda x: HEAD(x, weight, target=target))(hidden)
    assert gradient.shape == hidden.shape and out.shape == ()


@pytest.mark.contract("4 operators")
def test_vmap():
    hidden, weight, target = operands(leading=(3, 5), requires_grad=False)
    weights = torch.stack([weight, 2 * weight, -weight])
    wanted = [HEAD(h, w, target=t) for h, w, t in zip(hidden, weights, target, strict=True)]
    check_close(
        torch.vmap(lambda h, w, t: HEAD(h, w, target=t))(hidden, weights, target), torch.stack(wanted)
    )
    shared = torch.vmap(lambda h, t: EACH(h, weight, target=t))(hidden, target)
    check_close(shared, EACH(hidden, weight, target=target))
    gradients = torch.vmap(torch.func.grad(lambda w, h, t: HEAD(h, w, target=t)), in_dims=(None, 0, 0))(
        weight, hidden, target
    )
    for got, h, t in zip(gradients, hidden, target, strict=True):
        check_close(got, HEAD.value_and_grad(h, weight, target=t, wrt="weight")[1]["weight"])
    both = torch.vmap(torch.func.grad(lambda h, w, t: EACH(h, w, target=t).sum()))(hidden, weights, target)
    assert both.shape == hidden.shape


def test_vmap_along_other_axes():
    hidden, weight, target = operands(leading=(3, 5), requires_grad=False)
    got = torch.vmap(lambda h, t: EACH(h, weight, target=t), in_dims=(1, 1), out_dims=1)(hidden, target)
    check_close(got, EACH(hidden, weight, target=target))


def test_second_derivatives_are_refused():
    hidden, weight, target = operands()
    for head in (HEAD, EACH):

        def run(x, head=head):
            return head(x, weight, target=target).sum()

        with pytest.raises(lt.LogitileError, match="a head has no second derivatives"):
            torch.func.grad(lambda x, run=run: torch.func.grad(run)(x).square().sum())(hidden)


def test_forward_mode_is_refused():
    hidden, weight, target = operands()
    with pytest.raises(lt.CallTypeError) as caught:
        torch.func.jvp(lambda x: HEAD(x, weight, target=target), (hidden,), (torch.ones_like(hidden),))
    assert str(caught.value) == (
        "an input carries a tangent of forward-mode differentiation (torch.func.jvp, jacfwd), for which "
        "heads have no rule; use reverse mode (torch.func.vjp, jacrev)"
    )


def test_dual_tensors_are_refused():
    hidden, weight, target = operands()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(hidden, torch.ones_like(hidden))
        for head in (HEAD, EACH):
            with pytest.raises(lt.CallTypeError, match="an input carries a tangent"):
                head(dual, weight.requires_grad_(), target=target)
        assert HEAD(hidden, weight, target=target).shape == ()


# ---- subclasses ----------------------------------------------------------------------------------


def test_subclasses_are_refused():
    class Quantised(torch.Tensor):
        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return NotImplemented  # torch then refuses in the name of the class

    class DTensor(torch.Tensor):
        pass

    hidden, weight, target = operands()
    with pytest.raises(TypeError, match="Quantised"):
        HEAD(hidden, Quantised(weight), target=target)
    with pytest.raises(lt.CallTypeError) as caught:
        HEAD.value_and_grad(hidden, weight.as_subclass(DTensor), target=target)
    assert str(caught.value) == (
        "'weight' is a DTensor, which a call of the head itself takes, but not this call; gather it first "
        "(full_tensor()). Its local shard alone would give a wrong loss: shards of the vocabulary go to "
        "lt.parallel.vocab_parallel, a shard of the tokens is a separate call"
    )


def test_negative_views():
    hidden, weight, target = operands()
    check_close(HEAD(torch._neg_view(hidden), weight, target=target), HEAD(-hidden, weight, target=target))


def test_buffers_have_no_place_in_a_graph():
    hidden, weight, target = operands()
    with pytest.raises(lt.CallTypeError) as caught:
        torch.func.grad(lambda x: HEAD(x, weight, target=target, weight_grad_out=torch.zeros(V, D)))(hidden)
    assert str(caught.value) == (
        "'weight_grad_out' is changed by a call, which a traced graph does not allow; call the head in "
        "plain eager mode, or leave it out"
    )
