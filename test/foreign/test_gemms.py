"""Tutorial kernels of CUTLASS in the emulator: right numbers and no report,
and each bug put in is found.

The kernels are NVIDIA's, so they say what the instructions mean to others. A bug is found where the
emulator reports one of its kinds of faults with every order of threads. One that only makes numbers
wrong has to.
"""
from __future__ import annotations

import pathlib
import re

import pytest
from mutations import Mutation, counted_up, mutated, replaced, without
from programs import Case, Outcome, Program, compile_program, lacking, run_case

SEEDS = (0, 1, 2, 3)
TOLERANCE = 1e-3  # sums of 384 products of numbers of about 1, in f32
AMPERE = ("gemm_sm80", "sm_80", "sgemm_sm80.cu")
HOPPER = ("gemm_sm90", "sm_90a", "hopper/wgmma_tma_sm90.cu")
CASES = {
    (*AMPERE, "bf16"): Case("bf16_both_along_k", "bf16", 128, 64, 384, (True, True)),
    (*AMPERE, "f16"): Case("f16_none_along_k", "f16", 128, 64, 384, (False, False)),
    (*HOPPER, "bf16"): Case("bf16_both_along_k", "bf16", 256, 128, 384, (True, True)),
    (*HOPPER, "f16"): Case("f16_none_along_k", "f16", 128, 64, 384, (False, False)),
}

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(bool(lacking()), reason=f"Missing required feature(s): {', '.join(lacking())}"),
]


def other_form(found: re.Match[str]) -> str:
    return f"m8n8.x4{'' if found[1] else '.trans'}.b16"


def other_major(found: re.Match[str]) -> str:
    return f"{found[1]}, i32 {found[2]}, i32 {1 - int(found[3])}"


def only(index: int) -> slice:
    return slice(index, index + 1 or None)


RACES = ("race", "barrier-misuse")
ASYNC = ("in-flight", "race", "uninitialised")
ADDED = r"(i64 [^,]+, i64 [^,]+, i32 [^,]+)"  # descriptors, and whether a product adds
SIGNS = ADDED[:-1] + ", i32 1, i32 1)"
WAIT, ARRIVALS, BYTES = r"@foreign\.wait", r"mbarrier\.init\..* i32 (128)\)", r"expect\.tx\..*, i32 (\d+)\)"
AMPERE_BUGS = [
    Mutation("no wait for copies", without(r"cp\.async\.wait\.group"), ASYNC),
    Mutation("one group too few is waited for", counted_up(r"cp\.async\.wait\.group\(i32 (\d+)", 1), ASYNC),
    Mutation("no barrier before the loop", without(r"barrier\.cta\.sync", only(0)), ASYNC),
    Mutation("no barrier in the loop", without(r"barrier\.cta\.sync", only(1)), ASYNC),
    Mutation("no commit of the first group", without(r"cp\.async\.commit\.group", only(0)), ASYNC),
    Mutation("no commit in the loop", without(r"cp\.async\.commit\.group", only(-1)), ASYNC),
    Mutation("a copy is missing", without(r'asm sideeffect "cp\.async\.cg', only(0)), ASYNC),
    Mutation("a fragment is transposed", replaced(r"m8n8\.x4(\.trans)?\.b16", other_form, only(0))),
]
HOPPER_BUGS = [
    # These two are in the tutorial; gemm_sm90.cu mends them.
    Mutation("mbarriers are not fenced", without(r"fence\.mbarrier_init"), ("proxy-fence",)),
    Mutation("the last copies are not waited for", without(WAIT, slice(0, -2)), ("misuse",)),
    Mutation("one of the last copies is not waited for", without(WAIT, only(0)), ("misuse",)),
    Mutation("no barrier after mbarriers are made", without(r"barrier\.cta\.sync"), RACES),
    Mutation("too few bytes are announced", counted_up(BYTES, -16), ("deadlock",)),
    Mutation("too many bytes are announced", counted_up(BYTES, 16), ("deadlock",)),
    Mutation("no bytes are announced", without(r"expect\.tx"), ("deadlock",)),
    Mutation("a copy is missing", without(r"cp\.async\.bulk\.tensor", only(0)), ("deadlock",)),
    Mutation("no wait for a full stage", without(WAIT, only(-2)), ASYNC),
    Mutation("no wait for an empty stage", without(WAIT, only(-1)), ASYNC),
    Mutation("nobody says that a stage is empty", without(r"mbarrier\.arrive\.scope"), ("deadlock",)),
    Mutation("a stage is empty before one warp has read it", counted_up(ARRIVALS, -32), ASYNC),
    Mutation("a stage is never empty", counted_up(ARRIVALS, 1), ("deadlock",)),
    Mutation("no fence before products", without(r"wgmma\.fence"), ("misuse",)),
    Mutation("no commit of products", without(r"wgmma\.commit_group"), ASYNC),
    Mutation("no wait for products", without(r"wgmma\.wait_group"), ASYNC),
    Mutation("one group of products is not waited for", counted_up(r"wait_group.*i32 (\d+)\)", 1), ASYNC),
    Mutation("B has the other major", replaced(SIGNS + r", i32 ([01]), i32 ([01])", other_major)),
    Mutation("A has the other sign", replaced(ADDED + ", i32 1, i32 1", r"\1, i32 -1, i32 1", only(0))),
]
BUGS = {AMPERE: AMPERE_BUGS, HOPPER: HOPPER_BUGS}
KEYS = [pytest.param(key, id=f"{key[1]}-{key[3]}") for key in CASES]
FAULTY = [
    pytest.param(key, bug, id=f"{key[1]}-{key[3]}: {bug.name}") for key in CASES for bug in BUGS[key[:3]]
]


def run(key: tuple[str, str, str, str], folder: pathlib.Path, bug: Mutation | None = None) -> Outcome:
    """The case of a key, with a bug or as it is."""
    case = CASES[key]
    program: Program = compile_program(*key[:3])
    ir = mutated(program.ir, f"{case.name}_tag", bug) if bug else program.ir
    return run_case(program, ir, case, folder, SEEDS)


@pytest.mark.parametrize("key", KEYS)
def test_the_kernel_is_right_and_nothing_is_reported(key: tuple[str, str, str, str], tmp_path: pathlib.Path):
    outcome = run(key, tmp_path)
    assert not any(outcome.faults.values()), outcome.text
    assert outcome.error < TOLERANCE


@pytest.mark.parametrize(("key", "bug"), FAULTY)
def test_a_bug_is_found(key: tuple[str, str, str, str], bug: Mutation, tmp_path: pathlib.Path):
    outcome = run(key, tmp_path, bug)
    if not bug.faults:
        assert any(outcome.faults.values()) or outcome.error > TOLERANCE
    for seed, faults in outcome.faults.items():
        assert not bug.faults or set(faults) & set(bug.faults), f"seed {seed}: {faults}\n{outcome.text}"
