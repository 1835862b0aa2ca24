"""Cross-entropy with metrics in the style of projects in JAX: a target outside of the vocabulary
matches no entry, and is not an error.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import CallTypeError
from ..head import Head
from ..jit import jit
from ..language import functions as lt
from ..language.annotations import Dense, Logits, Scalar, Token
from ..language.definition import loss
from ..language.outputs import Outputs
from .traced_logits import Step, TracedLogits

_IGNORED = -100


def coefficient(name: str, given: Any) -> Any:
    """A coefficient: a number, or an array of one number, which JAX may trace.
    Kernels read it at each call.

    Raises:
        CallTypeError: it is no number.
    """
    if isinstance(given, jax.core.Tracer) and given.size == 1:
        return given.reshape(()).astype(jnp.float32)
    try:
        return float(given)
    except (TypeError, ValueError):
        raise CallTypeError(f"{name}={given!r} must be a number") from None


def known(value: Any) -> float | None:
    """The number of a coefficient; None where JAX traces it."""
    return None if isinstance(value, jax.core.Tracer) else value


def call(
    logits: TracedLogits,
    target: Any,
    live: Any,
    divisor: Any = None,
    soft_target: Any = None,
    chunks: int | None = None,
    **coefficients: Any,
) -> Any:
    """Loss and metrics of all tokens, in one pass over the vocabulary.

    Args:
        target: int [...]. What is no entry of the vocabulary has a probability of
            0 for all entries.
        live: [...], how much each token counts. Tokens with 0 are left out of the work.
        divisor: of the loss, one number; None means the sum over tokens.
        soft_target: [..., V], probabilities in the place of `target`.
        chunks: of tokens; None leaves it to the budget of the head.
        coefficients: `z_loss` and `label_smoothing`. A number of 0 leaves its term out.

    Returns:
        `Outputs(loss, cross_entropy, z_loss, correct)`. All but `loss` are per token, not
        multiplied by `live`, 0 where that is 0, and without gradient.
    """
    has_class = (target >= 0) & (target < logits.shape[-1])
    label = jnp.where(live != 0, jnp.where(has_class, target, 0), _IGNORED)
    inputs = {"live": live.astype(jnp.float32), "has_class": has_class.astype(jnp.float32)}
    if soft_target is not None:
        inputs["soft_target"] = soft_target
    inputs |= {name: value for name, value in coefficients.items() if known(value) != 0}
    made = _head(logits.steps, logits.layout, chunks, divisor is None)
    if divisor is not None:
        inputs["divisor"] = divisor
    return made(logits.hidden, logits.weight, target=label, **inputs)


@functools.lru_cache(maxsize=256)
def _head(steps: Sequence[Step], layout: str, chunks: int | None, is_sum: bool) -> Head:
    def metrics(
        z: Logits,
        target: Token[int],
        live: Token[float],
        has_class: Token[float],
        soft_target: Dense[float] | None = None,
        z_loss: Scalar | None = None,
        label_smoothing: Scalar | None = None,
    ):
        for step in steps:
            z = lt.tanh(z) if step[0] == "tanh" else z * step[1]
        lse, index = lt.logsumexp(z), lt.argmax(z)
        if soft_target is not None:
            cross_entropy = lt.sum(soft_target * (lse - z))
        else:
            cross_entropy = has_class * (lse - z[target])
            if label_smoothing is not None:
                cross_entropy = (1 - label_smoothing) * cross_entropy + label_smoothing * (lse - lt.mean(z))
        value = cross_entropy if z_loss is None else cross_entropy + z_loss * lse * lse
        return Outputs(
            loss=live * value,
            cross_entropy=lt.stop_gradient(cross_entropy),
            z_loss=lt.stop_gradient(lse * lse),
            correct=(index == target) & (has_class > 0),
        )

    bound: dict[str, Any] = {"ignore": "target", "ignore_index": _IGNORED, "chunks": chunks}
    bound |= {"weight_layout": layout, "reduction": "sum" if is_sum else "mean"}
    return jit(loss(metrics), **bound)
