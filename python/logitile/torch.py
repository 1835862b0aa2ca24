"""PyTorch: `import logitile.torch` defines the operators of heads, which a process that loads an
exported program needs. Calls of heads need no such import. The code is in frameworks/torch.
"""

from __future__ import annotations

from .frameworks.torch.autograd import Direct, Final
from .frameworks.torch.operators import Around

__all__ = ("Around", "Direct", "Final")
