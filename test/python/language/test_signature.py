"""What a loss's parameters may be: annotations, names and defaults,
checked when the loss is decorated.
"""

from __future__ import annotations

import inspect
import os
import pathlib

import logitile as lt
import pytest
from logitile.language.annotations import Kind

FILE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def short_paths(monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parent)


def refused(function, message):
    with pytest.raises(lt.SpecError) as caught:
        lt.loss(function)
    assert str(caught.value) == f"{FILE}:{function.__code__.co_firstlineno}: {message}"


def test_every_annotation_is_read_with_postponed_evaluation():
    @lt.loss
    def loss(
        z: lt.Logits,
        target: lt.Token[int],
        weights: lt.Token[float],
        flag: lt.Token[bool],
        index: lt.Token[int, lt.K],
        four: lt.Token[float, 4],
        bias: lt.Vocab[float],
        group: lt.Vocab[int],
        mask: lt.Vocab[bool],
        soft: lt.Dense[float],
        keep: lt.Dense[bool],
        teacher: lt.Logits | None = None,
        temperature: lt.Scalar | lt.Token[float] | None = None,
        *,
        scale: lt.Scalar,
        extra: lt.Token[float] | None = None,
        gamma: float,
        name: str = "x",
        anything=(1, 2),
    ): ...  # fmt: skip

    signature = loss.signature
    assert [p.name for p in signature.pairs] == ["z", "teacher"]
    assert {p.name: p.annotation for p in signature.inputs} == {
        "z": "lt.Logits", "teacher": "lt.Logits | None", "target": "lt.Token[int]", "weights":
        "lt.Token[float]",
        "flag": "lt.Token[bool]", "index": "lt.Token[int, lt.K]", "four": "lt.Token[float, 4]", "bias":
        "lt.Vocab[float]",
        "group": "lt.Vocab[int]", "mask": "lt.Vocab[bool]", "soft": "lt.Dense[float]", "keep":
        "lt.Dense[bool]",
        "temperature": "lt.Scalar | lt.Token[float] | None", "scale": "lt.Scalar", "extra":
        "lt.Token[float] | None",
    }  # fmt: skip
    assert [(c.name, c.required) for c in signature.constants] == [
        ("gamma", True),
        ("name", False),
        ("anything", False),
    ]
    assert signature.input("four").kinds == (Kind("token", "float", 4),)
    assert signature.input("nothing") is None


def test_a_loss_keeps_name_and_docstring():
    @lt.loss
    def my_loss(z: lt.Logits):
        """What it is."""

    assert my_loss.name == my_loss.__name__ == "my_loss"
    assert my_loss.__doc__ == "What it is."
    assert repr(my_loss).startswith(f"<loss 'my_loss' ({FILE}:")


def test_local_names_in_annotations():
    from logitile import Logits as L

    @lt.loss
    def loss(z: L):
        assert L
        return lt.mean(z)

    assert loss.signature.pairs[0].name == "z"


def test_no_annotation():
    def loss(z: lt.Logits, y): ...

    refused(
        loss,
        "'loss': parameter 'y' has no annotation of logitile; annotate an input lt.Logits, lt.Token[int], "
        "lt.Vocab[float], lt.Dense[float] or lt.Scalar, and put constants after a '*'",
    )


def test_positional_constant():
    def loss(z: lt.Logits, eps: float = 0.1): ...

    refused(
        loss,
        "'loss': parameter 'eps' has no annotation of logitile; annotate an input lt.Logits, lt.Token[int], "
        "lt.Vocab[float], lt.Dense[float] or lt.Scalar, and put constants after a '*'",
    )


def test_no_logits():
    def loss(y: lt.Token[int]): ...

    refused(loss, "'loss' has no lt.Logits parameter, so there is nothing to project")


def test_all_logits_optional():
    def loss(z: lt.Logits | None = None, t: lt.Logits | None = None): ...

    refused(loss, "'loss': every lt.Logits parameter ('z' and 't') may be absent; one must stay")


@pytest.mark.contract("2 reserved names")
@pytest.mark.parametrize(("name", "why"), [
    ("reduction", "an option of lt.jit"), ("ignore_index", "an option of lt.jit"), ("ignore", "an option of "
     "lt.jit"),
    ("all_ignored", "an option of lt.jit"), ("workspace", "an option of lt.jit"), ("chunks", "an option of "
     "lt.jit"),
    ("backend", "an option of lt.jit"), ("weight_layout", "an option of lt.jit"), ("divisor", "a keyword of "
     "a head's calls"),
    ("weight_grad_out", "a keyword of a head's calls"), ("wrt", "a keyword of a head's calls"),
    ("grad_output", "a keyword of a head's calls"), ("grad_dtype", "a keyword of a head's calls"),
    ("grad", "a keyword of a head's calls"), ("kernel", "a keyword of a head's calls"),
    ("timing", "a keyword of a head's calls"), ("column_offset", "a keyword of a head's calls"),
    ("vocab_size", "a keyword of a head's calls"), ("part", "a keyword of a head's calls"),
    ("hidden", "the name of a head's first operand"),
    ("weight", "the name of a head's second operand"),
])  # fmt: skip
def test_reserved_names(name, why):
    scope = {"lt": lt}
    for parameter in (f"{name}: lt.Token[float]", f"*, {name}: float = 1.0"):
        exec(compile(f"def loss(z: lt.Logits, {parameter}): ...", os.path.abspath(FILE), "exec"), scope)
        refused(scope["loss"], f"'loss': parameter '{name}' is {why}; choose another name")


def test_collected_arguments():
    def loss(z: lt.Logits, *others: lt.Token[float]): ...

    refused(loss, "'loss': parameter 'others' collects arguments; a loss names every input and constant")


def test_default_of_an_input():
    def loss(z: lt.Logits, a: lt.Scalar = 1.0): ...

    refused(
        loss,
        "'loss': parameter 'a' is an input with the default 1.0; only '| None = None' is possible, since "
        "the value of an input is not known while tracing",
    )


def test_default_of_an_optional_input():
    def loss(z: lt.Logits, a: lt.Scalar | None = 1.0): ...

    refused(
        loss,
        "'loss': parameter 'a' may be None, so its default must be None: write 'a: lt.Scalar | None = None'",
    )


def test_wrong_alternatives():
    def loss(z: lt.Logits, a: lt.Scalar | lt.Vocab[float]): ...

    refused(
        loss,
        "'loss': parameter 'a' is annotated lt.Scalar | lt.Vocab[float]; the only alternatives are "
        "lt.Scalar | lt.Token[float], and None",
    )


def test_missing_element_type():
    def loss(z: lt.Logits, a: lt.Token): ...

    refused(
        loss,
        "'loss': parameter 'a' is annotated lt.Token[...] without an element type; write it in brackets, "
        "such as lt.Token[float]",
    )


@pytest.mark.parametrize(("annotation", "why"), [
    ("lt.Token[str]", "lt.Token[...] takes float, int or bool, not str"),
    ("lt.Dense[int]", "lt.Dense[...] takes float or bool, not int"),
    ("lt.Vocab[float, lt.K]", "lt.Vocab[...] takes one element type, got 2 arguments in brackets"),
    ("lt.Token[bool, lt.K]", "lt.Token[...] has several entries per token only for float and int, not bool"),
    ("lt.Token[int, 0]", "entries of lt.Token[...] must be lt.K (as many as the array has) or a number from "
     "1 to 4096, not 0"),
    ("lt.Token[int, 4097]", "entries of lt.Token[...] must be lt.K (as many as the array has) or a number "
     "from 1 to 4096, not 4097"),
    ("lt.Token[int, K]", "name 'K' is not defined"),
    ("lt.Tokens[int]", "logitile has no 'Tokens'; did you mean 'Token'?"),
    ("lt.Token[", None),
])  # fmt: skip
def test_unreadable_annotations(annotation, why):
    def loss(z: lt.Logits, a): ...

    loss.__annotations__["a"] = annotation
    if why is not None:
        refused(loss, f"'loss': the annotation '{annotation}' of parameter 'a' cannot be read: {why}")
        return
    with pytest.raises(lt.SpecError) as caught:
        lt.loss(loss)
    text = str(caught.value)
    assert text.startswith(
        f"{FILE}:{loss.__code__.co_firstlineno}: 'loss': the annotation '{annotation}' of parameter 'a' "
        "cannot be read: "
    )


def test_only_functions_are_losses():
    with pytest.raises(lt.CallTypeError) as caught:
        lt.loss(3)
    assert str(caught.value) == "lt.loss decorates a function, not 3"


# ---- constants that a call may give --------------------------------------------------------------


def test_a_coefficient_is_an_input_and_a_constant():
    def coefficient(z: lt.Logits, *, gamma: lt.Scalar | float = 2.0, cap: float | lt.Scalar | None = None):
        return lt.max(z) * gamma

    signature = lt.loss(coefficient).signature
    assert {p.name: p.annotation for p in signature.others} == {
        "gamma": "lt.Scalar | float", "cap": "lt.Scalar | float",
    }  # fmt: skip
    assert [(c.name, c.default) for c in signature.constants] == [("gamma", 2.0), ("cap", None)]


@pytest.mark.parametrize(("annotation", "default", "told"), [
    (lt.Scalar | float, inspect.Parameter.empty,
     "is annotated lt.Scalar | float, so it needs a number as its default"),
    (lt.Scalar | float, True, "is annotated lt.Scalar | float, so it needs a number as its default"),
    (lt.Token[float] | float, 1.0,
     "is annotated lt.Token[float] | float; of inputs only lt.Scalar may be a float constant as well"),
    (lt.Scalar | lt.Token[float] | float, 1.0,
     "is annotated lt.Scalar | lt.Token[float] | float; of inputs only lt.Scalar may be a float constant as "
     "well"),
])  # fmt: skip
def test_coefficients_that_cannot_be(annotation, default, told):
    def coefficient(z, *, gamma):
        return lt.max(z) * gamma

    parameters = [
        inspect.Parameter("z", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=lt.Logits),
        inspect.Parameter("gamma", inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default),
    ]
    coefficient.__signature__ = inspect.Signature(parameters)
    with pytest.raises(lt.SpecError) as caught:
        lt.loss(coefficient)
    assert str(caught.value).endswith(f"'coefficient': parameter 'gamma' {told}")


def test_a_coefficient_stands_after_the_star():
    def coefficient(z: lt.Logits, gamma: lt.Scalar | float = 2.0):
        return lt.max(z) * gamma

    with pytest.raises(lt.SpecError, match=r"so it may be a constant; put it after a '\*'"):
        lt.loss(coefficient)
