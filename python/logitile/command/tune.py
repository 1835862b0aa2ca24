"""`python -m logitile tune`: tunes a loss on random arrays, or shows results (tuning/autotune.py).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from ..errors import CallTypeError, CallValueError
from ..frameworks.arrays import HOST
from ..jit import jit
from ..language.definition import Loss
from ..messages.names import listed
from ..runtime.platforms import platform_of, target_of
from ..tuned import store as tuning_store
from ..tuning.autotune import autotune
from ..tuning.picture import draw
from ..tuning.table import compared, rows_of, table, tunings
from .choices import DTYPES, add_constants, add_dtype, constants_of, loss_of, shape_of

_THREADS = "LOGITILE_NUM_THREADS"
_PICTURE = "logitile-tuning.png"
_PLACES = """\
Results are stored in tuning.sqlite in the folder of the disk cache; see 'cache --help'. Calls
of heads with the same loss, constants, shapes, types and options use them. NAME is one of
lt.losses, or MODULE:NAME."""


def add_to(commands: Any) -> None:
    """Adds the command to the parser of main.py."""
    parser = commands.add_parser(
        "tune",
        help="find the fastest tile sizes for a loss on this machine",
        description="Measures tile sizes on random arrays. Later calls use the best sizes.",
        epilog=_PLACES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--loss", metavar="NAME", help="the loss to tune")
    parser.add_argument("--shape", metavar="N,D,V", help="tokens, hidden size and vocabulary")
    add_dtype(parser)
    parser.add_argument("--forward", action="store_true", help="without gradients")
    add_constants(parser)
    parser.add_argument("--threads", type=int, metavar="T", help="of a call (like LOGITILE_NUM_THREADS)")
    parser.add_argument("--budget", type=float, default=30.0, metavar="S", help="seconds (default: 30)")
    parser.add_argument("--backend", default="auto", help="like backend= of lt.jit (default: auto, this CPU)")
    parser.add_argument("--show", action="store_true", help="print the results of tuning, and draw them")
    picture = f"the picture of --show, with the times of all rows ({_PICTURE}); none: no picture"
    parser.add_argument("--png", metavar="FILE", help=picture)
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    wanted = {"--loss": given.loss, "--shape": given.shape}
    measures = [option for option, value in wanted.items() if value is not None]
    if given.show and measures:
        raise CallTypeError(
            f"--show prints all that was tuned and measures nothing; leave out {listed(measures)}"
        )
    if given.show:
        return _show(given)
    if given.shape is not None:
        shape_of(given.shape)
    if len(measures) < 2:
        missing = [option for option in wanted if option not in measures]
        raise CallTypeError(f"tune needs {' and '.join(missing)}, or --show")
    if given.png is not None:
        raise CallTypeError("--png belongs to --show")
    loss = loss_of(given.loss)
    head = jit(loss, backend=given.backend, **constants_of(loss, given.constant))
    arguments = _samples(loss, given)
    grad = () if given.forward else None
    with _threads(given.threads):
        print(autotune(head, budget_s=given.budget, grad=grad, **arguments))
    return 0


# ---- what to tune --------------------------------------------------------------------------------


def _samples(loss: Loss, given: argparse.Namespace) -> dict[str, Any]:
    """Random arrays where the backend reads them.

    Raises:
        CallValueError: there is no memory for them.
        TargetError: there is no GPU.
    """
    from ..tuning.samples import sample_arguments

    memory = HOST
    if given.backend != "auto":
        platform = platform_of(given.backend)
        memory = platform.memory
        if not platform.host_memory:
            target_of(platform)  # there is a device
    try:
        return sample_arguments(loss, *shape_of(given.shape), DTYPES.get(given.dtype, given.dtype), memory)
    except (MemoryError, ValueError, OverflowError) as error:
        raise CallValueError(f"arrays for --shape {given.shape} cannot be made: {error}") from None


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Calls inside have this many threads, as LOGITILE_NUM_THREADS says it to every process."""
    before = os.environ.get(_THREADS)
    if count is not None:
        os.environ[_THREADS] = str(count)
    try:
        yield
    finally:
        if count is not None:
            del os.environ[_THREADS]
            if before is not None:
                os.environ[_THREADS] = before


# ---- what was tuned ------------------------------------------------------------------------------


def _show(given: argparse.Namespace) -> int:
    records = tuning_store.everything()
    place = tuning_store.database()
    if place is None:
        raise CallValueError(
            "the disk cache is off, and tuning with it; LOGITILE_CACHE_DIR can name its folder"
        )
    for own in tunings(records):
        one = own[0]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(max(record.time for record in own)))
        print(f"{one.loss} on {one.target} ({one.device}), {one.shape}, tuned {when}")
        print("\n".join([*table(rows_of(own)), f"  {compared(own)}", ""]))
    if records:
        print("measured: the default's median time by 'of default', which decides; predicted: only ranks")
    chosen = sum(record.chosen for record in records)
    print(f"{len(records)} measured, {chosen} chosen (*), in {place}")
    picture = given.png or _PICTURE
    if records and picture != "none":
        draw(records, picture)
        print(f"wrote {picture}")
    return 0
