"""Records the operations of one loss function while it runs."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from types import CodeType, FrameType

from ..messages.locations import Location, definition_of, location_of, spec_error, user_frame
from ..spec.float32 import round_to_f32
from ..spec.operations import InputKey, Op, result_type
from . import labels

_active: ContextVar[Trace | None] = ContextVar("logitile_trace", default=None)

MOST_DEPTH = 2000  # half of what fits in a stack of 8 MiB


class Trace:
    """The operations recorded so far, each kind of operation on the same operands once.

    Args:
        name: name of the loss.
        code: its code; variable names are taken from its frame first.
        vocab: vocabulary size.
        ignore_index: what lt.valid compares with; None switches it off.
        value_type: the class of its values, which has the operators of the language.
        functions: the names of the language's functions, which errors suggest.
    """

    def __init__(
        self,
        name: str,
        code: CodeType,
        vocab: int,
        ignore_index: int | None,
        value_type: type[Traced],
        functions: Sequence[str],
    ):
        self.name = name
        self.functions = functions
        self.vocab = vocab
        self.ignore_index = ignore_index
        self.ops: list[Op] = []
        self.needed_inputs: set[str] = set()  # inputs that count as used although no op reads them
        self._value_type = value_type
        self._depths: list[int] = []
        self._code = code
        self._index_of: dict[tuple, int] = {}
        self._frames: dict[int, FrameType] = {}
        self._has_own_frame = False
        self._thread = 0
        self.is_over = False

    def __enter__(self) -> Trace:
        self._token = _active.set(self)
        self._thread = threading.get_ident()
        return self

    def __exit__(self, *exception: object) -> None:
        _active.reset(self._token)
        self.is_over = True
        self._frames.clear()  # they hold the user's locals alive

    def emit(
        self,
        name: str,
        operands: tuple[Traced, ...] = (),
        type: str | None = None,
        attribute: object = None,
        varying: bool | None = None,
        location: Location | None = None,
        places: int | None = None,
    ) -> Traced:
        """Appends an operation, unless the same one is there already.

        Args:
            type: of the result; by default what the table of scalar operations says.
            varying: whether the result differs along the vocabulary;
                by default as soon as an operand does.
            location: the place to note; by default the user's line that is being executed.
            places: of a list, how many values it has for each token;
                by default as many as an operand has that is a list.
        """
        for operand in operands:
            if operand.trace is not self:
                raise spec_error(operand.trace.leaked(operand.label))
        if places is None and name not in ("logitile.sum_list", "logitile.reduce"):
            places = _places_of(name, operands)
        indices = tuple(operand.index for operand in operands)
        if type is None:
            type = result_type(name, [operand.type for operand in operands])
        key = (name, type, indices, _attribute_key(attribute), places)
        if key not in self._index_of:
            if varying is None:
                varying = any(operand.varying for operand in operands)
            self._check_depth(indices)
            self._index_of[key] = len(self.ops)
            place = location or self._user_location()
            self.ops.append(Op(name, indices, type, varying, attribute, place, places=places))
        return self.value(self._index_of[key])

    def value(self, index: int) -> Traced:
        """The value of an operation, by its position."""
        return self._value_type(self, index)

    def label(self, index: int) -> str:
        """How errors call the value of an operation: by the user's variable if there is one."""
        op = self.ops[index]
        if op.name == "logitile.input" or op.name == "arith.constant":
            return labels.of_leaf(op)
        variable = self._variable(index)
        if variable is not None:
            return f"'{variable}'"
        return labels.of_result(op)

    def _check_depth(self, operands: tuple[int, ...]) -> None:
        """Passes of the compiler call themselves for operands: stacks end somewhere."""
        depth = 1 + max((self._depths[index] for index in operands), default=0)
        if depth > MOST_DEPTH:
            raise spec_error(
                f"'{self.name}' applies {depth} operations, each to the result of the one before; "
                f"{MOST_DEPTH} are the most: join the results of a long loop in pairs, or make the loop "
                "shorter"
            )
        self._depths.append(depth)

    def constant(self, number: float | int | bool, type: str) -> Traced:
        """A compile-time number as an operand of that type."""
        if type == "f32":
            try:
                number = round_to_f32(number)
            except OverflowError:
                raise spec_error(
                    f"the constant {number} is too large for fp32 (about 3.4e38); use float('inf')"
                ) from None
        if type == "i32" and not -(2**31) <= number < 2**31:
            raise spec_error(f"the constant {number} does not fit in 32 bits")
        return self.emit("arith.constant", type=type, attribute=number, varying=False)

    def input(
        self, axis: str, name: str, type: str, index: int | None = None, places: int | None = None
    ) -> Traced:
        """The operation that reads an input, one entry of it, or all of its entries as a list."""
        varying = axis in ("logits", "vocab", "dense")
        return self.emit(
            "logitile.input",
            type=type,
            attribute=InputKey(axis, name, index, places),
            varying=varying,
            location=definition_of(self._code),
            places=places,
        )

    def leaked(self, value: str) -> str:
        """Why a value of this trace cannot be used where another trace is recorded, or none."""
        if self.is_over:
            why = (
                "is over: a traced value lives only while its loss runs, so pass it on instead of storing it"
            )
        elif threading.get_ident() != self._thread:
            why = "runs in another thread: a loss is traced in one thread, so use its values in that one only"
        else:
            why = (
                "has not ended: another loss is traced meanwhile, which has other values; call that "
                "loss with this value to make it a part"
            )
        return f"{value} comes from the trace of '{self.name}', which {why}"

    def variables(self) -> dict[int, str]:
        """Names by position of the operation: of parameters,
        then of variables as far as frames know them.
        """
        names = {
            index: op.attribute.variable for index, op in enumerate(self.ops) if op.name == "logitile.input"
        }
        own_first = sorted(self._frames.values(), key=lambda frame: frame.f_code is not self._code)
        for frame in own_first:
            for variable, value in frame.f_locals.items():
                if isinstance(value, Traced) and value.trace is self:
                    names.setdefault(value.index, variable)
        return names

    def _variable(self, index: int) -> str | None:
        """The user's name for a value: of the line that is being executed first."""
        frame = user_frame()
        for name, held in frame.f_locals.items() if frame is not None else ():
            if isinstance(held, Traced) and held.trace is self and held.index == index:
                return name
        return self.variables().get(index)

    def _user_location(self) -> Location | None:
        frame = user_frame()
        if frame is None:
            return None
        self._frames[id(frame)] = frame
        if not self._has_own_frame:
            self._find_own_frame(frame)
        return location_of(frame)

    def _find_own_frame(self, frame: FrameType | None) -> None:
        """Notes the frame of the loss itself,
        which may leave all operations to functions that it calls.
        """
        while frame is not None and frame.f_code is not self._code:
            frame = frame.f_back
        if frame is not None:
            self._frames[id(frame)] = frame
            self._has_own_frame = True


class Traced:
    """One operation of a trace, as other operations refer to it; `Value` adds the operators.

    Args:
        trace: that recorded it.
        index: its position there.
    """

    __slots__ = ("trace", "index")

    def __init__(self, trace: Trace, index: int):
        object.__setattr__(self, "trace", trace)
        object.__setattr__(self, "index", index)

    @property
    def op(self) -> Op:
        return self.trace.ops[self.index]

    @property
    def type(self) -> str:
        return self.op.type

    @property
    def varying(self) -> bool:
        return self.op.varying

    @property
    def places(self) -> int | None:
        """Of a list, how many values it has for each token."""
        return self.op.places

    @property
    def is_ranked(self) -> bool:
        """Whether it is a list that 'lt.topk' made."""
        return self.op.is_ranked

    @property
    def label(self) -> str:
        """How errors call it, such as "'temperature'"."""
        return self.trace.label(self.index)

    def operand(self, position: int) -> Traced:
        """An operand of the operation that made this value."""
        return self.trace.value(self.op.operands[position])


class Whole:
    """What stands for one traced value where an operand is wanted."""

    __slots__ = ()

    def whole(self) -> Traced:
        """That value."""
        raise NotImplementedError


def _places_of(name: str, operands: Sequence[Traced]) -> int | None:
    """How many places the result has: as many as the lists among the operands,
    or as its list of indices.
    """
    read = operands[1:] if name == "logitile.gather" else operands
    lists = [operand for operand in read if operand.places is not None]
    for operand in lists[1:]:
        if operand.places != lists[0].places:
            raise spec_error(
                f"{lists[0].label} is a list of {lists[0].places} numbers per token and {operand.label} one "
                f"of {operand.places}; lists of one length can be computed with together"
            )
    varying = [operand for operand in operands if operand.varying]
    if lists and varying and name != "logitile.gather":
        raise spec_error(
            f"{varying[0].label} varies along the vocabulary and {lists[0].label} is a list of "
            f"{lists[0].places} numbers per token; pick the entries first that belong to the list, with "
            f"value[indices]"
        )
    return lists[0].places if lists else None


def described(item: object) -> str:
    """A value with its type: "the integer 'target'", "the result of '+' (train.py:38), a float"."""
    if isinstance(item, Traced):
        return labels.with_type(item.label, item.type)
    return labels.number(item)


def active_trace() -> Trace | None:
    """The trace that is being recorded."""
    return _active.get()


def current_trace(what: str) -> Trace:
    """The trace that is being recorded, for 'what', a function of the language."""
    trace = _active.get()
    if trace is None:
        raise spec_error(f"{what} works inside a loss only, while logitile traces it")
    return trace


def _attribute_key(attribute: object) -> object:
    """Floats by their bits: 0.0 and -0.0 are two constants, and NaN is one."""
    return struct.pack("<d", attribute) if isinstance(attribute, float) else attribute
