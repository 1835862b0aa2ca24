"""Reads the listing of `nvdisasm -c -hex`: instructions with their control codes, labels, loops.

The upper 64 bits of an instruction hold, from bit 41 on: stall cycles (4 bits), yield (1), the
scoreboard that its result sets (3, 7 for none), the one that its reads set (3), a mask of those it
waits for (6). Source: Jia et al. 2018, "Dissecting the NVIDIA Volta GPU architecture via
microbenchmarking", section 2.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

WIDTH = 16  # bytes of an instruction
NO_SCOREBOARD = 7


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        address: bytes from the start of its kernel.
        text: with its guard, without the semicolon.
        opcode: with its suffixes, such as "LDSM.16.M88.4".
        guard: the predicate that it depends on, such as "@!P0"; "" for none.
        stall: cycles until this warp may issue the next instruction.
        result_board, read_board: scoreboards that are set until the result is there, or the
            operands were read; NO_SCOREBOARD for none.
        waits: a bit for each scoreboard that has to be free before.
        target: the address that a branch leads to; None for the others.
        announced: bytes that an arrival at an mbarrier says will come; 0 for the others.
    """

    address: int
    text: str
    opcode: str
    guard: str
    stall: int
    result_board: int
    read_board: int
    waits: int
    target: int | None = None
    announced: int = 0

    @property
    def kind(self) -> str:
        """The opcode without suffixes."""
        return self.opcode.partition(".")[0]

    @property
    def is_conditional(self) -> bool:
        """Whether the instruction after a branch may run as well."""
        return bool(self.guard) or re.search(r"^\S+\s+U?!?UP\d", self.body) is not None

    @property
    def body(self) -> str:
        """The text without the guard."""
        return self.text[len(self.guard) :].strip()


@dataclass
class Listing:
    """One kernel."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def at(self, address: int) -> Instruction:
        return self.instructions[address // WIDTH]

    def loops(self) -> list[tuple[int, int]]:
        """First and last address of each loop: those of a branch backwards and of what it leads to.
        A branch to itself, with which listings end, is none. Of loops with one start the longest
        counts.
        """
        ends: dict[int, int] = {}
        for instruction in self.instructions:
            target = instruction.target
            if target is not None and target < instruction.address:
                ends[target] = max(instruction.address, ends.get(target, 0))
        return sorted(ends.items())


_SECTION = re.compile(r'^\s*\.section\s+"?\.text\.([\w$]+)"?,')
_LABEL = re.compile(r"^\s*(\.L_x_\d+):")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/")
_UPPER = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_GUARD = re.compile(r"^@!?U?P\w+")
_JUMP = re.compile(r"\b(?:BRA|CALL)\b.*?`\((\.L_x_\d+)\)")  # a call of a label is a branch far away


@dataclass
class _Raw:
    """An instruction while its lines are read."""

    address: int
    text: str
    upper: int = 0


def read_listings(text: str) -> dict[str, Listing]:
    """The kernels of a listing by name."""
    found: dict[str, Listing] = {}
    name, raw, labels, waiting = "", [], {}, []

    def finish() -> None:
        if name:
            instructions = _without_divergence([_instruction(one, labels) for one in raw])
            found[name] = Listing(name, _with_announced(_without_spins(instructions)))

    for line in text.splitlines():
        if section := _SECTION.match(line):
            finish()
            name, raw, labels, waiting = section[1], [], {}, []
        elif label := _LABEL.match(line):
            waiting.append(label[1])
        elif (match := _INSTRUCTION.match(line)) and name:
            labels.update(dict.fromkeys(waiting, int(match[1], 16)))
            waiting = []
            raw.append(_Raw(int(match[1], 16), match[2].strip()))
        elif (match := _UPPER.match(line)) and raw:
            raw[-1].upper = int(match[1], 16)
    finish()
    return found


def _without_spins(instructions: list[Instruction]) -> list[Instruction]:
    """The same with waits for mbarriers that succeed at once:
    code after the end of the kernel tries again, and branches back.
    """
    kept = list(instructions)
    for place, instruction in enumerate(instructions):
        if "TRYWAIT" not in instruction.opcode:
            continue
        for branch in range(place + 1, min(place + 3, len(kept))):
            if kept[branch].kind == "BRA" and (branch == place + 1 or not kept[branch].guard):
                kept[branch] = replace(kept[branch], guard="", target=None)
    return kept


def _without_divergence(instructions: list[Instruction]) -> list[Instruction]:
    """The same with warps whose threads are together wherever they have to be. Code for other
    warps, after the end of the kernel, gathers their threads and branches back.
    """
    kept = []
    gathers = False
    for instruction in instructions:
        gathers = gathers or instruction.opcode == "WARPSYNC.COLLECTIVE"
        returns = gathers and instruction.kind == "BRA" and not instruction.guard
        if returns or instruction.opcode == "BRA.DIV":
            instruction = replace(instruction, target=None)
        gathers = gathers and not returns
        kept.append(instruction)
    return kept


_ANNOUNCEMENT = re.compile(r"SYNCS\.ARRIVE\.TRANS64 RZ, \[.*\], (R\d+)")


def _with_announced(instructions: list[Instruction]) -> list[Instruction]:
    """The same with bytes that are announced: the number that was put into the register before."""
    kept = list(instructions)
    for place, instruction in enumerate(instructions):
        if match := _ANNOUNCEMENT.match(instruction.body):
            moved = re.compile(rf"(?:IMAD\.)?MOV(?:\.U32)? {match[1]}, (?:RZ, RZ, )?(0x[0-9a-f]+)$")
            numbers = (moved.match(before.body) for before in reversed(instructions[:place]))
            number = next((found for found in numbers if found), None)
            kept[place] = replace(instruction, announced=int(number[1], 0) if number else 0)
    return kept


def _instruction(raw: _Raw, labels: dict[str, int]) -> Instruction:
    guard = match[0] if (match := _GUARD.match(raw.text)) else ""
    opcode = raw.text[len(guard) :].split(maxsplit=1)[0]
    control = raw.upper >> 41
    jump = _JUMP.search(raw.text)
    return Instruction(
        raw.address,
        raw.text,
        opcode,
        guard,
        control & 15,
        control >> 5 & 7,
        control >> 8 & 7,
        control >> 11 & 63,
        labels.get(jump[1]) if jump else None,
    )
