"""Calls on GPUs, over a library that stands in for the driver: which target is chosen,
and what is refused.

The library shows two devices of compute capability 8.0. It launches nothing.
"""

import types

import logitile as lt
import numpy as np
import pytest
import torch
from conftest import BUILD
from logitile import _native
from logitile.calls.place import place
from logitile.calls.program import workspace_budget
from logitile.frameworks.arrays import Array
from logitile.frameworks.choice import described
from logitile.frameworks.numpy import NUMPY
from logitile.frameworks.torch.tensors import TORCH
from logitile.runtime import platforms

N, V, D = 5, 40, 16
OPERANDS = (lt.ShapeDtype((N, D), "float32"), lt.ShapeDtype((V, D), "float32"))
TARGET = lt.ShapeDtype((N,), "int64")


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@pytest.fixture
def driver(monkeypatch):
    """Names the driver; the targets of devices are asked for anew."""

    def use(library):
        monkeypatch.setenv("LOGITILE_CUDA_DRIVER", str(library))
        platforms.device_target.cache_clear()

    use(BUILD / "test" / "libcuda_stand_in.so")
    yield use
    platforms.device_target.cache_clear()


def error_of(error, call):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# ---- targets -------------------------------------------------------------------------------------


@pytest.mark.contract("2 backend")
@pytest.mark.parametrize(
    ("backend", "device", "target"),
    [
        ("auto", "cuda:1", "cuda:sm_80"),
        ("cuda", "cuda:0", "cuda:sm_80"),
        ("cuda", None, "cuda:sm_80"),
        ("cuda:sm_90", "cuda:0", "cuda:sm_90"),  # whether the device can run it, the call finds out
        ("cuda:sm_90", None, "cuda:sm_90"),
    ],
)
def test_targets(driver, backend, device, target):
    assert place(backend, device) == (target, 1)


@pytest.mark.contract("2 backend")
@pytest.mark.parametrize(
    ("backend", "device", "message"),
    [
        ("cpu", "cuda:0", "backend='cpu', but the arrays are on cuda:0; move them or use backend='auto'"),
        (
            "emu:sm_80",
            "cuda:0",
            "backend='emu:sm_80', but the arrays are on cuda:0; move them or use backend='auto'",
        ),
        (
            "cuda:sm_80",
            "cpu",
            "backend='cuda:sm_80', but the arrays are on cpu; move them, use backend='auto', or give "
            "lt.ShapeDtype where no numbers are needed",
        ),
        (
            "cuda",
            "mps:0",
            "backend='cuda', but the arrays are on mps:0; move them, use backend='auto', or give "
            "lt.ShapeDtype where no numbers are needed",
        ),
    ],
)
def test_backends_and_arrays_that_disagree(driver, backend, device, message):
    assert error_of(lt.CallValueError, lambda: place(backend, device)) == message


def test_devices_without_code():
    message = error_of(lt.TargetError, lambda: place("auto", "mps:0"))
    assert message == (
        "the arrays are on mps:0, but code runs on CPUs and NVIDIA GPUs alone; move them to one"
    )


def test_a_device_that_is_not_there(driver):
    message = error_of(lt.TargetError, lambda: place("auto", "cuda:7"))
    assert message == (
        "cuDeviceGet fails with CUDA_ERROR_INVALID_DEVICE (invalid device ordinal); device 7 is asked for, "
        "but the driver shows 2 (CUDA_VISIBLE_DEVICES may hide some)"
    )


def test_a_machine_without_a_driver(driver):
    driver("libnone.so.1")
    message = error_of(
        lt.TargetError, lambda: lt.jit(plain, backend="cuda").ir("spec", *OPERANDS, target=TARGET)
    )
    assert message.startswith("there is no CUDA driver (libnone.so.1: cannot open shared object file")
    assert message.endswith("install the driver of an NVIDIA GPU, or use backend='cpu'")


def test_code_of_a_named_target_needs_no_driver(driver):
    driver("libnone.so.1")
    text = lt.jit(plain, backend="cuda:sm_80").ir("ptx", *OPERANDS, target=TARGET)
    assert ".target sm_80" in text


@pytest.mark.contract("2 workspace")
def test_the_budget_of_a_gpu():
    head = lt.jit(plain)
    call = head._bind(*OPERANDS, target=TARGET)
    large = head._bind(
        lt.ShapeDtype((N, 2**15), "bfloat16"), lt.ShapeDtype((2**18, 2**15), "bfloat16"), target=TARGET
    )
    assert workspace_budget(head.options, call, "cuda:sm_80", 1) == 2**32
    assert workspace_budget(head.options, large, "cuda:sm_80", 1) == 2 * 2**34 + 2**30


# ---- calls ---------------------------------------------------------------------------------------


def test_calls_wait_for_nothing(driver):
    """The stand-in runs nothing, so results mean nothing. Everything is queued and freed."""
    head = lt.jit(plain, backend="cuda:sm_80")
    plan = head.compile(*OPERANDS, target=TARGET, grad=())._native
    arrays = {"z.hidden": np.ones((N, D), np.float32), "z.weight": np.ones((V, D), np.float32)}
    inputs = [*arrays.items(), ("target", np.zeros(N, np.int64))]
    options = _native.CallOptions(reduction="sum", threads=1)
    for _ in range(2):
        assert plan.forward(options, inputs, [("loss", np.zeros((), np.float32))]) is None
    lt.check()


# ---- streams -------------------------------------------------------------------------------------


def test_calls_run_on_the_stream_of_torch(monkeypatch):
    """In the order of its current stream,
    with workspace from its allocator on the device of the arrays.
    """
    device = torch.device("cuda:1")
    asked = []

    def current_stream(of):
        asked.append(of)
        return types.SimpleNamespace(cuda_stream=0x5000)

    def empty(size, *, dtype, device):
        asked.append((size, dtype, device))
        return real(size, dtype=dtype)

    real = torch.empty
    monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
    monkeypatch.setattr(torch, "empty", empty)
    like = Array(types.SimpleNamespace(device=device), TORCH, (N, D), "float32", "cuda:1")
    ordinal, handle, allocate = TORCH.stream(like)
    assert (ordinal, handle, asked) == (1, 0x5000, [device])
    pointer, owner = allocate(1000)
    assert asked[1] == (1000, torch.uint8, device)
    assert pointer == owner.data_ptr() and owner.numel() == 1000


def test_calls_on_the_cpu_have_no_stream():
    assert TORCH.stream(described(torch.ones(2), "x")) is None
    assert NUMPY.stream(described(np.ones(2), "x")) is None
