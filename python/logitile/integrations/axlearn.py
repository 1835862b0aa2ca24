"""The loss of AXLearn's language models under its own names, on heads: cross-entropy with its
dictionary of metrics, also in chunks of the sequence.

Where AXLearn has an array of logits, these functions take logits that are not computed:
`deferred_logits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import CallTypeError, CallValueError
from .metrics import call, coefficient, known
from .traced_logits import TracedLogits, logits_of


def deferred_logits(
    compute_logits: Callable[[Mapping[str, Any]], Any], predictions: Mapping[str, Any]
) -> TracedLogits:
    """The logits of `compute_logits(predictions)` for `cross_entropy`, without computing them.

    Args:
        compute_logits: that of a model or decoder of AXLearn, or any function like it.
        predictions: has `hidden_states` [..., D].

    Raises:
        CallTypeError: `compute_logits` does what no head can follow.
    """

    def logits(hidden: Any) -> Any:
        return compute_logits({**predictions, "hidden_states": hidden})

    return logits_of(logits, predictions["hidden_states"])


def cross_entropy(
    logits: TracedLogits,
    target_labels: Any,
    *,
    live_targets: Any = None,
    z_loss_scale: Any = 0.0,
    label_smoothing: Any = 0.0,
    soft_target_labels: Any = None,
    chunks: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Cross-entropy and its metrics, as `axlearn.common.loss.cross_entropy`.

    Args:
        logits: of `deferred_logits`.
        target_labels: int [...]. Labels outside of the vocabulary are no entry of it.
        live_targets: bool, int or float, broadcastable to `target_labels`: how much each counts.
            Left out: all labels in the vocabulary count.
        z_loss_scale: 0 or more, the weight of lse**2 in the loss.
        label_smoothing: from 0 to 1. Both may be arrays of one number, also such that JAX traces.
        soft_target_labels: [..., V], probabilities in the place of `target_labels`,
            without smoothing.
        chunks: of tokens. AXLearn has no such argument; None leaves it to the memory budget.

    Returns:
        The loss, and `total_loss` (the same), `z_loss` (without its scale), `cross_entropy_loss`
        and `accuracy`, each divided by the sum of `live_targets`, at least by 1; and
        `per_target_loss` [...], which is 0 where nothing counts. The loss alone carries a gradient:
        of the logits, of `soft_target_labels`, of both numbers, and of `live_targets` where those
        are floats.

    Raises:
        CallTypeError: `logits` is an array, or an argument is not a number.
        CallValueError: a number is out of range, or labels are smoothed twice.
    """
    if not isinstance(logits, TracedLogits):
        raise CallTypeError(
            f"'logits' is a {type(logits).__name__}; give deferred_logits(compute_logits, predictions), "
            "so that no array of logits is made"
        )
    z_loss_scale = coefficient("z_loss_scale", z_loss_scale)
    label_smoothing = coefficient("label_smoothing", label_smoothing)
    _check(known(z_loss_scale), known(label_smoothing), soft_target_labels is not None)
    if live_targets is None:
        live_targets = (target_labels >= 0) & (target_labels < logits.shape[-1])
    is_weighted = jnp.issubdtype(jnp.result_type(live_targets), jnp.floating)
    live = jnp.broadcast_to(live_targets, target_labels.shape).astype(jnp.float32)
    divisor = jnp.maximum(live.sum(), 1)
    out = call(
        logits, target_labels, live, jax.lax.stop_gradient(divisor), soft_target_labels, chunks,
        z_loss=z_loss_scale, label_smoothing=label_smoothing,
    )  # fmt: skip

    # A head takes its divisor for a number. As a function of the weights it has a gradient,
    # that of this 1.
    loss = out.loss * (jax.lax.stop_gradient(divisor) / divisor) if is_weighted else out.loss

    def mean(value: Any) -> Any:
        return (value * live).sum() / divisor

    return loss, {
        "total_loss": loss,
        "z_loss": mean(out.z_loss),
        "cross_entropy_loss": mean(out.cross_entropy),
        "per_target_loss": out.cross_entropy + jax.lax.stop_gradient(z_loss_scale) * out.z_loss,
        "accuracy": mean(out.correct),
    }


def _check(z_loss_scale: float | None, label_smoothing: float | None, is_soft: bool) -> None:
    """Refuses numbers that are out of range; None stands for those that JAX traces."""
    if z_loss_scale is not None and z_loss_scale < 0:
        raise CallValueError(f"z_loss_scale={z_loss_scale!r} must not be negative")
    if label_smoothing is not None and not 0 <= label_smoothing <= 1:
        raise CallValueError(f"label_smoothing={label_smoothing!r} must lie between 0 and 1")
    if is_soft and label_smoothing != 0:
        given = "traced by JAX" if label_smoothing is None else repr(label_smoothing)
        raise CallValueError(f"label_smoothing={given} cannot be given with soft_target_labels; make it 0")


def chunked_metrics(
    compute_logits: Callable[[Mapping[str, Any]], Any],
    input_batch: Mapping[str, Any],
    *,
    predict_outputs: Mapping[str, Any],
    z_loss_scale: Any = None,
    scan_chunk: int | None = None,
    pad_token_id: int | None = None,
) -> tuple[Any, dict[str, Any], dict[str, tuple[Any, Any]]]:
    """The loss, metrics and reports of a causal model of AXLearn with `scan_chunk`.

    Args:
        compute_logits: of the model, see `deferred_logits`.
        input_batch: `target_labels`, int [batch, length]; perhaps `live_targets`,
            and `target_num_bytes` [batch].
        predict_outputs: has `hidden_states` [batch, length, D].
        z_loss_scale: as of `CrossEntropyLossMetrics`; None is 0.
        scan_chunk: positions of a chunk. It need not divide the length.
            None leaves it to the memory budget.
        pad_token_id: targets with this number do not count.

    Returns:
        The loss; the metrics `cross_entropy`, `per_token_loss`, `live_targets`, `num_targets`; and
        summaries by name, each a mean and its weight, as `WeightedSummary` takes them: `accuracy`,
        `z_loss`, `cross_entropy_loss`, `perplexity`, `loss`, `train_live_targets`, and
        `bits_per_byte` where `target_num_bytes` is there.

    Raises:
        CallTypeError, CallValueError: as `cross_entropy` and `deferred_logits`.
    """
    labels = input_batch["target_labels"]
    if pad_token_id is not None:
        labels = jnp.where(labels == pad_token_id, -1, labels)
    live = input_batch.get("live_targets")
    if live is None:
        live = labels >= 0
    scale = 0.0 if z_loss_scale is None else z_loss_scale
    loss, made = cross_entropy(
        deferred_logits(compute_logits, predict_outputs), labels, live_targets=live, z_loss_scale=scale,
        chunks=_chunks(labels.shape[1], scan_chunk),
    )  # fmt: skip
    count, rows = live.sum(), labels.shape[0]
    per_token = made["per_target_loss"] * live
    summaries = {name: (made[name], count) for name in ("accuracy", "z_loss")}
    summaries |= {
        "cross_entropy_loss": (loss, count),
        "perplexity": (jnp.exp(loss), count),
        "loss": (loss, count),
    }
    summaries["train_live_targets"] = (count / rows, rows)
    if (counted := input_batch.get("target_num_bytes")) is not None:
        size = counted.sum()
        summaries["bits_per_byte"] = (per_token.sum() / jnp.maximum(1, size) / jnp.log(2), size)
    metrics = {"cross_entropy": loss, "per_token_loss": per_token, "live_targets": live, "num_targets": count}
    return loss, metrics, summaries


def _chunks(length: int, scan_chunk: int | None) -> int | None:
    if scan_chunk is not None and scan_chunk < 1:
        raise CallValueError(f"scan_chunk={scan_chunk!r} must be 1 or more")
    return None if scan_chunk is None or length <= scan_chunk else -(-length // scan_chunk)
