"""What a training loop like AXLearn's asks of a loss in chunks,
on a small causal model of Flax Linen.

There the sequence is scanned in chunks, logits are made for one chunk at a time, and metrics of
chunks are merged. Here a head cuts the tokens itself, and its metrics are per token.
"""

import logitile as lt
import numpy as np
import pytest
from logitile.integrations.axlearn import cross_entropy, deferred_logits
from small_models import LinenModel, assert_close, dense_logits, made, relative
from test_jax_meshes import P, gathered, jax, jnp, mesh_of

Z_LOSS = 1e-3
PAD = 3


# ---- the loss of a training loop, dense and by a head --------------------------------------------


METRICS = ("cross_entropy", "z_loss", "correct", "index")


def labels_of(target, vocab):
    """Targets outside of the vocabulary, and padding, do not count."""
    counts = (target >= 0) & (target < vocab) & (target != PAD)
    return jnp.where(counts, target, -100)


def dense_outputs(hidden, weight, labels, layout):
    """What METRICS names, per token, from dense logits."""
    z = dense_logits(hidden, weight, layout)
    counts = labels >= 0
    lse, index = jax.nn.logsumexp(z, -1), z.argmax(-1)
    picked = jnp.take_along_axis(z, jnp.maximum(labels, 0)[..., None], -1)[..., 0]
    return {
        "cross_entropy": jnp.where(counts, lse - picked, 0), "z_loss": jnp.where(counts, lse**2, 0),
        "correct": counts & (index == labels), "index": jnp.where(counts, index, -1),
    }  # fmt: skip


def summaries(out, loss, live, byte_count):
    """What is reported of a step: means by weight, whose denominator is at least 1."""
    denominator = jnp.maximum(live.sum(), 1)

    def mean(value):
        return (value * live).sum() / denominator

    cross_entropy = mean(out["cross_entropy"])
    return {
        "total_loss": loss, "cross_entropy": cross_entropy, "z_loss": mean(out["z_loss"]),
        "per_target_loss": live * (out["cross_entropy"] + Z_LOSS * out["z_loss"]),
        "accuracy": mean(out["correct"]), "num_targets": live.sum(), "predicted": out["index"],
        "perplexity": jnp.exp(cross_entropy),
        "bits_per_byte": (out["cross_entropy"] * live).sum() / np.log(2) / byte_count,
    }  # fmt: skip


class Loop:
    """Loss and metrics of one step.

    Args:
        vocab, layout: size of the vocabulary, and layout of weights.
        chunks: of the head; 0 is dense logits.
    """

    def __init__(self, vocab, chunks, layout="dv"):
        self.vocab, self.layout, self.chunks = vocab, layout, chunks
        self.head = lt.jit(
            lt.losses.cross_entropy,
            weight_layout=layout,
            z_loss=Z_LOSS,
            chunks=chunks or None,
            returns=METRICS,
        )
        self.step = jax.jit(jax.value_and_grad(self, (0, 1), has_aux=True))

    def __call__(self, hidden, weight, target, live=None):
        labels = labels_of(target, self.vocab)
        counts = (labels >= 0).astype(jnp.float32)
        live = counts if live is None else live * counts
        if self.chunks:
            made = self.head(
                hidden, weight, target=labels, token_weight=live, divisor=jnp.maximum(live.sum(), 1)
            )
            out, loss = made._asdict(), made.loss
        else:
            out = dense_outputs(hidden, weight, labels, self.layout)
            each = out["cross_entropy"] + Z_LOSS * out["z_loss"]
            loss = (live * each).sum() / jnp.maximum(live.sum(), 1)
        return loss, summaries(out, loss, live, byte_count=4 * live.size)


def missing(target, vocab, seed=1):
    """Targets of which a fifth is -1 and a tenth lies beyond the vocabulary."""
    rng = np.random.default_rng(seed)
    target = jnp.where(rng.random(target.shape) < 0.2, -1, target)
    return jnp.where(rng.random(target.shape) < 0.1, vocab + 5, target)


def operands(batch, length, vocab=50, width=16, dtype="float32"):
    """Hidden states [batch, length, width], weights [width, vocab], and targets,
    half of which are likely.
    """
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(batch, length, width))
    weight = rng.normal(size=(width, vocab)) / 2
    likely = (hidden @ weight).argmax(-1)
    target = np.where(rng.random(likely.shape) < 0.5, likely, rng.integers(0, vocab, likely.shape))
    return jnp.asarray(hidden, dtype), jnp.asarray(weight, dtype), missing(jnp.asarray(target), vocab)


# ---- chunks change nothing -----------------------------------------------------------------------

# Lengths of sequences and of their chunks. The short ones are too small to be cut. The long ones
# have a last chunk that is shorter.
LENGTHS = [(16, 8, False), (10, 8, False), (200, 64, True), (211, 32, False)]
MORE = [(16, 7, True), (211, 32, True)]


@pytest.mark.parametrize(
    ("length", "chunk", "is_tied"), LENGTHS + [pytest.param(*case, marks=pytest.mark.full) for case in MORE]
)
def test_chunks_give_the_loss_metrics_and_gradients_of_dense_logits(length, chunk, is_tied):
    """Of every parameter of the model; outputs per token have the shape of the batch."""
    model = LinenModel(10, 16, is_tied)
    params, tokens, target = made(model, 3, length)
    target = missing(target, model.vocab)

    def step(chunks):
        loop = Loop(model.vocab, chunks, model.layout)
        loss = jax.value_and_grad(lambda params: loop(*model.apply(params, tokens), target), has_aux=True)
        (_, metrics), gradients = jax.jit(loss)(params)
        return metrics, gradients

    found = step(-(-length // chunk))
    assert found[0]["per_target_loss"].shape == found[0]["predicted"].shape == (3, length)
    assert_close(found, step(0))


def test_a_longer_sequence_is_cut():
    """The longer ones above do run in several chunks."""
    hidden, weight = lt.ShapeDtype((3, 211, 16), "float32"), lt.ShapeDtype((16, 10), "float32")
    tokens = {"target": "int32", "token_weight": "float32"}
    inputs = {name: lt.ShapeDtype((3, 211), dtype) for name, dtype in tokens.items()}
    plan = Loop(10, 7).head.explain(hidden, weight, **inputs)
    assert plan.chunks == 7 and plan.tokens % plan.chunk_tokens != 0


def test_metrics_of_chunks_need_no_merging():
    """They are per token, and have the same bits for any number of chunks:
    so has any summary of them.
    """
    each = [Loop(50, chunks).step(*operands(4, 150))[0][1] for chunks in (1, 3, 8)]
    assert 0.2 < each[0]["accuracy"] < 0.8
    for other in each[1:]:
        for name, value in each[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_micro_batches_are_merged_by_weight():
    """A mean of means by clipped weights, a maximum by its own rule,
    gradients as a mean by weight too.
    """
    hidden, weight, target = operands(6, 40)
    target = target.at[2:4].set(-1)  # one micro-batch has no target
    live = jnp.asarray(np.random.default_rng(2).random(target.shape), jnp.float32)
    loop = Loop(50, 2)
    cuts = [slice(i, i + 2) for i in (0, 2, 4)]
    parts = [loop.step(hidden[rows], weight, target[rows], live[rows]) for rows in cuts]
    (_, whole), gradients = loop.step(hidden, weight, target, live)
    metrics, weights = [part[0][1] for part in parts], [part[0][1]["num_targets"] for part in parts]
    assert weights[1] == 0 < weights[0] != weights[2]

    def merged(values):
        return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)

    for name in ("total_loss", "cross_entropy", "z_loss", "accuracy"):
        np.testing.assert_allclose(merged([part[name] for part in metrics]), whole[name], rtol=1e-6)
    assert max(part["per_target_loss"].max() for part in metrics) == whole["per_target_loss"].max()
    assert_close(merged([part[1][1] for part in parts]), gradients[1])


# ---- which targets count, and how much -----------------------------------------------------------


def test_float_weights_of_targets():
    arguments = operands(4, 60)
    live = jnp.asarray(np.random.default_rng(2).random((4, 60)), jnp.float32)
    found, wanted = Loop(50, 3), Loop(50, 0)
    for weights in (live, live * 1e-3, jnp.round(live)):  # the sum of the second one is below 1
        assert_close(found.step(*arguments, weights), wanted.step(*arguments, weights))


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_batch_without_targets_gives_zero(chunks):
    hidden, weight, target = operands(4, 60)
    loop = Loop(50, chunks)
    for empty in (-1, PAD, 50):
        (loss, metrics), gradients = loop.step(hidden, weight, jnp.full_like(target, empty))
        assert loss == metrics["cross_entropy"] == metrics["accuracy"] == metrics["num_targets"] == 0
        assert not np.any(gradients[0]) and not np.any(gradients[1])


# ---- AXLearn's own names, called as its causal model calls them ----------------------------------


def average(hidden, weight, labels, live):
    """AXLearn's loss with its dictionary."""
    predictions = {"hidden_states": hidden}
    predictions["logits"] = deferred_logits(lambda given: given["hidden_states"] @ weight, predictions)
    return cross_entropy(predictions["logits"], labels, live_targets=live, z_loss_scale=Z_LOSS)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_gradients_of_the_weights_of_targets(scale):
    """They are in the divisor too, unless their sum is below 1."""
    hidden, weight, target = operands(2, 40)
    labels = jnp.clip(target, 0, 49)
    live = scale * jnp.asarray(np.random.default_rng(2).uniform(0.1, 1, labels.shape), jnp.float32)
    out = dense_outputs(hidden, weight, labels, "dv")

    def dense(live):
        return (live * (out["cross_entropy"] + Z_LOSS * out["z_loss"])).sum() / jnp.maximum(live.sum(), 1)

    found = jax.jit(jax.grad(lambda live: average(hidden, weight, labels, live)[0]))(live)
    assert (live.sum() > 1) == (scale == 1)
    assert relative(found, jax.grad(dense)(live)) < 2e-6


def test_metrics_of_each_chunk_of_a_scan():
    """With `scan_chunk`, the rematerialised body of a scan calls the loss and its metrics."""
    hidden, weight, target = operands(3, 40)
    labels = labels_of(target, 50)

    def cut(array):
        return jnp.moveaxis(array.reshape(3, 5, 8, *array.shape[2:]), 1, 0)

    def scanned(hidden, weight):
        @jax.checkpoint
        def chunk(total, given):
            rows, labels = given
            count = (labels >= 0).sum()
            loss, made = average(rows, weight, labels, labels >= 0)
            return total + count * loss, (count * made["accuracy"], made["per_target_loss"])

        total, (correct, each) = jax.lax.scan(chunk, 0.0, (cut(hidden), cut(labels)))
        count = (labels >= 0).sum()
        return total / count, (correct.sum() / count, jnp.moveaxis(each, 0, 1).reshape(labels.shape))

    def whole(hidden, weight):
        loss, made = average(hidden, weight, labels, labels >= 0)
        return loss, (made["accuracy"], made["per_target_loss"])

    found, wanted = (
        jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(hidden, weight) for loss in (scanned, whole)
    )
    assert 0.2 < found[0][1][0] < 0.8
    assert_close(found, wanted)


# ---- precision, and what is refused --------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", pytest.param("float16", marks=pytest.mark.full)])
def test_logits_are_as_good_as_float32(dtype):
    """Hidden states and weights of 16 bits are not rounded again on their way to the loss."""
    hidden, weight, target = operands(4, 100, vocab=500, width=32, dtype=dtype)
    loss, metrics = Loop(500, 3)(hidden, weight, target)
    z = np.asarray(hidden, np.float64) @ np.asarray(weight, np.float64)
    labels = np.asarray(labels_of(target, 500))
    lse = np.log(np.exp(z).sum(-1))
    each = lse - np.take_along_axis(z, np.maximum(labels, 0)[..., None], -1)[..., 0] + Z_LOSS * lse**2
    each[labels < 0] = 0
    assert loss.dtype == metrics["per_target_loss"].dtype == jnp.float32
    assert relative(metrics["per_target_loss"], each) < 1e-6
    assert abs(loss - each.sum() / (labels >= 0).sum()) < 1e-6 * loss


def test_what_is_refused():
    """A negative z-loss, and targets that are distributions: those have a loss of their own."""
    hidden, weight, target = jnp.ones((4, 8)), jnp.ones((8, 20)), jnp.zeros(4, int)
    head = lt.jit(lt.losses.cross_entropy, weight_layout="dv", z_loss=-1e-4)
    with pytest.raises(lt.CallValueError, match="z_loss=-0.0001 must be a finite number of 0 or more"):
        head(hidden, weight, target=target)
    head = lt.jit(lt.losses.cross_entropy, weight_layout="dv", label_smoothing=0.1)
    with pytest.raises(lt.CallValueError, match=r"'target' has shape \[4, 20\]; lt.Token\[int\] needs \[4\]"):
        head(hidden, weight, target=jnp.full((4, 20), 0.05))


# ---- memory and meshes ---------------------------------------------------------------------------


def test_sixteen_thousand_tokens_with_a_large_vocabulary():
    """Float32 logits have 9.6 GB, those of 512 tokens 313 MB: half on CPUs with bfloat16."""
    tokens, vocab = 16384, 153_600
    inputs = {name: lt.ShapeDtype((tokens,), dtype)
              for name, dtype in (("target", "int32"), ("token_weight", "float32"))}  # fmt: skip
    head = lt.jit(lt.losses.cross_entropy, weight_layout="dv", chunks=tokens // 512, returns=METRICS)
    operands = (lt.ShapeDtype((tokens, 2048), "bfloat16"), lt.ShapeDtype((2048, vocab), "bfloat16"))
    plan = head.explain(*operands, **inputs)
    of_weight = 4 * 2048 * vocab  # its gradient, added up in float32
    assert plan.chunk_tokens == 512
    kept = 313e6 / 2 if "bf16" in plan.target else 313e6
    assert plan.workspace_bytes - of_weight < 1.33 * kept


@pytest.mark.parametrize("axis", ["vocabulary", "sequence"])
def test_a_mesh_gathers_no_hidden_states(axis):
    """The batch on one axis, `axis` on the other: metrics and gradients are those of one device."""
    mesh, arguments = mesh_of((2, 2)), operands(4, 64, vocab=512)
    tokens = P("data", None) if axis == "vocabulary" else P("data", "tp")
    places = (tokens, P(None, "tp") if axis == "vocabulary" else P(), tokens)
    placed = [
        jax.device_put(array, jax.sharding.NamedSharding(mesh, place))
        for array, place in zip(arguments, places, strict=True)
    ]
    step = Loop(512, 2).step
    assert_close(step(*placed), step(*arguments))
    states = 2 * (4 * 64 // 2) * 5  # slices, tokens of a device, rows of a sweep
    assert states < arguments[0].size / 2  # hidden states
    assert all(size <= states for size in gathered(step.lower(*placed).compile().as_text()))


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 1e-2)])
def test_many_tokens_and_a_large_vocabulary(dtype, bound):
    """Chunks against dense logits: loss and metrics, and gradients in the type of the operands."""
    arguments = operands(4, 500, vocab=8000, width=64, dtype=dtype)
    found, wanted = (Loop(8000, chunks).step(*arguments) for chunks in (8, 0))
    assert_close(found[0], wanted[0])
    assert_close(found[1], wanted[1], bound)
