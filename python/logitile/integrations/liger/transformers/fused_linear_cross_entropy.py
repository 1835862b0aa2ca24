"""Liger's fused linear cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .... import losses
from ....errors import CallValueError
from ....language import functions as lt
from ....language.annotations import Logits, Scalar, Token, Vocab
from ....language.definition import loss
from ....language.outputs import Outputs
from ....losses.ranges import check_positive
from ...coefficients import Coefficient, check, constant, given, is_number
from ...heads import head
from ..options import check_accum_dtype, check_kernels, check_reduction

_Results = tuple[Tensor, "Tensor | None", "Tensor | None", "Tensor | None"]


@dataclass
class CrossEntropyOutput:
    """What the functions return once a `return_` flag is set; None for what was not asked for."""

    loss: Tensor
    z_loss: Tensor | None = None
    token_accuracy: Tensor | None = None
    predicted_tokens: Tensor | None = None


# ---- cross-entropy -------------------------------------------------------------------------------


@loss
def fused_cross_entropy(
    z: Logits,
    target: Token[int],
    *,
    class_weight: Vocab[float] | None = None,
    bias: Vocab[float] | None = None,
    label_smoothing: Scalar | float = 0.0,
    z_loss: Scalar | float = 0.0,
    softcap: float | None = None,
    scales_tokens: bool = False,
    returns: tuple[str, ...] = (),
):
    """Cross-entropy of one token.
    With `scales_tokens`, loss and z-loss of a token are multiplied by the probability of its
    target, which is a constant for gradients.
    """
    result: Any = losses.cross_entropy(
        z, target, class_weight=class_weight, bias=bias, label_smoothing=label_smoothing, z_loss=z_loss,
        softcap=softcap, returns=returns,
    )  # fmt: skip
    if not scales_tokens:
        return result
    nll: Any = losses.cross_entropy(z, target, bias=bias, softcap=softcap)
    factor = lt.stop_gradient(lt.exp(-nll))
    if not isinstance(result, Outputs):
        return factor * result
    return Outputs(**{n: factor * x if n in ("loss", "z_loss") else x for n, x in vars(result).items()})


class LigerFusedLinearCrossEntropyFunction:
    """Stands for Liger's autograd function of this name, of which code calls `apply`."""

    @staticmethod
    def apply(
        _input: Tensor,
        weight: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        ce_weight: Tensor | None = None,
        ignore_index: int = -100,
        lse_square_scale: Coefficient = 0.0,
        label_smoothing: Coefficient = 0.0,
        reduction: str = "mean",
        softcap: float | None = None,
        return_z_loss: bool = False,
        accum_dtype: torch.dtype | None = None,
        use_token_scaling: bool = False,
        return_token_accuracy: bool = False,
        return_predicted_tokens: bool = False,
        ce_impl: str | None = None,
        ce_mode: str | None = None,
        chunk_mem_const: int = 1,
    ) -> _Results:
        """Cross-entropy of softcap(_input @ weight.T + bias).

        Args:
            _input: hidden states, [N, D].
            weight: [V, D].
            target: [N].
            bias: [V].
            ce_weight: one per class, [V]; it gets no gradient.
            ignore_index: the target of tokens that count nowhere.
            lse_square_scale: the weight of lse**2 in the loss. A mean divides it by the number of
                tokens that count, the cross-entropy by their class weights.
            label_smoothing: from 0 to 1. Like `lse_square_scale` it may be a tensor without axes,
                which gets a gradient if it requires one.
            reduction: "mean", "sum" or "none".
            softcap: above 0, or None.
            return_z_loss, return_token_accuracy, return_predicted_tokens: what is returned besides.
            accum_dtype: None or a type of at most 32 bits; sums are float32.
            use_token_scaling: multiply a token's loss by the probability of its target,
                as a constant.
            ce_impl, ce_mode: refused if given: they name kernels of Liger.
            chunk_mem_const: logits of a chunk may take this many times the memory of the input.

        Returns: (loss, z_loss, token_accuracy, predicted_tokens), None where a flag is not set. The
            loss is float32, z_loss has the type of `_input`. Accuracy is reduced to a mean unless
            reduction="none". predicted_tokens are -1 where a token is ignored. The loss alone has a
            gradient; where all tokens are ignored, it is 0.

        Raises:
            CallError: shapes, types or values do not agree,
                or a target lies outside the vocabulary.
        """
        check_kernels(ce_impl=ce_impl, ce_mode=ce_mode)
        _check(accum_dtype, lse_square_scale, label_smoothing, reduction)
        softcap = _softcap(softcap)
        flags = {
            "z_loss": return_z_loss,
            "correct": return_token_accuracy,
            "index": return_predicted_tokens,
        }
        counts = target != ignore_index
        inputs = given(label_smoothing=label_smoothing)
        if ce_weight is not None:
            inputs["class_weight"] = ce_weight.detach()
        if not is_number(lse_square_scale, 0):
            ratio = 1.0 if ce_weight is None or reduction != "mean" else _ratio(ce_weight, target, counts)
            inputs["z_loss"] = lse_square_scale * ratio
        how = {"all_ignored": "zero"} if reduction == "mean" else {}
        run = head(
            fused_cross_entropy, reduction=reduction, ignore_index=ignore_index, softcap=softcap,
            scales_tokens=use_token_scaling, returns=tuple(name for name, asked in flags.items() if asked),
            **how, **_chunks(chunk_mem_const, _input, weight),
        )  # fmt: skip
        result: Any = run(_input, weight, target=target, bias=bias, **inputs)
        if isinstance(result, Tensor):
            return result, None, None, None
        outputs = result._asdict()
        z_loss, accuracy = outputs.get("z_loss"), outputs.get("correct")
        if z_loss is not None:
            z_loss = lse_square_scale * _reduced(z_loss, reduction, counts)
            z_loss = z_loss.detach().to(_input.dtype)
        if accuracy is not None:
            accuracy = _reduced(accuracy.float(), "none" if reduction == "none" else "mean", counts, least=0)
        return result.loss, z_loss, accuracy, outputs.get("index")


def liger_fused_linear_cross_entropy(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    ce_weight: Tensor | None = None,
    ignore_index: int = -100,
    lse_square_scale: Coefficient = 0.0,
    label_smoothing: Coefficient = 0.0,
    reduction: str = "mean",
    softcap: float | None = None,
    return_z_loss: bool = False,
    accum_dtype: torch.dtype | None = None,
    use_token_scaling: bool = False,
    return_token_accuracy: bool = False,
    return_predicted_tokens: bool = False,
    chunk_mem_const: int = 1,
) -> Tensor | CrossEntropyOutput:
    """The loss, or a CrossEntropyOutput if a `return_` flag is set.
    Arguments are those of LigerFusedLinearCrossEntropyFunction.apply.
    """
    results = LigerFusedLinearCrossEntropyFunction.apply(
        input, weight, target, bias, ce_weight, ignore_index, lse_square_scale, label_smoothing, reduction,
        softcap, return_z_loss, accum_dtype, use_token_scaling, return_token_accuracy,
        return_predicted_tokens, chunk_mem_const=chunk_mem_const,
    )  # fmt: skip
    has_more = return_z_loss or return_token_accuracy or return_predicted_tokens
    return CrossEntropyOutput(*results) if has_more else results[0]


class LigerFusedLinearCrossEntropyLoss(torch.nn.Module):
    """liger_fused_linear_cross_entropy with fixed options. The module has no weight."""

    def __init__(
        self,
        ce_weight: Tensor | None = None,
        ignore_index: int = -100,
        lse_square_scale: Coefficient = 0.0,
        label_smoothing: Coefficient = 0.0,
        reduction: str = "mean",
        softcap: float | None = None,
        return_z_loss: bool = False,
        accum_dtype: torch.dtype | None = None,
        use_token_scaling: bool = False,
        return_token_accuracy: bool = False,
        return_predicted_tokens: bool = False,
    ):
        super().__init__()
        _check(accum_dtype, lse_square_scale, label_smoothing, reduction)
        _softcap(softcap)
        self.ce_weight, self.ignore_index = ce_weight, ignore_index
        self.lse_square_scale, self.label_smoothing = lse_square_scale, label_smoothing
        self.reduction, self.softcap = reduction, softcap
        self.accum_dtype, self.use_token_scaling = accum_dtype, use_token_scaling
        self.return_z_loss = return_z_loss
        self.return_token_accuracy = return_token_accuracy
        self.return_predicted_tokens = return_predicted_tokens

    def forward(
        self, lin_weight: Tensor, _input: Tensor, target: Tensor, bias: Tensor | None = None
    ) -> Tensor | CrossEntropyOutput:
        """The loss of hidden states `_input` under the weight `lin_weight`."""
        return liger_fused_linear_cross_entropy(
            _input, lin_weight, target, bias, self.ce_weight, self.ignore_index, self.lse_square_scale,
            self.label_smoothing, self.reduction, self.softcap, self.return_z_loss, self.accum_dtype,
            self.use_token_scaling, self.return_token_accuracy, self.return_predicted_tokens,
        )  # fmt: skip


def _check(accum_dtype: Any, lse_square_scale: Any, label_smoothing: Any, reduction: Any) -> None:
    check_accum_dtype(accum_dtype)
    check("label_smoothing", label_smoothing, 0, 1)
    check("lse_square_scale", lse_square_scale)
    check_reduction(reduction, "mean", "sum", "none")


def _softcap(softcap: Any) -> float | None:
    """A number above 0, or None."""
    number: float | None = constant("softcap", softcap)
    if number is not None:
        check_positive("softcap", number)
    return number


def _chunks(chunk_mem_const: Any, _input: Tensor, weight: Tensor) -> dict[str, int]:
    """The option of lt.jit for the memory that a caller allows;
    the default is the head's own budget.
    """
    if type(chunk_mem_const) is not int or chunk_mem_const < 1:
        raise CallValueError(f"chunk_mem_const={chunk_mem_const!r} must be a positive int")
    if chunk_mem_const == 1:
        return {}
    return {"chunks": -(-weight.shape[0] // (chunk_mem_const * weight.shape[1]))}


def _ratio(ce_weight: Tensor, target: Tensor, counts: Tensor) -> Tensor:
    """The mean class weight of the tokens that count:
    by it a mean over weights becomes one over tokens.
    """
    weights = ce_weight.detach()[torch.where(counts, target, 0)] * counts
    return weights.float().sum() / counts.sum().clamp(min=1)


def _reduced(per_token: Tensor, reduction: str, counts: Tensor, least: int = 1) -> Tensor:
    """Per token, the sum, or the mean over tokens that count; ignored tokens are 0."""
    if reduction == "none":
        return per_token
    total = per_token.sum()
    return total if reduction == "sum" else total / counts.sum().clamp(min=least)
