"""Where results of tuning are kept: what comes back, and what happens to files that are wrong.

What is put there is in test_tuning.py.
"""

import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import warnings
from dataclasses import replace

import logitile as lt
import pytest
from logitile import _native
from logitile.tuned import store as tuning_store
from logitile.tuned.store import TuneRecord

HERE = [str(folder) for folder in pathlib.Path(__file__).parents[:2]]  # this test and its helpers
RECORD = TuneRecord(
    task="0" * 64, device="a CPU", driver="avx2", tokens=1024, tiles="TM=512,TN=120", threads=2,
    loss="smooth", target="cpu:avx2", shape="1024 x 64 -> 1000 float32", predicted=0.25, measured=0.5,
    ratio=1.0, rounds=9, chosen=True, time=1_700_000_000,
)  # fmt: skip
PLACE = (RECORD.task, RECORD.device, RECORD.driver)
OTHER = replace(RECORD, tiles="TM=256,TN=120", ratio=0.9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the disk cache, not made yet, and warnings as in a new process."""
    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning_store, "_told", set())
    return tmp_path / "cache"


def warned(run):
    """What a function returns, and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run()
    assert all(one.category is lt.CacheWarning for one in caught)
    return result, [str(one.message) for one in caught]


def quiet(run):
    result, messages = warned(run)
    assert messages == []
    return result


# ---- what comes back -----------------------------------------------------------------------------


def test_nothing_is_made_where_nothing_is_kept(folder):
    assert quiet(lambda: tuning_store.find(*PLACE)) == ()
    assert quiet(tuning_store.everything) == ()
    assert not folder.exists()


def test_records_come_back(folder):
    losers = [replace(OTHER, chosen=False), replace(RECORD, threads=1, ratio=1.5, chosen=False)]
    assert quiet(lambda: tuning_store.keep([RECORD, *losers]))
    assert quiet(lambda: tuning_store.find(*PLACE)) == (RECORD,)
    assert quiet(tuning_store.everything) == (losers[0], RECORD, losers[1])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {"tuning.sqlite": 0o600}


@pytest.mark.parametrize("name", ["logitile-0.1.0", "cache.d", ".hidden", os.fsdecode(b"caf\xe9.d")])
def test_the_folder_may_have_any_name(tmp_path, monkeypatch, name):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(tmp_path / name))
    assert quiet(lambda: tuning_store.keep([RECORD]))
    assert quiet(lambda: tuning_store.find(*PLACE)) == (RECORD,)
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["tuning.sqlite"]


@pytest.mark.parametrize(
    "change", [{"task": "1" * 64}, {"device": "another CPU"}, {"driver": "avx512"}], ids=str
)
def test_other_programs_and_devices_find_nothing(change):
    tuning_store.keep([RECORD])
    other = replace(RECORD, **change)
    assert tuning_store.find(other.task, other.device, other.driver) == ()
    tuning_store.keep([other])
    assert tuning_store.find(*PLACE) == (RECORD,)


def test_tuning_again_replaces_all_rows_of_the_same_calls():
    """Times of two days side by side would contradict each other."""
    few = replace(RECORD, tokens=1)
    tuning_store.keep([few])
    tuning_store.keep([RECORD, replace(OTHER, tiles="TM=64", chosen=False)])
    again = [replace(RECORD, measured=0.4, chosen=False), OTHER]
    tuning_store.keep(again)
    assert tuning_store.find(*PLACE) == (few, OTHER)
    assert set(tuning_store.everything()) == {few, *again}


def test_each_number_of_tokens_has_its_choice():
    few = replace(OTHER, tokens=1)
    tuning_store.keep([RECORD])
    tuning_store.keep([few])
    assert tuning_store.find(*PLACE) == (few, RECORD)


def test_the_cache_may_be_off(monkeypatch):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "off")
    assert tuning_store.database() is None
    assert quiet(lambda: tuning_store.keep([RECORD])) is False
    assert quiet(lambda: tuning_store.find(*PLACE)) == ()


def test_clearing_the_cache_of_programs_leaves_tuning_alone(folder):
    tuning_store.keep([RECORD])
    _native.disk_cache_clear(str(folder))
    assert _native.disk_cache_list(str(folder)) == []
    assert tuning_store.find(*PLACE) == (RECORD,)


# ---- damage --------------------------------------------------------------------------------------


def garbage(path):
    path.write_bytes(b"no database at all" * 300)


def flipped(path):
    """The page of the table is broken, the first one is whole."""
    data = bytearray(path.read_bytes())
    data[4096:8192] = os.urandom(4096)
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path):
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cookies (name TEXT)")
    connection.close()
    path.chmod(0o600)


def renamed_columns(path):
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE records RENAME COLUMN ratio TO share")
    connection.close()


DAMAGE = [garbage, flipped, cut, foreign, renamed_columns]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_database_is_one_warning_and_set_aside(folder, damage):
    many = [replace(RECORD, tiles=f"TM={i}", chosen=i == 0) for i in range(200)]
    tuning_store.keep(many)
    path = folder / "tuning.sqlite"
    damage(path)
    before = path.read_bytes()

    def use():
        return tuning_store.find(*PLACE), tuning_store.everything(), tuning_store.find(*PLACE)

    found, messages = warned(use)
    assert found == ((), (), ())
    assert len(messages) == 1 and f"'{path}' is damaged" in messages[0]
    assert (folder / "tuning.sqlite.damaged").read_bytes() == before
    assert quiet(lambda: tuning_store.keep([RECORD])) and quiet(lambda: tuning_store.find(*PLACE)) == (
        RECORD,
    )


def test_a_tuner_gets_over_damage_as_well(folder):
    folder.mkdir(mode=0o700)
    garbage(folder / "tuning.sqlite")
    (folder / "tuning.sqlite").chmod(0o600)
    kept, messages = warned(lambda: tuning_store.keep([RECORD]))
    assert kept and len(messages) == 1
    assert quiet(lambda: tuning_store.find(*PLACE)) == (RECORD,)


def test_an_empty_file_is_a_database_without_records(folder):
    """A process was killed between making the file and its table."""
    folder.mkdir(mode=0o700)
    (folder / "tuning.sqlite").touch(0o600)
    assert quiet(lambda: tuning_store.find(*PLACE)) == ()
    assert quiet(lambda: tuning_store.keep([RECORD]))
    assert quiet(lambda: tuning_store.find(*PLACE)) == (RECORD,)


def test_a_database_of_a_later_version_is_left_alone(folder):
    tuning_store.keep([RECORD])
    path = folder / "tuning.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = path.read_bytes()
    (found, kept), messages = warned(lambda: (tuning_store.find(*PLACE), tuning_store.keep([RECORD])))
    assert found == () and kept is False
    assert len(messages) == 1 and "has version 2, and this logitile reads up to 1; update it" in messages[0]
    assert path.read_bytes() == before and [p.name for p in folder.iterdir()] == ["tuning.sqlite"]


# ---- folders -------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_one_warning(monkeypatch):
    monkeypatch.setenv("LOGITILE_CACHE_DIR", "/proc/logitile")
    kept, messages = warned(lambda: (tuning_store.keep([RECORD]), tuning_store.keep([RECORD])))
    assert kept == (False, False)
    assert len(messages) == 1 and "/proc/logitile" in messages[0]
    assert quiet(lambda: tuning_store.find(*PLACE)) == ()


def test_what_others_may_write_is_not_used(folder):
    tuning_store.keep([RECORD])
    (folder / "tuning.sqlite").chmod(0o660)
    found, messages = warned(lambda: tuning_store.find(*PLACE))
    assert found == () and len(messages) == 1 and "has mode 0660" in messages[0]
    (folder / "tuning.sqlite").chmod(0o600)
    folder.chmod(0o777)
    kept, messages = warned(lambda: tuning_store.keep([RECORD]))
    assert kept is False and len(messages) == 1 and f"'{folder}' has mode 0777" in messages[0]


def test_a_link_is_not_followed(folder, tmp_path):
    tuning_store.keep([RECORD])
    path = folder / "tuning.sqlite"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    (found, kept), messages = warned(lambda: (tuning_store.find(*PLACE), tuning_store.keep([OTHER])))
    assert found == () and kept is False and len(messages) == 1 and "is no file" in messages[0]
    assert (tmp_path / "elsewhere").read_bytes() == before


SCRIPT = """
import resource, sys, warnings
from dataclasses import replace
sys.path[:0] = {here}
from test_tuning_store import PLACE, RECORD, garbage, tuning_store
warnings.simplefilter("always")
{code}
"""


def process(folder, code):
    package = pathlib.Path(lt.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(here=HERE, code=code)],
        env={**os.environ, "PYTHONPATH": str(package), "LOGITILE_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(started):
    output, errors = started.communicate(timeout=300)
    assert started.returncode == 0, errors
    return output, errors


def test_a_full_disk_is_one_warning(folder):
    tuning_store.keep([RECORD])
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))\n"
    code = limit + "print([tuning_store.keep([replace(RECORD, measured=9.0)]) for _ in range(2)])"
    output, errors = finished(process(folder, code))
    assert output.strip() == "[False, False]"
    assert errors.count("CacheWarning") == 1
    assert tuning_store.find(*PLACE) == (RECORD,)


# ---- processes -----------------------------------------------------------------------------------

WRITER = """
for i in range(20):
    mine = replace(RECORD, tokens=1 + i, tiles="TM=%d" % (1000 + {number}))
    assert tuning_store.keep([mine, replace(mine, threads=7, chosen=False)])
    assert any(record.tokens == 1 + i for record in tuning_store.find(*PLACE))
"""


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.full)])
def test_many_tuners_at_once_corrupt_nothing(folder, count):
    for started in [process(folder, WRITER.format(number=i)) for i in range(count)]:
        assert finished(started) == ("", "")
    records = tuning_store.everything()
    assert len(records) == 2 * 20
    chosen = [record.tokens for record in records if record.chosen]
    assert sorted(chosen) == list(range(1, 21))
    with sqlite3.connect(folder / "tuning.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_killed_tuner_leaves_all_or_nothing(folder):
    tuning_store.keep([RECORD])
    code = "print('up', flush=True)\nwhile True:\n    tuning_store.keep([replace(RECORD, measured=7.0)] + "
    code += "[replace(RECORD, tiles='TM=%d' % i, measured=7.0, chosen=False) for i in range(300)])"
    for _ in range(5):
        started = process(folder, code)
        assert started.stdout.readline() == "up\n"
        started.kill()
        started.communicate()
        records = quiet(tuning_store.everything)
        assert len(records) in (1, 301) and sum(record.chosen for record in records) == 1
        assert {record.measured for record in records} in ({0.5}, {7.0})


def test_a_table_that_another_process_makes_meanwhile_is_no_damage(folder):
    """The other process makes it between any two statements that look at the database."""
    path = folder / "tuning.sqlite"
    folder.mkdir(mode=0o700)

    class Interrupted(sqlite3.Connection):
        def execute(self, *arguments):
            with contextlib.suppress(sqlite3.OperationalError):  # "database is locked"
                other = sqlite3.connect(path, timeout=0, isolation_level=None)
                if self.left == 0:
                    tuning_store._make_tables(other)
                other.close()
            self.left -= 1
            return super().execute(*arguments)

    for before in range(4):
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, factory=Interrupted)
        connection.left = before
        assert tuning_store._is_ready(connection, path) == (before < 2)
        connection.close()


def test_many_that_meet_damage_set_aside_only_that(folder):
    """Nobody takes the new database of another one for the damaged one."""
    folder.mkdir(mode=0o700)
    garbage(folder / "tuning.sqlite")
    (folder / "tuning.sqlite").chmod(0o600)
    damaged = (folder / "tuning.sqlite").read_bytes()
    told = 0
    for started in [process(folder, WRITER.format(number=i)) for i in range(4)]:
        output, errors = finished(started)
        told += errors.count("CacheWarning")
    assert told == 1
    assert (folder / "tuning.sqlite.damaged").read_bytes() == damaged
    assert len(tuning_store.everything()) == 2 * 20
