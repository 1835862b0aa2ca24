"""Tensors of torch: described, read and created."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch import Tensor

from ...errors import CallTypeError
from ...messages.names import with_article
from ...runtime.engine import native
from ..arrays import Array, Framework, Recorded, no_data
from ..dtypes import name_of
from .autograd import differentiable

# devices of torch build their name each time
_device_name = functools.lru_cache(maxsize=64)(str)


class Torch(Framework):
    """Tensors of torch, on the CPU and on GPUs; those of the meta device have no data."""

    name = "torch"
    is_writable = True
    records_gradients = True
    autocast = "torch.autocast"

    def conversion(self, dtype: str) -> str:
        return f"with .to(torch.{dtype})"

    def describe(self, tensor: Tensor, name: str) -> Array:
        """What a call needs to know of a tensor.

        Raises:
            CallTypeError: it is not the whole of a dense array.
        """
        check_whole(tensor, name)
        if tensor.layout != torch.strided:
            raise CallTypeError(f"'{name}' has the layout {tensor.layout}; pass a dense tensor (to_dense())")
        device = None if tensor.is_meta else _device_name(tensor.device)
        if tensor.is_neg():  # a view whose memory holds the other sign
            tensor = tensor.resolve_neg()
        shape, dtype = tuple(tensor.shape), name_of(tensor.dtype)
        return Array(tensor, self, shape, dtype, device, tensor.stride(), tensor.requires_grad)

    def announce_write(self, array: Array) -> None:
        """What autograd saved of it before is no longer valid, as after a write by torch."""
        torch.autograd.graph.increment_version(array.source)

    def view(self, array: Array, name: str) -> Any:
        if array.device is None:
            raise no_data(array, name)
        try:
            pointer = array.source.data_ptr()
        except RuntimeError:
            pointer = 0
        if not pointer and prod(array.shape):
            raise CallTypeError(
                f"'{name}' is {with_article(type(array.source).__name__)} without memory of its own, but "
                "numbers are read here; call the head itself, which torch can trace, or pass a plain tensor"
            )
        return (name, pointer, native().TYPES[array.dtype], array.shape, array.strides or ())

    def numbers(self, array: Array) -> numpy.ndarray:
        source = array.source.detach().cpu().resolve_neg().resolve_conj()
        return source.float().numpy() if array.dtype == "bfloat16" else source.numpy()

    def elements(self, array: Array) -> numpy.ndarray | None:
        if not array.has_data:
            return None
        try:
            pointer, size = array.source.data_ptr(), array.source.element_size()
        except RuntimeError:  # it has no memory of its own
            return None
        steps = tuple(size * step for step in array.strides or ())
        place = {
            "version": 3,
            "data": (pointer, False),
            "shape": array.shape,
            "strides": steps,
            "typestr": f"|V{size}",
        }
        return numpy.asarray(SimpleNamespace(__array_interface__=place)) if pointer else None

    def rounded(self, array: Array) -> Array:
        return self.describe(array.source.to(getattr(torch, array.rounded_to)), "operand")

    def stream(self, like: Array) -> Any:
        """Workspace comes from torch's allocator in the order of its current stream,
        which CUDA graphs can capture.
        """
        if like.device is None or like.device == "cpu":
            return None
        device = like.source.device

        def allocate(size: int) -> tuple[int, object]:
            block = torch.empty(size, dtype=torch.uint8, device=device)
            return block.data_ptr(), block

        return device.index, torch.cuda.current_stream(device).cuda_stream, allocate

    def empty(self, like: Array, shape: Sequence[int], dtype: str) -> Tensor:
        return like.source.new_empty(shape, dtype=getattr(torch, dtype))

    def result(self, like: Array, shape: tuple[int, ...], dtype: str, name: str) -> tuple[Tensor, Any]:
        array = like.source.new_empty(shape, dtype=getattr(torch, dtype))
        return array, (name, array.data_ptr(), native().TYPES[dtype], shape, array.stride())

    def from_numbers(self, like: Array, values: numpy.ndarray, dtype: str) -> Tensor:
        return torch.from_numpy(numpy.array(values)).to(like.source.device, getattr(torch, dtype))

    def on_device_of(self, array: Array, made: Any) -> Any:
        if array.device != "cpu" or not getattr(made, "is_cuda", False):
            return made
        return made.cpu() if array.framework is self else made.float().cpu().numpy()

    def differentiable(self, job: Recorded) -> dict[str, Tensor]:
        return differentiable(job)

    def is_recording(self) -> bool:
        return torch.is_grad_enabled()


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
            f"'{name}' is a DTensor{_placed(tensor)}, which a call of the head itself takes, but not this "
            "call; gather it first (full_tensor()). Its local shard alone would give a wrong loss: shards of "
            "the vocabulary go to lt.parallel.vocab_parallel, a shard of the tokens is a separate call"
        )


def _placed(tensor: Any) -> str:
    """Where the shards of a DTensor lie, if it says so."""
    placements = getattr(tensor, "placements", ())
    return f" placed as {', '.join(map(str, placements))}" if placements else ""


TORCH = Torch()
