"""Functions whose result torch.compile takes as a constant, without tracing them."""

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
        first, second: objects, which `token` distinguishes: a new graph is made for other ones.
        given: plain values, by name; a new graph is made for other values.
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
