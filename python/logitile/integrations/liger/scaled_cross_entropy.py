"""Liger's fused linear scaled cross-entropy: cross-entropy and entropy of each token at a
temperature, also with a slice of the vocabulary on each process.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...errors import CallIndexError, CallTypeError, CallValueError
from ...frameworks.arrays import HOST
from ...language import functions as lt
from ...language.annotations import Logits, Scalar, Token
from ...language.definition import loss
from ...language.outputs import Outputs
from ...parallel import vocab_parallel
from ..coefficients import Coefficient, check_positive, of_temperature
from ..heads import head


@loss
def scaled(
    z: Logits, target: Token[int], *, temperature: Scalar | None = None, returns: tuple[str, ...] = ()
):
    """-log p[y] of logits that are divided by a temperature, and the outputs in `returns`.
    These are "entropy", and "lse", the log of the sum of exponentials. All have gradients.
    """
    scaled = z if temperature is None else z / temperature
    lse = lt.logsumexp(scaled)
    outputs = {"nll": lse - scaled[target]}
    if "entropy" in returns:
        log_p = lt.log_softmax(scaled)
        outputs["entropy"] = -lt.sum(lt.exp(log_p) * log_p)
    if "lse" in returns:
        outputs["lse"] = lse
    return Outputs(**outputs)


class LigerFusedLinearScaledCrossEntropyFunction:
    """Stands for Liger's function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        _input: Tensor,
        weight: Tensor,
        target: Tensor,
        temperature: Coefficient = 1.0,
        ignore_index: int = -100,
        m_tiles_per_cluster: int = 1,
        return_entropy: bool = False,
        selected_token_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        """The cross-entropy of each token.

        Args:
            _input: hidden states, [N, D].
            weight: [V, D].
            target: [N].
            temperature: above 0; the logits are divided by it. It may be a tensor without axes,
                which gets a gradient if it requires one.
            ignore_index: the target of tokens whose results are 0, without a gradient.
            m_tiles_per_cluster: a positive int; it has no effect.
            return_entropy: return the entropy of each token too.
            selected_token_ids: int64 [K], vocabulary entries whose log-probabilities are returned
                too, in this order. Their logits are K products with each hidden state, in float32.

        Returns: the cross-entropy, float32 [N]; with more of them a tuple: the entropy, [N] in the
            type of `_input`, and the log-probabilities, float32 [N, K]. All have gradients.

        Raises:
            CallError: shapes, types or values do not agree,
                or an index lies outside the vocabulary.
        """
        _check_count("m_tiles_per_cluster", m_tiles_per_cluster)
        _check(temperature, return_entropy)
        returns = ("entropy",) if return_entropy else ()
        if selected_token_ids is not None:
            _check_ids(selected_token_ids, weight)
            returns = (*returns, "lse")
        run = head(scaled, ignore_index=ignore_index, returns=returns)
        result = run(_input, weight, target=target, **of_temperature(temperature))
        values = [result.nll]
        if return_entropy:
            values.append(result.entropy.to(_input.dtype))
        if selected_token_ids is not None:
            counts = (target != ignore_index)[:, None]
            values.append(_selected(_input, weight, selected_token_ids, temperature, result.lse, counts))
        return values[0] if len(values) == 1 else tuple(values)


class LigerFusedLinearScaledCrossEntropyTPFunction:
    """Stands for Liger's function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        _input: Tensor,
        weight: Tensor,
        target: Tensor,
        tp_group: Any,
        temperature: Coefficient = 1.0,
        ignore_index: int = -100,
        tiles_per_reduce: int = 1,
        return_entropy: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The cross-entropy of each token,
        with a slice of the vocabulary on each process of a group.

        Args:
            _input: hidden states, [N, D]; the same on every process.
            weight: this process's rows, [V_local, D]. Slices lie in the order of ranks; Liger wants
                equal ones, here their sizes may differ.
            target: [N], indices of the whole vocabulary; the same on every process.
            tp_group: the processes; None is the group of all.
            temperature: above 0; the logits are divided by it. A tensor without axes is the same
                number on every process. It gets a gradient if it requires one.
            ignore_index: the target of tokens whose results are 0, without a gradient.
            tiles_per_reduce: 1, 2 or 4; it has no effect.
            return_entropy: return (cross-entropy, entropy).

        Returns: float32 [N] each, the same on every process. The gradient of `_input` is that of
            the whole vocabulary, that of `weight` is this slice's.

        Raises:
            CallError: shapes, types or values do not agree, an index lies outside the vocabulary,
                or another process has failed.
        """
        _check_count("tiles_per_reduce", tiles_per_reduce)
        if tiles_per_reduce not in (1, 2, 4):
            raise CallValueError(f"tiles_per_reduce={tiles_per_reduce} is none of 1, 2 and 4")
        _check(temperature, return_entropy)
        made = head(scaled, ignore_index=ignore_index, returns=("entropy",) if return_entropy else ())
        run = vocab_parallel(made, tp_group)
        result: Any = run(_input, weight, target=target, **of_temperature(temperature))
        return (result.nll, result.entropy) if return_entropy else result.nll


def liger_fused_linear_scaled_cross_entropy_tp(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    tp_group: Any,
    temperature: Coefficient = 1.0,
    ignore_index: int = -100,
    tiles_per_reduce: int = 1,
    return_entropy: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """LigerFusedLinearScaledCrossEntropyTPFunction.apply, whose arguments these are."""
    return LigerFusedLinearScaledCrossEntropyTPFunction.apply(
        input, weight, target, tp_group, temperature, ignore_index, tiles_per_reduce, return_entropy
    )


def _check_count(name: str, value: Any) -> None:
    """Refuses what is no positive int."""
    if type(value) is not int or value < 1:
        raise CallValueError(f"{name}={value!r} must be a positive int")


def _check(temperature: Any, return_entropy: Any) -> None:
    if not isinstance(return_entropy, bool):
        raise CallTypeError(f"return_entropy={return_entropy!r} must be True or False")
    check_positive("temperature", temperature)


def _check_ids(ids: Any, weight: Tensor) -> None:
    if not isinstance(ids, Tensor) or ids.dtype != torch.int64 or ids.dim() != 1:
        what = f"{ids.dtype} {list(ids.shape)}" if isinstance(ids, Tensor) else repr(ids)
        raise CallTypeError(f"selected_token_ids is {what}; it must be a tensor of int64 [K]")
    if ids.device.type != HOST or torch.compiler.is_compiling() or not ids.numel():
        return  # indexing the weight refuses others there
    least, most = int(ids.min()), int(ids.max())
    if least < 0 or most >= weight.shape[0]:
        raise CallIndexError(
            f"selected_token_ids has indices from {least} to {most}; those of the vocabulary are 0 to "
            f"{weight.shape[0] - 1}"
        )


def _selected(
    hidden: Tensor, weight: Tensor, ids: Tensor, temperature: Any, lse: Tensor, counts: Tensor
) -> Tensor:
    """Log-probabilities of the entries `ids`, float32 [N, K]; 0 where a token does not count.

    Args:
        lse: of the scaled logits, [N].
        counts: which tokens count, [N, 1]. Those that do not may hold anything.
    """
    hidden, rows, device = torch.where(counts, hidden, 0), weight.index_select(0, ids), hidden.device.type
    if torch.is_autocast_enabled(device):  # then heads round operands, from which `lse` is
        hidden, rows = (tensor.to(torch.get_autocast_dtype(device)) for tensor in (hidden, rows))
    with torch.autocast(device, enabled=False):
        logits = hidden.float() @ rows.float().T
    return torch.where(counts, logits / temperature - lse[:, None], 0.0)
