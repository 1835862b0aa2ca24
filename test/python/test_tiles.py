"""Tile sizes of requests: rows of the tile tables give the same results, and wrong sizes are errors."""

import json
import pathlib
from dataclasses import replace

import logitile as lt
import numpy as np
import pytest
from inputs import arguments, relative

TABLE = pathlib.Path(__file__).parents[2] / "templates" / "cuda.json"
ROWS = json.loads(TABLE.read_text())
LOSS = lt.losses.cross_entropy


def spelled(row):
    return ",".join(f"{name}={size}" for name, size in row.items() if name != "values")


def with_tiles(tiles, **options):
    head = lt.jit(LOSS, **options)
    head.options = replace(head.options, tiles=tiles)
    return head


def check(head):
    given = arguments(LOSS, tokens=70, vocab=150, hidden=40)
    value, gradients = head.value_and_grad(**given)
    expected, wanted = head.reference_grad(**given)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    for name, gradient in wanted.items():
        assert relative(gradients[name], gradient) < 2e-6, name


def test_tables_have_rows_to_choose_from():
    for target, rows in ROWS.items():
        for values in (1, 2, 4):
            serving = {spelled(row) for row in rows if row["values"] >= values}
            assert len(serving) >= 3, (target, values)


@pytest.mark.parametrize("tiles", [spelled(row) for row in ROWS["sm_80"]])
def test_rows_of_a_gpu(tiles):
    check(with_tiles(tiles, backend="emu:sm_80", chunks=1))


def test_sizes_of_a_cpu():
    check(with_tiles("TM=32,TN=24,TD=32,TKproject=16", backend="cpu", chunks=1))


@pytest.mark.parametrize(
    ("tiles", "error"),
    [
        ("TM", "tile size 'TM' cannot be read; write a name and a positive integer, such as 'TM=64'"),
        ("TM=-1", "tile size 'TM=-1' cannot be read"),
        ("TX=64", "there is no tile size 'TX'; there are TM, TN, TD, TKproject, TKhidden, TKweight"),
        ("TN=40", "tile size 'TN' is 40; 'cuda:sm_80' takes multiples of 32"),
        ("TKproject=1024", "of shared memory"),
    ],
)
def test_wrong_sizes(tiles, error):
    shapes = lt.ShapeDtype((70, 40), "bfloat16"), lt.ShapeDtype((150, 40), "bfloat16")
    head = with_tiles(tiles, backend="cuda:sm_80", chunks=1)
    with pytest.raises(lt.CompileError, match=error) as caught:
        head.ir("ptx", *shapes, target=lt.ShapeDtype((70,), "int32"))
    assert "\n" not in str(caught.value)  # the program is not printed
