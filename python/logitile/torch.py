"""PyTorch: `import logitile.torch` defines the operators of heads, which an exported program needs
where it is loaded. Calls of heads need no such import. What is here is written in frameworks/torch.
"""

from __future__ import annotations

from .frameworks.torch.autograd import Direct, Final
from .frameworks.torch.operators import Around

__all__ = ("Around", "Direct", "Final")
