"""Descriptions of arrays of every framework, and their way to NumPy."""

from dataclasses import replace
from types import SimpleNamespace

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
import torch
from logitile.arguments.call import Operand
from logitile.calls.results import _new_gradient
from logitile.frameworks.arrays import check_same_device, to_numpy
from logitile.frameworks.choice import described
from logitile.frameworks.dtypes import dtype_name
from logitile.frameworks.torch.tensors import TORCH


def test_numpy():
    array = described(np.zeros((2, 3), np.int16).T, "x")
    assert (array.framework.name, array.shape, array.dtype, array.device, array.strides) == (
        "numpy",
        (3, 2),
        "int16",
        "cpu",
        (1, 3),
    )
    assert described(np.float32(2), "x").shape == ()
    assert str(array) == "int16[3, 2]"


def test_torch():
    tensor = torch.zeros(2, 3, dtype=torch.bfloat16, requires_grad=True)
    array = described(tensor, "x")
    assert (array.framework.name, array.shape, array.dtype, array.device, array.strides) == (
        "torch",
        (2, 3),
        "bfloat16",
        "cpu",
        (3, 1),
    )
    assert array.requires_grad
    assert described(torch.nn.Parameter(tensor), "x").requires_grad
    assert not described(tensor.detach(), "x").requires_grad


def test_numbers():
    array = described(3, "x")
    assert (array.framework.name, array.shape, array.device, array.has_data) == ("number", (), None, True)


class Exchanged:
    """An array that only knows DLPack."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    array = described(Exchanged(np.arange(6.0).reshape(2, 3)), "x")
    assert array.framework.name == "dlpack"
    assert (array.shape, array.dtype, array.device) == ((2, 3), "float64", "cpu")
    assert to_numpy(array, "x").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_jax(dtype):
    class ArrayImpl(Exchanged):
        """As jax.Array looks from outside; its DLPack way refuses bfloat16 under NumPy."""

        __module__ = "jaxlib._jax"

        def __dlpack_device__(self):
            return 1, 0

        def __array__(self, *_, **__):
            return self.array

    array = described(ArrayImpl(np.array([1.5, -2.0], dtype)), "x")
    assert (array.framework.name, array.device, array.dtype) == ("jax", "cpu", np.dtype(dtype).name)
    assert to_numpy(array, "x").tolist() == [1.5, -2.0]


def test_to_numpy():
    numbers = [1.0, -2.5, 3.0]
    for item in (
        np.array(numbers, np.float16), np.array(numbers, ml_dtypes.bfloat16),
        torch.tensor(numbers, dtype=torch.bfloat16), torch.tensor(numbers, requires_grad=True),
        torch._neg_view(torch.tensor([-1.0, 2.5, -3.0])),
    ):  # fmt: skip
        assert to_numpy(described(item, "x"), "x").astype(np.float64).tolist() == numbers
    assert to_numpy(described(2.5, "x"), "x") == 2.5


def test_shapes_have_no_numbers():
    shape = lt.ShapeDtype((2, 3), "float16")
    assert shape == lt.ShapeDtype([2, 3], "float16")
    with pytest.raises(lt.CallTypeError) as caught:
        to_numpy(described(shape, "x"), "x")
    assert str(caught.value) == "'x' has a shape but no data (float16[2, 3]); numbers are needed here"


def test_dtype_names():
    names = [np.dtype("f4"), np.float32, torch.float32, "float32"]
    assert {dtype_name(name) for name in names} == {"float32"}
    assert (
        dtype_name(torch.bfloat16)
        == dtype_name(np.dtype(ml_dtypes.bfloat16))
        == dtype_name(ml_dtypes.bfloat16)
        == "bfloat16"
    )
    assert dtype_name(torch.bool) == dtype_name(np.bool_) == "bool"


@pytest.mark.parametrize(("item", "message"), [
    (np.zeros(2, ">f4"), "'x' has the byte order of another machine (>f4); convert it with astype"),
    (np.ma.masked_array([1.0], [True]), "'x' is a masked array, whose mask would be lost; fill it first "
     "(filled())"),
    (np.array(["a"], object), "'x' has dtype object; known are float16, bfloat16, float32, float64, int8, "
     "int16, int32, int64, uint8, uint16, uint32, uint64, bool"),
    (torch.zeros(2, dtype=torch.complex64), "'x' has dtype complex64; known are float16, bfloat16, float32, "
     "float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool"),
    (torch.zeros(2, 2).to_sparse(), "'x' has the layout torch.sparse_coo; pass a dense tensor (to_dense())"),
    (object(), "'x' is an object, not an array; pass an array of NumPy, torch or JAX, or another object "
     "with __dlpack__, shape and dtype"),
])  # fmt: skip
def test_refusals(item, message):
    with pytest.raises(lt.CallTypeError) as caught:
        described(item, "x")
    assert str(caught.value) == message


def test_distributed_tensors_are_refused():
    class DTensor(torch.Tensor):
        pass

    with pytest.raises(lt.CallTypeError) as caught:
        described(torch.zeros(2).as_subclass(DTensor), "x")
    assert (
        str(caught.value)
        == "'x' is a DTensor, which a call of the head itself takes, but not this call; gather it first "
        "(full_tensor()). Its local shard alone would give a wrong loss: shards of the vocabulary go to "
        "lt.parallel.vocab_parallel, a shard of the tokens is a separate call"
    )
    DTensor.placements = ("Shard(dim=0)",)
    with pytest.raises(lt.CallTypeError, match=r"'x' is a DTensor placed as Shard\(dim=0\), which a call"):
        described(torch.zeros(2).as_subclass(DTensor), "x")


def test_unknown_dtype_of_a_shape():
    with pytest.raises(lt.CallTypeError, match="lt.ShapeDtype has dtype 'float8'; known are float16, "):
        lt.ShapeDtype((1,), "float8")


class OnGpu:
    """What a library hands out that has its numbers on a GPU."""

    shape, dtype = (3,), np.dtype(np.float32)

    def __dlpack_device__(self):
        return 2, 1

    def __dlpack__(self, **options):
        raise AssertionError("nobody may read it")


def test_same_device():
    cpu, shape = described(np.zeros(3), "x"), described(lt.ShapeDtype((3,), "float32"), "y")
    gpu, scalar = described(OnGpu(), "g"), described(np.float32(1), "s")
    check_same_device([("x", cpu), ("y", shape), ("z", cpu)])
    check_same_device([("s", scalar), ("g", gpu)])
    with pytest.raises(lt.CallValueError, match="'x' is on cpu but 'g' is on cuda:1; move one of them"):
        check_same_device([("s", scalar), ("x", cpu), ("g", gpu)])


def test_everything_that_a_call_reads_is_on_one_device():
    x, w, target = np.ones((3, 4), np.float32), np.ones((5, 4), np.float32), np.zeros(3, np.int64)
    match = "'hidden' is on cpu but 'grad_output of loss' is on cuda:1"
    head = lt.jit(lt.losses.cross_entropy, reduction="none")
    with pytest.raises(lt.CallValueError, match=match):
        head.value_and_grad(x, w, target=target, grad_output=OnGpu())
    plan = head.compile(x, w, target=target, grad=("hidden",))
    with pytest.raises(lt.CallValueError, match=match):
        plan.run(x, w, target=target, grad_output=OnGpu())
    parts = {"column_offset": 0, "vocab_size": 5}
    state = head.partial(x, w, target=target, wrt=("hidden",), **parts)
    with pytest.raises(lt.CallValueError, match=match):
        head.finish_grad(state, x, w, target=target, grad_output=OnGpu(), **parts)
    rows = dict.fromkeys(state.arrays(), OnGpu())
    with pytest.raises(lt.CallValueError, match="'state' is on cpu but '.*' is on cuda:1"):
        state.with_arrays(rows, state.columns)
    elsewhere = replace(state, rows=rows)
    with pytest.raises(lt.CallValueError, match="'first state' is on cpu but 'second state' is on cuda:1"):
        lt.merge([state, elsewhere])
    with pytest.raises(lt.CallValueError, match="'hidden' is on cpu but 'state' is on cuda:1"):
        head.finish_grad(elsewhere, x, w, target=target, **parts)
    # there is no such GPU: it is not the CPU that reads its memory
    with pytest.raises(lt.TargetError):
        lt.merge([replace(elsewhere, columns=((0, 2),)), replace(elsewhere, columns=((2, 5),))])
    with pytest.raises(lt.TargetError):
        head.finish(elsewhere)


def test_gradients_of_scalars_are_made_beside_hidden():
    """Kernels cannot write to host memory."""
    hidden, scalar = described(torch.ones(3), "x"), described(np.float32(2), "t")
    gradient = SimpleNamespace(name="t", native="t", is_weight=False, dtype="float32")
    for beside, kind in ((hidden, np.ndarray), (replace(hidden, device="cuda:0"), torch.Tensor)):
        operands = {"t": Operand("t", scalar, "t")}
        call = SimpleNamespace(operands=operands, pairs=[SimpleNamespace(hidden=beside)])
        assert isinstance(_new_gradient(call, None, None, gradient)[0], kind)


@pytest.mark.parametrize("scalar, kind", [(torch.ones(()), torch.Tensor), (np.float32(1), np.ndarray)])
def test_gradients_of_scalars_come_home(scalar, kind):
    class Made:
        is_cuda = True

        def cpu(self):
            return torch.tensor(3.0)

        def float(self):
            return self

    home = described(scalar, "x")
    found = TORCH.on_device_of(home, Made())
    assert isinstance(found, kind) and found == 3
    assert isinstance(TORCH.on_device_of(replace(home, device="cuda:0"), Made()), Made)
