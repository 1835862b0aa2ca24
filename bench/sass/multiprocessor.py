"""One multiprocessor that plays warps through a trace of instructions: when each issues,
and on which pipe.

Stall counts and scoreboards are those of the assembler. On top of them there are the four
schedulers, the tensor cores of each, its integer and float pipes, the pipe to shared memory that
all warps share, groups of asynchronous copies and of products of warpgroups, copies of boxes with
their mbarriers, and barriers of a block. What is not there: L2, DRAM, clocks that fall, instruction
caches.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .boxes import NO_RING, Ring, RingState, copy_codes, groups_left, is_release, is_wait
from .listing import NO_SCOREBOARD, Instruction

SCHEDULERS = 4
SHARED_BYTES = 128  # that the pipe to shared memory moves at a time
MMA_PRODUCTS = 16 * 8 * 16  # multiplications of one HMMA.16816
STORED_BOX = 16 * 128  # bytes that a UTMASTG reads from shared memory
WARPGROUP = 4  # warps that share the products of one HGMMA


@dataclass(frozen=True)
class Rates:
    """Cycles that instructions take, for one kind of multiprocessor.

    Attributes:
        mma: between two HMMA of a scheduler. The larger of what the assembler leaves between them
            (8 cycles, on sm_90 6) and of the products that the chip makes in a cycle.
        products: of 16 bits that the tensor cores of a scheduler make in a cycle.
        float_issue: of a float instruction: 2 where a scheduler has 16 lanes, 1 where it has 32.
        The others are latencies and intervals as microbenchmarks of sm_80 and sm_90 give them, in
        cycles: Sun et al. 2022, arXiv:2206.02874; Luo et al. 2024, arXiv:2402.13499.
    """

    mma: float
    products: float
    float_issue: float
    integer_issue: float = 2
    special_issue: float = 8
    shared_latency: float = 26  # of a matrix or word from shared memory, once the pipe serves it
    shared_words: float = 1  # of the pipe to shared memory, for 128 bytes
    copy_request: float = 2  # of the same pipe, when an asynchronous copy starts
    copy_fill: float = 4  # of the same pipe, when its 512 bytes arrive
    copy_read: float = 20  # until the addresses of a copy or store were read
    link_bytes: float = 64  # of a cycle that boxes bring from the L2 to one multiprocessor
    memory_latency: float = 550  # of a copy, of a box too
    load_latency: float = 300  # of what is mostly in the L2
    near_latency: float = 40  # of what is in the L1
    memory_issue: float = 4  # of the pipe to memory, for a load or store of a warp
    fixed_latency: float = 24  # of MUFU, SHFL, POPC, S2R and the like
    barrier: float = 18
    remote: float = 180  # until an arrival at another block of the cluster is there
    branch: float = 6
    cache_bytes: float = (
        46  # of a cycle from the L2: 5120 of all multiprocessors of an a100 (NVIDIA's white paper)
    )
    queue: int = 12  # instructions of a scheduler that wait for shared memory


def rates_of(sm: int, chip: Mapping[str, float]) -> Rates:
    """Rates of the compute capability, such as 80, and chip that `describe_target` describes."""
    cycles = chip["multiprocessors"] * chip["hertz"]
    products = chip["tensor_rate"] / 2 / cycles / SCHEDULERS
    shortest = 6 if sm == 90 else 8
    mma = max(shortest, MMA_PRODUCTS / products)
    return Rates(mma=mma, products=products, float_issue=2 if sm == 80 else 1)


def products_of(instruction: Instruction) -> int:
    """Multiplications of 16-bit elements that an instruction makes for one warp;
    0 for those without.
    """
    if instruction.kind == "HMMA":
        return MMA_PRODUCTS
    shape = _WARPGROUP_SHAPE.match(instruction.opcode)
    return math.prod(map(int, shape.groups())) // WARPGROUP if shape else 0


def _operand_bytes(instruction: Instruction) -> float:
    """What an HGMMA reads from shared memory for one warp: 16 rows of one operand, and, once for
    the whole warpgroup, all of the other.
    """
    rows, columns, steps = map(int, _WARPGROUP_SHAPE.match(instruction.opcode).groups())
    return (rows + columns) * steps * 2 / WARPGROUP


_WARPGROUP_SHAPE = re.compile(r"HGMMA\.(\d+)x(\d+)x(\d+)\.")
_INTEGER = re.compile(r"IADD|LOP3|SHF|LEA|ISETP|SEL|PRMT|VIADD|IMNMX|VIMNMX|PLOP3|MOV|FSETP|FMNMX|FSEL")
_FLOAT = re.compile(r"IMAD|FFMA|FADD|FMUL")
_VARIABLE = re.compile(r"MUFU|SHFL|POPC|I2F|F2I|F2F|FLO|S2R|LDC|ULDC|S2UR|R2UR|VOTE|MATCH")


@dataclass(frozen=True)
class Played:
    """What a multiprocessor did.

    Attributes:
        cycles: until the last warp was done.
        products: the cycle in which each HMMA or HGMMA issued, in order.
    """

    cycles: float
    products: tuple[float, ...]


class _Warp:
    """Where a warp is in the trace."""

    def __init__(self, block: int, number: int) -> None:
        self.block, self.number = block, number  # in its block
        self.place = 0
        self.turn = 0
        self.ready = 0.0
        self.boards = [0.0] * 6  # when each scoreboard is free
        self.copies = 0.0  # when those that no group has yet are there
        self.groups: list[float] = []
        self.product_groups: list[float] = []  # when those of a warpgroup end
        self.waits = False  # at a barrier


class Multiprocessor:
    """Plays a trace on `warps` warps of each of `blocks` blocks.

    Args:
        trace: the instructions of one turn.
        taken: addresses of branches that jump.
        near: addresses of loads whose lines are in the L1.
        ring: where copies of boxes go; the first warp of a block asks for them.
    """

    def __init__(
        self,
        rates: Rates,
        trace: Sequence[Instruction],
        taken: frozenset[int],
        warps: int,
        blocks: int,
        near: frozenset[int] = frozenset(),
        ring: Ring = NO_RING,
    ) -> None:
        self.near = near
        copies = copy_codes(trace)
        self.around_copies = {code.branch: code.after for code in copies}
        self.in_copies = {place: code for code in copies for place in range(code.branch, code.after)}
        self.ring, self.rings = ring, [RingState(ring, warps) for _ in range(blocks)]
        self.link = 0.0  # when the last box that was asked for is there
        self.rates, self.trace, self.taken = rates, trace, taken
        self.warps_of_block = warps
        self.warps = [_Warp(number // warps, number % warps) for number in range(warps * blocks)]
        self.tensor = [0.0] * SCHEDULERS
        self.integer = [0.0] * SCHEDULERS
        self.float = [0.0] * SCHEDULERS
        self.special = [0.0] * SCHEDULERS
        self.queues: list[list[float]] = [[] for _ in range(SCHEDULERS)]
        self.shared = self.memory = 0.0
        self.fills: list[float] = []  # when copies arrive
        self.arrived = [0] * blocks
        self.products: list[float] = []

    def play(self, turns: int) -> Played:
        """Every warp goes through the trace so often."""
        free = [0.0] * SCHEDULERS
        last: list[int | None] = [None] * SCHEDULERS
        end = 0.0
        choices = [self._choose(s, free[s], last[s], turns) for s in range(SCHEDULERS)]
        while any(choice is not None for choice in choices):
            scheduler = min((c[0], s) for s, c in enumerate(choices) if c is not None)[1]
            time, number = choices[scheduler]
            frees_others = self._issue(scheduler, number, time)
            free[scheduler], last[scheduler] = time + 1, number
            end = max(end, self.warps[number].ready)
            for s in range(SCHEDULERS) if frees_others else (scheduler,):
                choices[s] = self._choose(s, free[s], last[s], turns)
        if any(warp.turn < turns for warp in self.warps):
            raise ValueError("warps wait for what no other warp does")
        return Played(end, tuple(self.products))

    # ---- which warp issues next ------------------------------------------------------------------

    def _choose(self, scheduler: int, free: float, last: int | None, turns: int) -> tuple[float, int] | None:
        """The cycle and the warp that a scheduler issues next: the earliest;
        of several the last one again, else the oldest.
        """
        best = None
        for number in range(scheduler, len(self.warps), SCHEDULERS):
            warp = self.warps[number]
            if warp.waits or warp.turn >= turns:
                continue
            rank = (max(free, self._earliest(scheduler, warp)), number != last, number)
            if best is None or rank < best:
                best = rank
        return None if best is None or math.isinf(best[0]) else (best[0], best[2])

    def _earliest(self, scheduler: int, warp: _Warp) -> float:
        instruction = self.trace[warp.place]
        time = warp.ready
        for board in range(6):
            if instruction.waits >> board & 1:
                time = max(time, warp.boards[board])
        kind = instruction.kind
        if is_wait(instruction):
            ring = self.rings[warp.block]
            return max(time, ring.is_free() if warp.place in self.in_copies else ring.is_there(warp.number))
        if kind == "HMMA":
            return max(time, self.tensor[scheduler])
        if kind == "DEPBAR":
            return max(time, _pending(instruction, "SB0", warp.groups))
        if instruction.opcode.startswith("WARPGROUP.DEPBAR"):
            return max(time, _pending(instruction, "gsb0", warp.product_groups))
        if kind in ("LDSM", "LDS", "STSM", "STS", "LDGSTS"):
            queue = self.queues[scheduler]
            return max(time, queue[-self.rates.queue]) if len(queue) >= self.rates.queue else time
        if kind == "MUFU":
            return max(time, self.special[scheduler])
        if _FLOAT.match(kind):
            return max(time, self.float[scheduler])
        return max(time, self.integer[scheduler]) if _INTEGER.match(kind) else time

    # ---- what an instruction does ----------------------------------------------------------------

    def _issue(self, scheduler: int, number: int, time: float) -> bool:
        """Returns whether warps of other schedulers may go on."""
        warp, rates = self.warps[number], self.rates
        instruction = self.trace[warp.place]
        kind = instruction.kind
        delay: float = max(instruction.stall, 1)
        frees = False
        if kind == "HMMA":
            self.tensor[scheduler] = time + rates.mma
            self.products.append(time)
            delay = delay if delay < 6 else 1  # a longer stall is what the tensor cores take
        elif kind == "HGMMA":
            self._start_products(scheduler, warp, instruction, time)
        elif kind in ("LDSM", "LDS", "STSM", "STS") and not instruction.guard.startswith("@!PT"):
            self._use_shared(scheduler, warp, instruction, time)
        elif kind == "UTMASTG":
            self._serve(time, STORED_BOX / SHARED_BYTES)
        elif kind == "UTMALDG":
            frees = self._copy_box(warp, time)
        elif kind == "SYNCS":
            frees = self._use_mbarrier(warp, instruction, time)
        elif kind == "LDGSTS":
            self._copy(scheduler, warp, instruction, time)
        elif kind == "LDGDEPBAR":
            warp.groups.append(max(warp.copies, warp.groups[-1] if warp.groups else 0.0))
        elif kind in ("LDG", "STG", "LDL", "STL"):
            self._use_memory(warp, instruction, time)
        elif kind == "BAR":
            frees = self._arrive(warp, time)
        elif kind == "MUFU":
            self.special[scheduler] = time + rates.special_issue
        elif _FLOAT.match(kind):
            self.float[scheduler] = time + rates.float_issue
        elif _INTEGER.match(kind):
            self.integer[scheduler] = time + rates.integer_issue
        if _VARIABLE.match(kind):
            _hold(warp, instruction, time + rates.fixed_latency, time + rates.copy_read)
        left = groups_left(instruction)
        if left is not None:
            self.rings[warp.block].readers[warp.number].left = left
        skips = warp.number > 0 and warp.place in self.around_copies
        jumps = skips or instruction.address in self.taken
        warp.ready = max(warp.ready, time + delay + (rates.branch if jumps else 0))
        self._advance(warp, self.around_copies[warp.place] if skips else warp.place + 1)
        return frees

    def _advance(self, warp: _Warp, place: int) -> None:
        warp.place = place
        if warp.place == len(self.trace):
            warp.place = 0
            warp.turn += 1
            warp.ready += self.rates.branch

    def _serve(self, time: float, cycles: float) -> float:
        """The pipe to shared memory, for a request; returns when it is done. Copies that arrive
        use it too.
        """
        while self.fills and self.fills[0] <= time:
            self.shared = max(self.shared, heapq.heappop(self.fills)) + self.rates.copy_fill
        self.shared = max(self.shared, time + 4) + cycles
        return self.shared

    def _use_shared(self, scheduler: int, warp: _Warp, instruction: Instruction, time: float) -> None:
        words = {"4": 4, "2": 2, "128": 4, "64": 2}.get(instruction.opcode.rpartition(".")[2], 1)
        served = self._serve(time, words * self.rates.shared_words)
        self._queue(scheduler, served - words * self.rates.shared_words)
        _hold(warp, instruction, served + self.rates.shared_latency, time + self.rates.copy_read)

    def _start_products(self, scheduler: int, warp: _Warp, instruction: Instruction, time: float) -> None:
        """The warp goes on. The tensor cores are busy until they have made the products, and until
        both operands have come from shared memory.
        """
        reading = _operand_bytes(instruction) / SHARED_BYTES * self.rates.shared_words
        read = self._serve(time, reading)
        making = max(products_of(instruction) / self.rates.products, reading * WARPGROUP)
        self.tensor[scheduler] = max(max(time, self.tensor[scheduler]) + making, read)
        self.products.append(time)
        if "gsb0" in instruction.text:  # the last one of a group
            warp.product_groups.append(self.tensor[scheduler])

    def _copy(self, scheduler: int, warp: _Warp, instruction: Instruction, time: float) -> None:
        rates = self.rates
        start = self._serve(time, rates.copy_request) - rates.copy_request
        self._queue(scheduler, start)
        arrives = start + rates.memory_latency
        heapq.heappush(self.fills, arrives)
        warp.copies = max(warp.copies, arrives + 2 * rates.copy_fill)
        _hold(warp, instruction, arrives, start + rates.copy_read)

    def _copy_box(self, warp: _Warp, time: float) -> bool:
        """The box comes in pieces that the pipe to shared memory takes, after those that were asked
        for before. Returns whether it is the last of a block.
        """
        rates, code = self.rates, self.in_copies[warp.place]
        starts = max(self.link, time + rates.memory_latency)
        pieces = round(code.box / (rates.copy_fill * SHARED_BYTES))
        for piece in range(1, pieces + 1):
            heapq.heappush(self.fills, starts + piece * rates.copy_fill * SHARED_BYTES / rates.link_bytes)
        self.link = starts + code.box / rates.link_bytes
        if warp.place == code.last:
            self.rings[warp.block].landed.append(self.link)
        return warp.place == code.last

    def _use_mbarrier(self, warp: _Warp, instruction: Instruction, time: float) -> bool:
        """Returns whether warps of other schedulers may go on."""
        ring = self.rings[warp.block]
        if is_wait(instruction):
            _hold(warp, instruction, time + self.rates.fixed_latency, time + self.rates.copy_read)
            if warp.place not in self.in_copies:
                ring.readers[warp.number].seen += 1
        elif is_release(instruction):
            ring.release(warp.number, time)
            return True
        return False

    def _queue(self, scheduler: int, leaves: float) -> None:
        queue = self.queues[scheduler]
        queue.append(leaves)
        del queue[: -self.rates.queue]

    def _use_memory(self, warp: _Warp, instruction: Instruction, time: float) -> None:
        self.memory = max(self.memory, time) + self.rates.memory_issue
        is_near = instruction.address in self.near
        latency = self.rates.near_latency if is_near else self.rates.load_latency
        _hold(warp, instruction, self.memory + latency, self.memory + self.rates.copy_read)

    def _arrive(self, warp: _Warp, time: float) -> bool:
        self.arrived[warp.block] += 1
        warp.waits = True
        if self.arrived[warp.block] < self.warps_of_block:
            return False
        self.arrived[warp.block] = 0
        ring = replace(self.ring, ahead=0)  # products end before
        self.rings[warp.block] = RingState(ring, self.warps_of_block)
        for other in self.warps:
            if other.block == warp.block:
                other.waits = False
                other.ready = max(other.ready, time + self.rates.barrier)
        return True


def _hold(warp: _Warp, instruction: Instruction, result: float, read: float) -> None:
    """Takes the scoreboards of an instruction until its result is there,
    and until its operands were read.
    """
    for board, time in ((instruction.result_board, result), (instruction.read_board, read)):
        if board != NO_SCOREBOARD:
            warp.boards[board] = max(warp.boards[board], time)


def _pending(instruction: Instruction, board: str, groups: Sequence[float]) -> float:
    """When at most so many groups are on their way as `DEPBAR.LE board, n` lets be."""
    match = re.search(rf"\b{board}, (0x[0-9a-f]+|\d+)", instruction.text)
    left = int(match[1], 0) if match else 0
    finished = len(groups) - left
    return groups[finished - 1] if match and finished > 0 else 0.0


# ---- figures -------------------------------------------------------------------------------------


_TURNS = 24  # the first third and the last fifth of them are not counted


def cycles_of_turn(
    rates: Rates,
    trace: Sequence[Instruction],
    taken: frozenset[int],
    warps: int,
    blocks: int,
    ring: Ring = NO_RING,
) -> float:
    """Cycles of one turn of a loop with products, once it is in its stride:
    those of all blocks together.
    """
    played = Multiprocessor(rates, trace, taken, warps, blocks, ring=ring).play(_TURNS)
    of_turn = sum(products_of(instruction) > 0 for instruction in trace) * warps * blocks
    first, last = int(len(played.products) * 0.3), int(len(played.products) * 0.8)
    return (played.products[last] - played.products[first]) * of_turn / (last - first)


def cycles_of_code(
    rates: Rates,
    trace: Sequence[Instruction],
    taken: frozenset[int],
    warps: int,
    near: frozenset[int] = frozenset(),
    ring: Ring = NO_RING,
) -> float:
    """Cycles of code that one block runs once."""
    return Multiprocessor(rates, trace, taken, warps, 1, near, ring).play(1).cycles if trace else 0.0
