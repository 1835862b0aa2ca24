"""JAX: `import logitile.jax` tells XLA how heads are called, which a program that was exported
needs where it is loaded. Calls of heads need no such import. What is here is written in
frameworks/jax.
"""

from __future__ import annotations

from .calls.keyed import find
from .frameworks.jax.primitives import TARGET
from .runtime.engine import native

__all__ = ("TARGET",)

native().xla_resolver(find)
