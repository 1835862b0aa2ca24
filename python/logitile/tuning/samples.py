"""Random arguments of a loss, made from its signature, for measuring without real data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import CallTypeError
from ..frameworks.arrays import HOST
from ..frameworks.dtypes import numpy_dtype
from ..frameworks.stand_ins import ShapeDtype
from ..language.annotations import Kind
from ..language.definition import Loss

if TYPE_CHECKING:
    import numpy

_ENTRIES = 4  # of inputs that have as many entries per token as the array


def sample_arguments(
    loss: Loss, tokens: int, hidden: int, vocab: int, dtype: str, memory: str = HOST
) -> dict[str, Any]:
    """Arguments of a call by name: pairs as tuples, optional inputs left out.

    Args:
        tokens, hidden, vocab: N, D and V.
        dtype: of hidden and weight: "float32", "bfloat16" or "float16".
        memory: where they lie: arrays of NumPy in that of the host, else tensors of torch.

    Raises:
        CallTypeError: a package that such arrays need is not there.
    """
    import numpy

    rng = numpy.random.default_rng(0)
    made: dict[str, Any] = {}
    for name, kind in _required(loss):
        if kind.axis == "logits":
            weight = rng.standard_normal((vocab, hidden), numpy.float32) / hidden**0.5
            pair = (rng.standard_normal((tokens, hidden), numpy.float32), weight)
            made[name] = tuple(_given(array, dtype, memory) for array in pair)
        else:
            array = _values(rng, kind, tokens, vocab)
            made[name] = _given(array, str(array.dtype), memory)
    return made


def shaped_arguments(loss: Loss, tokens: int, hidden: int, vocab: int, dtype: str) -> dict[str, Any]:
    """The same without data: lt.ShapeDtype in the place of each array."""
    made: dict[str, Any] = {}
    for name, kind in _required(loss):
        if kind.axis == "logits":
            made[name] = (ShapeDtype((tokens, hidden), dtype), ShapeDtype((vocab, hidden), dtype))
        else:
            element = {"int": "int64", "bool": "bool"}.get(kind.element, "float32")
            made[name] = ShapeDtype(_shape(kind, tokens, vocab), element)
    return made


def _required(loss: Loss) -> Iterator[tuple[str, Kind]]:
    """Names and kinds of the inputs that every call gives."""
    for parameter in loss.signature.inputs:
        if not parameter.optional:
            yield parameter.name, parameter.kinds[0]


def _shape(kind: Kind, tokens: int, vocab: int) -> tuple[int, ...]:
    """Of an input that is no projection."""
    shape = {"token": (tokens,), "vocab": (vocab,), "dense": (tokens, vocab), "scalar": ()}[kind.axis]
    if kind.entries is not None:
        shape += (kind.entries if isinstance(kind.entries, int) else _ENTRIES,)
    return shape


def _values(rng: numpy.random.Generator, kind: Kind, tokens: int, vocab: int) -> numpy.ndarray:
    """Indices inside the vocabulary, weights and probabilities between 0 and 1."""
    shape = _shape(kind, tokens, vocab)
    if kind.element == "int":
        return rng.integers(0, vocab, shape)
    import numpy

    values = rng.uniform(0.1, 0.9, shape)
    if kind.element == "bool":
        return numpy.asarray(values > 0.3)
    if kind.axis == "dense":
        values /= values.sum(1, keepdims=True)
    return numpy.asarray(values, numpy.float32)


def _given(array: numpy.ndarray, dtype: str, memory: str) -> Any:
    if memory != HOST:
        try:
            import torch
        except ImportError:
            raise CallTypeError("arrays on a GPU are made with torch, which is not installed") from None
        return torch.from_numpy(array).to(device=memory, dtype=getattr(torch, dtype))
    if dtype != "bfloat16":
        return array.astype(dtype, copy=False)
    return array.astype(numpy_dtype(dtype))
