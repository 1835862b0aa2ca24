"""Objects that are no arguments of a call, an option or a list of gradients: what errors say."""

import functools

import logitile as lt
import numpy as np
import pytest
import torch

N, V, D = 7, 37, 16


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def weighted(z: lt.Logits, advantage: lt.Token[float]):
    return lt.logsumexp(z) * advantage


def operands():
    rng = np.random.default_rng(0)
    hidden, weight = (rng.normal(size=(n, D)).astype(np.float32) for n in (N, V))
    return hidden, weight, rng.integers(0, V, N)


def refused(error, message, call):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("option, message", [
    ("reduction", "reduction=array([0., 0.]) is none of 'mean', 'sum' and 'none'"),
    ("all_ignored", "all_ignored=array([0., 0.]) is none of 'nan' and 'zero'"),
    ("workspace", "workspace=array([0., 0.]) is not a byte budget; give 'auto', a positive int or text "
     "such as '512MiB'"),
    ("ignore", "ignore='[0. 0.]' names no lt.Token[int] input of 'plain'; it has 'target'"),
])  # fmt: skip
def test_an_array_is_no_option(option, message):
    refused(lt.CallValueError, message, lambda: lt.jit(plain, **{option: np.zeros(2)}))


@pytest.mark.parametrize("given, shown", [
    (True, "True"), ([["hidden"]], "[['hidden']]"), (np.array("hidden"), "array('hidden', dtype='<U6')"),
])  # fmt: skip
def test_gradients_are_listed_by_name(given, shown):
    hidden, weight, target = operands()
    head = lt.jit(plain)
    message = "{}=" + shown + " must list names of gradients, such as 'hidden'"
    refused(lt.CallTypeError, message.format("wrt"),
            lambda: head.value_and_grad(hidden, weight, target=target, wrt=given))  # fmt: skip
    refused(lt.CallTypeError, message.format("grad"),
            lambda: head.ir("plan", hidden, weight, target=target, grad=given))  # fmt: skip


def test_a_gradient_that_is_named_twice_is_made_once():
    hidden, weight, target = operands()
    _, gradients = lt.jit(plain).value_and_grad(hidden, weight, target=target, wrt=["hidden", "hidden"])
    assert list(gradients) == ["hidden"]


def test_a_graph_takes_tensors():
    hidden, weight, _ = operands()
    given = (torch.from_numpy(hidden).to("meta"), torch.from_numpy(weight).to("meta"))
    message = (
        "'advantage' is no tensor, and torch makes none of it for a graph (Could not infer dtype of dict); "
        "pass a tensor"
    )
    refused(lt.CallTypeError, message, lambda: lt.jit(weighted)(*given, advantage={"a": 1.0}))


def test_a_shape_is_no_weight_of_a_call():
    hidden, weight, target = operands()
    for layout, shape, text in (("vd", (V, D), "[37, 16]"), ("dv", (D, V), "[16, 37]")):
        head, given = lt.jit(plain, weight_layout=layout), lt.ShapeDtype(shape, "float32")
        message = (
            f"'weight' (float32{text}) has a shape but no data; a call needs the numbers, while head.ir and "
            "head.explain do not"
        )
        refused(lt.CallTypeError, message, functools.partial(head, hidden, given, target=target))


def test_memory_that_dlpack_cannot_describe():
    hidden, weight, target = operands()

    class Exporter:
        """As NumPy's own export, which refuses types that it does not know."""

        shape, dtype = hidden.shape, hidden.dtype

        def __dlpack__(self, **keywords):
            raise BufferError("only numbers")

        def __dlpack_device__(self):
            return 1, 0

    message = (
        "'z.hidden' does not give its memory away by DLPack: only numbers; pass an array of NumPy or torch"
    )
    refused(lt.CallTypeError, message, lambda: lt.jit(plain)(Exporter(), weight, target=target))
