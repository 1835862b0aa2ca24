"""Unit tests and a part of the Python tests,
with our own code under the address and undefined-behaviour sanitizers.

The build is in build-san, beside the usual one, and is kept. LLVM's archives are not instrumented:
what comes from them is checked only where it meets our code.
"""
from __future__ import annotations

import pathlib
import sys

import pytest
import tree
from commands import run

BUILD = tree.ROOT / "build-san"
PYTHON_TESTS = [
    "test/python/runtime/test_native.py", "test/python/calls/test_calls.py", "test/python/calls/test_call_errors.py",
    "test/e2e/numbers/test_corners.py",
]  # fmt: skip
# What a build without optimisation and with other libraries cannot pass: limits of time,
# names in the core.
LEFT_OUT = ["test_the_libraries_export_and_need_little", "test_a_warm_call_costs_little"]
# Containers and allocators of LLVM do not tell the sanitizer what they do with their memory.
ADDRESS_OPTIONS = "detect_container_overflow=0:allow_user_poisoning=0"

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    """Configures build-san and builds what the tests below need."""
    run(["cmake", "--preset", "sanitize", f"-DPython3_EXECUTABLE={sys.executable}"], limit=300)
    run(["cmake", "--build", "--preset", "sanitize"], limit=3000)


def test_our_code_is_instrumented():
    core = BUILD / "python" / "logitile" / "liblogitile_core.so"
    symbols = run(["llvm-nm-22", "--dynamic", "--undefined-only", str(core)], limit=60)
    assert "__asan_report_load8" in symbols and "__ubsan_handle_type_mismatch_v1_abort" in symbols


def test_unit_tests_pass():
    command = [sys.executable, "test/run_tests.py", "--build", str(BUILD), "--only", "unit"]
    output = run(command, limit=1200, ASAN_OPTIONS=ADDRESS_OPTIONS, UBSAN_OPTIONS="print_stacktrace=1")
    assert " 0 failed," in output.splitlines()[-1]


@pytest.mark.parametrize("file", PYTHON_TESTS)
def test_python_tests_pass(file: str):
    """Python itself is not instrumented: the sanitizer is loaded before it,
    and its own leaks do not count.
    """
    name = run(["clang-22", "-print-file-name=libclang_rt.asan-x86_64.so"], limit=60).strip()
    assert pathlib.Path(name).is_absolute(), "the sanitizer's shared library is missing: libclang-rt-22-dev"
    chosen = f"not ({' or '.join(LEFT_OUT)})"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal",
               "-k", chosen, file]
    run(command, limit=1200, LD_PRELOAD=name, LOGITILE_BUILD=str(BUILD), LOGITILE_TEST_FULL="0",
        ASAN_OPTIONS=f"{ADDRESS_OPTIONS}:detect_leaks=0", UBSAN_OPTIONS="print_stacktrace=1")
