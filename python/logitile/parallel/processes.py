"""The processes of a group: the data that they exchange, and how all of them fail if one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from .. import errors
from ..errors import CallTypeError, LogitileError
from ..frameworks.arrays import HOST

_FACTS = 3  # numbers that processes tell each other with their state
_MOST_TEXT = 4096  # bytes of a text that is sent
_SEPARATOR = ";"  # between names of groups

Result = TypeVar("Result")

_groups: dict[str, dist.ProcessGroup] = {}  # torch keeps a group until it is destroyed, too


def named_group(group: object) -> str:
    """The name of a group, which a graph can hold; None is the group of all processes.

    Raises:
        CallTypeError: it is not a group, there is none, or this process is not part of it.
    """
    if not dist.is_initialized():
        raise CallTypeError(
            "torch.distributed has no processes yet; call torch.distributed.init_process_group first"
        )
    group = dist.group.WORLD if group is None else group
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        raise CallTypeError(
            "this process is not part of 'group'; call the head on the processes of the group"
        )
    if not isinstance(group, dist.ProcessGroup):
        raise CallTypeError(
            f"'group' is {type(group).__name__}; give a ProcessGroup, as of torch.distributed.new_group or "
            "mesh.get_group(...)"
        )
    _groups[group.group_name] = group
    return group.group_name


def joined_names(vocabulary: str, others: Sequence[str]) -> str:
    """The name of the processes of a mesh.

    Args:
        vocabulary: the group whose processes have the slices;
            "" where this process has the whole vocabulary.
        others: the groups along the other axes, which have other tokens. They fail together.
    """
    return _SEPARATOR.join((vocabulary, *others))


@dataclass(frozen=True)
class _Failure:
    """An error that all processes are told.

    Args:
        error: which this process raises.
        told: its type and its text, as others raise it.
    """

    error: Exception
    told: str


class Processes:
    """The processes that call a head together, as one of them sees them.

    Every method is a collective: all processes call the same ones in the same order.

    Args:
        name: of their group; see also joined_names.
    """

    def __init__(self, name: str):
        vocabulary, *others = name.split(_SEPARATOR)
        self._slices = _Line(vocabulary)
        self._others = [_Line(other) for other in others]
        self.count, self.rank = self._slices.count, self._slices.rank

    # ---- errors ----------------------------------------------------------------------------------

    def agree(self, facts: Sequence[int] = (), error: Exception | None = None) -> list[list[int]]:
        """Tells the others some numbers, or that this process has failed.

        Returns: the numbers of every process with a slice, in the order of ranks.

        Raises:
            Exception: that of the first process that failed; on the others one of the same type.
        """
        failure = None if error is None else _Failure(error, _told(error))
        every, failure = self._slices.agreed(facts, failure)
        for line in self._others:
            _, failure = line.agreed((), failure)
        if failure is not None:
            raise failure.error
        return every

    def together(self, step: Callable[[], Result]) -> Result:
        """Runs a step on every process, so that all of them go on or none.

        Raises:
            Exception: see agree.
        """
        result = self.told(step)
        self.agree()
        return result

    def told(self, step: Callable[[], Result]) -> Result:
        """Runs a step of this process alone. If it fails, the others are told,
        which agree sooner or later.

        Raises:
            Exception: see agree.
        """
        try:
            return step()
        except Exception as error:
            self.agree(error=error)
            raise

    def texts(self, text: str) -> list[str]:
        """A text of every process with a slice, cut where it is long."""
        return self._slices.texts(text)

    # ---- arrays ----------------------------------------------------------------------------------

    def gathered(self, tensor: Tensor) -> Tensor:
        """What every process has, on a new first axis; their tensors are alike."""
        return self._slices.gathered(tensor)

    def joined(self, tensor: Tensor, lengths: Sequence[int]) -> Tensor:
        """Parts of a first axis, one after the other; `lengths` are those of all processes."""
        padded = tensor.new_zeros((max(lengths), *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        every = self.gathered(padded)
        return torch.cat([part[:length] for part, length in zip(every, lengths, strict=True)])

    def own(self, tensor: Tensor, lengths: Sequence[int]) -> Tensor:
        """This process's part of a first axis."""
        return tensor.narrow(0, sum(lengths[: self.rank]), lengths[self.rank]).contiguous()

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place; the same bits on each of them."""
        return self._slices.summed(tensor)

    def summed_part(self, tensor: Tensor, lengths: Sequence[int]) -> Tensor:
        """This process's part of the sum over all processes."""
        padded = tensor.new_zeros((self.count, max(lengths), *tensor.shape[1:]))
        for part, own in zip(padded, tensor.split(list(lengths)), strict=True):
            part[: len(own)] = own
        return self._slices.scattered(padded)[: lengths[self.rank]]


class _Line:
    """The processes of one group; without a name this process alone."""

    def __init__(self, name: str):
        self._group = _groups[name] if name else None
        self.count = self._group.size() if self._group else 1
        self.rank = self._group.rank() if self._group else 0

    def agreed(
        self, facts: Sequence[int], failure: _Failure | None
    ) -> tuple[list[list[int]], _Failure | None]:
        """The numbers of every process, and the failure of the first one that has one."""
        told = [failure is not None, *facts, *[0] * (_FACTS - len(facts))]
        every = self.gathered(torch.tensor(told, dtype=torch.int64, device=self._device())).tolist()
        failed = [rank for rank, (has_failed, *_) in enumerate(every) if has_failed]
        numbers = [numbers[: len(facts)] for _, *numbers in every]
        if not failed:
            return numbers, None
        texts = self.texts("" if failure is None else failure.told)
        if failure is not None and failed[0] == self.rank:
            return numbers, failure
        return numbers, _Failure(_raised(texts[failed[0]]), texts[failed[0]])

    def texts(self, text: str) -> list[str]:
        """A text of every process, cut where it is long."""
        encoded = text.encode()[:_MOST_TEXT]
        data = torch.frombuffer(bytearray(encoded.ljust(_MOST_TEXT, b"\0")), dtype=torch.uint8)
        every = self.gathered(data.to(self._device())).cpu()
        return [row.numpy().tobytes().rstrip(b"\0").decode(errors="replace") for row in every]

    def gathered(self, tensor: Tensor) -> Tensor:
        """See Processes."""
        if self._group is None:
            return tensor[None]
        made = tensor.new_empty((self.count, *tensor.shape))
        flat = (
            tensor.contiguous().reshape(-1).view(torch.uint8)
        )  # backends differ in the types that they send
        if flat.numel():
            dist.all_gather_single(made.reshape(-1).view(torch.uint8), flat, group=self._group)
        return made

    def summed(self, tensor: Tensor) -> Tensor:
        """See Processes."""
        if self._group is not None:
            dist.all_reduce(tensor, group=self._group)
        return tensor

    def scattered(self, parts: Tensor) -> Tensor:
        """The sum over all processes of the part that belongs to this one."""
        if self._group is None:
            return parts[0]
        own = torch.empty_like(parts[0])
        dist.reduce_scatter_single(own, parts.reshape(-1, *parts.shape[2:]), group=self._group)
        return own

    def _device(self) -> torch.device:
        """Where numbers lie that processes agree with: in memory of the host if the group can send
        it, for no GPU has to be waited for then.
        """
        host = torch.device(HOST)
        known = [] if self._group is None else self._group._device_types
        return known[0] if known and host not in known else host


def _told(error: Exception) -> str:
    """An error as others are told of it."""
    return f"{type(error).__name__}\nprocess {dist.get_rank()}: {error}"


def _raised(told: str) -> Exception:
    """An error that another process has told."""
    kind, _, text = told.partition("\n")
    known = getattr(errors, kind, None)
    if not (isinstance(known, type) and issubclass(known, LogitileError)):
        return LogitileError(f"{text} ({kind})")
    try:
        return known(text)
    except TypeError:  # an error whose text has parts
        return LogitileError(text)
