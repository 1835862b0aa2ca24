"""bench/draw.py: which figures of several reports a picture shows."""

import sys

import tree

sys.path.append(str(tree.ROOT / "bench"))

from draw import latest  # noqa: E402


def case(ratio, **other):
    sizes = {
        "tokens": 4,
        "hidden": 8,
        "vocab": 16,
        "dtype": "float32",
        "loss": "cross_entropy",
        "mode": "forward",
    }
    return {**sizes, **other, "contenders": {"eager": {"ratio": ratio}}}


def test_the_last_figures_of_a_case_count():
    old = {"cases": [case(1.5), case(2.0, tokens=1), case(9.0, loss="focal")]}
    new = {"cases": [case(1.2)]}
    assert latest([old, new], "cross_entropy") == [case(1.2), case(2.0, tokens=1)]
    assert latest([new, old], "cross_entropy") == [case(1.5), case(2.0, tokens=1)]
