"""Memory of arrays: how the native module reads them, and how results are made in the caller's framework."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError
from ..messages.names import with_article
from ..runtime.engine import native
from .arrays import Array, described

if TYPE_CHECKING:
    from .._native import Array as NativeArray
    from .._native import Stream


def view(array: Array, name: str) -> NativeArray:
    """An array as the native module takes it. Its memory is used as it is, for as long as the array lives.

    Args:
        array: to be read or, where it is one of NumPy or torch, written.
        name: what the native module calls it.

    Raises:
        CallTypeError: there is no data, or none that can be reached.
    """
    if not array.has_data:
        raise CallTypeError(f"'{name}' has a shape but no data ({array}); a call needs the numbers")
    if array.framework == "torch":
        return _torch_view(array, name)
    if array.framework == "numpy":
        return _numpy_view(array, name)
    if array.framework == "number":
        return (name, array.source)
    return (name, _capsule(array.source, name))


def transposed(native: NativeArray) -> NativeArray:
    """The same memory with the two axes of a matrix exchanged."""
    if len(native) == 2:
        return (*native, True)
    name, pointer, dtype, shape, strides = native
    return (name, pointer, dtype, shape[::-1], strides[::-1])


def stream(like: Array) -> Stream | None:
    """Where a call on arrays beside this one runs, and whose memory it uses; None on the CPU.

    Workspace comes from torch's allocator in the order of its current stream, which CUDA graphs can capture.
    """
    if like.framework != "torch" or like.device is None or like.device == "cpu":
        return None
    torch, device = sys.modules["torch"], like.source.device

    def allocate(size: int) -> tuple[int, object]:
        block = torch.empty(size, dtype=torch.uint8, device=device)
        return block.data_ptr(), block

    return device.index, torch.cuda.current_stream(device).cuda_stream, allocate


def empty(like: Array, shape: Sequence[int], dtype: str) -> Any:
    """A new contiguous array in the framework and on the device of another.

    JAX and other frameworks have no arrays that could be written: theirs are made by `given_back`.
    """
    if like.framework == "torch":
        return like.source.new_empty(shape, dtype=getattr(sys.modules["torch"], dtype))
    import numpy

    return numpy.empty(tuple(shape), numpy_dtype(dtype))


def result(like: Array, shape: tuple[int, ...], dtype: str, name: str) -> tuple[Any, NativeArray]:
    """As `empty`, with the array as the native module writes it under a name."""
    array = empty(like, shape, dtype)
    if like.framework == "torch":
        return array, (name, array.data_ptr(), native().TYPES[dtype], shape, array.stride())
    return array, view(described(array, name), name) if dtype == "bfloat16" else (name, array)


def brought_home(made: Any, array: Array) -> Any:
    """A gradient, in host memory where its array lies there beside a GPU: kernels write it like hidden."""
    if array.device != "cpu" or not getattr(made, "is_cuda", False):
        return made
    return made.cpu() if array.framework == "torch" else made.float().cpu().numpy()


def zeros(like: Array, shape: Sequence[int], dtype: str) -> Any:
    """As `empty`, but all 0."""
    array = empty(like, shape, dtype)
    array[...] = 0
    return array


def given_back(like: Array, array: Any) -> Any:
    """What `empty` made, filled by now, as an array of the framework of `like`."""
    if like.framework == "jax":
        return sys.modules["jax"].numpy.asarray(array)
    if like.framework == "numpy" and array.ndim == 0:
        return array[()]
    if like.framework != "dlpack":
        return array
    namespace = getattr(like.source, "__array_namespace__", None)
    return namespace().from_dlpack(array) if namespace is not None else array


def _torch_view(array: Array, name: str) -> NativeArray:
    try:
        pointer = array.source.data_ptr()
    except RuntimeError:
        pointer = 0
    if not pointer and prod(array.shape):
        raise CallTypeError(
            f"'{name}' is {with_article(type(array.source).__name__)} without memory of its own, but numbers "
            "are read here; call the head itself, which torch can trace, or pass a plain tensor"
        )
    return (name, pointer, native().TYPES[array.dtype], array.shape, array.strides or ())


def _numpy_view(array: Array, name: str) -> NativeArray:
    if array.dtype != "bfloat16":
        return (name, array.source)
    source = array.source if array.shape else array.source.reshape(())
    pointer = source.__array_interface__["data"][0]
    return (name, pointer, native().TYPES["bfloat16"], array.shape, array.strides or ())


def _capsule(source: Any, name: str) -> object:
    """Some objects know no versions of DLPack, and JAX may still compute what it hands out."""
    if hasattr(source, "block_until_ready"):
        source.block_until_ready()
    try:
        try:
            return source.__dlpack__(max_version=(1, 1))
        except TypeError:
            return source.__dlpack__()
    except BufferError as error:
        raise CallTypeError(
            f"'{name}' does not give its memory away by DLPack: {error}; pass an array of NumPy or torch"
        ) from error


def numpy_dtype(name: str) -> Any:
    if name != "bfloat16":
        return name
    try:
        import ml_dtypes
    except ImportError:
        raise CallTypeError(
            "results in bfloat16 need the package ml_dtypes, which adds that type to NumPy; install it, or "
            "ask for grad_dtype='float32'"
        ) from None
    return ml_dtypes.bfloat16
