"""Constants of type f32: rounding without NumPy, and text that parses back to the same bits."""

from __future__ import annotations

import math
import struct


def round_to_f32(number: float) -> float:
    """The fp32 number nearest to 'number'.

    Raises:
        OverflowError: 'number' is finite but lies outside the range of fp32.
    """
    return struct.unpack("<f", struct.pack("<f", number))[0]


def f32_bits(number: float) -> int:
    """The bits of an fp32 number."""
    return struct.unpack("<I", struct.pack("<f", number))[0]


def f32_text(number: float) -> str:
    """The shortest MLIR literal that parses to the bits of 'number', an fp32 number."""
    if not math.isfinite(number):
        return f"0x{f32_bits(number):08X}"  # the only spelling that MLIR has for them
    # Nine digits identify every fp32 number;
    # MLIR reads a literal as a double and rounds that, as done here.
    for digits in range(1, 10):
        candidate = float(f"{number:.{digits}g}")
        if _rounds_to(candidate, number):
            return _with_point(repr(candidate))
    raise AssertionError(f"{number} is not an fp32 number")


def _rounds_to(candidate: float, number: float) -> bool:
    try:
        return round_to_f32(candidate) == number
    except OverflowError:  # a few digits of the largest number are more than it
        return False


def _with_point(text: str) -> str:
    """MLIR wants a decimal point in every float literal."""
    mantissa, exponent_mark, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + exponent_mark + exponent
