"""The table of inline PTX: what it lacks is told by its text, and what it has becomes IR once."""
from __future__ import annotations

import inline_ptx
import pytest


def call(text: str, constraints: str, operands: str) -> str:
    return f'  tail call void asm sideeffect "{text}", "{constraints}"({operands}) #4, !srcloc !9\n'


def test_an_unknown_text_is_told():
    with pytest.raises(inline_ptx.UnknownPtx, match=r"the table lacks 'membar\.gl;'"):
        inline_ptx.translate(call("membar.gl;\\0A", "", ""))


def test_a_known_text_with_another_modifier_is_unknown():
    with pytest.raises(inline_ptx.UnknownPtx, match=r"\.x2\.m8n8"):
        text = "ldmatrix.sync.aligned.x2.m8n8.shared.b16 {$0, $1}, [$2];"
        inline_ptx.translate(call(text, "=r,=r,r", "i32 %a"))


def test_a_form_of_a_call_that_is_not_read_is_told():
    with pytest.raises(inline_ptx.UnknownPtx, match="line 1 holds inline PTX in an unknown form"):
        inline_ptx.translate('  invoke void asm sideeffect "cp.async.commit_group;", ""()\n')


def test_a_copy_has_its_size_in_the_text():
    text = "cp.async.cg.shared.global.L2::128B [$0], [$1], $2;\\0A"
    ir = inline_ptx.translate(call(text, "r,l,n", "i32 %to, i64 %from, i32 16"))
    assert '"cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "r,l,~{memory}"(i32 %to, i64 %from)' in ir


def test_a_wait_becomes_a_loop_once():
    text = (
        "{\\0A\\09.reg .pred P1; \\0A\\09LAB_WAIT: "
        "\\0A\\09mbarrier.try_wait.parity.shared::cta.b64 P1, [$0], $1, $2; "
        "\\0A\\09@P1 bra DONE; \\0A\\09bra LAB_WAIT; \\0A\\09DONE: \\0A\\09}"
    )
    ir = inline_ptx.translate(2 * call(text, "r,r,r", "i32 %bar, i32 %phase, i32 10000000"))
    assert ir.count("call void @foreign.wait(i32 %bar, i32 %phase, i32 10000000)") == 2
    assert ir.count("define internal void @foreign.wait(") == 1


def test_intrinsics_are_declared_once():
    ir = inline_ptx.translate(2 * call("cp.async.commit_group;\\0A", "", ""))
    assert ir.count("call void @llvm.nvvm.cp.async.commit.group()") == 2
    assert ir.count("declare void @llvm.nvvm.cp.async.commit.group()") == 1
