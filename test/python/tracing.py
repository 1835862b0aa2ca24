"""How tests of refusals trace a loss: `refused` compares the whole text of an error,
with the user's line.
"""

import inspect
import os

import logitile as lt
import pytest
from logitile.language.definition import Specialisation

VOCAB = 10


def traced(loss, **specialisation):
    """The spec of a loss for a small vocabulary."""
    return loss.trace(Specialisation(VOCAB, **specialisation))


def marked_line(function):
    """The line of a function's text that ends in '# <-'."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# <-"))


def refused(function, message, **specialisation):
    """Asserts that tracing 'function' fails at its marked line with exactly this message.

    The test runs in the folder of its file, so that paths in errors are file names.
    """
    with pytest.raises(lt.SpecError) as caught:
        traced(lt.loss(function), **specialisation)
    file = os.path.basename(function.__code__.co_filename)
    assert str(caught.value) == f"{file}:{marked_line(function)}: {message}"
