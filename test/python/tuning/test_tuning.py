"""lt.autotune and `python -m logitile tune`: what is measured, what is chosen,
and that later calls take it.

How the race goes is in test_tuning_rounds.py, what happens to the database in test_tuning_store.py,
the numbers of other tile sizes in test_tiles.py.
"""

import bisect
import contextlib
import gc
import os
import pathlib
import pickle
import sqlite3
import subprocess
import sys
import time
import warnings
import weakref
from dataclasses import replace

import logitile as lt
import numpy as np
import pytest
import torch
from inputs import arguments, relative
from logitile import _native
from logitile.arguments.wanted import Wanted
from logitile.calls.program import Program, default_key
from logitile.command import main as command
from logitile.tuned import lookup, store
from logitile.tuning import autotune as tuning
from logitile.tuning.samples import sample_arguments

N, V, D = 48, 300, 24
ENOUGH = 90  # seconds, for all rounds on a machine that is busy with other things
LOSS = lt.losses.cross_entropy
# Register tiles of two rows, and sums that are read again at each step.
SLOW = "TM=32,TN=2,TD=32,TKproject=1,TKhidden=1,TKweight=1"
OTHER = "TM=96,TN=30,TD=64,TKproject=16,TKhidden=16,TKweight=16"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder of the disk cache; nothing that a test finds outlives it."""
    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_told", set())
    monkeypatch.setattr(lookup, "_unkept", {})
    return tmp_path / "cache"


def given(tokens=N, **sizes):
    return arguments(LOSS, tokens=tokens, vocab=sizes.get("vocab", V), hidden=sizes.get("hidden", D))


def bound(head, arrays):
    call = head._bind(**arrays)
    return call, tuning.wanted_of_call(call, None)


def choose(tiles, tokens=N, threads=None, head=None, grad=None):
    """Writes down that tuning chose these sizes."""
    head = head or lt.jit(LOSS)
    call = head._bind(**given(tokens))
    key = default_key(call, tuning.wanted_of_call(call, grad))
    task = Program(call, key).task
    device, driver = lookup.model_of(key.target, "cpu")
    record = store.TuneRecord(
        task=task, device=device, driver=driver, tokens=tokens, tiles=tiles, threads=threads or key.threads,
        loss="cross_entropy", target=key.target, shape="", predicted=1e-3, measured=1e-3, ratio=0.5, rounds=9,
        chosen=True, time=0,
    )  # fmt: skip
    assert store.keep([record])
    return record


def tiles_of(head, tokens=N, **options):
    explained = head.explain(**given(tokens), **options)
    assert explained.is_tuned == bool(explained.tiles)
    return explained.tiles


# ---- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", "emu:sm_80", "emu:sm_90"])
def test_tables_and_predictions_of_a_program(backend):
    head = lt.jit(LOSS, backend=backend)
    call, wanted = bound(head, given(512, vocab=4000, hidden=256))
    key = default_key(call, wanted)
    program = Program(call, key)
    table = program.tiles()
    assert len(table) >= 3 and len(set(table)) == len(table)
    default = program.predict(512)
    assert default > 0
    assert Program(call, replace(key, tiles=table[0])).predict(512) == default
    assert program.predict(64 * 512) > 4 * default
    if backend == "cpu":
        assert Program(call, replace(key, tiles=SLOW)).predict(512) > 2 * default


def test_tasks_differ_where_programs_do_and_not_where_tiles_do():
    head, arrays = lt.jit(LOSS), given()
    call, wanted = bound(head, arrays)
    key = default_key(call, wanted)
    program = Program(call, key)
    tiled = Program(call, replace(key, tiles=OTHER))
    assert program.task == tiled.task and program.key != tiled.key
    tasks = {program.task}
    for other in (replace(key, threads=key.threads + 1), replace(key, target="cpu:portable"),
                  default_key(call, Wanted())):  # fmt: skip
        tasks.add(Program(call, other).task)
    smoothed = lt.jit(LOSS, label_smoothing=0.1)
    other = smoothed._bind(**arrays)
    tasks.add(Program(other, default_key(other, wanted)).task)
    assert len(tasks) == 5


# ---- tuning --------------------------------------------------------------------------------------


def test_what_is_found_is_kept_and_taken():
    head, arrays = lt.jit(LOSS), given()
    before = [np.asarray(x) for x in (head(**arrays), *head.value_and_grad(**arrays)[1].values())]
    start = time.perf_counter()
    found = lt.autotune(head, budget_s=ENOUGH, **arrays)
    assert found.seconds <= time.perf_counter() - start < ENOUGH  # over when all rounds are
    assert found.is_kept and found.tokens == N and found.ratio >= 1
    default, best = found.default, found.best
    assert default.measured > 0 and default.ratio == 1 and found.ratio == 1 / best.ratio
    assert all(one.rounds == 0 or one.rounds >= 3 for one in found.candidates)
    assert best in found.candidates and best.measured is not None
    assert {one.tiles for one in found.candidates} == set(_table(head, arrays))
    records = store.everything()
    assert len(records) == len(found.records) == sum(one.measured is not None for one in found.candidates)
    (chosen,) = [record for record in records if record.chosen]
    assert (chosen.tiles, chosen.threads) == (best.tiles, best.threads)
    assert {record.tiles for record in records} <= set(_table(head, arrays))
    text = str(found)
    assert best.tiles in text and "kept for later processes" in text
    assert text.endswith(
        "\n  * the default stays: nothing was quicker beyond noise"
        if best is default
        else f"\n  * is chosen: {best.ratio:.3f} of the default's time, the median of {best.rounds} rounds"
    )

    assert tiles_of(head) == tiles_of(lt.jit(LOSS)) == best.tiles
    after = [np.asarray(x) for x in (head(**arrays), *head.value_and_grad(**arrays)[1].values())]
    for old, new in zip(before, after, strict=True):
        assert relative(new, old) < 2e-6


def test_a_second_of_tuning():
    found = lt.autotune(lt.jit(LOSS), budget_s=1, **given())
    assert found.default.measured > 0 and found.is_kept == (len(found.records) > 1)
    assert all(record.rounds >= 3 for record in found.records) or len(found.records) == 1
    assert len(store.everything()) == (len(found.records) if found.is_kept else 0)


def _table(head, arrays):
    call, wanted = bound(head, arrays)
    return Program(call, default_key(call, wanted)).tiles()


def test_results_hold_no_arrays():
    hidden, weight, target = torch.randn(N, D), torch.randn(V, D), torch.zeros(N, dtype=torch.int64)
    found = lt.autotune(lt.jit(LOSS), hidden, weight, target=target, budget_s=np.float32(0.5))
    gone = weakref.ref(weight)
    del hidden, weight
    gc.collect()
    assert gone() is None and pickle.loads(pickle.dumps(found)).best.tiles == found.best.tiles


def test_a_bad_default_is_repaired():
    head, arrays = lt.jit(LOSS), given(256, vocab=2000, hidden=64)
    call, wanted = bound(head, arrays)
    found = tuning.tune(call, wanted, ENOUGH, table=[SLOW, *_table(head, arrays)])
    assert found.default.tiles == SLOW and found.best.tiles != SLOW
    assert min(found.best.contender.seconds) < 0.7 * min(found.default.contender.seconds), str(found)
    assert head.explain(**arrays).tiles == found.best.tiles


@pytest.mark.parametrize("tiles", [OTHER, SLOW])
def test_what_was_chosen_before_is_a_candidate_again(tiles):
    head = lt.jit(LOSS)
    choose(tiles)
    found = lt.autotune(head, budget_s=0.5, **given())
    assert tiles in {one.tiles for one in found.candidates}
    assert len(found.records) == 1 or tiles in {record.tiles for record in found.records}
    choose(tiles, tokens=4)
    assert sum(record.chosen for record in store.everything()) == 2


def test_a_budget_that_is_too_small_measures_the_default():
    found = lt.autotune(lt.jit(LOSS), budget_s=1e-6, **given())
    assert found.best is found.default and len(found.records) == 1 and not found.is_kept
    assert "nothing kept" in str(found)
    assert str(found).endswith("\n  too little time: the default stays; raise the budget")
    record = choose(OTHER)
    found = lt.autotune(lt.jit(LOSS), budget_s=1e-6, **given())
    assert store.everything() == (record,)  # what was known stays
    stays = f"{OTHER} with {record.threads} threads stays, as tuned before"
    assert str(found).endswith(f"\n  too little time: {stays}; raise the budget")


def test_a_default_that_nothing_comes_near_stays(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "1")  # so that fewer threads are no configuration
    head, arrays = lt.jit(LOSS), given()
    call, wanted = bound(head, arrays)
    found = tuning.tune(call, wanted, ENOUGH, table=[*_table(head, arrays)[:1], "TX=1"])
    assert found.verdict == "the default stays: no other configuration came near the default"
    assert not found.is_kept


def test_a_candidate_that_cannot_be_is_told():
    head, arrays = lt.jit(LOSS), given()
    call, wanted = bound(head, arrays)
    table = [*_table(head, arrays)[:1], "TM=33,TN=8", "TX=1"]
    found = tuning.tune(call, wanted, 1, table=table)
    refusals = {one.tiles: one.refusal for one in found.candidates if one.refusal}
    assert set(refusals) == set(table[1:])
    assert "there is no tile size 'TX'" in refusals["TX=1"] and refusals["TX=1"] in str(found)


def test_fewer_threads_are_tried(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "4")
    head, arrays = lt.jit(LOSS), given(2, vocab=40, hidden=8)
    found = lt.autotune(head, budget_s=1, **arrays)
    assert {one.threads for one in found.candidates} == {4, 2, 1}
    record = choose(OTHER, threads=1)
    assert lt.jit(LOSS).explain(**given()).threads == record.threads == 1
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "3")
    assert tiles_of(lt.jit(LOSS)) == ""  # tuned for calls with 4


def test_the_mechanism_works_on_gpus_as_well():
    head = lt.jit(LOSS, backend="emu:sm_80")
    arrays = arguments(LOSS, tokens=8, vocab=40, hidden=16)
    found = lt.autotune(head, budget_s=ENOUGH, grad=(), **arrays)
    assert found.target == "emu:sm_80" and {one.threads for one in found.candidates} == {1}
    assert {record.driver for record in store.everything()} == {"emulator"}
    assert lt.jit(LOSS, backend="emu:sm_80").explain(grad=(), **arrays).is_tuned
    assert not lt.jit(LOSS, backend="emu:sm_90").explain(grad=(), **arrays).is_tuned


# ---- later calls ---------------------------------------------------------------------------------


def test_calls_take_what_was_chosen():
    record = choose(OTHER)
    head, arrays = lt.jit(LOSS), given()
    call, wanted = bound(head, arrays)
    untuned = Program(call, default_key(call, wanted)).key
    head.value_and_grad(**arrays)
    key = lt.history()[-1]["key"]
    assert key != untuned and key == head._programs.program(call, wanted).key
    assert tiles_of(head) == record.tiles
    assert f"tiles      {OTHER}, found by tuning" in str(head.explain(**arrays))
    expected, gradients = head.reference_grad(**arrays)
    value, found = head.value_and_grad(**arrays)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    for name, gradient in gradients.items():
        assert relative(found[name], gradient) < 2e-6, name


@pytest.mark.parametrize(("tiles", "text"), [
    ("TX=7", "no tile size 'TX'"), ("TM=7", "multiples of "), ("TQ", "'TQ'"), (f"TN={2**60}", "the most"),
])  # fmt: skip
def test_tiles_that_this_version_does_not_know(tiles, text):
    record = choose(tiles)
    with pytest.warns(lt.CacheWarning, match=text) as warned:
        head = lt.jit(LOSS)
        assert tiles_of(head) == "" and np.isfinite(head(**given()))
    assert len(warned) == 1 and record.tiles in str(warned[0].message)
    assert warned[0].filename == __file__  # the user's line


@pytest.mark.parametrize("threads", [100_000, -1, "many"])
def test_impossible_threads(threads, folder):
    record = choose(OTHER)
    with contextlib.closing(sqlite3.connect(folder / "tuning.sqlite")) as connection, connection:
        connection.execute("UPDATE records SET threads = ?", (threads,))
    text = "wrong types" if threads == "many" else f"{threads} threads were chosen"
    with pytest.warns(lt.CacheWarning, match=text):
        assert record.chosen and tiles_of(lt.jit(LOSS)) == ""


def test_tiles_whose_least_memory_grows_with_the_tokens(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")  # each has memory of its own
    tiles = "TM=1024,TN=112,TD=512,TKproject=1024,TKhidden=448,TKweight=512"
    heads = [lt.jit(LOSS, workspace=size) for size in range(3_000_000, 9_000_000, 1000)]
    head = heads[bisect.bisect(heads, "", key=lambda it: choose(tiles, 100, head=it) and tiles_of(it, 100))]
    assert tiles_of(head, 100) and tiles_of(head, 400) == "" and np.isfinite(head(**given(400)))


def test_other_programs_do_not():
    choose(OTHER)
    assert tiles_of(lt.jit(LOSS, label_smoothing=0.1)) == ""
    assert tiles_of(lt.jit(LOSS), grad=()) == ""
    assert tiles_of(lt.jit(LOSS, workspace="300MiB")) == ""
    assert lt.jit(LOSS).explain(**given(vocab=V + 1)).tiles == ""
    assert "tiles      those of the target's table" in str(lt.jit(LOSS).explain(**given(vocab=V + 1)))


def test_sizes_of_the_head_win():
    choose(OTHER)
    head = lt.jit(LOSS)
    head.options = replace(head.options, tiles="TM=64")
    explained = head.explain(**given())
    assert explained.tiles == "TM=64" and not explained.is_tuned and "as asked for" in str(explained)
    with pytest.raises(lt.CallValueError, match="tiles='TM=64', which override tuned sizes"):
        lt.autotune(head, **given())


def test_numbers_of_tokens_take_what_is_near():
    choose(OTHER, tokens=16)
    choose("TM=64,TN=20", tokens=64)
    head = lt.jit(LOSS)
    near = {tokens: tiles_of(head, tokens) for tokens in (1, 3, 4, 16, 31, 33, 64, 256, 257)}
    assert near == {1: "", 3: "", 4: OTHER, 16: OTHER, 31: OTHER, 33: "TM=64,TN=20", 64: "TM=64,TN=20",
                    256: "TM=64,TN=20", 257: ""}  # fmt: skip


def test_the_database_is_asked_once_for_a_program(monkeypatch):
    choose(OTHER)
    asked = []
    find = store.find
    monkeypatch.setattr(store, "find", lambda *place: asked.append(place) or find(*place))
    head = lt.jit(LOSS)
    for tokens in (N, N, N + 1, N + 2):
        head(**given(tokens))
    assert len(asked) == 1
    head.value_and_grad(**given())
    assert len(asked) == 2


def test_without_a_database_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(store, "find", None)
    lt.jit(LOSS)(**given())
    code = "import logitile as lt, sys, numpy as np\na = np.ones((4, 8), np.float32)\n"
    (output,) = run_apart(code + "lt.jit(lt.losses.entropy)(a, a)\nprint(sorted(sys.modules))")
    assert "'logitile.tuned.lookup'" in output and "sqlite3" not in output


def run_apart(*codes):
    """What processes write that run at the same time; nothing goes wrong in any."""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(lt.__file__).parents[1])}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for code in codes
    ]  # fmt: skip
    written = []
    for process in started:
        output, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, "")
        written.append(output)
    return written


def test_autograd_takes_what_was_tuned_with_its_tensors():
    arrays = {name: tuple(map(torch.tensor, array)) if isinstance(array, tuple) else torch.tensor(array)
              for name, array in given().items()}  # fmt: skip
    for tensor in arrays["z"]:
        tensor.requires_grad_()
    head = lt.jit(LOSS)
    lt.autotune(head, budget_s=ENOUGH, **arrays)
    assert all(tensor.grad is None for tensor in arrays["z"])
    head(**arrays).backward()
    call = head._bind(**arrays)
    key = head._programs.key(call, call.form.recorded)
    assert key.tiles and lt.history()[-1]["key"] == Program(call, key).key
    frozen = lt.jit(LOSS, reduction="none")
    lt.autotune(frozen, budget_s=ENOUGH, **arrays)  # gradients in a phase of their own
    assert any(record.shape.endswith("split") for record in store.everything())


def test_losses_with_other_outputs_are_found_by_value_and_grad():
    loss = lt.losses.entropy
    arrays = arguments(loss, tokens=N, vocab=V, hidden=D)
    head = lt.jit(loss)
    lt.autotune(head, budget_s=ENOUGH, **arrays)
    head.value_and_grad(**arrays)
    assert lt.history()[-1]["key"] in {p.key for key, p in head._programs.made.items() if key.tiles}


# ---- trouble -------------------------------------------------------------------------------------


def test_where_nothing_can_be_written_this_process_takes_it(monkeypatch):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "/proc/logitile")
    head, arrays = lt.jit(LOSS), given()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = lt.autotune(head, budget_s=ENOUGH, **arrays)
        assert tiles_of(head) == tiles_of(lt.jit(LOSS)) == found.best.tiles
    assert not found.is_kept and "kept in this process alone" in str(found)
    told = [str(one.message) for one in caught if "tuning" in str(one.message)]
    assert len(told) == 1 and "/proc/logitile" in told[0] and "calls run without it" in told[0]


def test_where_the_cache_is_off_nothing_is_written(monkeypatch, folder):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "off")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lt.autotune(lt.jit(LOSS), budget_s=ENOUGH, **given())
    assert not found.is_kept and tiles_of(lt.jit(LOSS)) == found.best.tiles
    assert not folder.exists()


def test_a_damaged_database_does_not_stop_a_call(folder):
    choose(OTHER)
    (folder / "tuning.sqlite").write_bytes(b"?" * 5000)
    with pytest.warns(lt.CacheWarning, match="is damaged"):
        lt.jit(LOSS)(**given())


SHAPES = lt.ShapeDtype((N, D), "float32"), lt.ShapeDtype((V, D), "float32")


@pytest.mark.parametrize(
    ("use", "error", "match"),
    [
        (lambda a: lt.autotune(LOSS, **a), lt.CallTypeError, "takes a head, not"),
        (lambda a: lt.autotune(lt.jit(LOSS), budget_s=0, **a), lt.CallValueError, "budget_s=0 must be"),
        (lambda a: lt.autotune(lt.jit(LOSS), budget_s="1", **a), lt.CallValueError, "budget_s='1' must be"),
        (lambda a: lt.autotune(lt.jit(LOSS), grad=["bias"], **a), lt.CallError, "bias"),
        (lambda a: lt.autotune(lt.jit(LOSS), weight_grad_out=np.zeros((V, D), np.float32), **a),
         lt.CallTypeError, "'weight_grad_out' would be added into"),
        (lambda a: lt.autotune(lt.jit(LOSS), *SHAPES, target=a["target"]), lt.CallTypeError, "but no data"),
    ],
)  # fmt: skip
def test_wrong_calls(use, error, match):
    with pytest.raises(error, match=match):
        use(given())
    assert store.everything() == ()


# ---- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n in lt.losses.__all__ if hasattr(getattr(lt.losses, n), "signature")]
)
def test_every_loss_of_the_library_has_samples(name):
    loss = getattr(lt.losses, name)
    arrays = sample_arguments(loss, 8, 4, 60, "float32")
    required = {constant.name: 2 for constant in loss.signature.constants if constant.required}
    head = lt.jit(loss, **required)
    outputs = head(**arrays)
    for value in outputs if isinstance(outputs, tuple) else (outputs,):
        assert np.all(np.isfinite(np.asarray(value))), name


@pytest.fixture
def tune(capsys):
    """Runs `python -m logitile tune ...`; gives its exit status, lines and errors."""

    def run(*given):
        status = command.main(["tune", *given])
        output = capsys.readouterr()
        return status, output.out.splitlines(), output.err

    return run


def test_tune_and_show(tune, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ("--loss", "cross_entropy", "--shape", "48,24,300", "--budget", str(ENOUGH))
    status, lines, errors = tune(*few, "--dtype", "fp32", "--threads", "1")
    assert (status, errors) == (0, "")
    assert lines[0].startswith(f"cross_entropy on {_native.host_target()} (")
    assert lines[0].endswith("48 x 24 -> 300 float32")
    status, lines, _ = tune(*few, "--forward", "--constant", "label_smoothing=0.1")
    assert status == 0 and "bfloat16" in lines[0]
    assert "LOGITILE_NUM_THREADS" not in os.environ

    status, lines, errors = tune("--show")
    assert (status, errors) == (0, "")
    records = store.everything()
    rows = [line for line in lines if "TM=" in line]
    assert len(rows) == len(records) and sum(row.startswith("  * ") for row in rows) == 2
    heads = [line for line in lines if line.startswith("cross_entropy on ")]
    assert len(heads) == 2 and any("forward" in line for line in heads)
    # one verdict for each
    assert sum(line.startswith("  * ") for line in lines if "TM=" not in line) == 2
    assert lines[-2].startswith(f"{len(records)} measured, 2 chosen (*), in ")
    assert max(map(len, lines)) <= 130
    assert lines[-1] == "wrote logitile-tuning.png"
    assert (tmp_path / "logitile-tuning.png").read_bytes().startswith(b"\x89PNG")


def test_show_prints_what_the_tuner_printed(tune):
    given = ("--loss", "cross_entropy", "--shape", "48,24,300", "--budget", str(ENOUGH), "--dtype", "f32")
    _, told, _ = tune(*given)
    _, shown, _ = tune("--show", "--png", "none")
    measured = [line.split() for line in told if " ms " in line.partition("ms")[2]]
    assert len(measured) > 1 and measured == [line.split() for line in shown if "TM=" in line]
    assert told[-1] == shown[shown.index("") - 1]


def test_show_without_records_or_picture(tune, monkeypatch, folder, tmp_path):
    assert tune("--show") == (0, [f"0 measured, 0 chosen (*), in {folder}/tuning.sqlite"], "")
    choose(OTHER)
    assert tune("--show", "--png", "none")[0] == 0
    assert tune("--show", "--png", str(tmp_path / "no" / "a.png"))[2].startswith("error: ")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    status, lines, errors = tune("--show")
    assert status == 1 and "1 measured, 1 chosen" in lines[-1]
    assert "matplotlib, which is not installed; install it, or give --png none" in errors
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "off")
    assert "the disk cache is off, and tuning with it" in tune("--show")[2]


def test_losses_of_a_module(tune, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import logitile as lt\n\n@lt.loss\ndef mine(z: lt.Logits, weight_of: lt.Token[float]):\n"
        "    return weight_of * lt.logsumexp(z)\n"
    )
    monkeypatch.chdir(tmp_path)
    shape = ("--shape", "8,4,60", "--budget", "0.3", "--dtype", "f32")
    status, lines, _ = tune("--loss", "mine:mine", *shape)
    assert status == 0 and lines[0].startswith("mine on ")
    assert "'lt' of module 'mine' is no loss" in tune("--loss", "mine:lt", *shape)[2]
    assert "module 'nowhere' cannot be imported" in tune("--loss", "nowhere:x", *shape)[2]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ((), "tune needs --loss and --shape, or --show"),
        (("--loss", "cross_entrop", "--shape", "1,2,3"), "did you mean 'cross_entropy'"),
        (("--loss", "focal", "--shape", "1,2"), "--shape is '1,2'; write N,D,V"),
        (("--shape", "4,4"), "--shape is '4,4'; write N,D,V"),
        (("--shape", "4,4,4"), "tune needs --loss, or --show"),
        (("--loss", "focal", "--shape", "1,2,3", "--backend", "tpu"), "backend='tpu' is unknown"),
        (("--loss", "focal", "--shape", "1,2,3", "--constant", "gamme=1"), "no constant 'gamme'"),
        (("--loss", "focal", "--shape", "1,2,3", "--threads", "0"), "LOGITILE_NUM_THREADS"),
    ],
)
def test_wrong_commands(tune, given, error):
    status, _, errors = tune(*given)
    assert status == 1 and errors.startswith("error: ") and error in errors


def test_tuners_at_once(folder):
    """Whole processes, which share the folder and the machine."""
    code = "from logitile.command import main; main.main(['tune', '--loss', 'cross_entropy', '--shape', "
    code += f"'32,16,200', '--dtype', 'f32', '--budget', '{ENOUGH}'])"
    for output in run_apart(code, code, code):
        assert "kept for later processes" in output
    assert sum(record.chosen for record in store.everything()) == 1
