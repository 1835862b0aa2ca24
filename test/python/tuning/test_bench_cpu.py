"""bench/cpu.py: one round on tiny inputs, what it refuses, and that a wrong result is an error."""

import json
import os
import subprocess
import sys

import conftest
import numpy
import pytest

BENCH = conftest.ROOT / "bench"
sys.path.append(str(BENCH))

import cpu  # noqa: E402
from comparison import building, cases, measuring, workers  # noqa: E402


def run(*arguments):
    env = {**os.environ, "PYTHONPATH": str(conftest.PACKAGE)}
    command = [sys.executable, str(BENCH / "cpu.py"), "--threads", "1", "--rounds", "1", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)


def test_one_round_measures_every_loss_and_writes_a_report_and_a_picture(tmp_path):
    report, picture = tmp_path / "made" / "cpu.json", tmp_path / "cpu.png"
    done = run("--shapes", "16,32,100", "--dtypes", "float32", "--modes", "gradients", "--contenders",
               "logitile", "peaked", "eager", "--json", str(report), "--png", str(picture))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())
    assert [record["loss"] for record in found["cases"]] == list(cases.LOSSES)
    assert {"cpu", "cores", "tier", "date"} <= found["machine"].keys()
    assert {"torch", "logitile"} <= found["versions"].keys()
    for record in found["cases"]:
        assert record["peaks"]["1"][0] > 0
        for one in record["contenders"].values():
            assert len(one["seconds"]) == 1 and one["median_seconds"] > 0
            assert one["ratio"]["low"] <= one["ratio"]["median"] <= one["ratio"]["high"]
            assert {".hidden", ".weight"} < one["errors"].keys()
            assert one["memory"]["results"] >= (16 + 100) * 32 * 4
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "cross_entropy, forward and backward" in done.stdout
    assert "round 1 of 1" in done.stderr and "round 1 of 1" not in done.stdout


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(building.Missing, match="install the package g\\+\\+"):
        workers.Worker("onednn", 1)


@pytest.mark.parametrize("broken", ["other", "nan", "absent"])
def test_a_wrong_result_is_an_error(broken):
    expected = {"loss": numpy.float32([2.0]), ".hidden": numpy.arange(8, dtype=numpy.float32)}
    right = {"loss": numpy.float32([2.00001]), ".hidden": expected[".hidden"]}
    assert measuring.checked(right, expected, 1e-4)["loss"] == pytest.approx(5e-6, rel=0.1)
    if broken == "absent":
        wrong = {"loss": right["loss"]}
    else:
        value = {"other": 9.0, "nan": numpy.nan}[broken]
        wrong = {**right, ".hidden": numpy.where(expected[".hidden"] == 3, value, expected[".hidden"])}
    with pytest.raises(workers.Failed, match="hidden"):
        measuring.checked(wrong, expected, 1e-4)


def test_a_broken_contender_is_a_failure():
    records = [{"contenders": {"eager": {"seconds": [1.0]}, "chunked": {"failed": "no memory"}}}]
    assert list(cpu.failures(records)) == ["chunked"]


def test_ratios_are_those_of_each_round():
    case = cases.Case(2, 4, 8, "float32", "cross_entropy", "gradients")
    found = measuring.figures(case, [2.0, 30.0, 4.0], [1.0, 10.0, 4.0], [1.0, 1.0, 1.0])
    assert found["ratio"] == {"low": 1.5, "median": 2.0, "high": 2.5}
    assert found["median_seconds"] == 4.0


def test_work_counts_products_of_matrices():
    sizes = 2.0 * 5 * 7 * 11
    for loss, mode, products in (("cross_entropy", "gradients", 3), ("cross_entropy", "forward", 1),
                                 ("reverse_kl", "gradients", 4), ("reverse_kl", "forward", 2)):  # fmt: skip
        assert cases.Case(5, 7, 11, "float32", loss, mode).flops == products * sizes


def test_what_does_not_fit_is_measured_in_16_bits_only():
    found = cases.cases(cases.BFLOAT16_ONLY, ["float32", "bfloat16"], ["cross_entropy"], ["forward"])
    assert [case.dtype for case in found] == ["bfloat16"]


def test_quick_has_cases_of_its_own(capsys):
    assert cpu.parsed(["--quick"]).cases == cases.quick_cases()
    with pytest.raises(SystemExit):
        cpu.parsed(["--quick", "--shapes", "1,2,3"])
    assert "leave out --shapes" in capsys.readouterr().err


def test_a_contender_that_is_none_is_refused(capsys):
    assert cpu.parsed(["--contenders", "logitile:1"]).contenders == ["logitile:1"]
    for text in ("jax", "eager:", "eager:two"):
        with pytest.raises(SystemExit):
            cpu.parsed(["--contenders", text])
        assert f"'{text}' is not NAME" in capsys.readouterr().err
