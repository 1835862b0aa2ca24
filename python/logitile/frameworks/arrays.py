"""Array: a call's description of an array.
Framework: the operations that a call needs from a framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import CallTypeError, CallValueError
from ..messages.names import shape_text
from .dtypes import numpy_dtype
from .native_arrays import bfloat16_view

if TYPE_CHECKING:
    import numpy

    from .._native import Array as NativeArray
    from .._native import Stream


HOST = "cpu"  # how frameworks call the memory of the host


@dataclass(eq=False, slots=True)  # every call makes several: frozen ones take three times as long
class Array:
    """What a call needs to know about one array. It is never changed.

    Args:
        source: the object that was given.
        framework: the framework that it is from.
        shape: extents.
        dtype: name of the element type.
        device: "cpu", "cuda:0", ...; None where there is no data (shapes, meta tensors) and for
            Python numbers.
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
    def is_host_number(self) -> bool:
        """Whether it is one number in memory of the host, which goes with arrays on any device."""
        return self.shape == () and self.device == HOST

    @property
    def has_data(self) -> bool:
        return self.device is not None or self.framework.is_number

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"


class Framework:
    """NumPy, PyTorch, ...: each is one object, which `choice.described` gives to its arrays.

    What is written here holds for frameworks whose arrays are only read:
    results are arrays of NumPy.
    """

    name = ""
    is_number = False  # whether its arrays are Python numbers
    is_writable = False  # whether gradients can be added into its arrays
    records_gradients = False  # whether results of calls can be differentiated by it
    autocast = ""  # what users call its automatic casting, if it has one

    def __reduce__(self) -> str:
        """Pickled and copied as what it is: the one object of its module."""
        return self.name.upper()

    def __repr__(self) -> str:
        return f"<arrays of {self.name}>"

    def conversion(self, dtype: str) -> str:
        """How users convert an array to another type, in an error after "convert it"."""
        return f"to {dtype}"

    # ---- reading ---------------------------------------------------------------------------------

    def view(self, array: Array, name: str) -> NativeArray:
        """An array as the native module takes it,
        which uses its memory for as long as the array lives.

        Args:
            array: to be read or, where it can be written, written.
            name: what the native module calls it.

        Raises:
            CallTypeError: there is no data, or none that can be reached.
        """
        raise no_data(array, name)

    def numbers(self, array: Array) -> numpy.ndarray:
        """The numbers of an array on the CPU; bfloat16 becomes float32,
        which holds every value of it.
        """
        raise NotImplementedError

    def elements(self, array: Array) -> numpy.ndarray | None:
        """The memory of an array, on any device, so that NumPy can read its address and strides
        only; None if the array shares its memory with no other array.
        """
        return None

    def is_read_only(self, array: Array) -> bool:
        """Whether this very array cannot be written, although others of the framework can."""
        return False

    def announce_write(self, array: Array) -> None:
        """Tells the framework that the native module writes to an array of the caller."""

    def rounded(self, array: Array) -> Array:
        """A copy in the type that an operand is rounded to."""
        raise NotImplementedError

    def kept(self, array: Array) -> Array:
        """An array as it is now, for a later pass:
        a copy if a change of it would go unnoticed.
        """
        return array

    # ---- results ---------------------------------------------------------------------------------

    def stream(self, like: Array) -> Stream | None:
        """Device and allocator of a call on arrays like this one; None on the CPU."""
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

    def from_numbers(self, like: Array, values: numpy.ndarray, dtype: str) -> Any:
        """An array of this framework beside another, with the numbers of one of NumPy."""
        return self.to_framework(like, values.astype(numpy_dtype(dtype)))

    def on_device_of(self, array: Array, made: Any) -> Any:
        """A gradient that was made on the device of hidden, where its array lies:
        maybe in host memory.
        """
        return made

    def to_framework(self, like: Array, array: Any) -> Any:
        """What `empty` made, filled by now, as an array of this framework."""
        return array

    def differentiable(self, job: Recorded) -> dict[str, Any]:
        """The outputs of a call by name, as the framework's results that it can differentiate."""
        raise NotImplementedError

    def is_recording(self) -> bool:
        """Whether results are to be differentiable where an input requires a gradient."""
        return False


class Recorded(Protocol):
    """A call that is differentiated later, as a framework's automatic differentiation runs it.

    Attributes:
        name: of the loss.
        is_early: whether gradients of the loss are made in the forward pass.
        outputs: the names of all outputs.
        carrying: those that a gradient flows from.
        sources: the arrays that get a gradient.
    """

    name: str
    is_early: bool
    outputs: tuple[str, ...]
    carrying: tuple[str, ...]
    sources: list[Any]

    def forward(self) -> tuple[dict[str, Any], list[Any], object]:
        """Outputs by name, early gradients, and what the backward pass needs."""

    def emptied(self) -> tuple[Recorded, list[Any]]:
        """The call without its arrays, and these arrays, which the framework keeps instead."""

    def backward(
        self, state: object, arrays: Sequence[Any], cotangents: Sequence[Any | None]
    ) -> list[Any | None]:
        """The gradients of `sources`, from what reaches each output;
        None for one that went into a buffer.
        """


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
    """A copy in the type that it is rounded to; itself where it is not.
    Only tensors are, by autocast.
    """
    if array.rounded_to is None or not array.has_data:
        return array
    return array.framework.rounded(array)


def check_same_device(arrays: Iterable[tuple[str, Array]]) -> None:
    """Arrays that one call reads, with their names.

    Arrays without data and numbers lie nowhere,
    and a CPU array without axes may go with any device.

    Raises:
        CallValueError: two of them are on different devices.
    """
    first: tuple[str, Array] | None = None
    for name, array in arrays:
        if array.device is None or array.is_host_number:
            continue
        if first is None:
            first = (name, array)
        elif first[1].device != array.device:
            raise CallValueError(
                f"'{first[0]}' is on {first[1].device} but '{name}' is on {array.device}; move one of them"
            )
