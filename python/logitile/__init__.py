"""logitile: losses over logits, compiled together with the projection that makes them.

A loss is a Python function for one token; see `lt.loss`, the annotations `lt.Logits`, `lt.Token`,
`lt.Vocab`, `lt.Dense`, `lt.Scalar`, and the functions of the language. `lt.losses` is a library of
losses written in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arguments.segments import Segments
from .calls.plans import Plan, load_plan
from .errors import (
    CacheWarning,
    CallError,
    CallIndexError,
    CallTypeError,
    CallValueError,
    CompileError,
    EmulatorFault,
    LogitileError,
    SpecAttributeError,
    SpecError,
    TargetError,
)
from .frameworks.stand_ins import ShapeDtype
from .head import Head
from .jit import jit
from .language.definition import Loss, loss
from .language.functions import *  # noqa: F403 - the functions of the language
from .language.functions import __all__ as _functions
from .language.outputs import Outputs
from .language.values import Value
from .messages.locations import spec_error
from .messages.names import public_name_hint
from .runtime.engine import check, history, trim, version
from .slices.states import SliceState
from .slices.sweeps import merge
from .tuning.autotune import autotune

if TYPE_CHECKING:
    from . import nn as nn
    from . import parallel as parallel
    from . import testing as testing
    from .language.typed import Dense, K, Logits, Scalar, Token, Vocab

    __version__: str
else:
    from .language.annotations import Dense, K, Logits, Scalar, Token, Vocab

from . import losses  # isort: skip - written in the language, so everything above comes first

__all__ = (
    "CacheWarning", "CallError", "CallIndexError", "CallTypeError", "CallValueError", "CompileError", "Dense",
    "EmulatorFault", "Head", "K", "LogitileError", "Logits", "Loss", "Outputs", "Plan", "Scalar",
    "Segments", "ShapeDtype", "SliceState", "SpecError", "TargetError", "Token", "Value", "Vocab", "autotune",
    "check", "history", "jit", "load_plan", "loss", "losses", "merge", "trim", *_functions,
)  # fmt: skip


def __dir__() -> list[str]:
    """The public names; submodules and what this module imports for itself are left out."""
    return sorted((*__all__, "__version__", "nn", "parallel", "testing"))


def __getattr__(name: str) -> object:
    """`nn`, `parallel`, `testing` and `__version__` are loaded on first use;
    any other name is an error, which suggests others.
    """
    if name == "__version__":
        return version()
    if name in ("nn", "parallel", "testing"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith("_"):  # what Python and modules of the package ask for
        raise AttributeError(name)
    hint = public_name_hint(name, __all__, sorted(_functions), losses.__all__)
    raise spec_error(f"logitile has no '{name}'{hint}", kind=SpecAttributeError)
