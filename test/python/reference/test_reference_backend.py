"""backend="reference": the interpreter runs calls in float64, so that torch's gradcheck passes."""

import logitile as lt
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from inputs import arguments, relative

losses = lt.losses
TOKENS, VOCAB, HIDDEN = 4, 9, 5


def drawn(seed, *shape):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


def operands():
    return drawn(0, TOKENS, HIDDEN), drawn(1, VOCAB, HIDDEN)


def labels():
    return torch.tensor([3, -100, 0, 8])


def gradcheck(call, *tensors):
    assert torch.autograd.gradcheck(call, tensors, eps=1e-6, atol=1e-7, rtol=1e-6)


def test_gradcheck_of_cross_entropy_with_its_options():
    options = {"label_smoothing": 0.125, "z_loss": 0.25, "softcap": 4.0}
    head = lt.jit(losses.cross_entropy, backend="reference", **options)
    gradcheck(lambda h, w, b: head(h, w, target=labels(), bias=b), *operands(), drawn(2, VOCAB))


def test_gradcheck_of_several_outputs_per_token():
    head = lt.jit(losses.logprob_entropy, backend="reference")
    gradcheck(lambda h, w: tuple(head(h, w, target=labels())), *operands())


def test_gradcheck_of_given_logits_and_of_probabilities():
    head = lt.jit(losses.soft_cross_entropy, backend="reference", reduction="none")
    q = drawn(3, TOKENS, VOCAB).detach().softmax(-1).requires_grad_()
    gradcheck(lambda z, q: head(z=z, target=q), drawn(2, TOKENS, VOCAB), q)


def test_values_are_float64_to_its_last_digits():
    hidden, weight = operands()
    loss = lt.jit(losses.cross_entropy, backend="reference")(hidden, weight, target=labels())
    wanted = F.cross_entropy(hidden @ weight.T, labels())
    assert loss.dtype == torch.float64 and relative(loss.detach(), wanted.detach()) < 1e-15


def test_gradients_have_the_types_of_their_inputs():
    hidden, weight = (leaf.detach().bfloat16().requires_grad_() for leaf in operands())
    lt.jit(losses.cross_entropy, backend="reference")(hidden, weight, target=labels()).backward()
    assert hidden.grad.dtype == weight.grad.dtype == torch.bfloat16


def test_arrays_of_numpy():
    given = arguments(losses.focal)
    head = lt.jit(losses.focal, backend="reference")
    value, gradients = head.value_and_grad(**given)
    wanted, exact = lt.jit(losses.focal).reference_grad(**given)
    assert value == wanted and head(**given) == wanted
    for name, gradient in exact.items():
        np.testing.assert_array_equal(gradients[name], gradient)


def test_second_derivatives_are_refused():
    hidden, weight = operands()
    loss = lt.jit(losses.cross_entropy, backend="reference")(hidden, weight, target=labels())
    (gradient,) = torch.autograd.grad(loss, hidden, create_graph=True)
    with pytest.raises(lt.LogitileError, match="no second derivatives"):
        gradient.sum().backward()


def test_other_backends_refuse_float64_and_say_what_takes_it():
    with pytest.raises(lt.CallTypeError) as caught:
        lt.jit(losses.cross_entropy)(*operands(), target=labels())
    assert str(caught.value) == (
        "'hidden' is float64; hidden and weight are float32, bfloat16 or float16; convert it with "
        ".to(torch.float32), or give lt.jit backend='reference', which computes in float64"
    )


@pytest.mark.parametrize("use", [
    lambda head, *given: head.explain(*given, target=labels()),
    lambda head, *given: head.ir("plan", *given, target=labels()),
    lambda head, *given: head.compile(*given, target=labels()),
    lambda head, *given: head.partial(*given, target=labels(), column_offset=0, vocab_size=VOCAB),
])  # fmt: skip
def test_what_needs_a_program_is_refused(use):
    with pytest.raises(lt.CallTypeError, match="backend='reference' compiles nothing"):
        use(lt.jit(losses.cross_entropy, backend="reference"), *operands())


# ---- sequences -----------------------------------------------------------------------------------

SEGMENTS = {
    "ids": lambda: lt.Segments(
        torch.tensor([2, 0, -1, 0]), 3
    ),  # the second has no token, the third is of none
    "lengths": lambda: lt.Segments.from_lengths([1, 0, 3]),
}


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int]):
    log_p, share = lt.log_softmax(z), lt.stop_gradient(lt.softmax(z)[target])
    return lt.Outputs(loss=-share * log_p[target], weight=share, entropy=-lt.sum(lt.exp(log_p) * log_p))


@pytest.mark.contract("2 segments")
@pytest.mark.parametrize("kind", SEGMENTS)
@pytest.mark.parametrize("how", [{"reduction": "sum"}, {"all_ignored": "zero"}])
def test_gradcheck_of_sequences(kind, how):
    head = lt.jit(losses.cross_entropy, backend="reference", label_smoothing=0.125, **how)
    segments = SEGMENTS[kind]()
    gradcheck(lambda h, w: head(h, w, target=labels(), segments=segments), *operands())
    gradcheck(lambda z: head(z=z, target=labels(), segments=segments), drawn(2, TOKENS, VOCAB))


@pytest.mark.contract("2 segments")
@pytest.mark.parametrize("divisor", [None, 7.0])
@pytest.mark.parametrize("kind", SEGMENTS)
def test_several_outputs_of_sequences_are_those_of_kernels(kind, divisor):
    exact, segments = lt.jit(weighted, backend="reference", all_ignored="zero"), SEGMENTS[kind]()
    leaves = operands()
    found = exact(*leaves, target=labels(), segments=segments, divisor=divisor)
    (found.loss.sum() + 2 * found.entropy[0]).backward()
    short = [leaf.detach().float().requires_grad_() for leaf in leaves]
    wanted = lt.jit(weighted, all_ignored="zero")(*short, target=labels(), segments=segments, divisor=divisor)
    (wanted.loss.sum() + 2 * wanted.entropy[0]).backward()
    for a, b in zip((*found, *(x.grad for x in leaves)), (*wanted, *(x.grad for x in short)), strict=True):
        assert a.dtype == torch.float64 and a.shape == b.shape and relative(b.detach(), a.detach()) < 1e-5


def test_gradients_of_sequences_of_numpy():
    given = {name: item.detach().numpy() for name, item in zip(("h", "w"), operands(), strict=True)}
    head, target = lt.jit(losses.cross_entropy, backend="reference", reduction="sum"), labels().numpy()
    how = {"segments": lt.Segments([0, 0, 1, 1], 2), "grad_output": np.array([1.0, -2.0])}
    value, gradients = head.value_and_grad(given["h"], given["w"], target=target, **how)
    wanted, exact = head.reference_grad(given["h"], given["w"], target=target, **how)
    np.testing.assert_array_equal(value, wanted)
    for name, gradient in exact.items():
        assert gradient.any()
        np.testing.assert_array_equal(gradients[name], gradient)


def test_lists_of_sequences_are_refused():
    @lt.loss
    def best(z: lt.Logits):
        return lt.Outputs(total=lt.logsumexp(z), best=lt.topk(z, 2)[0])

    how = {"segments": SEGMENTS["ids"]()}
    given = [leaf.detach().float() for leaf in operands()]
    for call in (lt.jit(best, backend="reference"), lt.jit(best).reference, lt.jit(best)):
        with pytest.raises(lt.CallValueError, match="output 'best' is a list with 2 numbers"):
            call(*given, **how)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"segments": SEGMENTS["ids"]()}])
def test_another_type_of_gradients_is_refused(how):
    with pytest.raises(lt.CallTypeError) as caught:
        lt.jit(losses.cross_entropy, backend="reference").value_and_grad(
            *operands(), target=labels(), grad_dtype="float32", **how
        )
    assert str(caught.value) == (
        "grad_dtype='float32': gradients of backend='reference' are float64; leave it out"
    )


def test_calls_that_are_only_traced_are_refused():
    head = lt.jit(losses.cross_entropy, backend="reference")
    hidden, weight = operands()
    with pytest.raises(lt.CallTypeError, match="nor under torch.compile or torch.func"):
        torch.func.grad(lambda h: head(h, weight, target=labels()))(hidden)
    with pytest.raises(lt.CallTypeError, match="adds to no buffers"):
        head(hidden, weight, target=labels(), weight_grad_out=torch.zeros(VOCAB, HIDDEN))


@pytest.mark.contract("7 DTensors")
def test_dtensors_are_refused_by_name(tmp_path):
    from torch import distributed
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        hidden, weight = operands()
        shards = distribute_tensor(weight.detach(), init_device_mesh("cpu", (1,)), [Shard(0)])
        head = lt.jit(losses.cross_entropy, backend="reference")
        for call in (head, head.value_and_grad):
            with pytest.raises(lt.CallTypeError) as caught:
                call(hidden, shards, target=labels())
            assert str(caught.value) == (
                "backend='reference' computes on one process, but a DTensor is among the arguments; gather "
                "it first (full_tensor()), or use backend='auto'"
            )
    finally:
        distributed.destroy_process_group()
