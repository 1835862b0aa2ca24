"""bench/sass_model.py: the table of a small call, and registers of large tiles."""

import sys

import conftest
import pytest

BENCH = conftest.ROOT / "bench"
sys.path.append(str(BENCH))

import sass_model  # noqa: E402
from sass.toolchain import ToolMissing  # noqa: E402


def predicted(target, shape):
    """The kernels of cross entropy in bfloat16, and what is predicted of them."""
    try:
        compiled = sass_model.Compiled("cross_entropy", target, shape, "bfloat16", "")
    except ToolMissing as missing:
        pytest.skip(str(missing))
    given = {"loss": "cross_entropy", "dtype": "bfloat16"}
    return compiled, given | sass_model.report(compiled, target, shape)


# Gradients in tiles of 256 columns, whole and clipped;
# those that are added to sums of earlier parts.
@pytest.mark.parametrize("shape", [(8192, 4096, 128256), (8192, 4000, 128256), (16384, 2048, 262144)])
def test_large_tiles_of_warpgroups_do_not_spill(shape):
    """The registers of a thread hold 128 sums and little else."""
    spilled = {row["kernel"]: row["spilled_bytes"] for row in predicted("sm_90a:h100", shape)[1]["kernels"]}
    assert {"z_hidden", "z_weight"} <= spilled.keys() and not any(spilled.values()), spilled


def test_every_launch_has_a_predicted_time():
    compiled, found = predicted("sm_80:a100", (128, 64, 512))
    launched = {launch["kernel"] for launch in compiled.described["launches"]}
    assert {row["kernel"] for row in found["kernels"]} == launched
    assert all(row["predicted_ms"] > 0 for row in found["kernels"])
    assert f"predicted {found['predicted_ms']:.2f} ms" in sass_model.table(found)
