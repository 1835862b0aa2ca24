"""bfloat16 is multiplied by the instruction that is faster on this machine; rates are measured once."""

import json
import os
import subprocess
import sys

import conftest
import pytest
from logitile import _native

CALL = """
import json, sys
import logitile as lt, ml_dtypes, numpy as np
from logitile import _native
rng = np.random.default_rng(0)
hidden = rng.standard_normal((96, 64), np.float32).astype(ml_dtypes.bfloat16)
weight = rng.standard_normal((200, 64), np.float32).astype(ml_dtypes.bfloat16)
head, target = lt.jit(lt.losses.cross_entropy), rng.integers(0, 200, 96)
loss, gradients = head.value_and_grad(hidden, weight, target=target)
exact, right = head.reference_grad(hidden, weight, target=target)
off = {"loss": float(abs(loss / exact - 1))}
for name, gradient in right.items():
    off[name] = float(abs(gradients[name].astype(float) - gradient).max() / abs(gradient).max())
said = str(head.explain(hidden, weight, target=target))
print(json.dumps({"target": _native.host_target(), "off": off, "said": said}))
"""

pytestmark = pytest.mark.skipif(
    _native.host_target() != "cpu:avx512_bf16", reason="this machine has no products of bfloat16"
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "cache"
    path.mkdir(mode=0o700)
    return path


def call(folder, **variables):
    """What a process finds whose disk cache is there."""
    env = {**os.environ, "PYTHONPATH": str(conftest.PACKAGE), "LOGITILE_CACHE_DIR": str(folder), **variables}
    done = subprocess.run([sys.executable, "-c", CALL], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def record(folder, float32, bfloat16, cpu=None):
    cpu = cpu or _native.device_model(_native.host_target(), 0)[0]
    file = folder / "cpu-rates"
    file.write_text(f"{cpu}\t{float32}\t{bfloat16}\n")
    file.chmod(0o600)


def test_rates_are_measured_once(folder):
    assert call(folder)["target"] == "cpu:avx512_bf16"
    (line,) = (folder / "cpu-rates").read_text().splitlines()
    cpu, float32, bfloat16 = line.split("\t")
    assert cpu == _native.device_model(_native.host_target(), 0)[0]
    assert 1 < float(float32) < float(bfloat16) < 10000
    call(folder)
    assert (folder / "cpu-rates").read_text().splitlines() == [line]


def test_a_record_of_slow_products_has_them_widened(folder):
    record(folder, 100, 50)
    found = call(folder)
    assert found["target"] == "cpu:avx512"
    assert "cross_entropy on cpu:avx512," in found["said"]
    assert found["off"].pop("loss") < 1e-5 and max(found["off"].values()) < 1e-2
    assert call(folder, LOGITILE_CPU_TIER="avx512_bf16")["target"] == "cpu:avx512_bf16"


def test_a_record_of_fast_products_keeps_them(folder):
    record(folder, 100, 101)
    assert call(folder)["target"] == "cpu:avx512_bf16"


def test_records_of_other_processors_stay(folder):
    record(folder, 100, 50, cpu="Another CPU")
    assert call(folder)["target"] == "cpu:avx512_bf16"
    lines = (folder / "cpu-rates").read_text().splitlines()
    assert lines[0] == "Another CPU\t100\t50" and len(lines) == 2


@pytest.mark.parametrize("text", ["", "nonsense", "{cpu}\tfast\tslow", "{cpu}\t-1\t0", "{cpu}"])
def test_a_record_that_says_nothing_is_measured_again(folder, text):
    cpu = _native.device_model(_native.host_target(), 0)[0]
    (folder / "cpu-rates").write_text(text.format(cpu=cpu))
    (folder / "cpu-rates").chmod(0o600)
    assert call(folder)["target"] == "cpu:avx512_bf16"
    assert (folder / "cpu-rates").read_text().splitlines()[-1].startswith(f"{cpu}\t")
