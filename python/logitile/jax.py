"""JAX: `import logitile.jax` registers the calls of heads with XLA, which a process that loads an
exported program needs. Calls of heads need no such import. The code is in frameworks/jax.
"""

from __future__ import annotations

from .calls.keyed import find
from .frameworks.jax.primitives import TARGET
from .runtime.engine import native

__all__ = ("TARGET",)

native().xla_resolver(find)
