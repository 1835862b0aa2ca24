"""The test runner: what it counts, what it calls a failure, and its last line."""
from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import run_tests

PASS, FAIL, SKIP = '<testcase classname="a" name="p"/>', '<failure message="m"/>', '<skipped message="m"/>'


def case(inside: str) -> str:
    return f'<testcase classname="a" name="b">{inside}</testcase>'


def program(folder: pathlib.Path, body: str, name: str = "fake") -> pathlib.Path:
    """A program that stands for a gtest program: `report` is where it writes its JUnit report."""
    file = folder / name
    file.write_text(f"#!{sys.executable}\nimport os, pathlib, sys, time\n"
                    f"report = pathlib.Path(sys.argv[1].split(':', 1)[1])\n{body}\n")
    file.chmod(0o755)
    return file


def writes(*cases: str, status: int = 0) -> str:
    return f"report.write_text('<testsuite>{''.join(cases)}</testsuite>')\nsys.exit({status})"


def run_one(folder: pathlib.Path, body: str) -> run_tests.Result:
    report = folder / "report.xml"
    suite = run_tests.Suite("fake", [str(program(folder, body)), f"xml:{report}"], report, alone=True)
    return run_tests.run_suite(suite, run_tests.environment(folder, full=False), run_tests.Processes())


def test_cases_are_counted(tmp_path):
    result = run_one(tmp_path, writes(PASS, PASS, case(SKIP), case(FAIL), case("<error/>"), status=1))
    assert (result.passed, result.skipped, result.failures) == (2, 1, ["a :: b", "a :: b"])


def test_failures_are_named_as_soon_as_their_suite_ends(tmp_path, capsys):
    """A run that is ended from outside has no summary."""
    run_one(tmp_path, writes(PASS, case(FAIL), status=1))
    assert "    failed: a :: b\n" in capsys.readouterr().out


def test_disabled_gtest_cases_are_skipped(tmp_path):
    result = run_one(tmp_path, writes(PASS, '<testcase name="d" result="suppressed"/>'))
    assert (result.passed, result.skipped, result.failures) == (1, 1, [])


@pytest.mark.parametrize("body, failure", [
    ("os.abort()", "left no readable report (exit status -6)"),
    ("report.write_text('<testsuite>')", "left no readable report (exit status 0)"),
    (writes(), "ran no test (exit status 0)"),
    (writes(status=5), "ran no test (exit status 5)"),
    (writes(PASS, status=3), "failed, though no test did (exit status 3)"),
])
def test_a_suite_that_breaks_is_a_failure(tmp_path, body, failure):
    assert run_one(tmp_path, body).failures == [failure]


def test_the_report_of_an_earlier_run_does_not_count(tmp_path):
    (tmp_path / "report.xml").write_text(f"<testsuite>{PASS}</testsuite>")
    assert run_one(tmp_path, "").failures == ["left no readable report (exit status 0)"]


def test_a_suite_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LIMIT_SECONDS", 0.5)
    start = time.monotonic()
    result = run_one(tmp_path, "import subprocess\nsubprocess.run(['sleep', '60'])")
    assert result.failures == ["left no readable report (stopped after 0.5 s)"]
    assert time.monotonic() - start < 30  # the grandchild held the output pipe open


# ---- the command ---------------------------------------------------------------------------------


def command(build: pathlib.Path, *bodies: str, only: str = "unit") -> list[str]:
    """The runner on a build whose only programs are fakes."""
    programs = [program(build, body, f"fake{i}") for i, body in enumerate(bodies)]
    (build / "test").mkdir()
    configured = {"lit": "none", "unit": [str(file) for file in programs]}
    (build / "test" / "suites.json").write_text(json.dumps(configured))
    return [sys.executable, run_tests.__file__, "--build", str(build), "--only", only, "-j2"]


def test_the_last_line_is_the_total(tmp_path):
    bodies = [writes(PASS, case(SKIP)), writes(PASS)]
    done = subprocess.run(command(tmp_path, *bodies), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "TOTAL: 2 passed, 0 failed, 1 skipped"
    assert (done.returncode, done.stderr) == (0, "")


def test_the_last_line_names_tools_that_were_not_found(tmp_path):
    skipped = "<skipped message=\"Missing required feature(s): {}\"/>"
    body = writes(*(case(skipped.format(features)) for features in ("full", "ptxas", "ptxas, full")))
    done = subprocess.run(command(tmp_path, body), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "TOTAL: 0 passed, 0 failed, 3 skipped; not found: ptxas"
    assert (done.returncode, done.stderr) == (0, "")


def test_only_failing_suites_show_their_output(tmp_path):
    bodies = ["print('quiet')\n" + writes(PASS), "print('loud')\n" + writes(case(FAIL), status=1)]
    done = subprocess.run(command(tmp_path, *bodies), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "TOTAL: 1 passed, 1 failed, 0 skipped"
    assert "unit:fake1: a :: b" in done.stdout
    assert "loud" in done.stdout and "quiet" not in done.stdout
    assert done.returncode == 1


def test_full_reaches_the_suites(tmp_path):
    body = f"os.environ['LOGITILE_TEST_FULL'] == str(int(len(sys.argv) == 2)) or sys.exit(1)\n{writes(PASS)}"
    line = command(tmp_path, body)
    assert subprocess.run(line, capture_output=True).returncode == 0
    assert subprocess.run([*line, "--full"], capture_output=True).returncode == 0


def test_an_unknown_suite_is_refused(tmp_path):
    done = subprocess.run(command(tmp_path, only="unti"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no suite 'unti'; there are tools, style, layering, lit" in done.stderr


def test_a_missing_build_is_refused(tmp_path):
    line = [sys.executable, run_tests.__file__, "--build", str(tmp_path / "none")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    assert "suites.json is missing; build first (./setup.sh)" in done.stderr


def test_an_interrupt_ends_everything(tmp_path):
    body = f"pathlib.Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\ntime.sleep(60)"
    pipe = subprocess.PIPE
    # A shell's background job ignores interrupts, and so would what it starts.
    listen = [sys.executable, "-c", "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
              "os.execv(sys.argv[1], sys.argv[1:])"]  # fmt: skip
    line = listen + command(tmp_path, body)
    runner = subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True)
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.02)
    runner.send_signal(signal.SIGINT)
    stdout, stderr = runner.communicate(timeout=30)
    assert (runner.returncode, stderr.strip()) == (130, "run_tests: interrupted")
    assert "TOTAL" not in stdout
    assert not pathlib.Path("/proc", pid.read_text()).exists()
