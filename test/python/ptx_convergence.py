"""Whether all threads come to the instructions of PTX that wait for others: those of the block to
barriers, those of a warp to shuffles, votes, loads of matrices and their products.

Each register is followed from the number of the thread on: is its value the same in the block, in
each warp, or does it differ among lanes? Code that a branch leads to is as far apart as what the
branch decides by. Memory is taken to be the same for all that read one place.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

WARP_OPS = ("shfl", "vote", "ldmatrix", "mma")
_KERNEL = re.compile(r"\.entry (\w+)\((.*?)\n\{(.*?)\n\}", re.DOTALL)
_REGISTER = re.compile(r"%(?:rd|rs|fd|r|f|p)\d+")
_GUARD = re.compile(r"@!?(%p\d+)\s+")


class Spread(IntEnum):
    """Among which threads a value may differ, or paths part."""

    NOWHERE = 0  # the same in the block
    WARPS = 1  # the same in the lanes of each warp
    LANES = 2


@dataclass(frozen=True)
class Instruction:
    """One instruction: its operation, the registers that it writes and those that it reads."""

    text: str
    operation: str
    written: tuple[str, ...]
    read: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> Instruction:
        guard = _GUARD.match(text)
        bare = text[guard.end() :] if guard else text
        operation, _, operands = bare.partition(" ")
        first = re.match(r"\s*(\{[^}]*\}|[^,]*)", operands)[0]
        writes = not operation.startswith(("st.", "bra", "ret", "bar", "cp."))
        written = tuple(_REGISTER.findall(first)) if writes else ()
        read = _REGISTER.findall(operands[len(first) if writes else 0 :]) + ([guard[1]] if guard else [])
        return Instruction(text, operation, written, tuple(read))

    @property
    def constant(self) -> int | None:
        """The integer after the last comma."""
        found = re.search(r", (-?\d+)$", self.text)
        return int(found[1]) if found else None

    @property
    def limit(self) -> Spread:
        """How far apart the threads that come here may be."""
        if self.operation.startswith("bar"):
            return Spread.NOWHERE
        return Spread.WARPS if self.operation.startswith(WARP_OPS) else Spread.LANES


class Kernel:
    """One kernel: its blocks, and which blocks a branch leads to."""

    def __init__(self, name: str, body: str):
        self.name = name
        self.blocks, self.successors = _blocks(body)
        self.decided = _control(self.successors)

    def waiting(self) -> list[Instruction]:
        """Those that wait for other threads."""
        return [one for block in self.blocks for one in block if one.limit < Spread.LANES]

    def apart(self) -> list[str]:
        """Those that wait for threads which may not come."""
        spread = self._spread()
        return [
            f"{self.name}: {one.text}"
            for block, control in zip(self.blocks, self._paths(spread), strict=True)
            for one in block
            if control > one.limit or (one.limit < Spread.LANES and one.text.startswith("@"))
        ]

    def _paths(self, spread: Counter[str]) -> list[Spread]:
        """How far apart the threads of each block may be."""
        paths = [Spread.NOWHERE] * len(self.blocks)
        before = None
        while before != paths:
            before = list(paths)
            for block, branches in enumerate(self.decided):
                for branch in branches:
                    by = max(Spread(spread[r]) for r in self.blocks[branch][-1].read)
                    paths[block] = max(paths[block], by, before[branch])
        return paths

    def _spread(self) -> Counter[str]:
        """Of each register."""
        spread: Counter[str] = Counter()
        numbers = self._thread_numbers()
        copies = Counter(i.text for block in self.blocks for i in block if i.operation.startswith("mov"))
        before = None
        while before != spread:
            before = Counter(spread)
            for block, path in zip(self.blocks, self._paths(spread), strict=True):
                for instruction in block:
                    own = _spread_of(instruction, spread, numbers)
                    if copies[instruction.text] < 2:  # else other paths may give it the same
                        own = max(own, path)
                    for register in instruction.written:
                        spread[register] = max(spread[register], own)
        return spread

    def _thread_numbers(self) -> set[str]:
        """Registers that hold the number of the thread."""
        numbers: set[str] = set()
        for block in self.blocks:
            for one in block:
                copies = one.operation.startswith(("mov", "cvt")) and one.read
                if "%tid.x" in one.text or (copies and numbers.issuperset(one.read)):
                    numbers.update(one.written)
        return numbers


def kernels(ptx: str) -> list[Kernel]:
    """The kernels of a text."""
    bare = re.sub(r"//.*", "", ptx)
    return [Kernel(name, body) for name, _, body in _KERNEL.findall(bare)]


def _spread_of(one: Instruction, spread: Counter[str], numbers: set[str]) -> Spread:
    if one.operation.startswith("vote"):
        return Spread.WARPS
    if "%tid.x" in one.text or one.operation.startswith(WARP_OPS):
        return Spread.LANES
    widest = Spread(max((spread[register] for register in one.read), default=0))
    if one.read and numbers.issuperset(one.read) and _is_of_warps(one):
        return min(widest, Spread.WARPS)
    return widest


def _is_of_warps(one: Instruction) -> bool:
    """Whether an operation on the number of the thread forgets which lane it is."""
    constant = one.constant
    if constant is None:
        return False
    if one.operation.startswith("shr"):
        return constant >= 5
    if one.operation.startswith("and"):
        return constant % 32 == 0
    if one.operation.startswith(("setp.gt", "setp.le")):
        return (constant + 1) % 32 == 0
    return one.operation.startswith(("setp.lt", "setp.ge")) and constant % 32 == 0


def _blocks(body: str) -> tuple[list[list[Instruction]], list[list[int]]]:
    """Blocks and their successors; the one after the last is the end.

    Raises:
        ValueError: there is a jump of another kind.
    """
    blocks: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for text in re.findall(r"\$\w+:|[^;\s{}][^;]*;", body):
        if text.startswith("."):
            continue  # a declaration
        if text.endswith(":"):
            if blocks[-1]:
                blocks.append([])
            labels[text[:-1]] = len(blocks) - 1
            continue
        blocks[-1].append(Instruction.parse(re.sub(r"\s+", " ", text[:-1])))
        if blocks[-1][-1].operation.startswith(("brx", "call", "exit")):
            raise ValueError(f"no kernel of a loss has had '{text}' so far: it is not followed")
        if blocks[-1][-1].operation.startswith(("bra", "ret")):
            blocks.append([])
    return blocks, [_after(block, number, labels, len(blocks)) for number, block in enumerate(blocks)]


def _after(block: list[Instruction], number: int, labels: dict[str, int], end: int) -> list[int]:
    last = block[-1] if block else None
    jumps = last is not None and last.operation.startswith(("bra", "ret"))
    following = [] if jumps and not last.text.startswith("@") else [number + 1]
    if jumps:
        following.append(end if last.operation.startswith("ret") else labels[last.text.split()[-1]])
    return following


def _control(successors: list[list[int]]) -> list[set[int]]:
    """For each block the branches that decide whether it is reached: it comes after one way out in
    any case, but not after the branch itself.
    """
    end = len(successors)
    everything = (1 << end + 1) - 1
    after = [everything] * end + [1 << end]  # bits: the blocks that come in any case
    before = None
    while before != after:
        before = list(after)
        for block in reversed(range(end)):
            common = everything
            for following in successors[block]:
                common &= after[following]
            after[block] = common | 1 << block
    decided: list[set[int]] = [set() for _ in range(end)]
    for branch, following in enumerate(successors):
        for way in following if len(set(following)) > 1 else ():
            for block in range(end):
                comes_anyway = block != branch and after[branch] >> block & 1
                if after[way] >> block & 1 and not comes_anyway:
                    decided[block].add(branch)
    return decided
