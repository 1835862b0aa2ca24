"""The cases of a benchmark: shapes, types, losses, modes, and inputs that all processes map."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy

# N, D, V: training of small and large vocabularies, few tokens with a large one, decoding,
# and odd sizes.
SHAPES = (
    (1024, 1024, 32000),
    (4096, 1024, 32000),
    (1024, 2048, 128256),
    (256, 4096, 151936),
    (2048, 768, 50257),
    (1, 4096, 128256),
    (37, 999, 12347),
)
# What would not fit 24 GiB: weights, their gradient and a reference in float32 take 2.5 GB each.
BFLOAT16_ONLY = ((256, 4096, 151936),)

TYPES = {"float32": numpy.dtype("float32"), "bfloat16": numpy.dtype(ml_dtypes.bfloat16)}
MODES = {"gradients": "forward and backward", "forward": "forward only"}
# The projections of each loss.
LOSSES = {"cross_entropy": 1, "features": 1, "logprob_entropy": 1, "reverse_kl": 2}
LOGITS_DEVIATION = 3.0


@dataclass(frozen=True)
class Case:
    """One measurement: N tokens, hidden size D, V vocabulary entries, and what is computed."""

    tokens: int
    hidden: int
    vocab: int
    dtype: str
    loss: str
    mode: str

    def __str__(self) -> str:
        return f"{self.tokens} x {self.hidden} x {self.vocab} {self.dtype}, {self.loss}, {MODES[self.mode]}"

    @property
    def contractions(self) -> int:
        """Products of matrices: logits of every projection,
        and two gradients of the one that is trained.
        """
        return LOSSES[self.loss] + (2 if self.mode == "gradients" else 0)

    @property
    def flops(self) -> float:
        """2NVD for each contraction: 6NVD for a training step of one projection."""
        return 2.0 * self.contractions * self.tokens * self.vocab * self.hidden

    @property
    def is_bound_by_memory(self) -> bool:
        """One token, forward: each weight is read once, for one multiplication."""
        return self.tokens == 1 and self.mode == "forward"

    @property
    def weight_bytes(self) -> float:
        return float(LOSSES[self.loss] * self.vocab * self.hidden * TYPES[self.dtype].itemsize)


def cases(
    shapes: Sequence[tuple[int, int, int]], dtypes: Sequence[str], losses: Sequence[str], modes: Sequence[str]
) -> list[Case]:
    """All combinations that fit the machine. Those that share inputs stand together."""
    return [
        Case(*shape, dtype, loss, mode)
        for shape in shapes
        for dtype in dtypes
        if not (dtype == "float32" and shape in BFLOAT16_ONLY)
        for loss in losses
        for mode in modes
    ]


def quick_cases() -> list[Case]:
    """One training step and one decoded token, small, in each type."""
    return [
        Case(*shape, dtype, "cross_entropy", mode)
        for shape, mode in (((256, 1024, 16000), "gradients"), ((1, 2048, 32000), "forward"))
        for dtype in TYPES
    ]


class Inputs:
    """The arrays of one shape and type, each in a file without a name that other processes map."""

    def __init__(self, tokens: int, hidden: int, vocab: int, dtype: str):
        self._sizes = (tokens, hidden, vocab)
        self._dtype = dtype
        self._made: dict[str, tuple[int, dict[str, Any]]] = {}

    def described(self, case: Case) -> dict[str, dict[str, Any]]:
        """Path, type and shape of each array of a case, by name. The first request writes them."""
        names = ["hidden", "weight", "target"]
        names += {"features": ["bias"], "logprob_entropy": ["advantage"]}.get(case.loss, [])
        names += ["teacher_hidden", "teacher_weight"] if case.loss == "reverse_kl" else []
        for name in names:
            if name not in self._made:
                self._made[name] = self._make(name)
        return {name: self._made[name][1] for name in names}

    def close(self) -> None:
        """Gives the memory back, once no process maps it."""
        for file, _ in self._made.values():
            os.close(file)
        self._made.clear()

    def _make(self, name: str) -> tuple[int, dict[str, Any]]:
        tokens, hidden, vocab = self._sizes
        shape, scale = {
            "hidden": ((tokens, hidden), 1.0),
            "weight": ((vocab, hidden), LOGITS_DEVIATION / hidden**0.5),
            "target": ((tokens,), 0.0),
            "bias": ((vocab,), 0.1),
            "advantage": ((tokens,), 1.0),
        }[name.removeprefix("teacher_")]
        dtype = {"target": "int64", "advantage": "float32"}.get(name, self._dtype)
        description = {"dtype": dtype, "shape": shape}
        file = os.memfd_create(f"logitile-bench-{name}")
        os.ftruncate(file, int(numpy.prod(shape)) * dtype_of(dtype).itemsize)
        description["path"] = f"/proc/{os.getpid()}/fd/{file}"
        array = mapped(description)
        random = numpy.random.default_rng([len(name), *name.encode()])
        if name == "target":
            array[...] = random.integers(0, vocab, size=shape)
        else:
            for rows in numpy.array_split(array, max(1, array.size >> 24)):  # the draws are float32
                rows[...] = (scale * random.standard_normal(rows.shape, numpy.float32)).astype(array.dtype)
        return file, description


def mapped(description: dict[str, Any]) -> numpy.ndarray:
    """The array that a description of `Inputs` names."""
    dtype = dtype_of(description["dtype"])
    with open(description["path"], "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    return numpy.frombuffer(memory, dtype).reshape(description["shape"])


def dtype_of(name: str) -> numpy.dtype:
    return TYPES.get(name) or numpy.dtype(name)
