"""Names of element types, the same for every framework."""

from __future__ import annotations

import functools
from typing import Any

from ..errors import CallTypeError

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


def dtype_name(dtype: object) -> str:
    """The plain name of a dtype of any framework: "float32" for torch.float32, np.dtype("f4"),
    jnp.float32.
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


# dtypes of NumPy build their name each time
name_of = functools.lru_cache(maxsize=64)(dtype_name)


def numpy_dtype(name: str) -> Any:
    """The dtype of NumPy with that name; that of bfloat16 is from ml_dtypes."""
    if name != "bfloat16":
        return name
    try:
        import ml_dtypes
    except ImportError:
        raise CallTypeError(
            "results in bfloat16 need the package ml_dtypes, which adds that type to NumPy; install it, or "
            "ask for grad_dtype='float32'"
        ) from None
    return ml_dtypes.bfloat16
