"""Results of tuning on disk: one small database in the folder of the disk cache, which processes
share and later versions keep. Any trouble with it raises one CacheWarning per kind, and calls run
without tuning.

The database is SQLite with its rollback journal. A write-ahead log would let readers pass writers,
which nobody needs here, but wants memory that processes share, which network folders and read-only
ones do not have.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..messages.warned import cache_warning
from ..runtime.engine import native

if TYPE_CHECKING:
    from sqlite3 import Connection

_T = TypeVar("_T")

DATABASE = "tuning.sqlite"  # in the folder of the disk cache
_LOCK = "tuning.lock"
_ASIDE = ".damaged"
_APPLICATION = 0x4C54554E  # "LTUN", so that no other database is taken for this one
_VERSION = 1
_BUSY_SECONDS = 10.0
_KEY = ("task", "device", "driver", "tokens", "tiles", "threads")

_mutex = threading.Lock()
_told: set[str] = set()


@dataclass(frozen=True)
class TuneRecord:
    """What one configuration took. Names are columns of the database.

    Args:
        task: what was asked for: `_native.Program.task`.
        device, driver: the name of the CPU or GPU;
            the instruction set or the version of the driver.
        tokens: of the calls that were measured.
        tiles: sizes such as "TM=64,TN=128,...", all of them.
        threads: of the host.
        loss: its name.
        shape: "N x D -> V" and types, for people.
        predicted: seconds by the cost model.
        measured: seconds of a call: the median of the default times the ratio.
        ratio: median of this time and that of the default in the same round; below 1 is faster,
            and 1 is the default itself.
        rounds: how often it was measured.
        chosen: whether calls take it.
        time: seconds since 1970.
    """

    task: str
    device: str
    driver: str
    tokens: int
    tiles: str
    threads: int
    loss: str
    target: str
    shape: str
    predicted: float
    measured: float
    ratio: float
    rounds: int
    chosen: bool
    time: int


_COLUMNS = tuple(column.name for column in fields(TuneRecord))
_TYPES = {"int": "INTEGER", "bool": "INTEGER", "float": "REAL", "str": "TEXT"}
_PYTHON_TYPES = tuple(
    {"REAL": float, "TEXT": str}.get(_TYPES[str(column.type)], int) for column in fields(TuneRecord)
)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS records ("
    + ", ".join(f"{column.name} {_TYPES[str(column.type)]} NOT NULL" for column in fields(TuneRecord))
    + f", PRIMARY KEY ({', '.join(_KEY)})) WITHOUT ROWID"
)


class _Damaged(Exception):
    """The file is no database of ours, or a broken one."""


class _Unusable(Exception):
    """The database cannot be used, and nothing is wrong with it that removing it would help."""


def database() -> Path | None:
    """Where the database is, or would be; None where the disk cache is off.

    Raises:
        CallValueError: LOGITILE_CACHE_DIR is impossible.
    """
    folder, _ = native().disk_cache_settings()
    return Path(folder) / DATABASE if folder else None


def find(task: str, device: str, driver: str) -> tuple[TuneRecord, ...]:
    """The configurations that calls of a task take,
    by the number of tokens that they were tuned with.
    """

    def query(connection: Connection) -> list[tuple]:
        return connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM records"
            " WHERE chosen AND task = ? AND device = ? AND driver = ? ORDER BY tokens",
            (task, device, driver),
        ).fetchall()

    return _records(_read(query))


def everything() -> tuple[TuneRecord, ...]:
    """All records, task by task."""

    def query(connection: Connection) -> list[tuple]:
        return connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM records ORDER BY loss, target, task, tokens, ratio"
        ).fetchall()

    return _records(_read(query))


def keep(records: Sequence[TuneRecord]) -> bool:
    """Keeps the records of one tuning, at most one of them chosen, all or none. They replace those
    of the same task, device and number of tokens: times of different days cannot be compared.

    Returns: whether they are on disk now; a warning says why not.
    """
    path = database()
    if path is None:
        return False

    def write(connection: Connection) -> bool:
        connection.execute("BEGIN IMMEDIATE")
        _make_tables(connection)
        one = records[0]
        connection.execute(
            "DELETE FROM records WHERE task = ? AND device = ? AND driver = ? AND tokens = ?",
            (one.task, one.device, one.driver, one.tokens),
        )
        places = ", ".join("?" for _ in _COLUMNS)
        connection.executemany(
            f"INSERT INTO records ({', '.join(_COLUMNS)}) VALUES ({places})",
            [astuple(record) for record in records],
        )
        connection.execute("COMMIT")
        return True

    with _mutex:
        return _guarded(path, False, lambda: _with(path, write, creates=True))


def _records(rows: Sequence[tuple]) -> tuple[TuneRecord, ...]:
    """Rows whose columns are of their types, which SQLite does not see to; a warning for others."""
    sound = [row for row in rows if all(map(isinstance, row, _PYTHON_TYPES))]
    if len(sound) < len(rows):
        tell(f"{len(rows) - len(sound)} rows of '{database()}' hold values of wrong types; they are not used")
    return tuple(TuneRecord(*row) for row in sound)


# ---- opening -------------------------------------------------------------------------------------


def _read(query: Callable[[Connection], list[tuple]]) -> list[tuple]:
    path = database()
    if path is None or not os.path.lexists(path):
        return []
    return _guarded(path, [], lambda: _with(path, query, creates=False))


def _guarded(path: Path, otherwise: _T, use: Callable[[], _T]) -> _T:
    """What `use` returns; a damaged database is set aside once, any other trouble is a warning."""
    try:
        try:
            return use()
        except _Damaged as damage:
            if _set_aside(path):
                tell(f"'{path}' is damaged ({damage}); it is now '{path}{_ASIDE}', and tuning starts anew")
            return use()
    except (_Damaged, _Unusable, OSError) as trouble:
        tell(f"{trouble}; calls run without it")
        return otherwise


def _with(path: Path, use: Callable[[Connection], _T], creates: bool) -> _T:
    """Runs `use` on a connection of its own: none is carried into forked processes."""
    import sqlite3
    from urllib.parse import quote

    if creates:
        _make_file(path)
    elif not os.path.lexists(path):
        return use(_empty())
    _check_file(path)
    try:
        # Not "ro": a journal that a killed process left must be rolled back. Where files cannot be
        # written, SQLite opens them for reading by itself.
        uri = f"file:{quote(os.fsencode(path))}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        with contextlib.closing(connection):
            return use(connection if _is_ready(connection, path) or creates else _empty())
    except sqlite3.OperationalError as error:
        if "no such" in str(error) or "has no column" in str(error):
            raise _Damaged(error) from None
        raise _Unusable(f"'{path}' cannot be used: {error}") from None
    except sqlite3.DatabaseError as error:
        raise _Damaged(error) from None


def _empty() -> Connection:
    """A database without records, in memory."""
    import sqlite3

    connection = sqlite3.connect(":memory:", isolation_level=None)
    _make_tables(connection)
    return connection


def _is_ready(connection: Connection, path: Path) -> bool:
    """Whether the database has its table. It has none if a process was killed before making it."""
    # all three of one moment: another process may make the table just now
    connection.execute("BEGIN")
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    finally:
        connection.rollback()  # nothing, where an error has ended the transaction
    if application == 0 and version == 0 and tables == 0:
        return False
    if application != _APPLICATION:
        raise _Damaged("it is the database of another program")
    if version > _VERSION:
        raise _Unusable(
            f"'{path}' has version {version}, and this logitile reads up to {_VERSION}; update it"
        )
    return True


def _make_tables(connection: Connection) -> None:
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute(_SCHEMA)


# ---- files ---------------------------------------------------------------------------------------


def _make_file(path: Path) -> None:
    """Folder and file for this user alone, as the disk cache makes them."""
    for folder in (*reversed(path.parent.parents), path.parent):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    _check_owner(path.parent, path.parent.stat())
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def _check_file(path: Path) -> None:
    """Others could have calls run with any sizes, so what they may write is not read."""
    _check_owner(path.parent, path.parent.stat())
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        raise _Unusable(f"'{path}' is no file")
    _check_owner(path, facts)


def _check_owner(place: Path, facts: os.stat_result) -> None:
    if facts.st_uid != os.geteuid():
        raise _Unusable(f"'{place}' belongs to user {facts.st_uid}, not to user {os.geteuid()}")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(facts.st_mode)
        raise _Unusable(f"'{place}' has mode {mode:04o}, but only its owner may write there (chmod go-w)")


def _set_aside(path: Path) -> bool:
    """Renames a damaged database; false where another process has done so meanwhile."""
    with _locked(path.parent):
        with contextlib.suppress(_Damaged):
            _with(path, lambda connection: _check(connection), creates=False)
            return False
        # The journal first: it must not be taken for that of the next database.
        for suffix in ("-journal", ""):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}{suffix}", f"{path}{_ASIDE}{suffix}")
    return True


def _check(connection: Connection) -> None:
    rows = connection.execute("PRAGMA quick_check").fetchall()
    if rows != [("ok",)]:
        raise _Damaged(rows[0][0])
    connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM records LIMIT 1").fetchall()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time. The lock ends with the process that holds it."""
    import fcntl

    file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def tell(text: str) -> None:
    """A warning, once."""
    if text not in _told:
        _told.add(text)
        cache_warning(f"tuning: {text}")


def now() -> int:
    """Seconds since 1970."""
    return int(time.time())
