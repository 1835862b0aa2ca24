"""What all pytest folders share: tests marked `full` are slow and run under
LOGITILE_TEST_FULL=1 only.
"""
import os
import pathlib
import sys

import pytest

os.environ["LOGITILE_CACHE_DIR"] = "off"  # tests compile, and leave the user's programs alone
# ods.py, make_reference.py
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "docs"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: slow; runs with run_tests.py --full (LOGITILE_TEST_FULL=1)")
    config.addinivalue_line("markers", "contract(*lines): which lines of test/contract.md it is a test of")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("LOGITILE_TEST_FULL") == "1":
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="slow; runs with --full"))
