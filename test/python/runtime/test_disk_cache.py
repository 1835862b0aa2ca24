"""Programs on disk: the next process does not compile,
and nothing that is wrong with the disk stops a call.

Single entries and their damage, owners,
eviction and killed processes are in test/unit/runtime/disk_*.cpp.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import warnings

import logitile as lt
import numpy as np
import pytest
from calls import check_call, records
from logitile import _native
from logitile.arguments.wanted import Wanted
from logitile.calls.program import Program, program_key
from logitile.command import main as command

N, V, D = 24, 97, 12
HERE = [str(folder) for folder in pathlib.Path(__file__).parents[:2]]  # this test and its helpers
ENGINE = sys.modules["logitile.runtime.engine"]


@lt.loss
def smooth(z: lt.Logits, target: lt.Token[int], *, share: float = 0.1):
    return lt.logsumexp(z) - (1 - share) * z[target] - share * lt.mean(z)


def operands(tokens=N):
    rng = np.random.default_rng(3)
    hidden, weight = rng.normal(size=(tokens, D)), rng.normal(size=(V, D))
    return hidden.astype(np.float32), weight.astype(np.float32), rng.integers(0, V, tokens)


def call(tokens=N, **constants):
    """Loss and gradients of a head that has never run."""
    hidden, weight, target = operands(tokens)
    loss, gradients = lt.jit(smooth, **constants).value_and_grad(hidden, weight, target=target)
    return np.asarray(loss), gradients["hidden"], gradients["weight"]


def events(run):
    return [record["event"] for record in records(run)]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def restart(folder, monkeypatch):
    """Gives heads an engine that knows nothing but the folder, as a new process has."""

    def start(**options):
        monkeypatch.setattr(ENGINE, "_engine", _native.Engine(disk_cache=str(folder), **options))
        return ENGINE.engine()

    return start


def entries(folder):
    return sorted(folder.rglob("*.plan"))


# ---- hits ----------------------------------------------------------------------------------------


def test_the_next_process_does_not_compile(restart, folder):
    restart()
    first = call()
    assert lt.history()[-1]["event"] == "compile"
    restart()
    second = call()
    (record,) = lt.history()
    assert record["event"] == "disk" and record["stage_ms"] == {}
    for before, after in zip(first, second, strict=True):
        assert np.array_equal(before, after)
    assert events(call) == ["hit"]
    hidden, weight, target = operands()
    check_call(lt.jit(smooth), hidden, weight, target=target)
    assert {path.stat().st_mode & 0o777 for path in entries(folder)} == {0o600}


def test_a_hit_takes_less_than_five_milliseconds(restart):
    restart()
    hidden, weight, target = operands()
    head = lt.jit(smooth)
    bound = head._bind(hidden, weight, target=target)
    key = program_key(bound, Wanted(), _native.host_target(), 2)
    taken = []
    for _ in range(6):
        program = Program(bound, key, restart())
        start = time.perf_counter()
        plan = program.plan(N)
        taken.append(time.perf_counter() - start)
        event = plan.describe(N, 2)["event"]
    assert event == "disk"
    assert min(taken[1:]) < 5e-3, taken


def test_every_interval_of_tokens_is_kept(restart, folder):
    budget = {"workspace": 3_000_000}
    restart()
    assert events(lambda: (call(8, **budget), call(4000, **budget))) == ["compile", "compile"]
    assert len(entries(folder)) == 2
    restart()
    assert events(lambda: (call(9, **budget), call(4001, **budget))) == ["disk", "disk"]


def test_what_changes_the_program_changes_the_entry(restart):
    restart()
    call()
    restart()
    assert events(lambda: call(share=0.2)) == ["compile"]
    assert events(lambda: call(chunks=3)) == ["compile"]
    assert events(call) == ["disk"]


def test_explain_measures_compiling(restart):
    restart()
    call()
    hidden, weight, target = operands()
    assert lt.jit(smooth).explain(hidden, weight, target=target).compile_milliseconds["obj"] > 0


def test_threads_at_once(restart, folder):
    restart()
    expected = call()
    restart()
    wrong = []

    def run(i):
        loss = call(share=0.1 if i % 2 else 0.3)[0]
        if i % 2 and not np.array_equal(loss, expected[0]):
            wrong.append(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(record["event"] for record in lt.history())[:2] == ["compile", "disk"]
    assert [record["event"] for record in lt.history()].count("hit") == 6
    assert len(entries(folder)) == 2


# ---- trouble -------------------------------------------------------------------------------------


def warned(run):
    """What a function warns of, and the events of its calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        happened = events(run)
    assert all(one.category is lt.CacheWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught], happened


def test_a_damaged_entry_is_one_warning_and_rebuilt(restart, folder):
    restart()
    expected = call()[0]
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)
    restart()
    messages, happened = warned(lambda: np.testing.assert_array_equal(call()[0], expected))
    assert messages == [
        f"disk cache: entry '{entry}' cannot be used: its checksum is wrong; it is removed and the program "
        "is compiled again"
    ]
    assert happened == ["compile"]
    restart()
    assert warned(call) == ([], ["disk"])


def test_a_folder_that_others_may_write_is_one_warning(restart, folder):
    folder.mkdir()
    folder.chmod(0o777)
    restart()
    messages, happened = warned(lambda: (call(), call(share=0.5)))
    assert len(messages) == 1 and f"'{folder}' has mode 0777" in messages[0]
    assert happened == ["compile", "compile"]
    assert list(folder.iterdir()) == []


def test_where_warnings_are_errors_the_next_call_works(restart, folder):
    folder.mkdir()
    folder.chmod(0o777)
    restart()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lt.CacheWarning, match="has mode 0777"):
            call()
        assert events(call) == ["compile"]  # what the refused call has compiled


def test_an_engine_may_have_no_disk(monkeypatch, folder):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(folder))
    monkeypatch.setattr(ENGINE, "_engine", _native.Engine(disk_cache=""))
    assert events(call) == ["compile"]
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LOGITILE_CACHE_BYTES", "1GiB", "CACHE_BYTES is '1GiB'; expected a positive number of bytes"),
        ("LOGITILE_CACHE_DIR", "cache", r"CACHE_DIR\) is 'cache'; expected an absolute path, or off"),
    ],
)
def test_impossible_settings_are_named(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(lt.CallValueError, match=message):
        _native.Engine()


# ---- processes -----------------------------------------------------------------------------------

SCRIPT = """
import json, os, resource, sys
import numpy as np, logitile as lt
sys.path[:0] = {here}
from test_disk_cache import call
{before}
losses = [call(share=share)[0].item() for share in {shares}]
print(json.dumps([losses, [record["event"] for record in lt.history()]]))
"""


def start(folder, shares=(0.1,), before=""):
    """A process that calls heads with these constants."""
    package = pathlib.Path(lt.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(here=HERE, before=before, shares=list(shares))],
        env={**os.environ, "PYTHONPATH": str(package), "LOGITILE_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process):
    """Losses, events and what was written to stderr."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return *json.loads(output), errors


@pytest.mark.parametrize("count", [3, pytest.param(16, marks=pytest.mark.full)])
def test_processes_at_once(folder, count):
    shares = (0.1, 0.2, 0.3)
    expected = [call(share=share)[0].item() for share in shares]
    for _ in range(2):
        turns = [shares[i % 3 :] + shares[: i % 3] for i in range(count)]
        for turn, process in zip(turns, [start(folder, turn) for turn in turns], strict=True):
            losses, happened, errors = finished(process)
            assert dict(zip(turn, losses, strict=True)) == dict(zip(shares, expected, strict=True))
            assert errors == ""
    assert happened == ["disk"] * 3
    assert len(entries(folder)) == 3


def test_a_full_disk_is_one_warning(folder):
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))"
    losses, happened, errors = finished(start(folder, (0.1, 0.2), limit))
    assert losses == [call(share=share)[0].item() for share in (0.1, 0.2)]
    assert happened == ["compile", "compile"]
    assert errors.count("CacheWarning: disk cache: cannot write in") == 1 and "File too large" in errors
    assert [path for path in folder.rglob("*") if path.is_file() and path.name != "cpu-rates"] == []


@pytest.mark.parametrize(("name", "shown"), [(b"logitile", "logitile"), (b"caf\xe9", "caf\\xe9")])
def test_a_folder_that_cannot_be_made_is_one_warning(name, shown):
    losses, happened, errors = finished(start("/proc/" + os.fsdecode(name), (0.1, 0.2)))
    assert losses == [call(share=share)[0].item() for share in (0.1, 0.2)]
    assert happened == ["compile", "compile"]
    assert errors.count(f"CacheWarning: disk cache: cannot make folder '/proc/{shown}'") == 1


def test_a_forked_child_keeps_programs(folder):
    fork = (
        "call(share=0.7)\nchild = os.fork()\nif child == 0:\n    call(share=0.9)\n    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\nlt.trim()"
    )
    _, happened, errors = finished(start(folder, (0.7, 0.9), fork))
    assert happened == ["compile", "disk", "disk"]
    assert errors == ""


@pytest.mark.parametrize("variable", ["LOGITILE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_names_of_folders_need_not_be_text(tmp_path, variable):
    root, package = os.fsencode(tmp_path / "r") + b"\xff.d", os.fsencode(pathlib.Path(lt.__file__).parents[1])
    place = {"LOGITILE_CACHE_DIR": b"", "XDG_CACHE_HOME": b"/logitile", "HOME": b"/.cache/logitile"}[variable]
    unset = (b"LOGITILE_CACHE_DIR", b"XDG_CACHE_HOME", b"HOME")
    environment = {name: value for name, value in os.environb.items() if name not in unset}
    environment |= {b"PYTHONPATH": package, os.fsencode(variable): root}

    def run(*arguments):
        result = subprocess.run(
            [sys.executable, *arguments], capture_output=True, env=environment, timeout=300
        )
        assert result.returncode == 0 and result.stderr == b"", result.stderr
        return result.stdout

    script = SCRIPT.format(here=HERE, before="", shares=[0.1])
    assert [json.loads(run("-c", script))[1] for _ in range(2)] == [["compile"], ["disk"]]
    shown = os.fsdecode(root + place).encode(errors="backslashreplace")
    assert run("-m", "logitile", "cache", "list").endswith(b"in " + shown + b"\n")
    key = run("-m", "logitile", "cache", "list").splitlines()[1].split()[0]
    assert b"smooth" in run("-m", "logitile", "cache", "show", key)
    assert run("-m", "logitile", "cache", "clear").startswith(b"removed 1 program")


def test_a_loss_may_stand_in_a_file_whose_name_is_no_text(tmp_path):
    file = os.fsencode(tmp_path) + b"/loss\xff.py"
    with open(file, "w") as text:
        text.write(
            "import sys; sys.path[:0] = sys.argv[1:]\n"
            "import numpy as np, logitile as lt\n"
            "@lt.loss\n"
            "def total(z: lt.Logits, i: lt.Token[int]):\n"
            "    return lt.logsumexp(z) - z[i + 1]\n"
            "x, head = np.ones((3, 4), np.float32), lt.jit(total)\n"
            "assert '@total' in head.ir('plan', x, x, i=np.zeros(3, int))\n"
            "assert abs(head(x, x, i=np.zeros(3, int)) - np.log(3)) < 1e-6\n"
            "head(x, x, i=np.full(3, 2))\n"
        )
    package = str(pathlib.Path(lt.__file__).parents[1])
    result = subprocess.run([sys.executable, file, package], capture_output=True, timeout=300)
    assert b"CallIndexError: " in result.stderr and b"loss\\udcff.py:5: the index" in result.stderr, (
        result.stderr
    )


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def cache(monkeypatch, folder, capsys):
    """Runs `python -m logitile cache ...`; gives its exit status, lines and errors."""
    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(folder))

    def run(*arguments):
        status = command.main(["cache", *arguments])
        output = capsys.readouterr()
        return status, output.out.splitlines(), output.err

    return run


def test_list_is_a_table(cache, restart, folder):
    assert cache("list") == (0, [f"0 programs, 0 B of 1.0 GiB, in {folder}"], "")
    restart()
    call()
    (key,) = {record["key"] for record in lt.history()}
    _, (heading, row, total), _ = cache("list")
    assert heading.split() == ["key", "loss", "target", "tokens", "bytes", "last", "use"]
    assert row.startswith(f"{key[:12]}  smooth  {_native.host_target()} ")
    assert row.index("smooth") == heading.index("loss")
    assert total.startswith("1 program, ") and total.endswith(f"of 1.0 GiB, in {folder}")
    entries(folder)[0].write_bytes(b"hello")
    assert "(damaged)" in cache("list")[1][1]


def test_show_tells_the_facts_of_a_program(cache, restart):
    restart()
    call()
    key = lt.history()[-1]["key"]
    status, lines, _ = cache("show", key[:6].upper())
    facts = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if not line.startswith(" ")}
    assert status == 0
    assert facts["key"] == key and facts["loss"] == "smooth" and facts["vocabulary"] == str(V)
    assert facts["build"] == f"{_native.build_id()}, this one"
    assert facts["hidden"] == f"z {D} (float32)" and facts["inputs"] == "target (token)"
    assert facts["gradients"] == "z.hidden (float32), z.weight (float32)"


def test_show_names_a_key_that_is_not_there(cache, folder):
    message = f"error: no key in {folder} starts with 'abc'; 'cache list' shows them\n"
    assert cache("show", "abc") == (1, [], message)


def test_clear_says_what_it_removed(cache, restart, folder):
    restart()
    call()
    status, (line,), _ = cache("clear")
    assert status == 0 and line.startswith("removed 1 program, ") and line.endswith(f", from {folder}")
    assert entries(folder) == []
    restart()
    assert events(call) == ["compile"]


def test_the_command_refuses_what_calls_refuse(cache, folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o770)
    for action in ("list", "clear"):
        status, lines, error = cache(action)
        assert (status, lines) == (1, []) and f"'{folder}' has mode 0770" in error
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "off")
    assert cache("list") == (1, [], "error: the disk cache is off; LOGITILE_CACHE_DIR can name its folder\n")


def test_the_module_is_a_command(folder):
    package = pathlib.Path(lt.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package), "LOGITILE_CACHE_DIR": str(folder)}
    program = [sys.executable, "-m", "logitile", "cache", "list"]
    result = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.returncode, result.stdout) == (0, f"0 programs, 0 B of 1.0 GiB, in {folder}\n")
