"""Heads in JAX: eager calls, transformations, what is refused, and what of a call XLA sees.

Whether numbers are right for every loss is tested in test_jax_losses.py of test/e2e; here they are
compared with calls on arrays of NumPy, or with jax.numpy.
"""

import os
import re

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import logitile as lt
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

N, V, D = 12, 37, 16
HEAD = lt.jit(lt.losses.cross_entropy)
PER_TOKEN = lt.jit(lt.losses.cross_entropy, reduction="none")
DTYPES = ("float32", "bfloat16", "float16")


def operands(dtype="float32"):
    rng = np.random.default_rng(0)
    hidden, weight = rng.normal(size=(N, D)), rng.normal(size=(V, D)) / 2
    return jnp.asarray(hidden, dtype), jnp.asarray(weight, dtype), jnp.asarray(rng.integers(0, V, N))


def as_numpy(arrays):
    """The same numbers as arrays of NumPy."""
    return [np.asarray(array) for array in arrays]


def same(array, expected, dtype):
    """Asserts an array of JAX with the very numbers of one of NumPy."""
    assert isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer)
    assert array.dtype == jnp.dtype(dtype) and array.shape == np.shape(expected)
    np.testing.assert_array_equal(np.asarray(array, np.float64), np.asarray(expected, np.float64))


def dense(hidden, weight, target):
    """Cross entropy by jax.numpy, per token."""
    logits = hidden @ weight.T
    return jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, target[..., None], -1)[..., 0]


def close(found, wanted):
    """Asserts trees of arrays that differ by rounding alone."""
    for array, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(array), np.asarray(expected), rtol=2e-5, atol=2e-6)


# ---- calls ---------------------------------------------------------------------------------------


@pytest.mark.contract("6 tracers")
@pytest.mark.parametrize("layout", ["vd", "dv"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs_and_gradients_are_those_of_numpy(dtype, layout):
    head = lt.jit(lt.losses.cross_entropy, weight_layout=layout)
    hidden, weight, target = operands(dtype)
    weight = weight.T if layout == "dv" else weight
    given = as_numpy((hidden, weight, target))
    same(head(hidden, weight, target=target), head(*given[:2], target=given[2]), "float32")
    wanted, expected = head.value_and_grad(*given[:2], target=given[2])
    out, gradients = head.value_and_grad(hidden, weight, target=target)
    traced = jax.jit(jax.value_and_grad(lambda h, w: head(h, w, target=target), (0, 1)))(hidden, weight)
    for value, made in ((out, gradients.values()), traced):
        same(value, wanted, "float32")
        for gradient, right in zip(made, expected.values(), strict=True):
            same(gradient, right, dtype)


def test_gradients_of_other_inputs_in_float32():
    hidden, weight, target = operands("bfloat16")
    wanted = {"wrt": ["temperature", "weight"], "grad_dtype": "float32"}
    _, gradients = HEAD.value_and_grad(
        hidden, weight, target=target, temperature=jnp.float32(1.5), grad_output=jnp.float32(2), **wanted
    )
    given = as_numpy((hidden, weight, target))
    _, expected = HEAD.value_and_grad(
        *given[:2], target=given[2], temperature=np.float32(1.5), grad_output=2.0, **wanted
    )
    for name, gradient in gradients.items():
        same(gradient, expected[name], "float32")


def test_value_and_grad_of_tracers():
    hidden, weight, target = operands("bfloat16")
    head = lt.jit(lt.losses.logprob_entropy)
    wanted = {"wrt": ["weight"], "grad_dtype": "float32"}
    reaching = {"entropy": jnp.arange(N, dtype=jnp.float32)}

    def both(hidden, weight, target):
        return head.value_and_grad(hidden, weight, target=target, grad_output=reaching, **wanted)

    out, gradients = jax.jit(both)(hidden, weight, target)
    given = as_numpy((hidden, weight, target))
    expected, right = head.value_and_grad(
        *given[:2], target=given[2], grad_output={"entropy": np.asarray(reaching["entropy"])}, **wanted
    )
    assert out._fields == expected._fields and list(gradients) == ["weight"]
    same(out.entropy, expected.entropy, "float32")
    same(gradients["weight"], right["weight"], "float32")


@lt.loss
def three_outputs(z: lt.Logits, target: lt.Token[int]):
    lse = lt.logsumexp(z)
    return lt.Outputs(loss=lse - z[target], best=lt.argmax(z), is_right=lt.argmax(z) == target)


@pytest.mark.parametrize("is_wide", [False, True])
def test_types_of_outputs(is_wide):
    """Integers have 64 bits where JAX has them."""
    hidden, weight, target = operands()
    head = lt.jit(three_outputs, reduction="none")
    with wide_integers(is_wide):
        out = head(hidden, weight, target=np.asarray(target, np.int64))
        value, gradient = jax.value_and_grad(lambda h: head(h, weight, target=target).loss.sum())(hidden)
    expected = head(*as_numpy((hidden, weight)), target=np.asarray(target))
    same(out.loss, expected.loss, "float32")
    same(out.best, expected.best, "int64" if is_wide else "int32")
    same(out.is_right, expected.is_right, "bool")
    assert value.dtype == gradient.dtype == jnp.float32


def wide_integers(is_wide):
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(is_wide)
    from jax.experimental import enable_x64

    return enable_x64(is_wide)


def test_named_outputs_per_token():
    hidden, weight, target = operands()
    head = lt.jit(lt.losses.logprob_entropy)
    out = head(hidden, weight, target=target)
    wanted = head(*as_numpy((hidden, weight)), target=np.asarray(target))
    assert out._fields == wanted._fields
    for array, expected in zip(out, wanted, strict=True):
        same(array, expected, "float32")


@lt.loss
def every_kind(
    student: lt.Logits,
    teacher: lt.Logits,
    target: lt.Token[int],
    several: lt.Token[int, lt.K],
    advantage: lt.Token[float],
    counts: lt.Token[bool],
    bias: lt.Vocab[float],
    mask: lt.Vocab[bool],
    soft: lt.Dense[float],
    scale: lt.Scalar | lt.Token[float],
):
    log_p = lt.log_softmax(lt.where(mask, student * scale + bias, -4.0))
    loss = -lt.sum((lt.softmax(teacher) + soft) * log_p) - log_p[target] - sum(log_p[k] for k in several)
    return lt.where(counts, loss * advantage, 0.5)


def kinds_of_inputs():
    rng = np.random.default_rng(1)
    numbers = {
        "student": (rng.normal(size=(3, 4, D)), rng.normal(size=(V, D)) / 2),
        "teacher": (rng.normal(size=(3, 4, 8)), rng.normal(size=(V, 8))),
        "advantage": rng.normal(size=(3, 4)),
        "bias": rng.normal(size=V),
        "soft": rng.random(size=(3, 4, V)),
        "scale": np.asarray(0.75),
    }
    floats = jax.tree.map(lambda array: array.astype(np.float32), numbers)
    rest = {
        "target": rng.integers(0, V, (3, 4)),
        "several": rng.integers(0, V, (3, 4, 2)),
        "counts": rng.random((3, 4)) < 0.75,
        "mask": rng.random(V) < 0.75,
    }
    return floats, rest


def test_every_kind_of_input_has_its_gradient():
    floats, rest = kinds_of_inputs()
    head = lt.jit(every_kind, reduction="sum")
    leaves = jax.tree.map(jnp.asarray, floats)
    value, gradients = jax.jit(jax.value_and_grad(lambda leaves: head(**leaves, **rest)))(leaves)
    wrt = ["student.hidden", "student.weight", "teacher.hidden", "teacher.weight",
           "advantage", "bias", "soft", "scale"]  # fmt: skip
    wanted, expected = head.value_and_grad(**floats, **rest, wrt=wrt)
    assert value == pytest.approx(float(wanted), rel=1e-6)
    flat = [*gradients["student"], *gradients["teacher"], *(gradients[name] for name in wrt[4:])]
    close(flat, [expected[name] for name in wrt])


def test_numbers_never_compile_anew():
    hidden, weight, target = operands()
    head = lt.jit(lt.losses.cross_entropy)
    for temperature in (0.5, 1.5, 2.5):
        value = head(hidden, weight, target=target, temperature=temperature, divisor=7.0)
        wanted = head(
            *as_numpy((hidden, weight)), target=np.asarray(target), temperature=temperature, divisor=7.0
        )
        assert float(value) == pytest.approx(float(wanted), rel=1e-6)
    assert head._capture.compiled._cache_size() == 1


def test_arrays_that_are_still_computed():
    """JAX hands out arrays before their numbers are there."""
    hidden, weight, target = operands()
    large = jnp.ones((600, 600))
    for _ in range(5):
        late = large
        for _ in range(20):
            late = late @ large / 600
        late = hidden * late[0, 0]
        assert HEAD(late, weight, target=target) == HEAD(np.asarray(late), np.asarray(weight), target=target)


def test_no_token():
    hidden, weight, target = operands()
    nothing = lt.jit(lt.losses.cross_entropy, reduction="sum")
    value, gradient = jax.value_and_grad(nothing, argnums=1)(hidden[:0], weight, target=target[:0])
    assert value == 0 and not gradient.any()
    ignored = jnp.full((N,), -100)
    zero = lt.jit(lt.losses.cross_entropy, all_ignored="zero")
    assert zero(hidden, weight, target=ignored) == 0 and jnp.isnan(HEAD(hidden, weight, target=ignored))


def test_emulated_gpu():
    hidden, weight, target = operands("bfloat16")
    head = lt.jit(lt.losses.cross_entropy, backend="emu:sm_80")
    value = jax.jit(lambda h, w, t: head(h, w, target=t))(hidden, weight, target)
    same(value, head(*as_numpy((hidden, weight)), target=np.asarray(target)), "float32")


# ---- transformations -----------------------------------------------------------------------------


def scanned(loss):
    """Token by token, in a loop that JAX compiles."""

    def total(hidden, weight, target):
        def step(sum_so_far, row):
            return sum_so_far + loss(row[0][None], weight, row[1][None])[0], None

        return jax.lax.scan(step, jnp.float32(0), (hidden, target))[0]

    return total


def weighted(loss):
    """A sum where every token has a cotangent of its own."""
    return lambda hidden, weight, target: (loss(hidden, weight, target) * jnp.arange(1.0, N + 1)).sum()


WAYS = {
    "jit": lambda loss: jax.jit(weighted(loss)),
    "nested jit": lambda loss: jax.jit(jax.jit(jax.jit(weighted(loss)))),
    "checkpoint": lambda loss: jax.jit(jax.checkpoint(weighted(loss))),
    "scan": scanned,
    "scan of checkpoint": lambda loss: scanned(jax.checkpoint(loss)),
    "disabled jit": weighted,
}


@pytest.mark.contract("6 tracers")
@pytest.mark.parametrize("way", WAYS)
def test_reverse_mode(way):
    arrays = operands()
    with jax.disable_jit(way == "disabled jit"):
        found = jax.value_and_grad(WAYS[way](lambda h, w, t: PER_TOKEN(h, w, target=t)), (0, 1))(*arrays)
    close(found, jax.value_and_grad(WAYS[way](dense), (0, 1))(*arrays))


def test_while_loop():
    hidden, weight, target = operands()

    def descend(hidden, step):
        def body(state):
            at, count = state
            return at - 0.5 * jax.grad(step)(at), count + 1

        return jax.lax.while_loop(lambda state: state[1] < 3, body, (hidden, 0))[0]

    mine = jax.jit(descend, static_argnums=1)(hidden, lambda h: HEAD(h, weight, target=target))
    close(mine, descend(hidden, lambda h: dense(h, weight, target).mean()))


@pytest.mark.parametrize("loss", [HEAD, PER_TOKEN], ids=["mean", "none"])
@pytest.mark.parametrize("batched", ["hidden", "weight", "both", "target"])
def test_vmap(batched, loss):
    hidden, weight, target = operands()
    hiddens, weights = jnp.stack([hidden, hidden + 0.5]), jnp.stack([weight, weight - 0.5])
    targets = jnp.stack([target, (target + 1) % V])
    axes = {
        "hidden": (0, None, None),
        "weight": (None, 0, None),
        "both": (0, 0, None),
        "target": (None, None, 0),
    }
    given = [s if a == 0 else o for s, o, a in zip((hiddens, weights, targets), (hidden, weight, target),
                                                   axes[batched], strict=True)]  # fmt: skip

    def mine(hidden, weight, target):
        return loss(hidden, weight, target=target).sum()

    def right(hidden, weight, target):
        rows = dense(hidden, weight, target)
        return rows.mean() if loss is HEAD else rows.sum()

    close(jax.vmap(mine, axes[batched])(*given), jax.vmap(right, axes[batched])(*given))
    found = jax.jit(jax.vmap(jax.grad(mine, (0, 1)), axes[batched]))(*given)
    close(found, jax.vmap(jax.grad(right, (0, 1)), axes[batched])(*given))
    total = jax.grad(lambda *a: jax.vmap(mine, axes[batched])(*a).sum(), (0, 1))(*given)
    close(total, jax.grad(lambda *a: jax.vmap(right, axes[batched])(*a).sum(), (0, 1))(*given))


def test_vmap_over_tokens_is_one_call():
    hidden, weight, target = operands()
    text = str(
        jax.make_jaxpr(jax.vmap(lambda h: PER_TOKEN(h, weight, target=target)))(jnp.stack([hidden] * 3))
    )
    assert text.count("logitile_call[") == 1 and "scan" not in text and "while" not in text


def test_donated_arrays():
    hidden, weight, target = operands()
    wanted = weight - HEAD.value_and_grad(hidden, weight, target=target)[1]["weight"]

    def step(weight, hidden, target):
        return weight - jax.grad(lambda w: HEAD(hidden, w, target=target))(weight)

    given = weight + 0
    close(jax.jit(step, donate_argnums=0)(given, hidden, target), wanted)
    assert given.is_deleted()


def test_results_of_other_calls_reach_a_learned_number():
    hidden, weight, target = operands()

    def total(scale):
        return HEAD(hidden * scale, weight, target=target, temperature=jnp.exp(scale))

    step = 1e-2
    slope = (total(0.5 + step) - total(0.5 - step)) / (2 * step)
    assert jax.jit(jax.grad(total))(0.5) == pytest.approx(float(slope), rel=1e-3)


@pytest.mark.contract("6 wanted gradients")
def test_only_wanted_gradients_are_made():
    hidden, weight, target = operands()

    def text(arguments):
        return str(
            jax.make_jaxpr(jax.grad(lambda h, w: PER_TOKEN(h, w, target=target).sum(), arguments))(
                hidden, weight
            )
        )

    matrices = {
        arguments: re.findall(r"(f32\[\d+,\d+\]).*= logitile_call", text(arguments)) for arguments in (0, 1)
    }
    both = re.findall(r"(?:\w+:f32\[\d*(?:,\d+)?\] ?)+= logitile_call", text((0, 1)))
    assert f"f32[{N},{D}]" in matrices[0] and f"f32[{V},{D}]" not in matrices[0]
    assert f"f32[{V},{D}]" in matrices[1] and f"f32[{N},{D}]" not in matrices[1]
    assert any(f"[{V},{D}]" in line and f"[{N},{D}]" in line for line in both)


def test_gradients_of_a_reduced_loss_come_with_it():
    """One call makes both, and what reaches the loss scales the gradients."""
    hidden, weight, target = operands()
    text = str(
        jax.make_jaxpr(jax.value_and_grad(lambda h, w: 3 * HEAD(h, w, target=target), (0, 1)))(hidden, weight)
    )
    assert text.count("logitile_call[") == 1


@pytest.mark.contract("6 no logits")
def test_no_program_holds_the_logits():
    tokens, vocab = 512, 4096
    shapes = [
        jax.ShapeDtypeStruct(s, d)
        for s, d in (((tokens, 32), "bfloat16"), ((vocab, 32), "bfloat16"), ((tokens,), "int32"))
    ]

    def temporary(function):
        step = jax.jit(jax.value_and_grad(lambda h, w, t: function(h, w, t).sum(), (0, 1)))
        return step.lower(*shapes).compile().memory_analysis().temp_size_in_bytes

    logits = tokens * vocab * 2
    assert temporary(dense) > logits  # so that the test can fail
    assert temporary(lambda h, w, t: PER_TOKEN(h, w, target=t)) < logits // 8


@pytest.mark.contract("6 workspace")
def test_the_workspace_of_a_gpu_is_a_result_that_xla_plans():
    """Programs for GPUs are made without one."""
    shapes = (((64, 64), "bfloat16"), ((512, 64), "bfloat16"), ((64,), "int32"))
    arrays = [jax.ShapeDtypeStruct(*shape) for shape in shapes]
    head = lt.jit(lt.losses.cross_entropy, backend="cuda:sm_80")
    step = jax.jit(jax.value_and_grad(lambda h, w, t: head(h, w, target=t), (0, 1)))
    text = step.trace(*arrays).lower(lowering_platforms=("cuda",)).as_text()
    (call,) = (line for line in text.splitlines() if "@logitile_call_v1" in line)
    size = int(re.search(r"tensor<(\d+)xui8>\)$", call.strip())[1])
    hidden, weight, target = (lt.ShapeDtype(*shape) for shape in shapes)
    needed = head.explain(hidden, weight, target=target).workspace_bytes
    assert 0 < needed <= size <= needed + 16 * 256


def test_parts_of_a_slice_know_their_workspace_too():
    head = lt.jit(lt.losses.cross_entropy, backend="cuda:sm_80")
    arrays = [lt.ShapeDtype((64, 64), "bfloat16"), lt.ShapeDtype((512, 64), "bfloat16")]
    traced, _ = head._capture.traced(arrays, {"target": lt.ShapeDtype((64,), "int32")})
    parts = traced.sliced([(64, 64), (256, 64), (64,)], (True, True, False), (True,))
    for part in (parts.sweep(0), parts.merge(0), parts.finish(), parts.gradient()):
        assert parts.workspace(part.call, "cuda:0", 64) >= 0
    assert parts.workspace(parts.gradient().call, "cuda:0", 64) > 0


# ---- refusals ------------------------------------------------------------------------------------


REFUSED = {
    "jvp": (lambda f, x: jax.jvp(f, (x,), (x,)), "no forward-mode derivative"),
    "jacfwd": (lambda f, x: jax.jacfwd(f)(x), "no forward-mode derivative"),
    "linearize": (lambda f, x: jax.linearize(f, x)[1](x), "no forward-mode derivative"),
    "hessian": (lambda f, x: jax.hessian(f)(x), "no (second derivatives|forward-mode derivative)"),
    "grad of grad": (lambda f, x: jax.grad(lambda x: jax.grad(f)(x).sum())(x), "no second derivatives"),
    "jit of grad of grad": (
        lambda f, x: jax.jit(jax.grad(lambda x: jax.jit(jax.grad(f))(x).sum()))(x),
        "no second derivatives",
    ),
}


@pytest.mark.contract("6 refusals")
@pytest.mark.parametrize("head", [HEAD, PER_TOKEN], ids=["mean", "none"])
@pytest.mark.parametrize("kind", REFUSED)
def test_other_derivatives_are_refused(kind, head):
    hidden, weight, target = operands()
    derive, text = REFUSED[kind]
    with pytest.raises(lt.errors.LogitileError, match=text):
        derive(lambda h: head(h, weight, target=target).sum(), hidden)


def test_errors_of_a_call_are_those_of_other_frameworks():
    hidden, weight, target = operands()
    with pytest.raises(lt.CallTypeError, match="'target' is missing"):
        HEAD(hidden, weight)
    with pytest.raises(lt.CallValueError, match=r"'target' has shape \[3\]; lt.Token\[int\] needs \[12\]"):
        jax.jit(lambda h: HEAD(h, weight, target=target[:3]))(hidden)
    with pytest.raises(lt.CallTypeError, match="'temperature' is a str, not an array"):
        HEAD(hidden, weight, target=target, temperature="warm")
    with pytest.raises(
        lt.CallValueError, match="'target' has the entry 4294967296, which does not fit in 32 bits"
    ):
        HEAD(hidden, weight, target=np.full(N, 2**32))
    with pytest.raises(lt.CallTypeError, match="'z.hidden' is a JAX tracer .* but numbers are read here"):
        where = {"column_offset": 0, "vocab_size": V}
        jax.jit(lambda h: HEAD.partial(h, weight, target=target, **where).next)(hidden)


def test_weights_that_need_a_gradient_are_refused_in_a_mean():
    @lt.loss
    def by_weight(z: lt.Logits, target: lt.Token[int], trust: lt.Token[float]):
        return lt.Outputs(loss=lt.logsumexp(z) - z[target], weight=trust)

    hidden, weight, target = operands()
    head = lt.jit(by_weight)
    with pytest.raises(lt.CallValueError, match="the denominator of a mean takes no gradient"):
        jax.grad(lambda trust: head(hidden, weight, target=target, trust=trust).loss)(jnp.ones(N))


def test_deleted_arrays_and_buffers_are_refused():
    hidden, weight, target = operands()
    gone = hidden + 1
    gone.delete()
    with pytest.raises(lt.CallTypeError, match="'hidden' is a JAX array that was deleted or donated"):
        HEAD(gone, weight, target=target)
    with pytest.raises(lt.CallTypeError, match="'weight_grad_out' must be an array of NumPy or torch"):
        HEAD.value_and_grad(hidden, weight, target=target, weight_grad_out=jnp.zeros((V, D)))
    with pytest.raises(
        lt.CallTypeError, match="arrays of JAX never change; leave it out, .*grad_dtype='float32'"
    ):
        HEAD(hidden, weight, target=target, weight_grad_out=jnp.zeros((V, D)))


@lt.loss
def next_entry(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target + 1]


@pytest.mark.contract("6 index errors")
def test_wrong_indices_are_errors_of_the_call():
    hidden, weight, target = operands()
    wrong = target.at[2].set(V)
    with pytest.raises(Exception, match=rf"'target'\[2\] is {V}, outside the vocabulary of {V} entries"):
        jax.block_until_ready(jax.jit(lambda t: HEAD(hidden, weight, target=t))(wrong))
    with pytest.raises(Exception, match=rf"test_jax.py:\d+: .* is {V}, outside the vocabulary"):
        jax.block_until_ready(lt.jit(next_entry)(hidden, weight, target=target.at[2].set(V - 1)))
    assert jnp.isfinite(HEAD(hidden, weight, target=target))


def test_shapes_of_tracers_are_enough_to_look_at_a_program():
    hidden, weight, target = operands()
    seen = []

    def look(h):
        seen.extend(
            [HEAD.ir("plan", h, weight, target=target), HEAD.explain(h, weight, target=target).workspace]
        )
        return h

    jax.jit(look)(hidden)
    assert seen == [
        HEAD.ir("plan", hidden, weight, target=target), HEAD.explain(hidden, weight, target=target).workspace
    ]  # fmt: skip
