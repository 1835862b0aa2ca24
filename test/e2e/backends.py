"""Where the calls of a test run. Tests marked `emulated` run on the CPU and on the
emulator of a GPU.

The emulator runs the plan and the kernels of that GPU, and a fault that it finds is an error of the
call. So a test that passes there has right numbers and no report. With LOGITILE_TEST_BACKEND=cuda
the same tests run on a GPU in its place: the arrays of their calls are moved there and the results
back.
"""

from __future__ import annotations

import os

import logitile as lt
import numpy as np

CPU = "auto"  # follows the arrays
EMULATOR = os.environ.get("LOGITILE_TEST_BACKEND", "emu:sm_80")  # or what takes its place
SEEDS = (0, 1, 2)  # of the order of threads; 0: in order, and copies as late as is legal

current = CPU  # the backend of the test that runs


def jit(loss, **options):
    """lt.jit on the backend of the test, unless the options name one."""
    return lt.jit(loss, **{"backend": current, **options})


def is_on_gpu(backend):
    return backend.partition(":")[0] == "cuda"


def moved(item, backend):
    """An argument of a call where the backend reads it.
    What starts within 16 bytes does so there as well.
    """
    if not is_on_gpu(backend):
        return item
    if isinstance(item, tuple):
        return tuple(moved(operand, backend) for operand in item)
    return _on_gpu(np.asarray(item)) if isinstance(item, (np.ndarray, np.generic)) else item


def brought_back(result):
    """What a call made, as an array of NumPy."""
    if not hasattr(result, "data_ptr"):
        return np.asarray(result)
    import torch

    if result.dtype != torch.bfloat16:
        return result.cpu().numpy()
    import ml_dtypes

    return result.view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)


def _on_gpu(array):
    import torch

    is_bfloat16 = array.dtype.name == "bfloat16"
    contiguous = np.ascontiguousarray(array)
    host = torch.from_numpy(contiguous.view(np.int16) if is_bfloat16 else contiguous.copy())
    host = host.view(torch.bfloat16) if is_bfloat16 else host
    shift = array.ctypes.data % 16 // array.itemsize
    memory = torch.empty(array.size + shift, dtype=host.dtype, device="cuda")
    memory[shift:] = host.reshape(-1)
    return memory[shift:].view(array.shape)


def check_orders(sample, monkeypatch, seeds=SEEDS, **check):
    """The sample passes the gate, and every order of threads gives the same bits.

    A GPU has orders of its own, so there the runs are alike.
    """
    monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(seeds[0]))
    first = sample.check(**check)
    for seed in seeds[1:]:
        monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(seed))
        for name, value in sample.run().items():
            assert value.tobytes() == first[name].tobytes(), f"{name} depends on the order of threads{sample}"
