"""The gradients that a call computes, and when: the record by which programs are chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """The gradients that a program makes; the default makes none.

    Args:
        names: as `wrt` has them: "hidden", "student.weight", "bias", ...
        of: the outputs that they are gradients of.
        mode: "forward" without gradients, "early" with gradients in the forward phase,
            "split" in one of their own.
        dtype: of all gradients; None means that of each input.
        accumulate: weight gradients are added into float32 arrays of the caller.
        in_float32: names of gradients that are float32 whatever the type of their input: partial
            sums, which are rounded once they are complete.
    """

    names: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    mode: str = "forward"
    dtype: str | None = None
    accumulate: bool = False
    in_float32: frozenset[str] = frozenset()
