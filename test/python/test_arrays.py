"""Descriptions of arrays of every framework, and their way to NumPy."""

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
import torch
from logitile.arrays import described, dtype_name, same_device, to_numpy


def test_numpy():
    array = described(np.zeros((2, 3), np.int16).T, "x")
    assert (array.framework, array.shape, array.dtype, array.device, array.strides) == (
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
    assert (array.framework, array.shape, array.dtype, array.device, array.strides) == (
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
    assert (array.framework, array.shape, array.device, array.has_data) == ("number", (), None, True)


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
    assert (array.framework, array.shape, array.dtype, array.device) == ("dlpack", (2, 3), "float64", "cpu")
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
    assert (array.framework, array.device, array.dtype) == ("jax", "cpu", np.dtype(dtype).name)
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
        == "'x' is a DTensor; pass its local shard (to_local()) or gather it first (full_tensor())"
    )


def test_unknown_dtype_of_a_shape():
    with pytest.raises(lt.CallTypeError, match="lt.ShapeDtype has dtype 'float8'; known are float16, "):
        lt.ShapeDtype((1,), "float8")


def test_same_device():
    cpu, shape = described(np.zeros(3), "x"), described(lt.ShapeDtype((3,), "float32"), "y")
    assert same_device([("x", cpu), ("y", shape), ("z", cpu)]) is None
