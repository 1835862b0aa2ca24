"""The float64 reference against hand-written torch losses: values and every gradient."""

import logitile as lt
import numpy as np
import pytest
import torch
from cases import CASES
from inputs import TOKENS, TorchCall, arguments, relative

UPSTREAM = np.random.default_rng(99).normal(size=TOKENS)


@pytest.mark.contract("4 reference")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("std", [1.0, 6.0])
def test_reference_agrees_with_torch(name, std):
    loss, torch_version, constants = CASES[name]
    given = arguments(loss, seed=7, std=std)
    head = lt.jit(loss, reduction="none", **constants)
    call = TorchCall(loss, given)
    expected = torch_version(**call.values())
    wanted = call.gradients((expected * torch.tensor(UPSTREAM)).sum())

    result, gradients = head.reference_grad(**given, wrt=wanted, grad_output=UPSTREAM)

    assert relative(result, expected.detach().numpy()) < 1e-11
    for gradient, expected_gradient in wanted.items():
        assert relative(gradients[gradient], expected_gradient, floor=1e-9) < 1e-9, gradient


def test_there_are_enough_different_losses():
    texts = set()
    for loss, _, constants in CASES.values():
        head = lt.jit(loss, **constants)
        text = head._bind(**arguments(loss)).form.spec.text(locations=False)
        texts.add(text.partition("vocab")[2])
    assert len(texts) >= 40  # plain and log_of_softmax are two texts as well
