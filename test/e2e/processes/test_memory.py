"""Memory: a call takes its outputs and its workspace beyond what was there,
and gives everything back.
"""

import json

import pytest
import subprocesses

# Prints by how much the highest resident memory of a call exceeds that before it, after a smaller
# call of the same program, and how much of that the results are.
PEAK = """
import json, resource
import numpy as np
import torch
import logitile as lt
from random_specs import numpy_dtype

tokens, vocab, hidden = 16384, 32000, 64
workspace, dtype = int(sys.argv[1]) << 20, numpy_dtype(sys.argv[2])
rng = np.random.default_rng(0)
x = (rng.standard_normal((tokens, hidden), np.float32)).astype(dtype)
w = (rng.standard_normal((vocab, hidden), np.float32) / 8).astype(dtype)
target = rng.integers(0, vocab, tokens)
head = lt.jit(lt.losses.cross_entropy, workspace=workspace)


def call(n):
    return head.value_and_grad(x[:n], w, target=target[:n])


def status(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(name))


result = call(tokens // 8)
plan = next(iter(head._programs.made.values())).plan(tokens)
assert plan.interval[0] <= tokens // 8 < tokens < plan.interval[1], plan.interval
del result
open("/proc/self/clear_refs", "w").write("5")  # the highest starts again from now
before = status("VmRSS")
result = call(tokens)
peak = status("VmHWM")
made = result[0].nbytes + sum(gradient.nbytes for gradient in result[1].values())
record = lt.history()[-1]
sizes = {key: record[key] for key in ("measured_bytes", "predicted_bytes")}
print(json.dumps({"grown": peak - before, "results": made, **sizes}))
"""


@pytest.mark.contract("2 workspace")
@pytest.mark.parametrize("megabytes, dtype", [(48, "float32"), (256, "float32"), (64, "bfloat16")])
def test_a_call_grows_by_its_results_and_its_workspace(megabytes, dtype):
    found = json.loads(subprocesses.run(PEAK, megabytes, dtype, LOGITILE_NUM_THREADS="2"))
    assert found["measured_bytes"] <= found["predicted_bytes"] <= megabytes << 20
    assert found["grown"] <= found["results"] + (megabytes << 20) + (32 << 20)


# The same under torch.autocast: a copy of the weights in 16 bits would be 64 MiB more.
AUTOCAST = """
import json
import torch
import logitile as lt

tokens, vocab, hidden = 256, 32768, 1024
x, w = torch.randn(tokens, hidden), torch.randn(vocab, hidden) / 32
target = torch.randint(0, vocab, (tokens,))
head = lt.jit(lt.losses.cross_entropy, workspace=128 << 20)


def call(n):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return head.value_and_grad(x[:n].to(getattr(torch, sys.argv[1])), w, target=target[:n])


def status(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(name))


result = call(tokens)
del result
lt.trim()
open("/proc/self/clear_refs", "w").write("5")  # the highest starts again from now
before = status("VmRSS")
result = call(tokens)
made = sum(gradient.nbytes for gradient in result[1].values())
measured = lt.history()[-1]["measured_bytes"]
print(json.dumps({"grown": status("VmHWM") - before, "results": made, "measured": measured}))
"""


@pytest.mark.contract("2 autocast")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_no_operand_is_copied_under_autocast(dtype):
    found = json.loads(subprocesses.run(AUTOCAST, dtype, LOGITILE_NUM_THREADS="2"))
    assert found["grown"] <= found["results"] + found["measured"] + (24 << 20)
