"""From kernels of a plan to predicted milliseconds: loops, what is around them, blocks per
multiprocessor, waves of the grid.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .boxes import Ring, first_wait, is_remote
from .listing import Instruction, Listing
from .multiprocessor import SCHEDULERS, Multiprocessor, Rates, cycles_of_code, cycles_of_turn, products_of
from .paths import Ends, Loop, Path, path_of
from .toolchain import Assembled

WARP = 32
PLAYED_TURNS = 4
PLAYED_TILES = 6  # the first third of them are not counted
_KINDS = {"HMMA": "products", "HGMMA": "products", "LDSM": "LDSM", "LDGSTS": "copies", "UTMALDG": "copies"}


@dataclass(frozen=True)
class Limits:
    """The resources of a multiprocessor: warps, bytes of shared memory, registers, blocks."""

    warps: int
    shared: int
    registers: int = 65536
    blocks: int = 32
    reserved: int = 1024  # bytes of shared memory that each block takes on top of its own

    def blocks_of(self, assembled: Assembled, threads: int, shared: int) -> int:
        """Blocks that run at a time: CUDA programming guide, technical specifications."""
        warps = -(-threads // WARP)
        registers = -(-assembled.registers // 8) * 8 * WARP * warps
        memory = shared + assembled.shared + self.reserved
        room = min(self.warps // warps, self.registers // registers, self.shared // memory)
        return max(1, min(self.blocks, room))


def instructions_of(path: Path) -> list[Instruction]:
    """Those of a path outside its loops."""
    return [part for part in path.parts if isinstance(part, Instruction)]


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.kind == "BAR"


def has_products(path: Path) -> bool:
    return any(products_of(part) for part in instructions_of(path))


def without(path: Path, left_out: Sequence[tuple[Loop, Instruction | None]]) -> Path:
    """The path with no more of some loops than a wait for a box, if there is one."""

    def kept(part: Instruction | Loop) -> tuple[Instruction | Loop, ...]:
        waits = [wait for loop, wait in left_out if loop is part]
        return tuple(filter(None, waits)) if waits else (part,)

    return Path(tuple(itertools.chain.from_iterable(map(kept, path.parts))), path.taken)


def _before(path: Path, loop: Loop | None) -> tuple[Instruction | Loop, ...]:
    """The parts before a loop; all, where it is none of them."""
    return path.parts[: path.parts.index(loop)] if loop in path.parts else path.parts


@dataclass
class KernelModel:
    """One kernel on one kind of multiprocessor.

    Attributes:
        blocks: of a multiprocessor at a time.
    """

    listing: Listing
    assembled: Assembled
    rates: Rates
    warps: int
    blocks: int

    @cached_property
    def path(self) -> Path:
        return path_of(self.listing)

    @cached_property
    def main_loop(self) -> Loop | None:
        """The loop of products that takes most of them; None in kernels without products."""
        loops = [loop for loop in self.path.loops() if has_products(loop.body)]
        return max(loops, key=lambda loop: self._products_of(loop), default=None)

    @cached_property
    def tile_loop(self) -> Loop | None:
        """The loop over tiles around the main loop; None where a block makes one tile."""
        outer = [loop for loop in self.path.loops() if self.main_loop in loop.body.parts]
        return outer[0] if outer else None

    @cached_property
    def product_loops(self) -> list[Loop]:
        """The main loop, and those of the tile's other products, each as long as the main loop."""
        body = self.tile_loop.body if self.tile_loop else self.path
        loops = [part for part in body.parts if isinstance(part, Loop) and part.turns == self.main_loop.turns]
        return [loop for loop in loops if self._products_of(loop) == self._products_of(self.main_loop)]

    @staticmethod
    def _products_of(loop: Loop) -> int:
        return sum(products_of(part) for part in instructions_of(loop.body))

    # ---- the main loop ---------------------------------------------------------------------------

    def mix(self) -> dict[str, int]:
        """Instructions of one turn of the main loop: HMMA or HGMMA, LDSM, copies, others."""
        kinds = Counter(_KINDS.get(part.kind, "other") for part in instructions_of(self.main_loop.body))
        return {kind: kinds[kind] for kind in ("products", "LDSM", "copies", "other")}

    def turn_cycles(self, blocks: int) -> float:
        """Of one turn of the main loop of that many blocks of a multiprocessor."""
        if blocks not in self._turns:
            body = instructions_of(self.main_loop.body)
            self._turns[blocks] = cycles_of_turn(
                self.rates, body, self.main_loop.body.taken, self.warps, blocks, self.ring
            )
        return self._turns[blocks]

    @cached_property
    def _turns(self) -> dict[int, float]:
        return {}

    @cached_property
    def ring(self) -> Ring:
        """That of boxes, as the main loop finds it."""
        mbarriers = sum(one.opcode.startswith("SYNCS.EXCH") for one in self.listing.instructions)
        ahead = 0
        for part in self._before_copies:
            if isinstance(part, Loop) and has_products(part.body):
                ahead = 0  # a product reads all that is copied for it
                continue
            trace = Path((part,), frozenset()).expand(Ends(1, 1), PLAYED_TURNS)
            ahead += sum(one.announced > 0 for one in trace)
        is_of_pair = any(is_remote(one) for one in self.listing.instructions)
        return Ring(mbarriers // 2, ahead, self.rates.remote if is_of_pair else 0)

    @cached_property
    def _before_copies(self) -> tuple[Instruction | Loop, ...]:
        """What is before the main loop in the loop over tiles, or before that loop,
        where tiles ask for boxes of the next one.
        """
        if not self.tile_loop or self.asks_for_next:
            return _before(self.path, self.tile_loop or self.main_loop)
        return _before(self.tile_loop.body, self.main_loop)

    @cached_property
    def asks_for_next(self) -> bool:
        """Whether the first boxes of a tile are asked for in the main loop of the tile before."""
        has_boxes = any(one.kind == "UTMALDG" for one in self.listing.instructions)
        before = Path(_before(self.tile_loop.body, self.main_loop), frozenset())
        trace = before.expand(Ends(1, 1), 1)
        return has_boxes and not any(one.kind == "UTMALDG" for one in trace)

    def share_of_peak(self, operations_of_cycle: float) -> float:
        """Operations of the main loop in a cycle,
        of those that the data sheet says of a multiprocessor.
        """
        made = 2 * self._products_of(self.main_loop) * self.warps * self.blocks
        return made / self.turn_cycles(self.blocks) / operations_of_cycle

    # ---- what is around it -----------------------------------------------------------------------

    @cached_property
    def first_wait(self) -> Instruction | None:
        """Of the main loop, for the box that was asked for first; None where there are no boxes."""
        return first_wait(instructions_of(self.main_loop.body))

    @cached_property
    def tile_path(self) -> Path:
        """What a block executes for each tile, without loops of products: prologue and epilogue.
        Where boxes are copied, the first wait of each loop is part of it, since the copies of a
        tile start with it, unless they were asked for in the tile before.
        """
        if self.tile_loop and self.asks_for_next:
            return without(self.tile_loop.body, [(loop, None) for loop in self.product_loops])
        waits = [(loop, first_wait(instructions_of(loop.body))) for loop in self.product_loops]
        return without(self.tile_loop.body if self.tile_loop else self.path, waits)

    @cached_property
    def block_path(self) -> Path:
        """What a block executes once, without its tiles."""
        if not self.tile_loop:
            return Path((), frozenset())
        return without(self.path, [(self.tile_loop, self.first_wait if self.asks_for_next else None)])

    def cycles(self, path: Path, ends: Ends) -> float:
        """Of a path that one block runs once. Of long loops a few turns are played."""
        key = (id(path), ends)
        if key not in self._cycles:
            cycles = self._play(path.expand(ends, PLAYED_TURNS), replace(self.ring, ahead=0))
            for loop in path.parts:
                if isinstance(loop, Loop) and (left := loop.count(ends) - PLAYED_TURNS) > 0:
                    some = Path((replace(loop, turns=PLAYED_TURNS),), frozenset())
                    cycles += left * self._play(some.expand(ends, PLAYED_TURNS), self.ring) / PLAYED_TURNS
            self._cycles[key] = cycles
        return self._cycles[key]

    def tile_cycles(self, ends: Ends) -> float:
        """Of prologue and epilogue of a tile.
        In a loop, stores of the tile before are still under way.
        """
        once = self.cycles(self.tile_path, ends)
        return self.cycles(self._two_tiles, ends) - once if self.tile_loop else once

    @cached_property
    def is_apart(self) -> bool:
        """Whether warps go from tile to tile without a barrier. Then some still multiply while
        others already use what they have multiplied.
        """
        return bool(self.tile_loop) and self.asks_for_next and not self.tile_path.has(_is_barrier)

    def apart_cycles(self, ends: Ends, turns: int) -> float:
        """Of a tile whose warps are apart, with `turns` turns of its main loop."""
        if (ends, turns) not in self._apart:
            parts = tuple(
                replace(part, turns=turns) if part in self.product_loops else part
                for part in self.tile_loop.body.parts
            )
            path = Path(parts, self.tile_loop.body.taken)
            trace = list(path.expand(ends, max(turns, PLAYED_TURNS)))
            first, all_of_them = (
                Multiprocessor(
                    self.rates, trace, path.every_taken(), self.warps, 1, self.near_loads, self.ring
                )
                .play(tiles)
                .cycles
                for tiles in (PLAYED_TILES // 3, PLAYED_TILES)
            )
            self._apart[ends, turns] = (all_of_them - first) / (PLAYED_TILES - PLAYED_TILES // 3)
        return self._apart[ends, turns]

    @cached_property
    def _apart(self) -> dict[tuple[Ends, int], float]:
        return {}

    @cached_property
    def _two_tiles(self) -> Path:
        return Path(2 * self.tile_path.parts, self.tile_path.taken)

    def _play(self, trace: Iterable[Instruction], ring: Ring) -> float:
        taken = self.path.every_taken()
        return cycles_of_code(self.rates, list(trace), taken, self.warps, self.near_loads, ring)

    @cached_property
    def near_loads(self) -> frozenset[int]:
        """Loads of loops over all tokens, which read the same lines for each tile."""
        loops = [loop for loop in self.path.loops() if loop.is_of_tokens() and not has_products(loop.body)]
        parts = [part for loop in loops for part in instructions_of(loop.body)]
        return frozenset(part.address for part in parts if part.kind == "LDG")

    @cached_property
    def _cycles(self) -> dict[tuple[int, Ends], float]:
        return {}

    def issue_cycles(self, path: Path, ends: Ends) -> float:
        """Of the schedulers alone, for one block."""
        return path.length(ends) * self.warps / SCHEDULERS


@dataclass(frozen=True)
class Launches:
    """All launches of one kernel in a call.

    Attributes:
        each: what `describe` says of every launch, and "columns" of a vocabulary split.
        bytes: least bytes that all of them move between the chip and its memory: each operand once.
    """

    each: Sequence[Mapping[str, Any]]
    bytes: int

    def total(self, key: str) -> int:
        return sum(launch[key] for launch in self.each)


@dataclass(frozen=True)
class Prediction:
    """One kernel of a call: what the model says of all its launches.

    Attributes:
        seconds: the longest of the three bounds for each launch, and the time of a launch.
        bound: which one that is for most of the time: "code", "cache" or "memory".
        waves: blocks of a launch over those that run at a time; of the longest launch.
        tile_cycles: prologue and epilogue of a tile; of the whole kernel where it has no products.
        tile_share: of them in the time of a tile.
    """

    seconds: float
    bound: str
    waves: float
    tile_cycles: float
    tile_share: float


def predict(model: KernelModel, launches: Launches, chip: Mapping[str, float]) -> Prediction:
    """Predicted time of the launches of a kernel on a chip."""
    code = [_code_cycles(model, launch, chip) / chip["hertz"] for launch in launches.each]
    cache_rate = model.rates.cache_bytes * chip["multiprocessors"] * chip["hertz"]
    cache = [launch["global_bytes"] / cache_rate for launch in launches.each]
    memory = launches.bytes / len(launches.each) / chip["reached_memory_rate"]
    bounds = {"code": sum(code), "cache": sum(cache), "memory": memory * len(code)}
    seconds = sum(max(c, far, memory) + chip["launch_seconds"] for c, far in zip(code, cache, strict=True))
    longest = max(launches.each, key=lambda launch: launch["tasks"])
    waves = longest["tasks"] / (chip["multiprocessors"] * model.blocks)
    tile, share = _around(model, longest)
    return Prediction(seconds, max(bounds, key=bounds.__getitem__), waves, tile, share)


def _ends(launch: Mapping[str, Any]) -> Ends:
    return Ends(launch["tokens"], launch["columns"])


def _turns_of_product(model: KernelModel, launch: Mapping[str, Any]) -> float:
    """Turns of the main loop for one product: the work of the plan, shared out over warps."""
    products = model.mix()["products"] * model.warps
    return launch["matrix_instructions"] / max(launch["product_tiles"], 1) / products


def _around(model: KernelModel, launch: Mapping[str, Any]) -> tuple[float, float]:
    if model.main_loop is None:
        return model.cycles(model.path, _ends(launch)), 1.0
    whole = _tile_cycles(model, launch)
    loop = len(model.product_loops) * _turns_of_product(model, launch) * model.turn_cycles(1)
    around = max(whole - loop, 0.0)  # tiles that overlap may take no longer than their products
    return around, around / whole


def _tile_cycles(model: KernelModel, launch: Mapping[str, Any]) -> float:
    """Of one tile of a block alone, products included."""
    turns = _turns_of_product(model, launch)
    if model.is_apart:
        return model.apart_cycles(_ends(launch), max(round(turns), 1))
    return len(model.product_loops) * turns * model.turn_cycles(1) + model.tile_cycles(_ends(launch))


def _code_cycles(model: KernelModel, launch: Mapping[str, Any], chip: Mapping[str, float]) -> float:
    """Cycles until the last block of a grid is done. Blocks of a multiprocessor run in rounds of as
    many as fit; each round takes as long as the chain of one block alone, or as the units that its
    blocks share.
    """
    if launch["tasks"] == 0:
        return 0.0
    blocks = math.ceil(launch["tasks"] / chip["multiprocessors"])
    rounds, rest = divmod(blocks, model.blocks)
    cycles = rounds * _round_cycles(model, launch, model.blocks)
    return cycles + (_round_cycles(model, launch, rest) if rest else 0.0)


def _round_cycles(model: KernelModel, launch: Mapping[str, Any], blocks: int) -> float:
    ends = _ends(launch)
    if model.main_loop is None:
        return max(model.cycles(model.path, ends), blocks * model.issue_cycles(model.path, ends))
    products = launch["product_tiles"] / launch["tasks"]
    tiles, turns = products / len(model.product_loops), _turns_of_product(model, launch)
    tile, block = model.tile_path, model.block_path
    chain = tiles * _tile_cycles(model, launch) + model.cycles(block, ends)
    if blocks == 1:
        return chain
    issue = blocks * (tiles * model.issue_cycles(tile, ends) + model.issue_cycles(block, ends))
    return max(chain, products * turns * model.turn_cycles(blocks) + issue)
