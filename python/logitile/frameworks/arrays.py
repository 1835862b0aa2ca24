"""Describes the arrays of a call without importing a framework, and copies them to NumPy where numbers are
needed.

A framework is recognised by the type of an object and by what is in sys.modules: a torch.Tensor can only
exist where torch was imported already.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError, CallValueError
from ..messages.names import shape_text, with_article

if TYPE_CHECKING:
    import numpy

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DTYPES = (*FLOATS, *INTEGERS, "bool")
_DLPACK_DEVICES = {
    1: "cpu",
    2: "cuda",
    3: "cpu",
    13: "cuda",
}  # DLDeviceType: kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged


@dataclass(frozen=True)
class ShapeDtype:
    """Stands for an array in calls that need shapes only.

    Args:
        shape: extents of the array.
        dtype: a name such as "bfloat16", or a dtype of NumPy, torch or JAX.

    Raises:
        CallTypeError, CallValueError: that is no shape or no dtype of arrays.
    """

    shape: tuple[int, ...]
    dtype: object

    def __post_init__(self) -> None:
        try:
            shape = tuple(e if isinstance(e, int) else operator.index(e) for e in self.shape)
        except TypeError:
            raise CallTypeError(f"lt.ShapeDtype has shape {self.shape!r}, not a tuple of ints") from None
        if any(extent < 0 for extent in shape):
            raise CallValueError(f"lt.ShapeDtype has shape {shape_text(shape)}; no extent can be negative")
        object.__setattr__(self, "shape", shape)
        if dtype_name(self.dtype) not in _DTYPES:
            raise CallTypeError(f"lt.ShapeDtype has dtype {self.dtype!r}; known are {', '.join(_DTYPES)}")


@dataclass(frozen=True)
class Rounded:
    """Stands for an operand that is rounded to another type while it is packed; nobody makes a copy of it.

    Args:
        source: an array.
        dtype: the name of that type.
    """

    source: object
    dtype: str


@dataclass(eq=False, slots=True)  # every call makes several: frozen ones take three times as long
class Array:
    """What a call needs to know about one array. It is never changed.

    Args:
        source: the object that was given.
        framework: "numpy", "torch", "jax", "dlpack" (anything else with `__dlpack__`), "shape" or "number".
        shape: extents.
        dtype: name of the element type.
        device: "cpu", "cuda:0", ...; None where there is no data (shapes, meta tensors) and for Python
            numbers.
        strides: steps in elements, where the framework tells.
        requires_grad: whether torch wants a gradient.
        rounded_to: the type that an operand is rounded to while it is packed; None where it is not.
    """

    source: Any
    framework: str
    shape: tuple[int, ...]
    dtype: str
    device: str | None
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False
    rounded_to: str | None = None

    @property
    def operand_dtype(self) -> str:
        """The type that an operand is multiplied in."""
        return self.rounded_to or self.dtype

    @property
    def has_data(self) -> bool:
        return self.device is not None or self.framework == "number"

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"


def dtype_name(dtype: object) -> str:
    """The plain name of a dtype of any framework: "float32" for torch.float32, np.dtype("f4"),
    jnp.float32.
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


_name_of = functools.lru_cache(maxsize=64)(dtype_name)  # dtypes of NumPy make their name anew each time
_device_name = functools.lru_cache(maxsize=64)(str)


def described(item: object, name: str) -> Array:
    """The description of an array, or of a Python number as one without axes.

    Args:
        item: what the call got.
        name: how errors call it.

    Raises:
        CallTypeError: it is no array, or one that cannot be read.
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(item, torch.Tensor):
        return _checked(_of_torch(item, name, torch), name)
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return _of_number(item, name)
    if numpy is not None and isinstance(item, (numpy.ndarray, numpy.generic)):
        return _checked(_of_numpy(item, name, numpy), name)
    if isinstance(item, ShapeDtype):
        return Array(item, "shape", item.shape, dtype_name(item.dtype), None)
    if isinstance(item, Rounded):
        return replace(described(item.source, name), rounded_to=item.dtype)
    if any(base.__name__ == "Tracer" and base.__module__.startswith("jax") for base in type(item).__mro__):
        raise CallTypeError(
            f"'{name}' is a JAX tracer (of jit, grad or vmap); a head reads concrete arrays, so call it "
            "outside of the transformation, and take gradients from head.value_and_grad"
        )
    if hasattr(item, "__dlpack__") and hasattr(item, "shape") and hasattr(item, "dtype"):
        return _checked(_of_dlpack(item, name), name)
    raise CallTypeError(
        f"'{name}' is {_spelled(item)}, not an array; pass an array of NumPy, torch or JAX, or another "
        "object with __dlpack__, shape and dtype"
    )


def rounded(array: Array) -> Array:
    """A copy in the type that it is rounded to; itself where it is not. Only tensors are, by autocast."""
    if array.rounded_to is None or not array.has_data:
        return array
    return described(array.source.to(getattr(sys.modules["torch"], array.rounded_to)), "operand")


def to_numpy(array: Array, name: str) -> numpy.ndarray:
    """The numbers of an array on the CPU; bfloat16 becomes float32, which holds every value of it.

    Raises:
        CallTypeError: the array has a shape only.
    """
    import numpy

    if not array.has_data:
        raise CallTypeError(f"'{name}' has a shape but no data ({array}); numbers are needed here")
    source = array.source
    if array.framework == "torch":
        source = source.detach().cpu().resolve_neg().resolve_conj()
        return source.float().numpy() if array.dtype == "bfloat16" else source.numpy()
    if array.framework == "dlpack":
        return numpy.from_dlpack(source)
    source = numpy.asarray(source)
    return source.astype(numpy.float32) if array.dtype == "bfloat16" else source


# ---- frameworks --------------------------------------------------------------------------------------------


def _of_number(item: float, name: str) -> Array:
    if isinstance(item, int) and -(2**63) <= item < 2**63:
        return Array(int(item), "number", (), "int64", None)
    try:
        return Array(float(item), "number", (), "float64", None)
    except OverflowError:
        raise CallTypeError(
            f"'{name}' is an int of {item.bit_length()} bits, which no float64 holds"
        ) from None


def _of_torch(tensor: Any, name: str, torch: Any) -> Array:
    check_whole(tensor, name)
    if tensor.layout != torch.strided:
        raise CallTypeError(f"'{name}' has the layout {tensor.layout}; pass a dense tensor (to_dense())")
    device = None if tensor.is_meta else _device_name(tensor.device)
    if tensor.is_neg():  # a view whose memory holds the other sign
        tensor = tensor.resolve_neg()
    shape, dtype = tuple(tensor.shape), _name_of(tensor.dtype)
    return Array(tensor, "torch", shape, dtype, device, tensor.stride(), tensor.requires_grad)


def check_whole(tensor: Any, name: str) -> None:
    """A shard is not the whole, and a list of tensors is no tensor with one shape.

    Raises:
        CallTypeError: a tensor is a DTensor or nested.
    """
    if tensor.is_nested:
        raise CallTypeError(
            f"'{name}' is a nested tensor, whose rows differ in length; pass its tokens one after the other "
            "(torch.cat(x.unbind())), or pad it (x.to_padded_tensor(0)) and set the targets of padding to "
            "ignore_index"
        )
    if type(tensor).__name__ == "DTensor":
        raise CallTypeError(
            f"'{name}' is a DTensor; pass its local shard (to_local()) or gather it first (full_tensor())"
        )


def _of_numpy(item: Any, name: str, numpy: Any) -> Array:
    item = numpy.asanyarray(item)  # scalars have no memory that lasts
    if isinstance(item, numpy.ma.MaskedArray):
        raise CallTypeError(f"'{name}' is a masked array, whose mask would be lost; fill it first (filled())")
    if not item.dtype.isnative:
        raise CallTypeError(
            f"'{name}' has the byte order of another machine ({item.dtype.str}); convert it with astype"
        )
    if not item.flags.aligned:  # such as a field of packed records
        raise CallValueError(
            f"'{name}' has elements of {item.itemsize} bytes that do not lie at multiples of their size "
            f"(strides {item.strides} in bytes); copy it with numpy.ascontiguousarray"
        )
    strides = tuple(step // item.itemsize for step in item.strides) if item.itemsize else None
    return Array(item, "numpy", tuple(item.shape), _name_of(item.dtype), "cpu", strides)


def _of_dlpack(item: Any, name: str) -> Array:
    framework = "jax" if type(item).__module__.startswith("jax") else "dlpack"
    if framework == "jax" and getattr(item, "is_deleted", bool)():
        raise CallTypeError(f"'{name}' is a JAX array that was deleted or donated; pass one that lives")
    kind, index = item.__dlpack_device__()
    device = _DLPACK_DEVICES.get(int(kind), f"DLPack device {int(kind)}")
    return Array(
        item,
        framework,
        tuple(item.shape),
        dtype_name(item.dtype),
        device if device == "cpu" else f"{device}:{index}",
    )


def _checked(array: Array, name: str) -> Array:
    if array.dtype not in _DTYPES:
        raise CallTypeError(f"'{name}' has dtype {array.dtype}; known are {', '.join(_DTYPES)}")
    return array


def _spelled(item: object) -> str:
    if item is None:
        return "None"
    return with_article(type(item).__name__)


def check_same_device(arrays: Iterable[tuple[str, Array]]) -> None:
    """Arrays that one call reads, with their names.

    Arrays without data and numbers lie nowhere, and a CPU array without axes may go with any device.

    Raises:
        CallValueError: two of them are on different devices.
    """
    first: tuple[str, Array] | None = None
    for name, array in arrays:
        if array.device is None or (array.shape == () and array.device == "cpu"):
            continue
        if first is None:
            first = (name, array)
        elif first[1].device != array.device:
            raise CallValueError(
                f"'{first[0]}' is on {first[1].device} but '{name}' is on {array.device}; move one of them"
            )
