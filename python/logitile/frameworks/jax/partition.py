"""How XLA partitions a call over a mesh: which dimensions are sharded together, and what one device
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import NamedSharding, PartitionSpec

from ..traced import KeyedCall, TracedResult
from .shards import Axes, Run, run_on_shard


def sharding_rule(call: KeyedCall, ranks: Sequence[int]) -> str:
    """Names of dimensions, in the notation of Shardy: those of one name are sharded alike.

    Args:
        ranks: numbers of axes of the operands.
    """
    operands = _dimensions(call, ranks)
    leading = operands[0][: ranks[0] - call.rest]
    results = [
        operands[result.like] if result.like is not None else _of_output(result, leading, position)
        for position, result in enumerate(call.results)
    ]
    return f"{_listed(operands)} -> {_listed(results)}"


def _of_output(result: TracedResult, leading: Sequence[str], position: int) -> list[str]:
    """The dimensions of an output; those after the tokens are whole on every device."""
    if not result.is_per_token:
        return []
    return [*leading, *(f"o{position}_{axis}" for axis in range(len(result.trailing)))]


def _listed(arrays: Sequence[Sequence[str]]) -> str:
    return ", ".join(" ".join(dimensions) for dimensions in arrays)


def _dimensions(call: KeyedCall, ranks: Sequence[int]) -> list[list[str]]:
    """A name for each dimension of each operand: t for tokens, v for the vocabulary, k for entries.
    Hidden sizes have one name in hidden states and another in weights, so that those of FSDP do not
    spread.
    """
    leading = [f"t{axis}" for axis in range(ranks[0] - call.rest)]
    named, pair = [], 0
    for position, (kind, rank) in enumerate(zip(call.kinds, ranks, strict=True)):
        if kind == "hidden":
            pair = position
            named.append([*leading, f"h{pair}"])
        elif kind == "weight":
            named.append([f"d{pair}", "v"] if call.head.is_transposed else ["v", f"d{pair}"])
        elif kind == "vocab":
            named.append(["v"])
        elif kind == "dense":
            named.append([*leading, "v"])
        elif kind == "token":
            named.append([*leading, *(f"k{position}" for _ in range(rank - len(leading)))])
        else:
            named.append([])
    return named


def partition(
    call: KeyedCall, run: Run, mesh: Any, operands: Sequence[Any], results: Any
) -> tuple[Any, Callable[..., Any], Any, Any]:
    """What custom_partitioning asks: the function of one device,
    and where results and operands are.
    """
    names = _dimensions(call, [len(operand.shape) for operand in operands])
    places = _places(call, mesh, operands, names)
    given = tuple(_sharding(mesh, dimensions, places) for dimensions in names)
    leading = names[0][: len(operands[0].shape) - call.rest]
    made = [
        given[result.like]
        if result.like is not None
        else _sharding(mesh, _of_output(result, leading, position), places)
        for position, result in enumerate(call.results)
    ]
    tokens = tuple(axis for name in leading for axis in places.get(name, ()))
    axes = Axes(tokens, places.get("v", ()), dict(mesh.shape))

    def on_device(*parts: Any) -> list[Any]:
        if not axes.tokens and not axes.vocabulary:
            return run(call, parts)
        return run_on_shard(run, call, parts, axes)

    return mesh, on_device, made, given


def _places(
    call: KeyedCall, mesh: Any, operands: Sequence[Any], names: Sequence[Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The axes of the mesh that each dimension is on. Hidden sizes are whole on every device, and
    so are tokens whose random numbers depend on their index in the call.
    """
    places: dict[str, tuple[str, ...]] = {}
    used: set[str] = set()
    weight = call.kinds.index("weight")
    cut = "v" if call.head.numbers_tokens else "tv"
    for position in (weight, 0):
        spec = getattr(operands[position].sharding, "spec", ())  # none: arrays of one device
        for name, extent, on in zip(
            names[position], operands[position].shape, _padded(spec, names[position]), strict=True
        ):
            axes = () if on is None else (on if isinstance(on, tuple) else (on,))
            axes = tuple(axis for axis in axes if axis not in used and mesh.shape[axis] > 1)
            count = 1
            for axis in axes:
                count *= mesh.shape[axis]
            if name[0] in cut and extent % count == 0:
                places[name] = axes
                used.update(axes)
    return places


def _padded(spec: Any, dimensions: Sequence[str]) -> list[Any]:
    return [*spec, *(None for _ in range(len(dimensions) - len(spec)))]


def _sharding(mesh: Any, dimensions: Sequence[str], places: dict[str, tuple[str, ...]]) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*(places.get(name) or None for name in dimensions)))
