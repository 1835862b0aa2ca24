"""Under torch.autocast operands are rounded while they are packed: results are those of casted
copies, bit by bit, but nobody makes the copies, and gradients are not rounded to the type of the
products.
"""

import backends
import logitile as lt
import numpy as np
import pytest
import torch
from gate import Sample
from inputs import arguments
from test_slices import Slices
from test_tiers import TIERS, tier  # noqa: F401
from test_zoo import SHAPE, sample

DTYPES = [torch.bfloat16, torch.float16]
MEMORY = {"both": (True, True), "weight": (False, True), "hidden": (True, False)}  # what is float32


def operands(seed=0, tokens=70, vocab=131, hidden=37):
    """Odd sizes: pairs of 16-bit numbers have a rest on every axis."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(tokens, hidden, generator=generator)
    w = torch.randn(vocab, hidden, generator=generator) / 2
    target = torch.randint(0, vocab, (tokens,), generator=generator)
    target[::9] = -100
    return x, w, target


def check_same(head, given, casted, dtype, **inputs):
    """A call under autocast is that with casted copies;
    its gradients have the types of what was given.
    """
    with torch.autocast("cpu", dtype=dtype):
        out, gradients = head.value_and_grad(*given, **inputs)
    wanted, wide = head.value_and_grad(*casted, grad_dtype="float32", **inputs)
    assert torch.equal(out, wanted)
    for name, gradient in gradients.items():
        operand = given[name.rpartition(".")[2] == "weight"]
        assert gradient.dtype == operand.dtype
        assert torch.equal(gradient, wide[name].to(operand.dtype)), name


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.contract("2 autocast")
@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tier", TIERS, indirect=True)
def test_bits_are_those_of_casted_operands(tier, dtype, memory):  # noqa: F811
    x, w, target = operands()
    casted = x.to(dtype), w.to(dtype)
    given = [full if is_full else half for full, half, is_full in zip((x, w), casted, memory, strict=True)]
    for options in ({}, {"chunks": 3}, {"workspace": 3 << 20}):
        check_same(lt.jit(lt.losses.cross_entropy, **options), given, casted, dtype, target=target)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.emulated
def test_strides_and_layouts(dtype):
    x, w, target = operands()
    head = backends.jit(lt.losses.cross_entropy, weight_layout="dv", label_smoothing=0.125)
    strided = torch.stack([x, x], 2)[:, :, 1], w.T
    check_same(head, strided, [t.to(dtype) for t in strided], dtype, target=target)


def test_another_sixteen_bit_type_is_rounded():
    x, w, target = operands()
    half = x.half()
    check_same(lt.jit(lt.losses.cross_entropy), (half, w), (half.bfloat16(), w.bfloat16()), torch.bfloat16,
               target=target)  # fmt: skip


class Autocast(Sample):
    """A sample whose operands are float32, rounded under autocast;
    its reference has the rounded ones.
    """

    def run(self):
        exact = arguments(self.loss, 3, *SHAPE)
        pairs = {name: tuple(map(torch.from_numpy, exact[name])) for name in self.pairs}
        dtype = getattr(torch, next(iter(self.pairs.values()))[0].dtype.name)
        with torch.autocast("cpu", dtype=dtype):
            return self._named(*self.head.value_and_grad(**{**self.arguments(), **pairs}))


@pytest.mark.contract("5 gate")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["plain", "jsd", "topk_kl", "mtp"])
def test_gate(name, dtype, monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = sample(name, dtype)
    Autocast(made.loss, made.given, made.options, made.wrt, made.cotangent).check()


# ---- where autocast is seen ----------------------------------------------------------------------


@pytest.mark.emulated
# gradients early, and in a phase of their own
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_autograd(dtype, reduction):
    x, w, target = operands()
    leaves = [t.clone().requires_grad_() for t in (x, w)]
    head = backends.jit(lt.losses.cross_entropy, reduction=reduction)
    with torch.autocast("cpu", dtype=dtype):
        loss = head(*leaves, target=target)
    loss.sum().backward()
    up = None if reduction == "mean" else torch.ones(len(x))
    casted = x.to(dtype), w.to(dtype)
    out, wide = head.value_and_grad(*casted, target=target, grad_output=up, grad_dtype="float32")
    assert torch.equal(loss, out)
    # another schedule may round logit gradients otherwise
    rtol = 1e-5 if dtype == torch.float16 else 1e-2
    for name, leaf in zip(("hidden", "weight"), leaves, strict=True):
        torch.testing.assert_close(leaf.grad, wide[name], rtol=rtol, atol=rtol / 10)


def test_a_layer_before_the_head():
    """The usual step: the result of the layer has autocast's type, the head's weights float32."""
    x, w, target = operands()
    layer, w = torch.nn.Linear(x.shape[1], x.shape[1]), w.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = layer(x)
        lt.jit(lt.losses.cross_entropy)(hidden, w, target=target).backward()
    assert hidden.dtype == torch.bfloat16
    assert layer.weight.grad.dtype == w.grad.dtype == torch.float32 and w.grad.abs().sum() > 0


def test_buffers():
    x, w, target = operands()
    head, buffer = lt.jit(lt.losses.cross_entropy), torch.ones_like(w)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, gradients = head.value_and_grad(x, w, target=target, weight_grad_out=buffer)
        _, wanted = head.value_and_grad(x, w, target=target)
    assert gradients["weight"] is buffer
    torch.testing.assert_close(buffer - 1, wanted["weight"], rtol=1e-5, atol=1e-6)


def test_several_pairs():
    x, w, _ = operands()
    teacher = operands(seed=1, hidden=16)[:2]
    head = lt.jit(lt.losses.forward_kl)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, gradients = head.value_and_grad(student=(x, w.bfloat16()), teacher=teacher)
    pairs = [tuple(t.bfloat16() for t in pair) for pair in ((x, w), teacher)]
    wanted, wide = head.value_and_grad(student=pairs[0], teacher=pairs[1], grad_dtype="float32")
    assert torch.equal(out, wanted)
    for name, gradient in gradients.items():
        dtype = torch.bfloat16 if name == "student.weight" else torch.float32
        assert gradient.dtype == dtype and torch.equal(gradient, wide[name].to(dtype)), name


def test_slices():
    x, w, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        slices = Slices(head, (0, 50, len(w)), {"z": (x, w), "target": target})
        state = slices.state(wrt=("hidden", "weight"))
        out, parts = head.finish(state), [head.finish_grad(state, **call) for call in slices.calls]
        wanted, gradients = head.value_and_grad(x, w, target=target)
    torch.testing.assert_close(out, wanted)
    assert all(part[name].dtype == torch.float32 for part in parts for name in part)
    hidden = sum(part["hidden"] for part in parts)
    torch.testing.assert_close(hidden, gradients["hidden"], rtol=1e-2, atol=1e-5)
    weight = torch.cat([part["weight"] for part in parts])
    torch.testing.assert_close(weight, gradients["weight"], rtol=1e-2, atol=1e-5)


def test_saved_plans(tmp_path):
    x, w, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wanted = head(x, w.half(), target=target)
        head.compile(x, w.half(), target=target, grad=()).save(tmp_path / "plan")
    plan = lt.load_plan(tmp_path / "plan")
    assert torch.equal(plan.run(x, w.half(), target=target)[0], wanted)
    with pytest.raises(lt.CallTypeError, match="float16"):
        plan.run(x, w, target=target)


def test_what_is_rounded_is_told():
    x, w, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        text = head.ir("plan", x.bfloat16(), w, target=target)
        told = head.explain(x.bfloat16(), w, target=target)
        meta = [tensor.to("meta") for tensor in (x.bfloat16(), w)]
        assert head.ir("plan", *meta, target=target.to("meta")) == text
    assert '<"z", hidden = 37, element = bf16, memory = [bf16, f32]>' in text
    assert told.operands == {"z": ("bfloat16", "bfloat16", "float32")}
    assert "z in bfloat16 (weight from float32, rounded while packed)" in str(told)
    assert "operands   z in float32\n" in str(head.explain(x, w, target=target))


def test_types_differ_under_autocast_only():
    x, w, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        head(x.bfloat16(), w, target=target)
        with pytest.raises(lt.CallTypeError, match="is bfloat16 but 'weight' is float32; both must be"):
            head(x, w.numpy(), target=target)  # torch casts no arrays of others
    with pytest.raises(lt.CallTypeError, match="is bfloat16 but 'weight' is float32; both must be"):
        head(x.bfloat16(), w, target=target)


def test_infinite_after_rounding():
    """What float16 cannot hold is infinite, as in a casted copy."""
    x, w, target = operands()
    x[3, 0], target[3] = 1e6, 1
    head = lt.jit(lt.losses.cross_entropy, reduction="none")
    with torch.autocast("cpu", dtype=torch.float16):
        out = head(x, w, target=target)
    wanted = head(x.half(), w.half(), target=target)
    assert np.array_equal(out, wanted, equal_nan=True) and not torch.isfinite(out[3])
