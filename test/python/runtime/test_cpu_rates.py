"""Rates of this machine are measured once. bfloat16 is multiplied by the instruction that is
faster, and seconds are predicted by them.
"""

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
told = head.explain(hidden, weight, target=target)
large = lt.ShapeDtype((512, 256), "bfloat16"), lt.ShapeDtype((8000, 256), "bfloat16")
call = head.explain(*large, target=lt.ShapeDtype((512,), "int64"))
print(json.dumps({
    "target": _native.host_target(), "off": off, "said": str(told), "threads": told.threads,
    "product_rate": told.product_rate, "memory_rate": told.memory_rate,
    "predicted": call.predicted_milliseconds, "chunks": call.chunks, "stored": call.stored,
    "kernels": sum(kernel.predicted_milliseconds for kernel in call.kernels),
}))
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


def record(folder, float32, bfloat16, memory=20, pages=2, cpu=None):
    cpu = cpu or _native.device_model(_native.host_target(), 0)[0]
    file = folder / "cpu-rates"
    file.write_text(f"{cpu}\t{float32}\t{bfloat16}\t{memory}\t{pages}\n")
    file.chmod(0o600)


def test_rates_are_measured_once(folder):
    assert call(folder)["target"] == "cpu:avx512_bf16"
    (line,) = (folder / "cpu-rates").read_text().splitlines()
    cpu, float32, bfloat16, memory, pages = line.split("\t")
    assert cpu == _native.device_model(_native.host_target(), 0)[0]
    assert 1 < float(float32) < float(bfloat16) < 10000
    assert 0.1 < float(memory) < 1000 and 0.01 < float(pages) < 1000
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
    assert lines[0] == "Another CPU\t100\t50\t20\t2" and len(lines) == 2


def test_seconds_are_predicted_by_the_record(folder):
    record(folder, 100, 200)
    found = call(folder)
    assert found["product_rate"] == pytest.approx(200e9 * found["threads"])
    assert found["memory_rate"] == pytest.approx(20e9 * found["threads"])
    assert found["kernels"] == pytest.approx(found["predicted"])
    record(folder, 10, 20, 2, 0.2)
    slower = call(folder)
    assert 5 * found["predicted"] < slower["predicted"] < 10 * found["predicted"]
    assert [found[name] for name in ("chunks", "stored")] == [slower[name] for name in ("chunks", "stored")]
    lower = call(folder, LOGITILE_CPU_TIER="avx2")  # the record is of wider vectors
    assert lower["memory_rate"] == slower["memory_rate"] and lower["product_rate"] > slower["product_rate"]


def test_without_a_disk_cache_seconds_are_those_of_the_target(folder):
    record(folder, 10, 20, 2, 0.2)
    found = call(folder, LOGITILE_CACHE_DIR="off")
    assert found["memory_rate"] == pytest.approx(20e9 * found["threads"])


NOTHING = ["", "nonsense", "{cpu}", "{cpu}\tfast\tslow", "{cpu}\t-1\t0\t1\t1", "{cpu}\t1\t2"]


@pytest.mark.parametrize("text", NOTHING)
def test_a_record_that_says_nothing_is_measured_again(folder, text):
    cpu = _native.device_model(_native.host_target(), 0)[0]
    (folder / "cpu-rates").write_text(text.format(cpu=cpu))
    (folder / "cpu-rates").chmod(0o600)
    assert call(folder)["target"] == "cpu:avx512_bf16"
    assert (folder / "cpu-rates").read_text().splitlines()[-1].startswith(f"{cpu}\t")
