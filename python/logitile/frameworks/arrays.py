"""What a call knows of an array, and what it asks of the library that the array is from."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import CallTypeError, CallValueError
from ..messages.names import shape_text
from ..runtime.engine import native

if TYPE_CHECKING:
    import numpy

    from .._native import Array as NativeArray
    from .._native import Stream

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


@dataclass(frozen=True)
class ShapeDtype:
    """Stands for an array in calls that need shapes only.

    Args:
        shape: extents of the array.
        dtype: a name such as "bfloat16", or a dtype of NumPy, torch or JAX.

    Raises:
        CallTypeError, CallValueError: that is no shape or no dtype of arrays.
    """

    shape: tuple[int, ...]
    dtype: object

    def __post_init__(self) -> None:
        try:
            shape = tuple(e if isinstance(e, int) else operator.index(e) for e in self.shape)
        except TypeError:
            raise CallTypeError(f"lt.ShapeDtype has shape {self.shape!r}, not a tuple of ints") from None
        if any(extent < 0 for extent in shape):
            raise CallValueError(f"lt.ShapeDtype has shape {shape_text(shape)}; no extent can be negative")
        object.__setattr__(self, "shape", shape)
        if dtype_name(self.dtype) not in DTYPES:
            raise CallTypeError(f"lt.ShapeDtype has dtype {self.dtype!r}; known are {', '.join(DTYPES)}")


@dataclass(frozen=True)
class Rounded:
    """Stands for an operand that is rounded to another type while it is packed; nobody makes a copy of it.

    Args:
        source: an array.
        dtype: the name of that type.
    """

    source: object
    dtype: str


class Framework:
    """An array library, as calls use it; each is one object, which `choice.described` gives to its arrays.

    What is written here holds for libraries whose arrays are only read: results are arrays of NumPy.
    """

    name = ""
    is_number = False  # whether its arrays are Python numbers
    is_writable = False  # whether gradients can be added into its arrays
    records_gradients = False  # whether results of calls can be differentiated by it

    def __reduce__(self) -> str:
        """Pickled and copied as what it is: the one object of its module."""
        return self.name.upper()

    def __repr__(self) -> str:
        return f"<arrays of {self.name}>"

    # ---- reading -----------------------------------------------------------------------------------------

    def view(self, array: Array, name: str) -> NativeArray:
        """An array as the native module takes it, which uses its memory for as long as the array lives.

        Args:
            array: to be read or, where it can be written, written.
            name: what the native module calls it.

        Raises:
            CallTypeError: there is no data, or none that can be reached.
        """
        raise no_data(array, name)

    def numbers(self, array: Array) -> numpy.ndarray:
        """The numbers of an array on the CPU; bfloat16 becomes float32, which holds every value of it."""
        raise NotImplementedError

    def elements(self, array: Array) -> numpy.ndarray | None:
        """The memory of an array, on whatever device, for NumPy to look at its place and strides alone; None
        where the array shares its memory with nobody.
        """
        return None

    def is_read_only(self, array: Array) -> bool:
        """Whether this very array cannot be written, although others of the library can."""
        return False

    def rounded(self, array: Array) -> Array:
        """A copy in the type that an operand is rounded to."""
        raise NotImplementedError

    def kept(self, array: Array) -> Array:
        """An array as it is now, for a later pass: a copy where nobody would notice that it changed."""
        return array

    # ---- results -----------------------------------------------------------------------------------------

    def stream(self, like: Array) -> Stream | None:
        """Where a call on arrays beside this one runs, and whose memory it uses; None on the CPU."""
        return None

    def empty(self, like: Array, shape: Sequence[int], dtype: str) -> Any:
        """A new contiguous array on the device of another, for the native module to write."""
        import numpy

        return numpy.empty(tuple(shape), numpy_dtype(dtype))

    def zeros(self, like: Array, shape: Sequence[int], dtype: str) -> Any:
        """As `empty`, but all 0."""
        array = self.empty(like, shape, dtype)
        array[...] = 0
        return array

    def result(self, like: Array, shape: tuple[int, ...], dtype: str, name: str) -> tuple[Any, NativeArray]:
        """As `empty`, with the array as the native module writes it under a name."""
        array = self.empty(like, shape, dtype)
        return array, bfloat16_view(array, name) if dtype == "bfloat16" else (name, array)

    def brought_home(self, made: Any, array: Array) -> Any:
        """A gradient that was made beside hidden, in host memory where its array lies there beside a GPU."""
        return made

    def given_back(self, like: Array, array: Any) -> Any:
        """What `empty` made, filled by now, as an array of this library."""
        return array

    def differentiable(self, job: Recorded) -> dict[str, Any]:
        """The outputs of a call by name, as the library's results that it can differentiate."""
        raise NotImplementedError

    def is_recording(self) -> bool:
        """Whether results are to be differentiable where an input requires a gradient."""
        return False


class Recorded(Protocol):
    """A call that is differentiated later, as a library's automatic differentiation runs it.

    Attributes:
        is_early: whether gradients of the loss are made in the forward pass.
        outputs: the names of all outputs.
        carrying: those that a gradient flows from.
        sources: the arrays that get a gradient.
    """

    is_early: bool
    outputs: tuple[str, ...]
    carrying: tuple[str, ...]
    sources: list[Any]

    def forward(self) -> tuple[dict[str, Any], list[Any], object]:
        """Outputs by name, gradients that were made early, and what the backward pass goes on with."""

    def emptied(self) -> tuple[Recorded, list[Any]]:
        """The call without its arrays, and these arrays, which the library keeps instead."""

    def adjoint(
        self, state: object, arrays: Sequence[Any], upstreams: Sequence[Any | None]
    ) -> list[Any | None]:
        """The gradients of `sources`, from what reaches each output; None for one that went into a buffer."""


@dataclass(eq=False, slots=True)  # every call makes several: frozen ones take three times as long
class Array:
    """What a call needs to know about one array. It is never changed.

    Args:
        source: the object that was given.
        framework: the library that it is from.
        shape: extents.
        dtype: name of the element type.
        device: "cpu", "cuda:0", ...; None where there is no data (shapes, meta tensors) and for Python
            numbers.
        strides: steps in elements, where the framework tells.
        requires_grad: whether torch wants a gradient.
        rounded_to: the type that an operand is rounded to while it is packed; None where it is not.
    """

    source: Any
    framework: Framework
    shape: tuple[int, ...]
    dtype: str
    device: str | None
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False
    rounded_to: str | None = None

    @property
    def operand_dtype(self) -> str:
        """The type that an operand is multiplied in."""
        return self.rounded_to or self.dtype

    @property
    def has_data(self) -> bool:
        return self.device is not None or self.framework.is_number

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"


def dtype_name(dtype: object) -> str:
    """The plain name of a dtype of any framework: "float32" for torch.float32, np.dtype("f4"),
    jnp.float32.
    """
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


name_of = functools.lru_cache(maxsize=64)(dtype_name)  # dtypes of NumPy make their name anew each time
device_name = functools.lru_cache(maxsize=64)(str)


def no_data(array: Array, name: str) -> CallTypeError:
    """An array that is only a shape, where numbers are needed."""
    return CallTypeError(f"'{name}' has a shape but no data ({array}); a call needs the numbers")


def to_numpy(array: Array, name: str) -> numpy.ndarray:
    """The numbers of an array on the CPU; bfloat16 becomes float32, which holds every value of it.

    Raises:
        CallTypeError: the array has a shape only.
    """
    if not array.has_data:
        raise CallTypeError(f"'{name}' has a shape but no data ({array}); numbers are needed here")
    return array.framework.numbers(array)


def rounded(array: Array) -> Array:
    """A copy in the type that it is rounded to; itself where it is not. Only tensors are, by autocast."""
    if array.rounded_to is None or not array.has_data:
        return array
    return array.framework.rounded(array)


def transposed(native: NativeArray) -> NativeArray:
    """The same memory with the two axes of a matrix exchanged."""
    if len(native) == 2:
        return (*native, True)
    name, pointer, dtype, shape, strides = native
    return (name, pointer, dtype, shape[::-1], strides[::-1])


def bfloat16_view(source: Any, name: str) -> NativeArray:
    """An array of ml_dtypes.bfloat16 as the native module takes it: its type is not one of NumPy's own."""
    pointer = source.__array_interface__["data"][0]
    strides = tuple(step // source.itemsize for step in source.strides)
    return (name, pointer, native().TYPES["bfloat16"], source.shape, strides)


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


def check_same_device(arrays: Iterable[tuple[str, Array]]) -> None:
    """Arrays that one call reads, with their names.

    Arrays without data and numbers lie nowhere, and a CPU array without axes may go with any device.

    Raises:
        CallValueError: two of them are on different devices.
    """
    first: tuple[str, Array] | None = None
    for name, array in arrays:
        if array.device is None or (array.shape == () and array.device == "cpu"):
            continue
        if first is None:
            first = (name, array)
        elif first[1].device != array.device:
            raise CallValueError(
                f"'{first[0]}' is on {first[1].device} but '{name}' is on {array.device}; move one of them"
            )
