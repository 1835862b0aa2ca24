"""What torch.compile takes as a constant, without a look into how it is made."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch


def constant(
    function: Callable[..., str], first: Any, second: Any, token: str, given: Mapping[str, Any]
) -> str:
    """`function(first, second, given)`, computed while a graph is made,
    which holds for these alone.

    Args:
        function: gives a text.
        first, second: objects, which `token` tells apart: a graph is made anew for another one.
        given: plain values, by name; a graph is made anew for other ones.
    """
    texts, others = {}, {}
    # a number that has changed is a symbol, until something asks for it
    for name, item in given.items():
        if isinstance(item, float):
            texts[name] = item.hex()
        elif isinstance(item, int) and not isinstance(item, bool):
            others[name] = operator.index(item)
        else:
            others[name] = item
    return _constant(function, first, second, token, texts, others)


@torch.compiler.assume_constant_result
def _constant(
    function: Callable[..., str],
    first: Any,
    second: Any,
    token: str,
    texts: dict[str, str],
    others: dict[str, Any],
) -> str:
    return function(first, second, {**others, **{name: float.fromhex(text) for name, text in texts.items()}})
