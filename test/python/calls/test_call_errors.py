"""Calls that are refused, with the full texts; errors about values,
and objects that are no NumPy arrays.
"""

import re

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
import torch
from calls import check_call, check_close

N, V, D = 7, 37, 16


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def entries(z: lt.Logits, index: lt.Token[int, lt.K]):
    return lt.logsumexp(z) - sum(z[i] for i in index)


@lt.loss
def next_entry(z: lt.Logits, target: lt.Token[int]):
    return lt.where(target >= 0, lt.logsumexp(z) - z[target + 1], 0.0)


HEAD = lt.jit(plain)


def operands(leading=(N,), dtype=np.float32):
    rng = np.random.default_rng(0)
    hidden, weight = rng.normal(size=(*leading, D)), rng.normal(size=(V, D))
    return hidden.astype(dtype), weight.astype(dtype), rng.integers(0, V, leading)


def refused(error, call, message):
    """Asserts the kind and the full text of an error."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
    return caught.value


# ---- arguments -----------------------------------------------------------------------------------


def test_names_of_value_and_grad_are_none_of_a_call():
    hidden, weight, target = operands()
    refused(
        lt.CallTypeError,
        lambda: HEAD(hidden, weight, target=target, grad_output=1.0),
        "'plain' has no input 'grad_output'; did you mean 'weight_grad_out'?",
    )


@pytest.mark.contract("4 value_and_grad")
def test_grad_dtype():
    hidden, weight, target = operands()
    refused(
        lt.CallTypeError,
        lambda: HEAD.value_and_grad(hidden, weight, target=target, grad_dtype="bfloat16"),
        "grad_dtype='bfloat16' must be 'float32', or None for that of each input",
    )


def test_shapes_without_data():
    shape, weight, target = lt.ShapeDtype((N, D), "float32"), *operands()[1:]
    for call in (HEAD, HEAD.value_and_grad):
        refused(
            lt.CallTypeError,
            lambda call=call: call(shape, weight, target=target),
            "'hidden' (float32[7, 16]) has a shape but no data; a call needs the numbers, while head.ir and "
            "head.explain do not",
        )


def test_buffers_that_nothing_goes_into():
    hidden, weight, target = operands()
    buffer = np.zeros((V, D), np.float32)
    message = (
        "'weight_grad_out' is given for 'z', but no gradient of that weight is asked for; leave it out, or "
        "add the weight to the gradients"
    )
    refused(
        lt.CallValueError,
        lambda: HEAD.value_and_grad(hidden, weight, target=target, wrt="hidden", weight_grad_out=buffer),
        message,
    )
    refused(lt.CallValueError, lambda: HEAD(hidden, weight, target=target, weight_grad_out=buffer), message)
    assert not buffer.any()


def test_buffers_that_cannot_be_written():
    hidden, weight, target = operands()
    buffer = np.zeros((V, D), np.float32)
    buffer.flags.writeable = False
    refused(
        lt.CallValueError,
        lambda: HEAD.value_and_grad(hidden, weight, target=target, weight_grad_out=buffer),
        "'weight_grad_out' is read-only, but gradients are added into it",
    )


@pytest.mark.contract("4 value_and_grad")
def test_output_cotangents_that_do_not_fit():
    hidden, weight, target = operands()
    for head, cotangent, message in (
        (HEAD, np.ones(N), "grad_output of 'loss' has shape [7]; the output has []"),
        (
            lt.jit(plain, reduction="none"),
            np.ones(N + 1),
            "grad_output of 'loss' has shape [8]; the output has [7]",
        ),
    ):
        refused(
            lt.CallValueError,
            lambda head=head, cotangent=cotangent: head.value_and_grad(
                hidden, weight, target=target, grad_output=cotangent
            ),
            message,
        )


@pytest.mark.contract("2 backend")
def test_backends_that_do_not_read_the_arrays():
    hidden, weight, target = operands()
    for backend in ("cuda", "cuda:sm_80"):
        refused(
            lt.CallValueError,
            lambda backend=backend: lt.jit(plain, backend=backend)(hidden, weight, target=target),
            f"backend='{backend}', but the arrays are on cpu; move them, use backend='auto', or give "
            "lt.ShapeDtype where no numbers are needed",
        )


@pytest.mark.contract("2 least workspace")
def test_a_workspace_that_is_too_small():
    hidden, weight, target = operands()
    for call in (lt.jit(plain, workspace=100), lt.jit(plain, workspace=100).value_and_grad):
        with pytest.raises(lt.CallValueError) as caught:
            call(hidden, weight, target=target)
        minimum = caught.value.minimum_workspace
        text = re.fullmatch(
            r"'workspace' is 100 bytes, but 7 tokens need at least ([\d.]+ [KM]iB) \((\d+) bytes\); raise it",
            str(caught.value),
        )
        assert int(text[2]) == minimum
        for enough in (minimum, text[1]):
            assert lt.jit(plain, workspace=enough)(hidden, weight, target=target) > 0


# ---- indices -------------------------------------------------------------------------------------


@pytest.mark.contract("2 index range")
@pytest.mark.parametrize("run", [HEAD, HEAD.value_and_grad], ids=["call", "value_and_grad"])
@pytest.mark.parametrize(
    ("leading", "position"), [((), ()), ((N,), (6,)), ((2, 3), (1, 2)), ((2, 2, 2), (0, 1, 1))]
)
@pytest.mark.parametrize("value", [-1, V, 2**40])
def test_indices_outside_the_vocabulary(run, leading, position, value):
    hidden, weight, target = operands(leading)
    target = np.asarray(target)
    target[position] = value
    where = str(list(position)) if position else ""
    refused(
        lt.CallIndexError,
        lambda: run(hidden, weight, target=target),
        f"'target'{where} is {value}, outside the vocabulary of 37 entries: it must be 0 to 36 or "
        "ignore_index -100",
    )
    assert issubclass(lt.CallIndexError, IndexError)


@pytest.mark.contract("2 index range")
def test_entries_outside_the_vocabulary():
    hidden, weight, _ = operands()
    index = np.zeros((N, 3), np.int64)
    index[4, 2] = 99
    refused(
        lt.CallIndexError,
        lambda: lt.jit(entries)(hidden, weight, index=index),
        "'index'[4, 2] is 99, outside the vocabulary of 37 entries: it must be 0 to 36 or ignore_index -100",
    )


def test_entries_that_are_ignored():
    @lt.loss
    def guarded(z: lt.Logits, index: lt.Token[int, lt.K]):
        picks = sum(lt.where(lt.valid(i), z[i], 0.0) for i in index)
        return lt.logsumexp(z) - picks

    hidden, weight, _ = operands()
    index = np.arange(3 * N).reshape(N, 3)
    index[4, 2] = index[0, 0] = -100
    check_call(lt.jit(guarded), hidden, weight, index=index)
    index[1] = -100
    check_call(lt.jit(guarded, ignore="index"), hidden, weight, index=index)
    assert np.isnan(lt.jit(entries)(hidden, weight, index=index))  # not guarded


def test_indices_that_ignore_nothing_have_no_exception():
    hidden, weight, target = operands()
    target[3] = -100
    message = "'target'[3] is -100, outside the vocabulary of 37 entries: it must be 0 to 36"
    head = lt.jit(plain, ignore_index=None)
    for call in (head, head.reference):
        refused(lt.CallIndexError, lambda call=call: call(hidden, weight, target=target), message)


@pytest.mark.contract("2 computed index")
def test_computed_indices_outside_the_vocabulary():
    hidden, weight, target = operands((2, 4))
    target[1, 2] = V - 1
    target[0, 3] = -100  # exempt
    with pytest.raises(lt.CallIndexError) as caught:
        lt.jit(next_entry)(hidden, weight, target=target)
    line = next_entry.location.line + 2
    assert str(caught.value).endswith(
        f"test_call_errors.py:{line}: the index that is computed for token [1, 2] is 37, outside the "
        "vocabulary of 37 entries: it must be 0 to 36"
    )


def test_computed_indices_of_equal_losses_are_found_where_they_are_written():
    """The two share a program, but not their lines."""

    @lt.loss
    def next_entry(z: lt.Logits, target: lt.Token[int]):

        return lt.where(target >= 0, lt.logsumexp(z) - z[target + 1], 0.0)

    hidden, weight, target = operands()
    target[:] = V - 1
    for loss, below in ((globals()["next_entry"], 2), (next_entry, 3)):
        place = f"test_call_errors.py:{loss.location.line + below}: the index"
        with pytest.raises(lt.CallIndexError, match=place):
            lt.jit(loss)(hidden, weight, target=target)


@lt.loss
def scaled_entry(z: lt.Logits, target: lt.Token[int], width: lt.Token[int]):
    return lt.logsumexp(z) - z[target * width + 2]


@lt.loss
def tripled_entry(z: lt.Logits, target: lt.Token[int], width: lt.Token[int]):
    return lt.logsumexp(z) - z[width - target - target - target]


@pytest.mark.parametrize(("loss", "target", "width", "limit"), [
    (scaled_entry, 2**16, 2**16, 2**31 - 1),  # 2**32 + 2 would come round to entry 2
    (scaled_entry, -(2**16), 2**16, -(2**31)),
    (tripled_entry, -(2**30), 2**30, 2**31 - 1),  # 2**32
    (tripled_entry, 1431655765, 0, -(2**31)),  # -2**32 + 1
])  # fmt: skip
def test_indices_do_not_come_round(loss, target, width, limit):
    hidden, weight, _ = operands()
    targets, widths = np.full(N, 3), np.full(N, 5)
    if loss is tripled_entry:
        targets, widths = np.full(N, -3), np.full(N, 8)
    check_call(lt.jit(loss, ignore_index=None), hidden, weight, target=targets, width=widths)
    targets[4], widths[4] = target, width
    head = lt.jit(loss, ignore_index=None)
    for call in (head, head.value_and_grad, head.reference):
        with pytest.raises(lt.CallIndexError) as caught:
            call(hidden, weight, target=targets, width=widths)
        assert f"for token [4] is {limit}, outside the vocabulary of 37 entries" in str(caught.value)


def test_indices_that_cannot_come_round_are_not_looked_at():
    spec = lt.jit(next_entry)
    text = spec.ir("spec", lt.ShapeDtype((N, D), "float32"), lt.ShapeDtype((V, D), "float32"),
                   target=lt.ShapeDtype((N,), "int64"))  # fmt: skip
    assert "sitofp" not in text and "arith.addi" in text


@pytest.mark.contract("4 errors")
def test_nothing_is_left_behind_by_an_error():
    hidden, weight, target = operands()
    wrong = np.full_like(target, V)
    with pytest.raises(lt.CallIndexError):
        HEAD(hidden, weight, target=wrong)
    check_call(HEAD, hidden, weight, target=target)


# ---- objects with DLPack -------------------------------------------------------------------------


class Exchanged:
    """An array that knows nothing but DLPack."""

    def __init__(self, tensor, dtype=None, versioned=True):
        self.tensor, self.shape, self.dtype, self.versioned = (
            tensor,
            tuple(tensor.shape),
            dtype or tensor.dtype,
            versioned,
        )

    def __dlpack__(self, **keywords):
        if keywords and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class Spaced(Exchanged):
    """An array with a namespace of its own."""

    def __array_namespace__(self):
        return self

    @staticmethod
    def from_dlpack(array):
        return ("made by the namespace", array)


@pytest.mark.contract("2 frameworks")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("versioned", [True, False])
def test_objects_that_know_dlpack_only(dtype, versioned):
    hidden, weight, target = (torch.from_numpy(array) for array in operands())
    hidden, weight = hidden.to(dtype), weight.to(dtype)
    given = [Exchanged(t, versioned=versioned) for t in (hidden, weight.T.contiguous().T, target)]
    out, gradients = HEAD.value_and_grad(*given[:2], target=given[2])
    wanted, expected = HEAD.value_and_grad(hidden, weight, target=target)
    assert isinstance(out, np.ndarray) and out.shape == ()
    check_close(out, wanted)
    assert gradients["hidden"].dtype == np.dtype(
        str(dtype)[6:] if dtype != torch.bfloat16 else ml_dtypes.bfloat16
    )
    for name, gradient in gradients.items():
        check_close(gradient, expected[name])
    assert HEAD(*given[:2], target=given[2]).shape == ()


def test_results_go_back_through_a_namespace():
    hidden, weight, target = (torch.from_numpy(array) for array in operands())
    said, out = lt.jit(plain, reduction="none")(Spaced(hidden), weight, target=target)
    assert said == "made by the namespace" and out.shape == (N,)


def test_weights_of_the_other_layout_through_dlpack():
    hidden, weight, target = (torch.from_numpy(array) for array in operands())
    head = lt.jit(plain, weight_layout="dv")
    given = Exchanged(weight.T.contiguous())
    check_close(head(hidden.numpy(), given, target=target.numpy()), HEAD(hidden, weight, target=target))


def test_jax():
    jax = pytest.importorskip("jax")
    hidden, weight, target = (jax.numpy.asarray(array) for array in operands())
    out, gradients = HEAD.value_and_grad(hidden, weight, target=target)
    assert isinstance(out, jax.Array) and isinstance(gradients["weight"], jax.Array)
    check_close(out, HEAD(*operands()[:2], target=operands()[2]))
