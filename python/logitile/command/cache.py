"""`python -m logitile cache`: the compiled programs on disk,
for people (runtime/cache/DiskCache.h).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..arguments.call import native_name
from ..calls import keyed
from ..errors import CallValueError
from ..inspection.explanation import size_text
from ..messages.names import interval_text
from ..runtime.engine import native

_SHOWN_DIGITS = 12
_PLACES = """\
The folder is LOGITILE_CACHE_DIR, or else $XDG_CACHE_HOME/logitile, or else ~/.cache/logitile.
LOGITILE_CACHE_DIR=off turns the cache off. It holds at most LOGITILE_CACHE_BYTES (1 GiB);
the least recently used programs are removed first."""


def add_to(commands: Any) -> None:
    """Adds the command to the parser of main.py."""
    cache = commands.add_parser(
        "cache",
        help="list, show or remove the compiled programs on disk",
        description="Compiled programs on disk, which other processes load instead of compiling.",
        epilog=_PLACES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = cache.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="one line per program, the last used one first")
    listing.set_defaults(run=_list)
    showing = actions.add_parser("show", help="details of the programs whose keys start with KEY")
    showing.add_argument("key", metavar="KEY", help="the first hexadecimal digits of a key")
    showing.set_defaults(run=_show)
    clearing = actions.add_parser("clear", help="remove all programs, without asking")
    clearing.set_defaults(run=_clear)


def _folder() -> tuple[str, int]:
    """The folder of the cache and the most bytes that it holds.

    Raises:
        CallValueError: there is no cache.
    """
    folder, most = native().disk_cache_settings()
    if not folder:
        raise CallValueError("the disk cache is off; LOGITILE_CACHE_DIR can name its folder")
    return folder, most


def _list(_: argparse.Namespace) -> int:
    folder, most = _folder()
    entries = native().disk_cache_list(folder)
    rows = [("key", "loss", "target", "tokens", "bytes", "last use")] if entries else []
    rows += [_row(entry) for entry in entries]
    for line in table(rows, right=(4,)):
        print(line)
    total = sum(entry["bytes"] for entry in entries)
    print(f"{_counted(len(entries))}, {size_text(total)} of {size_text(most)}, in {folder}")
    return 0


def _show(given: argparse.Namespace) -> int:
    folder, _ = _folder()
    entries = native().disk_cache_list(folder, given.key.lower(), details=True)
    if not entries:
        raise CallValueError(f"no key in {folder} starts with '{given.key}'; 'cache list' shows them")
    for number, entry in enumerate(entries):
        print("\n" * (number > 0) + "\n".join(_facts(entry)))
    return 0


def _clear(_: argparse.Namespace) -> int:
    folder, _ = _folder()
    count, size = native().disk_cache_clear(folder)
    print(f"removed {_counted(count)}, {size_text(size)}, from {folder}")
    heads, size = keyed.clear()
    if heads:
        print(f"removed {heads} record{'' if heads == 1 else 's'} of heads, {size_text(size)}")
    return 0


def _counted(count: int) -> str:
    return f"{count} program{'' if count == 1 else 's'}"


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    key, size, used = entry["key"][:_SHOWN_DIGITS], size_text(entry["bytes"]), _date(entry["last_use"])
    if "damage" in entry:
        return key, "(damaged)", "", "", size, used
    return key, entry["name"], entry["target"], interval_text(entry["interval"]), size, used


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Lines of columns as wide as they need; those of `right` end in line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        padded = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(cells)]
        yield "  ".join(padded).rstrip()


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _facts(entry: Mapping[str, Any]) -> Iterator[str]:
    """Lines for one entry."""
    rows = [
        ("key", entry["key"]),
        ("file", entry["path"]),
        ("bytes", f"{entry['bytes']} ({size_text(entry['bytes'])})"),
        ("last use", _date(entry["last_use"])),
    ]
    if "damage" in entry:
        rows.append(("damaged", f"{entry['damage']}; it will be compiled again"))
    else:
        rows += _plan_facts(entry, entry["plan"])
    return table(rows)


def _plan_facts(entry: Mapping[str, Any], plan: Mapping[str, Any]) -> list[tuple[str, str]]:
    is_own = entry["build"] == native().build_id()
    made = (f"{native_name(g['name'], g['part'])} ({g['element']})" for g in plan["gradients"])
    gradients = ", ".join(made) or "none"
    phase = " in a phase of their own" if plan["split"] else ""
    forward, backward = plan["sweeps"]
    return [
        ("build", f"{entry['build']}, {'this one' if is_own else 'not this one, which cannot use it'}"),
        ("loss", entry["name"]),
        ("target", entry["target"]),
        ("tokens", interval_text(entry["interval"])),
        ("vocabulary", str(plan["vocab"])),
        ("hidden", ", ".join(f"{p['name']} {p['hidden']} ({p['element']})" for p in plan["projections"])),
        ("inputs", ", ".join(f"{i['name']} ({i['kind']})" for i in plan["inputs"]) or "none"),
        ("outputs", ", ".join(f"{o['name']} ({o['element']})" for o in plan["outputs"])),
        ("gradients", gradients + phase),
        (
            "schedule",
            f"{plan['stored']} logits per token stored; {forward} forward, {backward} backward sweeps",
        ),
        ("code", f"{size_text(plan['code_bytes'])} in {len(plan['kernels'])} kernels"),
        *(("", kernel["name"]) for kernel in plan["kernels"]),
    ]
