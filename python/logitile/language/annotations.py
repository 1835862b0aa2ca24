"""The annotations of a loss's parameters: the kind of each input. signature.py reads signatures."""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_ENTRIES = 4096  # entries of a Token[..., K]; kMostReadPlaces in dialect/types/Limits.h


class EntriesMarker:
    """The type of `lt.K`: "as many entries per token as the array has"."""

    def __repr__(self) -> str:
        return "lt.K"


K = EntriesMarker()


@dataclass(frozen=True)
class Kind:
    """One kind of input.

    Args:
        axis: what it has one value for: "logits", "token", "vocab", "dense" or "scalar".
        element: "float", "int" or "bool".
        entries: for several values per token: their number, or `K` where the array says it.
    """

    axis: str
    element: str = "float"
    entries: EntriesMarker | int | None = None

    @property
    def type(self) -> str:
        """The scalar type in IR."""
        return {"float": "f32", "int": "i32", "bool": "i1"}[self.element]

    @property
    def varying(self) -> bool:
        """Whether values differ along the vocabulary."""
        return self.axis in ("logits", "vocab", "dense")

    def __str__(self) -> str:
        if self.axis == "logits" or (self.axis == "scalar" and self.element == "float"):
            return f"lt.{self.axis.capitalize()}"
        entries = "" if self.entries is None else f", {self.entries}"
        return f"lt.{self.axis.capitalize()}[{self.element}{entries}]"


@dataclass(frozen=True)
class Annotation:
    """The annotation of a parameter: alternatives of kinds, perhaps None as well.

    Args:
        kinds: the alternatives.
        optional: whether None is one too.
        constant: whether `float` is one too: then lt.jit takes it as a constant,
            and a call as a number.
    """

    kinds: tuple[Kind, ...]
    optional: bool = False
    constant: bool = False

    def __or__(self, other: object) -> Annotation:
        if other is None or other is type(None):
            return replace(self, optional=True)
        if other is float:
            return replace(self, constant=True)
        if not isinstance(other, Annotation):
            return NotImplemented
        return Annotation(
            self.kinds + other.kinds, self.optional or other.optional, self.constant or other.constant
        )

    def __ror__(self, other: object) -> Annotation:
        return self | other

    def __str__(self) -> str:
        others = ["float"] * self.constant + ["None"] * self.optional
        return " | ".join([str(kind) for kind in self.kinds] + others)


class ScalarAnnotation(Annotation):
    """`lt.Scalar`: floats, unless brackets say `lt.Scalar[int]`."""

    def __getitem__(self, element: object) -> Annotation:
        if element not in (float, int):
            raise TypeError(f"{self}[...] takes float or int, not {_spelled(element)}")
        return Annotation((Kind("scalar", element.__name__),))


class Subscripted:
    """`lt.Token`, `lt.Vocab` and `lt.Dense`:
    an annotation once the element type is given in brackets.
    """

    def __init__(self, axis: str, elements: tuple[type, ...], has_entries: bool = False):
        self.axis = axis
        self.elements = elements
        self.has_entries = has_entries

    def __getitem__(self, item: object) -> Annotation:
        element, *rest = item if isinstance(item, tuple) else (item,)
        if element not in self.elements:
            raise TypeError(f"{self} takes {self._choices()}, not {_spelled(element)}")
        if not rest:
            return Annotation((Kind(self.axis, element.__name__),))
        if not self.has_entries or len(rest) > 1:
            raise TypeError(f"{self} takes one element type, got {1 + len(rest)} arguments in brackets")
        return Annotation((Kind(self.axis, element.__name__, self._entries(element, rest[0])),))

    def _entries(self, element: type, entries: object) -> EntriesMarker | int:
        if element is bool:
            raise TypeError(f"{self} has several entries per token only for float and int, not bool")
        if entries is K:
            return K
        if type(entries) is not int or not 1 <= entries <= MAX_ENTRIES:
            raise TypeError(
                f"entries of {self} must be lt.K (as many as the array has) or a number from 1 to "
                f"{MAX_ENTRIES}, not {_spelled(entries)}"
            )
        return entries

    def _choices(self) -> str:
        names = [element.__name__ for element in self.elements]
        return ", ".join(names[:-1]) + " or " + names[-1]

    def __str__(self) -> str:
        return f"lt.{self.axis.capitalize()}[...]"


def _spelled(item: object) -> str:
    return item.__name__ if isinstance(item, type) else repr(item)


Logits = Annotation((Kind("logits"),))
Scalar = ScalarAnnotation((Kind("scalar"),))
Token = Subscripted("token", (float, int, bool), has_entries=True)
Vocab = Subscripted("vocab", (float, int, bool))
Dense = Subscripted("dense", (float, bool))
