"""Ends of processes, small stacks, little memory, other interpreters: no process dies or hangs."""

import resource

import pytest
import subprocesses

START = """
import os, threading, time
import numpy as np
import logitile as lt

x, w, target = np.ones((64, 16), np.float32), np.ones((300, 16), np.float32), np.zeros(64, int)


def losses(n, backend="auto"):
    @lt.loss
    def many(z: lt.Logits, target: lt.Token[int]):
        total = 0.0
        for i in range(n):
            total = total + lt.log_softmax(z * (1.0 + i / 100))[target]
        return total

    return lt.jit(many, reduction="sum", backend=backend)


def short_call(backend="auto"):
    loss = lt.jit(lt.losses.cross_entropy, backend=backend)(x, w, target=target)
    assert abs(loss - np.log(300)) < 1e-4, loss
"""

# ---- the end of the interpreter ------------------------------------------------------------------

DAEMON = (
    START
    + """
def call():
    rows, head = np.ones((2048, 256), np.float32), np.ones((20000, 256), np.float32)
    while True:
        lt.jit(lt.losses.cross_entropy)(rows, head, target=np.zeros(2048, int))


def compile():
    while True:
        losses(12)(x, w, target=target)


short_call()
for _ in range(2):
    threading.Thread(target=call if sys.argv[1] == "call" else compile, daemon=True).start()
time.sleep(float(sys.argv[2]))
"""
)


@pytest.mark.parametrize("work", ["call", "compile"])
def test_a_process_may_end_while_daemon_threads_call(work):
    for turn in range(4):
        subprocesses.run(DAEMON, work, 0.3 + 0.17 * turn, LOGITILE_NUM_THREADS="2")


FIRST = (
    START
    + """
threading.Thread(target=lambda: losses(20)(x, w, target=target), daemon=True).start()
time.sleep(float(sys.argv[1]))
"""
)


def test_a_process_may_end_during_its_first_compilation():
    for turn in range(4):
        subprocesses.run(FIRST, 0.5 + 0.3 * turn)


INTERPRETER = """
import _xxsubinterpreters as interpreters

made = interpreters.create()
try:
    interpreters.run_string(made, f"import sys; sys.path[:0] = {sys.path!r}; import logitile._native")
except interpreters.RunFailedError as error:
    print(error)
"""


def test_a_subinterpreter_is_told_that_it_cannot_import():
    pytest.importorskip("_xxsubinterpreters")
    assert subprocesses.run(INTERPRETER, timeout=60).strip() == (
        "<class 'ImportError'>: logitile works in the main interpreter of a process only; import it there"
    )


# ---- small stacks --------------------------------------------------------------------------------

SMALL = (
    START
    + """
threading.stack_size(1 << 16)
done = []


def work():
    short_call(sys.argv[1])
    done.append(1)


thread = threading.Thread(target=work)
thread.start()
thread.join()
assert done
"""
)


@pytest.mark.parametrize("backend", ["auto", "emu:sm_80"])
def test_a_thread_with_a_small_stack_can_call(backend):
    subprocesses.run(SMALL, backend)


DEEP = (
    START
    + """
import resource

@lt.loss
def deep(z: lt.Logits, target: lt.Token[int]):
    for _ in range(int(sys.argv[1])):
        z = lt.tanh(z)
    return z[target]


assert resource.getrlimit(resource.RLIMIT_STACK)[0] == 2 << 20
head = lt.jit(deep, reduction="sum")
loss, wanted = head(x, w, target=target), head.reference(x, w, target=target)
assert abs(loss - wanted) < 1e-3 * abs(wanted), (loss, wanted)
"""
)


@pytest.mark.parametrize("depth", [300, pytest.param(1900, marks=pytest.mark.full)])
def test_deep_losses_compile_where_stacks_are_limited(depth):
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, before[1]))
    try:
        subprocesses.run(DEEP, depth, timeout=600)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)


# ---- little memory -------------------------------------------------------------------------------

LITTLE = (
    START
    + """
import resource, warnings

warnings.simplefilter("ignore", lt.CacheWarning)
backend, number = sys.argv[1], int(sys.argv[2])
short_call(backend)
size = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
for turn, kibibytes in enumerate(map(int, sys.argv[3:])):
    resource.setrlimit(resource.RLIMIT_AS, (size + (kibibytes << 10), resource.RLIM_INFINITY))
    try:
        losses(number + turn % 5, backend)(x, w, target=target)
    except (lt.LogitileError, MemoryError) as error:
        assert "memory" in str(error) or "load" in str(error) or "LLVM" in str(error), error
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    short_call(backend)
    lt.jit(lt.losses.entropy, backend=backend)(x, w[: 100 + turn])
"""
)


@pytest.mark.parametrize("backend, number, limits", [
    ("auto", 4, [0, 1, 2, 4, 8]), ("auto", 30, [4, 12, 20]), ("emu:sm_80", 4, [0, 2, 8, 64]),
])  # fmt: skip
def test_too_little_memory_is_an_error_and_the_next_call_works(backend, number, limits):
    subprocesses.run(LITTLE, backend, number, *(limit << 10 for limit in limits))


@pytest.mark.parametrize("first", [0, 93])
def test_memory_may_end_anywhere(first):
    """Between the stack of a new thread and its thread-local variables too."""
    subprocesses.run(LITTLE, "auto", 4, *range(first, 12000, 185))
