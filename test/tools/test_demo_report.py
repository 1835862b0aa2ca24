"""What the demo says at its end (bench/demo/report.py), for figures that are made up."""

import sys

import pytest
import tree

sys.path.append(str(tree.ROOT / "bench" / "demo"))

from report import MIB, Run, failures, verdict  # noqa: E402


def run(loss, memory):
    return Run([{"loss": loss, "memory": memory * MIB}, {"loss": loss, "seconds": 2.0, "loss_seconds": 1.0}])


def test_what_holds_is_one_line():
    torch, logitile = run(8.0, 1000), run(8.0 + 8e-7, 100)
    assert failures(torch, logitile) == []
    assert verdict(torch, logitile) == (
        "demo: passed; 0.10x the memory, 1.00x the time for head and loss, losses agree to 1.0e-07"
    )


@pytest.mark.parametrize(
    ("loss", "memory", "text"),
    [
        (8.1, 100, "  the losses of step 1 differ by 1.2e-02, more than 1e-03"),
        (8.0, 300, "  logitile's loss step takes 300 MiB, more than a quarter of torch's 1000 MiB"),
        (float("nan"), 100, "  the losses of step 1 differ by nan, more than 1e-03"),
    ],
)
def test_what_does_not_hold_is_named(loss, memory, text):
    torch, logitile = run(8.0, 1000), run(loss, memory)
    lines = verdict(torch, logitile).splitlines()
    assert lines[0] == "demo: FAILED" and text in lines and lines[1:] == [
        f"  {failure}" for failure in failures(torch, logitile)
    ]
