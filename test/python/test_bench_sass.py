"""bench/sass_model.py: the table of a small call."""

import sys

import conftest
import pytest

BENCH = conftest.ROOT / "bench"
sys.path.append(str(BENCH))

import sass_model  # noqa: E402
from sass.toolchain import ToolMissing  # noqa: E402


def test_every_launch_has_a_predicted_time():
    shape, target = (128, 64, 512), "sm_80:a100"
    try:
        compiled = sass_model.Compiled("cross_entropy", target, shape, "bfloat16", "")
    except ToolMissing as missing:
        pytest.skip(str(missing))
    found = {"loss": "cross_entropy", "dtype": "bfloat16", **sass_model.report(compiled, target, shape)}
    launched = {launch["kernel"] for launch in compiled.described["launches"]}
    assert {row["kernel"] for row in found["kernels"]} == launched
    assert all(row["predicted_ms"] > 0 for row in found["kernels"])
    assert f"predicted {found['predicted_ms']:.2f} ms" in sass_model.table(found)
