"""Runs the plan stage in float32 NumPy: random tiles, random vocab_splits,
any order of merging neighbours.

It knows sweeps, finishes and gradients, no schedule and no kernels; so it says whether form-sweeps
is right, and whether merge regions are associative, apart from any code generation.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field

import numpy as np
from logitile.reference.philox import uniform

F32 = np.float32
PER_ELEMENT = ("logits", "vocab", "dense")


# ---- reading the text ----------------------------------------------------------------------------


@dataclass
class Region:
    """Straight-line scalar code: arguments, ops as (result, name, rest of line),
    operands of the yield.
    """

    arguments: list[str] = field(default_factory=list)
    ops: list[tuple[str, str, str]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    adjoints: list[str] = field(default_factory=list)


@dataclass
class Part:
    """A sweep, a finish or a gradient, by the names of its regions."""

    kind: str
    phase: str
    name: str = ""
    sweep: str = ""
    names: list[str] = field(default_factory=list)
    summed: bool = False  # a finish adds up what its places give
    # of a sweep: logits, and indices into them
    picks: list[tuple[str, str]] = field(default_factory=list)
    regions: dict[str, Region] = field(default_factory=dict)


_HEADER = re.compile(
    r"logitile\.(sweep|finish) @(\w+) (\w+)(?: of @(\w+))?(?: places \d+)?( summed)? (?:state|results) "
    r"\[(.*?)\] (?:picks \[(.*)\] )?(?:init )?\{"
)
_OP = re.compile(r"(%[\w#-]+) = ([\w.]+)(.*)")


def read_plan(text: str) -> list[Part]:
    """The parts of the only program in 'text', in order."""
    parts: list[Part] = []
    region: Region | None = None
    for line in (raw.strip() for raw in text.splitlines()):
        header = _HEADER.match(line)
        if header:
            kind, name, phase, sweep, summed, names, picks = header.groups()
            names = re.findall(r'"([^"]+)"', names)
            picked = re.findall(r'<"([^"]+)" at "([^"]+)"', picks or "")
            parts.append(Part(kind, phase, name, sweep or "", names, bool(summed), picked))
            region = parts[-1].regions.setdefault("init" if kind == "sweep" else "body", Region())
        elif line == "logitile.gradient {":
            parts.append(Part("gradient", ""))
            region = parts[-1].regions.setdefault("body", Region())
        elif match := re.match(r"\} (candidate|update|merge) \{", line):
            region = parts[-1].regions.setdefault(match.group(1), Region())
        elif line.startswith("^bb0"):
            region.arguments = re.findall(r"(%[\w-]+)", line)
        elif line.startswith("logitile.yield"):
            region.results = re.findall(r"(%[\w#-]+)", line)
        elif line.startswith("logitile.adjoint"):
            region.adjoints.append(line)
        elif (match := _OP.match(line)) and region is not None:
            region.ops.append(match.groups())
    return parts


# ---- scalar ops ----------------------------------------------------------------------------------


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(F32)


def _erf(x):
    return np.vectorize(math.erf, otypes=[F32])(x)


def _fma(a, b, c):
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(F32)


def _multiply_no_nan(w, x):
    return np.where(w == 0, F32(0), w * x)


_UNARY = {
    "math.exp": np.exp, "math.log": np.log, "math.log1p": np.log1p, "math.expm1": np.expm1,
    "math.erf": _erf, "math.sin": np.sin, "math.cos": np.cos,
    "math.tanh": np.tanh, "math.sqrt": np.sqrt, "math.absf": np.abs, "math.absi": np.abs,
    "math.floor": np.floor, "math.isfinite": np.isfinite, "math.isnan": np.isnan, "arith.negf": np.negative,
    "logitile.sigmoid": _sigmoid, "logitile.softplus": _softplus,
}  # fmt: skip
_BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.andi": np.logical_and,
    "arith.ori": np.logical_or, "arith.xori": np.logical_xor, "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "math.powf": np.power, "logitile.multiply_no_nan": _multiply_no_nan,
}  # fmt: skip
_ORDER = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip


def _compare(predicate, a, b):
    if predicate in ("uno", "ord"):
        unordered = np.isnan(a) | np.isnan(b)
        return unordered if predicate == "uno" else ~unordered
    if predicate in _ORDER:
        return _ORDER[predicate](a, b)
    result = _ORDER[predicate[1:]](a, b)
    if predicate[0] == "s":
        return result
    unordered = np.isnan(a) | np.isnan(b)
    return result | unordered if predicate[0] == "u" else result & ~unordered


def _constant(rest):
    text, _, type_ = rest.strip().partition(" : ")
    if text in ("true", "false"):
        return np.bool_(text == "true")
    if type_ == "i32":
        return np.int64(int(text))
    if text.startswith("0x"):
        return np.uint32(int(text, 16)).view(F32)
    return F32(text)


class Frame:
    """What regions read: tiles of logits and inputs, per-token values [n, 1],
    the columns of the tile.
    """

    def __init__(self, inputs, known):
        self.inputs, self.known, self.tile = inputs, known, None

    def run(self, region: Region, arguments=()) -> dict:
        values = dict(zip(region.arguments, arguments, strict=True))
        for result, name, rest in region.ops:
            values[result] = self._op(name, rest, values)
        return values

    def results(self, region: Region, arguments=()):
        values = self.run(region, arguments)
        return [values[name] for name in region.results]

    def _op(self, name, rest, values):
        operands = [values[x] for x in re.findall(r"%[\w#-]+", rest)]
        if name == "arith.constant":
            return _constant(rest)
        if name in _UNARY:
            return _UNARY[name](*operands)
        if name in _BINARY:
            return _BINARY[name](*operands)
        if name in ("arith.cmpf", "arith.cmpi"):
            return _compare(rest.split(",")[0].strip(), *operands)
        if name == "arith.select":
            return np.where(*operands)
        if name == "math.fma":
            return _fma(*operands)
        if name == "logitile.uniform":
            return uniform(*operands).astype(F32)
        if name == "math.clampf":
            return np.minimum(np.maximum(operands[0], operands[1]), operands[2])
        if name in ("arith.sitofp", "arith.uitofp"):
            return np.asarray(operands[0], F32)
        if name == "arith.extui":
            return np.asarray(operands[0], np.int64)
        if name == "logitile.column":
            return self.tile[0]
        if name == "logitile.gather":
            return self._pick(rest, values)
        if name in ("logitile.known", "logitile.picked"):
            return self._known(rest)
        return self._input(rest)

    def _known(self, rest):
        finish, number = re.match(r"\s*<@(\w+)\[(\d+)\]>", rest).groups()
        return self.known[finish, int(number)]

    def _input(self, rest):
        kind, name, index = re.match(r'\s*(\w+)(?: "([^"]+)")?(?:\[(\d+)\])?', rest).groups()
        if kind == "logits":
            return self.tile[1][name]
        if kind == "token_index":
            return np.arange(self.count)[:, None]
        value = self.inputs[kind, name]
        if kind == "token":
            return value[:, [int(index)]] if index is not None else value
        if kind in ("vocab", "dense"):
            return value if self.tile is None else value[:, self.tile[0][0]]
        return value

    def _pick(self, rest, values):
        source, index = re.match(r"\s*(%[\w#-]+)\[(%[\w#-]+)\]", rest).groups()
        whole, tile = self.origin[source], self.tile
        self.tile = None
        data = self._input(whole)
        self.tile = tile
        return self.entries(data, values[index])

    def entries(self, data, index):
        """What stands at an index per token, or at the indices of a list;
        the nearest where there is none.
        """
        index = np.broadcast_to(index, (self.count, index.shape[1]))
        data = np.broadcast_to(data, (self.count, data.shape[1]))
        return np.take_along_axis(data, np.clip(index, 0, data.shape[1] - 1), 1)


# ---- a program -----------------------------------------------------------------------------------


class PlanRun:
    """One run of a program.

    Args:
        parts: read_plan(text).
        logits: by pair, float32 [n, V].
        inputs: (kind, name) -> array; token [n, 1] or [n, K], vocab [1, V], dense [n, V], scalar,
            cotangent [n, 1].
        rng: chooses tiles, vocab_splits and the order of merges.
        pieces: how many the vocabulary is cut into; 1 to 6 without it.
    """

    def __init__(self, parts, logits, inputs, rng, pieces=None):
        self.parts, self.logits, self.rng, self.pieces = parts, logits, rng, pieces
        some = next(iter(logits.values()))
        self.count, self.vocab = some.shape
        self.frame = Frame(inputs, {})
        self.frame.count = self.count
        self.states, self.dense, self.adjoints, self.results = {}, {}, {}, {}
        self.sweeps = {part.name: part for part in parts if part.kind == "sweep"}

    def run(self):
        for part in self.parts:
            if part.kind == "sweep":
                self.states[part.name] = self._sweep(part)
                for number, (logits, indices) in enumerate(part.picks):
                    picked = self.frame.entries(self.logits[logits], self.frame.inputs["token", indices])
                    self.frame.known[part.name, number] = picked
            elif part.kind == "finish":
                self._finish(part)
            else:
                self._gradient(part)
        return self

    def _view(self, region):
        """Where a gathered input was read."""
        self.frame.origin = {result: rest for result, name, rest in region.ops if name == "logitile.input"}

    def _full(self, value, width=None):
        return np.broadcast_to(value, (self.count, width or 1))

    def _tiles(self):
        pieces = self.pieces or int(self.rng.integers(1, 7))
        inner = self.rng.choice(np.arange(1, self.vocab), pieces - 1, replace=False)
        cuts = np.sort(np.concatenate([[0, self.vocab], inner]))
        return list(itertools.pairwise(cuts))

    def _visit(self, tile):
        lo, hi = tile
        columns = np.arange(lo, hi)[None, :]
        self.frame.tile = (columns, {name: z[:, lo:hi] for name, z in self.logits.items()})
        return hi - lo

    def nothing(self, part):
        """The state of no columns at all."""
        return [self._full(x) for x in self.frame.results(part.regions["init"])]

    def _lift(self, part, tile):
        """The state of one tile: maxima first, then every column under fixed maxima."""
        width = self._visit(tile)
        frame, regions = self.frame, part.regions
        state = self.nothing(part)
        self._view(regions["candidate"])
        bounds = frame.results(regions["candidate"])
        with np.errstate(invalid="ignore"):
            for i, bound in enumerate(bounds):
                x = self._full(bound, width)
                largest = np.where(np.isnan(x), -np.inf, x).max(1, keepdims=True)
                state[i] = np.maximum(state[i], largest).astype(F32)
        self._view(regions["update"])
        columns, logits = frame.tile
        for j in range(width):
            frame.tile = (columns[:, j : j + 1], {name: z[:, j : j + 1] for name, z in logits.items()})
            state = [self._full(x) for x in frame.results(regions["update"], state)]
        return state

    def merge(self, part, a, b):
        self._view(part.regions["merge"])
        return [self._full(x) for x in self.frame.results(part.regions["merge"], [*a, *b])]

    def _sweep(self, part):
        states = [self._lift(part, tile) for tile in self._tiles()]
        while len(states) > 1:  # any bracketing of neighbours
            k = int(self.rng.integers(len(states) - 1))
            states[k : k + 2] = [self.merge(part, states[k], states[k + 1])]
        return states[0]

    def _finish(self, part):
        region = part.regions["body"]
        self._view(region)
        self.frame.tile = None
        state = self.states[part.sweep] if part.sweep else []
        values = self.frame.results(region, state)
        for number, (name, value) in enumerate(zip(part.names, values, strict=True)):
            value = self._full(value, np.shape(value)[1] if np.ndim(value) == 2 else 1)
            if part.summed:
                value = value.sum(1, dtype=np.float64, keepdims=True).astype(F32)
            self.frame.known[part.name, number] = self.results[name] = value

    def _gradient(self, part):
        region = part.regions["body"]
        self._view(region)
        blocks = {}
        for tile in self._tiles():
            width = self._visit(tile)
            values = self.frame.run(region)
            for line in region.adjoints:
                head = re.match(r'logitile\.adjoint (\w+) "([^"]+)"(?:\[(\d+)\])?', line)
                kind, name, index = head.groups()
                key = (kind, name, None if index is None else int(index))
                dense, places = re.search(r"dense (%[\w#-]+)", line), re.search(r" places (\d+) ", line)
                if dense:
                    extent = int(places[1]) if places else width if kind in PER_ELEMENT else 1
                    blocks.setdefault(key, []).append(self._full(values[dense.group(1)], extent).astype(F32))
                rows = re.findall(r"(%[\w#-]+) -> (%[\w#-]+)", line)
                self.adjoints[key] = [tuple(values[part] for part in row) for row in rows]
        for key, pieces in blocks.items():
            self.dense[key] = np.concatenate(pieces, 1) if key[0] in PER_ELEMENT else pieces[0]

    def gradient(self, kind, name, index=None):
        """Of one input: [n, V] for logits, Vocab and Dense, [n, 1] per token, [n, K] of a list;
        rows included.
        """
        key = (kind, name, index)
        total = np.zeros((self.count, self.vocab if kind in PER_ELEMENT else 1), F32)
        if key in self.dense:
            total = total + self.dense[key]
        for columns, coefficients in self.adjoints.get(key, []):
            columns, coefficients = np.broadcast_arrays(self._full(columns, columns.shape[1]), coefficients)
            np.add.at(total, (np.arange(self.count)[:, None], columns), coefficients)
        return total
