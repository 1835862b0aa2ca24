"""Texts of stages, as printed and edited, become plans that run (`head.compile_text`), and what the
emulator tells of faults in an edited kernel (`lt.EmulatorFault`).
"""

import pickle
import re

import logitile as lt
import numpy as np
import pytest

N, D, V = 70, 64, 300
GPU = "emu:sm_80"
STAGES = ("spec", "plan", "tiles", "device")


def arrays():
    rng = np.random.default_rng(0)
    hidden, weight = (rng.standard_normal((rows, D), np.float32).astype(np.float16) for rows in (N, V))
    return hidden, weight, rng.integers(0, V, N)


HIDDEN, WEIGHT, TARGET = arrays()


def head(backend="cpu", **options):
    return lt.jit(lt.losses.cross_entropy, backend=backend, **options)


def text_of(made, stage):
    return made.ir(stage, HIDDEN, WEIGHT, target=TARGET)


def run(plan):
    value, gradients = plan.run(HIDDEN, WEIGHT, target=TARGET)
    return [value, gradients["hidden"], gradients["weight"]]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("backend", ["cpu", GPU])
def test_a_text_as_it_was_printed_runs_as_the_head_does(backend, stage):
    made = head(backend)
    value, gradients = made.value_and_grad(HIDDEN, WEIGHT, target=TARGET)
    plan = made.compile_text(text_of(made, stage), stage)
    for found, expected in zip(run(plan), [value, gradients["hidden"], gradients["weight"]], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_edited_loss_is_another_loss():
    made = head(reduction="sum")
    spec = text_of(made, "spec")
    (result,) = re.findall(r"logitile.yield (%\w+) : f32", spec)
    sum_of_two = f"%doubled = arith.addf {result}, {result} : f32\n"
    doubled = spec.replace(f"logitile.yield {result} ", sum_of_two + "logitile.yield %doubled ")
    assert doubled != spec
    value = run(made.compile_text(spec, "spec"))[0]
    np.testing.assert_allclose(run(made.compile_text(doubled, "spec"))[0], 2 * value, rtol=1e-6)


def test_the_backend_of_the_head_takes_the_place_of_the_target():
    printed = head("cuda:sm_80").ir("tiles", *(lt.ShapeDtype(x.shape, "float16") for x in (HIDDEN, WEIGHT)),
                                    target=lt.ShapeDtype((N,), "int64"))  # fmt: skip
    plan = head(GPU).compile_text(printed, "tiles")
    assert "emu:sm_80" in repr(plan)
    own = head(GPU).compile_text(text_of(head(GPU), "tiles"), "tiles")
    for found, expected in zip(run(plan), run(own), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(lt.CompileError, match="for target 'cuda:sm_80'; only the text of stage 'spec' can"):
        head("cpu:avx2").compile_text(printed, "tiles")


def test_wrong_texts_are_errors_with_places():
    made = head()
    tiles = text_of(made, "tiles")
    with pytest.raises(lt.CompileError, match=r"stage 'tiles' failed: tiles:\d+:\d+: .*logitile.lode"):
        made.compile_text(tiles.replace("logitile.load ", "logitile.lode ", 1), "tiles")
    with pytest.raises(lt.CompileError, match="'llvm' does not say how kernels are launched; begin with"):
        made.compile_text(text_of(made, "llvm"), "llvm")
    with pytest.raises(lt.CompileError, match="must hold one program"):
        made.compile_text(re.sub(r"  logitile.program .*\n}", "}", tiles, flags=re.DOTALL), "tiles")
    with pytest.raises(lt.CallValueError, match="there is no stage 'tile'; stages are spec, plan"):
        made.compile_text(tiles, "tile")


# ---- faults --------------------------------------------------------------------------------------


def fault(text, stage):
    with pytest.raises(lt.EmulatorFault) as caught:
        run(head(GPU).compile_text(text, stage))
    return caught.value


def test_a_missing_barrier_is_a_race():
    """Without the barrier before the last products,
    they read what other threads have not copied yet.
    """
    text = text_of(head(GPU), "device")
    start = text.index("llvm.func @forward0")
    barriers = [start + found.start() for found in re.finditer("nvvm.barrier0\n", text[start:])]
    error = fault(text[: barriers[1]] + text[barriers[1] + len("nvvm.barrier0") :], "device")
    kinds = [report.kind for report in error.reports]
    assert kinds[0] == "race" and kinds == sorted(kinds, key=["race", "in-flight", "uninitialised"].index)
    race = error.reports[0]
    assert (race.kernel, race.space) == ("forward0", "shared")
    assert race.detail == "no barrier orders the two accesses"
    assert race.block == (0, 0, 0) and race.address > 0 and race.count > 1
    earlier, later = race.parties
    assert earlier.action == "earlier write" and later.action == "later read"
    assert "thread" in earlier.who and earlier.who != later.who
    # No pair of instructions comes twice.
    pairs = [(r.kind, *((p.action, p.instruction, p.places) for p in r.parties)) for r in error.reports]
    assert len(set(pairs)) == len(pairs)
    assert str(error).startswith("the emulator finds faults in kernel 'forward0':\nrace in block (0, 0, 0), ")
    # A place is the line of the text.
    (place,) = later.places
    assert "ldmatrix" in text.splitlines()[int(place.split(":")[1]) - 1]


def test_a_report_names_the_operation_and_its_line():
    text = text_of(head(GPU), "tiles")
    line = next(one for one in text.splitlines() if "logitile.store %state#0 to %state_forward0" in one)
    error = fault(text.replace(line + "\n", ""), "tiles")
    assert {report.kind for report in error.reports} == {"uninitialised"}
    (party,) = error.reports[0].parties
    assert party.operation.startswith("logitile.") and party.action == "read"
    edited = text.replace(line + "\n", "").splitlines()
    assert party.operation in edited[int(party.places[0].split(":")[1]) - 1]
    assert f"of {party.operation} at {party.places[0]}" in str(error.reports[0])


def test_faults_of_a_loss_name_the_skeleton():
    """A plan whose row state is never written. Places are lines of skeletons, then launches."""
    text = text_of(head(GPU), "plan")
    launch = next(one for one in text.splitlines() if 'logitile.launch "forward0"' in one)
    error = fault(text.replace(launch + "\n", ""), "plan")
    party = error.reports[0].parties[0]
    assert re.fullmatch(r"\w+\.mlir:\d+:\d+", party.places[0]), party
    assert party.places[1].startswith("plan:") and party.operation.startswith("logitile.")


def test_faults_are_pickled():
    text = text_of(head(GPU), "tiles")
    line = next(one for one in text.splitlines() if "logitile.store %state#0 to %state_forward0" in one)
    error = fault(text.replace(line + "\n", ""), "tiles")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kernel, again.reports) == (str(error), error.kernel, error.reports)
