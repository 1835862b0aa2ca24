"""Whatever goes wrong in a call, the next one is right: failed stages, no memory, signals, forks.

And nothing leaks.
"""

import logitile as lt
import numpy as np
import pytest
import subprocesses
from logitile import _native
from test_zoo import sample

# A call that takes about a second with one thread, and a short one with its right answer.
CALLS = """
import os, signal, threading, time
import numpy as np
import logitile as lt

rng = np.random.default_rng(0)
x, w = (rng.standard_normal((n, 256), np.float32) / 4 for n in (4096, 20000))
target = rng.integers(0, 20000, 4096)
head = lt.jit(lt.losses.cross_entropy, reduction="sum")


def long_call():
    return head.value_and_grad(x, w, target=target)


def short_call():
    loss, gradients = head.value_and_grad(x[:50], w[:999], target=target[:50] % 999)
    wanted = head.reference(x[:50], w[:999], target=target[:50] % 999)
    assert abs(loss - wanted) < 1e-5 * wanted and np.isfinite(gradients["weight"]).all()


short_call()
"""


# ---- the compiler --------------------------------------------------------------------------------

SPEC = """
logitile.loss @broken vocab 50 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %a = BODY %z : f32
  %l = logitile.reduce logsumexp %a : f32 -> f32
  logitile.yield %l : f32
}
"""


def program(spec, target=None, **request):
    pairs = [("z", 8, *[_native.TYPES["float32"]] * 3)]
    given = {"workspace": 1 << 26, "threads": 2, "projections": pairs, **request}
    return _native.Program(_native.Engine(), spec=spec, target=target or _native.host_target(), **given)


def fails(stage, do):
    with pytest.raises(lt.CompileError) as caught:
        do()
    assert caught.value.stage == stage, caught.value


@pytest.mark.contract("4 errors")
def test_a_stage_that_fails_is_named_and_leaves_nothing_open(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")
    made = sample("plain", "float32")
    right = made.run()
    tiles = next(iter(made.head._programs.made.values())).stage(made.tokens, "tiles", "")
    device = next(iter(made.head._programs.made.values())).stage(made.tokens, "device", "")
    failures = {
        "text": lambda: fails("spec", lambda: program(SPEC.replace("BODY", "no such op")).plan(8)),
        "verifier": lambda: fails("spec", lambda: program(SPEC.replace("BODY", "math.absi")).plan(8)),
        "passes of plan": lambda: fails("plan", lambda: program(SPEC.replace("BODY", "math.sinh")).plan(8)),
        "budget": lambda: refused(program(SPEC.replace("BODY", "math.exp"), workspace=64)),
        "passes of device": lambda: fails("device", lambda: _native.stage_from_text(
            tiles.replace("math.exp", "math.sinh", 1), "tiles", "device")),
        "text of device": lambda: fails("device", lambda: _native.stage_from_text(
            device[: len(device) // 2], "device", "obj")),
    }  # fmt: skip

    def refused(made):
        with pytest.raises(lt.CallValueError, match="need at least"):
            made.plan(8)

    for fail in failures.values():
        fail()
        again = sample("plain", "float32").run()
        assert all(np.array_equal(again[name], right[name]) for name in right)


# ---- memory --------------------------------------------------------------------------------------

NO_MEMORY = (
    CALLS
    + """
import resource

greedy = lt.jit(lt.losses.cross_entropy, reduction="sum", chunks=1)  # keeps 328 MB of logits
greedy.value_and_grad(x[:9], w, target=target[:9])
size = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (size + (200 << 20), resource.RLIM_INFINITY))
try:
    greedy.value_and_grad(x, w, target=target)
except lt.CallValueError as error:
    assert "no memory for a workspace" in str(error), error
    print("refused")
short_call()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
loss, _ = greedy.value_and_grad(x, w, target=target)
assert abs(loss - long_call()[0]) < 1e-5 * loss
"""
)


def test_no_memory_is_an_error_and_the_next_call_works():
    assert subprocesses.run(NO_MEMORY).strip() == "refused"


# ---- signals -------------------------------------------------------------------------------------

INTERRUPTED = (
    CALLS
    + """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
long_call()
for delay in (0.0, 0.02, 0.1, 0.25):
    begin = time.monotonic()
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        for _ in range(50):
            long_call()
        raise SystemExit("not interrupted")
    except KeyboardInterrupt:
        pass
    timer.join()
    short_call()
print(lt.runtime.engine.engine().usage()["workspace_taken"])
"""
)


def test_an_interrupted_call_gives_its_memory_back():
    assert subprocesses.run(INTERRUPTED, LOGITILE_NUM_THREADS="2").strip() == "0"


KILLED = (
    CALLS
    + """
pid = os.fork()
if pid == 0:
    while True:
        long_call()
time.sleep(0.3)
os.kill(pid, signal.SIGKILL)
assert os.waitpid(pid, 0)[1] == signal.SIGKILL
short_call()
child = os.fork()
if child == 0:
    short_call()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
)


def test_a_killed_child_leaves_the_parent_alone():
    subprocesses.run(KILLED, LOGITILE_NUM_THREADS="2")


# ---- forks ---------------------------------------------------------------------------------------

FORKED = (
    CALLS
    + """
stop = threading.Event()


def busy():
    while not stop.is_set():
        head.value_and_grad(x[:700], w, target=target[:700])


def compiling():
    for vocab in range(500, 5000):
        if stop.is_set():
            return
        lt.jit(lt.losses.cross_entropy)(x[:3], w[:vocab], target=target[:3] % vocab)


threads = [threading.Thread(target=busy), threading.Thread(target=busy)]
if sys.argv[1] == "compile":
    threads.append(threading.Thread(target=compiling))
for thread in threads:
    thread.start()
for turn in range(int(sys.argv[2])):
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        short_call()  # of the parent's program
        lt.jit(lt.losses.entropy)(x[:9], w[:77])  # of a new one
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, turn
stop.set()
for thread in threads:
    thread.join()
short_call()
"""
)


@pytest.mark.parametrize("meanwhile", ["call", "compile"])
def test_children_of_a_fork_can_call_whatever_the_parent_does(meanwhile):
    subprocesses.run(FORKED, meanwhile, 12, LOGITILE_NUM_THREADS="2")


# ---- leaks ---------------------------------------------------------------------------------------

CALLS_LEAK = (
    CALLS
    + """
def resident():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmRSS"))


def call(n):
    head.value_and_grad(x[:n], w[:999], target=target[:n] % 999)


for n in (1, 64, 128, 100, 500, 500):
    call(n)
before = resident()
for turn in range(200):
    call(1 + 37 * turn % 500)
print(resident() - before)
"""
)


def test_calls_do_not_leak():
    assert int(subprocesses.run(CALLS_LEAK, LOGITILE_NUM_THREADS="2")) < 4 << 20


# Bytes that malloc has given out, and those mapped for machine code. What is resident would count
# freed pages too, and swings by megabytes.
IN_USE = """
import ctypes, gc

NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
MallInfo = type("MallInfo", (ctypes.Structure,), {"_fields_": [(n, ctypes.c_size_t) for n in NAMES.split()]})
mallinfo = ctypes.CDLL("libc.so.6").mallinfo2
mallinfo.restype = MallInfo


def code():
    maps = [line.split() for line in open("/proc/self/maps")]
    ranges = [map[0].split("-") for map in maps if "x" in map[1] and map[4] == "0"]
    return sum(int(end, 16) - int(start, 16) for start, end in ranges)


def in_use():
    gc.collect()
    info = mallinfo()
    return info.uordblks + info.hblkhd + code()
"""

HEADS_LEAK = (
    CALLS
    + IN_USE
    + """
def heads(first, count):
    for vocab in range(first, first + count):
        lt.jit(lt.losses.cross_entropy).value_and_grad(x[:3], w[:vocab], target=target[:3] % vocab)
    lt.trim()


heads(100, 60)
before = in_use()
heads(1000, 120)
print(in_use() - before)
"""
)


@pytest.mark.full
def test_heads_do_not_leak():
    """120 programs have some hundred kilobytes each."""
    assert int(subprocesses.run(HEADS_LEAK, LOGITILE_NUM_THREADS="2", timeout=600)) < 1 << 20


SPECS_LEAK = (
    CALLS
    + IN_USE
    + """
@lt.loss
def scaled(z: lt.Logits, target: lt.Token[int], *, by: float):
    return lt.logsumexp(z * by) - z[target]


def losses(first, count):
    for number in range(first, first + count):
        lt.jit(scaled, by=1 + number / 4096)(x[:3, :8], w[:20, :8], target=target[:3] % 20)
    assert lt.runtime.engine.engine().usage()["plans"] == 256
    return in_use()


before = losses(0, 300)
print(losses(300, 300) - before)
"""
)


@pytest.mark.full
def test_many_losses_take_no_more_memory_than_the_cache_may():
    """Without trim: what is not used for longest goes.
    A program that stays has some hundred kilobytes.
    """
    assert int(subprocesses.run(SPECS_LEAK, LOGITILE_NUM_THREADS="2", timeout=900)) < 1 << 20
