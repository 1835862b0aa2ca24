"""`python -m logitile view`: writes the page of a loss (view/page.py)."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from typing import Any

from ..errors import CallTypeError, CallValueError
from ..jit import jit
from ..messages.names import did_you_mean, listed
from ..tuning.samples import sample_arguments, shaped_arguments
from .choices import DTYPES, add_constants, add_dtype, constants_of, loss_of, shape_of

_COMPARED = ("backend", "workspace", "chunks", "tiles")


def add_to(commands: Any) -> None:
    """Adds the command to the parser of main.py."""
    parser = commands.add_parser(
        "view",
        help="write a page that shows how a loss becomes kernels",
        description="Compiles a loss and writes one HTML file: every stage, line by line, and the schedule.",
        epilog="NAME is one of lt.losses, or MODULE:NAME. The page needs no network.",
    )
    parser.add_argument("--loss", required=True, metavar="NAME", help="the loss to show")
    parser.add_argument("--shape", required=True, metavar="N,D,V", help="tokens, hidden size and vocabulary")
    add_dtype(parser)
    parser.add_argument("--forward", action="store_true", help="without gradients")
    add_constants(parser)
    parser.add_argument("--backend", default="auto", help="like backend= of lt.jit (default: auto, this CPU)")
    parser.add_argument("--workspace", default="auto", help="like workspace= of lt.jit (default: auto)")
    parser.add_argument("--tiles", default="", help="like tiles= of lt.jit, such as TM=64,TN=128")
    parser.add_argument(
        "--compare",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help=f"also show a second head, with this option ({_COMPARED}) changed; "
        "repeat it for several options",
    )
    parser.add_argument("--timing", action="store_true", help="run the call on random arrays and measure it")
    parser.add_argument("--out", default="loss.html", metavar="FILE", help="the page (loss.html)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    loss = loss_of(given.loss)
    dtype = DTYPES.get(given.dtype, given.dtype)
    make = sample_arguments if given.timing else shaped_arguments
    arguments = make(loss, *shape_of(given.shape), dtype)
    constants = constants_of(loss, given.constant)
    head = jit(loss, backend=given.backend, workspace=given.workspace, tiles=given.tiles, **constants)
    compare = _compared(given.compare)
    taken = {"path", "compare", "timing", "grad"} & arguments.keys()
    if taken:
        raise CallTypeError(f"an input of the loss is called '{taken.pop()}', as an option of Head.view is")
    try:
        page = head.view(
            path=given.out,
            compare=compare,
            timing=given.timing,
            grad=() if given.forward else None,
            **arguments,
        )
    except OSError as error:
        raise CallValueError(f"--out {given.out} cannot be written: {error}") from None
    print(f"wrote {page} ({page.stat().st_size // 1024} KiB)")
    if given.open:
        webbrowser.open(Path(page).resolve().as_uri())
    return 0


def _compared(given: list[str]) -> dict[str, object] | None:
    """The options of the head beside the first; None where there is no such head.

    Raises:
        CallValueError: a text is not OPTION=VALUE with an option that can be compared.
    """
    options: dict[str, object] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or name not in _COMPARED:
            hint = did_you_mean(name, _COMPARED) if sign else ""
            known = listed(_COMPARED)
            raise CallValueError(f"--compare is '{one}'; write OPTION=VALUE, with one of {known}{hint}")
        options[name] = int(value) if value.isdigit() else value
    return options or None
