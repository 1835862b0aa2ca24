"""Inline PTX of foreign kernels as the intrinsics and texts that the emulator knows:
one table, by the text.

What the emulator reads as it stands is in the table too. A text that is not in it is an UnknownPtx,
so that nothing is left out in silence.
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

CALL = re.compile(
    r'^  (?:(?P<result>%[\w.]+) = )?(?:tail )?call (?P<type>.+?) asm (?:sideeffect )?(?:inteldialect )?'
    r'"(?P<text>[^"]*)", "(?P<constraints>[^"]*)"\((?P<operands>.*)\)(?: #\d+)?(?:, !.*)?$'
)
DECLARED = r"^declare .*?@([\w.]+)\("  # the name of a function


class UnknownPtx(Exception):
    """A kernel holds inline PTX that the table lacks."""


@dataclasses.dataclass
class Call:
    """One place with inline PTX: its operands with their types, and new names for values."""

    result: str
    type: str
    operands: list[str]
    place: int
    lines: list[str] = dataclasses.field(default_factory=list)
    declared: set[str] = dataclasses.field(default_factory=set)
    functions: set[str] = dataclasses.field(default_factory=set)

    def value(self, index: int) -> str:
        return self.operands[index].split()[-1]

    def name(self) -> str:
        return f"%foreign.{self.place}.{len(self.lines)}"

    def add(self, text: str) -> str:
        """One more instruction; its value."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def shared(self, index: int) -> str:
        """An operand that is an address of shared memory as an integer of 32 bits, as a pointer."""
        return f"ptr addrspace(3) {self.add(f'inttoptr {self.operands[index]} to ptr addrspace(3)')}"

    def call(self, name: str, *operands: str, type: str = "void", result: str | None = None) -> str:
        """A call of an intrinsic, whose value replaces that of the call, or is `result`."""
        types = ", ".join(" ".join(operand.split()[:-1]) for operand in operands)
        self.declared.add(f"declare {type} @llvm.nvvm.{name}({types})")
        if result is None:
            result = self.result
        prefix = f"{result} = " if result and type != "void" else ""
        self.lines.append(f"  {prefix}call {type} @llvm.nvvm.{name}({', '.join(operands)})")
        return result


Rule = Callable[[Call], None]


# ---- copies of Ampere, products of warps ---------------------------------------------------------


def copy_whole(call: Call) -> None:
    to, source, count = call.operands
    text = f"cp.async.cg.shared.global.L2::128B [$0], [$1], {count.split()[-1]};"
    call.lines.append(f'  call void asm sideeffect "{text}", "r,l,~{{memory}}"({to}, {source})')


def load_matrices(transposed: str) -> Rule:
    def rule(call: Call) -> None:
        name = f"ldmatrix.sync.aligned.m8n8.x4{transposed}.b16.p3"
        call.call(name, call.shared(0), type="{ i32, i32, i32, i32 }")

    return rule


def multiply_bf16(call: Call) -> None:
    call.call("mma.m16n8k16.row.col.bf16", *call.operands, type="{ float, float, float, float }")


def multiply_f16(call: Call) -> None:
    halves = [f"<2 x half> {call.add(f'bitcast {operand} to <2 x half>')}" for operand in call.operands[:6]]
    name = "mma.m16n8k16.row.col.f32.f32"
    call.call(name, *halves, *call.operands[6:], type="{ float, float, float, float }")


# ---- Hopper --------------------------------------------------------------------------------------


def initialise(call: Call) -> None:
    call.call("mbarrier.init.shared", call.shared(1), call.operands[0])


def arrive(call: Call) -> None:
    call.call("mbarrier.arrive.scope.cta.space.cta", call.shared(0), "i32 1", type="i64", result=call.name())


def arrive_and_expect(call: Call) -> None:
    name = "mbarrier.arrive.expect.tx.scope.cta.space.cta"
    barrier = call.shared(1)
    call.call(name, barrier, call.operands[0], type="i64", result=call.name())


def wait(call: Call) -> None:
    call.functions.add(WAIT)
    call.lines.append(f"  call void @foreign.wait({', '.join(call.operands)})")


def elect(call: Call) -> None:
    """A lane and whether it is this one; the second result keeps its value in the others."""
    both = call.call("elect.sync", call.operands[0], type="{ i32, i1 }", result=call.name())
    lane = call.add(f"extractvalue {{ i32, i1 }} {both}, 0")
    leads = call.add(f"extractvalue {{ i32, i1 }} {both}, 1")
    flag = call.add(f"select i1 {leads}, i32 1, {call.operands[2]}")
    first = call.add(f"insertvalue {{ i32, i32 }} poison, i32 {lane}, 0")
    call.lines.append(f"  {call.result} = insertvalue {{ i32, i32 }} {first}, i32 {flag}, 1")


def load_tensor(call: Call) -> None:
    """To shared memory, with two coordinates and a hint for the cache."""
    to, tensor, barrier, first, second, hint = call.operands
    where = call.add(f"inttoptr {to} to ptr addrspace(7)")
    told = call.shared(2)
    source = call.add(f"inttoptr {tensor} to ptr")
    flags = ("i1 false", "i1 true", "i32 0")  # no multicast, a hint
    to, tensor = f"ptr addrspace(7) {where}", f"ptr {source}"
    call.call("cp.async.bulk.tensor.g2s.tile.2d", to, told, tensor, first, second, "i16 0", hint, *flags)


def cluster_barrier(call: Call) -> None:
    """Of a cluster of one block, where the wait follows the arrival at once."""
    call.call("barrier.cta.sync.aligned.all", "i32 0")


# ---- the table -----------------------------------------------------------------------------------


def intrinsic(name: str) -> Rule:
    """The same operands, no result."""

    def rule(call: Call) -> None:
        call.call(name, *call.operands)

    return rule


def registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"${i}" for i in range(first, first + count)) + "}"


KNOWN_AS_IT_IS = (
    re.compile(r"wgmma\.(fence|commit_group|wait_group)\.sync\.aligned( \$0)?;"),
    re.compile(
        r"\{ \.reg \.pred p; setp\.ne\.b32 p, \$\d+, 0; "
        r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.(bf16\.bf16|f16\.f16) [^;]*; \}"
    ),
)
# A loop around an attempt to wait needs blocks of its own.
WAIT = """
define internal void @foreign.wait(i32 %address, i32 %parity, i32 %ticks) {
  %barrier = inttoptr i32 %address to ptr addrspace(3)
  br label %again
again:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.tl.scope.cta.space.cta(\
ptr addrspace(3) %barrier, i32 %parity, i32 %ticks)
  br i1 %done, label %end, label %again
end:
  ret void
}
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.tl.scope.cta.space.cta(ptr addrspace(3), i32, i32)
"""
MMA = registers(0, 4) + "," + registers(4, 4) + "," + registers(8, 2) + "," + registers(10, 4) + ";"
TABLE: dict[str, Rule] = {
    "": lambda call: None,
    "cp.async.cg.shared.global.L2::128B [$0], [$1], $2;": copy_whole,
    "cp.async.commit_group;": intrinsic("cp.async.commit.group"),
    "cp.async.wait_group $0;": intrinsic("cp.async.wait.group"),
    "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {$0, $1, $2, $3}, [$4];": load_matrices(""),
    "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {$0, $1, $2, $3}, [$4];": load_matrices(".trans"),
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + MMA: multiply_bf16,
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + MMA: multiply_f16,
    "{ fence.mbarrier_init.release.cluster; }": intrinsic("fence.mbarrier_init.release.cluster"),
    "{ mbarrier.init.shared::cta.b64 [$1], $0; }": initialise,
    "{ mbarrier.arrive.shared::cta.b64 _, [$0]; }": arrive,
    "{ mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], $0; }": arrive_and_expect,
    "{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [$0], $1, $2; @P1 bra DONE; "
    "bra LAB_WAIT; DONE: }": wait,
    "{ .reg .b32 %rx; .reg .pred %px; elect.sync %rx|%px, $2; @%px mov.s32 $1, 1; mov.s32 $0, %rx; }": elect,
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
    "[$0], [$1, {$3, $4}], [$2], $5;": load_tensor,
    "barrier.cluster.arrive.aligned;": lambda call: None,
    "barrier.cluster.wait.aligned;": cluster_barrier,
}


def split_operands(text: str) -> list[str]:
    """Operands between commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def normalised(text: str) -> str:
    """PTX with single spaces, and without those that mean nothing."""
    text = " ".join(text.replace("\\0A", " ").replace("\\09", " ").split())
    return re.sub(r"\}, ?\{", "},{", text)


def translate(ir: str) -> str:
    """The module with all inline PTX replaced.

    Raises:
        UnknownPtx: a text is not in the table.
    """
    lines: list[str] = []
    declared: set[str] = set()
    functions: set[str] = set()
    for place, line in enumerate(ir.splitlines()):
        found = CALL.match(line)
        if not found:
            if " asm " in line:
                raise UnknownPtx(f"line {place + 1} holds inline PTX in an unknown form: {line}")
            lines.append(line)
            continue
        text = normalised(found["text"])
        if any(known.fullmatch(text) for known in KNOWN_AS_IT_IS):
            lines.append(line)
            continue
        if text not in TABLE:
            raise UnknownPtx(f"the table lacks '{text}'")
        call = Call(found["result"] or "", found["type"], split_operands(found["operands"]), place)
        TABLE[text](call)
        lines += call.lines
        declared |= call.declared
        functions |= call.functions
    module = "\n".join([*lines, *sorted(functions)])
    known = set(re.findall(DECLARED, module, re.MULTILINE))
    new = [line for line in sorted(declared) if re.findall(DECLARED, line)[0] not in known]
    return module + "\n" + "\n".join(new) + "\n"
