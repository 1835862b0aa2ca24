"""The losses of MaxText's vocabulary tiling under their own names, on heads.

They call the output layer of the model as MaxText does, and leave its product with the weight to a
head. No array of logits is made, and the number of tokens need not be a multiple of the number of
tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import CallValueError
from .metrics import call, coefficient
from .traced_logits import logits_of

_METHOD = "logits_from_hidden_states_for_vocab_tiling"


def vocab_tiling_linen_loss(
    hidden_states: Any, data: Mapping[str, Any], config: Any, model: Any, params: Any, is_train: bool
) -> tuple[Any, Any]:
    """The sums over tokens of the loss and of the z-loss, of a model of Flax Linen.
    The loss includes the z-loss.

    Args:
        hidden_states: [batch, length, width], of the decoder.
        data: `targets` and `targets_segmentation`, int [batch, length].
            Tokens of segment 0 do not count.
        config: its `num_vocab_tiling` is the number of chunks of tokens, `z_loss_multiplier` the
            weight of lse**2, and `enable_dropout` is given to the model in training.
        model: has the method `logits_from_hidden_states_for_vocab_tiling`.
        params: of the model, `params["params"]`.
        is_train: false turns dropout off.

    Returns:
        Two float32 numbers. The second one carries no gradient.

    Raises:
        CallTypeError: the output layer does what no head can follow.
        CallValueError: `num_vocab_tiling` is no positive number.
    """

    def logits(hidden: Any) -> Any:
        return model.apply(
            {"params": params["params"]},
            hidden,
            deterministic=_is_deterministic(config, is_train),
            method=_METHOD,
        )

    return _sums(logits, hidden_states, data, config)


def vocab_tiling_nnx_loss(
    model: Any, hidden_states: Any, data: Mapping[str, Any], config: Any, is_train: bool
) -> tuple[Any, Any]:
    """The same of a model of Flax NNX.

    Args:
        model: has the method `logits_from_hidden_states_for_vocab_tiling`.
        hidden_states, data, config, is_train: as of `vocab_tiling_linen_loss`.

    Returns:
        As `vocab_tiling_linen_loss`.

    Raises:
        CallTypeError, CallValueError: as `vocab_tiling_linen_loss`.
    """
    from flax import nnx

    graph, state = nnx.split(model)

    def logits(hidden: Any) -> Any:
        # what the trace changes in a model stays in the copy
        copy = nnx.merge(graph, state, copy=True)
        return getattr(copy, _METHOD)(hidden, _is_deterministic(config, is_train), "train")

    return _sums(logits, hidden_states, data, config)


def _is_deterministic(config: Any, is_train: bool) -> bool:
    return not (is_train and config.enable_dropout)


def _sums(logits: Callable[[Any], Any], hidden: Any, data: Mapping[str, Any], config: Any) -> tuple[Any, Any]:
    if config.num_vocab_tiling < 1:
        raise CallValueError(f"num_vocab_tiling={config.num_vocab_tiling!r} must be 1 or more")
    weight = coefficient("z_loss_multiplier", config.z_loss_multiplier)
    # MaxText's output layers take the tokens of a tile so
    tokens = hidden.reshape(-1, hidden.shape[-1])
    out = call(
        logits_of(logits, tokens),
        data["targets"].reshape(-1),
        (data["targets_segmentation"] != 0).reshape(-1),
        chunks=config.num_vocab_tiling if config.num_vocab_tiling > 1 else None,
        z_loss=weight,
    )
    return out.loss, jax.lax.stop_gradient(jnp.float32(weight)) * out.z_loss.sum()
