"""Calls of a head as data, legal ones and wrong ones: what a fuzzer draws,
and how arguments are made of it.

A case is printed whole before it runs, so that a crash leaves its input.
"""

from __future__ import annotations

import dataclasses

import logitile as lt
import numpy as np
import torch
from hypothesis import strategies as st


@lt.loss
def everything(
    z: lt.Logits,
    t: lt.Logits | None = None,
    target: lt.Token[int] | None = None,
    several: lt.Token[int, lt.K] | None = None,
    advantage: lt.Token[float] | None = None,
    counts: lt.Token[bool] | None = None,
    bias: lt.Vocab[float] | None = None,
    group: lt.Vocab[int] | None = None,
    mask: lt.Vocab[bool] | None = None,
    soft: lt.Dense[float] | None = None,
    scale: lt.Scalar | lt.Token[float] | None = None,
    *,
    fields: bool = False,
):
    """Uses every kind of input that is given."""
    if scale is not None:
        z = z * scale
    if bias is not None:
        z = z + bias
    if mask is not None:
        z = lt.where(mask, z, -4.0)
    if group is not None:
        z = lt.where(group == 2, z + 0.25, z)
    log_p = lt.log_softmax(z)
    loss = lt.logsumexp(z) / 3.0
    if t is not None:
        loss = loss - lt.sum(lt.softmax(t) * log_p)
    if target is not None:
        loss = loss - log_p[target]
    if several is not None:
        loss = loss - sum(log_p[k] for k in several)
    if soft is not None:
        loss = loss - lt.sum(soft * log_p)
    if advantage is not None:
        loss = loss * advantage
    if counts is not None:
        loss = lt.where(counts, loss, 0.5)
    if not fields:
        return loss
    return lt.Outputs(loss=loss, entropy=-lt.sum(lt.exp(log_p) * log_p), best=lt.argmax(z))


@dataclasses.dataclass(frozen=True)
class Given:
    """One array: what it holds, and how it lies in memory."""

    shape: tuple[int, ...]
    dtype: str
    holds: str = "usual"  # or a number that every entry is
    layout: str = "rows"
    framework: str = "numpy"


@dataclasses.dataclass(frozen=True)
class Object:
    """Something that is no array of a call."""

    text: str  # Python

    def made(self):
        return eval(self.text, {"np": np, "torch": torch, "lt": lt})


@dataclasses.dataclass(frozen=True)
class Case:
    """A call: method, options of lt.jit, arguments and keywords by name."""

    method: str
    options: dict
    arguments: dict  # pairs as tuples of Given
    keywords: dict
    vocab: int
    is_legal: bool = True


# ---- legal calls ---------------------------------------------------------------------------------

LAYOUTS = ("rows", "columns", "backwards", "steps", "shared", "read-only", "offset")
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@st.composite
def legal_cases(draw):
    leading = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    vocab, hidden = draw(st.sampled_from([1, 2, 9, 33])), draw(st.sampled_from([1, 8, 17]))
    framework = draw(st.sampled_from(["numpy", "torch", "torch grad"]))
    operands = draw(st.sampled_from(["float32", "float16", "bfloat16"]))
    beside = draw(st.sampled_from([framework, "numpy", "torch"]))
    transposed = draw(st.booleans())

    def given(shape, dtypes):
        dtype, layout = draw(st.sampled_from(dtypes)), draw(st.sampled_from(LAYOUTS))
        return Given(tuple(shape), dtype, "usual", layout, framework if dtype == operands else beside)

    def pair(size):
        weight = (size, vocab) if transposed else (vocab, size)
        return given((*leading, size), [operands]), given(weight, [operands])

    arguments = {"z": pair(hidden)}
    optional = {
        "t": lambda: pair(draw(st.sampled_from([3, 8]))),
        "target": lambda: given(leading, INTEGERS),
        "several": lambda: given((*leading, draw(st.sampled_from([1, 2, 5]))), INTEGERS),
        "advantage": lambda: given(leading, FLOATS),
        "counts": lambda: given(leading, ["bool"]),
        "bias": lambda: given((vocab,), FLOATS),
        "group": lambda: given((vocab,), INTEGERS),
        "mask": lambda: given((vocab,), ["bool"]),
        "soft": lambda: given((*leading, vocab), FLOATS[:2]),
        "scale": lambda: given(draw(st.sampled_from([(), leading])), FLOATS),
    }
    for name in draw(st.sets(st.sampled_from(sorted(optional)), max_size=4)):
        arguments[name] = optional[name]()
    options = {
        "reduction": draw(st.sampled_from(["mean", "sum", "none"])),
        "all_ignored": draw(st.sampled_from(["nan", "zero"])),
        "weight_layout": "dv" if transposed else "vd",
        "fields": draw(st.booleans()),
        **draw(st.sampled_from([{}, {"chunks": 1}, {"chunks": 3}, {"workspace": "16MiB"}])),
    }
    keywords = (
        {"divisor": draw(st.sampled_from([2, 7.5]))}
        if draw(st.booleans()) and options["reduction"] == "mean"
        else {}
    )
    return Case(draw(st.sampled_from(["call", "value_and_grad"])), options, arguments, keywords, vocab)


# ---- wrong calls ---------------------------------------------------------------------------------

OBJECTS = (
    "None",
    "True",
    "0",
    "-1",
    "1.5",
    "2**70",
    "float('nan')",
    "''",
    "'mean'",
    "b'x'",
    "[]",
    "[1, 2]",
    "(1,)",
    "{}",
    "{'loss': 1.0}",
    "object()",
    "np.zeros(3)",
    "np.zeros((0, 4), 'f4')",
    "np.float32(2)",
    "len",
    "[[1.0, 2.0], [3.0, 4.0]]",
    "np.array('text')",
    "np.array(None)",
    "np.dtype('f4')",
    "torch.zeros(2)",
    "torch.zeros(2, 2).to_sparse()",
    "torch.zeros(2, dtype=torch.complex64)",
    "torch.zeros(3, device='meta')",
    "np.ma.masked_array([1.0])",
    "lt.ShapeDtype((3, 4), 'float32')",
    "memoryview(b'abcd')",
    "1j",
    "np.datetime64('2000-01-01')",
)
DTYPES = (
    *FLOATS,
    *INTEGERS,
    "bool",
    "complex64",
    "object",
    "U4",
    "M8[s]",
    "longdouble",
    ">f4",
    ">i8",
    "bfloat16",
    "i4,f4",
    "V4",
)
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "3e38",
    "1e-45",
    "-1",
    "-100",
    "127",
    "70000",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775807",
)
OPTIONS = (
    "reduction",
    "ignore_index",
    "ignore",
    "all_ignored",
    "workspace",
    "chunks",
    "backend",
    "weight_layout",
    "fielt",
    "workspac",
    "target",
)
KEYWORDS = (
    "divisor",
    "weight_grad_out",
    "wrt",
    "grad_output",
    "grad_dtype",
    "grad",
    "kernel",
    "timing",
    "targett",
    "z",
    "bias",
    "hidden",
)
METHODS = ("call", "value_and_grad", "reference", "reference_grad", "ir", "explain", "compile")


@st.composite
def wrong_cases(draw):
    """A legal call with one or two things changed."""
    case = dataclasses.replace(draw(legal_cases()), is_legal=False)
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=2)):
        case = change(draw, case) if case.arguments else case
    return case


def _with_array(draw, case, change):
    """One of the arrays of a case is another."""
    name = draw(st.sampled_from(sorted(case.arguments)))
    old = case.arguments[name]
    if isinstance(old, tuple) and len(old) == 2 and draw(st.integers(0, 9)):
        at = draw(st.integers(0, 1))
        new = tuple(change(item) if i == at else item for i, item in enumerate(old))
    elif isinstance(old, Given):
        new = change(old)
    else:
        new = Object(draw(st.sampled_from(OBJECTS)))
    return dataclasses.replace(case, arguments={**case.arguments, name: new})


def change_shape(draw, case):
    def change(old):
        if not isinstance(old, Given):
            return old
        shape = list(old.shape)
        at = draw(st.integers(0, len(shape)))
        kind = draw(st.sampled_from(["add", "remove", "more", "less", "none"]))
        if kind == "add" or at == len(shape):
            shape.insert(at, draw(st.sampled_from([0, 1, 3])))
        elif kind == "remove":
            del shape[at]
        else:
            shape[at] = max(0, {"more": shape[at] + 1, "less": shape[at] - 1, "none": 0}[kind])
        return dataclasses.replace(old, shape=tuple(shape))

    return _with_array(draw, case, change)


def change_dtype(draw, case):
    return _with_array(
        draw,
        case,
        lambda old: (
            dataclasses.replace(old, dtype=draw(st.sampled_from(DTYPES))) if isinstance(old, Given) else old
        ),
    )


def change_numbers(draw, case):
    return _with_array(
        draw,
        case,
        lambda old: (
            dataclasses.replace(old, holds=draw(st.sampled_from(NUMBERS))) if isinstance(old, Given) else old
        ),
    )


def change_framework(draw, case):
    kinds = [
        "numpy",
        "torch",
        "torch grad",
        "meta",
        "list",
        "shape",
        "dlpack",
        "packed",
        "negative",
        "unaligned",
    ]
    return _with_array(
        draw,
        case,
        lambda old: (
            dataclasses.replace(old, framework=draw(st.sampled_from(kinds)))
            if isinstance(old, Given)
            else old
        ),
    )


def give_an_object(draw, case):
    return _with_array(draw, case, lambda old: Object(draw(st.sampled_from(OBJECTS))))


def leave_out(draw, case):
    name = draw(st.sampled_from(sorted(case.arguments)))
    return dataclasses.replace(case, arguments={k: v for k, v in case.arguments.items() if k != name})


def change_option(draw, case):
    name, value = draw(st.sampled_from(OPTIONS)), Object(draw(st.sampled_from(OBJECTS)))
    return dataclasses.replace(case, options={**case.options, name: value})


def change_keyword(draw, case):
    name, value = draw(st.sampled_from(KEYWORDS)), Object(draw(st.sampled_from(OBJECTS)))
    return dataclasses.replace(case, keywords={**case.keywords, name: value})


def change_method(draw, case):
    return dataclasses.replace(case, method=draw(st.sampled_from(METHODS)))


CHANGES = (
    change_shape,
    change_dtype,
    change_numbers,
    change_framework,
    give_an_object,
    leave_out,
    change_option,
    change_keyword,
    change_method,
)


# ---- arguments -----------------------------------------------------------------------------------


def made(item, name, vocab):
    """The object that an argument of a case stands for."""
    if isinstance(item, tuple):
        return tuple(made(part, f"{name}{i}", vocab) for i, part in enumerate(item))
    if isinstance(item, Object):
        return item.made()
    return _in_framework(item, _numbers(item, name, vocab)) if isinstance(item, Given) else item


def _numbers(given, name, vocab):
    rng = np.random.default_rng(sum(name.encode()))
    size = given.shape
    dtype = _dtype(given.dtype)
    with np.errstate(all="ignore"):
        if given.holds != "usual":
            return np.full(
                size,
                float(given.holds)
                if "." in given.holds or "n" in given.holds or "e" in given.holds
                else int(given.holds),
            ).astype(dtype)
        if dtype.kind in "iu":
            return np.asarray(rng.integers(0, min(vocab, 127), size)).astype(dtype)
        if dtype.kind == "b":
            return np.asarray(rng.random(size) < 0.7)
        numbers = rng.normal(size=size) / 2 if name.startswith(("z", "t")) else rng.random(size) + 0.5
        return (
            np.asarray(numbers).astype(dtype)
            if dtype.kind != "V" or given.dtype == "bfloat16"
            else np.zeros(size, dtype)
        )


def _dtype(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _laid_out(array, layout):
    if layout == "columns" and array.ndim:
        return np.asfortranarray(array)
    if layout == "backwards" and array.ndim:
        return array[::-1].copy()[::-1]
    if layout == "steps" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)
        wide[..., ::3] = array
        return wide[..., ::3]
    if layout == "shared" and array.ndim and array.shape[0]:
        return np.broadcast_to(array[:1], array.shape)
    if layout == "read-only":
        array.flags.writeable = False
    if layout == "offset":
        return np.concatenate([array.ravel()[:0], np.zeros(1, array.dtype), array.ravel()])[1:].reshape(
            array.shape
        )
    return array


def _in_framework(given, array):
    array = _laid_out(array, given.layout)
    kind = given.framework
    if kind == "list":
        return array.tolist()
    if kind == "shape":
        return lt.ShapeDtype(array.shape, array.dtype)
    if kind == "dlpack":
        return Exported(array)
    if kind == "packed":
        packed = np.zeros(array.shape, [("before", "i1"), ("numbers", array.dtype)])
        packed["numbers"] = array
        return packed["numbers"]
    if kind == "unaligned":
        memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        memory[...] = array
        return memory
    if kind == "numpy":
        return array
    tensor = _tensor(array if all(s >= 0 for s in array.strides) else array.copy())
    if kind == "torch grad" and tensor.is_floating_point():
        return tensor.detach().requires_grad_()
    if kind == "negative" and tensor.is_floating_point():
        return torch._neg_view(-tensor)
    return tensor.to("meta") if kind == "meta" else tensor


def _tensor(array):
    if array.dtype.name == "bfloat16":  # which torch does not know by that name
        return torch.as_tensor(array.view(np.uint16)).view(torch.bfloat16)
    return torch.as_tensor(array)


class Exported:
    """An array of a framework that is not known."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
