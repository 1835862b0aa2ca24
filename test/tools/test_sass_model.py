"""bench/sass: the parts of the model that predicts GPU kernels, on small listings and traces."""

from __future__ import annotations

import dataclasses
import sys

import pytest
from ods import ROOT

BENCH = ROOT / "bench"
sys.path.append(str(BENCH))

from sass import boxes, cutlass, listing, paths, timing, toolchain  # noqa: E402
from sass import multiprocessor as machine  # noqa: E402

SM_80 = {"multiprocessors": 108, "hertz": 1.41e9, "tensor_rate": 312e12, "library_rate": 275e12,
         "reached_memory_rate": 1.8e12, "launch_seconds": 4e-6}  # fmt: skip
RATES = machine.rates_of(80, SM_80)
H100 = {"multiprocessors": 132, "hertz": 1.83e9, "tensor_rate": 989.4e12}


def line(address: int, text: str, stall: int = 1, result: int = 7, read: int = 7, waits: int = 0) -> str:
    """An instruction as nvdisasm prints it, with its control code."""
    upper = (stall | result << 5 | read << 8 | waits << 11) << 41
    return (
        f"        /*{address:04x}*/                   {text} ;  /* 0x0000000000000000 */\n"
        f"                                              /* 0x{upper:016x} */\n"
    )


def listing_of(*lines: str) -> listing.Listing:
    """A kernel of these texts; a text that ends with a colon is a label."""
    text, address = '\t.section\t.text.kernel,"ax",@progbits\n', 0
    for one in lines:
        if one.endswith(":"):
            text += one + "\n"
            continue
        text += line(address, one)
        address += listing.WIDTH
    return listing.read_listings(text)["kernel"]


def opcodes(path: paths.Path, tokens: int = 1, columns: int = 1) -> list[str]:
    return [instruction.kind for instruction in path.expand(paths.Ends(tokens, columns), 64)]


def trace(*lines: str) -> list[listing.Instruction]:
    text = "".join(line(16 * place, one) for place, one in enumerate(lines))
    return listing.read_listings('\t.section\t.text.kernel,"ax",@progbits\n' + text)["kernel"].instructions


# ---- listings ------------------------------------------------------------------------------------


def test_an_instruction_has_its_guard_its_branch_and_its_control_code():
    text = (
        '\t.section\t.text.kernel,"ax",@progbits\n.L_x_1:\n'
        + line(0, "LDSM.16.M88.4 R4, [R8]", stall=2, result=3)
        + line(16, "@!P0 BRA `(.L_x_1)", stall=5, waits=0b1010)
    )
    matrices, branch = listing.read_listings(text)["kernel"].instructions
    assert (matrices.kind, matrices.opcode, matrices.guard) == ("LDSM", "LDSM.16.M88.4", "")
    assert (matrices.stall, matrices.result_board, matrices.read_board) == (2, 3, listing.NO_SCOREBOARD)
    assert (branch.guard, branch.target, branch.stall, branch.waits) == ("@!P0", 0, 5, 0b1010)
    assert branch.is_conditional and not matrices.is_conditional


def test_a_branch_to_itself_is_no_loop():
    found = listing_of("MOV R1, R2", ".L_x_1:", "IADD3 R1, R1, 0x1, RZ", "@P0 BRA `(.L_x_1)", "EXIT",
                       ".L_x_2:", "BRA `(.L_x_2)")  # fmt: skip
    assert found.loops() == [(16, 32)]


# ---- paths ---------------------------------------------------------------------------------------


def test_the_path_with_asynchronous_copies_is_taken():
    found = listing_of("@P0 BRA `(.L_x_1)", "LDG.E R1, [R2]", "STS [R3], R1", "BRA `(.L_x_2)",
                       ".L_x_1:", "LDGSTS [R3], [R2]", ".L_x_2:", "EXIT")  # fmt: skip
    path = paths.path_of(found)
    assert opcodes(path) == ["BRA", "LDGSTS", "EXIT"]
    assert path.taken == {0}


def test_of_two_ways_that_do_the_same_the_shorter_is_taken():
    found = listing_of("@P0 BRA `(.L_x_1)", "STG [R2], R1", "BRA `(.L_x_2)",
                       ".L_x_1:", "MOV R1, R2", "MOV R1, R3", "STG [R2], R1", ".L_x_2:", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)) == ["BRA", "STG", "BRA", "EXIT"]


def test_of_two_ways_that_store_the_same_bytes_the_shorter_is_taken():
    found = listing_of("@P0 BRA `(.L_x_1)", "STG.E.U16 [R2], R1", "STG.E.U16 [R2+0x2], R3", "BRA `(.L_x_2)",
                       ".L_x_1:", "STG.E [R2], R1", ".L_x_2:", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)) == ["BRA", "STG", "EXIT"]


@pytest.mark.parametrize(
    ("bound", "compare", "tokens", "turns"),
    [("0x80", "GE", 1, 4), ("0x7f", "GT", 1, 4), ("0x81", "GE", 1, 5), ("R9", "GE", 100, 4)],
)
def test_a_loop_turns_up_to_its_bound_or_to_the_tokens(bound, compare, tokens, turns):
    test = f"ISETP.{compare}.U32.AND P0, PT, R1, {bound}, PT"
    found = listing_of(".L_x_1:", "IADD3 R1, P1, R1, 0x20, RZ", test,
                       "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), tokens).count("IADD3") == turns


def test_a_counter_of_32_bits_turns_up_to_its_bound():
    found = listing_of(".L_x_1:", "VIADD R1, R1, 0x20", "ISETP.GE.AND P0, PT, R1, 0x80, PT",
                       "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("VIADD") == 4


def test_the_comparison_of_a_counter_may_be_saved():
    found = listing_of(".L_x_1:", "IADD3 R1, R1, 0x20, RZ", "ISETP.GE.AND P2, PT, R1, R9, PT",
                       "P2R R4, PR, RZ, 0x4", "STG.E [R2], R5", "ISETP.NE.AND P2, PT, R6, RZ, PT",
                       "ISETP.NE.AND P0, PT, R4, RZ, PT", "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), tokens=1, columns=128).count("STG") == 4


def test_a_counter_may_move_to_the_register_it_is_made_of():
    found = listing_of("MOV R2, RZ", ".L_x_1:", "IADD3 R1, P1, R2, 0x80, RZ", "STG [R4], R5",
                       "IMAD.MOV.U32 R2, RZ, RZ, R1", "ISETP.GE.U32.AND P0, PT, R1, R9, PT",
                       "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), columns=512).count("IADD3") == 4


def test_a_loop_that_stores_turns_up_to_the_columns():
    found = listing_of(".L_x_1:", "STG [R2], R1", "IADD3 R1, P1, R1, 0x20, RZ",
                       "ISETP.GE.U32.AND P0, PT, R1, R9, PT", "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), tokens=1, columns=128).count("STG") == 4


@pytest.mark.parametrize(
    ("within", "turns"), [("SHFL.BFLY PT, R4, R5, 0x1, 0x1f", 4), ("VOTE.ANY R4, PT, P2", 2)]
)
def test_a_loop_that_joins_rows_turns_up_to_the_columns_and_others_to_the_tokens(within, turns):
    found = listing_of(".L_x_1:", "BAR.SYNC.DEFER_BLOCKING 0x0", within, "IADD3 R1, P1, R1, 0x20, RZ",
                       "ISETP.GE.U32.AND P0, PT, R1, R9, PT", "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), tokens=64, columns=128).count("IADD3") == turns


@pytest.mark.parametrize(
    ("compare", "copy", "turns"), [("GE", "0x80", 4), ("GE", "0x40", 4), ("GT", "0x80", 5)]
)
def test_a_loop_whose_counter_all_lanes_share_turns_up_to_its_bound(compare, copy, turns):
    test = f"UISETP.{compare}.U32.AND UP0, UPT, UR4, 0x4, UPT"
    found = listing_of(".L_x_1:", "UIADD3 UR4, UP0, UR4, 0x1, URZ", test,
                       "UISETP.GE.AND.EX UP0, UPT, UR5, URZ, UPT, UP0",
                       f"PLOP3.LUT P0, PT, PT, PT, UP0, {copy}, 0x0",
                       "@P0 BRA `(.L_x_2)", "BRA `(.L_x_1)", ".L_x_2:", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("UIADD3") == turns


def test_a_shared_counter_that_is_copied_turns_up_to_its_bound():
    found = listing_of(".L_x_1:", "UIADD3 UR7, UP0, UR4, 0x1, URZ", "UMOV UR4, UR7", "STG [R2], R1",
                       "UISETP.GT.U32.AND UP0, UPT, UR7, 0x3, UPT",
                       "UISETP.GT.AND.EX UP0, UPT, UR5, URZ, UPT, UP0",
                       "PLOP3.LUT P0, PT, PT, PT, UP0, 0x40, 0x0", "@P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found), columns=512).count("STG") == 4


def test_a_counter_of_64_bits_turns_up_to_the_bound_of_its_lower_word():
    found = listing_of(".L_x_1:", "IADD3 R1, P3, R1, 0x3, RZ", "ISETP.GT.U32.AND P3, PT, R1, 0x6, PT",
                       "ISETP.LT.AND P2, PT, R8, R9, P2", "IMAD.X R5, RZ, RZ, R5, P3",
                       "ISETP.GT.AND.EX P2, PT, R5, RZ, PT, P3", "@!P2 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("IADD3") == 3


def test_a_loop_that_begins_with_its_exit_turns_up_to_its_bound():
    found = listing_of(".L_x_1:", "ISETP.GT.U32.AND P0, PT, R1, 0x3, PT", "@P0 BRA `(.L_x_2)",
                       "IADD3 R1, P1, R1, 0x1, RZ", "BRA `(.L_x_1)", ".L_x_2:", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("IADD3") == 4


def test_a_loop_that_jumps_over_its_exit_turns_up_to_its_bound():
    found = listing_of(".L_x_1:", "ISETP.GT.U32.AND P0, PT, R1, 0x3, PT", "@!P0 BRA `(.L_x_2)",
                       "BRA `(.L_x_3)", ".L_x_2:", "IADD3 R1, P1, R1, 0x1, RZ", "BRA `(.L_x_1)",
                       ".L_x_3:", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("IADD3") == 4


def test_a_loop_over_a_range_of_constant_length_turns_so_often():
    found = listing_of("IADD3 R9, P1, R1.reuse, 0x800, RZ", ".L_x_1:", "IADD3 R1, P1, R1, 0x40, RZ",
                       "ISETP.GE.U32.AND P0, PT, R1, R9, PT", "SEL R5, RZ, 0x1, !P0",
                       "ISETP.NE.AND P0, PT, R5, RZ, PT", "@P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)).count("SEL") == 32


def test_a_loop_whose_last_branch_lies_in_an_inner_loop_holds_all_of_it():
    found = listing_of(".L_x_1:", "@P3 EXIT", "HMMA R0, R1, R2, R0", ".L_x_2:", "@P1 BRA `(.L_x_1)",
                       "STG [R2], R1", "BRA `(.L_x_2)")  # fmt: skip
    outer, inner = paths.path_of(found).loops()
    assert [part.kind for part in outer.body.parts if isinstance(part, listing.Instruction)] == [
        "EXIT",
        "HMMA",
    ]
    assert inner.body.stores()


def test_a_loop_over_the_bits_of_a_vote_is_left_out():
    found = listing_of("POPC R2, R3", ".L_x_1:", "UIADD3 UR4, UR4, 0x1, URZ",
                       "ISETP.LE.U32.AND P1, PT, R2, UR4, PT", "@!P1 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    assert opcodes(paths.path_of(found)) == ["POPC", "EXIT"]


# ---- one multiprocessor --------------------------------------------------------------------------


def test_rates_follow_the_chip():
    assert RATES.mma == pytest.approx(8, rel=0.01)
    l40s = {"multiprocessors": 142, "hertz": 2.52e9, "tensor_rate": 362e12}
    assert machine.rates_of(89, l40s).mma == pytest.approx(16.2, rel=0.01)
    assert machine.rates_of(90, H100).mma == 6  # the assembler's, which is longer than the chip's 4


def test_products_alone_fill_the_tensor_cores():
    body = trace(*["HMMA.16816.F32.BF16 R0, R1, R2, R0"] * 16)
    cycles = machine.cycles_of_turn(RATES, body, frozenset(), warps=8, blocks=1)
    assert cycles == pytest.approx(16 * 2 * RATES.mma, rel=0.02)


def test_products_of_warpgroups_take_the_longer_of_making_and_reading():
    """Per warpgroup: 64 x 128 x 16 products at 2048 per cycle, operands at 128 bytes per cycle."""
    rates = machine.rates_of(90, H100)
    for columns, expected in ((256, 128), (128, 64), (16, 20)):
        body = trace(f"HGMMA.64x{columns}x16.F32.BF16 R24, gdesc[UR4], R24",
                     f"HGMMA.64x{columns}x16.F32.BF16 R24, gdesc[UR8], R24, gsb0",
                     "WARPGROUP.DEPBAR.LE gsb0, 0x1")  # fmt: skip
        assert [machine.products_of(one) for one in body] == 2 * [16 * columns * 16] + [0]
        cycles = machine.cycles_of_turn(rates, body, frozenset(), warps=4, blocks=1)
        assert cycles == pytest.approx(2 * expected, rel=0.05), columns


def test_a_warp_waits_for_groups_of_products():
    def cycles(left: int) -> float:
        body = trace("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24, gsb0",
                     f"WARPGROUP.DEPBAR.LE gsb0, {left:#x}", "EXIT")  # fmt: skip
        rates = machine.rates_of(90, H100)
        return machine.Multiprocessor(rates, body, frozenset(), warps=4, blocks=1).play(1).cycles

    assert cycles(0) > 128 > cycles(1)


def test_products_that_wait_for_matrices_leave_tensor_cores_idle():
    loads = "".join(line(16 * i, "LDSM.16.M88.4 R4, [R8]", result=0) for i in range(4))
    waits = line(64, "HMMA.16816.F32.BF16 R0, R1, R2, R0", waits=1)
    rest = "".join(line(80 + 16 * i, "HMMA.16816.F32.BF16 R0, R1, R2, R0") for i in range(7))
    text = '\t.section\t.text.kernel,"ax",@progbits\n' + loads + waits + rest
    body = listing.read_listings(text)["kernel"].instructions
    alone = machine.cycles_of_turn(RATES, body, frozenset(), warps=4, blocks=1)
    together = machine.cycles_of_turn(RATES, body, frozenset(), warps=4, blocks=2) / 2
    assert alone > 8 * RATES.mma + RATES.shared_latency
    assert together < alone  # warps of another block hide the latency


def test_a_barrier_holds_a_warp_until_all_are_there():
    slow = trace("MUFU.EX2 R1, R2", "BAR.SYNC 0x0", "EXIT")
    one = machine.Multiprocessor(RATES, slow, frozenset(), warps=1, blocks=1).play(1).cycles
    # Sixteen warps share four pipes for MUFU, so that the last arrives three intervals later.
    many = machine.Multiprocessor(RATES, slow, frozenset(), warps=16, blocks=1).play(1).cycles
    assert many - one == pytest.approx(3 * RATES.special_issue, abs=4)


def test_copies_are_waited_for_by_groups():
    def cycles(left: int) -> float:
        body = trace("LDGSTS [R3], [R2]", "LDGDEPBAR", f"DEPBAR.LE SB0, {left:#x}", "EXIT")
        return machine.Multiprocessor(RATES, body, frozenset(), warps=1, blocks=1).play(1).cycles

    assert cycles(0) > RATES.memory_latency > cycles(1)


# ---- copies of boxes -----------------------------------------------------------------------------


def copies_of_block(register: str, skip: str, spin: str, of_pair: bool = False) -> list[str]:
    """The code of one warp that copies a block of 32 KiB as two boxes, once its stage is free. Of a
    pair of thread blocks, half of the second one to both; where it is alone, all of it.
    """
    second = ["UTMALDG.2D [UR24], [UR40]"]
    if of_pair:
        half = "UTMALDG.2D.MULTICAST [UR24], [UR40], UR4"
        second = [half, f"@P4 BRA `({skip})", half]
    return [f"@P5 BRA `({skip})",
            f"SYNCS.PHASECHK.TRANS64.TRYWAIT P5, [UR29+0x20], {register}", f"@!P5 BRA `({spin})",
            f"@P5 MOV {register}, 0x8000", f"@P5 SYNCS.ARRIVE.TRANS64 RZ, [UR29], {register}",
            "UTMALDG.2D [UR28], [UR22]", *second, f"{skip}:"]  # fmt: skip


def kernel_of_boxes(
    stages: int, ahead: int, turns: int = 8, tiles: int = 0, of_pair: bool = False
) -> listing.Listing:
    """Products of a ring of boxes; after them a block that threads copy, as where an axis has a
    rest. Of `tiles` tiles, if any, the first boxes are asked for before the first one.
    """
    return listing_of(
        *["SYNCS.EXCH.64 URZ, [UR8], UR4"] * (2 * stages),
        ".L_x_1:", *copies_of_block("R24", ".L_x_2", ".L_x_8", of_pair), "IADD3 R2, R2, 0x1, RZ",
        f"ISETP.GE.U32.AND P0, PT, R2, {ahead:#x}, PT", "@!P0 BRA `(.L_x_1)",
        *([".L_x_12:", "IMAD.MOV.U32 R3, RZ, RZ, RZ"] if tiles else []),
        ".L_x_3:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P5, [UR17], R110", "@!P5 BRA `(.L_x_9)",
        "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24",
        "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0",
        *copies_of_block("R110", ".L_x_4", ".L_x_10", of_pair), "WARPGROUP.DEPBAR.LE gsb0, 0x1",
        "@P6 BRA `(.L_x_5)", "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R110+UR7], RZ",
        *(["SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R6+URZ], RZ"] if of_pair else []),
        ".L_x_5:", "IADD3 R3, R3, 0x1, RZ",
        f"ISETP.GE.U32.AND P0, PT, R3, {turns:#x}, PT", "@!P0 BRA `(.L_x_3)", "WARPGROUP.DEPBAR.LE gsb0, 0x0",
        "@P1 BRA `(.L_x_6)", "LDGSTS [R3], [R2]", "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0",
        ".L_x_6:", "STG.E [R2], R24",
        *(["IADD3 R5, R5, 0x1, RZ", f"ISETP.GE.U32.AND P0, PT, R5, {tiles:#x}, PT", "@!P0 BRA `(.L_x_12)"]
          if tiles else []),
        "EXIT",
        *(line for spin, back in ((8, 2), (9, 3), (10, 4)) for line in (
            f".L_x_{spin}:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P5, [UR29], R24", f"@!P5 BRA `(.L_x_{spin})",
            f"BRA `(.L_x_{back})")),
    )  # fmt: skip


def model_of_boxes(
    stages: int, ahead: int, tiles: int = 0, of_pair: bool = False, **rates: float
) -> timing.KernelModel:
    chosen = dataclasses.replace(machine.rates_of(90, H100), **rates)
    listed = kernel_of_boxes(stages, ahead, tiles=tiles, of_pair=of_pair)
    return timing.KernelModel(listed, toolchain.Assembled(128, 0, 0), chosen, 8, 1)


def test_an_arrival_has_the_bytes_that_it_announces():
    found = [one for one in kernel_of_boxes(4, 2).instructions if one.opcode.startswith("SYNCS.ARRIVE")]
    assert [(one.announced, boxes.is_release(one)) for one in found] == [
        (0x8000, False),
        (0x8000, False),
        (0, True),
    ]


def test_the_path_with_copies_of_boxes_is_taken_and_no_other_copies():
    path = paths.path_of(kernel_of_boxes(4, 2))
    kinds = opcodes(path)
    assert (kinds.count("UTMALDG"), kinds.count("HGMMA"), kinds.count("LDGSTS")) == (2 * (2 + 8), 2 * 8, 0)
    assert sum(boxes.is_release(one) for one in path.expand(paths.Ends(1, 1), 64)) == 8


def test_the_ring_is_read_from_the_kernel():
    assert model_of_boxes(4, 2).ring == boxes.Ring(stages=4, ahead=2)
    assert model_of_boxes(3, 1).ring == boxes.Ring(stages=3, ahead=1)
    assert model_of_products().ring == boxes.Ring(0, 0)


def test_a_pair_of_blocks_copies_halves_of_what_it_shares():
    path = paths.path_of(kernel_of_boxes(4, 2, of_pair=True))
    copied = [one.opcode for one in path.expand(paths.Ends(1, 1), 64) if one.kind == "UTMALDG"]
    assert copied == ["UTMALDG.2D", "UTMALDG.2D.MULTICAST"] * (2 + 8)
    assert sum(boxes.is_release(one) for one in path.expand(paths.Ends(1, 1), 64)) == 8
    (code,) = boxes.copy_codes(timing.instructions_of(model_of_boxes(4, 2, of_pair=True).main_loop.body))
    assert code.box == 0x4000  # the other half comes from the other block


def test_boxes_that_are_stored_are_taken_before_words():
    box = "UTMASTG.2D [UR4], [UR8]"
    stored = listing_of("@P0 BRA `(.L_x_1)", "STG.E.128 [R2], R24", "EXIT", ".L_x_1:", box, "EXIT")
    assert opcodes(paths.path_of(stored)) == ["BRA", "UTMASTG", "EXIT"] and paths.path_of(stored).stores()
    body = trace(box, "LDSM.16.M88.4 R4, [R2]")
    played = machine.Multiprocessor(RATES, body, frozenset(), warps=1, blocks=1)
    played.play(1)
    assert played.shared >= machine.STORED_BOX / machine.SHARED_BYTES


def test_a_block_of_a_pair_waits_for_the_other_one():
    near, far = (model_of_boxes(3, 1, of_pair=True, remote=cycles) for cycles in (0, 5000))
    assert far.ring == boxes.Ring(stages=3, ahead=1, latency=5000)
    assert near.turn_cycles(1) == pytest.approx(model_of_boxes(3, 1).turn_cycles(1), rel=0.01)
    assert far.turn_cycles(1) > near.turn_cycles(1) + 1000


def test_one_warp_copies_for_all():
    body = timing.instructions_of(model_of_boxes(4, 2).main_loop.body)
    (code,) = boxes.copy_codes(body)
    assert body[code.branch].opcode == "BRA" and body[code.last].opcode == "UTMALDG.2D"
    assert body[code.after].opcode == "WARPGROUP.DEPBAR.LE" and code.box == 0x4000
    rates, ring = machine.rates_of(90, H100), boxes.Ring(4, 2)
    played = machine.Multiprocessor(rates, body, frozenset(), 8, 1, ring=ring)
    played.play(3)
    assert len(played.rings[0].landed) == 2 + 3
    assert [reader.seen for reader in played.rings[0].readers] == [3] * 8
    # not the last: its products may run
    assert [len(times) for times in played.rings[0].released] == [8, 8]


def test_copies_further_ahead_hide_more_of_the_memory():
    few, more = (model_of_boxes(stages, stages - 2, memory_latency=900).turn_cycles(1) for stages in (3, 6))
    link = 0x8000 / machine.rates_of(90, H100).link_bytes
    assert few > 900 + link  # a block is asked for when the one before it is multiplied
    assert more == pytest.approx(link, rel=0.05)  # as fast as they come


def test_a_tile_waits_for_its_first_block():
    short, long = (model_of_boxes(4, 2, memory_latency=latency) for latency in (100, 900))
    ends = paths.Ends(1, 1)
    waited = long.cycles(long.tile_path, ends) - short.cycles(short.tile_path, ends)
    assert waited == pytest.approx(800, rel=0.01)


def test_boxes_of_the_next_tile_are_waited_for_once():
    short, long = (model_of_boxes(4, 3, tiles=5, memory_latency=latency) for latency in (100, 900))
    assert short.tile_loop is not None and short.asks_for_next and short.ring == boxes.Ring(stages=4, ahead=3)
    ends = paths.Ends(1, 1)
    assert long.cycles(long.tile_path, ends) == short.cycles(short.tile_path, ends)
    waited = long.cycles(long.block_path, ends) - short.cycles(short.block_path, ends)
    assert waited == pytest.approx(800, rel=0.01)


def test_warps_without_a_barrier_overlap_tiles():
    """The others still multiply while the first ones are done with what is around the products."""
    ends, model = paths.Ends(1, 1), model_of_boxes(4, 2, tiles=5)
    assert model.is_apart and not model_of_boxes(4, 2).is_apart
    assert model.apart_cycles(ends, 8) < 8 * model.turn_cycles(1) + model.tile_cycles(ends)


def test_a_stage_is_released_once():
    """A tile's first turn has none to release: the last block of the tile before was released."""
    state = boxes.RingState(boxes.Ring(stages=4), warps=1)
    state.readers[0].seen = 2
    for left, time in ((0, 5.0), (0, 7.0), (1, 9.0)):
        state.readers[0].left = left
        state.release(0, time)
    assert [times for times in state.released if times] == [[5.0]]


def test_threads_of_a_warp_are_together():
    listed = listing_of("BRA.DIV UR4, `(.L_x_2)", ".L_x_1:", "NOP", "STG.E [R2], R24", "EXIT", ".L_x_2:",
                        "WARPSYNC.COLLECTIVE R20, `(.L_x_3)", ".L_x_3:", "NOP", "BRA `(.L_x_1)")  # fmt: skip
    assert listed.loops() == [] and opcodes(paths.path_of(listed)) == ["BRA", "NOP", "STG", "EXIT"]


def test_a_tile_waits_for_the_stores_of_the_one_before():
    """Its sums start in registers that are read late."""
    start = line(0, "IMAD.MOV.U32 R24, RZ, RZ, RZ", waits=1), line(16, "IADD3 R5, R5, 0x1, RZ")
    listed = listing.read_listings(
        '\t.section\t.text.kernel,"ax",@progbits\n.L_x_1:\n' + "".join(start)
        + ".L_x_2:\n" + line(32, "HMMA.16816.F32.BF16 R4, R8, R10, R4") + line(48, "IADD3 R3, R3, 0x1, RZ")
        + line(64, "ISETP.GE.U32.AND P0, PT, R3, 0x8, PT") + line(80, "@!P0 BRA `(.L_x_2)")
        + line(96, "STG.E [R2], R24", read=0) + line(112, "ISETP.GE.U32.AND P0, PT, R5, 0x4, PT")
        + line(128, "@!P0 BRA `(.L_x_1)") + line(144, "EXIT")
    )["kernel"]  # fmt: skip
    rates = dataclasses.replace(RATES, memory_issue=500)
    model = timing.KernelModel(listed, toolchain.Assembled(32, 0, 0), rates, 2, 1)
    ends = paths.Ends(1, 1)
    # the store of the first warp has been asked for
    assert model.cycles(model.tile_path, ends) < 600
    assert model.tile_cycles(ends) >= 1000


def test_a_ring_that_nobody_releases_is_an_error():
    loop = timing.instructions_of(model_of_boxes(4, 2).main_loop.body)
    body = [instruction for instruction in loop if not boxes.is_release(instruction)]
    with pytest.raises(ValueError, match="warps wait for what no other warp does"):
        machine.Multiprocessor(RATES, body, frozenset(), 8, 1, ring=boxes.Ring(4, 2)).play(24)


@pytest.mark.parametrize("place, wrong", [(0, False), (1, True)])
def test_barriers_of_memory_in_a_loop_with_boxes_are_found(place, wrong):
    parts = [
        "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0",
        "UTMALDG.2D [UR28], [UR22]",
        "@P0 BRA `(.L_x_2)",
    ]
    parts.insert(place, "MEMBAR.ALL.GPU")
    parts.insert(0 if wrong else 1, ".L_x_2:")
    outer = listing_of(".L_x_1:", "STL [R1], R2", *parts, "@P1 BRA `(.L_x_1)", "EXIT")
    assert boxes.slow_loops(outer) == ["a loop of products waits for all memory (MEMBAR)"] * wrong


def test_copies_of_boxes_without_an_announcement_are_an_error():
    body = trace("SYNCS.PHASECHK.TRANS64.TRYWAIT P5, [UR29], R1", "UTMALDG.2D [UR28], [UR22]")
    with pytest.raises(ValueError, match="without a wait, an announcement or a branch around them"):
        boxes.copy_codes(body)


# ---- occupancy and time --------------------------------------------------------------------------


def test_blocks_of_a_multiprocessor_end_at_the_scarcest():
    limits = timing.Limits(warps=64, shared=164 * 1024)
    assert limits.blocks_of(toolchain.Assembled(128, 0, 0), threads=256, shared=0) == 2
    assert limits.blocks_of(toolchain.Assembled(129, 0, 0), threads=256, shared=0) == 1
    assert limits.blocks_of(toolchain.Assembled(32, 0, 0), threads=256, shared=80 * 1024) == 2
    assert limits.blocks_of(toolchain.Assembled(16, 0, 0), threads=256, shared=0) == 8


def model_of_products(blocks: int = 1, loops: int = 1) -> timing.KernelModel:
    """Tiles of as many products as there are loops."""
    products = ["HMMA.16816.F32.BF16 R0, R1, R2, R0"] * 16
    found = listing_of(*(line for loop in range(1, loops + 1) for line in (
                           "MOV R1, R2", f".L_x_{loop}:", *products, "IADD3 R1, R1, 0x1, RZ",
                           "ISETP.GE.U32.AND P0, PT, R1, R9, PT", f"@!P0 BRA `(.L_x_{loop})")),
                       "STG [R2], R1", "EXIT")  # fmt: skip
    return timing.KernelModel(found, toolchain.Assembled(128, 0, 0), RATES, warps=8, blocks=blocks)


def launch_of(tasks: int, turns: int = 100) -> dict[str, int]:
    return {"kernel": "kernel", "tokens": 128, "columns": 128, "tasks": tasks, "product_tiles": tasks,
            "matrix_instructions": tasks * turns * 16 * 8, "global_bytes": 0}  # fmt: skip


def test_time_grows_by_waves_of_the_grid():
    model = model_of_products()
    seconds = [
        timing.predict(model, timing.Launches([launch_of(tasks)], 0), SM_80).seconds - SM_80["launch_seconds"]
        for tasks in (108, 109, 216)
    ]
    assert seconds[1] == pytest.approx(2 * seconds[0]) == seconds[2]
    assert seconds[0] * SM_80["hertz"] == pytest.approx(100 * 16 * 2 * RATES.mma, rel=0.25)


def test_two_products_of_a_tile_take_twice_as_long_as_one():
    one, two = (
        timing.predict(model_of_products(loops=loops), timing.Launches([launch], 0), SM_80).seconds
        for loops, launch in ((1, launch_of(108)), (2, {**launch_of(108, turns=200), "product_tiles": 216}))
    )
    assert two - SM_80["launch_seconds"] == pytest.approx(2 * (one - SM_80["launch_seconds"]), rel=0.02)


def test_loads_in_a_loop_over_tokens_are_near():
    found = listing_of("LDG.E R7, [R2]", ".L_x_1:", "LDG.E R8, [R2]", "IADD3 R1, P1, R1, 0x20, RZ",
                       "ISETP.GE.U32.AND P0, PT, R1, R9, PT", "@!P0 BRA `(.L_x_1)", "EXIT")  # fmt: skip
    model = timing.KernelModel(found, toolchain.Assembled(32, 0, 0), RATES, warps=8, blocks=1)
    assert model.near_loads == {16}


def test_memory_bounds_a_kernel_that_moves_much():
    moved = timing.Launches([launch_of(108)], bytes=10**10)
    predicted = timing.predict(model_of_products(), moved, SM_80)
    assert predicted.bound == "memory"
    assert predicted.seconds == pytest.approx(10**10 / 1.8e12, rel=0.01)


def test_the_main_loop_has_its_mix():
    assert model_of_products().mix() == {"products": 16, "LDSM": 0, "copies": 0, "other": 3}


# ---- tools ---------------------------------------------------------------------------------------


def test_the_report_of_the_assembler_is_read():
    said = (
        "ptxas info    : Compiling entry function 'forward0' for 'sm_80'\n"
        "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info    : Used 152 registers, used 1 barriers, 1024 bytes smem, 544 bytes cmem[0]\n"
    )
    assert toolchain.read_report(said) == {"forward0": toolchain.Assembled(152, 28, 1024)}


def test_a_tool_that_is_missing_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.ToolMissing, match="no ptxas on PATH .* pip install nvidia-cuda-nvcc"):
        toolchain.find_tool("ptxas")


def test_each_kernel_of_cutlass_has_its_tile():
    text = cutlass.SOURCE.read_text()
    for name, (height, width, depth, stages) in cutlass.TILES.items():
        assert f"GEMM({name}, {height}, {width}, {depth}, {stages})" in text
