"""The command line: `python -m logitile COMMAND`.
A command is a module with a function `add_to`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..errors import LogitileError
from . import cache as cache_command
from . import tune as tune_command
from . import view as view_command

COMMANDS = (cache_command, tune_command, view_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status.

    Args:
        arguments: without the name of the program; None: those of this process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m logitile", description="Losses over logits, compiled with their projection."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    given = parser.parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of folders need not be text
    try:
        status = given.run(given)
        sys.stdout.flush()
        return status
    except LogitileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
