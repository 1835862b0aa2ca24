"""Texts and requests that nobody checked, in the native module: errors,
after which the process goes on.
"""

import re
import threading

import logitile as lt
import pytest
from logitile import _native
from test_zoo import sample

STAGES = ("spec", "plan", "tiles", "device", "llvm")
SPEC = """
logitile.loss @cross_entropy vocab 50 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %target = logitile.input token "target" : i32
  %lse = logitile.reduce logsumexp %z : f32 -> f32
  %picked = logitile.gather %z[%target] : f32
  %loss = arith.subf %lse, %picked : f32
  logitile.yield %loss : f32
}
"""
CHAIN = "\n".join(["#a0 = 0", *(f"#a{i} = [#a{i - 1}]" for i in range(1, 100_000))])
DEEP = f"@g = external global {'[1 x ' * 200_000}i8{']' * 200_000}"  # LLVM's parser calls itself


def program(spec=SPEC, **request):
    float32 = _native.TYPES["float32"]
    given = {
        "projections": [("z", 8, float32, float32, float32)],
        "gradients": [("z", "hidden", float32), ("z", "weight", float32)],
        "mode": "early", "workspace": 1 << 26, "threads": 2, "target": _native.host_target(),
    }  # fmt: skip
    return _native.Program(_native.Engine(disk_cache=""), spec=spec, **given | request)


def error_of(do):
    with pytest.raises(lt.CompileError) as caught:
        do()
    return str(caught.value)


def test_the_request_of_these_tests_is_a_good_one():
    assert program().plan(8).describe(8, 2)


@pytest.mark.parametrize(
    ("spec", "request_", "message"),
    [  # the ids are their places: some specs are long
        (SPEC, {"gradients": [("z", "input", 2)]}, "asks for the input 'z', which is a projection"),
        (SPEC, {"gradients": [("", "input", 2)]}, "a gradient of part 'input' is of nothing"),
        (SPEC, {"gradients": [("t", "hidden", 2)]}, "asks for hidden of 't', which is no projection"),
        (SPEC, {"projections": [("", 8, 2, 2, 2)]}, "a projection has no name"),
        (
            SPEC,
            {"projections": [("z", 2**55, 2, 2, 2)]},
            "hidden size 36028797018963968 of projection 'z' is too large",
        ),
        (SPEC.replace('"target"', '""'), {}, "spec:4:13: .*is of a token input without a name"),
        (SPEC.replace("vocab 50", "vocab 9223372036854775807"), {}, "spec:2:1: .*is too large; 2147418112"),
        (SPEC.replace("%loss :", "%loss#2147483648 :"), {}, "spec:8:23: an op has at most 65535 results"),
        (CHAIN + SPEC, {}, "spec:258:10: more than 256 brackets are nested"),
        ("", {}, "must hold one loss, has 0"),
        ("nothing like it", {}, "spec:1:1: "),
        ("llvm.func @f()", {}, "spec:1:1: Dialect `llvm' not found"),
    ],
    ids=map(str, range(12)),
)
def test_hostile_requests_are_errors(spec, request_, message):
    made = program(spec, **request_)
    with pytest.raises(lt.CompileError, match=message):
        made.plan(8)
    with pytest.raises(lt.CompileError, match=message):
        made.stage(8, "plan")


def test_a_huge_tile_is_refused_before_anything_is_compiled():
    with pytest.raises(
        lt.CallValueError, match="^tile size 'TM' is 1048576; 16384 is the most; take sizes of"
    ):
        program(SPEC, tiles="TM=1048576")


def test_what_llvm_does_not_survive_is_an_error_of_a_text():
    message = error_of(lambda: _native.stage_from_text(DEEP, "llvm", "obj"))
    reason = "this text is more than the compiler can take: it crashes; please report it with this text"
    assert message.startswith(f"stage 'llvm' failed: llvm: error: {reason}")


def test_texts_become_what_programs_become():
    made = sample("plain", "float32")
    stages = {stage: made.head.ir(stage, **made.passed) for stage in STAGES}

    def kernels(text):
        return re.findall(r"^define void @(\w+)", text, re.MULTILINE)

    assert "forward0" in kernels(stages["llvm"])
    for stage in ("spec", "plan", "tiles", "device"):
        assert kernels(_native.stage_from_text(stages[stage], stage, "llvm")) == kernels(stages["llvm"])
    assert b"\x7fELF" in _native.stage_from_text(stages["llvm"], "llvm", "obj")  # or an archive


def test_texts_are_read_beside_other_threads():
    """Some of them die."""
    made = sample("plain", "float32")
    tiles = made.head.ir("tiles", **made.passed)
    wrong = []

    def read():
        for _ in range(3):
            if not _native.stage_from_text(tiles, "tiles", "device"):
                wrong.append("empty")
            if "it crashes" not in error_of(lambda: _native.stage_from_text(DEEP, "llvm", "obj")):
                wrong.append("no crash")

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    made.run()
    for thread in threads:
        thread.join()
    assert not wrong
