"""Finds the framework of an array, and the framework that traces a call.
Only this module imports all frameworks.

Nothing is imported here that is not imported already:
a torch.Tensor can only exist where torch was imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import CallTypeError
from ..messages.names import with_article
from .arrays import Array
from .dlpack import DLPACK
from .dtypes import DTYPES, numpy_dtype
from .jax.arrays import JAX, has_tracers, is_of_jax, is_tracer
from .numpy import NUMPY
from .plain import NUMBER, SHAPE
from .stand_ins import Rounded, ShapeDtype
from .versions import check_version


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
        return _checked(_torch_framework().describe(item, name), name)
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return NUMBER.describe(item, name)
    if numpy is not None and isinstance(item, (numpy.ndarray, numpy.generic)):
        return _checked(NUMPY.describe(item, name), name)
    if isinstance(item, ShapeDtype):
        return SHAPE.describe(item)
    if isinstance(item, Rounded):
        return replace(described(item.source, name), rounded_to=item.dtype)
    if is_tracer(item):
        return _checked(JAX.described_tracer(item), name)
    if hasattr(item, "__dlpack__") and hasattr(item, "shape") and hasattr(item, "dtype"):
        framework = JAX if type(item).__module__.startswith("jax") else DLPACK
        return _checked(framework.describe(item, name), name)
    raise CallTypeError(
        f"'{name}' is {_spelled(item)}, not an array; pass an array of NumPy, torch or JAX, or another "
        "object with __dlpack__, shape and dtype"
    )


def zeros_beside(like: Any, shape: tuple[int, ...]) -> Any:
    """An array of float32 zeros beside another one, also where a framework only traces the call."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.zeros(shape, dtype=torch.float32, device=like.device)
    if isinstance(like, ShapeDtype):
        return ShapeDtype(shape, "float32")
    if type(like).__module__.startswith("jax"):
        return sys.modules["jax"].numpy.zeros(shape, "float32")
    array = described(like, "logits")
    return array.framework.zeros(array, shape, "float32")


def cast(array: Any, dtype: str) -> Any:
    """An array in another float type; torch and JAX differentiate the conversion."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return array.to(getattr(torch, dtype))
    return array.astype(numpy_dtype(dtype))


def python_number(item: object) -> object:
    """A scalar of NumPy as a number of Python; anything else as it is."""
    numpy = sys.modules.get("numpy")
    return item.item() if numpy is not None and isinstance(item, numpy.generic) else item


def _checked(array: Array, name: str) -> Array:
    if array.dtype not in DTYPES:
        raise CallTypeError(f"'{name}' has dtype {array.dtype}; known are {', '.join(DTYPES)}")
    return array


def _spelled(item: object) -> str:
    if item is None:
        return "None"
    return with_article(type(item).__name__)


@functools.cache  # an import costs a call more than its work
def _torch_framework() -> Any:
    check_version("torch", sys.modules["torch"].__version__)
    from .torch.tensors import TORCH

    return TORCH


# ---- what torch says of a call, where the process has it -----------------------------------------


def tracer(args: Sequence[Any], inputs: Mapping[str, Any]) -> Callable[..., Any] | None:
    """What traces a call that its framework compiles or transforms; None for a call that runs."""
    torch = sys.modules.get("torch")
    if "jax" in sys.modules and not (torch and torch.compiler.is_compiling()) and is_of_jax(args, inputs):
        # torch.compile reads this function, and finds its way through little Python
        return _jax_call()
    if torch is None:
        return None
    from .torch.watching import is_traced

    if not is_traced(args, inputs):
        return None
    from .torch.operators import traced_call

    return traced_call


def is_read() -> bool:
    """Whether torch.compile reads this line instead of running it."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_dynamo_compiling()


def read_constant(
    function: Callable[..., str], first: Any, second: Any, token: str, given: Mapping[str, Any]
) -> str:
    """`function(first, second, given)` as a constant of the graph that torch.compile makes, where
    it reads this line; see frameworks.torch.constants.
    """
    from .torch.constants import constant

    return constant(function, first, second, token, given)


def has_shards(args: Sequence[Any], inputs: Mapping[str, Any]) -> bool:
    """Whether a call has DTensors, of which this process has a part."""
    if "torch.distributed.tensor" not in sys.modules:
        return False
    from .torch.watching import has_shards

    return has_shards(args, inputs)


@functools.cache
def _jax_call() -> Callable[..., Any]:
    check_version("jax", sys.modules["jax"].__version__)
    from .jax.calls import traced_call

    return traced_call


def has_jax() -> bool:
    """Whether the process has JAX."""
    return "jax" in sys.modules


def vocab_parallel() -> Callable[..., Any]:
    """What makes calls whose vocabulary is in slices inside of jax.shard_map."""
    from .jax.vocab_parallel import vocab_parallel

    return vocab_parallel


def gradient_tracer(args: Sequence[Any], inputs: Mapping[str, Any]) -> Callable[..., Any] | None:
    """What traces outputs and gradients that are asked for together; None for a call that runs."""
    if "jax" not in sys.modules or not has_tracers(args, inputs):
        return None
    from .jax.calls import traced_gradients

    return traced_gradients


def autocast(
    pairs: Collection[str], args: Sequence[Any], inputs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments of a call: where torch casts automatically,
    hidden and weights are to be rounded.

    Args:
        pairs: the names among the inputs that are tuples of hidden and weight.
    """
    torch = sys.modules.get("torch")
    if torch is None or not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")):
        return args, inputs
    from .torch.watching import autocast

    return autocast(pairs, args, inputs)


def is_recording() -> bool:
    """Whether gradients are recorded of tensors that require one."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled()


def host_threads() -> int:
    """The number of threads that frameworks were told to use; 0 where none was told."""
    torch = sys.modules.get("torch")
    return torch.get_num_threads() if torch is not None else 0


def memory_errors() -> tuple[type[Exception], ...]:
    """What is raised where an array or a workspace does not fit; torch has an error of its own."""
    torch = sys.modules.get("torch")
    return (MemoryError,) if torch is None else (MemoryError, torch.OutOfMemoryError)
