"""Where the calls of a test run. Tests marked `emulated` run on the CPU and on the emulator of a GPU.

The emulator runs the plan and the kernels of that GPU, and a fault that it finds is an error of the call. So
a test that passes there has right numbers and no report.
"""

from __future__ import annotations

import logitile as lt

CPU, EMULATOR = "auto", "emu:sm_80"  # auto: follows the arrays
SEEDS = (0, 1, 2)  # of the order of threads; 0: in order, and copies as late as is legal

current = CPU  # the backend of the test that runs


def jit(loss, **options):
    """lt.jit on the backend of the test, unless the options name one."""
    return lt.jit(loss, **{"backend": current, **options})


def check_orders(sample, monkeypatch, **check):
    """The sample passes the gate, and every order of threads gives the same bits."""
    monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(SEEDS[0]))
    sample.check(**check)
    first = sample.run()
    for seed in SEEDS[1:]:
        monkeypatch.setenv("LOGITILE_EMULATOR_SEED", str(seed))
        for name, value in sample.run().items():
            assert value.tobytes() == first[name].tobytes(), f"{name} depends on the order of threads{sample}"
