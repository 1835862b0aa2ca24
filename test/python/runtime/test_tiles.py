"""Tile sizes of requests: rows of the tile tables give the same results,
and wrong sizes are errors.
"""

import json
import pathlib
import re

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
from inputs import arguments, relative
from logitile import _native
from logitile.calls.demands import by_names
from logitile.calls.program import Program, default_key

BACKENDS = pathlib.Path(__file__).parents[3] / "compiler" / "Backends"
ROWS = json.loads((BACKENDS / "NVPTX" / "tiles.json").read_text())
CPU_ROWS = json.loads((BACKENDS / "CPU" / "tiles.json").read_text())
LOSS = lt.losses.cross_entropy


def spelled(row):
    return ",".join(f"{name}={size}" for name, size in row.items() if name != "values")


def with_tiles(tiles, **options):
    return lt.jit(LOSS, tiles=tiles, **options)


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
    for tier, rows in CPU_ROWS.items():
        assert len({spelled(row) for row in rows}) == len(rows) >= 3, tier


@pytest.mark.parametrize("tiles", [spelled(row) for row in ROWS["sm_80"]])
def test_rows_of_a_gpu(tiles):
    check(with_tiles(tiles, backend="emu:sm_80", chunks=1))


@pytest.mark.parametrize(
    ("tier", "row"), [(tier, row) for tier, rows in CPU_ROWS.items() for row in map(spelled, rows)]
)
def test_rows_of_a_cpu(tier, row, monkeypatch):
    emulated = {"amx_bf16": "amx_bf16_emulated"}
    monkeypatch.setenv("LOGITILE_CPU_TIER", emulated.get(tier, tier))
    try:
        _native.host_target()
    except lt.TargetError:
        pytest.skip("this machine has no such instructions")
    check(with_tiles(row, backend="cpu"))
    given = arguments(LOSS, tokens=70, vocab=150, hidden=41)
    given["z"] = tuple(array.astype(ml_dtypes.bfloat16) for array in given["z"])
    expected, wanted = lt.jit(LOSS).value_and_grad(grad_dtype="float32", **given)
    value, gradients = with_tiles(row).value_and_grad(grad_dtype="float32", **given)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    for name, gradient in wanted.items():
        assert relative(gradients[name], gradient) < 4 * 2.0**-9, name


def test_sizes_of_a_cpu():
    check(with_tiles("TM=32,TN=24,TD=32,TKproject=16", backend="cpu", chunks=1))


def test_tiles_of_one_vocabulary_entry_are_refused():
    given = arguments(LOSS, tokens=7, vocab=15, hidden=4)
    message = "tile size 'TN' is 1; tiles have 2 vocabulary entries at least; take sizes of 'cpu"
    with pytest.raises(lt.CallValueError, match=message):
        with_tiles("TN=1", backend="cpu")(**given)


@pytest.mark.parametrize(
    ("tiles", "error"),
    [
        (f"TM={2**63 - 1}", f"tile size 'TM' is {2**63 - 1}; 16384 is the most"),
        ("TX=64", "there is no tile size 'TX'; there are TM, TN, TD, TKproject, TKhidden, TKweight, cluster"),
        ("cluster=2", "tile size 'cluster' is 2; clusters of 'cuda:sm_80' have 1 block at most"),
        ("TN=40", "tile size 'TN' is 40; 'cuda:sm_80' takes multiples of 32"),
        ("TN=48,TM=16385", "tile size 'TM' is 16385; 16384 is the most"),
        ("TKproject=1024", "tiles='TKproject=1024' do not fit the kernels of this call: .* the 166912 bytes"),
    ],
)
def test_sizes_that_do_not_fit(tiles, error):
    shapes = lt.ShapeDtype((70, 40), "bfloat16"), lt.ShapeDtype((150, 40), "bfloat16")
    head = with_tiles(tiles, backend="cuda:sm_80", chunks=1)
    with pytest.raises(lt.CallValueError, match=error) as caught:
        head.ir("ptx", *shapes, target=lt.ShapeDtype((70,), "int32"))
    remedy = r"such as TM=\d+,TN=\d+,TD=\d+,TKproject=\d+,TKhidden=\d+,TKweight=\d+, or leave 'tiles' out"
    assert re.search(remedy + "$", str(caught.value))
    assert "\n" not in str(caught.value)  # the program is not printed


def test_too_many_columns_of_a_gpu():
    shapes = lt.ShapeDtype((70, 64), "float32"), lt.ShapeDtype((1500, 64), "float32")
    head = with_tiles("TN=256", backend="cuda:sm_90a", chunks=1)
    message = "tiles='TN=256' do not fit .*registers have room for 128 .*; take smaller sizes, such as TM="
    with pytest.raises(lt.CallValueError, match=message):
        head.ir("tiles", *shapes, target=lt.ShapeDtype((70,), "int32"))


def test_clusters_that_no_product_has_a_use_for():
    """Float32 is multiplied by warps, as are tiles of 32 rows."""
    for dtype, tiles in (("float32", "cluster=2"), ("bfloat16", "TM=32,TN=32,cluster=2")):
        shapes = lt.ShapeDtype((70, 64), dtype), lt.ShapeDtype((1500, 64), dtype)
        head = with_tiles(tiles, backend="cuda:sm_90a", chunks=1)
        message = f"tiles='{tiles}' do not fit .* has no product for clusters of 2 blocks: .*; take cluster=1"
        with pytest.raises(lt.CallValueError, match=message):
            head.ir("tiles", *shapes, target=lt.ShapeDtype((70,), "int32"))


def test_clusters_are_choices_where_operands_have_16_bits():
    for dtype, expected in (("float32", False), ("bfloat16", True)):
        shapes = lt.ShapeDtype((70, 64), dtype), lt.ShapeDtype((1500, 64), dtype)
        call = lt.jit(LOSS, backend="cuda:sm_90a")._bind(*shapes, target=lt.ShapeDtype((70,), "int32"))
        choices = Program(call, default_key(call, by_names(call, None))).tiles()
        assert any("cluster=2" in choice for choice in choices) == expected


@pytest.mark.parametrize("tiles", ["TM", "TM=-1", "TM=64,TN=x"])
def test_sizes_that_are_no_sizes(tiles):
    shapes = lt.ShapeDtype((70, 40), "bfloat16"), lt.ShapeDtype((150, 40), "bfloat16")
    head = with_tiles(tiles, backend="cuda:sm_80", chunks=1)
    wrong = tiles.split(",")[-1]
    message = f"tile size '{wrong}' cannot be read; write a name and a positive integer, such as 'TM=64'"
    with pytest.raises(lt.CallValueError, match=message):
        head.ir("ptx", *shapes, target=lt.ShapeDtype((70,), "int32"))


def test_tiles_that_are_no_text():
    with pytest.raises(lt.CallValueError, match=r"tiles=64 must be a str, such as 'TM=64,TN=128'"):
        lt.jit(LOSS, tiles=64)


def test_the_reference_has_no_tiles():
    with pytest.raises(lt.CallValueError, match="tiles='TM=64' has no effect with backend='reference'"):
        lt.jit(LOSS, tiles="TM=64", backend="reference")


def test_slices_have_the_tiles_of_their_head():
    given = arguments(LOSS, tokens=70, vocab=150, hidden=40)
    whole, told = given["z"], {"part": "forward0", "vocab_size": 300}
    sizes = {}
    for tiles in ("TM=32,TN=24", "TM=64,TN=48"):
        head = with_tiles(tiles, backend="cpu:avx2")
        text = head.ir("plan", *whole, target=given["target"], **told)
        sizes[tiles] = re.search(r"@sweep<[^>]*(TM = \d+, TN = \d+)", text)[1]
    assert list(sizes.values()) == ["TM = 32, TN = 24", "TM = 64, TN = 48"]
