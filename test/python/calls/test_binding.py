"""Every refusal of a call, with its full text; and what a good call is bound to."""

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
import torch

N, V, D = 6, 11, 4


def f32(*shape):
    return np.ones(shape, np.float32)


@lt.loss
def simple(z: lt.Logits, target: lt.Token[int], *, eps: float = 0.0):
    return lt.logsumexp(z) - z[target]


@lt.loss
def distil(student: lt.Logits, teacher: lt.Logits, bias: lt.Vocab[float] | None = None):
    return lt.sum(lt.softmax(teacher) * lt.log_softmax(student if bias is None else student + bias))


@lt.loss
def everything(
    z: lt.Logits, a: lt.Token[float], b: lt.Token[int, lt.K], c: lt.Vocab[float], d: lt.Dense[float],
    e: lt.Scalar, f: lt.Scalar | lt.Token[float], g: lt.Token[bool], h: lt.Token[float, 3], i: lt.Dense[bool],
):  # fmt: skip
    total = (
        lt.mean(z) * a + sum(lt.where(lt.valid(k), z[k], 0.0) for k in b) + lt.sum(z * c * d) * e * f + sum(h)
    )
    return lt.where(g & lt.any(i), total, 0.0)


def good():
    return {
        "z": (f32(2, 3, D), f32(V, D)), "a": f32(2, 3), "b": np.zeros((2, 3, 5), np.int64), "c": f32(V),
        "d": f32(2, 3, V), "e": 0.5, "f": 2.0, "g": np.ones((2, 3), bool), "h": f32(2, 3, 3),
        "i": np.ones((2, 3, V), bool),
    }  # fmt: skip


def refused(error, message, loss=simple, *args, options=None, **inputs):
    with pytest.raises(error) as caught:
        lt.jit(loss, **(options or {}))._bind(*args, **inputs)
    assert str(caught.value) == message
    assert isinstance(caught.value, lt.CallError)


PAIR = f32(N, D), f32(V, D)
TARGET = np.zeros(N, np.int64)


# ---- good calls ----------------------------------------------------------------------------------


def test_a_call_knows_sizes_and_specialisation():
    call = lt.jit(everything)._bind(**good())
    assert (call.tokens, call.leading, call.vocab, call.pairs[0].hidden_size) == (6, (2, 3), V, D)
    assert dict(call.specialisation.entries) == {"b": 5, "h": 3}
    assert call.specialisation.per_token == frozenset()
    assert call.framework.name == "numpy"
    assert list(call.inputs) == list("abcdefghi")


@pytest.mark.contract("1 scalar or token")
def test_a_scalar_or_token_is_told_by_its_axes():
    call = lt.jit(everything)._bind(**{**good(), "f": f32(2, 3)})
    assert call.specialisation.per_token == {"f"}
    call = lt.jit(everything)._bind(**{**good(), "f": np.float32(3)})
    assert call.specialisation.per_token == frozenset()


@pytest.mark.contract("2 pairs")
def test_pairs_by_position_by_name_and_mixed():
    one, two = (f32(N, D), f32(V, D)), (f32(N, 7), f32(V, 7))
    for args, named in (
        ([*one, *two], {}),
        ([], {"teacher": two, "student": one}),
        (one, {"teacher": list(two)}),
    ):
        call = lt.jit(distil)._bind(*args, **named)
        assert [(p.name, p.hidden_size) for p in call.pairs] == [("student", D), ("teacher", 7)]
        assert call.specialisation.present == frozenset()


def test_optional_inputs():
    call = lt.jit(distil)._bind(*PAIR, *PAIR, bias=f32(V))
    assert call.specialisation.present == {"bias"}
    assert lt.jit(distil)._bind(*PAIR, *PAIR, bias=None).specialisation.present == frozenset()


def test_optional_pair():
    @lt.loss
    def loss(z: lt.Logits, ref: lt.Logits | None = None):
        return lt.logsumexp(z) if ref is None else lt.logsumexp(z) - lt.mean(ref)

    assert [p.name for p in lt.jit(loss)._bind(*PAIR).pairs] == ["z"]
    assert [p.name for p in lt.jit(loss)._bind(*PAIR, ref=PAIR).pairs] == ["z", "ref"]


def test_one_token_without_leading_dimensions():
    call = lt.jit(simple)._bind(f32(D), f32(V, D), target=np.int64(3))
    assert (call.leading, call.tokens) == ((), 1)


def test_python_numbers_of_the_only_token():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int], a: lt.Token[float]):
        return (lt.logsumexp(z) - z[target]) * a

    call = lt.jit(loss)._bind(f32(D), f32(V, D), target=3, a=0.5)
    assert (call.inputs["target"].dtype, call.inputs["a"].dtype) == ("int64", "float64")
    refused(
        lt.CallTypeError,
        "'target' is float64; lt.Token[int] takes int8, int16, int32, int64, uint8, uint16, uint32, uint64",
        loss,
        f32(D),
        f32(V, D),
        target=0.5,
        a=0.5,
    )


def test_no_tokens():
    assert lt.jit(simple)._bind(f32(0, D), f32(V, D), target=np.zeros(0, np.int64)).tokens == 0


def test_weight_layout():
    call = lt.jit(simple, weight_layout="dv")._bind(f32(N, D), f32(D, V), target=TARGET)
    assert (call.vocab, call.pairs[0].hidden_size) == (V, D)


@pytest.mark.contract("2 operand types")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_operand_dtypes(dtype):
    numpy_dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    call = lt.jit(simple)._bind(*(x.astype(numpy_dtype) for x in PAIR), target=TARGET)
    assert call.pairs[0].hidden.dtype == dtype


def test_shapes_without_data():
    call = lt.jit(simple)._bind(
        lt.ShapeDtype((N, D), "bfloat16"), lt.ShapeDtype((V, D), torch.bfloat16), target=TARGET
    )
    assert call.pairs[0].weight.dtype == "bfloat16"
    assert not call.pairs[0].hidden.has_data
    meta = torch.empty(N, D, device="meta")
    call = lt.jit(simple)._bind(meta, torch.empty(V, D), target=torch.zeros(N, dtype=torch.int32))
    assert not call.pairs[0].hidden.has_data


@pytest.mark.contract("1 one token")
def test_a_spec_is_traced_once_per_specialisation():
    traces = []

    @lt.loss
    def loss(z: lt.Logits):
        traces.append(lt.vocab_size())
        return lt.logsumexp(z)

    head = lt.jit(loss)
    for tokens in (1, 5, 9):
        head._bind(f32(tokens, D), f32(V, D))
    head._bind(f32(2, D + 1), f32(V, D + 1))
    head._bind(f32(2, D), f32(V + 1, D))
    assert traces == [V, V + 1]


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.contract("2 names")
def test_unknown_name():
    refused(
        lt.CallTypeError,
        "'simple' has no input 'targets'; did you mean 'target'?",
        simple,
        *PAIR,
        targets=TARGET,
    )


@pytest.mark.contract("2 names")
@pytest.mark.parametrize("name", ["hidden", "weight", "teacher_hidden", "teacher_weight"])
def test_half_of_a_pair_by_name(name):
    how = "give hidden states and weight of 'teacher' by position, or as teacher=(hidden, weight)"
    refused(lt.CallTypeError, f"'distil' has no input '{name}'; {how}", distil, *PAIR, **{name: PAIR[0]})


@pytest.mark.contract("2 names")
def test_missing_name():
    refused(lt.CallTypeError, "'target' is missing: lt.Token[int], one value per token", simple, *PAIR)


def test_missing_pair():
    refused(
        lt.CallTypeError,
        "'teacher' is missing: a pair of hidden and weight, by position or as teacher=(...)",
        distil,
        *PAIR,
    )


@pytest.mark.contract("2 names")
def test_doubled_pair():
    refused(
        lt.CallTypeError, "'z' is given twice: by position and by name", simple, *PAIR, z=PAIR, target=TARGET
    )


def test_half_a_pair():
    refused(
        lt.CallTypeError, "the hidden array of 'teacher' is given without its weight", distil, *PAIR, PAIR[0]
    )


def test_too_many_arrays_by_position():
    refused(
        lt.CallTypeError,
        "'simple' takes 2 arrays by position (hidden and weight of 'z'), got 3; pass 'target' by name",
        simple,
        *PAIR,
        TARGET,
    )


def test_pair_that_is_no_tuple():
    refused(
        lt.CallTypeError,
        "'student' must be a tuple of hidden and weight, not ndarray",
        distil,
        student=PAIR[0],
        teacher=PAIR,
    )


def test_constant_at_the_call():
    refused(
        lt.CallTypeError,
        "'eps' is a constant of 'simple': give it to lt.jit, not to the head",
        simple,
        *PAIR,
        target=TARGET,
        eps=0.5,
    )


def test_not_an_array():
    refused(
        lt.CallTypeError,
        "'target' is a list, not an array; pass an array of NumPy, torch or JAX, or another object with "
        "__dlpack__, shape and dtype",
        simple,
        *PAIR,
        target=[0] * N,
    )
    refused(
        lt.CallTypeError,
        "'hidden' is None, not an array; pass an array of NumPy, torch or JAX, or another object with "
        "__dlpack__, shape and dtype",
        simple,
        None,
        PAIR[1],
        target=TARGET,
    )


# ---- shapes --------------------------------------------------------------------------------------


def test_hidden_sizes_differ():
    refused(
        lt.CallValueError,
        "hidden size 4 of 'hidden' [6, 4] must equal hidden size 5 of 'weight' [11, 5], which is "
        "[vocabulary, hidden]",
        simple,
        f32(N, D),
        f32(V, 5),
        target=TARGET,
    )


def test_transposed_weight():
    refused(
        lt.CallValueError,
        "hidden size 4 of 'hidden' [6, 4] must equal hidden size 11 of 'weight' [4, 11], which is "
        "[vocabulary, hidden]; lt.jit(..., weight_layout='dv') takes the other order",
        simple,
        f32(N, D),
        f32(D, V),
        target=TARGET,
    )
    refused(
        lt.CallValueError,
        "hidden size 4 of 'hidden' [6, 4] must equal hidden size 11 of 'weight' [11, 4], which is [hidden, "
        "vocabulary]; lt.jit(..., weight_layout='vd') takes the other order",
        simple,
        f32(N, D),
        f32(V, D),
        target=TARGET,
        options={"weight_layout": "dv"},
    )


def test_weight_with_another_number_of_axes():
    refused(
        lt.CallValueError,
        "'weight' has shape [2, 11, 4]; it must be [vocabulary, hidden]",
        simple,
        f32(N, D),
        f32(2, V, D),
        target=TARGET,
    )


def test_hidden_without_axes():
    refused(
        lt.CallValueError,
        "'hidden' has no axis; its shape is leading dimensions and the hidden size",
        simple,
        f32(),
        PAIR[1],
        target=TARGET,
    )


@pytest.mark.contract("2 empty axes")
def test_empty_vocabulary_and_hidden():
    refused(
        lt.CallValueError,
        "the weight of 'z' has a vocabulary of 0 entries; a loss needs at least one",
        simple,
        f32(N, D),
        f32(0, D),
        target=TARGET,
    )
    refused(
        lt.CallValueError,
        "'hidden' [6, 0] has hidden size 0; there is nothing to project",
        simple,
        f32(N, 0),
        f32(V, 0),
        target=TARGET,
    )


@pytest.mark.contract("1 pairs")
def test_pairs_that_do_not_agree():
    refused(
        lt.CallValueError,
        "vocabulary size 12 of 'teacher' must equal vocabulary size 11 of 'student'; slice rows of padding "
        "off: weight[:11]",
        distil,
        *PAIR,
        f32(N, D),
        f32(12, D),
    )
    refused(
        lt.CallValueError,
        "leading dimensions [7] of 'teacher.hidden' must equal [6] of 'student.hidden'",
        distil,
        *PAIR,
        f32(7, D),
        f32(V, D),
    )


@pytest.mark.contract("1 token", "1 entries", "1 vocab", "1 dense")
@pytest.mark.parametrize(("name", "array", "message"), [
    ("a", f32(3, 2), "'a' has shape [3, 2]; lt.Token[float] needs [2, 3]: the leading dimensions of hidden"),
    ("a", 1.0, "'a' has shape []; lt.Token[float] needs [2, 3]: the leading dimensions of hidden; annotate "
     "it lt.Scalar | lt.Token[float] to take a number too"),
    ("b", np.zeros((2, 3), int), "'b' has shape [2, 3]; lt.Token[int, lt.K] needs [2, 3, K]: the leading "
     "dimensions of hidden, then the entries per token"),
    ("b", np.zeros((2, 3, 0), int), "'b' has 0 entries per token; lt.Token[int, lt.K] takes 1 to 4096"),
    ("b", np.zeros((2, 3, 4097), int), "'b' has 4097 entries per token; lt.Token[int, lt.K] takes 1 to 4096"),
    ("h", f32(2, 3, 4), "'h' has shape [2, 3, 4]; lt.Token[float, 3] needs [2, 3, 3]: the leading "
     "dimensions of hidden, then the entries per token"),
    ("c", f32(V + 1), "'c' has shape [12]; lt.Vocab[float] needs [11]: the vocabulary"),
    ("d", f32(6, V), "'d' has shape [6, 11]; lt.Dense[float] needs [2, 3, 11]: the leading dimensions of "
     "hidden, then the vocabulary"),
    ("e", f32(1), "'e' has shape [1]; lt.Scalar needs []: a number or an array without axes"),
    ("f", f32(6), "'f' has shape [6]; lt.Token[float] needs [2, 3]: the leading dimensions of hidden"),
])  # fmt: skip
def test_input_shapes(name, array, message):
    refused(lt.CallValueError, message, everything, **{**good(), name: array})


# ---- dtypes and devices --------------------------------------------------------------------------


@pytest.mark.contract("2 operand types")
def test_operand_dtypes_that_cannot_be():
    refused(
        lt.CallTypeError,
        "'hidden' is float64; hidden and weight are float32, bfloat16 or float16; convert it to float32, or "
        "give lt.jit backend='reference', which computes in float64",
        simple,
        *(x.astype(np.float64) for x in PAIR),
        target=TARGET,
    )
    refused(
        lt.CallTypeError,
        "'hidden' is float32 but 'weight' is float16; both must be the same; convert one of them",
        simple,
        PAIR[0],
        PAIR[1].astype(np.float16),
        target=TARGET,
    )
    refused(
        lt.CallTypeError,
        "'teacher.weight' is int32; hidden and weight are float32, bfloat16 or float16; convert it to "
        "float32",
        distil,
        *PAIR,
        PAIR[0],
        PAIR[1].astype(np.int32),
    )


@pytest.mark.contract("1 vocab")
@pytest.mark.parametrize(("name", "array", "message"), [
    ("a", np.ones((2, 3), int), "'a' is int64; lt.Token[float] takes float16, bfloat16, float32, "
     "float64; convert it to float32"),
    ("b", f32(2, 3, 5), "'b' is float32; lt.Token[int, lt.K] takes int8, int16, int32, int64, uint8, "
     "uint16, uint32, uint64; convert it to int64"),
    ("c", np.ones(V, bool), "'c' is bool; lt.Vocab[float] takes float16, bfloat16, float32, "
     "float64; convert it to float32"),
    ("d", np.ones((2, 3, V)), "'d' is float64; lt.Dense[float] takes float32, bfloat16, float16; convert "
     "it to float32"),
    ("g", np.ones((2, 3), np.uint8), "'g' is uint8; lt.Token[bool] takes bool; convert it to bool"),
    ("f", np.array(True), "'f' is bool; lt.Scalar | lt.Token[float] takes float16, bfloat16, float32, "
     "float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64"),
])  # fmt: skip
def test_input_dtypes(name, array, message):
    refused(lt.CallTypeError, message, everything, **{**good(), name: array})


@pytest.mark.parametrize("item", [1 + 2j, "0.5"])
def test_scalars_that_are_no_numbers(item):
    refused(
        lt.CallTypeError,
        f"'e' is a {type(item).__name__}, not an array; pass an array of NumPy, torch or JAX, or another "
        "object with __dlpack__, shape and dtype",
        everything,
        **{**good(), "e": item},
    )


class OnCuda:
    """An array of an unknown framework on a GPU, as far as a call looks at it."""

    def __init__(self, *shape):
        self.shape, self.dtype = shape, np.dtype(np.float32)

    def __dlpack__(self, **_): ...

    def __dlpack_device__(self):
        return 2, 1


def test_devices_that_differ():
    refused(
        lt.CallValueError,
        "'hidden' is on cuda:1 but 'weight' is on cpu; move one of them",
        simple,
        OnCuda(N, D),
        PAIR[1],
        target=TARGET,
    )
    refused(
        lt.CallValueError,
        "'hidden' is on cuda:1 but 'target' is on cpu; move one of them",
        simple,
        OnCuda(N, D),
        OnCuda(V, D),
        target=TARGET,
    )


def test_arrays_without_axes_go_with_any_device():
    @lt.loss
    def loss(z: lt.Logits, s: lt.Scalar):
        return lt.mean(z) * s

    assert (
        lt.jit(loss)
        ._bind(OnCuda(N, D), OnCuda(V, D), s=torch.tensor(2.0), divisor=np.float32(3))
        .pairs[0]
        .hidden.device
        == "cuda:1"
    )


# ---- divisor and weight_grad_out -----------------------------------------------------------------


@pytest.mark.contract("2 pointless options")
def test_divisor():
    assert lt.jit(simple)._bind(*PAIR, target=TARGET, divisor=torch.tensor(3)).divisor.dtype == "int64"
    refused(
        lt.CallValueError,
        "'divisor' is float32[2]; it must be a number or an array of numbers without axes",
        simple,
        *PAIR,
        target=TARGET,
        divisor=f32(2),
    )
    for reduction in ("sum", "none"):
        refused(
            lt.CallValueError,
            f"'divisor' replaces the denominator of a mean, but the reduction is '{reduction}'",
            simple,
            *PAIR,
            target=TARGET,
            divisor=3,
            options={"reduction": reduction},
        )


@pytest.mark.contract("2 pointless options")
def test_reduction_and_divisor_need_a_loss():
    options = {"reduction": "sum"}
    refused(
        lt.CallValueError,
        "'reduction' is given, but 'logprob_entropy' returns no loss that it could apply to",
        lt.losses.logprob_entropy,
        *PAIR,
        target=TARGET,
        options=options,
    )
    refused(
        lt.CallValueError,
        "'divisor' is given, but 'logprob_entropy' returns no loss that it could apply to",
        lt.losses.logprob_entropy,
        *PAIR,
        target=TARGET,
        divisor=2,
    )
    lt.jit(lt.losses.logprob_entropy)._bind(*PAIR, target=TARGET)


def test_weight_grad_out():
    call = lt.jit(simple)._bind(*PAIR, target=TARGET, weight_grad_out=f32(V, D))
    assert list(call.weight_grad_out) == ["z"]
    call = lt.jit(distil)._bind(*PAIR, *PAIR, weight_grad_out={"teacher": f32(V, D)})
    assert list(call.weight_grad_out) == ["teacher"]
    refused(
        lt.CallTypeError,
        "'weight_grad_out' must say whose buffer it is: a dictionary by 'student' and 'teacher'",
        distil,
        *PAIR,
        *PAIR,
        weight_grad_out=f32(V, D),
    )
    refused(
        lt.CallTypeError,
        "'weight_grad_out' names 'techer', which is no pair of this call; did you mean 'teacher'?",
        distil,
        *PAIR,
        *PAIR,
        weight_grad_out={"techer": f32(V, D)},
    )
    refused(
        lt.CallValueError,
        "'weight_grad_out' is float32[4, 11]; it must be float32[11, 4], like the weight of 'z'",
        simple,
        *PAIR,
        target=TARGET,
        weight_grad_out=f32(D, V),
    )
    refused(
        lt.CallValueError,
        "'weight_grad_out' is float16[11, 4]; it must be float32[11, 4], like the weight of 'z'",
        simple,
        *PAIR,
        target=TARGET,
        weight_grad_out=f32(V, D).astype(np.float16),
    )
    frozen = f32(V, D)
    frozen.flags.writeable = False
    refused(
        lt.CallValueError,
        "'weight_grad_out' is read-only, but gradients are added into it",
        simple,
        *PAIR,
        target=TARGET,
        weight_grad_out=frozen,
    )
