"""AXLearn's cross-entropy and its metrics on heads, against dense logits."""

import jax
import jax.numpy as jnp
import logitile as lt
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from logitile.integrations.axlearn import chunked_metrics, cross_entropy, deferred_logits

VOCAB, WIDTH, Z_LOSS, PAD = 47, 16, 1e-3, 2


def compute_logits(predictions, table):
    """A decoder's output layer: a norm, and the table of the embedding,
    from which einsum takes its axis.
    """
    x = predictions["hidden_states"]
    x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    return jnp.einsum("bsd,vd->bsv", x, table) / 2.0


def operands(rows=3, length=16, seed=0):
    """Hidden states, a table, and labels of which some are -1, padding or beyond the vocabulary."""
    rng = np.random.default_rng(seed)
    hidden, table = rng.normal(size=(rows, length, WIDTH)), rng.normal(size=(VOCAB, WIDTH))
    labels = rng.integers(0, VOCAB, (rows, length))
    labels[rng.random(labels.shape) < 0.2] = -1
    labels[0, :2] = VOCAB + 1, PAD
    return jnp.asarray(hidden, jnp.float32), jnp.asarray(table, jnp.float32), jnp.asarray(labels)


def dense(logits, labels, live=None, z_loss_scale=0.0, label_smoothing=0.0, soft=None):
    """As AXLearn documents its function; what does not count is 0 in `per_target_loss`."""
    if soft is None:
        soft = jax.nn.one_hot(labels, VOCAB) * (1 - label_smoothing) + label_smoothing / VOCAB
    live = ((labels >= 0) & (labels < VOCAB) if live is None else live).astype(jnp.float32)
    lse = jax.nn.logsumexp(logits, -1)
    each = -(soft * jax.nn.log_softmax(logits)).sum(-1)
    divisor = jnp.maximum(live.sum(), 1)

    def mean(value):
        return (value * live).sum() / divisor

    total = each + z_loss_scale * lse**2
    return mean(total), {
        "total_loss": mean(total), "z_loss": mean(lse**2), "cross_entropy_loss": mean(each),
        "per_target_loss": jnp.where(live != 0, total, 0), "accuracy": mean(logits.argmax(-1) == labels),
    }  # fmt: skip


def compared(hidden, table, labels, live=None, soft=None, **options):
    """Both losses with their dictionaries, and their gradients of hidden states and table."""

    def by_head(hidden, table):
        logits = deferred_logits(lambda given: compute_logits(given, table), {"hidden_states": hidden})
        return cross_entropy(logits, labels, live_targets=live, soft_target_labels=soft, **options)

    def by_logits(hidden, table):
        return dense(compute_logits({"hidden_states": hidden}, table), labels, live, soft=soft, **options)

    return [
        jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(hidden, table)
        for loss in (by_head, by_logits)
    ]


def assert_close(found, wanted, rtol=1e-5):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for (path, array), expected in zip(
        jax.tree.leaves_with_path(found), jax.tree.leaves(wanted), strict=True
    ):
        size = max(float(jnp.abs(expected).max()), 1e-6)
        np.testing.assert_allclose(
            array, expected, rtol=rtol, atol=rtol * size, err_msg=jax.tree_util.keystr(path)
        )


# ---- cross_entropy -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"z_loss_scale": Z_LOSS}, {"label_smoothing": 0.2}])
def test_loss_metrics_and_gradients(options):
    assert_close(*compared(*operands(), **options))


def test_weights_of_targets():
    """Labels beyond the vocabulary have no entry,
    but count in the mean where `live_targets` says so.
    """
    hidden, table, labels = operands()
    live = jnp.asarray(np.random.default_rng(1).random(labels.shape), jnp.float32)
    # the sum of the second one is below 1
    for weights in (live, live * 1e-3, jnp.round(live), live > 0.5):
        assert_close(*compared(hidden, table, labels, weights, z_loss_scale=Z_LOSS))


def test_probabilities_as_targets():
    hidden, table, labels = operands()
    soft = jax.nn.softmax(
        jnp.asarray(np.random.default_rng(1).normal(size=(*labels.shape, VOCAB)), jnp.float32)
    )
    assert_close(*compared(hidden, table, labels, soft=soft, z_loss_scale=Z_LOSS))


def test_nothing_counts():
    hidden, table, labels = operands()
    ((loss, made), gradients), _ = compared(hidden, table, jnp.full_like(labels, -1), z_loss_scale=Z_LOSS)
    assert loss == 0 and not any(np.any(value) for value in made.values())
    assert not np.any(gradients[0]) and not np.any(gradients[1])


def test_what_is_refused():
    hidden, table, labels = operands()
    logits = deferred_logits(lambda given: compute_logits(given, table), {"hidden_states": hidden})
    with pytest.raises(
        lt.CallTypeError, match=r"'logits' is a ArrayImpl; give deferred_logits\(compute_logits, pre"
    ):
        cross_entropy(compute_logits({"hidden_states": hidden}, table), labels)
    with pytest.raises(ValueError, match="z_loss_scale=-0.1 must not be negative"):
        cross_entropy(logits, labels, z_loss_scale=-0.1)
    with pytest.raises(ValueError, match="label_smoothing=1.5 must lie between 0 and 1"):
        cross_entropy(logits, labels, label_smoothing=1.5)
    with pytest.raises(
        ValueError, match="label_smoothing=0.1 cannot be given with soft_target_labels; make it 0"
    ):
        cross_entropy(
            logits, labels, label_smoothing=0.1, soft_target_labels=jnp.ones((*labels.shape, VOCAB))
        )


def test_coefficients_in_arrays():
    hidden, table, labels = operands()
    wanted, found = (
        compared(hidden, table, labels, z_loss_scale=kind(0.125), label_smoothing=kind(0.25))[0]
        for kind in (float, jnp.float32)
    )
    assert_close(found, wanted, 0)


@pytest.mark.parametrize(("name", "values"), [
    ("z_loss_scale", (0.1, 0.2, 0.0)), ("label_smoothing", (0.1, 0.25, 1.0)),
])  # fmt: skip
def test_coefficients_that_are_traced(name, values):
    """One program serves all of them; the loss alone has their gradient."""
    hidden, table, labels = operands()

    def by_head(number):
        logits = deferred_logits(lambda given: compute_logits(given, table), {"hidden_states": hidden})
        return cross_entropy(logits, labels, **{name: number})

    def by_logits(number):
        return dense(compute_logits({"hidden_states": hidden}, table), labels, **{name: number})

    step, wanted = (jax.jit(jax.value_and_grad(loss, has_aux=True)) for loss in (by_head, by_logits))
    for value in values:
        assert_close(step(value), wanted(value))
    assert step._cache_size() == 1
    assert not jax.grad(lambda number: by_head(number)[1]["per_target_loss"].sum())(values[0])


def test_another_number_compiles_nothing():
    hidden, table, labels = operands()
    logits = deferred_logits(lambda given: compute_logits(given, table), {"hidden_states": hidden})
    for step in (1, 2, 3):
        cross_entropy(logits, labels, z_loss_scale=0.1 * step, label_smoothing=0.1 * step)
    assert [record["event"] for record in lt.history()[-2:]] == ["hit", "hit"]


def test_a_smoothing_that_is_traced_beside_probabilities():
    hidden, table, labels = operands()
    soft = jnp.ones((*labels.shape, VOCAB))
    with pytest.raises(lt.CallValueError) as caught:
        jax.jit(lambda number: compared(hidden, table, labels, soft=soft, label_smoothing=number))(0.1)
    assert str(caught.value) == (
        "label_smoothing=traced by JAX cannot be given with soft_target_labels; make it 0"
    )


@pytest.mark.parametrize("name", ["z_loss_scale", "label_smoothing"])
def test_coefficients_that_are_no_numbers(name):
    hidden, table, labels = operands()

    def loss(given):
        return compared(hidden, table, labels, **{name: given})

    with pytest.raises(lt.CallTypeError, match=rf"^{name}=.*\(float32\[2\]\) must be a number"):
        jax.jit(loss)(jnp.ones(2))
    with pytest.raises(lt.CallTypeError, match=f"^{name}='much' must be a number"):
        loss("much")


# ---- logits that are not made --------------------------------------------------------------------

LAYERS = {
    "weight first": lambda x, w: jnp.einsum("vd,bsd->bsv", w, x),
    "tokens in a row": lambda x, w: (x.reshape(-1, WIDTH) @ w.T).reshape(*x.shape[:2], VOCAB),
    "capped": lambda x, w: 5 * jnp.tanh(jnp.dot(x, w.T) / 5),
    "a number of the code": lambda x, w: (x @ w.T) * (1 / jnp.sqrt(jnp.float32(WIDTH))),
    "in a jit": jax.jit(lambda x, w: x @ w.T),
    "rematerialised": jax.checkpoint(lambda x, w: jnp.tanh(x) @ w.T),
    "of two types": lambda x, w: jnp.dot(x, w.astype(jnp.bfloat16).T, preferred_element_type=jnp.float32),
    "named": lambda x, w: checkpoint_name(x @ w.T, "logits") / 2,
    "as wide as the vocabulary": lambda x, w: (
        jnp.tanh(x @ jnp.ones((WIDTH, VOCAB)) / 9) @ jnp.eye(VOCAB, WIDTH) @ w.T
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_output_layers(name):
    hidden, table, labels = operands()

    def by_head(hidden, table):
        logits = deferred_logits(
            lambda given: LAYERS[name](given["hidden_states"], table), {"hidden_states": hidden}
        )
        return cross_entropy(logits, labels)[0]

    def by_logits(hidden, table):
        return dense(LAYERS[name](hidden, table), labels)[0]

    found, wanted = (
        jax.jit(jax.value_and_grad(loss, (0, 1)))(hidden, table) for loss in (by_head, by_logits)
    )
    assert_close(found, wanted, 2**-7 if name == "of two types" else 2e-5)  # the table's is rounded


@pytest.mark.parametrize(
    ("layer", "operation"),
    [
        (lambda x, w: x @ w.T + 1.0, "add"),
        (lambda x, w: (x @ w.T) * x[..., :1], "mul"),
        (lambda x, w: jax.nn.log_softmax(x @ w.T), "exp"),
        (lambda x, w: (x @ w.T)[..., ::-1], "rev"),
        (lambda x, w: 1 / (x @ w.T), "div"),
    ],
)
def test_layers_that_no_head_follows(layer, operation):
    hidden, table, _ = operands()
    with pytest.raises(lt.CallTypeError, match="the output layer does '[a-z_]+' with its logits") as refused:
        deferred_logits(lambda given: layer(given["hidden_states"], table), {"hidden_states": hidden})
    assert f"'{operation}'" in str(refused.value) or operation == "exp"


# ---- chunks, and what a model reports ------------------------------------------------------------


@pytest.mark.parametrize(("length", "chunk"), [(16, 8), (16, 4), (10, 8), (16, 7), (211, 32), (8, None)])
def test_chunks_of_the_sequence(length, chunk):
    """Loss, metrics, summaries and gradients are those of the whole sequence."""
    hidden, table, labels = operands(length=length)
    given = {"target_labels": labels, "target_num_bytes": jnp.asarray([40, 50, 60])}

    def model(hidden, table, chunk):
        loss, *rest = chunked_metrics(
            lambda made: compute_logits(made, table), given, predict_outputs={"hidden_states": hidden},
            z_loss_scale=Z_LOSS, scan_chunk=chunk, pad_token_id=PAD,
        )  # fmt: skip
        return loss, rest

    step = jax.jit(jax.value_and_grad(model, (0, 1), has_aux=True), static_argnums=2)
    (loss, (metrics, summaries)), gradients = step(hidden, table, chunk)
    known = jnp.where(labels == PAD, -1, labels)
    live = known >= 0

    def whole(hidden, table):
        return dense(compute_logits({"hidden_states": hidden}, table), known, live, z_loss_scale=Z_LOSS)

    (wanted, made), wanted_gradients = jax.value_and_grad(whole, (0, 1), has_aux=True)(hidden, table)
    assert_close(gradients, wanted_gradients)
    count, per_token = live.sum(), made["per_target_loss"] * live
    assert_close(
        metrics,
        {"cross_entropy": wanted, "per_token_loss": per_token, "live_targets": live, "num_targets": count},
    )
    assert_close({name: mean for name, (mean, _) in summaries.items()}, {
        "accuracy": made["accuracy"], "z_loss": made["z_loss"], "cross_entropy_loss": wanted, "loss": wanted,
        "perplexity": jnp.exp(wanted), "train_live_targets": count / 3,
        "bits_per_byte": per_token.sum() / jnp.log(2) / 150,
    })  # fmt: skip
    weights = {name: weight for name, (_, weight) in summaries.items()}
    assert weights.pop("train_live_targets") == 3 and weights.pop("bits_per_byte") == 150
    assert set(map(int, weights.values())) == {int(count)}


def test_chunks_are_positions():
    hidden, table, labels = operands()
    with pytest.raises(lt.CallValueError, match="scan_chunk=0 must be 1 or more"):
        chunked_metrics(
            lambda made: compute_logits(made, table), {"target_labels": labels},
            predict_outputs={"hidden_states": hidden}, scan_chunk=0,
        )  # fmt: skip
