"""Calls of heads with NumPy arrays: outputs and gradients against the reference,
for every kind of input.
"""

import itertools

import logitile as lt
import ml_dtypes
import numpy as np
import pytest
from calls import check_call, check_close, check_outputs, numbers, records

N, V, D = 7, 37, 16
HALVES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def operands(leading=(N,), dtype="float32", seed=0):
    """hidden, weight and targets, one of which is ignored."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(*leading, D)).astype(HALVES[dtype])
    weight = (rng.normal(size=(V, D)) / 2).astype(HALVES[dtype])
    target = rng.integers(0, V, leading)
    if target.size > 1:
        target[(0,) * len(leading)] = -100
    return hidden, weight, target


@lt.loss
def plain(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target]


@lt.loss
def several(z: lt.Logits, target: lt.Token[int]):
    lse = lt.logsumexp(z)
    return lt.Outputs(loss=lse - z[target], lse=lse, best=lt.argmax(z), right=lt.argmax(z) == target)


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], w: lt.Token[float]):
    return lt.Outputs(loss=w * (lt.logsumexp(z) - z[target]), weight=lt.stop_gradient(w), entry=z[target])


@lt.loss
def options(
    z: lt.Logits,
    target: lt.Token[int],
    bias: lt.Vocab[float] | None = None,
    temperature: lt.Scalar | lt.Token[float] | None = None,
    mask: lt.Dense[bool] | None = None,
    keep: lt.Vocab[bool] | None = None,
):
    z = z if bias is None else z + bias
    z = z if temperature is None else z / temperature
    for live in (mask, keep):
        z = z if live is None else lt.where(live, z, float("-inf"))
    return lt.logsumexp(z) - z[target]


@lt.loss
def soft(z: lt.Logits, q: lt.Dense[float]):
    return lt.sum(q * (lt.logsumexp(z) - z))


@lt.loss
def entries(z: lt.Logits, index: lt.Token[int, lt.K], share: lt.Token[float, lt.K]):
    lse = lt.logsumexp(z)
    return sum(share[k] * (lse - z[index[k]]) for k in range(len(index)))


# ---- operands ------------------------------------------------------------------------------------


@pytest.mark.contract("1 token")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("leading", [(), (N,), (2, 4), (2, 3, 2)])
def test_dtypes_and_leading_dimensions(dtype, leading):
    hidden, weight, target = operands(leading, dtype)
    out, gradients = check_call(lt.jit(several), hidden, weight, target=target)
    assert np.shape(out.loss) == () and np.shape(out.lse) == leading
    for name, array in (("hidden", hidden), ("weight", weight)):
        assert gradients[name].dtype == array.dtype and gradients[name].flags.c_contiguous
    check_call(
        lt.jit(plain, reduction="none"),
        hidden,
        weight,
        target=target,
        grad_output=np.linspace(-1, 2, target.size).reshape(leading),
    )


@pytest.mark.contract("2 gradient types")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_gradients_in_float32(dtype):
    hidden, weight, target = operands(dtype=dtype)
    for wanted in ("float32", np.float32):
        _, gradients = check_call(lt.jit(plain), hidden, weight, target=target, grad_dtype=wanted)
        assert {g.dtype for g in gradients.values()} == {np.dtype("float32")}


@pytest.mark.contract("2 weight layout")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_of_the_other_layout(dtype):
    hidden, weight, target = operands(dtype=dtype)
    transposed = np.ascontiguousarray(weight.T)
    head = lt.jit(plain, weight_layout="dv")
    out, gradients = check_call(head, hidden, transposed, target=target)
    assert gradients["weight"].shape == (D, V)
    check_close(out, lt.jit(plain).reference(hidden, weight, target=target))
    buffer = np.ones((D, V), np.float32)
    head.value_and_grad(hidden, transposed, target=target, weight_grad_out=buffer)
    check_close(buffer - 1, head.reference_grad(hidden, transposed, target=target)[1]["weight"], dtype)


def strided(array, kind):
    """The same numbers in another order of memory."""
    if kind == "transposed":
        return np.ascontiguousarray(array.T).T
    if kind == "sliced":
        large = np.zeros([extent * 2 + 1 for extent in array.shape], array.dtype)
        view = large[tuple(slice(1, None, 2) for _ in array.shape)]
    elif kind == "broadcast":  # every row is the first one
        return np.broadcast_to(array[:1], array.shape)
    else:
        view = np.empty_like(array)[tuple(slice(None, None, -1) for _ in array.shape)]
    view[...] = array
    return view


@pytest.mark.contract("2 layouts")
@pytest.mark.parametrize("kind", ["transposed", "sliced", "negative", "broadcast"])
@pytest.mark.parametrize("dtype", HALVES)
def test_strides(kind, dtype):
    hidden, weight, target = operands((3, 5), dtype)
    rng = np.random.default_rng(5)
    bias, mask = rng.normal(size=V).astype(np.float32), rng.random((3, 5, V)) < 0.8
    np.put_along_axis(mask, np.maximum(target, 0)[..., None], True, -1)
    arrays = [strided(array, kind) for array in (hidden, weight, target, bias, mask)]
    if kind == "broadcast":  # targets must stay unmasked, and gradients must not cancel
        arrays[1], arrays[4] = weight, np.ones_like(mask)
    assert not arrays[0].flags.c_contiguous
    hidden, weight, target, bias, mask = arrays
    check_call(lt.jit(options), hidden, weight, target=target, bias=bias, mask=mask)


def test_output_cotangents_of_any_strides():
    hidden, weight, target = operands((4, 3))
    cotangent = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4).T
    for given in (cotangent, cotangent[::-1], np.broadcast_to(np.float32(2), (4, 3)), cotangent.astype("f8")):
        check_call(lt.jit(plain, reduction="none"), hidden, weight, target=target, grad_output=given)


def test_arrays_that_cannot_be_written_can_be_read():
    hidden, weight, target = operands()
    for array in (hidden, weight, target):
        array.flags.writeable = False
    check_call(lt.jit(plain), hidden, weight, target=target)


# ---- other inputs --------------------------------------------------------------------------------


@pytest.mark.contract("1 optional")
@pytest.mark.parametrize(
    "present",
    [p for n in range(4) for p in itertools.combinations(("bias", "temperature", "mask", "keep"), n)],
)
def test_optional_inputs(present):
    hidden, weight, target = operands()
    rng = np.random.default_rng(1)
    mask, keep = rng.random((N, V)) < 0.7, rng.random(V) < 0.7
    np.put_along_axis(mask, np.maximum(target, 0)[:, None], True, 1)
    keep[np.maximum(target, 0)] = True
    every = {"bias": rng.normal(size=V).astype(np.float32), "temperature": 0.7, "mask": mask, "keep": keep}
    given = {name: every[name] for name in present}
    wrt = ["hidden", "weight", *(name for name in present if name in ("bias", "temperature"))]
    check_call(lt.jit(options), hidden, weight, target=target, **given, wrt=wrt)


@pytest.mark.contract("1 scalar or token")
@pytest.mark.parametrize(
    "temperature",
    [2, 0.5, np.float64(0.5), np.float16(0.5), np.asarray(0.5), np.int32(2), np.linspace(0.5, 2, N)],
    ids=repr,
)
def test_scalars_and_tokens(temperature):
    hidden, weight, target = operands()
    out, gradients = (
        check_call(
            lt.jit(options), hidden, weight, target=target, temperature=temperature, wrt=["temperature"]
        )
        if np.asarray(temperature).dtype.kind == "f"
        else (check_call(lt.jit(options), hidden, weight, target=target, temperature=temperature))
    )
    if "temperature" in gradients:
        assert gradients["temperature"].dtype == np.asarray(temperature).dtype


@pytest.mark.contract("1 scalar")
def test_scalars_do_not_recompile():
    hidden, weight, target = operands()
    head = lt.jit(options)
    head(hidden, weight, target=target, temperature=0.5)

    def run():
        for temperature in (0.75, np.float32(2), np.asarray(3.0), 1):
            out = head(hidden, weight, target=target, temperature=temperature)
            check_outputs(head, out, hidden, weight, target=target, temperature=temperature)

    assert [record["event"] for record in records(run)] == ["hit"] * 4


@pytest.mark.contract("1 entries", "1 conversion")
@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("index_type", [np.int64, np.int32, np.uint8])
def test_entries_per_token(count, index_type):
    hidden, weight, _ = operands()
    rng = np.random.default_rng(2)
    index = rng.integers(0, V, (N, count)).astype(index_type)
    share = rng.random((N, count)).astype(np.float32)
    check_call(lt.jit(entries), hidden, weight, index=index, share=share, wrt=["hidden", "weight", "share"])


@pytest.mark.contract("1 dense", "3 dense gradient")
@pytest.mark.parametrize("dtype", HALVES)
def test_soft_targets_with_gradients(dtype):
    hidden, weight, _ = operands((2, 4))
    q = np.random.default_rng(3).dirichlet(np.ones(V), (2, 4)).astype(HALVES[dtype])
    _, gradients = check_call(lt.jit(soft), hidden, weight, q=q, wrt=["hidden", "weight", "q"])
    assert gradients["q"].dtype == q.dtype
    check_call(lt.jit(soft, reduction="none"), hidden, weight, q=q, wrt=["q"], grad_output=np.ones((2, 4)))


@pytest.mark.contract("1 pairs")
@pytest.mark.parametrize("size", [8, D])  # with one size for both, logits of both are kept
def test_several_projections(size):
    rng = np.random.default_rng(4)
    student = (rng.normal(size=(2, 3, D)).astype("f4"), rng.normal(size=(V, D)).astype("f4"))
    teacher = (rng.normal(size=(2, 3, size)).astype("f4"), rng.normal(size=(V, size)).astype("f4"))
    head = lt.jit(lt.losses.forward_kl)
    check_call(head, *student, *teacher, temperature=2.0, wrt=["student.hidden", "teacher.weight"])
    check_call(head, student=student, teacher=teacher)
    check_call(head, *student, teacher=teacher, wrt=["student.weight", "teacher.hidden"])


# ---- tokens that do not count --------------------------------------------------------------------


@pytest.mark.contract("2 ignored tokens")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [0, 3, N])
@pytest.mark.parametrize("all_ignored", ["nan", "zero"])
def test_ignored_tokens(reduction, ignored, all_ignored):
    hidden, weight, target = operands()
    target = np.abs(target) % V
    target[:ignored] = -100
    hidden[:ignored] = np.nan
    head = lt.jit(several, reduction=reduction, all_ignored=all_ignored)
    cotangent = {"loss": np.ones(N) if reduction == "none" else 3.0}
    out, gradients = check_call(head, hidden, weight, target=target, grad_output=cotangent)
    assert (out.best[:ignored] == -1).all() and (out.lse[:ignored] == 0).all()
    assert (gradients["hidden"][:ignored] == 0).all()
    if ignored == N:
        assert (gradients["weight"] == 0).all()
        if reduction == "mean":
            assert np.isnan(out.loss) if all_ignored == "nan" else out.loss == 0


@pytest.mark.contract("2 no tokens")
@pytest.mark.parametrize("leading", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_no_tokens(leading, reduction):
    hidden, weight, target = operands(leading)
    cotangent = {"loss": np.ones(leading) if reduction == "none" else 1.0, "lse": np.ones(leading)}
    out, gradients = check_call(
        lt.jit(several, reduction=reduction), hidden, weight, target=target, grad_output=cotangent
    )
    assert out.lse.shape == leading and out.best.shape == leading
    assert gradients["hidden"].shape == hidden.shape and (gradients["weight"] == 0).all()


@pytest.mark.contract("2 ignoring")
def test_ignoring_can_be_moved_and_switched_off():
    @lt.loss
    def loss(z: lt.Logits, label: lt.Token[int]):
        return lt.logsumexp(z) - z[label]

    hidden, weight, label = operands()
    check_call(lt.jit(loss, ignore="label"), hidden, weight, label=label)
    label[0] = 5
    check_call(lt.jit(loss, ignore="label", ignore_index=5), hidden, weight, label=label)
    check_call(lt.jit(loss, ignore="label", ignore_index=None), hidden, weight, label=label)
    check_call(lt.jit(loss), hidden, weight, label=label)


# ---- the denominator -----------------------------------------------------------------------------


@pytest.mark.contract("2 divisor")
@pytest.mark.parametrize(
    "divisor", [8, 2.5, np.float32(3), np.asarray(4), np.asarray(4.0, np.float16)], ids=repr
)
def test_divisors(divisor):
    hidden, weight, target = operands()
    check_call(lt.jit(plain), hidden, weight, target=target, divisor=divisor)
    check_call(
        lt.jit(weighted),
        hidden,
        weight,
        target=target,
        w=np.ones(N, "f4"),
        divisor=divisor,
        grad_output={"loss": 1.0, "entry": np.ones(N)},
        wrt=["hidden", "weight", "w"],
    )


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    "cotangent",
    [{"loss": -2.0}, {"entry": np.ones(N)}, {"loss": 1.0, "entry": np.ones(N)}],
    ids=["loss", "entry", "both"],
)
def test_a_weight_divides_the_mean(dtype, cotangent):
    hidden, weight, target = operands(dtype=dtype)
    w = np.random.default_rng(6).random(N).astype(np.float32)
    head = lt.jit(weighted)
    check_call(head, hidden, weight, target=target, w=w, grad_output=cotangent, wrt=["hidden", "weight", "w"])
    check_call(head, hidden, weight, target=np.full(N, -100), w=w, grad_output=cotangent)


@pytest.mark.contract("2 mean")
def test_class_weights():
    hidden, weight, target = operands()
    class_weight = np.random.default_rng(7).random(V).astype(np.float32)
    head = lt.jit(lt.losses.cross_entropy, label_smoothing=0.125, z_loss=1e-3)
    check_call(head, hidden, weight, target=target, class_weight=class_weight)
    check_call(
        head,
        hidden,
        weight,
        target=target,
        class_weight=class_weight,
        divisor=4,
        wrt=["class_weight", "weight"],
    )


# ---- gradients -----------------------------------------------------------------------------------


@pytest.mark.contract("3 cotangent")
def test_outputs_with_their_own_cotangent():
    hidden, weight, target = operands()
    head = lt.jit(several, reduction="none")
    ramp = np.linspace(-1, 2, N)
    for cotangent in (
        {"loss": ramp},
        {"lse": ramp},
        {"loss": ramp, "lse": 1 - ramp},
        {"loss": None, "lse": ramp},
    ):
        check_call(head, hidden, weight, target=target, grad_output=cotangent)
    head = lt.jit(lt.losses.logprob_entropy)
    check_call(
        head,
        hidden,
        weight,
        target=target,
        temperature=0.5,
        wrt=["hidden", "temperature"],
        grad_output={"logprob": ramp, "entropy": ramp**2},
    )


def test_one_gradient_alone():
    hidden, weight, target = operands()
    bias = np.zeros(V, np.float32)
    for name in ("hidden", "weight", "bias"):
        _, gradients = check_call(lt.jit(options), hidden, weight, target=target, bias=bias, wrt=name)
        assert list(gradients) == [name]


@pytest.mark.parametrize(
    "of",
    [
        lambda z, t, a: lt.mean(z),
        lambda z, t, a: a * lt.mean(z),
        lambda z, t, a: z[t],
        lambda z, t, a: lt.mean(z) - z[t] * a,
    ],
    ids=["mean", "scaled", "entry", "both"],
)
def test_gradients_that_are_the_same_along_the_vocabulary(of):
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int], a: lt.Token[float]):
        return lt.Outputs(loss=of(z, target, a), other=a * lt.logsumexp(z))

    hidden, weight, target = operands()
    check_call(lt.jit(loss), hidden, weight, target=target, a=np.ones(N, "f4"), grad_output={"loss": 1.0})


@pytest.mark.contract("3 no path")
def test_gradients_without_a_path_are_zeros():
    @lt.loss
    def loss(z: lt.Logits, a: lt.Token[float], s: lt.Scalar):
        return lt.Outputs(
            loss=lt.logsumexp(z) + lt.stop_gradient(a) + lt.where(s > 0, 1.0, 2.0), entry=z[0] * a
        )

    hidden, weight, _ = operands()
    given = {"a": np.ones(N, np.float16), "s": 1.0}
    _, gradients = check_call(lt.jit(loss), hidden, weight, **given, wrt=["a", "s", "hidden"])
    assert gradients["a"].dtype == np.float16
    _, gradients = check_call(lt.jit(loss), hidden, weight, **given, wrt=["a"])
    assert (gradients["a"] == 0).all()


def test_several_chunks():
    hidden, weight, target = operands((1100,))
    for head in (lt.jit(several, chunks=3), lt.jit(several, workspace="6MiB")):
        check_call(head, hidden, weight, target=target, grad_output={"loss": 2.0, "lse": np.ones(1100)})


# ---- buffers for weight gradients ----------------------------------------------------------------


@pytest.mark.contract("2 buffers")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("loss", [plain, weighted], ids=lambda loss: loss.name)
def test_weight_gradients_are_added_into_a_buffer(dtype, loss):
    hidden, weight, target = operands(dtype=dtype)
    given = {"w": np.random.default_rng(8).random(N).astype("f4")} if loss is weighted else {}
    cotangent = {"loss": 3.0} if loss is weighted else 3.0
    head = lt.jit(loss)
    buffer = np.ones((V, D), np.float32)
    keywords = {"target": target, "grad_output": cotangent, **given}
    _, gradients = head.value_and_grad(hidden, weight, weight_grad_out=buffer, **keywords)
    _, wanted = head.reference_grad(hidden, weight, **keywords)
    assert gradients["weight"] is buffer
    check_close(buffer - 1, wanted["weight"], dtype, "weight")
    assert gradients["hidden"].dtype == hidden.dtype
    check_close(gradients["hidden"], wanted["hidden"], dtype, "hidden")
    head.value_and_grad(hidden, weight, weight_grad_out=buffer, wrt="weight", **keywords)
    check_close((buffer - 1) / 2, wanted["weight"], dtype, "twice")


def test_a_buffer_may_have_any_strides():
    hidden, weight, target = operands()
    buffer = np.zeros((2 * D, V), np.float32)[::2].T
    lt.jit(plain).value_and_grad(hidden, weight, target=target, weight_grad_out=buffer)
    check_close(buffer, lt.jit(plain).reference_grad(hidden, weight, target=target)[1]["weight"])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("buffered", [("student",), ("teacher",), ("student", "teacher")])
def test_buffers_of_several_projections(dtype, buffered):
    rng = np.random.default_rng(9)
    pairs = {
        name: (
            rng.normal(size=(N, size)).astype(HALVES[dtype]),
            rng.normal(size=(V, size)).astype(HALVES[dtype]),
        )
        for name, size in (("student", D), ("teacher", 8))
    }
    buffers = {name: np.ones(pairs[name][1].shape, np.float32) for name in buffered}
    head = lt.jit(lt.losses.reverse_kl)
    _, gradients = head.value_and_grad(**pairs, weight_grad_out=buffers)
    _, wanted = head.reference_grad(**pairs)
    for name in pairs:
        gradient = gradients[f"{name}.weight"]
        if name in buffers:
            assert gradient is buffers[name]
            check_close(gradient - 1, wanted[f"{name}.weight"], dtype, name)
        else:
            assert gradient.dtype == pairs[name][1].dtype
            check_close(gradient, wanted[f"{name}.weight"], dtype, name)
        check_close(gradients[f"{name}.hidden"], wanted[f"{name}.hidden"], dtype, name)


def test_results_do_not_change_from_call_to_call():
    hidden, weight, target = operands((300,))
    head = lt.jit(several)
    (first, one), (second, two) = (head.value_and_grad(hidden, weight, target=target) for _ in range(2))
    for a, b in zip((*first, *one.values()), (*second, *two.values()), strict=True):
        assert np.array_equal(numbers(a), numbers(b))
