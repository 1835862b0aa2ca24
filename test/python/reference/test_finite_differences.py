"""Reference gradients against central differences of the reference itself, away from kinks."""

import logitile as lt
import numpy as np
import pytest
from cases import CASES
from inputs import arguments
from logitile.reference import forward as reference

STEP = 1e-4
# Kinks have no slope, and stop_gradient (dft) means something else than the slope.
EXCLUDED = {"hinge", "second_best", "tvd", "teacher_at_argmax", "max_penalty", "ppo", "grpo", "dft"}


def perturbed(monkeypatch, head, given, name, direction, sign):
    """The loss in float64 with one leaf moved along a direction;
    leaves are moved after they were loaded.
    """
    load = reference.load

    def moved(*args):
        data = load(*args)
        table, _, operand = name.rpartition(".")
        pair = table or next(iter(data.hidden))
        if operand == "hidden":
            data.hidden[pair] = data.hidden[pair] + sign * STEP * direction
        elif operand == "weight":
            data.weight[pair] = data.weight[pair] + sign * STEP * direction
        else:
            data.inputs[operand] = data.inputs[operand] + sign * STEP * direction
        return data

    monkeypatch.setattr(reference, "load", moved)
    value = head.reference(**given)
    monkeypatch.setattr(reference, "load", load)
    return value


@pytest.mark.contract("4 reference")
@pytest.mark.parametrize("name", sorted(set(CASES) - EXCLUDED))
def test_gradients_are_slopes(name, monkeypatch):
    loss, _, constants = CASES[name]
    given = arguments(loss, seed=3, std=2.0)
    head = lt.jit(loss, reduction="sum", **constants)
    several = len(loss.signature.pairs) > 1
    leaves = [f"{p.name}.{o}" if several else o for p in loss.signature.pairs for o in ("hidden", "weight")]
    leaves += [
        p.name for p in loss.signature.inputs if p.kinds[0].element == "float" and p.kinds[0].axis != "logits"
    ]
    _, gradients = head.reference_grad(**given, wrt=leaves)
    rng = np.random.default_rng(0)
    for leaf in leaves:
        direction = rng.normal(size=gradients[leaf].shape)
        slope = perturbed(monkeypatch, head, given, leaf, direction, 1) - perturbed(
            monkeypatch, head, given, leaf, direction, -1
        )
        slope /= 2 * STEP
        expected = float((gradients[leaf] * direction).sum())
        scale = np.abs(gradients[leaf] * direction).sum() + 1e-6
        assert abs(slope - expected) < 1e-5 * scale, (leaf, slope, expected)
