"""Tokens of heads: constants under which graph capture finds a head of this process again."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..head import Head

_numbers = itertools.count()
_heads: weakref.WeakValueDictionary[str, Head] = weakref.WeakValueDictionary()


def new_token(head: Head) -> str:
    """A name for a head that no other head of this process has."""
    token = f"head{next(_numbers)}"
    _heads[token] = head
    return token


def living_heads() -> list[Head]:
    """All heads of this process that something uses."""
    return list(_heads.values())


def head_of_token(token: str) -> Head:
    """The head of a token; its user keeps it alive."""
    return _heads[token]
