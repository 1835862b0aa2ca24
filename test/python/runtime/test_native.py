"""The native module with hand-made plans: arrays of NumPy and torch, errors, signals,
the cost of a call.

The loss of the plans: alpha * (logsumexp(z) - z[target]) + beta with z = x w^T + bias + mask.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tree
from logitile import _native, errors

BUILD = pathlib.Path(_native.__file__).resolve().parents[2]
HIDDEN, VOCAB = 6, 23


@pytest.fixture(scope="module")
def engine():
    return _native.Engine()


def load(engine, name):
    return engine.load((BUILD / "test" / "plans" / f"{name}.plan").read_bytes())


def options(**changes):
    return _native.CallOptions(
        **{"reduction": "mean", "ignore": "target", "ignore_index": -100, "threads": 2} | changes
    )


def data(leading, seed=0):
    """Inputs by name."""
    rng = np.random.default_rng(seed)
    inputs = {
        "z.hidden": rng.normal(size=(*leading, HIDDEN)), "z.weight": rng.normal(size=(VOCAB, HIDDEN)),
        "mask": rng.normal(size=(*leading, VOCAB)), "bias": rng.normal(size=VOCAB),
        "alpha": rng.normal(size=leading), "beta": np.asarray(0.25),
    }  # fmt: skip
    inputs = {name: array.astype(np.float32) for name, array in inputs.items()}
    inputs["class_weight"] = np.linspace(0.5, 2, VOCAB, dtype=np.float32)
    inputs["target"] = rng.integers(0, VOCAB - 7, size=leading)
    inputs["target"].reshape(-1)[1::5] = -100
    return inputs


def gradients_like(inputs):
    return {
        name: np.full_like(inputs[name], np.nan)
        for name in ("z.hidden", "z.weight", "mask", "bias", "alpha", "beta")
    }


def reference(inputs, cotangent=1.0):
    """The mean loss and its gradients in float64."""
    x, w, mask, bias, alpha, beta = (
        inputs[name].astype(np.float64) for name in ("z.hidden", "z.weight", "mask", "bias", "alpha", "beta")
    )
    live = inputs["target"] != -100
    z = x @ w.T + bias + mask
    lse = np.log(np.exp(z).sum(-1))
    target = np.where(live, inputs["target"], 0)
    nll = lse - np.take_along_axis(z, target[..., None], -1)[..., 0]
    scale = live * cotangent / live.sum()
    g = (scale * alpha)[..., None] * (np.exp(z - lse[..., None]) - (np.arange(VOCAB) == target[..., None]))
    flat = g.reshape(-1, VOCAB)
    gradients = {
        "z.hidden": g @ w, "z.weight": flat.T @ x.reshape(-1, HIDDEN), "mask": g, "bias": flat.sum(0),
        "alpha": scale * nll, "beta": scale.sum(),
    }  # fmt: skip
    return ((alpha * nll + beta) * live).sum() / live.sum(), gradients


def check(gradients, wanted):
    for name, array in gradients.items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-4, atol=1e-6, err_msg=name)


# ---- calls ---------------------------------------------------------------------------------------


def test_early_gradients_with_numpy(engine):
    plan, inputs, loss = load(engine, "early"), data((3, 7)), np.zeros((), np.float32)
    gradients = gradients_like(inputs)
    assert plan.forward(options(), list(inputs.items()), [("loss", loss)], list(gradients.items())) is None
    wanted, wanted_gradients = reference(inputs)
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    check(gradients, wanted_gradients)


def test_split_gradients_from_pointers_of_torch(engine):
    torch = pytest.importorskip("torch")
    plan, inputs = load(engine, "split"), data((4, 5))
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    # rows lie in another order
    hidden = tensors["z.hidden"].transpose(0, 1).contiguous().transpose(0, 1)
    tensors["z.hidden"] = hidden

    def described(name, tensor):
        code = _native.TYPES[str(tensor.dtype).removeprefix("torch.")]
        return (name, tensor.data_ptr(), code, tuple(tensor.shape), tensor.stride())

    arrays = [described(name, tensor) for name, tensor in tensors.items()]
    loss = torch.zeros(())
    saved = plan.forward(options(), arrays, [described("loss", loss)])
    assert saved.nbytes > 0
    gradients = {name: torch.full(array.shape, torch.nan) for name, array in gradients_like(inputs).items()}
    for _ in range(2):
        saved.backward(
            arrays,
            [described(name, tensor) for name, tensor in gradients.items()],
            [("loss", np.float32(-3))],
        )
    wanted, wanted_gradients = reference(inputs, cotangent=-3.0)
    assert loss.item() == pytest.approx(wanted, rel=1e-5)
    check({name: tensor.numpy() for name, tensor in gradients.items()}, wanted_gradients)


@pytest.mark.contract("2 output types")
def test_outputs_of_every_type(engine):
    plan, inputs = load(engine, "forward"), data((11,))
    outputs = {
        "loss": np.zeros(11, np.float32),
        "weight": np.zeros(11, np.float32),
        "next": np.zeros(11, np.int64),
        "even": np.ones(11, bool),
    }
    plan.forward(options(reduction="none"), list(inputs.items()), list(outputs.items()))
    live = inputs["target"] != -100
    assert (outputs["next"] == np.where(live, inputs["target"] + 7, -1)).all()
    assert (outputs["even"] == (live & (inputs["target"] % 2 == 0))).all()
    assert (
        outputs["weight"] == np.where(live, inputs["class_weight"][np.where(live, inputs["target"], 0)], 0)
    ).all()


@pytest.mark.parametrize("divisor", [8, 8.0, np.float32(8), np.asarray(8)])
def test_divisors(engine, divisor):
    plan, inputs, loss = load(engine, "early"), data((10,)), np.zeros((), np.float32)
    plan.forward(
        options(),
        list(inputs.items()),
        [("loss", loss)],
        list(gradients_like(inputs).items()),
        divisor=divisor,
    )
    live = (inputs["target"] != -100).sum()
    assert float(loss) == pytest.approx(reference(inputs)[0] * live / 8, rel=1e-5)


def test_threads_call_at_once(engine):
    plan, wrong = load(engine, "early"), []

    def work(seed):
        inputs, loss = data((30,), seed), np.zeros((), np.float32)
        gradients = gradients_like(inputs)
        for _ in range(20):
            plan.forward(options(), list(inputs.items()), [("loss", loss)], list(gradients.items()))
            if abs(float(loss) - reference(inputs)[0]) > 1e-4:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- errors --------------------------------------------------------------------------------------


def run(engine, inputs, **changes):
    load(engine, "forward").forward(
        options(reduction="sum", **changes), list(inputs.items()),
        [("loss", np.zeros((), np.float32)), ("weight", np.zeros(9, np.float32)),
         ("next", np.zeros(9, np.int64)), ("even", np.zeros(9, bool))],
    )  # fmt: skip


def test_index_errors_name_input_position_and_value(engine):
    inputs = data((9,))
    inputs["target"][4] = 50300
    with pytest.raises(errors.CallIndexError) as caught:
        run(engine, inputs)
    assert str(caught.value) == (
        "'target'[4] is 50300, outside the vocabulary of 23 entries: it must be 0 to 22 or ignore_index -100"
    )
    assert isinstance(caught.value, IndexError)


def test_type_and_value_errors(engine):
    inputs = data((9,))
    with pytest.raises(
        errors.CallTypeError, match=r"input 'z.hidden' is float64\[9, 6\]; it must be float32"
    ):
        run(engine, inputs | {"z.hidden": inputs["z.hidden"].astype(np.float64)})
    with pytest.raises(
        errors.CallValueError, match=r"input 'z.weight' has shape \[22, 6\]; it must be \[23, 6\]"
    ):
        run(engine, inputs | {"z.weight": inputs["z.weight"][:22]})
    with pytest.raises(errors.CallValueError, match="input 'labels', which tells ignored tokens, is missing"):
        run(engine, inputs, ignore="labels")


def test_what_is_no_array(engine):
    inputs = data((9,))
    with pytest.raises(TypeError):
        run(engine, inputs | {"bias": [1.0]})
    with pytest.raises(TypeError, match="'bias' has elements of format 'Zd'"):
        run(engine, inputs | {"bias": np.zeros(VOCAB, complex)})
    with pytest.raises(TypeError, match=r"\(name, pointer, type, shape, strides\), \(name, buffer\) or"):
        load(engine, "forward").forward(options(), ["bias"], [])


def test_outputs_must_be_writable(engine):
    plan, inputs, loss = load(engine, "early"), data((5,)), np.zeros((), np.float32)
    loss.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        plan.forward(options(), list(inputs.items()), [("loss", loss)], list(gradients_like(inputs).items()))


def test_damaged_plans_are_refused(engine):
    data = bytearray((BUILD / "test" / "plans" / "early.plan").read_bytes())
    data[-1] ^= 1
    with pytest.raises(errors.CallValueError, match="their checksum is wrong, they are damaged"):
        engine.load(bytes(data))


def test_programs_say_what_is_wrong(engine):
    good = {
        "spec": "",
        "projections": [("z", 8, *[_native.TYPES["float32"]] * 3)],
        "workspace": 1,
        "target": "cpu:portable",
        "threads": 1,
    }
    assert len(_native.Program(engine, **good).key) == 64
    for name, known in {"cpu:z80": "portable, avx2", "cuda:sm_77": "sm_80, sm_86, "}.items():
        with pytest.raises(errors.TargetError, match=f"there is no target '{name}'.* has {known}"):
            _native.Program(engine, **good | {"target": name})
    assert _native.Program(engine, **good | {"tiles": "TM=64"}).key != _native.Program(engine, **good).key
    with pytest.raises(errors.CallValueError, match="either 'workspace' or 'chunks'"):
        _native.Program(engine, **good | {"chunks": 2})
    with pytest.raises(ValueError, match="mode is 'late'"):
        _native.Program(engine, **good | {"mode": "late"})
    for gradient in ("z.hidden", ("z", "hidden")):
        with pytest.raises(TypeError, match="a gradient is a tuple of gradient.name, gradient.part"):
            _native.Program(engine, **good | {"gradients": [gradient]})
    with pytest.raises(ValueError, match="part is 'bias'; it must be 'hidden', 'weight' or 'input'"):
        _native.Program(engine, **good | {"gradients": [("z", "bias", _native.TYPES["float32"])]})
    for code, told in {_native.TYPES["int32"]: "int32", 99: "of no known type"}.items():
        with pytest.raises(errors.CallTypeError, match=f"'z' is {told}; floats are needed"):
            _native.Program(engine, **good | {"gradients": [("z", "hidden", code)]})
    with pytest.raises(ValueError, match="part is 'hidden'; it must be 'sweep', 'merge', 'finish' or 'grad"):
        _native.Program(engine, **good | {"slice": ("hidden", 8, 0)})


ONE_LOSS = """logitile.loss @one vocab 7 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce logsumexp %z : f32 -> f32
  logitile.yield %loss : f32
}"""


@pytest.mark.parametrize(("dtype", "name"), [("float64", "f64"), ("bool", "i1")])
def test_element_types_of_projections(engine, dtype, name):
    program = _native.Program(
        engine, spec=ONE_LOSS, projections=[("z", 8, *[_native.TYPES[dtype]] * 3)], workspace=1 << 20,
        target="cpu:portable", threads=1,
    )  # fmt: skip
    with pytest.raises(
        errors.CompileError, match=f"element type '{name}' of projection 'z' must be f32, bf16 or f16"
    ):
        program.plan(5)


def test_errors_may_quote_bytes_that_are_no_text(monkeypatch):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", os.fsdecode(b"caf\xe9"))
    with pytest.raises(errors.CallValueError) as caught:
        _native.Engine()
    assert str(caught.value) == (
        "the folder of the disk cache (LOGITILE_CACHE_DIR) is 'caf\\xe9'; expected an absolute path, or off"
    )


def test_keys_do_not_depend_on_locations(engine):
    good = {
        "projections": [("z", 8, *[_native.TYPES["float32"]] * 3)],
        "workspace": 1,
        "target": "cpu:portable",
        "threads": 1,
    }
    key = _native.Program(engine, spec="a", **good).key
    assert _native.Program(engine, spec="a", located_spec="a loc", **good).key == key
    assert _native.Program(engine, spec="b", **good).key != key


# ---- plans ---------------------------------------------------------------------------------------


def test_plans_are_saved_and_described(engine):
    plan = load(engine, "split")
    assert engine.load(plan.save(options())).save(options()) == plan.save(options())
    assert plan.interval == (0, 2**63 - 1)
    described = plan.describe(tokens=100, threads=2)
    assert described["split"] and described["vocab"] == VOCAB
    roles = {(buffer["role"], buffer["owner"]) for buffer in described["buffers"]}
    assert roles >= {("hidden", 0), ("stored", 0)}


def test_history_and_usage():
    engine = _native.Engine(history_records=2, times_kernels=True)
    plan, inputs, loss = load(engine, "early"), data((20,)), np.zeros((), np.float32)
    for _ in range(3):
        plan.forward(options(), list(inputs.items()), [("loss", loss)], list(gradients_like(inputs).items()))
    records = engine.history()
    assert [record["number"] for record in records] == [2, 3]
    assert records[0]["event"] == "hit" and records[0]["chunks"] == 2
    assert records[0]["measured_bytes"] <= records[0]["predicted_bytes"]
    assert {kernel["name"] for kernel in records[0]["kernels"]} >= {"pack", "sweep", "weight"}
    assert engine.usage()["workspace_taken"] == 0 < engine.usage()["workspace_free"]
    engine.trim()
    assert engine.usage()["workspace_free"] == 0


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**40, 2**40, 0), (-1, 6)])
def test_shapes_that_no_memory_holds_are_refused(engine, shape):
    plan, inputs = load(engine, "forward"), data((6,))
    hidden = ("z.hidden", inputs["z.hidden"].ctypes.data, _native.TYPES["float32"], shape, (0,) * len(shape))
    given = [hidden if name == "z.hidden" else (name, array) for name, array in inputs.items()]
    message = f"'z.hidden' has shape {list(shape)}, which no array in memory can have"
    with pytest.raises(errors.CallValueError, match=re.escape(message)):
        plan.forward(options(), given, [("loss", np.zeros((), np.float32))])


def test_saved_states_outlive_their_engine():
    engine = _native.Engine()
    inputs, loss, gradients = data((6,)), np.zeros((), np.float32), gradients_like(data((6,)))
    saved = load(engine, "split").forward(options(), list(inputs.items()), [("loss", loss)])
    del engine
    saved.backward(list(inputs.items()), list(gradients.items()))
    check(gradients, reference(inputs)[1])


# ---- the process ---------------------------------------------------------------------------------


def test_a_long_call_can_be_interrupted(engine):
    # a shell's background job ignores interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plan, inputs, loss = load(engine, "early"), data((60000,)), np.zeros((), np.float32)
    gradients = list(gradients_like(inputs).items())
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            plan.forward(options(threads=1), list(inputs.items()), [("loss", loss)], gradients)
    assert time.monotonic() - start < 5
    plan.forward(options(), list(inputs.items()), [("loss", loss)], gradients)
    np.testing.assert_allclose(loss, reference(inputs)[0], rtol=1e-4)


def test_a_forked_child_can_call(engine):
    plan, inputs, loss = load(engine, "early"), data((50,)), np.zeros((), np.float32)
    gradients = list(gradients_like(inputs).items())
    plan.forward(options(), list(inputs.items()), [("loss", loss)], gradients)
    child = os.fork()
    if child == 0:
        loss[...] = 0
        plan.forward(options(), list(inputs.items()), [("loss", loss)], gradients)
        os._exit(0 if abs(float(loss) - reference(inputs)[0]) < 1e-4 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_process_ends_cleanly_after_calls():
    code = (
        "import numpy as np, pathlib, sys\nfrom logitile import _native\nengine = _native.Engine()\n"
        f"plan = engine.load(pathlib.Path({str(BUILD)!r}, 'test/plans/early.plan').read_bytes())\n"
        "a = np.ones((64, 6), np.float32); b = np.ones((23, 6), np.float32)\n"
        "c = np.ones((64, 23), np.float32)\n"
        "v = np.ones(23, np.float32); t = np.ones(64, np.float32); s = np.ones((), np.float32)\n"
        "i = [('z.hidden', a), ('z.weight', b), ('mask', c), ('bias', v), ('alpha', t), ('beta', s),\n"
        "     ('target', np.ones(64, int))]\n"
        "g = [(n, x.copy()) for n, x in i[:-1]]\n"
        "plan.forward(_native.CallOptions(reduction='sum', threads=2), i, [('loss', s.copy())], g)\n"
    )
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("target", "memory", "host_memory", "host_threads", "code"),
    [("cpu:avx2", "cpu", True, True, ["llvm", "obj"]), ("cuda:sm_80", "cuda", False, False, ["llvm", "ptx"]),
     ("emu:sm_80", "cpu", True, False, ["llvm"])],
)  # fmt: skip
def test_what_is_known_of_a_target(target, memory, host_memory, host_threads, code):
    facts = {"platform": target.partition(":")[0], "memory": memory, "host_memory": host_memory,
             "host_threads": host_threads}  # fmt: skip
    stages = ["spec", "plan", "tiles", "device", *code]
    described = _native.describe_target(target)
    chip = described.pop("chip", {})
    assert described == {**facts, "stages": stages}
    assert ("multiprocessors" in chip) == (not target.startswith("cpu"))
    assert _native.describe_target(target.partition(":")[0]) == facts


def test_the_chip_of_a_target_has_the_figures_of_its_data_sheet():
    chip = _native.describe_target("cuda:sm_90:h100")["chip"]
    assert (chip["multiprocessors"], chip["hertz"], chip["tensor_rate"]) == (132, 1.83e9, 989.4e12)
    assert 0.7 < chip["library_rate"] / chip["tensor_rate"] < 0.9
    assert _native.describe_target("cuda:sm_90")["chip"]["memory_rate"] == 4.8e12  # of the h200


def test_targets_that_are_not_there():
    message = "no device runs 'tpu'; there are 'cpu', 'cuda', 'emu'"
    for ask in (_native.describe_target, _native.device_target, _native.device_model):
        with pytest.raises(errors.TargetError, match=message):
            ask("tpu")
    with pytest.raises(errors.TargetError, match="there is no target 'cuda:sm_1'"):
        _native.describe_target("cuda:sm_1")
    with pytest.raises(errors.TargetError, match="no emulated GPU is the default; name one"):
        _native.device_target("emu")
    assert _native.device_target("cpu") == _native.host_target()
    assert _native.device_model("emu:sm_80")[1] == "emulator"


def elf(option, name):
    """What readelf tells of one of the libraries."""
    readelf = shutil.which("llvm-readelf-22") or shutil.which("readelf")
    library = BUILD / "python" / "logitile" / f"liblogitile_{name}.so"
    return subprocess.run([readelf, "-W", option, library], capture_output=True, text=True, check=True).stdout


def exported(name):
    rows = [
        line.split()
        for line in elf("--dyn-syms", name).splitlines()
        if " GLOBAL " in line or " WEAK " in line
    ]
    return {row[-1] for row in rows if "UND" not in row}


@pytest.mark.parametrize(
    "name, prefix", [("core", "lt_"), ("runtime", "lt_"), ("emulator", "logitile_emulator")]
)
def test_the_libraries_export_and_need_little(name, prefix):
    needed = {line.split("[")[1].split("]")[0] for line in elf("-d", name).splitlines() if "NEEDED" in line}
    c_library = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
    assert needed <= {*c_library, "libgcc_s.so.1"}  # threads are unwound by one unwinder
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", elf("-V", name))}
    assert (2, 17) <= max(versions) <= (2, 28)
    assert exported(name) and all(symbol.startswith(prefix) for symbol in exported(name))


def test_the_runtime_has_the_interface_without_the_compiler():
    header = (tree.ROOT / "runtime" / "logitile.h").read_text()
    declared = set(re.findall(r"^LT_API [^(]*?(lt_\w+)\(", header, re.MULTILINE))
    assert exported("core") == declared
    compiles = {name for name in declared if re.match("lt_(program|disk_cache|stage)_", name)}
    compiles |= {"lt_plan_from_text", "lt_operations", "lt_target_describe"}
    assert exported("runtime") == declared - compiles


def test_the_libraries_are_hardened():
    """Addresses of functions are read-only once known; frames with arrays are guarded."""
    readelf = shutil.which("llvm-readelf-22") or shutil.which("readelf")
    libraries = [*(BUILD / "python" / "logitile").glob("liblogitile_*.so"), pathlib.Path(_native.__file__)]
    assert len(libraries) == 4
    for library in libraries:
        headers, dynamic, symbols = (
            subprocess.run(
                [readelf, "-W", option, library], capture_output=True, text=True, check=True
            ).stdout
            for option in ("-l", "-d", "--dyn-syms")
        )
        assert "GNU_RELRO" in headers and "NOW" in dynamic, library
        assert "__stack_chk_fail" in symbols, library


def test_a_warm_call_costs_little(engine):
    plan, inputs, loss = load(engine, "forward"), data((1,)), np.zeros((), np.float32)
    arrays = [
        (
            name,
            array.ctypes.data,
            _native.TYPES[str(array.dtype)],
            array.shape,
            tuple(s // array.itemsize for s in array.strides),
        )
        for name, array in inputs.items()
    ]
    outputs = [
        ("loss", loss),
        ("weight", np.zeros(1, np.float32)),
        ("next", np.zeros(1, np.int64)),
        ("even", np.zeros(1, bool)),
    ]
    given = options(threads=1)
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            plan.forward(given, arrays, outputs)
        best = min(best, (time.perf_counter() - start) / 100)
    assert best < 50e-6, f"{best * 1e6:.1f} us"
