"""The result of a sweep for each token, as one array of bytes: processes send it in one collective.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

_ALIGNMENT = 8  # bytes of the largest type


def packed(rows: Mapping[str, Tensor]) -> Tensor:
    """The bytes of all rows, each filled up to the alignment."""
    parts = [_filled(row.contiguous().reshape(-1).view(torch.uint8)) for row in rows.values()]
    return torch.cat(parts) if parts else torch.empty(0, dtype=torch.uint8)


def unpacked(data: Tensor, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rows of other bytes with the names, types and shapes of some."""
    found, first = {}, 0
    for name, row in like.items():
        size = row.numel() * row.element_size()
        # bytes of nothing lie anywhere
        part = data[first : first + size] if size else data.new_empty(0)
        found[name] = part.view(row.dtype).reshape(row.shape)
        first += _up(size)
    return found


def _up(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _filled(data: Tensor) -> Tensor:
    return torch.nn.functional.pad(data, (0, _up(len(data)) - len(data)))
