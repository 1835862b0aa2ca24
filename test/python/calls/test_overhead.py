"""How much Python a warm call runs. Calls of functions are counted, since times depend on the
machine; bench/overhead.py measures those.
"""

import sys

import logitile as lt
import numpy as np
import pytest
import torch

HEAD = lt.jit(lt.losses.cross_entropy)
ARRAYS = np.ones((1, 8), np.float32), np.ones((16, 8), np.float32)
TARGET = np.array([3])
TENSORS = tuple(torch.tensor(array) for array in ARRAYS)
LEAVES = tuple(tensor.clone().requires_grad_() for tensor in TENSORS)
LABEL = torch.tensor(TARGET)
CALLS = {
    "numpy forward": (lambda: HEAD(*ARRAYS, target=TARGET), 180),
    "numpy gradients": (lambda: HEAD.value_and_grad(*ARRAYS, target=TARGET), 280),
    "torch forward": (lambda: HEAD(*TENSORS, target=LABEL), 170),
    "torch forward with gradients": (lambda: HEAD(*LEAVES, target=LABEL), 210),
    "torch step": (lambda: HEAD(*LEAVES, target=LABEL).backward(), 260),
}


def calls_of(run):
    """How many functions of Python and C are called meanwhile."""
    count = 0

    def counting(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", CALLS)
def test_warm_calls_run_few_functions(kind):
    run, most = CALLS[kind]
    for _ in range(3):
        run()
    assert calls_of(run) <= most


def test_new_numbers_of_tokens_find_the_same_program():
    """Shapes that were not seen before are checked anew, but compile nothing."""
    head = lt.jit(lt.losses.cross_entropy)
    for tokens in (1, 2, 3, 2):
        head(np.ones((tokens, 8), np.float32), ARRAYS[1], target=np.zeros(tokens, np.int64))
    assert len(head._programs.made) == 1


def test_forms_are_not_kept_without_end():
    head = lt.jit(lt.losses.entropy)
    for tokens in range(2000):
        head._bind(lt.ShapeDtype((tokens, 4), "float32"), lt.ShapeDtype((8, 4), "float32"))
    assert len(head._binder.forms) <= 1024
