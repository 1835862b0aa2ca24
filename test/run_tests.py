#!/usr/bin/env python3
"""Runs every test suite of the tree and ends with one line: TOTAL: N passed, N failed, N skipped.

The line also names the tools that tests needed and did not find: "; not found: ptxas".

Suites: `layering` and `style` (rules on the text of the tree), `tools` (scripts), `unit:<name>`
(gtest), `lit` (IR), `python`, `e2e`, `foreign` and `builds` (pytest; the last two with --full only:
kernels of others, and other builds of the tree).
Each writes JUnit XML, from which the counts come. A suite that crashes, leaves no report or runs no
test is a failure. What CMake knows about the suites is in build/test/suites.json. Standard library
only.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 3600  # a suite that takes longer hangs
SMALL = ("tools", "style", "layering")  # pytest folders that leave cores free, the longest first
# pytest folders whose kernels or compilers use all cores
LARGE = ("python", "e2e", "foreign", "builds")
# of these, in a process per core; tests of builds write to the same folders
SIDE_BY_SIDE = ("python", "e2e")
LACKING = "Missing required feature(s): "  # how lit says why it skips a test


@dataclasses.dataclass(frozen=True)
class Suite:
    """One process that runs tests and writes `report`;
    `alone` if it keeps all cores busy by itself.
    """

    name: str
    command: list[str]
    report: pathlib.Path
    alone: bool


@dataclasses.dataclass
class Result:
    """What one suite reported: counts, names of failures, tools that its tests lacked,
    output, seconds.
    """

    suite: Suite
    passed: int = 0
    skipped: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    lacking: set[str] = dataclasses.field(default_factory=set)
    output: str = ""
    seconds: float = 0.0


# ---- which suites there are ----------------------------------------------------------------------


def pytest_suite(name: str, folder: str, build: pathlib.Path, alone: bool, workers: int = 0) -> Suite:
    """A folder of tests, in one process or in several that take tests from each other."""
    report = build / "test" / "reports" / f"{name}.xml"
    command = [sys.executable, "-m", "pytest", str(ROOT / folder), "-q", "--tb=short", f"--junitxml={report}",
               "-o", f"cache_dir={build / 'test' / 'pytest_cache'}"]
    if workers:
        command += ["-n", str(workers), "--dist", "worksteal"]
    return Suite(name, command, report, alone)


def find_suites(build: pathlib.Path, jobs: int, full: bool) -> list[Suite]:
    """All suites of the tree, those that share the cores first."""
    configured = json.loads((build / "test" / "suites.json").read_text())
    reports = build / "test" / "reports"
    suites = [pytest_suite(name, f"test/{name}", build, alone=False) for name in SMALL]
    for program in configured["unit"]:
        name = pathlib.Path(program).name
        report = reports / f"unit-{name}.xml"
        command = [program, f"--gtest_output=xml:{report}"] + ([] if full else ["--gtest_filter=-*.Full*"])
        suites.append(Suite(f"unit:{name}", command, report, alone=False))
    report = reports / "lit.xml"
    lit = [sys.executable, configured["lit"], "-v", f"-j{jobs}", f"--xunit-xml-output={report}"]
    suites.append(Suite("lit", [*lit, str(build / "test")], report, alone=True))
    for name in LARGE:
        if (ROOT / "test" / name).is_dir():
            workers = jobs if name in SIDE_BY_SIDE else 0
            suites.append(pytest_suite(name, f"test/{name}", build, alone=True, workers=workers))
    return suites


# ---- running one ---------------------------------------------------------------------------------


def environment(build: pathlib.Path, full: bool) -> dict[str, str]:
    """The environment of all suites: LOGITILE_TEST_FULL for slow parts, LOGITILE_BUILD for the
    package; the user's programs on disk are left alone.
    """
    env = dict(os.environ, LOGITILE_TEST_FULL="1" if full else "0", LOGITILE_BUILD=str(build))
    env["LOGITILE_CACHE_DIR"] = "off"
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), env.get("PYTHONPATH")]))
    return env


class Processes:
    """The children that run now, so that an interrupt ends all of them with their own children."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[str]] = set()

    def run(self, suite: Suite, env: dict[str, str]) -> tuple[int | None, str]:
        """Exit status (None: it hung and was ended) and output of one suite."""
        child = subprocess.Popen(suite.command, cwd=ROOT, env=env, text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        self.running.add(child)
        try:
            output, _ = child.communicate(timeout=LIMIT_SECONDS)
            return child.returncode, output
        except subprocess.TimeoutExpired:
            self.end(child)
            return None, child.communicate()[0]
        except BaseException:
            # an interrupt: the child is in a session of its own and has not seen it
            self.end(child)
            raise
        finally:
            self.running.discard(child)

    def end(self, child: subprocess.Popen[str]) -> None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end_all(self) -> None:
        for child in list(self.running):
            self.end(child)


def read_report(result: Result) -> None:
    """Adds the cases of the suite's JUnit report to `result`."""
    for case in ElementTree.parse(result.suite.report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            result.failures.append(f"{case.get('classname')} :: {case.get('name')}")
        elif (skip := case.find("skipped")) is not None or case.get("result") == "suppressed":
            result.skipped += 1
            result.lacking |= lacking_tools("" if skip is None else skip.get("message", ""))
        else:
            result.passed += 1


def lacking_tools(reason: str) -> set[str]:
    """The tools that lit did not find, from its reason to skip a test.
    `full` is a choice, not a tool.
    """
    return set(reason.removeprefix(LACKING).split(", ")) - {"full"} if reason.startswith(LACKING) else set()


def run_suite(suite: Suite, env: dict[str, str], processes: Processes) -> Result:
    print(f"  {suite.name} ...", flush=True)
    suite.report.parent.mkdir(parents=True, exist_ok=True)
    suite.report.unlink(missing_ok=True)
    result = Result(suite)
    start = time.monotonic()
    status, result.output = processes.run(suite, env)
    result.seconds = time.monotonic() - start
    ending = f"exit status {status}" if status is not None else f"stopped after {LIMIT_SECONDS} s"
    try:
        read_report(result)
    except (OSError, ElementTree.ParseError):
        result.failures.append(f"left no readable report ({ending})")
    if not result.failures and result.passed + result.skipped == 0:
        result.failures.append(f"ran no test ({ending})")
    if not result.failures and status != 0:
        result.failures.append(f"failed, though no test did ({ending})")
    print_result(result)
    return result


def print_result(result: Result) -> None:
    print(f"  {result.suite.name:24} {result.passed:5} passed {len(result.failures):4} failed "
          f"{result.skipped:4} skipped {result.seconds:8.1f} s", flush=True)
    for name in result.failures:  # at once: a run that is ended from outside has no summary
        print(f"    failed: {name}", flush=True)


def run_all(suites: list[Suite], env: dict[str, str], jobs: int, processes: Processes) -> list[Result]:
    """Small suites side by side, then those that use all cores, one after the other."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_suite, suite, env, processes) for suite in suites if not suite.alone]
        try:
            results = [future.result() for future in futures]
            return results + [run_suite(suite, env, processes) for suite in suites if suite.alone]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end_all()
            raise


# ---- the command ---------------------------------------------------------------------------------


def print_failures(results: list[Result]) -> None:
    failing = [result for result in results if result.failures]
    for result in failing:
        print(f"\n==== output of {result.suite.name} ====\n{result.output.rstrip()}")
    if failing:
        print("\nfailed:")
    for result in failing:
        for name in result.failures:
            print(f"  {result.suite.name}: {name}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (build)")
    parser.add_argument("--only", action="append", metavar="SUITE", help="one suite; 'unit': all of unit:...")
    parser.add_argument("--full", action="store_true", help="run the slow parts too")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (cores)")
    return parser.parse_args()


def choose(suites: list[Suite], only: list[str] | None) -> list[Suite]:
    """The suites named by --only, all without it; ends the command where a name fits none."""
    if not only:
        return suites
    chosen = []
    for name in only:
        fitting = [suite for suite in suites if suite.name == name or suite.name.startswith(name + ":")]
        if not fitting:
            sys.exit(f"run_tests: no suite '{name}'; there are {', '.join(suite.name for suite in suites)}")
        chosen += fitting
    return chosen


def main() -> int:
    arguments = parse_arguments()
    build = arguments.build.resolve()
    try:
        suites = find_suites(build, arguments.jobs, arguments.full)
    except FileNotFoundError as error:
        sys.exit(f"run_tests: {error.filename} is missing; build first (./setup.sh)")
    processes = Processes()
    try:
        chosen = choose(suites, arguments.only)
        results = run_all(chosen, environment(build, arguments.full), arguments.jobs, processes)
    except KeyboardInterrupt:
        print("\nrun_tests: interrupted", file=sys.stderr)
        return 130
    print_failures(results)
    passed = sum(result.passed for result in results)
    skipped = sum(result.skipped for result in results)
    failed = sum(len(result.failures) for result in results)
    lacking = sorted(set().union(*(result.lacking for result in results)))
    print(f"TOTAL: {passed} passed, {failed} failed, {skipped} skipped"
          + (f"; not found: {', '.join(lacking)}" if lacking else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
