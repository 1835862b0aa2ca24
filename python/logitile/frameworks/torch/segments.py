"""Sums over sequences for torch's tensors: two operators, which torch.compile does not trace into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import CallValueError
from ..arrays import HOST
from ..segment_checks import check_integers, check_lengths, check_range, check_shape


class TorchSums:
    """See frameworks.segments.SegmentSums."""

    def ids(self, given: Any, are_lengths: bool, count: int, leading: Sequence[int], like: Tensor) -> Tensor:
        if isinstance(given, (list, tuple)):
            given = torch.tensor(given, dtype=None if given else torch.int64, device=like.device)
        given = torch.as_tensor(given)
        is_other = given.is_floating_point() or given.is_complex() or given.dtype == torch.bool
        check_integers(not is_other, given.dtype, are_lengths)
        if given.device != like.device:
            raise CallValueError(
                f"'hidden' is on {like.device} but 'segments' is on {given.device}; move one of them"
            )
        if not are_lengths:
            check_shape(given.shape, leading)
        made: Tensor = torch.ops.logitile.segment_ids(given, are_lengths, count, list(leading))
        return made

    def without(self, ids: Tensor, target: Any, ignore_index: int) -> Tensor:
        ignored = torch.as_tensor(target) == ignore_index
        return torch.where(ignored.all(-1) if ignored.ndim > ids.ndim else ignored, -1, ids)

    def sums(self, values: Tensor, ids: Tensor, count: int) -> Tensor:
        made: Tensor = Summed.apply(values, ids, count)
        return made

    def spread(self, sums: Tensor, ids: Tensor) -> Tensor:
        return _spread(sums, ids)

    def quotients(self, sums: Tensor, over: Tensor) -> Tensor:
        return sums.float() / over.float()

    def where(self, condition: Tensor, sums: Tensor, other: float) -> Tensor:
        return torch.where(condition, sums, other)

    def numbers(self, item: Any, like: Tensor) -> Tensor:
        return torch.as_tensor(item, dtype=torch.float32, device=like.device)

    def repeated(self, number: Tensor, count: int) -> Tensor:
        return number.expand(count)

    def result(self, made: Tensor, like: Any) -> Tensor:
        return made


TORCH_SUMS = TorchSums()


def _spread(sums: Tensor, ids: Tensor) -> Tensor:
    count = sums.shape[0]
    padded = torch.cat([sums, sums.new_zeros(1)])  # the last one collects tokens of no sequence
    return padded[torch.where(ids < 0, count, ids).clamp(max=count)]


class Summed(torch.autograd.Function):
    """The operator of sums with its derivative, also inside of torch.func."""

    @staticmethod
    def forward(values: Tensor, ids: Tensor, count: int) -> Tensor:
        made: Tensor = torch.ops.logitile.segment_sums(values, ids, count)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        if not output.is_floating_point():
            ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, None, None]:
        return _spread(cotangent, ctx.saved_tensors[0]), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], values: Tensor, ids: Tensor, count: int
    ) -> tuple[Tensor, int]:
        """One slice after the other."""
        slices = [
            Summed.apply(
                *(t if d is None else t.select(d, i) for t, d in zip((values, ids), in_dims, strict=False)),
                count,
            )
            for i in range(info.batch_size)
        ]
        return torch.stack(slices), 0


# ---- operators -----------------------------------------------------------------------------------

_library = torch.library.Library("logitile", "FRAGMENT")
_tags = (torch.Tag.pt2_compliant_tag,)
_library.define(
    "segment_ids(Tensor given, bool are_lengths, SymInt count, SymInt[] leading) -> Tensor", tags=_tags
)
_library.define("segment_sums(Tensor values, Tensor ids, SymInt count) -> Tensor", tags=_tags)


def _segment_ids(given: Tensor, are_lengths: bool, count: int, leading: Sequence[int]) -> Tensor:
    """The sequence of each token; no call waits for a GPU to look at numbers there."""
    on_host = given.device.type == HOST
    if not are_lengths:
        if on_host:
            check_range(given.numpy(), count)
        return given.to(torch.int64, copy=True)
    if on_host:
        check_lengths(given.numpy(), leading)
    tokens = torch.Size(leading).numel()
    ends = given.to(torch.int64).cumsum(0)
    places = torch.arange(tokens, device=given.device)
    ids = torch.searchsorted(ends, places, side="right").reshape(list(leading))
    if on_host:
        return ids
    total = ends[-1] if count else ends.new_zeros(())
    return torch.where((total != tokens) | (given < 0).any(), count, ids)


def _segment_sums(values: Tensor, ids: Tensor, count: int) -> Tensor:
    """Adds in float64 or int64, one token after the other: atomic additions would have no order."""
    is_float = values.is_floating_point()
    wide = values.reshape(-1).to(torch.float64 if is_float else torch.int64)
    flat = ids.reshape(-1)
    slots = torch.where(flat < 0, count, flat).clamp(max=count)
    total = wide.new_zeros(count + 1).index_put_((slots,), wide, accumulate=True)[:count]
    if ids.device.type != HOST:
        total = torch.where((flat >= count).any(), float("nan") if is_float else -1, total)
    return total.to(torch.float32) if is_float else total.clone()


def _fake_ids(given: Tensor, are_lengths: bool, count: int, leading: Sequence[int]) -> Tensor:
    return given.new_empty(list(leading), dtype=torch.int64)


def _fake_sums(values: Tensor, ids: Tensor, count: int) -> Tensor:
    return values.new_empty((count,), dtype=torch.float32 if values.is_floating_point() else torch.int64)


def _each_ids(
    info: Any,
    in_dims: Sequence[int | None],
    given: Tensor,
    are_lengths: bool,
    count: int,
    leading: Sequence[int],
) -> tuple[Tensor, int]:
    """The rule of vmap: one slice after the other."""
    slices = given.movedim(in_dims[0] or 0, 0)
    return torch.stack([torch.ops.logitile.segment_ids(x, are_lengths, count, leading) for x in slices]), 0


_library.impl("segment_ids", _segment_ids, "CompositeExplicitAutograd")
_library.impl("segment_sums", _segment_sums, "CompositeExplicitAutograd")
torch.library.register_fake("logitile::segment_ids", _fake_ids, lib=_library)
torch.library.register_fake("logitile::segment_sums", _fake_sums, lib=_library)
torch.library.register_vmap("logitile::segment_ids", _each_ids, lib=_library)
