"""bench/gpu.py: the kernels that it compares on a GPU with products of warpgroups."""

import re
import sys

import conftest
import logitile as lt
import pytest
import torch

sys.path.append(str(conftest.ROOT / "bench"))

import gpu  # noqa: E402

N, D, V = 256, 128, 1000


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_variants_have_other_products(dtype):
    """Which instruction multiplies is in the tiles of each. Some kernels have no pairs."""
    named = {"": {}} | {
        name: gpu.VARIANTS[name] for name in gpu.variants("cuda:sm_90a", getattr(torch, dtype))
    }
    target = lt.ShapeDtype((N,), "int64")
    found = {}
    for name, options in named.items():
        head = lt.jit(lt.losses.cross_entropy, **({"backend": "cuda:sm_90a"} | options))
        text = head.ir("tiles", lt.ShapeDtype((N, D), dtype), lt.ShapeDtype((V, D), dtype), target=target)
        found[name] = set(re.findall(r"using (\w+)", text))
    wanted = {"": {"wgmma"}, "mma.sync": {"mma_sync"}, "pairs": {"wgmma_pairs", "wgmma"}}
    assert found == {name: wanted[name] for name in named}


def test_other_devices_have_none():
    assert not gpu.variants("cuda:sm_80", torch.bfloat16)
