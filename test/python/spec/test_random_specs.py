"""Random losses: logitile-opt accepts their text, and the reference agrees with torch."""

import logitile as lt
import numpy as np
import pytest
import torch
import torch_reference
from inputs import TorchCall, relative
from logitile.reference.canonical import canonical
from random_specs import random_loss

SEEDS = range(250)
TOKENS, VOCAB, HIDDEN = 12, 29, 16
UPSTREAM = np.random.default_rng(5).normal(size=TOKENS)


def traced(random):
    given = random.arrays(TOKENS, VOCAB, HIDDEN, seed=1)
    head = lt.jit(random.loss, reduction="none")
    return head, given, head._bind(**given).form.spec


def in_torch(random, spec, given, dtype):
    """Outputs and gradients of torch's own arithmetic in a dtype."""
    call = TorchCall(random.loss, given)
    cast = {name: leaf.detach().to(dtype).requires_grad_() for name, leaf in call.leaves.items()}
    call.leaves = cast
    several = len(call.pairs) > 1
    pairs = {
        name: tuple(cast[f"{name}.{operand}" if several else operand] for operand in ("hidden", "weight"))
        for name in call.pairs
    }
    inputs = {name: cast.get(name, value) for name, value in call.inputs.items()}
    loss = torch_reference.evaluate(spec, pairs, inputs, dtype)["loss"]
    return loss.detach().numpy(), call.gradients((loss * torch.tensor(UPSTREAM, dtype=dtype)).sum())


@pytest.mark.contract("4 reference")
@pytest.mark.parametrize("first", range(0, len(SEEDS), 25))
def test_reference_agrees_with_torch_in_float64(first):
    for seed in SEEDS[first : first + 25]:
        random = random_loss(seed)
        head, given, spec = traced(random)
        result, gradients = head.reference_grad(**given, wrt=random.differentiable, grad_output=UPSTREAM)
        expected, wanted = in_torch(random, spec, given, torch.float64)
        assert np.isfinite(result).all(), random.source
        assert relative(result, expected) < 1e-12, random.source
        for name in random.differentiable:
            assert relative(gradients[name], wanted[name], floor=1e-6) < 1e-9, (name, random.source)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 50))
def test_losses_are_well_conditioned(first):
    """torch's float32 is close to float64, so what kernels miss here is their own error."""
    for seed in SEEDS[first : first + 50]:
        random = random_loss(seed)
        _, given, spec = traced(random)
        expected, wanted = in_torch(random, spec, given, torch.float64)
        single, gradients = in_torch(random, spec, given, torch.float32)
        assert relative(single, expected) < 1e-5, random.source
        for name in random.differentiable:
            assert relative(gradients[name], wanted[name], floor=1e-6) < 1e-3, (name, random.source)


def test_specs_are_distinct_and_use_the_whole_language():
    texts, used = set(), set()
    grids = 0
    for seed in SEEDS:
        random = random_loss(seed)
        spec = traced(random)[2]
        texts.add(spec.text(locations=False))
        ops = (*spec.ops, *canonical(spec).ops)
        used |= {f"{op.name} {op.attribute}" if op.name == "logitile.reduce" else op.name for op in ops}
        grids += random.grid
    assert len(texts) >= 200
    assert 30 <= grids <= 150
    reductions = ("sum", "mean", "max", "min", "argmax", "argmin", "logsumexp", "count", "any", "all")
    assert {f"logitile.reduce {name}" for name in reductions} <= used
    others = (
        "logitile.multiply_no_nan logitile.sigmoid logitile.softplus logitile.stop_gradient logitile.column "
        "logitile.gather math.floor math.clampf math.rsqrt math.exp2 arith.maximumf arith.select arith.cmpi "
        "arith.cmpf arith.addi arith.sitofp arith.uitofp"
    )
    assert set(others.split()) <= used


def test_grid_logits_are_exact_in_single_and_half_precision():
    for seed in SEEDS[:60]:
        random = random_loss(seed)
        if not random.grid:
            continue
        for dtype in ("float32", "bfloat16", "float16"):
            given = random.arrays(5, 31, 64, dtype=dtype, seed=2)
            hidden, weight = (np.asarray(x, dtype=np.float64) for x in given["z" if "z" in given else "t"])
            logits = hidden @ weight.T
            assert (logits * 4 == np.round(logits * 4)).all()
            assert np.abs(logits).max() < 2**20


def test_the_same_seed_gives_the_same_loss_and_inputs():
    one, two = random_loss(11), random_loss(11)
    assert one.source == two.source
    for name, first in one.arrays(3, 5, 4, seed=9).items():
        second = two.arrays(3, 5, 4, seed=9)[name]
        for a, b in zip(first, second, strict=True) if isinstance(first, tuple) else [(first, second)]:
            assert np.array_equal(a, b)


def test_texts_survive_logitile_opt(logitile_opt):
    texts = []
    for seed in SEEDS:
        random = random_loss(seed)
        spec = traced(random)[2]
        texts.append(spec.text())
        texts.append(
            spec.text(of=["loss"], wrt=[i.name for i in spec.inputs if i.type == "f32"], locations=False)
        )
    printed = logitile_opt("\n// -----\n".join(texts), "--split-input-file", "--verify-roundtrip")
    assert printed.count("logitile.loss @random_loss") == len(texts)
