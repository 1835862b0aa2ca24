"""Chooses the route of a head's calls."""

from __future__ import annotations

from dataclasses import replace

from ..arguments.options import Options
from ..language.definition import Loss
from .code import CodeRoute
from .converted import ConvertedRoute
from .reference import ReferenceRoute
from .route import Route


def chosen_route(loss: Loss, options: Options, constants: dict[str, object], code: CodeRoute) -> Route:
    """The route of a head.

    Args:
        loss, options, constants: of the head.
        code: the route by compiled code, with all of its options.
    """
    if options.output_dtype is not None:
        plain = replace(options, output_dtype=None)
        own = CodeRoute(loss, plain, constants)
        return ConvertedRoute(chosen_route(loss, plain, constants, own), options.output_dtype, loss.signature)
    return ReferenceRoute(code) if options.is_reference else code
