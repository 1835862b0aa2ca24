"""Saves a plan and the arrays of one call, which run_plan.c compares its results with."""

import logitile as lt
import numpy as np

rng = np.random.default_rng(0)
hidden = rng.standard_normal((6, 16), dtype=np.float32)
weight = rng.standard_normal((100, 16), dtype=np.float32)
target = rng.integers(0, 100, 6)
target[2] = -100      # an ignored token

head = lt.jit(lt.losses.cross_entropy, ignore_index=-100)
plan = head.compile(hidden, weight, target=target, grad=["hidden"])
plan.save("cross_entropy.plan")
print(plan.interval)  # the numbers of tokens that it serves: 0 to 48 with AVX-512

loss, gradients = head.value_and_grad(hidden, weight, target=target, wrt=["hidden"])
for name, array in {"hidden": hidden, "weight": weight, "target": target,
                    "loss": np.float32(loss), "gradient": gradients["hidden"]}.items():
    array.tofile(f"{name}.bin")
