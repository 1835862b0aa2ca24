"""Copies of boxes in a trace (UTMALDG): one warp asks for a block of operands,
all warps wait for it.

A ring has stages, each with two mbarriers: the bytes of a block arrive at one, the warps that have
read it at the other. Which mbarrier an instruction means is in registers, so it is read from what
is around it: a wait with copies after it is for a free stage, the others are for blocks; arrivals
that announce bytes are part of copies, the others release a block.

Of a pair of thread blocks that share an operand, one is played. The other one is taken to do the
same at the same time: its half of the operand comes with that of the played one, and it releases a
stage as late.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .listing import Instruction, Listing

SLOW = {"MEMBAR": "waits for all memory", "LDL": "reads spilled registers", "STL": "spills registers"}


@dataclass(frozen=True)
class Ring:
    """What a kernel copies its boxes to.

    Attributes:
        stages: blocks that it has room for.
        ahead: blocks that are there before the first instruction.
        latency: cycles until it is known that the other thread block of a pair has
            released a stage, too.
    """

    stages: int = 0
    ahead: int = 0
    latency: float = 0


NO_RING = Ring()


@dataclass(frozen=True)
class CopyCode:
    """The part of a trace that copies a block.

    Attributes:
        branch: place of the branch around it, which all warps but one take.
        after: place of the first instruction after it.
        last: place of its last copy.
        box: bytes of each of its copies.
    """

    branch: int
    after: int
    last: int
    box: float


def is_wait(instruction: Instruction) -> bool:
    return "TRYWAIT" in instruction.opcode


def is_release(instruction: Instruction) -> bool:
    return _is_arrival(instruction) and not instruction.announced and not is_remote(instruction)


def is_remote(instruction: Instruction) -> bool:
    """Whether it arrives at an mbarrier of the other thread block of a pair."""
    return _is_arrival(instruction) and "RED" in instruction.opcode.split(".")


def _is_arrival(instruction: Instruction) -> bool:
    return instruction.opcode.startswith("SYNCS.ARRIVE")


def copy_codes(trace: Sequence[Instruction]) -> list[CopyCode]:
    """Those of a trace, one after the other.

    Raises:
        ValueError: boxes are copied without a wait, an announcement or a branch around them.
    """
    found: list[CopyCode] = []
    waits: int | None = None
    announced, copies = 0, []
    for place, instruction in enumerate([*trace, None]):
        if instruction is None or is_wait(instruction):
            if copies:
                found.append(_copy_code(trace, waits, copies, announced))
            waits, announced, copies = place, 0, []
        elif instruction.kind == "UTMALDG":
            copies.append(place)
        else:
            announced = announced or instruction.announced
    return found


def _copy_code(
    trace: Sequence[Instruction], waits: int | None, copies: Sequence[int], announced: int
) -> CopyCode:
    last = trace[copies[-1]]
    for branch in range(waits or 0, -1, -1):
        target = trace[branch].target
        if announced and trace[branch].guard and target is not None and target > last.address:
            after = copies[-1] + 1
            while after < len(trace) and last.address < trace[after].address < target:
                after += 1
            return CopyCode(branch, after, copies[-1], announced / len(copies))
    raise ValueError(f"{last.text}: boxes are copied without a wait, an announcement or a branch around them")


def first_wait(trace: Sequence[Instruction]) -> Instruction | None:
    """The first wait for a block in a trace."""
    copying = copy_codes(trace)
    inside = {place for code in copying for place in range(code.branch, code.after)}
    return next((one for place, one in enumerate(trace) if is_wait(one) and place not in inside), None)


def slow_loops(listing: Listing) -> list[str]:
    """What an innermost loop of products should not have, one text for each kind of instruction.
    With threads that copy, a loop may wait for memory.
    """
    spans = [
        {one for one in listing.instructions if first <= one.address <= last}
        for first, last in listing.loops()
    ]
    loops = [body for body in spans if any(one.kind in ("HMMA", "HGMMA") for one in body)]
    innermost = [body for body in loops if not any(other < body for other in loops)]
    found = []
    for kinds in ({one.kind for one in body} for body in innermost):
        wrong = [kind for kind in SLOW if kind in kinds and (kind != "MEMBAR" or "UTMALDG" in kinds)]
        found += [f"a loop of products {SLOW[kind]} ({kind})" for kind in wrong]
    return found


_LEFT = re.compile(r"WARPGROUP\.DEPBAR\.LE gsb0, (0x[0-9a-f]+|\d+)")


def groups_left(instruction: Instruction) -> int | None:
    """Groups of products that a wait for them lets be under way; None for other instructions."""
    match = _LEFT.search(instruction.text)
    return int(match[1], 0) if match else None


@dataclass
class Reader:
    """What a warp has read of the blocks of a ring.

    Attributes:
        seen: blocks that it has waited for.
        left: groups of products that may still read.
        released: blocks whose stages it has released. The first turn for a tile has none to
            release: the last block of the tile before was released after that tile.
    """

    seen: int = 0
    left: int = 0
    released: int = 0


@dataclass
class RingState:
    """The blocks of a ring while a block of `warps` warps runs."""

    ring: Ring
    warps: int
    landed: list[float] = field(init=False)  # when each block is there
    released: list[list[float]] = field(init=False)  # when each warp had read it
    readers: list[Reader] = field(init=False)

    def __post_init__(self) -> None:
        self.landed = [0.0] * self.ring.ahead
        self.released = []
        self.readers = [Reader() for _ in range(self.warps)]

    def is_there(self, warp: int) -> float:
        """When the next block of a warp is there; infinite where nobody has asked for it."""
        seen = self.readers[warp].seen
        return self.landed[seen] if seen < len(self.landed) else float("inf")

    def is_free(self) -> float:
        """When the stage of the next copy is free; infinite where a warp has not read it yet."""
        before = len(self.landed) - self.ring.stages
        if before < 0:
            return 0.0
        times = self.released[before] if before < len(self.released) else []
        return max(times) + self.ring.latency if len(times) == self.warps else float("inf")

    def release(self, warp: int, time: float) -> None:
        """Of the last block that no product of the warp reads any more, if there is one."""
        reader = self.readers[warp]
        block = reader.seen - 1 - reader.left
        if block < reader.released:
            return
        reader.released = block + 1
        while len(self.released) <= block:
            self.released.append([])
        self.released[block].append(time)
