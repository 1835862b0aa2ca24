"""Corners of calls that once went wrong without a word: arguments, buffers, plans,
results that travel.
"""

import enum
import pickle

import logitile as lt
import numpy as np
import pytest
import torch

RNG = np.random.default_rng(0)
H = RNG.normal(size=(6, 8)).astype(np.float32)
W = RNG.normal(size=(11, 8)).astype(np.float32)
Y = RNG.integers(0, 11, 6)
cross_entropy = lt.losses.cross_entropy


def test_a_scalar_of_another_library_keeps_its_memory():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    head = lt.jit(cross_entropy)
    for _ in range(20):
        out = head(H, W, target=Y, temperature=ml_dtypes.bfloat16(2))
        assert out == head(H, W, target=Y, temperature=2.0)


class Two(enum.IntEnum):
    two = 2


class Half(float):
    pass


@pytest.mark.parametrize("number, plain", [(Two.two, 2), (Half(0.5), 0.5), (np.float64(3), 3.0)])
def test_numbers_of_other_classes_are_numbers(number, plain):
    head = lt.jit(cross_entropy)
    assert head(H, W, target=Y, temperature=number) == head(H, W, target=Y, temperature=plain)


def test_a_number_that_is_too_large():
    with pytest.raises(lt.CallTypeError, match="which no float64 holds"):
        lt.jit(cross_entropy)(H, W, target=Y, temperature=10**400)


@pytest.mark.parametrize("temperature", [2, np.array(2), 2.0])
def test_the_gradient_of_a_number_is_a_float(temperature):
    _, gradients = lt.jit(cross_entropy).value_and_grad(
        H, W, target=Y, temperature=temperature, wrt=["temperature"]
    )
    _, wanted = lt.jit(cross_entropy).reference_grad(H, W, target=Y, temperature=2.0, wrt=["temperature"])
    np.testing.assert_allclose(gradients["temperature"], wanted["temperature"], rtol=1e-5)


@pytest.mark.parametrize("option", [{"workspace": 2**70}, {"workspace": "99999999999GiB"}, {"chunks": 2**64}])
def test_options_beyond_any_machine(option):
    with pytest.raises(lt.CallValueError, match="more than any machine has"):
        lt.jit(cross_entropy, **option)


def test_a_mean_over_nothing_with_a_divisor_is_zero():
    ignored = np.full(6, -100)
    head = lt.jit(cross_entropy)
    assert head(H, W, target=ignored, divisor=10.0) == 0 == head.reference(H, W, target=ignored, divisor=10.0)
    assert np.isnan(head(H, W, target=ignored)) and np.isnan(head.reference(H, W, target=ignored))


# ---- buffers -------------------------------------------------------------------------------------


def test_a_buffer_whose_entries_share_memory():
    with pytest.raises(lt.CallValueError, match="entries that share memory cannot be added into"):
        lt.jit(cross_entropy).value_and_grad(
            torch.tensor(H), torch.tensor(W), target=Y, weight_grad_out=torch.zeros(1, 8).expand(11, 8)
        )


@pytest.mark.parametrize("method", ["explain", "compile"])
def test_buffers_belong_to_calls(method):
    buffer = np.zeros_like(W)
    with pytest.raises(lt.CallTypeError, match="'weight_grad_out' belongs to calls that run once"):
        getattr(lt.jit(cross_entropy), method)(H, W, target=Y, weight_grad_out=buffer)
    assert not buffer.any()


# ---- torch ---------------------------------------------------------------------------------------


def test_numpy_inputs_may_change_before_the_backward_pass():
    hidden, weight, target = torch.tensor(H, requires_grad=True), torch.tensor(W), Y.copy()
    loss = lt.jit(cross_entropy, reduction="none")(hidden, weight, target=target)
    target[:] = 0
    loss.sum().backward()
    _, wanted = lt.jit(cross_entropy, reduction="sum").reference_grad(H, W, target=Y)
    np.testing.assert_allclose(hidden.grad, wanted["hidden"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pair", [tuple, list])
def test_autocast_sees_pairs_in_any_sequence(pair):
    with torch.autocast("cpu", torch.bfloat16):
        casted = lt.jit(cross_entropy)(z=pair([torch.tensor(H), torch.tensor(W)]), target=Y)
    halves = [torch.tensor(x).bfloat16() for x in (H, W)]
    assert casted == lt.jit(cross_entropy)(*halves, target=Y)


def test_autocast_leaves_float64_alone():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(lt.CallTypeError, match="is float64"):
        lt.jit(cross_entropy)(torch.tensor(H).double(), torch.tensor(W).double(), target=Y)


@pytest.mark.parametrize(("hidden", "weight", "message"), [
    ("bfloat16", "float32", "'hidden' is bfloat16 but 'weight' is float32; both must be the same; convert "
     "one of them, or call the head under torch.autocast"),
    ("float64", "float32", "'hidden' is float64; hidden and weight are float32, bfloat16 or float16; convert "
     "it with .to(torch.float32), or give lt.jit backend='reference', which computes in float64"),
])  # fmt: skip
def test_tensors_of_other_types_say_how_to_convert_them(hidden, weight, message):
    pair = torch.tensor(H).to(getattr(torch, hidden)), torch.tensor(W).to(getattr(torch, weight))
    with pytest.raises(lt.CallTypeError) as error:
        lt.jit(cross_entropy)(*pair, target=Y)
    assert str(error.value) == message


def test_transformed_calls_take_integers_of_numpy():
    head = lt.jit(cross_entropy)
    gradient = torch.func.grad(lambda x: head(x, torch.tensor(W), target=Y))(torch.tensor(H))
    np.testing.assert_allclose(
        gradient, head.reference_grad(H, W, target=Y)[1]["hidden"], rtol=1e-4, atol=1e-6
    )


# ---- what travels between processes --------------------------------------------------------------


def test_results_are_pickled():
    result = lt.jit(lt.losses.logprob_entropy)(H, W, target=Y)
    again = pickle.loads(pickle.dumps(result))
    assert again._fields == result._fields
    for mine, theirs in zip(again, result, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_errors_are_pickled():
    error = pickle.loads(pickle.dumps(lt.CompileError("broken", "tiles", "file.mlir")))
    assert (str(error), error.stage) == ("stage 'tiles' failed: broken; reproducer: file.mlir", "tiles")
    with pytest.raises(lt.CallValueError) as caught:
        lt.jit(cross_entropy, workspace=100)(H, W, target=Y)
    assert pickle.loads(pickle.dumps(caught.value)).minimum_workspace == caught.value.minimum_workspace > 100


# ---- plans ---------------------------------------------------------------------------------------


def test_plans_refuse_gradients_that_reach_nothing():
    plan = lt.jit(cross_entropy).compile(H, W, target=Y)
    with pytest.raises(
        lt.CallTypeError, match="grad_output names 'los', but the plan makes gradients of 'loss'"
    ):
        plan.run(H, W, target=Y, grad_output={"los": 1.0})
    several = lt.jit(lt.losses.logprob_entropy).compile(H, W, target=Y)
    with pytest.raises(lt.CallTypeError, match="must say what reaches 'logprob' and 'entropy'"):
        several.run(H, W, target=Y)
    without = lt.jit(cross_entropy).compile(H, W, target=Y, grad=())
    with pytest.raises(lt.CallTypeError, match="the plan makes no gradients"):
        without.run(H, W, target=Y, grad_output=1.0)


def test_plans_refuse_what_is_given_twice():
    plan = lt.jit(cross_entropy).compile(H, W, target=Y, grad=(name for name in ["hidden"]))
    with pytest.raises(lt.CallTypeError, match="'z' is given twice"):
        plan.run(H, W, z=(H, W), target=Y)


# ---- names of outputs ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["class", "a b", "1st"])
def test_names_that_python_cannot_carry(name):
    @lt.loss
    def loss(z: lt.Logits):
        return lt.Outputs(**{name: lt.logsumexp(z)})

    with pytest.raises(lt.SpecError, match="names of outputs are those of Python's variables"):
        lt.jit(loss)(H, W)


# ---- many threads --------------------------------------------------------------------------------


def test_the_default_workspace_is_enough_for_many_threads(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "384")
    out = lt.jit(cross_entropy)(H, W, target=Y)
    np.testing.assert_allclose(out, lt.jit(cross_entropy).reference(H, W, target=Y), rtol=1e-5)


# ---- shapes without numbers ----------------------------------------------------------------------


def test_shapes_that_no_array_has():
    with pytest.raises(lt.CallValueError, match=r"\[3, -4\]; no extent can be negative"):
        lt.ShapeDtype((3, -4), "float32")
    for shape in (3, (3.7, 4), ("3", 4)):
        with pytest.raises(lt.CallTypeError, match="not a tuple of ints"):
            lt.ShapeDtype(shape, "float32")
    assert lt.ShapeDtype((np.int64(3), 4), "float32").shape == (3, 4)


def test_operands_without_numbers_have_the_names_of_the_call():
    shape = lt.ShapeDtype(W.shape, "float32")
    for name, given in (("hidden", (lt.ShapeDtype(H.shape, "float32"), W)), ("weight", (H, shape))):
        for call in (lt.jit(cross_entropy), lt.jit(cross_entropy).value_and_grad):
            with pytest.raises(lt.CallTypeError, match=rf"'{name}' \(float32\[.*\]\) has a shape but no"):
                call(*given, target=Y)
    plan = lt.jit(cross_entropy).compile(H, W, target=Y)
    with pytest.raises(lt.CallTypeError, match="'weight' .* has a shape but no data"):
        plan.run(H, shape, target=Y)


@pytest.mark.parametrize("way", ["compile", "fake", "func"])
def test_shape_errors_of_traced_calls_say_what_is_open(way):
    """The graph serves any number of tokens: no extent is named that nobody gave."""
    head = lt.jit(cross_entropy)
    hidden, weight = torch.randn(6, 5, 8), torch.randn(11, 8)
    target = torch.zeros(6, 4, dtype=torch.int64)

    def plain(hidden):
        return head(hidden, weight, target=target)

    def call():
        if way == "compile":
            return torch.compile(plain, fullgraph=True, backend="eager")(hidden)
        if way == "func":
            return torch.func.grad(plain)(hidden)
        with torch._subclasses.FakeTensorMode() as mode:
            return head(*map(mode.from_tensor, (hidden, weight)), target=mode.from_tensor(target))

    with pytest.raises(Exception, match=r"needs \[hidden.shape\[0\], hidden.shape\[1\]\]: the leading"):
        call()


# ---- memory that kernels cannot read as it is ----------------------------------------------------


def test_fields_of_packed_records():
    packed = np.zeros(len(Y), [("flag", "u1"), ("target", "i8")])
    packed["target"] = Y
    with pytest.raises(lt.CallValueError, match="'target' has elements of 8 bytes .*ascontiguousarray"):
        lt.jit(cross_entropy)(H, W, target=packed["target"])
    spaced = np.zeros(len(Y), [("target", "i8"), ("flag", "i8")])
    spaced["target"] = Y
    assert lt.jit(cross_entropy)(H, W, target=spaced["target"]) == lt.jit(cross_entropy)(H, W, target=Y)


class OnlyDLPack:
    """A tensor of which nothing is known but DLPack."""

    def __init__(self, tensor):
        self.tensor, self.shape, self.dtype = tensor, tuple(tensor.shape), str(tensor.dtype)

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dlpack_weights_in_either_layout(dtype):
    hidden, weight = torch.from_numpy(H).to(dtype), torch.from_numpy(W).to(dtype)
    expected = lt.jit(cross_entropy)(hidden, weight, target=torch.from_numpy(Y))
    for layout, given in (("vd", weight), ("dv", weight.T), ("dv", weight.T.contiguous())):
        head = lt.jit(cross_entropy, weight_layout=layout)
        assert head(OnlyDLPack(hidden), OnlyDLPack(given), target=Y) == expected.item()


# ---- numbers of errors ---------------------------------------------------------------------------


def test_one_thing_requires_and_two_things_require():
    weight = torch.from_numpy(W).requires_grad_()
    with pytest.raises(lt.CallTypeError, match="^'weight' requires a gradient"):
        lt.jit(cross_entropy)(H, weight, target=Y)
    alpha = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(lt.CallTypeError, match="^'weight' and 'temperature' require a gradient"):
        lt.jit(cross_entropy)(H, weight, target=Y, temperature=alpha)
