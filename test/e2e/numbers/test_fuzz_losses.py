"""Strange random losses are right wherever torch is: a part of what fuzz_losses.py runs."""

import dataclasses
import os
import subprocess
import sys

import backends
import fuzz_losses
import fuzz_reduce
import fuzz_verdict
import numpy as np
import pytest
from gate import Sample

SEEDS, EMULATED, FULL = range(50, 170), range(50, 70), range(700, 820)
FACTORED = range(fuzz_verdict.FIRST_FACTORED, fuzz_verdict.FIRST_FACTORED + 40)
BLOCK = 10


def bad_ones(seeds):
    """What is wrong, with the text to see it again; most seeds must have been decided."""
    bad, decided = [], 0
    for seed in seeds:
        case = fuzz_verdict.case(seed)
        verdict = fuzz_verdict.verdict(case)
        decided += verdict.kind != "undecided"
        if verdict.kind != "right" and verdict.kind != "undecided":
            bad.append(f"seed {seed}: {verdict}\n{case}\n{case.loss.source}")
    assert decided >= len(seeds) // 2
    return "\n".join(bad)


@pytest.mark.contract("5 gate", "5 one value", "5 ranks", "3 masks", "3 branch")
@pytest.mark.parametrize("first", SEEDS[::BLOCK])
def test_losses_that_nobody_wrote(first):
    assert not bad_ones(range(first, first + BLOCK))


@pytest.mark.parametrize("first", EMULATED[::BLOCK])
def test_losses_that_nobody_wrote_on_the_emulator(first, monkeypatch):
    monkeypatch.setattr(backends, "current", backends.EMULATOR)
    assert not bad_ones(range(first, first + BLOCK))


@pytest.mark.contract("3 branch", "5 stored format")
@pytest.mark.parametrize("first", FACTORED[::20])
def test_gradients_that_a_sweep_stores(first, monkeypatch):
    monkeypatch.setattr(backends, "current", backends.EMULATOR)
    assert not bad_ones(range(first, first + 20))


def test_sweeps_store_the_gradients_of_many_such_losses(monkeypatch):
    monkeypatch.setattr(backends, "current", backends.EMULATOR)
    samples = [fuzz_verdict.case(seed).sample() for seed in FACTORED]
    told = [made.head.explain(**made.passed).schedule for made in samples if made]
    assert told.count("gradients stored") >= len(FACTORED) // 2


@pytest.mark.full
@pytest.mark.parametrize("first", FULL[::60])
def test_more_losses_that_nobody_wrote(first):
    assert not bad_ones(range(first, first + 60))


@pytest.mark.full
@pytest.mark.parametrize("first", FULL[:40:BLOCK])
def test_more_of_them_on_the_emulator(first, monkeypatch):
    monkeypatch.setattr(backends, "current", backends.EMULATOR)
    assert not bad_ones(range(first, first + BLOCK))


@pytest.mark.contract("4 reference")
@pytest.mark.parametrize("first", SEEDS[::40])
def test_the_reference_agrees_with_dense_torch_on_the_same_text(first):
    for seed in range(first, first + 40):
        case = fuzz_verdict.case(seed)
        sample = case.sample()
        if sample is None or not sample.counted().any():
            continue
        judge = fuzz_verdict.Judge(case, sample)
        reference = sample.reference()
        for name in judge.decided(fuzz_verdict.EVALUATIONS):
            error = judge.error(name, reference[name])
            assert error < fuzz_verdict.DECIDED, (name, seed, error, case.loss.source)


# ---- what finds them -----------------------------------------------------------------------------


def spoil(monkeypatch, change):
    """Every result of a call is changed before it is judged."""
    run = Sample.run
    monkeypatch.setattr(Sample, "run", lambda self: {k: change(np.array(v)) for k, v in run(self).items()})


@pytest.mark.parametrize("change, kind", [
    (lambda x: x * 1.004 if x.dtype.kind == "f" else x, "wrong"),
    (lambda x: x * np.nan if x.dtype.kind == "f" else x, "wrong"),
    (lambda x: x * 1.0005 if x.dtype.kind == "f" else x, "right"),
    (lambda x: x + 1 if x.dtype.kind == "i" else x, "wrong"),
])  # fmt: skip
def test_wrong_results_are_found(change, kind, monkeypatch):
    cases = (dataclasses.replace(fuzz_verdict.case(seed), dtype="float32") for seed in range(99))
    case = next(case for case in cases if case.loss.scale == 1 and "index=" in case.loss.source)
    spoil(monkeypatch, change)
    assert fuzz_verdict.verdict(case).kind == kind


def test_a_list_in_another_order_is_wrong(monkeypatch):
    lines = ["    best = lt.topk(z * a, 3)",
             "    return lt.Outputs(loss=lt.mean(z), best=best[0], places=best[1])"]  # fmt: skip
    verdict = verdict_of(lines)
    assert verdict.kind == "right" and verdict.errors.keys() >= {"best", "places"}
    run = Sample.run
    monkeypatch.setattr(Sample, "run", lambda self: run(self) | {"places": run(self)["places"][:, ::-1]})
    assert verdict_of(lines).kind == "wrong"


def test_a_comparison_that_a_rounding_turns_decides_nothing():
    lines = ["    return lt.to_float(lt.count((z + 1.0) / 3.0 > z / 3.0 + 0.33333333)) + lt.mean(z)"]
    assert verdict_of(lines).errors.keys() == {"grad z.hidden", "grad z.weight"}


def test_a_comparison_of_a_value_with_itself_is_decided():
    lines = ["    x = (z + 1.0) / 3.0", "    return lt.to_float(lt.count(x >= lt.max(x))) + lt.mean(z)"]
    assert "loss" in verdict_of(lines).errors


def test_parts_of_a_gradient_are_those_of_every_use():
    """What flows through two uses of b cancels, so the gradient is 0; the parts are not."""
    case = case_of(["    return lt.max(lt.softmax(z / b * b * z))"])
    judge = fuzz_verdict.Judge(case, case.sample())
    exact, size = judge.text.reference()["b"], judge._size_of_parts("b")
    allowed = fuzz_verdict.OF_PARTS * size / judge.sizes["b"]
    assert np.abs(exact).max() < 1e-12 and size > 0.1
    assert judge.is_right("grad b", 0.9 * allowed, exact)
    assert not judge.is_right("grad b", fuzz_verdict.WRONG + 2 * allowed, exact)


def test_parts_of_a_gradient_are_those_of_every_softmax():
    """What flows through the softmax and beside it cancels,
    inside a logsumexp that has parts of its own.
    """
    sizes = []
    inner = "lt.sum(lt.softmax(1e4 * z) ** 2.0)"
    for line in (inner, f"lt.logsumexp(u * {inner})"):
        case = case_of([f"    return {line}"])
        sizes.append(fuzz_verdict.Judge(case, case.sample())._size_of_parts("z.hidden"))
    assert sizes[0] > 1e4 and sizes[1] > 0.01 * sizes[0]


def case_of(lines, seed=0):
    """A call of the loss with these lines."""
    case = dataclasses.replace(fuzz_verdict.case(seed), tokens=200, vocab=100, hidden=(17, 17),
                               options={"reduction": "none"}, ignored=0.0, dtype="float32")  # fmt: skip
    plain = dataclasses.replace(case.loss, grid=False, scale=1.0, bias=1.0)
    source, used, loss = fuzz_reduce.wild_specs.defined(seed, lines)
    return dataclasses.replace(case, loss=dataclasses.replace(plain, source=source, inputs=used, loss=loss))


def verdict_of(lines):
    return fuzz_verdict.verdict(case_of(lines))


def test_a_case_is_cut_down_to_what_is_wrong(monkeypatch):
    lines = ["    p = lt.softmax(z + u)", "    x = lt.floor(z * a)",
             "    return lt.sum(p * x) + lt.mean(lt.square(x)) - 2.0 * z[y]"]  # fmt: skip

    def verdict(case):
        is_wrong = "lt.floor(" in case.loss.source
        return fuzz_verdict.Verdict("wrong" if is_wrong else "right", {"loss": (1.0, 0.0)})

    monkeypatch.setattr(fuzz_verdict, "verdict", verdict)
    case = fuzz_reduce.reduced(case_of(lines))
    assert case.loss.source.splitlines()[-1] == "    return lt.floor(z)"
    assert (case.tokens, case.vocab, case.hidden) == (1, 1, (1, 1))


def test_a_run_goes_on_where_it_stopped(tmp_path):
    out = tmp_path / "results.jsonl"
    command = [sys.executable, fuzz_losses.__file__, "--jobs", "1", "--out", str(out)]
    ran = subprocess.run([*command, "--seeds", "0:2"], capture_output=True, text=True)
    assert ran.stdout.startswith("2 seeds: "), ran.stdout + ran.stderr
    assert fuzz_losses.known_results(out).keys() == {0, 1}
    out.write_text(out.read_text() + '{"seed": 2, "kind"')  # it was ended in the middle of a line
    ran = subprocess.run([*command, "--seeds", "0:3"], capture_output=True, text=True)
    assert ran.stdout.startswith("3 seeds: ") and out.read_text().count('"seed": 0') == 1
    assert fuzz_losses.known_results(out).keys() == {0, 1, 2}


def test_a_crash_is_a_result(monkeypatch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os, sys\nif '7' in sys.argv: print('{\"seed\": 6}', flush=True), os._exit(3)\n"
                       "print('{\"seed\": 8}')\n")  # fmt: skip
    monkeypatch.setattr(fuzz_losses, "__file__", str(program))
    results = []
    fuzz_losses.results_of([6, 7, 8], "cpu", results.append)
    assert [result["seed"] for result in results] == [6, 7, 8]
    assert results[1]["kind"] == "crashed" and "exit status 3" in results[1]["detail"]


@pytest.mark.parametrize("limits, wait", [("0.2, 600", "while True: pass"), ("600, 0.2", "time.sleep(600)")])
def test_a_hang_is_a_crash_with_its_stack(limits, wait):
    """On the processor, or by the clock."""
    program = f"""
import faulthandler, signal, sys, time
sys.path.insert(0, {os.path.dirname(fuzz_losses.__file__)!r})
import fuzz_losses
def of_this_seed(seed):
    fuzz_losses.limit({limits})
    {wait}
fuzz_losses.result_of = of_this_seed
fuzz_losses.run_block([7], "cpu")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode and not ran.stdout and "in of_this_seed" in ran.stderr
