"""output_dtype: the type of float outputs, as an option of a head."""

import logitile as lt
import numpy as np
import pytest
import torch
from inputs import arguments

losses = lt.losses


def operands(dtype=torch.bfloat16):
    hidden = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    weight = torch.randn(9, 5, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    return hidden, weight, torch.tensor([3, 1, 0, 8])


@pytest.mark.parametrize("asked", ["hidden", "bfloat16", torch.bfloat16])
def test_floats_are_converted_and_differentiated(asked):
    hidden, weight, target = operands()
    head = lt.jit(losses.cross_entropy, output_dtype=asked, returns=("lse", "correct", "index"))
    out = head(hidden, weight, target=target)
    wanted = lt.jit(losses.cross_entropy, returns=("lse",))(hidden, weight, target=target)
    assert out.loss.dtype == out.lse.dtype == torch.bfloat16
    assert out.correct.dtype == torch.bool and out.index.dtype == torch.int64
    assert torch.equal(out.lse, wanted.lse.bfloat16())
    gradients = [torch.autograd.grad(one.loss, (hidden, weight)) for one in (out, wanted)]
    assert all(map(torch.equal, *gradients))


def test_hidden_is_the_type_of_given_logits_too():
    head = lt.jit(losses.cross_entropy, output_dtype="hidden")
    assert head(z=torch.randn(4, 9).half(), target=torch.arange(4)).dtype == torch.float16


def test_numpy_jax_and_compiled_calls():
    given = arguments(losses.cross_entropy)
    value, gradients = lt.jit(losses.cross_entropy, output_dtype="float16").value_and_grad(**given)
    assert value.dtype == np.float16 and gradients["hidden"].dtype == np.float32
    hidden, weight, target = operands()
    head = lt.jit(losses.cross_entropy, output_dtype="hidden")
    call = torch.compile(lambda h: head(h, weight, target=target), backend="aot_eager", fullgraph=True)
    assert call(hidden).dtype == torch.bfloat16
    jax = pytest.importorskip("jax")
    given["z"] = tuple(jax.numpy.asarray(array) for array in given["z"])
    loss = jax.jit(lambda pair: lt.jit(losses.cross_entropy, output_dtype="bfloat16")(**given | {"z": pair}))
    assert loss(given["z"]).dtype == jax.numpy.bfloat16


@pytest.mark.parametrize(("use", "what"), [
    (lambda head, *given: head.compile(*given, target=torch.arange(4)), "saved plans"),
    (lambda head, *given: head.partial(*given, target=torch.arange(4), column_offset=0, vocab_size=9),
     "calls on slices of the vocabulary"),
    (lambda head, *given: lt.parallel.vocab_parallel(head), "calls on several processes"),
])  # fmt: skip
def test_where_nothing_applies_it_it_is_refused(use, what):
    with pytest.raises(lt.CallValueError) as caught:
        use(lt.jit(losses.cross_entropy, output_dtype="bfloat16"), *operands()[:2])
    assert str(caught.value) == (
        f"output_dtype='bfloat16' is not applied to {what}, whose floats are float32; leave it out, and "
        "convert the results"
    )


def test_types_that_there_are_not():
    told = "output_dtype='int8' is none of 'float16', 'bfloat16', 'float32', 'float64' and 'hidden'"
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(losses.cross_entropy, output_dtype="int8")
    assert str(caught.value) == told
