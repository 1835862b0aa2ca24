"""Which instructions a warp executes: one path through a kernel, with how often each loop turns.

Branches are decided as they fall in all but a few blocks: a path that copies asynchronously and
stores results is taken before one that does not, then one with the loops that count, then the
shortest. So copies element by element, tails of the vocabulary, and visits to single rows are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .boxes import is_release
from .listing import WIDTH, Instruction, Listing

# bytes by a suffix of STG; else 4
_STORED = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_BOX = 512  # bytes of a lane in a box of 16 KiB


def usefulness(instruction: Instruction, has_boxes: bool = False) -> int:
    """What an instruction copies or stores for a lane, in bytes;
    a product counts as much as the longest.

    Args:
        has_boxes: whether the kernel copies boxes. Then that is what counts, and that their stages
            are released; other copies, and the products after them, are for tiles or operands that
            have none. Boxes for a pair of thread blocks do not count: more of them are copied where
            a block is alone.
    """
    if instruction.opcode.endswith(".MULTICAST"):
        return 0
    if has_boxes and instruction.kind in ("LDGSTS", "HMMA", "HGMMA", "UTMALDG", "SYNCS"):
        return _BOX if instruction.kind == "UTMALDG" else is_release(instruction)
    if instruction.kind in ("LDGSTS", "HMMA", "HGMMA"):
        return 16
    if instruction.kind == "UTMASTG":
        return _BOX
    if instruction.kind != "STG":
        return 0
    return next((_STORED[part] for part in instruction.opcode.split(".") if part in _STORED), 4)


def _is_store(instruction: Instruction) -> bool:
    """Whether it writes to global memory."""
    return instruction.kind in ("STG", "UTMASTG")


def _joins_rows(instruction: Instruction) -> bool:
    """Whether threads of a row exchange what each has of it."""
    return instruction.opcode.startswith("SHFL.BFLY")


@dataclass(frozen=True)
class Ends:
    """What loops count up to in a launch: its tokens, or the columns of a vocabulary split."""

    tokens: int
    columns: int


@dataclass(frozen=True)
class Loop:
    """A loop on a path.

    Attributes:
        turns: how often its body runs; None where it counts up to a number of the launch.
        step: what its counter grows by.
        body: its path.
    """

    turns: int | None
    step: int
    body: Path

    def count(self, ends: Ends) -> int:
        """Its turns in a launch."""
        if self.turns is not None:
            return self.turns
        return -(-(ends.tokens if self.is_of_tokens() else ends.columns) // self.step)

    def is_of_tokens(self) -> bool:
        """Whether it goes through tokens. A loop that stores results, or that joins what the
        threads of a row have, goes through columns.
        """
        return self.turns is None and not self.body.has(_is_store) and not self.body.has(_joins_rows)


@dataclass(frozen=True)
class Path:
    """Instructions and loops in order. `taken` are the addresses of branches that jump."""

    parts: tuple[Instruction | Loop, ...]
    taken: frozenset[int]

    def length(self, ends: Ends) -> int:
        """How many instructions they are, with all turns of loops."""
        return sum(
            1 if isinstance(part, Instruction) else part.count(ends) * part.body.length(ends)
            for part in self.parts
        )

    def expand(self, ends: Ends, most: int) -> Iterator[Instruction]:
        """All instructions in their order; loops turn as often as they do, `most` times at most."""
        for part in self.parts:
            if isinstance(part, Instruction):
                yield part
                continue
            for _ in range(min(part.count(ends), most)):
                yield from part.body.expand(ends, most)

    def loops(self) -> Iterator[Loop]:
        """Its loops, and those in them."""
        for part in self.parts:
            if isinstance(part, Loop):
                yield part
                yield from part.body.loops()

    def has(self, wanted: Callable[[Instruction], bool]) -> bool:
        """Whether such an instruction is on it, or in its loops."""
        return any(
            wanted(part) if isinstance(part, Instruction) else part.body.has(wanted) for part in self.parts
        )

    def stores(self) -> bool:
        """Whether anything on it, or in its loops, is written to global memory."""
        return self.has(_is_store)

    def every_taken(self) -> frozenset[int]:
        """`taken` of this path and of its loops."""
        return self.taken.union(*(loop.body.taken for loop in self.loops()))


def path_of(listing: Listing) -> Path:
    """The path from the first instruction to an EXIT.

    Raises:
        ValueError: there is none that the rules above let be.
    """
    return _Region(listing, _extents(listing), 0, listing.instructions[-1].address, None).path()


def _extents(listing: Listing) -> dict[int, int]:
    """First and last address of each loop.
    One that ends within a loop in it ends where that one does.
    """
    extents = dict(listing.loops())
    changed = True
    while changed:
        changed = False
        for first in extents:
            for inner, end in extents.items():
                if first < inner <= extents[first] < end:
                    extents[first] = end
                    changed = True
    return extents


@dataclass(frozen=True)
class _Way:
    """A way from an instruction to the end of a region."""

    useful: int = 0
    counted: int = 0
    length: int = 0
    parts: tuple[Instruction | Loop, ...] = ()
    taken: frozenset[int] = frozenset()

    def rank(self) -> tuple[int, int, int]:
        return (-self.useful, -self.counted, self.length)

    def after(self, part: Instruction | Loop, has_boxes: bool) -> _Way:
        """This way after one more part."""
        if isinstance(part, Instruction):
            useful = self.useful + usefulness(part, has_boxes)
            return replace(self, useful=useful, length=self.length + 1, parts=(part, *self.parts))
        if part.turns == 0:
            return self
        body = list(part.body.expand(Ends(1, 1), 1))
        useful = sum(usefulness(instruction, has_boxes) for instruction in body)
        return _Way(
            self.useful + useful,
            self.counted + 1,
            self.length + len(body),
            (part, *self.parts),
            self.taken,
        )


_END = _Way()


class _Region:
    """A kernel, or the body of a loop that starts at `header`.
    Loops in it are single parts of its ways.
    """

    def __init__(
        self, listing: Listing, extents: dict[int, int], first: int, last: int, header: int | None
    ) -> None:
        self.listing, self.extents = listing, extents
        self.first, self.last, self.header = first, last, header
        self.has_boxes = any(instruction.kind == "UTMALDG" for instruction in listing.instructions)
        self.best: dict[int, _Way | None] = {}

    def path(self) -> Path:
        """The best way through it: each address after all that come after it."""
        for address in range(self.last, self.first - 1, -WIDTH):
            is_loop = address in self.extents and address != self.header
            ways = self._through_loop(address) if is_loop else self._through(self.listing.at(address))
            self.best[address] = min(ways, key=_Way.rank, default=None)
        way = self.best[self.first]
        if way is None:
            raise ValueError(f"{self.listing.name}: no path from {self.first:#x} to {self.last:#x}")
        return Path(way.parts, way.taken)

    def _from(self, address: int, source: int) -> _Way | None:
        """The way from where `source` leads to: back to the header, the body ends."""
        if address == self.header:
            return _END
        return self.best.get(address) if address > source else None

    def _at_exit(self) -> _Way | None:
        return _END if self.header is None else None

    def _through(self, instruction: Instruction) -> list[_Way]:
        address = instruction.address
        follows = instruction.is_conditional
        ways: list[_Way | None] = []
        if instruction.kind == "EXIT":
            ways.append(self._at_exit())
        elif instruction.target is not None:
            jump = self._from(instruction.target, address)
            if jump is not None and instruction.target > address:
                jump = replace(jump, taken=jump.taken | {address})
            ways.append(jump)
        else:
            follows = True
        if follows:
            ways.append(
                _END
                if address == self.last and self.header is not None
                else self._from(address + WIDTH, address)
            )
        return [way.after(instruction, self.has_boxes) for way in ways if way is not None]

    def _through_loop(self, first: int) -> list[_Way]:
        last = self.extents[first]
        body = self.listing.instructions[first // WIDTH : last // WIDTH + 1]
        ways: list[_Way | None] = []
        for instruction in body:
            if instruction.kind == "EXIT":
                ways.append(self._at_exit())
            elif instruction.target is not None and not first <= instruction.target <= last:
                ways.append(self._from(instruction.target, last))
        if body[-1].is_conditional:
            ways.append(self._from(last + WIDTH, last))
        path = _Region(self.listing, self.extents, first, last, first).path()
        loop = Loop(*count_turns(self.listing, first, last), path)
        return [way.after(loop, self.has_boxes) for way in ways if way is not None]


# ---- how often a loop turns ----------------------------------------------------------------------


def count_turns(listing: Listing, first: int, last: int) -> tuple[int | None, int]:
    """Turns and step of a loop that counts up from zero.

    Returns: (turns, step) where the bound is a constant, or the start and a constant; (None, step)
        where it is another register: kernels have no other such bounds than those of Ends; (0, 1)
        where it is a count of bits: a turn for each lane that has something to do, which few have.
    """
    body = listing.instructions[first // WIDTH : last // WIDTH + 1]

    def leaves(instruction: Instruction) -> bool:
        target = instruction.target
        if target is None:
            return instruction.kind == "EXIT"
        return target == first or not first <= target <= last

    def decides(instruction: Instruction) -> bool:
        """Whether it leaves the loop or goes on, or jumps over the branch that leaves."""
        if not instruction.guard or (instruction.target is None and instruction.kind != "EXIT"):
            return False
        follower = listing.at(min(instruction.address + WIDTH, last))
        return leaves(instruction) or (not follower.guard and leaves(follower) and follower.target != first)

    for branch in reversed([i for i in body if decides(i)]):
        if counted := _count_by(listing, body, branch):
            return counted
    return _count_of_range(listing, body) or (None, 1)


def _count_of_range(listing: Listing, body: list[Instruction]) -> tuple[int, int] | None:
    """Turns of a loop over a range of a constant length, whose end is a register that is made
    before it. What the comparison found may come to the branch by way of a register.
    """
    before = listing.instructions[: body[0].address // WIDTH]
    for instruction in body:
        compared = re.match(r"ISETP\.(?:GE|LT)\.U32\.AND P\d, PT, (R\d+), (R\d+), PT", instruction.body)
        if not compared or not (step := _step_of(body, compared[1])):
            continue
        length = re.compile(
            rf"(?:IADD3|VIADD) {compared[2]}, (?:P\d, )?{compared[1]}(?:\.reuse)?, (0x[0-9a-f]+)(?:,|$)"
        )
        made = [match for i in before if (match := length.match(i.body))]
        if made:
            return -(-int(made[-1][1], 0) // step), step
    return None


def _count_by(
    listing: Listing, body: list[Instruction], branch: Instruction
) -> tuple[int | None, int] | None:
    """What a branch says of the turns of a loop; None where it does not compare a counter."""
    before = [i for i in body if i.address < branch.address]
    predicate = _low_half(before, _uniform_source(before, branch.guard.lstrip("@!")))
    setters = _unsaved(before, [i for i in before if _sets(i, predicate)])
    if not setters:
        return None
    operands = [part.strip() for part in setters[-1].body.split(" ", 1)[1].split(",")[2:4]]
    registers = [o.partition(".")[0] for o in operands if re.match(r"-?U?R\d", o)]
    if any(_counts_bits(listing, register, branch.address) for register in registers):
        return 0, 1
    step = next((step for register in registers if (step := _step_of(body, register))), None)
    if step is None:
        return None
    constants = [int(o, 0) for o in operands if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", o)]
    if not constants or constants[0] <= 0:
        return None, step
    # The counter is compared before it grows where the comparison is strict the other way.
    bound = constants[0] + (re.match(r"U?ISETP\.(GT|LE)", setters[-1].body) is not None)
    return -(-bound // step), step


def _sets(instruction: Instruction, predicate: str) -> bool:
    """Whether an instruction compares integers, and the predicate is what it finds."""
    return re.match(rf"U?ISETP\.\w+(\.U32)?\.AND {predicate},", instruction.body) is not None


def _unsaved(body: list[Instruction], setters: list[Instruction]) -> list[Instruction]:
    """Comparisons whose last one decides, as that of `setters` does. If that one asks whether a
    register is zero in which a predicate was saved (P2R), those of that predicate before.
    """
    saved = re.match(r"ISETP\.NE\.AND P\d, PT, (R\d+), RZ, PT", setters[-1].body) if setters else None
    if not saved:
        return setters
    saving = re.compile(rf"P2R {saved[1]}, PR, RZ, (0x\w+)")
    made = [(place, match) for place, i in enumerate(body) if (match := saving.match(i.body))]
    if not made:
        return setters
    place, match = made[-1]
    return [i for i in body[:place] if _sets(i, f"P{int(match[1], 0).bit_length() - 1}")]


def _uniform_source(body: list[Instruction], predicate: str) -> str:
    """The predicate of all lanes that one of a lane copies or inverts;
    itself where it does neither.
    """
    for instruction in reversed(body):
        if re.match(rf"U?\w+(\.\w+)* {predicate},", instruction.body):
            copied = re.match(r"PLOP3\.LUT P\d, PT, PT, PT, (UP\d), 0x[48]0, 0x0", instruction.body)
            return copied[1] if copied else predicate
    return predicate


def _low_half(body: list[Instruction], predicate: str) -> str:
    """The predicate of the lower words where a comparison of numbers of 64 bits made this one;
    else itself.
    """
    setters = [i for i in body if re.match(rf"U?ISETP\.[\w.]+ {predicate},", i.body)]
    if not setters or ".EX " not in setters[-1].body:
        return predicate
    return setters[-1].body.rpartition(",")[2].strip()


def _step_of(body: list[Instruction], register: str) -> int:
    """What a register grows by in a loop: the constant of `IADD3 R, R, constant`, or of
    `IADD3 R, S, constant` where R becomes S, or of such a `VIADD`; 0 where there is none.
    """
    moved = re.compile(rf"(?:IMAD\.|U)?MOV(?:\.U32)? (U?R\d+), (?:RZ, RZ, )?{register}$")
    moves = {match[1] for instruction in body if (match := moved.match(instruction.body))}
    added = re.compile(
        rf"(?:U?IADD3|VIADD) {register}, (?:U?P\d, )?(U?R\d+)(?:\.reuse)?, (0x[0-9a-f]+|\d+)(?:,|$)"
    )
    for instruction in body:
        match = added.match(instruction.body)
        if match and match[1] in {register, *moves}:
            return int(match[2], 0)
    return 0


def _counts_bits(listing: Listing, register: str, before: int) -> bool:
    """Whether the last that wrote a register before an address counts bits."""
    for instruction in reversed(listing.instructions[: before // WIDTH]):
        if re.match(rf"\S+ {register}(,|$)", instruction.body):
            return instruction.kind in ("POPC", "UPOPC")
    return False
